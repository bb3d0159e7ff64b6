package throttle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

func TestWaiterReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even")}
		grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		start := time.Now()
		<-w.Ready()
		if took := time.Since(start); took != time.Second {
			t.Errorf("ready after %v, want 1s", took)
		}
		if w.Leave() {
			t.Error("left after it was granted")
		}
		g, err := w.Wait(t.Context())
		if err != nil || time.Since(start) != time.Second {
			t.Fatalf("Wait: %v, after %v", err, time.Since(start))
		}
		g.Cancel() // and the token was kept for it all the time
		grant(t, l, Claim{})
	})
}

func TestWaiterReadyWhenItIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/m even"), MaxWait: time.Minute}
		grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		l.Pause(2 * time.Minute)
		<-w.Ready()
		if _, err := w.Wait(t.Context()); w.Leave() || !errors.Is(err, ErrMaxWait) {
			t.Errorf("got %v, want ErrMaxWait", err)
		}
	})
}

func TestWaiterLeaveMovesOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s burst 3")}
		grant(t, l, Claim{N: 3})
		_, heavy := join(t, l, Claim{N: 3})
		c := newCrowd()
		c.wait(t.Context(), l, "a", 1)
		c.wait(t.Context(), l, "b", 1)
		time.Sleep(1500 * time.Millisecond)
		if !heavy.Leave() || gone(heavy) {
			t.Error("did not leave")
		}
		c.check(t, "a 1.5s", "b 2s")
		if s := l.State(); s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaiterPlaceIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even"), MaxWait: 10 * time.Second, MaxQueue: 3}
		grant(t, l, Claim{})
		_, w := join(t, l, Claim{})
		c := newCrowd()
		c.wait(t.Context(), l, "a", 1)
		c.wait(t.Context(), l, "b", 1)
		w.Leave()
		c.wait(t.Context(), l, "d", 1)
		time.Sleep(500 * time.Millisecond)
		if _, err := l.Acquire(t.Context(), Claim{After: placed(w.place)}); err != nil { // although the queue is full
			t.Fatal(err)
		}
		if took := time.Since(c.start); took != time.Second {
			t.Errorf("went at %v, want 1s: before all who came later", took)
		}
		c.check(t, "a 2s", "b 3s", "d 4s")
	})
}

func TestWaiterMaxWaitCountsFromThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight"), MaxWait: 3 * time.Second}
		grant(t, l, Claim{})
		start := time.Now()
		_, w := join(t, l, Claim{})
		time.Sleep(time.Second)
		w.Leave()
		time.Sleep(time.Second)
		_, err := l.Acquire(t.Context(), Claim{After: placed(w.place)})
		if took := time.Since(start); !errors.Is(err, ErrMaxWait) || took != 3*time.Second {
			t.Errorf("%v after %v, want ErrMaxWait after 3s", err, took)
		}
	})
}

func TestObserveChargesAndDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10 tokens/s burst 10, 1 in flight")}
		c := Claim{Costs: quota.Costs{"tokens": 10}, Priority: Background}
		g, f := l.Observe(c)
		if f != (Forecast{}) {
			t.Errorf("the first: %+v, want no wait", f)
		}
		h, f := l.Observe(c)
		if want := (Forecast{Wait: time.Second, Cause: CausePace, Quota: "10 tokens/s burst 10"}); f != want {
			t.Errorf("the second: %+v, want %+v", f, want)
		}
		if got := l.State().InFlight; got != 2 {
			t.Errorf("%d in flight", got)
		}
		_, w := join(t, l, tokens(0))
		g.Answered(Answer{})
		if gone(w) {
			t.Error("went while one is under way")
		}
		h.Settle(quota.Costs{"tokens": 0})
		h.Answered(Answer{})
		if !gone(w) {
			t.Error("waits for nothing")
		}
	})
}

// someFlow is a flow for histories: half of the time none.
func someFlow(r *rand.Rand) string { return []string{"", "", "", "a", "b", "c"}[r.IntN(6)] }

