package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// Each claim is held to its own MaxWait, whoever stands before it.
func TestClaimMaxWaitBehindOthers(t *testing.T) {
	for name, test := range map[string]struct {
		l      *Limiter
		claims []Claim
		want   []string // when each ended, and how
	}{
		"behind one without a bound": {
			&Limiter{Quotas: quotas(t, "1 in flight")},
			[]Claim{{}, {}, {MaxWait: time.Second}, {MaxWait: 3 * time.Second}, {MaxWait: 2 * time.Second}},
			[]string{"0s", "-", "1s: wait over MaxWait", "3s: wait over MaxWait", "2s: wait over MaxWait"},
		},
		"beside the bound of the bucket": {
			&Limiter{Quotas: quotas(t, "1 in flight"), MaxWait: 2 * time.Second},
			[]Claim{{}, {MaxWait: time.Hour}, {}, {MaxWait: time.Second}, {MaxWait: Forever}},
			[]string{"0s", "-", "2s: wait over MaxWait", "1s: wait over MaxWait", "-"},
		},
		"overtaken by urgent ones": {
			&Limiter{Quotas: quotas(t, "1/m log"), Aging: time.Hour},
			[]Claim{{}, {MaxWait: 130 * time.Second}, {Priority: Urgent}, {Priority: Urgent}, {Priority: Urgent}},
			[]string{"0s", "0s: wait over MaxWait", "1m0s", "2m0s", "3m0s"},
		},
		"due when the bound is reached": {
			&Limiter{Quotas: quotas(t, "1/m log")},
			[]Claim{{}, {MaxWait: time.Minute}, {MaxWait: 2 * time.Minute}},
			[]string{"0s", "1m0s", "2m0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: test.l.Quotas, MaxWait: test.l.MaxWait, Aging: test.l.Aging, Rand: noJitter}
				got := make([]string, len(test.claims))
				start := time.Now()
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for i, c := range test.claims {
					c.Cancel = stop
					wg.Go(func() {
						_, err := l.Acquire(t.Context(), c)
						var e *Error
						switch {
						case errors.Is(err, ErrCanceled):
							got[i] = "-"
						case errors.As(err, &e):
							got[i] = fmt.Sprintf("%v: %v", time.Since(start), e.Err)
						default:
							got[i] = time.Since(start).String()
						}
					})
					synctest.Wait()
				}
				time.Sleep(10 * time.Minute)
				close(stop)
				wg.Wait()
				if name == "overtaken by urgent ones" {
					// It is refused when it is known that it cannot make it, or when its time is over: no
					// later.
					if got[1] != "2m10s: wait over MaxWait" && got[1] != test.want[1] {
						t.Errorf("got %q", got)
					}
					got[1] = test.want[1]
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// Calls of Allow that fetch from a Store leave nothing behind, whatever they meet.
func TestLimiterAllowLeavesNothingBehind(t *testing.T) {
	memory := new(store.Memory)
	g := &Group{New: func([]string) *Limiter {
		return &Limiter{Name: "a", Quotas: quota.Quotas{{N: 10_000, Burst: 100}}, Shared: Shared{Store: memory}}
	}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3000 {
				g.Limiter("a").Allow(1)
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			if err := within.Update(g, func() bool { return true }); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if err := g.Limiter("a").Wait(t.Context(), 1); err != nil {
		t.Error(err)
	}
	l := g.Limiter("a")
	l.lock()
	root := l.root()
	if root.tree.frozen != 0 || l.line.Len() != 0 {
		t.Errorf("frozen %d times, %d in line", root.tree.frozen, l.line.Len())
	}
	l.unlock()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// What is wrong with a bucket is an error of each claim, and no more than that.
func TestStateOfAnInvalidLimiter(t *testing.T) {
	for name, l := range map[string]*Limiter{
		"N":                 {Quotas: quota.Quotas{{N: -1, Burst: 1}}},
		"Reserve":           {Quotas: quotas(t, "1/s even"), Reserve: 1},
		"no Name":           {Quotas: quotas(t, "1/s even"), Shared: Shared{Store: new(store.Memory)}},
		"WarmUp in a Store": {Name: "a", Quotas: quotas(t, "1/s warm-up 1s"), Shared: Shared{Store: new(store.Memory)}},
		"above":             {Parent: &Limiter{Name: "host", Quotas: quota.Quotas{{N: -1, Burst: 1}}}},
	} {
		err := l.Wait(t.Context(), 1)
		if err == nil {
			t.Errorf("%s: Wait returns no error", name)
		}
		if f := l.Forecast(Claim{}); !f.Never || f.Err == nil || f.Err.Error() != err.Error() {
			t.Errorf("%s: %+v, want that it never goes", name, f)
		}
		if s := l.State(); !s.Next.Never || len(s.Limits) != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if l.Allow(1) {
			t.Errorf("%s: allowed", name)
		}
	}
}

// TestMaxWaitThatHasPassed: the error says how much of the bound has passed, since the time that it says counts
// from then.
func TestMaxWaitThatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Name: "a", Quotas: quotas(t, "1/s even"), MaxWait: 5 * time.Second}
		first := grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		time.Sleep(990 * time.Millisecond)
		first.Settle(quota.Costs{quota.Requests: 9})
		want := `throttle: a: not sent: wait over MaxWait (5s, after waiting for 990ms): pace "1/s even", could go in 8.01s`
		if _, err := w.Wait(t.Context()); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	})
}

// TestBoundsToTheNanosecond: a claim may wait for exactly MaxWait, and must go before its deadline.
func TestBoundsToTheNanosecond(t *testing.T) {
	for _, test := range []struct {
		maxWait, deadline time.Duration
		want              error
	}{
		{maxWait: time.Second},
		{maxWait: time.Second - 1, want: ErrMaxWait},
		{deadline: time.Second + 1},
		{deadline: time.Second, want: ErrDeadline},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "1/s")}
			grant(t, l, Claim{})
			ctx, start := t.Context(), time.Now()
			if test.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.deadline)
				defer cancel()
			}
			_, err := l.Acquire(ctx, Claim{MaxWait: test.maxWait})
			took, want := time.Since(start), time.Second
			if test.want != nil {
				want = 0
			}
			if !errors.Is(err, test.want) || took != want {
				t.Errorf("MaxWait %v, deadline in %v: %v after %v, want %v after %v", test.maxWait, test.deadline, err, took, test.want, want)
			}
		})
	}
}

