package body

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// However a body ends, that is told once, and with what was read of it.
func TestWatch(t *testing.T) {
	const unread = 5 * time.Minute
	read := func(n int) func(io.ReadCloser, context.CancelFunc) {
		return func(b io.ReadCloser, _ context.CancelFunc) { io.ReadFull(b, make([]byte, n)) }
	}
	for name, test := range map[string]struct {
		do   func(b io.ReadCloser, cancel context.CancelFunc)
		want []int64 // what was told
	}{
		"nothing":             {read(0), nil},
		"read in part":        {read(4), nil},
		"read, but its end":   {read(9), nil},
		"read to its end":     {read(10), []int64{9}},
		"closed":              {func(b io.ReadCloser, _ context.CancelFunc) { b.Close() }, []int64{0}},
		"closed in between":   {func(b io.ReadCloser, c context.CancelFunc) { read(4)(b, c); b.Close() }, []int64{4}},
		"the context ended":   {func(b io.ReadCloser, c context.CancelFunc) { read(4)(b, c); c() }, []int64{4}},
		"unread":              {func(io.ReadCloser, context.CancelFunc) { time.Sleep(unread) }, []int64{0}},
		"not quite unread":    {func(io.ReadCloser, context.CancelFunc) { time.Sleep(unread - 1) }, nil},
		"unread from then on": {func(b io.ReadCloser, c context.CancelFunc) { read(4)(b, c); time.Sleep(unread) }, []int64{4}},
		"read now and then": {func(b io.ReadCloser, c context.CancelFunc) {
			for range 9 {
				time.Sleep(unread - 1)
				read(1)(b, c)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var told []int64
				source := newTracked("some text")
				b := Watch(ctx, source, unread, func(read int64) { told = append(told, read) })
				test.do(b, cancel)
				synctest.Wait()
				if len(told) != len(test.want) || len(told) > 0 && told[0] != test.want[0] {
					t.Errorf("told %v, want %v", told, test.want)
				}
				b.Close()
				b.Close()
				cancel()
				time.Sleep(2 * unread)
				if len(told) != 1 || !source.closed() {
					t.Errorf("told %v in the end; closed: %v", told, source.closed())
				}
			})
		})
	}
}

// Without a bound a body may stay unread for ever. A context that has ended ends it at once.
func TestWatchForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		Watch(ctx, newTracked("text"), 0, func(int64) { told++ })
		time.Sleep(1000 * time.Hour)
		if told != 0 {
			t.Error("it has ended")
		}
		cancel()
		synctest.Wait()
		if told != 1 {
			t.Error("it has not ended with its context")
		}
		Watch(ctx, newTracked("text"), time.Hour, func(int64) { told++ })
		synctest.Wait()
		if told != 2 {
			t.Error("it has not ended, and its context has")
		}
	})
}
