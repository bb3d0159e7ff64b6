package throttle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLeaseOutage: what goes while the store cannot be reached, of 100/s shared by two.
func TestLeaseOutage(t *testing.T) {
	for _, c := range []struct {
		outage   Outage
		min, max int // sent by both in the five seconds of an outage that begin when it is known
	}{
		{OutageShare, 440, 452}, // nine tenths of 500
		{OutageClosed, 0, 0},
		{OutageOpen, 20_000, 1 << 30},
	} {
		t.Run(fmt.Sprint(c.outage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				shared := nearStore()
				shared.fail = func(int) error {
					if d := time.Since(start); d >= 2*time.Second && d < 8*time.Second {
						return errDown
					}
					return nil
				}
				var events [2][]StoreEvent
				f := &fleet{t: t, start: start, each: make([]int, 2)}
				var limiters []*Limiter
				for i := range 2 {
					l := member(t, shared, "100/s even")
					l.Shared.Outage, l.Shared.Event = c.outage, func(e StoreEvent) { events[i] = append(events[i], e) }
					limiters = append(limiters, l)
				}
				for i, l := range limiters {
					for range 3 {
						f.worker(until(t, start.Add(12*time.Second)), i, l, func() time.Duration { return time.Millisecond / 2 })
					}
				}
				f.wait.Wait()
				time.Sleep(time.Second) // the last calls
				synctest.Wait()
				var before, during, after int
				for _, s := range f.sends {
					switch {
					case s.at < 2*time.Second:
						before++
					case s.at >= 2800*time.Millisecond && s.at < 7800*time.Millisecond: // others may have had slots until 2.5 s
						during++
					case s.at >= 9*time.Second:
						after++
					}
				}
				if before < 195 || after < 290 {
					t.Errorf("%d went before the outage, want 198; %d in three seconds after it, want 297", before, after)
				}
				if during < c.min || during > c.max {
					t.Errorf("%d went in five seconds of the outage, want %d to %d", during, c.min, c.max)
				}
				for i, e := range events {
					if len(e) != 2 || e[0].Kind != StoreDown || !errors.Is(e[0].Err, errDown) || e[1].Kind != StoreBack || e[1].Err != nil || e[1].Down < 5500*time.Millisecond {
						t.Errorf("events of %d: %+v", i, e)
					}
				}
			})
		})
	}
}

// TestLeaseOutageNewcomers: a process that lost the store before others came divides the quota by those of whom
// it knows. So n processes of which each lost the store before the next one came send 9/10·(1 + 1/2 + … + 1/n)
// of a quota while nobody reaches the store; and up to 9/10 and all of it while the second one does.
func TestLeaseOutageNewcomers(t *testing.T) {
	const s = time.Second
	for _, text := range []string{"20/s burst 5", "20/s sliding", "20/s window"} {
		for _, c := range []struct {
			lost       []time.Duration // when each process loses the store; it comes ten seconds after the one before
			alone, all int             // what goes in five seconds while the last one reaches the store, and while nobody does
		}{
			{[]time.Duration{30 * s, 30 * s}, 100, 90},
			{[]time.Duration{5 * s, 30 * s}, 190, 135},
			{[]time.Duration{5 * s, 15 * s, 30 * s}, 235, 165},
		} {
			t.Run(fmt.Sprint(text, c.lost), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fleet{t: t, start: time.Now(), each: make([]int, len(c.lost))}
					shared, end := new(store.Memory), until(t, f.start.Add(60*s))
					for i, lost := range c.lost {
						time.Sleep(time.Until(f.start.Add(time.Duration(i) * 10 * s)))
						near := nearStore()
						near.Store, near.silent = shared, true // else it would hear of others after it has lost the store
						near.away(time.Until(f.start.Add(lost)), time.Hour)
						l := member(t, near, text)
						for range 4 {
							f.worker(end, i, l, func() time.Duration { return 0 })
						}
					}
					f.wait.Wait()
					alone, all := 0, 0
					for _, o := range f.sends {
						alone += btoi(o.at >= 25*s && o.at < 30*s)
						all += btoi(o.at >= 45*s && o.at < 50*s)
					}
					if alone != c.alone || all != c.all {
						t.Errorf("%d go while the last one reaches the store, want %d; and %d while nobody does, want %d", alone, c.alone, all, c.all)
					}
				})
			})
		}
	}
}

