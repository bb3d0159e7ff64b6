package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestLeaseTurns: waiters of two processes take turns on one schedule, in the order in which
// they asked, and each process asks once for all who wait.
func TestLeaseTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
		tl := &timeline{start: time.Now()}
		tl.ask(t.Context(), "a1", a, 1)
		tl.ask(t.Context(), "a2", a, 1)
		tl.ask(t.Context(), "a3", a, 1)
		time.Sleep(time.Millisecond)
		tl.ask(t.Context(), "b1", b, 1)
		tl.ask(t.Context(), "b2", b, 1)
		time.Sleep(time.Second)
		// A slot each 101 ms, from when the first call arrived, and a quarter of a millisecond back.
		tl.check(t, "a1 500µs", "a2 101.5ms", "a3 202.5ms", "b1 303.5ms", "b2 404.5ms")
		if n := shared.calls.Load(); n != 4 { // a1; a2 and a3; b1; b2
			t.Errorf("%d calls", n)
		}
	})
}

// TestLeaseCancel: the slot of who gives up goes to who asks next, at the same instant.
func TestLeaseCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
		tl := &timeline{start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		tl.ask(t.Context(), "a1", a, 1)
		tl.ask(ctx, "a2", a, 1)
		time.Sleep(time.Millisecond)
		tl.ask(t.Context(), "b1", b, 1)
		time.Sleep(49 * time.Millisecond)
		cancel()
		time.Sleep(time.Millisecond)
		tl.ask(t.Context(), "b2", b, 1)
		tl.ask(t.Context(), "b3", b, 1)
		time.Sleep(time.Second)
		tl.check(t, "a1 500µs", `a2 50ms: throttle: api: not sent: canceled while waiting: pace "10/s even", could go in 51.5ms: context canceled`,
			"b1 101.5ms", "b2 202.5ms", "b3 303.5ms")
	})
}

// TestLeaseCancelGranted: what was granted and not sent can go here while its slot is good, and else
// elsewhere.
func TestLeaseCancelGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s log"), member(t, shared, "10/s log")
		grants := make([]*Grant, 10)
		for i := range grants {
			var err error
			if grants[i], err = a.Acquire(t.Context(), Claim{}); err != nil {
				t.Fatal(err)
			}
		}
		grants[3].Cancel()
		tl := &timeline{start: time.Now()}
		tl.ask(t.Context(), "a", a, 1)
		tl.check(t, "a 0s") // by the slot that came back
		grants[4].Cancel()
		grants[5].Cancel()
		time.Sleep(20 * time.Millisecond) // twice SlotLife
		tl.ask(t.Context(), "b1", b, 1)
		tl.ask(t.Context(), "b2", b, 1)
		tl.ask(t.Context(), "b3", b, 1)
		time.Sleep(2 * time.Second)
		tl.check(t, "a 0s", "b1 20.5ms", "b2 21ms", "b3 1.01s")
	})
}

// TestLeaseDeadline: a claim for which there is no slot in time takes none, and is told so when the
// store has said that.
func TestLeaseDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
		tl := &timeline{start: time.Now()}
		for i := range 3 {
			tl.ask(t.Context(), fmt.Sprint("a", i+1), a, 1)
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		tl.ask(ctx, "b1", b, 1)
		time.Sleep(time.Millisecond)
		tl.ask(t.Context(), "b2", b, 1)
		time.Sleep(time.Second)
		tl.check(t, "a1 500µs",
			`b1 1.5ms: throttle: api: not sent: wait past the deadline (in 99.5ms): pace "10/s even", could go in 302ms`,
			"a2 101.5ms", "a3 202.5ms", "b2 303.5ms")
	})
}

// TestLeaseNoWait: who does not want to wait learns within a round trip whether it may go.
func TestLeaseNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
		start := time.Now()
		if _, err := a.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil || time.Since(start) != 500*time.Microsecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		_, err := b.Acquire(t.Context(), Claim{MaxWait: -1})
		if !errors.Is(err, ErrWouldWait) || time.Since(start) != time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		// For a while, what the store said is known.
		_, err = b.Acquire(t.Context(), Claim{MaxWait: -1})
		if e := new(Error); !errors.As(err, &e) || time.Since(start) != time.Millisecond || e.Wait != 100500*time.Microsecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(101 * time.Millisecond)
		if _, err := b.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaseHold: what one process is told holds all, at once if the store has news, with
// the next call if it has none.
func TestLeaseHold(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				shared.silent = silent
				a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
				a.Rand = func() float64 { return 0 }
				tl := &timeline{start: time.Now()}
				g, err := a.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				tl.ask(t.Context(), "b1", b, 1)
				tl.ask(t.Context(), "b2", b, 1)
				time.Sleep(50 * time.Millisecond)
				g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Second}})
				time.Sleep(2 * time.Second)
				want := []string{"b1 1.0515s", "b2 1.1525s"}
				if silent {
					want = []string{"b1 101.5ms", "b2 202.5ms"} // it has both slots
				}
				tl.check(t, want...)
				tl = &timeline{start: time.Now()}
				a.Pause(time.Second)
				time.Sleep(10 * time.Millisecond)
				tl.ask(t.Context(), "b3", b, 1)
				time.Sleep(2 * time.Second)
				if silent {
					tl.check(t, "b3 1.0005s") // the call has it wait, and another one has it go
				} else {
					tl.check(t, "b3 1.00075s")
				}
			})
		})
	}
}