// Where nobody may wait in line, a claim waits for the store's reply all the same, and for that no longer than
// MaxWait. What comes 200 ms later is a slot in the future, for which it must not wait.
func TestMaxWaitBoundsTheReplyOfAStore(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		roundTrip, claim, limiter, took time.Duration
		want                            error
	}{
		{0, 0, 0, 0, nil},
		{0, -1, 0, 0, nil},
		{0, 100 * ms, 0, 0, nil},
		{200 * ms, 0, 0, 200 * ms, ErrWouldWait},
		{200 * ms, -1, 0, 200 * ms, ErrWouldWait},
		{200 * ms, 1000 * ms, 0, 200 * ms, ErrWouldWait},
		{200 * ms, 100 * ms, 0, 100 * ms, ErrMaxWait},
		{200 * ms, 0, 100 * ms, 100 * ms, ErrMaxWait},
		{200 * ms, 1000 * ms, 100 * ms, 200 * ms, ErrWouldWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{
				Name: "a", Quotas: quota.MustParse("10/s"), MaxQueue: -1, MaxWait: test.limiter, Shared: Shared{
					Fresh: true,
					Store: &slowStore{Store: &store.Memory{}, there: test.roundTrip / 2, back: test.roundTrip / 2},
				},
			}
			defer l.Close()
			start := time.Now()
			_, err := l.Acquire(t.Context(), Claim{MaxWait: test.claim})
			if took := time.Since(start); !errors.Is(err, test.want) || took != test.took {
				t.Errorf("%+v: %v after %v", test, err, took)
			}
		})
	}
}