// TestLeaseNeverReached: nobody knows how many share a store that was never reached.
func TestLeaseNeverReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		shared.fail = func(int) error { return errDown }
		l := &Limiter{Name: "api", Quotas: quotas(t, "100/s even"), Shared: Shared{Store: shared}, MaxWait: time.Second}
		start := time.Now()
		err := l.Wait(t.Context(), 1)
		if e := new(Error); !errors.As(err, &e) || !errors.Is(err, ErrMaxWait) || e.Cause != CauseStoreNotReached || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if s := l.State().Store; s.Down == 0 || !errors.Is(s.Err, errDown) || shared.calls.Load() > 6 {
			t.Errorf("%d calls, state %+v", shared.calls.Load(), s)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaseFarStore: a store that is too far away says so, and is not asked all the time.
func TestLeaseFarStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &slowStore{Store: new(store.Memory), there: 6 * time.Millisecond, back: 6 * time.Millisecond}
		var events []StoreEvent
		l := &Limiter{
			Name: "api", Quotas: quotas(t, "100/s even"), Shared: Shared{
				Store: shared, SlotLife: 10 * time.Millisecond,
				Event: func(e StoreEvent) { events = append(events, e) },
			},
		}
		defer l.Close()
		err := l.Wait(until(t, time.Now().Add(time.Second)), 1)
		if !errors.Is(err, ErrCanceled) && !errors.Is(err, ErrDeadline) {
			t.Error(err)
		}
		synctest.Wait()
		if len(events) != 1 || events[0].Kind != StoreSlow || events[0].Err == nil || l.State().Store.Err == nil || shared.calls.Load() > 100 {
			t.Errorf("%d calls, events %v", shared.calls.Load(), events)
		}
	})
}

// TestLeaseSlotLife: if SlotLife is not set, it becomes longer where the store is far away, for all who share
// it.
func TestLeaseSlotLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &slowStore{Store: new(store.Memory), there: 20 * time.Millisecond, back: 20 * time.Millisecond}
		near := &slowStore{Store: far.Store, there: time.Millisecond, back: time.Millisecond}
		a, b := member(t, near, "100/s log"), member(t, far, "100/s log")
		start := time.Now()
		for i, c := range []struct {
			l        *Limiter
			want     time.Duration // when it goes
			slotLife time.Duration // that counts then
		}{
			{a, 2 * time.Millisecond, 10 * time.Millisecond},
			{b, 162 * time.Millisecond, 80 * time.Millisecond}, // three calls in vain, and one more
			{a, 164 * time.Millisecond, 80 * time.Millisecond},
		} {
			if err := c.l.Wait(t.Context(), 1); err != nil || time.Since(start) != c.want {
				t.Errorf("%d: after %v, want %v: %v", i, time.Since(start), c.want, err)
			}
			p := probe{t: t, store: far.Store, quotas: quota.Quotas{plain(quotas(t, "100/s log")[0])}}
			if got := p.exchange(&store.Request{Serial: 1, Leave: true}).SlotLife; got != c.slotLife {
				t.Errorf("%d: SlotLife is %v, want %v", i, got, c.slotLife)
			}
			if err := c.l.State().Store.Err; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLeaseLost: a store that lost its data hands out no burst.
func TestLeaseLost(t *testing.T) {
	for _, text := range []string{"100/s even", "100/s burst 50", "100/s log", "100/s window grid", "100/s estimate"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				f := &fleet{t: t, start: time.Now(), each: make([]int, 4)}
				ctx := until(t, f.start.Add(10*time.Second))
				var lost atomic.Int64
				for i := range 4 {
					l := member(t, shared, text)
					l.Shared.Event = func(e StoreEvent) {
						if e.Kind == StoreLost {
							lost.Add(1)
						}
					}
					for range 4 {
						f.worker(ctx, i, l, func() time.Duration { return 0 })
					}
				}
				time.Sleep(4330 * time.Millisecond)
				shared.Store.(*store.Memory).Lose()
				f.wait.Wait()
				if lost.Load() != 4 {
					t.Errorf("%d of 4 were told", lost.Load())
				}
				most, after := 0, 0
				for j := range f.sends {
					n := 0
					for k := j; k < len(f.sends) && f.sends[k].at < f.sends[j].at+time.Second; k++ {
						n++
					}
					if at := f.sends[j].at; at > 3330*time.Millisecond && at < 6*time.Second {
						most = max(most, n)
					}
					if f.sends[j].at > 4330*time.Millisecond {
						after++
					}
				}
				q := quotas(t, text)[0]
				bound := 100
				if q.Kind == quota.TokenBucket {
					bound += int(explicit(q).Burst)
				} else if q.Kind.OnClock() {
					bound *= 2
				}
				if most > bound {
					t.Errorf("%d in a second, want at most %d", most, bound)
				}
				if after < 440 {
					t.Errorf("%d in what remained, want 440 at least", after)
				}
			})
		})
	}
}

