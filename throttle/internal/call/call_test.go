package call_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/internal/call"
)

// TestInTime: how a call ends, and when.
func TestInTime(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		f    func(ctx context.Context) error
		want error
		took time.Duration
	}{
		"returns":           {func(context.Context) error { time.Sleep(call.OverdueAfter - 1); return nil }, nil, call.OverdueAfter - 1},
		"fails":             {func(context.Context) error { return own }, own, 0},
		"heeds its context": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded, call.Timeout},
		"heeds nothing":     {func(context.Context) error { time.Sleep(time.Hour); return nil }, call.ErrOverdue, call.OverdueAfter},
		"leaves":            {func(context.Context) error { runtime.Goexit(); return nil }, call.ErrLeft, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if err := call.InTime(c.f); !errors.Is(err, c.want) || time.Since(start) != c.took {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), c.want, c.took)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestInTimePanics: a panic reaches the caller.
func TestInTimePanics(t *testing.T) {
	defer func() {
		if p := recover(); p != "own" {
			t.Errorf("panic %v", p)
		}
	}()
	_ = call.InTime(func(context.Context) error { panic("own") })
}
