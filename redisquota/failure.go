package redisquota

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
)

// errLater is the error of a release whose bucket is in use by one that writes another state.
var errLater = errors.New("a later version of this package uses the bucket: renew this program")

// failure is why a call for a bucket has failed.
type failure struct {
	bucket string
	err    error // of the Client, or of a reply that is none
}

// Error has the words of this package and those of the server, which may need the former: a server before which
// nobody has said a password calls the script a protocol error.
func (f *failure) Error() string {
	text := f.err.Error()
	if why := f.why(); why != "" && !strings.Contains(text, why) {
		text = why + ": " + text
	}
	return "redisquota: " + f.bucket + ": " + text
}

func (f *failure) Unwrap() error { return f.err }

// LogValue implements [slog.LogValuer]: a log gets the words of this package alone, since those of a server, or
// of a client library, may quote an address or a credential. Of a failure for which it has none, it gets
// "failed".
func (f *failure) LogValue() slog.Value {
	if why := f.why(); why != "" {
		return slog.StringValue(why)
	}
	return slog.StringValue("failed")
}

// refusals are words of Redis, Valkey and go-redis, with the spaces around them, and what is wrong then. The
// first that is found counts.
var refusals = []struct{ has, why string }{
	{" NOAUTH ", "the server wants a password, and got none"},
	{" unauthenticated ", "the server wants a password, and got none"}, // from 7.0 on, of a call with more than ten words
	{" WRONGPASS ", "the server does not know the user and password"},
	{" invalid password ", "the server does not know the user and password"}, // before 6.0
	{" NOPERM ", "the user lacks a permission: see README.md, Servers and permissions"},
	{" user executing the script can't ", "the user lacks a permission: see README.md, Servers and permissions"}, // from 7.0 on
	{" ACL failure in script: ", "the user lacks a permission: see README.md, Servers and permissions"},          // Valkey
	{" READONLY ", "the server is a replica, which cannot be written"},
	{" OOM ", "the server is out of memory"},
	{" MISCONF ", "the server does not write, since it cannot save"},
	{" LOADING ", "the server still loads what it had saved"},
	{" CLUSTERDOWN ", "the cluster is down"},
	{" MASTERDOWN ", "the replica has lost its master"},
	{" MOVED ", "the bucket is on another node of a cluster: use a client for clusters"},
	{" ASK ", "the cluster moves the bucket to another node"},
	{" TRYAGAIN ", "the cluster moves the bucket to another node"},
	{" BUSY ", "the server is busy with a script that does not end"},
	{" NOREPLICAS ", "the server does not write, since it has too few replicas"},
	{" max number of clients reached", "the server has too many clients"},
	{" DENIED Redis is running in protected mode", "the server takes no clients from other machines, since it has no password"},
	{" redis: invalid reply", "what answers is no Redis"},
	{" redis: can't parse ", "what answers is no Redis"},
	{" redis: client is closed ", "the client is closed: close it after the Limiters"},
}

// why says what is wrong; empty if it is not known.
func (f *failure) why() string {
	text := " " + f.err.Error() + " "
	for _, r := range refusals {
		if strings.Contains(text, r.has) {
			return r.why
		}
	}
	var name *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(f.err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(f.err, &name):
		return "no such host"
	case errors.As(f.err, &record):
		return "what answers does not speak TLS"
	case errors.As(f.err, &certificate):
		return "the server's certificate is not trusted"
	case f.is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "no route to the server"
	case f.is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		return "the connection was closed"
	case f.is(context.DeadlineExceeded, os.ErrDeadlineExceeded):
		return "no answer"
	case errors.Is(f.err, errLater):
		return errLater.Error()
	}
	return ""
}

// is reports whether the failure is one of those.
func (f *failure) is(one ...error) bool {
	return slices.ContainsFunc(one, func(err error) bool { return errors.Is(f.err, err) })
}