// TestEverythingAtOnce is for the race detector: priorities, units, slots, a reserve,
// settlements, changes of quotas and holds, in a bucket and two below it, from many
// goroutines. In the end nothing is left of it.
func TestEverythingAtOnce(t *testing.T) {
	const text = "20000/s burst 50, 100000 tokens/s burst 500, 6 in flight"
	host := &Limiter{Quotas: quotas(t, text), Reserve: 0.2, MaxQueue: 50, Aging: time.Millisecond, MaxWait: time.Second}
	a := &Limiter{Parent: host, Quotas: quotas(t, "4 unanswered, 400 tokens in flight"), Reserve: 0.1, Aging: time.Millisecond}
	b := &Limiter{Parent: host, SlowStart: true, MaxQueue: 5, Aging: time.Millisecond}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			for range 100 {
				l := []*Limiter{host, a, b}[r.IntN(3)]
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(20))*time.Millisecond)
				c := Claim{Costs: quota.Costs{"tokens": int64(r.IntN(100))}, Priority: byIndex[r.IntN(3)], MaxWait: time.Duration(min(r.IntN(4), 1) - 1), Flow: someFlow(r), Weight: r.IntN(3)}
				everything(ctx, r, l, c)
				cancel()
				switch r.IntN(20) {
				case 0:
					l.Pause(time.Millisecond / 10)
				case 1:
					l.Resume()
				case 2:
					host.SetQuotas(quota.Quotas{
						{N: 20000, Burst: int64(40 + r.IntN(20))},
						{N: 100_000, Burst: 500, Unit: "tokens"},
						{N: int64(4 + r.IntN(4)), Kind: quota.InFlight},
					})
				case 3:
					l.State()
					l.Idle()
					l.Forecast(c)
					if in := inspect([]*Limiter{host, a, b}, false); in.wrong != nil {
						t.Error(in.wrong)
					}
				}
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Millisecond)
	for i, l := range []*Limiter{host, a, b} {
		if s := l.State(); s.Waiting != 0 || s.InFlight != 0 || l.line.waiting != 0 || l.awaitEnd != 0 {
			t.Errorf("bucket %d: %+v, %d wait, %d are read; want nobody left", i, s, l.line.waiting, l.awaitEnd)
		}
		for lim := range l.stack.Limits() {
			if !lim.Idle(l.root().now().Add(time.Minute)) { // only what is under way lasts so long
				t.Errorf("bucket %d: something is in flight by %+v", i, lim)
			}
		}
	}
}

// everything makes a claim in one of all ways, and ends it in one of all ways.
func everything(ctx context.Context, r *rand.Rand, l *Limiter, c Claim) {
	var g *Grant
	var err error
	switch r.IntN(5) {
	case 0:
		l.Wait(ctx, 1)
		return
	case 1:
		g, _ = l.Observe(c)
	case 2:
		var w *Waiter
		if g, w, err = l.Join(ctx, c); w != nil {
			select {
			case <-w.Ready():
			case <-time.After(time.Millisecond):
				if w.Leave() {
					c.After = placed(w.place)
					g, err = l.Acquire(ctx, c)
					break
				}
			}
			if c.After == nil {
				g, err = w.Wait(ctx)
			}
		}
	default:
		g, err = l.Acquire(ctx, c)
	}
	if err != nil {
		return
	}
	spent := quota.Costs{"tokens": int64(r.IntN(120))}
	if r.IntN(3) == 0 {
		g.Settle(spent)
	}
	switch r.IntN(6) {
	case 0:
		g.Cancel()
		return
	case 1:
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: time.Microsecond}})
	case 2:
		g.Answered(Answer{Statements: []quota.Statement{{Unit: "tokens", Limit: 1e6, Remaining: 1e6, Reset: time.Millisecond, ResetKnown: true}}})
	case 3:
		g.Answered(Answer{Spent: spent, Reading: g.Lasts()})
	default:
		g.Answered(Answer{Reading: g.Lasts()})
	}
	if r.IntN(2) == 0 {
		g.Settle(spent)
	}
	g.Done()
	g.Done()
}

// acquireTold is Acquire, and what the claim has waited for.
func acquireTold(ctx context.Context, l *Limiter, c Claim) (g *Grant, waits []Wait, err error) {
	search := within.Search(new(Group), func() *Limiter { return l }, nil, &waits)
	g, err = search.Acquire(ctx, false, c, new(Grant))
	return g, waits, err
}

// TestWaitsAddUp has claims of all priorities and costs wait in random trees, or for a Store, in which quotas
// of all kinds are replaced, buckets are held, answers say all that they may say, and claims are canceled. What
// each claim has waited for adds up to how long it waited, to the nanosecond, whether it went or not.
func TestWaitsAddUp(t *testing.T) {
	for seed := range seeds(10) {
		synctest.Test(t, func(t *testing.T) { waitsAddUp(t, seed) })
	}
}