// A function of the store that ends its goroutine, as t.FailNow does, or panics, is one that fails; and a
// StoreEvent that ends its goroutine is called again, for the next event.
func TestLeaseFunctionsThatExit(t *testing.T) {
	exits := runtime.Goexit
	panics := func() { panic("oops") }
	for name, c := range map[string]struct {
		exits   func(name string, n int) bool
		how     func()
		want    int // events
		listens int
	}{
		"Exchange":        {func(name string, n int) bool { return name == "Exchange" && n < 3 }, exits, 2, 1},
		"Exchange panics": {func(name string, n int) bool { return name == "Exchange" && n < 3 }, panics, 2, 1},
		"Listen":          {func(name string, n int) bool { return name == "Listen" }, exits, 2, 2}, // and what was to follow it
		"Listen panics":   {func(name string, n int) bool { return name == "Listen" }, panics, 2, 2},
		"StoreEvent":      {func(name string, n int) bool { return name == "StoreEvent" && n == 1 || name == "Exchange" && n < 3 }, exits, 2, 1},
		"none":            {func(string, int) bool { return false }, exits, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				calls := map[string]int{}
				call := func(name string) { // at the same time for an event and for an Exchange
					mu.Lock()
					calls[name]++
					n := calls[name]
					mu.Unlock()
					if c.exits(name, n) {
						c.how()
					}
				}
				shared := &exiting{nearStore(), call}
				l := member(t, shared, "100/s even")
				l.Shared.Event = func(StoreEvent) { call("StoreEvent") }
				for range 10 {
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if got := calls["StoreEvent"]; got != c.want || calls["Listen"] != c.listens {
					t.Errorf("%d events, want %d; Listen was called %d times, want %d", got, c.want, calls["Listen"], c.listens)
				}
			})
		})
	}
}

// exiting is a Store whose functions may end their goroutine.
type exiting struct {
	store.Store
	call func(name string)
}

func (s *exiting) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.call("Exchange")
	return s.Store.Exchange(ctx, r)
}

func (s *exiting) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	s.call("Listen")
	return s.Store.Listen(bucket, hear)
}

// hangingStore is a store that does not return from some calls until it is let go.
type hangingStore struct {
	*store.Memory
	hangs func(call string) bool
	heeds bool // an Exchange that hangs ends with its context
	ended chan struct{}
	over  atomic.Bool
	calls atomic.Int32 // that did not return at once
}

func newHangingStore(hangs func(call string) bool) *hangingStore {
	return &hangingStore{Memory: new(store.Memory), hangs: hangs, ended: make(chan struct{})}
}

// letGo ends all calls, and lets those that follow return.
func (s *hangingStore) letGo() {
	s.over.Store(true)
	close(s.ended)
}

func (s *hangingStore) hang(call string) {
	if !s.over.Load() && s.hangs(call) {
		s.calls.Add(1)
		<-s.ended
	}
}

func (s *hangingStore) Listen(name string, hear func(store.News)) (func(), error) {
	s.hang("Listen")
	stop, err := s.Memory.Listen(name, hear)
	return func() { s.hang("stop"); stop() }, err
}

func (s *hangingStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	if s.heeds && s.hangs("Exchange") {
		<-ctx.Done()
		return nil, fmt.Errorf("no answer: %w", ctx.Err())
	}
	s.hang("Exchange")
	return s.Memory.Exchange(context.Background(), r)
}