// TestLeaseClosedSetQuotas: new quotas do not open a closed bucket again.
func TestLeaseClosedSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := member(t, nearStore(), "10/s even")
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.SetQuotas(quotas(t, "20/s even")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Wait(ctx, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("Wait after Close and SetQuotas: %v, want %v", err, ErrClosed)
		}
	})
}

// TestLeaseInvalidSetQuotas: a bucket whose first quotas are invalid shares those that it is given later.
func TestLeaseInvalidSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := member(t, nearStore(), "10/s even")
		l.Quotas[0].N = -1
		if err := l.Wait(t.Context(), 1); err == nil {
			t.Fatal("Wait with an invalid quota: no error")
		}
		if err := l.SetQuotas(quotas(t, "10/s even")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 3 {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 200*time.Millisecond {
			t.Errorf("3 requests at 10/s took %v, want at least 200ms", took)
		}
	})
}

// TestLeaseClosedParent: claims that wait below a closed bucket end, too, once they need it.
func TestLeaseClosedParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := member(t, nearStore(), "10/s even")
		l := &Limiter{Name: "child", Quotas: quotas(t, "1/s even"), Parent: parent}
		tl := &timeline{start: time.Now()}
		for _, name := range []string{"1", "2", "3"} {
			tl.ask(t.Context(), name, l, 1)
		}
		time.Sleep(500 * time.Millisecond)
		if err := parent.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		tl.mu.Lock()
		slices.Sort(tl.went) // 2 and 3 end at the same instant: when 2 is due in l
		tl.mu.Unlock()
		closed := " 1.0005s: throttle: api: not sent: closed"
		tl.check(t, "1 500µs", "2"+closed, "3"+closed)
	})
}

// TestLeaseTellsWholeQuotas: a Store is told of quotas with all defaults written out, so that it need not know
// them, and that two processes that write one quota in two ways share it; and of none that does not live in it.
func TestLeaseTellsWholeQuotas(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		quotas, want quota.Quotas
	}{
		{quota.Quotas{{N: 10, Kind: quota.TokenBucket}}, quota.Quotas{{N: 10, Per: s, Kind: quota.TokenBucket, Burst: 10}}},
		{quota.Quotas{{N: 10, Burst: 3, Queue: 5, Name: "mine"}}, quota.Quotas{{N: 10, Per: s, Kind: quota.TokenBucket, Burst: 3}}},
		{quota.Quotas{{N: 10, Unit: quota.Requests, Kind: quota.SlidingWindow}}, quota.Quotas{{N: 10, Per: s, Kind: quota.SlidingWindow, Cells: 10}}},
		{quota.Quotas{{N: 10}}, quota.Quotas{{N: 10, Per: s, Kind: quota.SlidingLog}}},
		{quota.Quotas{{N: 1000}}, quota.Quotas{{N: 1000, Per: s, Kind: quota.SlidingWindow, Cells: 64}}},
		{quota.Quotas{{N: 10, Kind: quota.FixedWindow}, {N: 5, Kind: quota.InFlight}}, quota.Quotas{{N: 10, Per: s, Kind: quota.FixedWindow}}},
	} {
		for _, late := range []bool{false, true} { // by SetQuotas
			synctest.Test(t, func(t *testing.T) {
				shared := &quotaStore{}
				l := &Limiter{Name: "b", Shared: Shared{Store: shared}, Quotas: test.quotas}
				if late {
					l.Quotas = quota.Quotas{{N: 1, Kind: quota.FixedWindow}}
					if err := l.SetQuotas(test.quotas); err != nil {
						t.Fatal(err)
					}
				}
				g, err := l.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{})
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(shared.told, test.want) {
					t.Errorf("%v, set later: %v: the store is told %#v, want %#v", test.quotas, late, shared.told, test.want)
				}
			})
		}
	}
}

// TestRefusedWhileAsked: a claim is refused, since the queue is full, while a call to the store asks for it. No
// other claim may have its waiter before the reply, which is about the first one.
func TestRefusedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := member(t, nearStore(), "2/m burst 2")
		l.MaxQueue = 1
		if err := l.Wait(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		go func() { _ = l.Wait(t.Context(), 1) }()
		time.Sleep(5 * time.Second) // it has a slot, which is still to come
		if err := l.Wait(t.Context(), 1); !errors.Is(err, ErrQueueFull) {
			t.Errorf("got %v, want ErrQueueFull", err)
		}
		l.lock()
		defer l.unlock()
		if l.link.calling == nil {
			t.Fatal("no call is under way")
		}
		if w := l.spare.Get().(*waiter); slices.Contains(l.link.calling.waiters, w) {
			t.Error("another claim gets the waiter that the call is about")
		}
	})
}