var someQuotas = []string{
	"", "5/s burst 2", "20/s even", "3/2s window", "1 in flight", "4 in flight, 30/s", "6/s", "500 tokens/s", "2/s burst 1, 40 tokens/s burst 120",
	"10/2s sliding", "30/s warm-up 1s", "5/s estimate", "1/2s burst 4",
}

func waitsAddUp(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var tree []*Limiter
	reserve := float64(r.IntN(2)) * 0.3
	n := 1 + r.IntN(5)
	for i := range n {
		l := &Limiter{
			Name: fmt.Sprint(i), Quotas: quotas(t, someQuotas[r.IntN(len(someQuotas))]), SlowStart: r.IntN(3) == 0, Reserve: reserve,
			Aging: time.Duration(r.IntN(3)-1) * time.Second, Rand: func() float64 { return 0.3 },
		}
		if i > 0 {
			l.Parent = tree[r.IntN(i)]
		} else if n == 1 {
			l.Shared.Store = new(store.Memory)
			defer l.Close()
		}
		tree = append(tree, l)
	}
	names := map[*Limiter]map[string]bool{}
	for _, l := range tree {
		names[l] = map[string]bool{}
		for b := l; b != nil; b = b.Parent {
			names[l][b.Name] = true
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 150 {
		seed := r.Uint64()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 2))
			time.Sleep(time.Duration(r.Int64N(4e9)))
			l := tree[r.IntN(len(tree))]
			c := Claim{Priority: byIndex[r.IntN(3)], Costs: quota.Costs{"tokens": int64(r.IntN(30))}}
			for range 1 + r.IntN(3) {
				ctx, cancel := ctx, context.CancelFunc(func() {})
				if r.IntN(3) == 0 {
					ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(r.Int64N(2e9)), errors.New("cause"))
				}
				start := time.Now()
				g, waits, err := acquireTold(ctx, l, c)
				cancel()
				if took := time.Since(start); sumOf(waits) != took {
					t.Errorf("seed %d: waited %v, want %v: %v, %v", seed, sumOf(waits), took, waits, err)
				}
				for i, w := range waits {
					if w.For <= 0 || w.Cause == "" || !names[l][w.Bucket] || i > 0 && waits[i-1].For < w.For {
						t.Errorf("seed %d: asked %s, waited for %+v", seed, l.Name, waits)
					}
				}
				if err != nil {
					return
				}
				time.Sleep(time.Duration(r.IntN(3e8)))
				switch c.After = nil; r.IntN(8) {
				case 0:
					g.Cancel()
				case 1:
					g.Answered(Answer{Refused: true, Hold: holdIf(time.Duration(r.Int64N(2e9)), r.IntN(2) == 0)})
					c.After = g
				case 2:
					g.Answered(Answer{Statements: []quota.Statement{{Name: "w", Limit: 20, Remaining: int64(r.IntN(5)), Reset: time.Duration(r.Int64N(3e9)), ResetKnown: true}}})
				default:
					g.Answered(Answer{})
				}
			}
		})
	}
	for range 10 {
		time.Sleep(time.Duration(r.IntN(1e9)))
		l := tree[r.IntN(len(tree))]
		switch r.IntN(4) {
		case 0:
			l.Pause(time.Duration(r.IntN(1e9)))
		case 1:
			l.Resume()
		case 2:
			_ = l.SetQuotas(quotas(t, someQuotas[r.IntN(len(someQuotas))]))
		case 3:
			thaw := l.Freeze()
			time.Sleep(time.Duration(r.IntN(5e8)))
			thaw()
		}
	}
	wg.Wait()
	for _, l := range tree {
		if l.line.book.Open() {
			t.Errorf("seed %d: account is kept for nobody", seed)
		}
	}
}

// waitsFor is what those of a row wait for in l, by the definition: what the first of them waits for that
// cannot go and keeps them from going; or if that one stands in the line above, what those wait for who stand
// there.
func (l *Limiter) waitsFor(now monotime.Time, row int) Wait {
	for _, w := range l.line.Heads(new([priorities]*waiter)) {
		if w.top() != l {
			if w.Row() == row {
				return l.Parent.waitsFor(now, row)
			}
			continue
		}
		var d delay
		l.delays.Due(&d.Due, now, w.earliest(now), &w.Claim)
		if d.Unreserved > now || w.Row() == row || byIndex[row] != Urgent {
			return Wait{Bucket: l.Name, Cause: Cause(d.Cause), Quota: d.Quota}
		}
	}
	panic("nobody waits")
}