// TestUnseen: who may not wait until others would be seen that began with us is not kept back for them. Nearly
// all of a limit of 60 remains, and nobody is refused: neither who waits when the first answer says so, nor who
// joins then, nor who asks again and has little left of MaxWait, nor who is observed.
func TestUnseen(t *testing.T) {
	remain := func(n int) Answer {
		return Answer{Statements: []quota.Statement{{Limit: 60, Remaining: int64(n), Reset: time.Minute, ResetKnown: true}}}
	}
	const trip, callers = 300 * time.Millisecond, 40 // others may be unseen for a second; of 59, 19 go at once
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Rand: noJitter}
			first := grant(t, l, Claim{})
			time.Sleep(trip - 50*time.Millisecond)
			if waits {
				l.Pause(100 * time.Millisecond)
			}
			errs := make(chan error, callers)
			ask := func() {
				for range callers {
					go func() {
						g, err := l.Acquire(t.Context(), Claim{MaxWait: 800 * time.Millisecond})
						if err == nil {
							time.Sleep(time.Second)
							g.Answered(remain(59 - callers))
						}
						errs <- err
					}()
				}
			}
			if waits {
				ask()
			}
			time.Sleep(50 * time.Millisecond)
			if first.Answered(remain(59)); !waits {
				ask()
			}
			for range callers {
				if err := <-errs; err != nil {
					t.Fatalf("in line before the answer %v: %v", waits, err)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		refused := grant(t, l, Claim{MaxWait: 1500 * time.Millisecond})
		refused.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Second}})
		time.Sleep(time.Second)
		probe := grant(t, l, Claim{})
		time.Sleep(trip)
		probe.Answered(remain(59))
		for range 19 {
			grant(t, l, Claim{})
		}
		if _, w := join(t, l, Claim{}); w == nil {
			t.Fatal("nothing is kept back for others")
		} else {
			w.Leave()
		}
		start := time.Now()
		if _, err := l.Acquire(t.Context(), Claim{MaxWait: 1500 * time.Millisecond, After: refused}); err != nil || time.Since(start) != 0 {
			t.Errorf("200 ms are left of MaxWait: %v after %v", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		first := grant(t, l, Claim{})
		time.Sleep(trip)
		first.Answered(remain(59))
		for i := range callers {
			if f := l.Forecast(Claim{MaxWait: -1}); f.Err != nil {
				t.Fatalf("forecast %d: %+v", i, f)
			}
			if _, f := l.Observe(Claim{MaxWait: -1}); f.Err != nil || f.Wait != 0 {
				t.Fatalf("observed %d: %+v", i, f)
			}
		}
	})
}

// TestLessIsKeptForTheAnswer: how long an answer takes is asked again whenever something is learned. A claim
// which could not go any more by what was known when it came, waits on, and is not ended when that would have
// been over.
func TestLessIsKeptForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quota.MustParse("1/5s burst 1")}
		take := func(took time.Duration, times int) {
			now := l.lock()
			for range times {
				l.answers.Note(now.Add(-took), now, true, false, false)
			}
			l.unlock()
		}
		begun := time.Now()
		time.Sleep(4 * time.Second)
		take(4*time.Second, 1)
		grant(t, l, Claim{})
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		ended := make(chan time.Duration, 1)
		go func() {
			_, err := l.Acquire(ctx, Claim{answers: true}) // 5 s of 8 that are left
			if ended <- time.Since(begun); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		take(0, 1000)
		if err := l.SetQuotas(quota.MustParse("1/10s burst 1")); err != nil {
			t.Fatal(err)
		}
		if after := <-ended; after != 13*time.Second {
			t.Errorf("ended after %v, want 13s", after)
		}
	})
}

// TestGoneAsItCame: a claim that goes as it comes, although others wait, looks at nothing once more. Whether it
// did was up to the scheduler, which a few claims show.
func TestGoneAsItCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			l := &Limiter{SlowStart: true}
			grant(t, l, Claim{})
			if _, w := join(t, l, Claim{}); w == nil {
				t.Fatal("the second does not wait for a slow start")
			}
			time.Sleep(time.Millisecond)
			c, g := Claim{MaxWait: -1}, new(Grant)
			g.begin(l, &c)
			w, err := l.join(t.Context(), &c, g, nil)
			if err != nil || w == nil || w.entries != nil {
				t.Fatalf("waits as %v: %v", w, err)
			}
			came := l.tree.lastNews
			time.Sleep(time.Millisecond)
			if err := w.wait(t.Context(), g); err != nil || l.tree.lastNews != came {
				t.Fatalf("%v; news at %v, want %v", err, l.tree.lastNews, came)
			}
		}
	})
}

