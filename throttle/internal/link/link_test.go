package link_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle/internal/link"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// notes is a store that notes what it is asked, and answers as it is told.
type notes struct {
	store.Store
	asked  []*store.Request
	answer func(n int) error
	news   func(store.News)
}

func (s *notes) Exchange(_ context.Context, r *store.Request) (*store.Reply, error) {
	s.asked = append(s.asked, r)
	return &store.Reply{}, s.answer(len(s.asked))
}

func (s *notes) Listen(_ string, news func(store.News)) (func(), error) {
	s.news = news
	return nil, s.answer(0)
}

// TestFarewell: all is told in turn until there is nothing, until one leaves, or until one fails.
func TestFarewell(t *testing.T) {
	own := errors.New("own")
	stay, leave := &store.Request{}, &store.Request{Leave: true}
	for name, c := range map[string]struct {
		says        []*store.Request
		fails       int // which one
		asked, told int
	}{
		"nothing":             {nil, 0, 0, 0},
		"until there is none": {[]*store.Request{stay, stay}, 0, 2, 2},
		"until one leaves":    {[]*store.Request{stay, leave, stay}, 0, 2, 2},
		"until one fails":     {[]*store.Request{stay, stay, leave}, 2, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			to := &notes{answer: func(n int) error {
				if n == c.fails {
					return own
				}
				return nil
			}}
			told, stopped := 0, 0
			if err := link.Farewell(to, func() { stopped++ }, link.Overdue(1), link.Timeout, nil, nil); !errors.Is(err, link.Overdue(1)) || stopped != 1 {
				t.Errorf("a call is overdue: %v, stopped %d times", err, stopped)
			}
			err := link.Farewell(to, nil, nil, link.Timeout, func() *store.Request {
				if len(to.asked) == len(c.says) {
					return nil
				}
				return c.says[len(to.asked)]
			}, func() { told++ })
			if len(to.asked) != c.asked || told != c.told || errors.Is(err, own) != (c.fails > 0) {
				t.Errorf("asked %d times, told %d times, %v; want %d and %d", len(to.asked), told, err, c.asked, c.told)
			}
		})
	}
}

// TestAll: all leave, unless one takes too long, or those that fail do so together.
func TestAll(t *testing.T) {
	const ms = time.Millisecond
	own := errors.New("own")
	type leaves struct {
		took time.Duration
		err  error
	}
	for name, c := range map[string]struct {
		all  []leaves
		left int
	}{
		"nobody":             {nil, 0},
		"slowly":             {[]leaves{{200 * ms, nil}, {200 * ms, nil}, {200 * ms, nil}, {0, own}}, 4},
		"one takes too long": {[]leaves{{0, nil}, {1, context.DeadlineExceeded}, {0, nil}}, 2},
		"some fail":          {[]leaves{{299 * ms, own}, {200 * ms, nil}, {0, own}, {1 * ms, own}, {0, nil}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want []error
				left := 0
				err := link.All(c.all, func(l leaves) error {
					time.Sleep(l.took)
					left++
					want = append(want, l.err)
					return l.err
				})
				if left != c.left || fmt.Sprint(err) != fmt.Sprint(errors.Join(want...)) {
					t.Errorf("%d left, %v; want %d, %v", left, err, c.left, errors.Join(want...))
				}
			})
		})
	}
}

// TestListen: news reach the target while something else holds it. There is something to stop unless the store
// fails; it is asked again with the next call then, and later and later, but never if it has no news.
func TestListen(t *testing.T) {
	type target struct{ heard []store.News }
	const s = time.Second
	for name, c := range map[string]struct {
		answer func() error
		waits  []time.Duration // until it is due again
	}{
		"hears":       {func() error { return nil }, []time.Duration{0}},
		"fails":       {func() error { return errors.New("own") }, []time.Duration{0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}},
		"panics":      {func() error { panic("own") }, []time.Duration{0, s}},
		"has no news": {func() error { return fmt.Errorf("own: %w", errors.ErrUnsupported) }, []time.Duration{monotime.Unbounded}},
	} {
		var tries link.Tries
		to, a, now := &notes{answer: func(int) error { return c.answer() }}, &target{}, monotime.Time(1)
		for _, wait := range c.waits {
			func() {
				defer func() { _ = recover() }()
				if stop := link.Listen(&tries, now, to, "a", a, func(a *target, n store.News) { a.heard = append(a.heard, n) }); (stop == nil) == (name == "hears") {
					t.Errorf("%s: nothing to stop: %v", name, stop == nil)
				}
			}()
			if wait == monotime.Unbounded {
				wait -= s
			} else if now = now.Add(wait); !tries.Due(now) {
				t.Errorf("%s: not due after %v", name, wait)
			}
			if wait > 0 && tries.Due(now-1) {
				t.Errorf("%s: due before %v are over", name, wait)
			}
		}
		to.news(store.News{})
		to.news(store.News{Released: true})
		if len(a.heard) != 1 || !a.heard[0].Released {
			t.Errorf("%s: heard %v, want what says something", name, a.heard)
		}
		runtime.KeepAlive(a)
	}
}

// once is a store that bears to be stopped once, as one that closes a channel.
type once struct {
	store.Store
	stopped chan struct{}
}

func (s once) Listen(string, func(store.News)) (func(), error) {
	return func() { close(s.stopped) }, nil
}

// TestListenStopsOnce: a bucket that was closed stops no second time when it is collected.
func TestListenStopsOnce(t *testing.T) {
	var tries link.Tries
	to := once{stopped: make(chan struct{})}
	stop := link.Listen(&tries, 1, to, "a", new(int), func(*int, store.News) {})
	for range 2 {
		if err := link.Stop(stop); err != nil {
			t.Errorf("%v, want nil", err)
		}
	}
	if _, open := <-to.stopped; open {
		t.Error("not stopped")
	}
}