// A store that does not return from a call, whatever its context says, cannot be reached: claims go by Outage
// and MaxStandstill, Close returns, and no other call is made before that one has ended. Then the store can be
// reached.
func TestLeaseStoreThatHangs(t *testing.T) {
	const ms = time.Millisecond
	for _, call := range []string{"Listen", "Exchange"} {
		for _, c := range []struct {
			outage Outage
			waits  time.Duration // of the first claim
			want   error
		}{
			{OutageClosed, 2*time.Minute + 300*ms, ErrStandstill},
			{OutageShare, 2*time.Minute + 300*ms, ErrStandstill}, // nobody knows among how many
			{OutageOpen, 300 * ms, nil},                          // when the call is overdue
		} {
			t.Run(fmt.Sprint(call, " ", c.outage), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newHangingStore(func(c string) bool { return c == call })
					var events []StoreEvent
					l := &Limiter{
						Name: "x", Quotas: quotas(t, "500/s"), Shared: Shared{Store: s, Outage: c.outage, Event: func(e StoreEvent) { events = append(events, e) }}, MaxStandstill: 2 * time.Minute,
					}
					start := time.Now()
					took := func(want time.Duration) {
						t.Helper()
						if d := time.Since(start); d != want {
							t.Errorf("took %v, want %v", d, want)
						}
						start = time.Now()
					}
					if err := l.Wait(t.Context(), 1); !errors.Is(err, c.want) {
						t.Error(err)
					}
					took(c.waits)
					if f := l.Forecast(Claim{}); f.Never || !errors.Is(f.Err, c.want) {
						t.Errorf("forecast %+v, want %v", f, c.want)
					}
					if _, err := l.Acquire(t.Context(), Claim{MaxWait: -1}); (err == nil) != (c.want == nil) {
						t.Error(err)
					}
					if f := l.Forecast(Claim{}); c.want != nil && (f.Wait == 0 || f.Cause != CauseStoreNotReached) {
						t.Errorf("forecast %+v", f)
					}
					time.Sleep(time.Hour)
					if st := l.State().Store; st.Err == nil || st.Down < time.Hour {
						t.Errorf("state %+v", st)
					}
					start = time.Now()
					if c.want != nil {
						go func() {
							time.Sleep(time.Minute)
							s.letGo()
						}()
						if err := l.Wait(t.Context(), 1); !errors.Is(err, ErrStandstill) {
							t.Error(err) // the outage has lasted for longer than that
						}
						took(0)
						time.Sleep(time.Minute + time.Second)
						if err := l.Wait(t.Context(), 1); err != nil || l.State().Store.Down != 0 {
							t.Errorf("%v, state %+v", err, l.State().Store)
						}
						if len(events) != 2 || events[0].Kind != StoreDown || events[1].Kind != StoreBack || events[1].Err != nil {
							t.Errorf("events %+v", events)
						}
						if err := l.Close(); err != nil {
							t.Error(err)
						}
					} else {
						if err := l.Close(); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "throttle: x: close: ") {
							t.Error(err)
						}
						took(0)
						s.letGo()
					}
					if n := s.calls.Load(); n != 1 {
						t.Errorf("%d calls did not return", n)
					}
				})
			})
		}
	}
}

// Close returns whatever does not: the call under way, the last call, or the end of listening.
func TestLeaseCloseOfAStoreThatHangs(t *testing.T) {
	for name, c := range map[string]struct {
		hangs string
		heeds bool // its context
		from  time.Duration
		want  time.Duration
	}{
		"under way":         {"Exchange", false, 0, 300 * time.Millisecond},
		"last":              {"Exchange", false, 1, 300 * time.Millisecond},
		"heeds its context": {"Exchange", true, 1, 250 * time.Millisecond},
		"stop":              {"stop", false, 0, 300 * time.Millisecond},
		"Listen":            {"Listen", false, 0, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := newHangingStore(func(call string) bool { return call == c.hangs && time.Since(start) >= c.from })
				s.heeds = c.heeds
				g := Group{New: func(path []string) *Limiter {
					return &Limiter{Name: path[0], Quotas: quotas(t, "5/s"), Shared: Shared{Store: s}}
				}}
				for i := range 100 {
					g.Limiter(fmt.Sprint(i)).Allow(1)
					synctest.Wait()
				}
				time.Sleep(c.from)
				closing := time.Now()
				if err := g.Close(); !errors.Is(err, context.DeadlineExceeded) || time.Since(closing) != c.want || strings.Contains(err.Error(), "\n") {
					t.Errorf("after %v: %v", time.Since(closing), err)
				}
				if err := g.Close(); err != nil {
					t.Errorf("again: %v", err)
				}
				s.letGo()
				time.Sleep(time.Second) // in which calls under way end with their contexts
			})
		})
	}
}

