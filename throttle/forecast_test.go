package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// A forecast is never too long: it is played. Of one quota, with or without a hold, it is exact, but for cells:
// those ahead may go in one, or in the next one.
func TestForecastIsNotTooLong(t *testing.T) {
	const cells = "5/s sliding 5"
	texts := []string{cells, "10/s warm-up 2s", "20/s warm-up 500ms cold 5", "4/s even", "5/s burst 3", "4/s window", "6/2s log", "10/s burst 2 debt", "4/s window grid"}
	for seed := range whole.Or[uint64](300, 3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := make([]string, 1+r.IntN(2))
		for i := range of {
			of[i] = texts[r.IntN(len(texts))]
		}
		slices.Sort(of)
		of = slices.Compact(of)
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{}
			for _, text := range of {
				l.Quotas = append(l.Quotas, quota.MustParse(text)...)
			}
			var wait sync.WaitGroup
			join := func(n int) {
				for range n {
					wait.Go(func() { l.Acquire(t.Context(), Claim{}) })
					synctest.Wait()
				}
			}
			time.Sleep(time.Duration(r.Int64N(1e9)))
			join(r.IntN(15))
			wait.Wait()
			time.Sleep(time.Duration(r.Int64N(2e9))) // what warms up cools for a while
			join(1 + r.IntN(8))
			if r.IntN(3) == 0 {
				l.Pause(time.Duration(r.Int64N(3e9)))
			}
			f, start := l.Forecast(Claim{}), time.Now()
			if _, err := l.Acquire(t.Context(), Claim{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < f.Wait || len(of) == 1 && of[0] != cells && took != f.Wait {
				t.Errorf("seed %d, %v: %v were forecast, and it took %v", seed, of, f.Wait, took)
			}
		})
	}
}

// A claim that costs none of a quota goes with the last of those ahead that do: of a debt, and of what warms
// up, before that is paid. It must not be refused for a deadline that it makes.
func TestForecastBehindADebt(t *testing.T) {
	for text, want := range map[string]time.Duration{"1000 tokens/s debt": 20 * time.Second, "1000 tokens/s warm-up 1ms": 20*time.Second + 500*time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			l, start := &Limiter{Quotas: quota.MustParse(text)}, time.Now()
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() { l.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 10000}}) })
				synctest.Wait()
			}
			free := Claim{Costs: quota.Costs{"tokens": 0}, MaxWait: 25 * time.Second}
			if f := l.Forecast(free); f.Err != nil || f.Wait == 0 {
				t.Errorf("%s: %+v was forecast", text, f)
			}
			_, err := l.Acquire(t.Context(), free)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("%s: it took %v, %v", text, took, err)
			}
			wait.Wait()
		})
	}
}

// TestForecastUrgentPassesAgedNormals: aged claims that wait for what is left to them are not ahead of an
// urgent one.
func TestForecastUrgentPassesAgedNormals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "4/m burst 4"), Reserve: 0.5, Aging: time.Second}
		grant(t, l, Claim{N: 2}).Answered(Answer{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, l, Claim{})
			ws = append(ws, w)
		}
		time.Sleep(5 * time.Second)
		if f := l.Forecast(Claim{Priority: Urgent}); f.Wait != 0 {
			t.Errorf("Forecast %+v, and 2 are reserved", f)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// goesNoSooner has a claim wait, and checks that it goes no sooner than was forecast.
func goesNoSooner(t *testing.T, l *Limiter) {
	t.Helper()
	f, start := l.Forecast(Claim{}), time.Now()
	if err := l.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); f.Wait > took {
		t.Errorf("Forecast %v, went after %v", f.Wait, took)
	}
}

// TestForecastUrgentAheadLeavesTheRest: urgent claims ahead do not use what is left to others.
func TestForecastUrgentAheadLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		c := newCrowd()
		c.claim(t.Context(), l, "all", Claim{N: 10, Priority: Urgent}, 0)
		for range 10 {
			c.claim(t.Context(), l, "urgent", Claim{Priority: Urgent}, 0)
		}
		goesNoSooner(t, l)
		c.wg.Wait()
	})
}

