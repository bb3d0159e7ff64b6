package throttle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/store"
)

// While the Store is away, and nobody knows for how long, claims wait until that has lasted MaxStandstill;
// those that come later are refused at once. What goes without the Store is waited for.
func TestStandstillOfAStore(t *testing.T) {
	for _, test := range []struct {
		name    string
		outage  Outage
		fails   func() bool
		max     time.Duration
		refused bool
	}{
		{"closed", OutageClosed, func() bool { return true }, standstill, true},
		{"closed, zero", OutageClosed, func() bool { return true }, -1, true},
		{"share, never reached", OutageShare, func() bool { return true }, standstill, true},
		{"open", OutageOpen, func() bool { return true }, standstill, false},
		{"reached", OutageClosed, func() bool { return false }, standstill, false},
	} {
		for _, below := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, below), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					shared := nearStore()
					shared.fail = func(int) error {
						if test.fails() {
							return errDown
						}
						return nil
					}
					start := time.Now()
					down := start.Add(shared.there) // the first call ends
					l := member(t, shared, "10/s burst 1")
					l.Shared.Outage, l.MaxStandstill = test.outage, test.max
					asked := l
					if below {
						asked = &Limiter{Parent: l, MaxStandstill: test.max}
					}
					err := asked.Wait(t.Context(), 1)
					var e *Error
					switch {
					case !test.refused && err != nil:
						t.Errorf("got %v", err)
					case !test.refused:
					case !errors.As(err, &e) || !errors.Is(err, ErrStandstill) || e.Cause != CauseStoreNotReached || e.Wait != 0 || !e.At.IsZero() || e.Bucket != l.Name:
						t.Errorf("got %#v, want ErrStandstill because of the store", err)
					case time.Since(down) != max(test.max, 0):
						t.Errorf("refused %v after the outage began, want %v", time.Since(down), test.max)
					default:
						if err := asked.Wait(t.Context(), 1); !errors.Is(err, ErrStandstill) || time.Since(down) != max(test.max, 0) {
							t.Errorf("a later one: %v after %v", err, time.Since(down))
						}
					}
					l.Close()
				})
			})
		}
	}
}

// A reply that says that nothing comes for long ends the wait. Slots that are far because those of others go
// before are no standstill.
func TestStandstillOfASharedQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/h window"), member(t, shared, "10/h window")
		for range 10 {
			if err := a.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		b.MaxStandstill = standstill
		start := time.Now()
		err := b.Wait(t.Context(), 1)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrStandstill) || e.Cause != CausePace || e.Quota != "10/h window" || e.Wait < 50*time.Minute {
			t.Errorf("got %#v", err)
		}
		if took := time.Since(start); took > 5*time.Millisecond {
			t.Errorf("after %v", took)
		}
		a.Close()
		b.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "1/s burst 1"), member(t, shared, "1/s burst 1")
		for range 60 {
			go a.Wait(t.Context(), 1)
		}
		time.Sleep(time.Second)
		b.MaxStandstill = 2 * time.Second
		for range 3 {
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		a.Close()
		b.Close()
	})
}

// mistakenStore says that all slots are far ahead, or that there are none until then.
type mistakenStore struct {
	store.Memory
	far     time.Duration
	members int
	slots   bool
}

// Exchange implements store.Store.
func (s *mistakenStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	reply, err := s.Memory.Exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	reply.Ahead, reply.Next, reply.Members = s.far, s.far, max(reply.Members, s.members)
	for i := range reply.Slots {
		reply.Slots[i].In = s.far
	}
	if !s.slots {
		reply.Slots = nil
	}
	return reply, nil
}