// TestWaitsAgainstTheDefinition looks every 10 ms at what each claim waits for. All that happens does so
// between looks.
func TestWaitsAgainstTheDefinition(t *testing.T) {
	for seed := range seeds(10) {
		synctest.Test(t, func(t *testing.T) { waitsByDefinition(t, seed) })
	}
}

func waitsByDefinition(t *testing.T, seed uint64) {
	t.Helper()
	const tick = 10 * time.Millisecond
	r := rand.New(rand.NewPCG(seed, 3))
	ticks := func(r *rand.Rand, most int) time.Duration { return tick * time.Duration(r.IntN(most)) }
	some := []string{"", "5/s burst 2", "20/s even", "3/2s window", "1 in flight", "4 in flight, 10/s", "6/2s", "500 tokens/s burst 100", "2/s burst 1, 100 tokens/s burst 120", "10/2s sliding"}
	zero := func() float64 { return 0 }
	tree := []*Limiter{{Name: "0", Rand: zero}}
	reserve := float64(r.IntN(2)) / 2
	for i := range 5 {
		tree = append(tree, &Limiter{Name: fmt.Sprint(i + 1), Parent: tree[r.IntN(i+1)], Rand: zero})
	}
	for _, l := range tree {
		l.Quotas, l.Reserve = quotas(t, some[r.IntN(len(some))]), reserve
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1000*tick)
	defer cancel()
	var wg sync.WaitGroup
	for range 100 {
		seed := r.Uint64()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 4))
			time.Sleep(ticks(r, 300))
			l := tree[r.IntN(len(tree))]
			ctx, cancel := ctx, context.CancelFunc(func() {})
			if r.IntN(3) == 0 {
				ctx, cancel = context.WithTimeout(ctx, ticks(r, 200))
			}
			defer cancel()
			c := Claim{Priority: byIndex[r.IntN(3)], Costs: quota.Costs{"tokens": int64(5 * r.IntN(5))}, Flow: someFlow(r)}
			g, _, err := acquireTold(ctx, l, c)
			if err != nil {
				return
			}
			time.Sleep(ticks(r, 30))
			g.Answered(Answer{Lost: true, Hold: holdIf(ticks(r, 200), r.IntN(8) == 0)})
		})
	}
	wg.Go(func() {
		for range 8 {
			time.Sleep(ticks(r, 100))
			if l := tree[r.IntN(len(tree))]; r.IntN(2) == 0 {
				l.Pause(ticks(r, 100))
			} else {
				l.Resume()
			}
		}
	})
	want := map[*waiter]map[Wait]time.Duration{}
	time.Sleep(tick / 2)
	for i := 0; ctx.Err() == nil; i++ {
		if i%8 == 0 {
			checkSettled(t, tree...)
		}
		tree[0].lock()
		root := tree[0].root()
		now := root.now()
		for _, l := range tree {
			for w := range l.line.InOrder() {
				if w.l != l {
					continue
				}
				if want[w] == nil {
					w.remembered, want[w] = true, map[Wait]time.Duration{}
				}
				want[w][l.waitsFor(now, w.Row())] += tick
			}
		}
		tree[0].unlock()
		time.Sleep(tick)
	}
	wg.Wait()
	for w, want := range want {
		got := map[Wait]time.Duration{}
		for _, p := range w.stay.AddTo(nil) {
			got[Wait{Bucket: p.Bucket, Cause: Cause(p.Cause.Cause), Quota: p.Quota}] = p.For
		}
		if !maps.Equal(got, want) {
			t.Errorf("seed %d: asked %s, waited for %v, want %v", seed, w.l.Name, got, want)
		}
	}
	t.Logf("seed %d: %d waited", seed, len(want))
}