// TestGroupCloseOfAStoreThatIsAway: Close of many buckets takes no longer than that of few, wherever in their
// calls they are: until the calls under way have ended, and if the store once was there, those of the last
// calls that fail within 300 ms.
func TestGroupCloseOfAStoreThatIsAway(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		was    bool // there once
		errs   int  // of buckets
		within time.Duration
	}{
		"always": {false, 0, 130 * ms},
		"now":    {true, 3, 130*ms + 3*130*ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var away atomic.Bool
				away.Store(!c.was)
				s := &slowStore{Store: new(store.Memory), there: 130 * ms, fail: func(int) error {
					if away.Load() {
						return errDown
					}
					return nil
				}}
				g := Group{New: func(path []string) *Limiter {
					return &Limiter{Name: path[0], Quotas: quotas(t, "5/s"), Shared: Shared{Store: s}}
				}}
				for i := range 100 {
					go func() {
						if err := g.Limiter(fmt.Sprint(i)).Wait(t.Context(), 5); (err == nil) != c.was {
							t.Error(err)
						}
					}()
					time.Sleep(ms)
				}
				time.Sleep(time.Second)
				away.Store(true)
				start := time.Now()
				err := g.Close()
				if d := time.Since(start); d > c.within || (err != nil) != (c.errs > 0) || err != nil && strings.Count(err.Error(), errDown.Error()) != c.errs {
					t.Errorf("after %v: %v", d, err)
				}
				if !g.Limiter("99").isClosed() {
					t.Error("the last bucket is not closed")
				}
				time.Sleep(time.Second) // in which calls under way end
			})
		})
	}
}

// Close does not wait for StoreEvent, which may wait for what the caller of Close holds: a mutex, say.
func TestLeaseCloseDoesNotWaitForStoreEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHangingStore(func(call string) bool { return call == "Exchange" })
		closed := make(chan struct{})
		l := &Limiter{Name: "x", Quotas: quotas(t, "5/s"), Shared: Shared{Store: s, Event: func(StoreEvent) { <-closed }}}
		l.Allow(1)
		time.Sleep(time.Millisecond)
		go func() {
			defer close(closed)
			if err := l.Close(); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}()
		start := time.Now()
		if <-closed; time.Since(start) != 299*time.Millisecond {
			t.Errorf("after %v", time.Since(start))
		}
		s.letGo()
	})
}

// TestLeaseOverdueSaysWhen: the error of a call that does not return has the time that this call had.
func TestLeaseOverdueSaysWhen(t *testing.T) {
	for want, shared := range map[string]Shared{
		"throttle: the Store has not returned within 300ms": {Outage: OutageShare, SlotLife: 700 * time.Millisecond},
		"throttle: the Store has not returned within 750ms": {Outage: OutageClosed, SlotLife: 700 * time.Millisecond},
		"throttle: the Store has not returned within 1.05s": {Outage: OutageClosed, SlotLife: 2 * time.Second},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHangingStore(func(string) bool { return true })
				var got []string
				shared.Store, shared.Event = s, func(e StoreEvent) { got = append(got, e.Err.Error()) }
				l := &Limiter{Name: "x", Quotas: quotas(t, "50/10s burst 50"), Shared: shared}
				l.Allow(1)
				time.Sleep(2 * time.Second)
				if err := l.Close(); err == nil || err.Error() != "throttle: x: close: "+want || len(got) != 1 || got[0] != want {
					t.Errorf("events %q, then %v", got, err)
				}
				s.letGo()
			})
		})
	}
}