// TestStandstillOfAStoreThatIsMistaken: what a Store says to be further ahead than the slots of others may be
// is a standstill; without a MaxStandstill, if it is more than a day further, or than the window of the quota.
// So a Store that is mistaken, or was given back the debt of another bucket, does not hold one for years.
func TestStandstillOfAStoreThatIsMistaken(t *testing.T) {
	const years, day = 20 * 365 * 24 * time.Hour, 24 * time.Hour
	for _, c := range []struct {
		text            string
		others          time.Duration // that each may have in hand
		bound, explains time.Duration // MaxStandstill, and what it stands for
	}{
		{"10/s burst 5", 2 * 500 * time.Millisecond, standstill, standstill},
		{"10/s log", 2 * time.Second, standstill, standstill},
		{"5/m window", 2 * time.Minute, standstill, standstill},
		{"10/s burst 5 debt", day, standstill, standstill},
		{"10/s burst 5", 2 * 500 * time.Millisecond, 0, day},
		{"5/m window", 2 * time.Minute, Forever, day},
		{"10/s burst 5 debt", day, 0, day},
		{"5/720h window", 2 * 720 * time.Hour, 0, 720 * time.Hour},
		{"5/24h", 2 * day, 0, day},
	} {
		for _, members := range []int{1, 7, math.MaxInt} {
			for _, slots := range []bool{true, false} {
				// Three Horizons, SlotLife, and two claims of each, of all that goes at once: of 512 in a year,
				// or within a day, where more are said to share the bucket.
				near := 1500*time.Millisecond + lease.DefaultSlotLife(quotas(t, c.text).Explicit())
				explained := max(day, min(near+512*c.others, 365*day))
				if members < 512 {
					explained = min(explained, near+time.Duration(members)*c.others)
				}
				if strings.Contains(c.text, "debt") {
					explained = day // nobody knows what a claim costs
				}
				explained += c.explains
				for far, want := range map[time.Duration]bool{years: true, explained: false, explained + 1: true} {
					synctest.Test(t, func(t *testing.T) {
						l := &Limiter{Name: "api", Quotas: quotas(t, c.text), MaxStandstill: c.bound, Shared: Shared{Store: &mistakenStore{far: far, members: members, slots: slots}}}
						ctx, cancel := context.WithCancel(t.Context())
						time.AfterFunc(100*time.Millisecond, cancel)
						start := time.Now()
						err := l.Wait(ctx, 1)
						if errors.Is(err, ErrStandstill) != want || time.Since(start) != 0 && want || c.bound == 0 && want && !strings.Contains(err.Error(), "no bound, but") {
							t.Errorf("%s, MaxStandstill %v, %d members, %v ahead, slots %v: %v after %v, want a standstill: %v", c.text, c.bound, members, far, slots, err, time.Since(start), want)
						}
						l.Close()
					})
				}
			}
		}
	}
}

// emptyStore has nothing that can be used, whatever it says.
type emptyStore struct {
	store.Memory
	none  bool                                // it hands out nothing
	spoil func(reply *store.Reply, calls int) // nil if it is right again
	mu    sync.Mutex                          // locks calls, and what is set anew while calls are made
	calls int
}

// mend has it be right again, and returns how often it was called.
func (s *emptyStore) mend() (calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil, s.none = nil, false
	return s.calls
}

// Exchange implements store.Store.
func (s *emptyStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	asked := *r
	if s.none {
		asked.Asks = nil
	}
	reply, err := s.Memory.Exchange(ctx, &asked)
	if err == nil && s.spoil != nil {
		s.spoil(reply, s.calls)
	}
	return reply, err
}

