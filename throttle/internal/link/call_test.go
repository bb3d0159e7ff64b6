package link_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/internal/link"
)

// TestInTime: how a call ends, and when.
func TestInTime(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		f    func(ctx context.Context) error
		want error
		took time.Duration
	}{
		"returns":           {func(context.Context) error { time.Sleep(link.OverdueAfter - 1); return nil }, nil, link.OverdueAfter - 1},
		"fails":             {func(context.Context) error { return own }, own, 0},
		"heeds its context": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded, link.Timeout},
		"heeds nothing":     {func(context.Context) error { time.Sleep(time.Hour); return nil }, link.Overdue(link.Timeout), link.OverdueAfter},
		"leaves":            {func(context.Context) error { runtime.Goexit(); return nil }, link.ErrLeft, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if err := link.InTime(link.Timeout, c.f); !errors.Is(err, c.want) || time.Since(start) != c.took {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), c.want, c.took)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestInTimePanics: a panic is the error of the call, which says where that was.
func TestInTimePanics(t *testing.T) {
	own := errors.New("own")
	var none *struct{ n int }
	for want, f := range map[string]func(){
		"oops": func() { panic("oops") },
		"own":  func() { panic(own) },
		"runtime error: invalid memory address or nil pointer dereference": func() { none.n++ },
	} {
		err := link.InTime(link.Timeout, func(context.Context) error { f(); return nil })
		text := fmt.Sprint(err)
		if !strings.HasPrefix(text, "throttle: the Store panicked, in github.com/gopacer/pacer/throttle/internal/link_test.TestInTimePanics.func") ||
			!strings.HasSuffix(text, "): "+want) || errors.Is(err, own) != (want == "own") {
			t.Errorf("%v, want one of %s", err, want)
		}
	}
}

// TestTookTooLong: the errors of calls that ended with their contexts, however they say so.
func TestTookTooLong(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{link.ErrLeft, false},
		{context.Canceled, false},
		{link.Overdue(time.Second), true},
		{fmt.Errorf("bucket: %w", context.DeadlineExceeded), true},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false},
	} {
		if got := link.TookTooLong(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