// TestHastyClaimsKeepTheirPlaces: a claim that comes back to its place while buckets are being changed, and
// would not wait for a slow start any more, goes before nobody who comes back after it to a better place.
func TestHastyClaimsKeepTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Quotas: quota.MustParse("2/s burst 1")}
		l.Freeze()() // the clock begins
		time.Sleep(2 * time.Second)
		thaw := l.Freeze()
		comesBack := func(c Claim, number uint64) *Waiter {
			c.After = placed(place{since: 1, number: number})
			_, w := join(t, l, c)
			return w
		}
		comesBack(Claim{Priority: Background}, 3)
		second := comesBack(Claim{MaxWait: 4 * time.Second}, 2)
		first := comesBack(Claim{}, 1)
		if thaw(); !gone(first) || gone(second) {
			t.Errorf("gone: the first %v, the second %v; want the first alone", gone(first), gone(second))
		}
	})
}

// TestHastyClaimsGoWhenATreeThaws: a claim that comes to be hasty while buckets are being changed goes before
// the patient ones as soon as they are changed, unless it waits for more than a slow start. One that comes
// meanwhile does so, too.
func TestHastyClaimsGoWhenATreeThaws(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		quotas       string
		comes        time.Duration // buckets are changed from 100 ms on
		thawed, want time.Duration
	}{
		"before its eighth":            {"", 0, 199 * ms, 200 * ms},
		"as its eighth ends":           {"", 0, 200 * ms, 200 * ms},
		"after it":                     {"", 0, 220 * ms, 220 * ms},
		"a quota":                      {"1/100ms burst 1", 0, 220 * ms, 600 * ms},
		"comes meanwhile":              {"", 150 * ms, 360 * ms, 360 * ms},
		"comes meanwhile, hasty later": {"", 150 * ms, 160 * ms, 350 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{SlowStart: true, Quotas: quota.MustParse(test.quotas)}
			grant(t, l, Claim{})
			began := time.Now()
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if _, err := l.Acquire(t.Context(), Claim{}); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Go(func() {
				time.Sleep(test.comes)
				synctest.Wait()
				if _, err := l.Acquire(t.Context(), Claim{MaxWait: 1600 * ms}); err != nil || time.Since(began) != test.want {
					t.Errorf("%s: %v after %v, want %v", name, err, time.Since(began), test.want)
				}
			})
			time.Sleep(100 * ms)
			thaw := l.Freeze()
			time.Sleep(test.thawed - 100*ms)
			thaw()
			checkSettled(t, l)
			wg.Wait()
		})
	}
}

// TestBackAtItsEnd: a claim that comes back to its place when its MaxWait ends, while buckets are being
// changed, waits no longer.
func TestBackAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		thaw := l.Freeze() // the clock begins
		time.Sleep(time.Second)
		begun := time.Now()
		_, err := l.Acquire(t.Context(), Claim{MaxWait: time.Second, After: placed(place{since: 1, number: 1})})
		if took := time.Since(begun); took != 0 || !errors.Is(err, ErrMaxWait) {
			t.Errorf("took %v: %v", took, err)
		}
		thaw()
	})
}

// TestMaxWaitBehindAChildsWaiter: maxWait holds for one behind somebody from below.
func TestMaxWaitBehindAChildsWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "1 in flight"), MaxWait: time.Second}
		child := &Limiter{Parent: host}
		g := grant(t, host, Claim{})
		c := newCrowd()
		c.claim(t.Context(), child, "child", Claim{}, 0)
		c.claim(t.Context(), host, "host", Claim{}, 0)
		time.Sleep(3 * time.Second)
		g.Answered(Answer{})
		c.check(t, "host refused 1s", "child 3s")
	})
}
