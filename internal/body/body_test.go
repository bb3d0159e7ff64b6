package body

import (
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tracked is a body that records what is done to it.
type tracked struct {
	io.Reader
	mu     sync.Mutex
	reads  int
	closes int
}

func newTracked(s string) *tracked { return &tracked{Reader: strings.NewReader(s)} }

func (b *tracked) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.reads++
	b.mu.Unlock()
	return b.Reader.Read(p)
}

func (b *tracked) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

func (b *tracked) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closes > 0
}

// slowly is a body of which a part comes every so often, until it is closed.
type slowly struct {
	parts  []string
	every  time.Duration
	end    error
	closed atomic.Bool
}

func (b *slowly) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.parts) == 0 {
		return 0, b.end
	}
	time.Sleep(b.every)
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

func (b *slowly) Close() error { b.closed.Store(true); return nil }

// A bounded part is read, within a bounded time, and the body is closed.
func TestDiscard(t *testing.T) {
	Discard(nil)
	for name, test := range map[string]struct {
		body *slowly
		left int // parts
		took time.Duration
	}{
		"short":    {&slowly{parts: []string{"text"}, end: io.EOF}, 0, 0},
		"long":     {&slowly{parts: []string{strings.Repeat("x", drainLimit), "more"}, end: io.EOF}, 1, 0},
		"broken":   {&slowly{parts: []string{"text"}, end: io.ErrUnexpectedEOF}, 0, 0},
		"trickles": {&slowly{parts: strings.Split(strings.Repeat("x", 100), ""), every: 30 * time.Millisecond, end: io.EOF}, 96, drainTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				Discard(&http.Response{Body: test.body})
				took := time.Since(start)
				time.Sleep(test.body.every) // the Read that is under way
				synctest.Wait()
				if took != test.took || len(test.body.parts) != test.left || !test.body.closed.Load() {
					t.Errorf("took %v, left %d parts, closed: %v; want %v, %d", took, len(test.body.parts), test.body.closed.Load(), test.took, test.left)
				}
			})
		})
	}
}

// A Close that takes long is left alone, and one that panics, or ends its goroutine, does so to the caller.
func TestDiscardWhoseCloseDoesNotReturn(t *testing.T) {
	for name, test := range map[string]struct {
		close func()
		took  time.Duration
		want  string
	}{
		"takes long": {func() { time.Sleep(time.Hour) }, drainTime, "returned"},
		"in time":    {func() { time.Sleep(drainTime - 1) }, drainTime - 1, "returned"},
		"panics":     {func() { panic("broken") }, 0, "broken"},
		"exits":      {runtime.Goexit, 0, "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, got, done := time.Now(), "ended", make(chan time.Duration)
				go func() {
					defer func() {
						if p := recover(); p != nil {
							got, _ = p.(string)
						}
						done <- time.Since(start)
					}()
					Discard(&http.Response{Body: closer{strings.NewReader("text"), test.close}})
					got = "returned"
				}()
				if took := <-done; took != test.took || got != test.want {
					t.Errorf("%s after %v, want %s after %v", got, took, test.want, test.took)
				}
				time.Sleep(time.Hour) // until that Close returns
			})
		})
	}
}

// closer is a body with a Close of its own.
type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error { c.close(); return nil }

func TestHas(t *testing.T) {
	for _, test := range []struct {
		method string
		status int
		body   io.ReadCloser
		length int64
		want   bool
	}{
		{"GET", 200, newTracked("text"), 4, true},
		{"GET", 200, newTracked("text"), -1, true},
		{"GET", 200, newTracked(""), 0, false},
		{"GET", 200, http.NoBody, -1, false},
		{"HEAD", 200, newTracked("text"), 4, false},
		{"GET", 204, newTracked("text"), 4, false},
		{"GET", 304, newTracked("text"), 4, false},
		{"GET", 101, newTracked(""), 0, true},
		{"CONNECT", 200, newTracked(""), -1, true},
		{"POST", 500, newTracked("text"), 4, true},
	} {
		resp := &http.Response{StatusCode: test.status, Body: test.body, ContentLength: test.length}
		if got := Has(&http.Request{Method: test.method}, resp); got != test.want {
			t.Errorf("%s %d, length %d: got %v", test.method, test.status, test.length, got)
		}
	}
}