// However many buckets a Group makes and forgets, no more than 10,000 calls that do not return are under way.
func TestLeaseStoreThatHangsIsAskedByFewBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHangingStore(func(string) bool { return true })
		var unmade atomic.Int32
		count := func(e StoreEvent) {
			if errors.Is(e.Err, errMostCalls) {
				unmade.Add(1)
			}
		}
		g := Group{MaxBuckets: 10, New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quotas(t, "5/s"), Shared: Shared{Store: s, Outage: OutageOpen, Event: count}}
		}}
		for i := range 10_100 {
			g.Limiter(fmt.Sprint(i)).Allow(1)
			time.Sleep(301 * time.Millisecond)
		}
		if n := s.calls.Load(); n != mostCalls {
			t.Errorf("%d calls are under way", n)
		}
		if n := unmade.Load(); n != 100 {
			t.Errorf("%d of the last 100 calls were not made since so many are", n)
		}
		s.letGo()
		time.Sleep(time.Second)
		if err := g.Limiter("10099").Wait(t.Context(), 1); err != nil || g.calls.Load() != 0 {
			t.Errorf("%v, %d under way", err, g.calls.Load())
		}
		_ = g.Close()
	})
}

// deafStore fails to send news, so many times.
type deafStore struct {
	store.Memory
	how             func() error
	fails, listened int
}

func (s *deafStore) Listen(bucket string, hear func(store.News)) (stop func(), err error) {
	if s.listened++; s.listened <= s.fails {
		return nil, s.how()
	}
	return s.Memory.Listen(bucket, hear)
}

// TestLeaseListensAgain: a Store that has failed to send news, or panicked, is asked for them again, later and
// later, until it sends them; not if it has none.
func TestLeaseListensAgain(t *testing.T) {
	for name, c := range map[string]struct {
		how         func() error
		fails, want int
	}{
		"fails":       {func() error { return errors.New("no subscription now") }, 2, 3},
		"panics":      {func() error { panic("no subscription now") }, 1, 2},
		"exits":       {func() error { runtime.Goexit(); return nil }, 1, 2},
		"always":      {func() error { return errors.New("no subscription") }, 100, 4}, // at 0, 2, 4 and 6 s
		"has no news": {func() error { return errors.ErrUnsupported }, 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &deafStore{how: c.how, fails: c.fails}
			l := member(t, s, "1/s burst 1")
			for range 5 {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
			}
			if s.listened != c.want {
				t.Errorf("%s: asked for news %d times, want %d", name, s.listened, c.want)
			}
		})
	}
}

