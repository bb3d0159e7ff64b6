package redisquota_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// fails is a Client of which every call fails.
type fails struct{ err error }

func (f fails) Run(context.Context, []string, []string) ([]string, error) { return nil, f.err }

func (f fails) Subscribe(context.Context, string, func(string)) error { return errors.ErrUnsupported }

// serverError is an error of a server, or of a client library.
type serverError string

func (r serverError) Error() string { return string(r) }

// An error says what is wrong in words of the package, with those of the server behind them; a log gets the
// former alone.
func TestFailures(t *testing.T) {
	const addr = "redis.OOM.example:6379"
	for _, test := range []struct {
		err  error
		says string
	}{
		{serverError("NOAUTH Authentication required."), "the server wants a password, and got none"},
		{serverError("ERR Protocol error: unauthenticated multibulk length"), "the server wants a password, and got none"},
		{serverError("WRONGPASS invalid username-password pair or user is disabled."), "the server does not know the user and password"},
		{serverError("ERR invalid password"), "the server does not know the user and password"},
		{serverError("NOPERM User secret has no permissions to run the 'evalsha' command"), "the user lacks a permission: see README.md, Servers and permissions"},
		{serverError("ERR The user executing the script can't run this command or subcommand script: 8994ddd"), "the user lacks a permission: see README.md, Servers and permissions"},
		{serverError("READONLY You can't write against a read only replica."), "the server is a replica, which cannot be written"},
		{serverError("OOM command not allowed when used memory > 'maxmemory'."), "the server is out of memory"},
		{serverError("MISCONF Redis is configured to save RDB snapshots"), "the server does not write, since it cannot save"},
		{serverError("LOADING Redis is loading the dataset in memory"), "the server still loads what it had saved"},
		{serverError("CLUSTERDOWN The cluster is down"), "the cluster is down"},
		{serverError("MASTERDOWN Link with MASTER is down"), "the replica has lost its master"},
		{serverError("MOVED 1234 10.0.0.1:6379"), "the bucket is on another node of a cluster: use a client for clusters"},
		{serverError("ASK 1234 10.0.0.1:6379"), "the cluster moves the bucket to another node"},
		{serverError("TRYAGAIN Multiple keys request during rehashing of slot"), "the cluster moves the bucket to another node"},
		{serverError("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), "the server is busy with a script that does not end"},
		{serverError("NOREPLICAS Not enough good replicas to write."), "the server does not write, since it has too few replicas"},
		{serverError("ERR max number of clients reached"), "the server has too many clients"},
		{serverError("no answer: context deadline exceeded (before: ERR max number of clients reached)"), "the server has too many clients"},
		{serverError("DENIED Redis is running in protected mode because protected mode is enabled"), "the server takes no clients from other machines, since it has no password"},
		{serverError(`redis: invalid reply: "HTTP/1.1 400 Bad Request"`), "what answers is no Redis"},
		{serverError(`redis: can't parse "HTTP/1.1 400 Bad Request"`), "what answers is no Redis"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused"},
		{&net.DNSError{Err: "no such host", Name: "redis.OOM.example", IsNotFound: true}, "no such host"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "what answers does not speak TLS"},
		{&tls.CertificateVerificationError{Err: serverError("signed by unknown authority")}, "the server's certificate is not trusted"},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, "no route to the server"},
		{&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, "no route to the server"},
		{io.EOF, "the connection was closed"},
		{io.ErrUnexpectedEOF, "the connection was closed"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "the connection was closed"},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, "the connection was closed"},
		{redis.ErrClosed, "the client is closed: close it after the Limiters"},
		{context.DeadlineExceeded, "no answer"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "no answer"},
		{serverError("secret"), "failed"},
	} {
		given := fmt.Errorf("%s: %w", addr, test.err)
		_, err := (&redisquota.Store{Client: fails{given}}).Exchange(t.Context(), asking)
		if !errors.Is(err, given) {
			t.Fatalf("got %v, want that it wraps %v", err, given)
		}
		if got := err.Error(); !strings.HasPrefix(got, "redisquota: api: ") || !strings.HasSuffix(got, given.Error()) && !strings.HasSuffix(got, test.says) ||
			test.says != "failed" && strings.Count(got, test.says) != 1 {
			t.Errorf("%v: got %q, want %q once, in front of it or in it", given, got, test.says)
		}
		var log slog.LogValuer
		if !errors.As(err, &log) || log.LogValue().String() != test.says {
			t.Errorf("%v: a log gets %v, want %q", given, log, test.says)
		}
	}
}

// A server that wants a password says so, whatever it calls the script.
func TestNoPassword(t *testing.T) {
	s := realServer(t)
	if err := dial(t, s).ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]string{"": "the server wants a password, and got none", "other": "the server does not know the user and password", "secret": ""} {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, Password: password})
		_, err := goredis.New(c).Exchange(t.Context(), asking)
		if got := fmt.Sprint(err); !strings.Contains(got, want) || err == nil != (want == "") {
			t.Errorf("with %q: %s, want %q", password, got, want)
		}
		c.Close()
	}
}

// asking asks for no slot.
var asking = &store.Request{
	Version: 1, Bucket: "api", Quotas: quota.Quotas{{N: 5, Per: time.Second, Kind: quota.SlidingLog}}, SlotLife: 20 * time.Millisecond,
	Horizon: 500 * time.Millisecond, Member: "a", Serial: 1, Hand: []int64{0},
}
