package logline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func newLog(b *bytes.Buffer) *Log {
	return New(slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
}

// Without a logger, lines go to the default one.
func TestDefaultLogger(t *testing.T) {
	var b bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(newLog(&b).logger)
	New(nil).Answered(request(t, "a"), true, 429, 0)
	if want := "level=WARN msg=\"pacer: request refused by the server\" method=GET bucket=a status=429\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// Where a field of the request or of the Transport would have had it sent again, or others are why not, a line
// says so.
func TestAdviceWhereARequestIsNotSentAgain(t *testing.T) {
	for reason, want := range map[string]string{
		"method":   `advice="it may have been carried out: if a second one does no harm, see Call.Idempotent and Retry.IdempotencyKey"`,
		"body":     `advice="its body cannot be had again: set GetBody of the request, or Retry.BufferBody"`,
		"hint":     `advice="the server asks for a longer wait than MaxStandstill or MaxWait allows"`,
		"refusals": `advice="the server refused it more than MaxRefusals times: do others use its limit, too?"`,
		"budget":   `advice="many requests fail, and more retries would add to the load: see Retry.BudgetRatio"`,
		"attempts": "",
		"canceled": "",
	} {
		var b bytes.Buffer
		newLog(&b).GaveUp(request(t, "a"), End{Reason: reason, Attempts: 1, Status: 429})
		_, got, _ := strings.Cut(b.String(), "status=429")
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
	}
}

// A caller who has canceled the request is not told to raise a quota.
func TestNoAdviceToWhoCanceled(t *testing.T) {
	var b bytes.Buffer
	err := fmt.Errorf("pacer: %w", &throttle.Error{Cause: throttle.CausePace, Quota: "1/s", Wait: time.Minute, Err: throttle.ErrCanceled})
	newLog(&b).NotSent(request(t, "a"), err, 0, nil)
	newLog(&b).GaveUp(request(t, "a"), End{Reason: "canceled", Attempts: 1, Status: 503, Because: err})
	want := `level=INFO msg="pacer: request not sent" method=GET bucket=a why=canceled refused_for=pace refused_by=1/s could_go_in=1m0s
level=INFO msg="pacer: request not sent again" method=GET bucket=a reason=canceled attempts=1 status=503 why=canceled refused_for=pace refused_by=1/s could_go_in=1m0s
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// What a request waited for in several buckets of one label is told once, the longest first.
func TestCausesOfOneLabelAreOne(t *testing.T) {
	var b bytes.Buffer
	waits := []throttle.Wait{
		{Bucket: "a (search)", Label: "a", Cause: throttle.CauseWindowUsedUp, Quota: "search of 5", For: 4 * time.Second},
		{Bucket: "a", Label: "a", Cause: throttle.CauseHold, For: 3 * time.Second},
		{Bucket: "a (search)", Label: "a", Cause: throttle.CauseHold, For: 2 * time.Second},
		{Bucket: "b", Label: "b", Cause: throttle.CauseHold, For: time.Second},
		{Bucket: "a (core)", Label: "a", Cause: throttle.CauseWindowUsedUp, Quota: "core of 9", For: 1},
	}
	before := slices.Clone(waits)
	l := newLog(&b)
	l.Waited(request(t, "a"), 10*time.Second+1, waits)
	l.Waited(request(t, "b"), 4*time.Second, []throttle.Wait{{Bucket: "b1", Label: "b", Cause: throttle.CauseHold, For: 3 * time.Second}, {Bucket: "b2", Label: "b", Cause: throttle.CauseHold, For: time.Second}})
	advice := `advice="the server refused: it said for how long, or the hold doubles with each refusal"`
	want := `level=INFO msg="pacer: request waited" method=GET bucket=a wait=10.000000001s cause=hold ` + advice +
		` causes="5s hold of a; 4s window used up \"search of 5\" of a; 1s hold of b; 1ns window used up \"core of 9\" of a"
level=INFO msg="pacer: request waited" method=GET bucket=b wait=4s cause=hold ` + advice + "\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if !slices.Equal(waits, before) {
		t.Errorf("the waits were changed: %v", waits)
	}
}

func request(t *testing.T, label string) Request {
	t.Helper()
	return Request{Context: t.Context(), Method: "GET", Label: label}
}

// A wait is a line if it is over a second. Of one label and kind, there is one line a second, and it counts
// what was left out.
func TestOneLineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := newLog(&b)
		waits := []throttle.Wait{{Bucket: "a (secret)", Label: "a", Cause: throttle.CauseWindowUsedUp, Quota: "core\n", For: 2 * time.Second}, {Label: "b", Cause: throttle.CauseSlowStart, For: time.Second}}
		l.Waited(request(t, "a"), time.Second, waits[1:])
		for range 3 {
			l.Waited(request(t, "a"), 3*time.Second, waits)
		}
		l.Waited(request(t, "b"), 3*time.Second, waits[1:])
		l.Answered(request(t, "a"), true, 429, 0)
		l.Answered(request(t, "h"), false, 200, 0)
		time.Sleep(time.Second - 1)
		l.Waited(request(t, "a"), 3*time.Second, waits)
		time.Sleep(time.Nanosecond)
		l.Waited(request(t, "a"), 3*time.Second, waits)
		l.BackedOff(request(t, "c"), time.Second, false, 503, nil)
		l.BackedOff(request(t, "c"), 2*time.Second, false, 503, nil)
		l.BackedOff(request(t, "e"), 2*time.Second, true, 429, nil)
		l.GaveUp(request(t, "c"), End{Reason: "wait", Attempts: 2, Status: 503, Because: &throttle.Error{Bucket: "secret", Cause: throttle.CausePace, Quota: "1/s", Wait: time.Hour, Err: throttle.ErrStandstill}})
		l.GaveUp(request(t, "d"), End{"deadline", 1, 0, io.EOF, &throttle.Error{Err: throttle.ErrDeadline}, time.Second, 3 * time.Second, waits})
		l.GaveUp(request(t, "e"), End{Reason: "canceled", Attempts: 1, Err: io.EOF, Because: context.Canceled, Delay: time.Second})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "d", Kind: throttle.StoreBack, Down: time.Minute})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "d", Kind: throttle.StoreDown, Err: io.EOF})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "far", Kind: throttle.StoreDown, Err: fmt.Errorf("secret: %w", context.DeadlineExceeded)})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "d", Kind: throttle.StoreLost})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "d", Kind: throttle.StoreSlow, Err: errors.New("secret")})
		l.StoreEvent(throttle.StoreEvent{Bucket: "secret", Label: "d", Kind: throttle.StoreOthers, Others: quota.MustParse("9/s")})
		window := `level=INFO msg="pacer: request waited" method=GET bucket=a wait=3s cause=window_used_up quota=core%0A ` +
			`advice="the server says that its limit is used up: send less, or ask the provider for more" causes="2s window used up \"core%0A\" of a; 1s slow start of b"`
		want := window + `
level=INFO msg="pacer: request waited" method=GET bucket=b wait=3s cause=slow_start advice="the bucket was new, idle or held, and starts slowly: see docs/waiting.md"
level=WARN msg="pacer: request refused by the server" method=GET bucket=a status=429
` + window + ` left_out=3
level=INFO msg="pacer: request waited" method=GET bucket=c wait=2s cause=backoff status=503 advice="the attempt before failed: see Retry"
level=INFO msg="pacer: request waited" method=GET bucket=e wait=2s cause=backoff status=429 advice="this request alone was refused, and not others: see docs/learning.md"
level=WARN msg="pacer: request not sent again" method=GET bucket=c reason=wait attempts=2 status=503 why="nothing can go within MaxStandstill" refused_for=pace refused_by=1/s could_go_in=1h0m0s advice="a configured quota: raise it if the provider allows more; a larger MaxStandstill has requests wait"
level=WARN msg="pacer: request not sent again" method=GET bucket=d reason=deadline attempts=1 error=EOF why="wait past the deadline" ` +
			`backoff=1s wait=3s cause=window_used_up quota=core%0A causes="2s window used up \"core%0A\" of a; 1s slow start of b"
level=INFO msg="pacer: request not sent again" method=GET bucket=e reason=canceled attempts=1 error=EOF why="context canceled" backoff=1s
level=INFO msg="pacer: store reached again" bucket=d down=1m0s
level=WARN msg="pacer: store not reached" bucket=d error=EOF
level=WARN msg="pacer: store not reached" bucket=far error="context deadline exceeded" advice="a store that is always farther away than 250ms needs OutageClosed, and a SlotLife of two round trips"
level=WARN msg="pacer: store does not know the bucket: it is new, or was lost" bucket=d
level=WARN msg="pacer: store is too slow" bucket=d advice="a store nearer by, or a larger SlotLife, would help"
level=WARN msg="pacer: store has the bucket with other quotas, too" bucket=d others=9/s
`
		if got := b.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// However many labels there are, memory is bounded, and lines that were left out are counted.
func TestLabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := newLog(&b)
		for range 3 {
			for i := range 2 * most {
				l.Answered(request(t, fmt.Sprint(i)), true, 429, 0)
				if len(l.latest) > most {
					t.Fatalf("%d labels are remembered", len(l.latest))
				}
			}
		}
		if n := strings.Count(b.String(), "\n"); n != most {
			t.Errorf("%d lines in a second, want %d", n, most)
		}
		b.Reset()
		time.Sleep(time.Second)
		l.Answered(request(t, "new"), true, 429, 0)
		// In a round, one line of each of the first labels and none of the others; in the next two, none at
		// all.
		if want := fmt.Sprintf("level=WARN msg=\"pacer: request refused by the server\" method=GET bucket=new status=429 left_out_of_others=%d\n", 5*most); b.String() != want {
			t.Errorf("got %s, want %s", b.String(), want)
		}
	})
}

// Who does not log warnings pays for nothing, and many may write at once.
func TestConcurrentLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n := 0
		l := New(slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return len(p), nil
		}), &slog.HandlerOptions{Level: slog.LevelWarn})))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				l.Waited(request(t, "a"), time.Hour, nil)
				l.Answered(request(t, "a"), true, 429, 0)
			})
		}
		wg.Wait()
		if n != 1 || len(l.latest) != 1 {
			t.Errorf("%d lines, %d labels", n, len(l.latest))
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// logs is an error that says itself what may be written of it.
type logs struct {
	error
	words string
}

func (l logs) LogValue() slog.Value { return slog.StringValue(l.words) }
func (l logs) Unwrap() error        { return l.error }

func TestKind(t *testing.T) {
	quoting := func(err error) error {
		return fmt.Errorf("secret: %w", &url.Error{Op: "Get", URL: "http://user:secret@a.example/?secret", Err: err})
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{quoting(errors.New("secret")), "*errors.errorString"},
		{quoting(context.DeadlineExceeded), "context deadline exceeded"},
		{quoting(io.EOF), "EOF"},
		{quoting(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "connection refused"},
		{quoting(&net.DNSError{Err: "secret", IsTimeout: true}), "timeout"},
		{quoting(&net.DNSError{Err: "secret"}), "*net.DNSError"},
		{&throttle.Error{Bucket: "secret", Err: throttle.ErrQueueFull}, "queue is full"},
		{quoting(logs{errors.New("secret"), "the words of its package"}), "the words of its package"},
		{quoting(logs{context.DeadlineExceeded, "connection refused"}), "connection refused"},
		{errors.Join(errors.New("secret"), errors.New("secret")), "*errors.joinError"},
	} {
		if got := kind(test.err); got != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
}

// A pace that was measured is not one to configure.
func TestAdvice(t *testing.T) {
	configured, measured := Advice(throttle.CausePace, "1/s"), Advice(throttle.CausePace, "what the server was seen to allow")
	if configured != advice[throttle.CausePace] || !strings.HasPrefix(measured, "the server refuses what is faster") || Advice("other", "") != "" {
		t.Errorf("%q, %q", configured, measured)
	}
}