// TestStandstillOfAStoreThatHasNothing: a Store that says that there is a slot soon, and never has one that can
// be used, is a standstill after MaxStandstill. It is asked each half second, once it has broken its word for
// ten seconds.
func TestStandstillOfAStoreThatHasNothing(t *testing.T) {
	in := func(d time.Duration) func(*store.Reply, int) {
		return func(reply *store.Reply, _ int) {
			for i := range reply.Slots {
				reply.Slots[i].In = d
			}
		}
	}
	for name, spoil := range map[string]func(reply *store.Reply, calls int){
		"slots far beyond all that it knows of": in(20 * 365 * 24 * time.Hour),
		"slots that have passed":                in(-time.Hour),
		"one now":                               func(reply *store.Reply, _ int) { reply.Next, reply.Ahead = 0, 0 },
		"one in a minute":                       func(reply *store.Reply, _ int) { reply.Next = time.Minute },
		"lost again and again": func(reply *store.Reply, calls int) {
			reply.Lost, reply.Life = true, int64(calls)
		},
	} {
		for _, waiting := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				s := &emptyStore{spoil: spoil, none: !strings.HasPrefix(name, "slots")}
				l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), MaxStandstill: standstill, Shared: Shared{Store: s}}
				start := time.Now()
				var wg sync.WaitGroup
				for range waiting {
					wg.Go(func() {
						err := l.Wait(t.Context(), 1)
						if took := time.Since(start); !errors.Is(err, ErrStandstill) || took <= standstill || took > standstill+lease.Horizon {
							t.Errorf("%s: %v after %v, want a standstill after %v", name, err, took, standstill)
						}
					})
				}
				wg.Wait()
				if most, calls := 1000+int((standstill-10*time.Second)/lease.Horizon)+10, s.mend(); calls > most {
					t.Errorf("%s: %d calls, want %d at most", name, calls, most)
				}
				time.Sleep(3*lease.Horizon + 1) // until then a claim is refused at once
				start = time.Now()
				if err := l.Wait(t.Context(), 1); err != nil || time.Since(start) > lease.Horizon {
					t.Errorf("%s: when it is right again, %v after %v", name, err, time.Since(start))
				}
				l.Close()
			})
		}
	}
}

// TestHoldsOfAStoreHaveAnEnd: holds that a Store tells one after the other, or statements of a server that has
// nothing left, hold a claim that waits for a day. Then slots alone count, so that a Store which means it hands
// out none before the hold is over.
func TestHoldsOfAStoreHaveAnEnd(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		none           bool // no slots, either
		stated         bool // by a statement, which holds for a second more, and for MaxHold at the most
		bound, maxHold time.Duration
		hold, after    time.Duration // of the Store; after how long the claim goes, or is refused
	}{
		{false, false, 0, 0, 10 * time.Minute, day},
		{false, false, standstill, 0, time.Minute, day},
		{false, false, Forever, 0, 20 * 365 * day, day},
		{false, false, 0, 2 * day, 10 * time.Minute, 2 * day},
		{true, false, standstill, 0, time.Minute, day + standstill},
		{false, true, 0, 0, 10 * time.Minute, day},
		{false, true, standstill, 0, time.Minute, day},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &emptyStore{none: c.none, spoil: func(reply *store.Reply, _ int) {
				if reply.Hold, reply.Next = c.hold, 0; c.stated {
					reply.Hold, reply.Statements = 0, []quota.Statement{{Name: "core", Limit: 10, Reset: c.hold, ResetKnown: true, Resolution: time.Second}}
				}
			}}
			l := &Limiter{Name: "api", Quotas: quotas(t, "10/s burst 5"), MaxStandstill: c.bound, MaxHold: c.maxHold, Shared: Shared{Store: s}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*day)
			defer cancel()
			start := time.Now()
			err := l.Wait(ctx, 1)
			longest := 2*lease.Horizon + 1
			if c.stated {
				longest += c.hold + time.Second
			}
			if took := time.Since(start); errors.Is(err, ErrStandstill) != c.none || err != nil != c.none || took < c.after || took > c.after+longest {
				t.Errorf("%+v: %v after %v", c, err, took)
			}
			l.Close()
		})
	}
}

// TestStandstillOfOthersInAStore: what many others have got of a Store, each of them as much as goes at once,
// is no standstill: the line moves.
func TestStandstillOfOthersInAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := new(store.Memory)
		var wg sync.WaitGroup
		var went atomic.Int32
		for range 12 {
			l := &Limiter{Name: "api", Quotas: quotas(t, "1/s burst 60"), MaxStandstill: 2 * time.Second, Shared: Shared{Store: shared}}
			for range 3 {
				wg.Go(func() {
					if err := l.Wait(t.Context(), 60); err != nil {
						t.Error(err)
					}
					went.Add(1)
				})
			}
		}
		wg.Wait()
		if n := went.Load(); n != 36 {
			t.Errorf("%d went", n)
		}
	})
}