// TestForecastOfTheRestBeginsNow: what is left is reckoned from now, as the quota itself is.
func TestForecastOfTheRestBeginsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		grant(t, l, Claim{N: 5, Priority: Urgent}).Answered(Answer{})
		c := newCrowd()
		for range 20 {
			c.claim(t.Context(), l, "normal", Claim{}, 0)
		}
		goesNoSooner(t, l)
		c.wg.Wait()
	})
}

// TestForecastOfAParentLeavesOutWhoIsHeldBackBelow: who is held back by a slow child is not ahead at the
// parent.
func TestForecastOfAParentLeavesOutWhoIsHeldBackBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s burst 2")}
		slow := &Limiter{Parent: host, Quotas: quotas(t, "1/10s even")}
		grant(t, slow, Claim{}).Answered(Answer{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, slow, Claim{})
			ws = append(ws, w)
		}
		if f := host.Forecast(Claim{}); f.Wait != 0 {
			t.Errorf("Forecast %+v, and it would go at once", f)
		}
		grant(t, host, Claim{}).Answered(Answer{})
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, w, err := host.Join(ctx, Claim{})
		if err != nil {
			t.Errorf("would go in 500ms: %v", err)
		} else {
			w.Leave()
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestForecastIsNeverLater: forecasts of random histories, with a reserve, and with quotas below.
func TestForecastIsNeverLater(t *testing.T) {
	for name, h := range map[string]forecastHistory{
		"reserve":       {reserve: 0.2},
		"tree":          {tree: true, anywhere: true},
		"tree, reserve": {tree: true, anywhere: true, reserve: 0.2},
	} {
		drawn := []uint64{942, 1031, 1057, 1597, 1814} // of these, one was told too late, or another thing than its refusal
		for seed := range seeds(25) {
			drawn = append(drawn, seed)
		}
		for _, seed := range drawn {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { forecastIsNotLater(t, rand.New(rand.NewPCG(seed, 8)), h) })
			})
		}
	}
}

// TestForecastBehindTheHeadOfASlowChild: of a child that is slow, only the first is ahead.
func TestForecastBehindTheHeadOfASlowChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/s even")}
		slow := &Limiter{Parent: host, Quotas: quotas(t, "1/10s even")}
		grant(t, host, Claim{})
		var ws []*Waiter
		for range 5 {
			_, w := join(t, slow, Claim{})
			ws = append(ws, w)
		}
		f := host.Forecast(Claim{})
		start := time.Now()
		_, w := join(t, host, Claim{})
		<-w.Ready()
		if took := time.Since(start); f.Wait > took {
			t.Errorf("Forecast %v, went after %v", f.Wait, took)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestForecastBehindASlowStartBelow: of a child that starts slowly, only the first is ahead when the window of
// its parent opens: so a claim whose MaxWait suffices is not refused.
func TestForecastBehindASlowStartBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Quotas: quotas(t, "2/2s window")}
		route := &Limiter{Parent: host, SlowStart: true}
		grant(t, host, Claim{N: 2})
		var ws []*Waiter
		for range 3 {
			_, w := join(t, route, Claim{})
			ws = append(ws, w)
		}
		if f := host.Forecast(Claim{}); f.Wait != 2*time.Second {
			t.Errorf("Forecast %v, want 2s", f.Wait)
		}
		start := time.Now()
		if _, err := host.Acquire(t.Context(), Claim{MaxWait: 3 * time.Second}); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// TestForecastIsNotLater makes random histories of claims with priorities and units, in a
// bucket and below it, asks for a forecast, claims the same, and lets time pass: nobody
// goes before it was said, and whoever is alone goes exactly then.
func TestForecastIsNotLater(t *testing.T) {
	for seed := range seeds(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 8))
				forecastIsNotLater(t, r, forecastHistory{tree: seed%2 == 1})
			})
		})
	}
}

// forecastHistory is what such a history consists of.
type forecastHistory struct {
	tree     bool // with buckets below that have quotas of their own
	reserve  float64
	anywhere bool // forecasts are asked for everywhere, and not only below
}