// TestCostAboveThePart: a claim that only the return of the store lets go says so, and how much goes meanwhile;
// not that it waits for 50 years.
func TestCostAboveThePart(t *testing.T) {
	for _, c := range []struct {
		text string
		cost int
		want string
	}{
		{"100/s burst 60", 28, `"100/s burst 60", cost 28, above the 27 that may go at once meanwhile`},
		{"100/s burst 60 debt", 28, `"100/s burst 60 debt", cost 28, above the 27 that may go at once meanwhile`},
		{"1000/m log", 700, `"1000/m log", cost 700, above the 450 that may go at once meanwhile`},
		{"1000 bytes/m log", 700, `"1kB/m log", cost 700 bytes, above the 450 that may go at once meanwhile`},
		{"1/m log", 1, `"1/m log", cost 1, above the 0 that may go at once meanwhile`},
	} {
		synctest.Test(t, func(t *testing.T) {
			start, unit := time.Now(), quota.MustParse(c.text)[0].Unit
			claim := func(n int, maxWait time.Duration) Claim {
				if unit == "" {
					return Claim{N: n, MaxWait: maxWait}
				}
				return Claim{Costs: quota.Costs{unit: int64(n)}, MaxWait: maxWait}
			}
			shared := nearStore()
			var back atomic.Bool
			shared.fail = func(int) error {
				if time.Since(start) > 90*time.Second && !back.Load() {
					return errDown
				}
				return nil
			}
			a, b := member(t, shared, c.text), member(t, shared, c.text)
			for _, l := range []*Limiter{b, a} { // so that each knows of the other
				if _, err := l.Acquire(t.Context(), claim(1, 0)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(100 * time.Second)
			a.Acquire(t.Context(), claim(c.cost, -1))        // begins the outage
			time.Sleep(10*time.Minute + 50*time.Millisecond) // between two calls
			asked := time.Now()
			if f := a.Forecast(claim(c.cost, 0)); f.Wait.Round(time.Millisecond) != 150*time.Millisecond || f.Cause != CauseStoreNotReached { // until the next call
				t.Errorf("%s: forecast %+v", c.text, f)
			}
			for _, maxWait := range []time.Duration{time.Minute, -1} {
				_, err := a.Acquire(t.Context(), claim(c.cost, maxWait))
				want, took := "wait over MaxWait (1m0s, after waiting for 1m0s)", time.Minute
				if maxWait < 0 {
					want, took = "would have to wait", 0
				}
				want = "throttle: api: not sent: " + want + ": store not reached " + c.want + ": no route to host"
				var e *Error
				if !errors.As(err, &e) || err.Error() != want || e.Wait != 0 || !e.At.IsZero() || time.Since(asked) != took {
					t.Errorf("after %v, got %+v\nwant %s", time.Since(asked), err, want)
				}
				asked = time.Now()
			}
			back.Store(true)
			if _, err := a.Acquire(t.Context(), claim(c.cost, 1700*time.Millisecond)); err != nil {
				t.Errorf("%s: the store is back: %v", c.text, err)
			}
		})
	}
}

// TestBurstInAnOutage: all processes may send at the same instant what goes at once in an outage, as far as it
// is no more than their parts of the burst; and what is more, none does.
func TestBurstInAnOutage(t *testing.T) {
	for _, cost := range []int{27, 28, 60} {
		synctest.Test(t, func(t *testing.T) {
			shared := nearStore()
			a, b := member(t, shared, "100/s burst 60"), member(t, shared, "100/s burst 60")
			for _, l := range []*Limiter{a, b, a} {
				if err := l.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			shared.fail = func(int) error { return errDown }
			went := make(chan int, 2)
			for _, l := range []*Limiter{a, b} {
				go func() {
					l.Wait(until(t, time.Now().Add(time.Second)), 1) // begins the outage
					time.Sleep(10 * time.Second)
					n := 0
					if l.Wait(until(t, time.Now().Add(5*time.Second)), cost) == nil {
						n++
					}
					went <- n
				}()
			}
			if n := <-went + <-went; n != 2 && cost == 27 || n != 0 && cost > 27 {
				t.Errorf("%d of 2 claims of %d went", n, cost)
			}
			shared.fail = nil
		})
	}
}

// farStore is one whose calls take a while each way, and end with their contexts.
type farStore struct {
	store.Memory
	oneWay  time.Duration
	timeout atomic.Int64 // of the last call
}

// Exchange implements store.Store.
func (s *farStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	until, _ := ctx.Deadline()
	s.timeout.Store(int64(time.Until(until)))
	if err := pause(ctx, s.oneWay); err != nil {
		return nil, err
	}
	reply, err := s.Memory.Exchange(ctx, r)
	if err == nil {
		err = pause(ctx, s.oneWay)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// TestStoreThatIsFar: a call may take as long as a SlotLife that is set, and a second at most, where only slots
// let claims go; else 250 ms. So a store that is farther away than that can be used.
func TestStoreThatIsFar(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		outage       Outage
		slotLife     time.Duration
		trip, within time.Duration
	}{
		{OutageClosed, 0, 240 * ms, 250 * ms},
		{OutageClosed, 0, 260 * ms, 250 * ms},
		{OutageClosed, 100 * ms, 80 * ms, 250 * ms},
		{OutageClosed, 800 * ms, 400 * ms, 800 * ms},
		{OutageClosed, 800 * ms, 820 * ms, 800 * ms},
		{OutageClosed, 10 * time.Second, 980 * ms, time.Second},
		{OutageClosed, 10 * time.Second, 1020 * ms, time.Second},
		{OutageShare, 800 * ms, 400 * ms, 250 * ms},
		{OutageOpen, 800 * ms, 240 * ms, 250 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &farStore{oneWay: c.trip / 2}
			var events []StoreEventKind
			l := &Limiter{Name: "api", Quotas: quotas(t, "100/m"), Shared: Shared{Store: s, Outage: c.outage, SlotLife: c.slotLife, Event: func(e StoreEvent) { events = append(events, e.Kind) }}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start, reached := time.Now(), c.trip < c.within
			if err := l.Wait(ctx, 1); (err == nil) != reached || reached && time.Since(start) != c.trip {
				t.Errorf("%+v: %v after %v, want that the store is reached: %v", c, err, time.Since(start), reached)
			}
			if got := time.Duration(s.timeout.Load()); got != c.within || (len(events) == 0) != reached {
				t.Errorf("%+v: a call may take %v, and %v happened", c, got, events)
			}
			if err := l.Close(); err != nil && reached {
				t.Errorf("%+v: %v", c, err)
			}
		})
	}
}