func TestCount(t *testing.T) {
	var n atomic.Int64
	source := newTracked("some text")
	b := Count(source, &n)
	if _, err := io.ReadFull(b, make([]byte, 4)); err != nil || n.Load() != 4 {
		t.Errorf("counted %d, %v", n.Load(), err)
	}
	if _, err := io.ReadAll(b); err != nil || n.Load() != 9 {
		t.Errorf("counted %d, %v", n.Load(), err)
	}
	if b.Close(); !source.closed() {
		t.Error("not closed")
	}
	for length, want := range map[int64]int64{-1: 0, 0: 0, 7: 7} {
		if got := Sent(&http.Request{ContentLength: length}, nil); got != want {
			t.Errorf("of length %d, %d were sent", length, got)
		}
		if got := Sent(&http.Request{ContentLength: length}, &n); got != 9 {
			t.Errorf("9 were counted, %d sent", got)
		}
	}
}

// connection is a body that can be written to.
type connection struct {
	*tracked
	written strings.Builder
}

func (c *connection) Write(p []byte) (int, error) { return c.written.Write(p) }

// half is a connection of which one half can be closed.
type half struct {
	connection
	err error
}

func (h *half) CloseWrite() error { return h.err }

// What is wrapped can be written to, and half closed, if what it wraps can.
func TestWritable(t *testing.T) {
	for name, wrap := range map[string]func(io.ReadCloser) io.ReadCloser{
		"Watch":       func(b io.ReadCloser) io.ReadCloser { return Watch(t.Context(), b, 0, func(int64) {}) },
		"CancelAtEnd": func(b io.ReadCloser) io.ReadCloser { return cancelAtEnd(b, func(error) {}) },
	} {
		if b, ok := wrap(newTracked("")).(io.Writer); ok {
			t.Errorf("%s: %T is an io.Writer", name, b)
		}
		for _, want := range []error{nil, io.ErrClosedPipe, http.ErrNotSupported} {
			c := &half{connection{tracked: newTracked("pong")}, want}
			var inner io.ReadCloser = c
			if errors.Is(want, http.ErrNotSupported) {
				inner = &c.connection
			}
			b := wrap(inner).(io.ReadWriteCloser)
			io.WriteString(b, "ping")
			if text, err := io.ReadAll(b); string(text) != "pong" || err != nil {
				t.Errorf("%s: read %q, %v", name, text, err)
			}
			if inner, ok := inner.(*connection); ok && inner.written.String() != "ping" || !ok && c.written.String() != "ping" {
				t.Errorf("%s: nothing was written", name)
			}
			if err := b.(interface{ CloseWrite() error }).CloseWrite(); !errors.Is(err, want) {
				t.Errorf("%s: CloseWrite: %v, want %v", name, err, want)
			}
			if b.Close(); !c.closed() {
				t.Errorf("%s: not closed", name)
			}
		}
	}
}

func TestCost(t *testing.T) {
	const most = math.MaxInt
	for want, lengths := range map[int][][]int64{
		0:    {nil, {0}, {-1}, {math.MinInt64, -1}},
		5:    {{5}, {2, 3}, {-7, 5}, {5, -1}},
		most: {{most}, {most, 1}, {1, most}, {math.MaxInt64, math.MaxInt64}, {math.MaxInt64, 10, -5}},
	} {
		for _, l := range lengths {
			if got := Cost(l...); got != int64(want) {
				t.Errorf("%v: %d, want %d", l, got, want)
			}
		}
	}
}