func forecastIsNotLater(t *testing.T, r *rand.Rand, h forecastHistory) {
	t.Helper()
	text := func() string {
		return []string{
			"10/s burst 5", "20/s burst 4, 100 tokens/s burst 20", "5/s log", "40/2s window, 30 tokens/s log",
			"50 tokens/s burst 10 debt", "30/s sliding", "40/s burst 20, 50/m burst 20",
			"20 tokens/s burst 9, 4 images/s burst 4", "5 images/s log, 40/s burst 9", "6 images/2s window", "6 images/2s window grid, 20 tokens/s estimate",
		}[r.IntN(11)]
	}
	ls := []*Limiter{{Quotas: quotas(t, text()), Reserve: h.reserve, Aging: time.Second}}
	if h.tree {
		for range 2 {
			ls = append(ls, &Limiter{Parent: ls[0], Aging: time.Second})
			if h.anywhere {
				ls[len(ls)-1].Quotas = quotas(t, text())
			}
		}
	}
	ask := func() (*Limiter, Claim) {
		return ls[r.IntN(len(ls))], Claim{N: 1 + r.IntN(2), Costs: quota.Costs{"tokens": int64(r.IntN(8)), "images": int64(r.IntN(4) - 1)}, Priority: byIndex[r.IntN(3)], Flow: someFlow(r)}
	}
	var ws []*Waiter
	for range 5 + r.IntN(40) {
		l, c := ask()
		if g, w := join(t, l, c); w != nil {
			ws = append(ws, w)
		} else if r.IntN(6) == 0 {
			g.Cancel()
		}
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
			synctest.Wait()
		}
	}
	l, c := ask()
	waiting := func() int {
		ls[0].lock()
		defer ls[0].unlock()
		return ls[0].line.waiting
	}
	f, before := l.Forecast(c), waiting()
	start := time.Now()
	if _, w := join(t, l, c); w != nil {
		if letAhead := waiting() <= before && f == (Forecast{}); w.expected.forecast(w.joined) != f && !letAhead { // others, who went since it came
			t.Errorf("Forecast %+v, and that of the Waiter is %+v", f, w.expected)
		}
		<-w.Ready()
	}
	if took := time.Since(start); f.Wait > took || len(ws) == 0 && f.Wait != took {
		t.Errorf("%+v: forecast %+v, but it went after %v", c, f, took)
	}
	for _, w := range ws {
		w.Leave()
	}
}

// TestForecastBehindAnotherUnit: a claim that does not draw on what the line waits for waits for it too. Its
// forecast, and its error, say for how long and for what.
func TestForecastBehindAnotherUnit(t *testing.T) {
	const text = "60 tokens/m burst 60"
	pace := Forecast{Wait: 30 * time.Second, Cause: CausePace, Quota: text}
	under := func(qs string) *Limiter { return &Limiter{Parent: &Limiter{Name: "p", Quotas: quotas(t, qs)}} }
	for name, test := range map[string]struct {
		l        *Limiter
		ask      func(l *Limiter) *Limiter // which bucket the one ahead asks
		want     Forecast
		refusals bool // at once, since the wait is known
	}{
		"a unit":             {&Limiter{Quotas: quotas(t, "9/s burst 9, "+text)}, nil, pace, true},
		"the only unit":      {&Limiter{Quotas: quotas(t, text)}, nil, pace, true},
		"above":              {under("9/s burst 9, " + text), nil, Forecast{Wait: 30 * time.Second, Bucket: "p", Cause: CausePace, Quota: text}, true},
		"asked above":        {under("9/s burst 9, " + text), func(l *Limiter) *Limiter { return l.Parent }, Forecast{Wait: 30 * time.Second, Bucket: "p", Cause: CausePace, Quota: text}, true},
		"in flight":          {&Limiter{Quotas: quotas(t, "9/s burst 9, 60 tokens in flight")}, nil, Forecast{Cause: CauseInFlight, Quota: "60 tokens in flight"}, false},
		"in a store":         {&Limiter{Name: "s", Quotas: quotas(t, text), Shared: Shared{Store: new(store.Memory)}}, nil, Forecast{Wait: 31 * time.Second, Bucket: "s", Cause: CausePace, Quota: text}, true},
		"reserved":           {&Limiter{Quotas: quotas(t, "9/s burst 9, 120 tokens/m burst 120"), Reserve: 0.5}, nil, Forecast{Wait: 30 * time.Second, Cause: CausePace, Quota: "120 tokens/m burst 120"}, true},
		"the server's limit": {under("9/s burst 9"), func(l *Limiter) *Limiter { return l.Parent }, Forecast{Wait: 30 * time.Second, Bucket: "p", Cause: CauseWindowUsedUp, Quota: "the server's limit of 10"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := test.l
				for b := l; b != nil; b = b.Parent {
					b.Rand = noJitter
				}
				ahead := l
				if test.ask != nil {
					ahead = test.ask(l)
				}
				g, err := ahead.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 60}})
				if err != nil {
					t.Fatal(err)
				}
				if test.want.Cause == CauseWindowUsedUp {
					g.Answered(says(0, 30*time.Second))
				}
				_, w := join(t, ahead, Claim{Costs: quota.Costs{"tokens": 30}})
				if w == nil {
					t.Fatal("does not wait")
				}
				synctest.Wait()
				start := time.Now()
				f := l.Forecast(Claim{})
				if f != test.want {
					t.Errorf("forecast %+v, want %+v", f, test.want)
				}
				for _, bound := range []time.Duration{-1, 10 * time.Second} {
					var e *Error
					_, err := l.Acquire(t.Context(), Claim{MaxWait: bound})
					if !errors.As(err, &e) || e.Cause != f.Cause || e.Quota != f.Quota || e.Bucket != f.Bucket {
						t.Errorf("MaxWait %v: %#v, want the cause of %+v", bound, err, f)
					}
				}
				if took := time.Since(start); test.refusals && name != "in a store" && took != 0 {
					t.Errorf("refused after %v, want at once", took)
				}
				w.Leave()
				if l.Shared.Store != nil {
					l.Close()
				}
			})
		})
	}
}