// Many may leave at once: each looks at a few of those ahead of it, and no more. Of the others it knows what
// was forecast, so that the Wait of its Error is right if nothing has changed since, and else a bound.
func TestCancelBehindMany(t *testing.T) {
	for _, n := range []int{1, aheadFew, aheadFew + 1, aheadFew + 2, 20 * aheadFew} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "1/s even"), MaxStandstill: Forever}
			grant(t, l, Claim{})
			all, cancel := context.WithCancel(t.Context())
			for i := range n {
				go func() {
					var e *Error
					if err := l.Wait(all, 1); !errors.As(err, &e) || e.Wait > time.Duration(i+1)*time.Second || e.Wait <= 0 {
						t.Errorf("%d ahead: %v, want a wait of %v at most", i, err, time.Duration(i+1)*time.Second)
					}
				}()
				synctest.Wait()
			}
			last, cancelLast := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancelLast)
			var e *Error
			if err := l.Wait(last, 1); !errors.As(err, &e) || !errors.Is(err, ErrCanceled) || e.Cause != CausePace {
				t.Fatalf("behind %d: %v, want ErrCanceled while it waits for the pace", n, err)
			}
			if want := time.Duration(n+1)*time.Second - 300*time.Millisecond; e.Wait != want || e.At != time.Now().Add(want) {
				t.Errorf("behind %d: it could go in %v, at %v, want %v", n, e.Wait, e.At, want)
			}
			cancel()
			synctest.Wait()
			if s := l.State(); s.Waiting != 0 || s.Next.Wait != 700*time.Millisecond {
				t.Errorf("%d wait, and the next one waits for %v, want none and 700ms", s.Waiting, s.Next.Wait)
			}
		})
	}
}

// TestCancelAfterTheFirst: who stands behind many does not count again whether some have left meanwhile, the
// first in line or another. Behind a few, he does.
func TestCancelAfterTheFirst(t *testing.T) {
	for n, want := range map[int]time.Duration{aheadFew: aheadFew * time.Second, aheadFew + 2: (aheadFew + 3) * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "1/s even")}
			grant(t, l, Claim{})
			var waiters []*Waiter
			for range n {
				_, w := join(t, l, Claim{})
				waiters = append(waiters, w)
			}
			ctx, cancel := context.WithCancel(t.Context())
			errs := make(chan error, 1)
			go func() { errs <- l.Wait(ctx, 1) }()
			synctest.Wait()
			waiters[0].Leave()
			cancel()
			var e *Error
			if err := <-errs; !errors.As(err, &e) || e.Wait != want {
				t.Errorf("behind %d: %v, want a Wait of %v", n, err, want)
			}
			for _, w := range waiters[1:] {
				w.Leave()
			}
		})
	}
}

// Whoever leaves from behind the first in line changes nothing for others but their place: those behind move
// up, and the timer of the first stays.
func TestCancelBehindTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even")}
		grant(t, l, Claim{})
		start := time.Now()
		var mu sync.Mutex
		var went []string
		var wait sync.WaitGroup
		for i, ends := range []time.Duration{0, 500 * time.Millisecond, 0, 1500 * time.Millisecond, 0} {
			wait.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				if ends > 0 {
					time.AfterFunc(ends, cancel)
				}
				err := l.Wait(ctx, 1)
				cancel()
				mu.Lock()
				defer mu.Unlock()
				went = append(went, fmt.Sprint(i, " ", time.Since(start), " ", err == nil))
			})
			synctest.Wait()
		}
		wait.Wait()
		want := []string{"1 500ms false", "0 1s true", "3 1.5s false", "2 2s true", "4 3s true"}
		if !slices.Equal(went, want) {
			t.Errorf("%q, want %q", went, want)
		}
	})
}

// TestCancelLeavesBeforeItAsks: who is canceled has left the line when it asks its context why, which may take
// until all who wait for it were woken.
func TestCancelLeavesBeforeItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/m burst 1")}
		l.Allow(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		why, asked := errors.New("why"), 0
		time.AfterFunc(time.Second, func() { cancel(why) })
		err := l.Wait(onValue{ctx, func() {
			if asked++; l.State().Waiting != 0 {
				t.Error("it still stands in line")
			}
		}}, 1)
		if asked == 0 || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
			t.Errorf("asked %d times, got %v", asked, err)
		}
	})
}

// onValue is a context that calls f when it is asked for a value, as it is for its cause.
type onValue struct {
	context.Context //nolint:containedctx // it is one
	f               func()
}

func (c onValue) Value(key any) any {
	c.f()
	return c.Context.Value(key)
}

// TestCancelGivesBackOnce: a grant that comes as its context ends goes back once, also if the context panics
// when it is asked why.
func TestCancelGivesBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/m burst 10")}
		l.Allow(8)
		l.Pause(time.Second)
		_, w := join(t, l, Claim{})
		time.Sleep(time.Second)
		synctest.Wait() // w is granted
		undo := func() { _ = w.drop(nil, func() error { return nil }) }
		func() {
			defer func() { _ = recover() }()
			defer undo()
			_ = w.drop(context.Canceled, func() error { panic("oops") })
		}()
		if l.Allow(3) || !l.Allow(2) {
			t.Error("it did not go back once")
		}
	})
}