// Of buckets of three levels, a claim that waits above for its turn may come to wait below, behind one of the
// lowest bucket: then another, which was told that it goes after it, goes before. So the first does not count.
func TestForecastBehindAClaimThatLosesItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		quotas [3]string
		before func(claim func(bucket, n int))
		n      int // of the claim at the root
	}{
		"behind the next of the lowest bucket": {
			[3]string{"5/s log", "6/1500ms log", "3/500ms log"},
			func(claim func(bucket, n int)) {
				claim(2, 2)
				claim(2, 2)
				claim(1, 3)
				claim(0, 2)
				time.Sleep(250 * time.Millisecond)
				claim(2, 1)
				claim(1, 1)
			}, 3,
		},
		"behind one that takes what it needs": {
			[3]string{"2/s burst 3", "3/1500ms log", "6/500ms log"},
			func(claim func(bucket, n int)) {
				claim(0, 1)
				claim(0, 1)
				claim(1, 2)
				time.Sleep(375 * time.Millisecond)
				claim(2, 2)
				claim(1, 1)
			}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var buckets [3]*Limiter
				for i := range buckets {
					buckets[i] = &Limiter{Quotas: quotas(t, test.quotas[i])}
					if i > 0 {
						buckets[i].Parent = buckets[i-1]
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				test.before(func(bucket, n int) {
					go buckets[bucket].Acquire(ctx, Claim{N: n})
					synctest.Wait()
				})
				f, start := buckets[0].Forecast(Claim{N: test.n}), time.Now()
				if err := buckets[0].Wait(ctx, test.n); err != nil || time.Since(start) < f.Wait {
					t.Errorf("went after %v, earlier than %v: %v", time.Since(start), f.Wait, err)
				}
			})
		})
	}
}

// A claim looks at so many of the buckets beside its own in which others wait, and at no more: what it is told
// is a lower bound.
func TestForecastBesideManyBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Quotas: quotas(t, "1/s even"), MaxStandstill: Forever}
		grant(t, root, Claim{})
		var waiters []*Waiter
		for i := range aheadMost + 500 {
			_, w := join(t, &Limiter{Parent: root, MaxStandstill: Forever}, Claim{})
			waiters = append(waiters, w)
			if n := i + 1; n%100 == 0 {
				want := time.Duration(min(n, aheadMost)+1) * time.Second
				if got := (&Limiter{Parent: root}).Forecast(Claim{}).Wait; got != want {
					t.Errorf("beside %d buckets: a wait of %v, want %v", n, got, want)
				}
			}
		}
		for _, w := range waiters {
			if !w.Leave() {
				t.Fatal("granted")
			}
		}
	})
}
