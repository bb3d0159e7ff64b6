package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/tree"
)

// Whatever keys are asked for, there are no more buckets than MaxBuckets, but for those in use: also if all are
// held or indebted. Those that were used last are kept.
func TestGroupMaxBuckets(t *testing.T) {
	for _, room := range []int{-1, 1, 100, 3 * tree.SweepFrom} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Group{MaxBuckets: room, New: func(path []string) *Limiter {
					return &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
				}}
				flying, err := g.Limiter("flying").Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				waits := g.Limiter("waits", "below")
				waits.Pause(10 * time.Hour)
				_, w := join(t, waits, Claim{})
				const inUse = 3 // flying, waits, waits/below
				last := ""
				for i := range 4 * tree.SweepFrom {
					last = fmt.Sprint(i)
					l := g.Limiter(last)
					if i%3 == 0 {
						l = g.Limiter(last, "below")
					}
					if i%2 == 0 {
						l.Pause(time.Hour)
					}
					for range 2 {
						grant, _ := l.Observe(Claim{})
						grant.Answered(Answer{}) // nothing is in flight
					}
					time.Sleep(time.Nanosecond)
					most := inUse + 2 + max(room, 0) // and the one that was asked for
					if n := g.buckets.Count(); n > most {
						t.Fatalf("%d buckets after %d, want %d at most", n, i, most)
					}
				}
				if flying.l.forgotten.Load() || waits.forgotten.Load() || gone(w) {
					t.Error("a bucket in use was forgotten")
				}
				if room > 2 && !strings.Contains(fmt.Sprint(buckets(g)), last) {
					t.Errorf("%s was used last, and is forgotten", last)
				}
				flying.Answered(Answer{})
				w.Leave()
			})
		})
	}
}

// Beyond MaxBuckets, what is idle is forgotten first, then what is only indebted, then what is held, each in
// the order in which it was used, and what is waited for or under way never.
func TestGroupForgetsTheLeastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{MaxBuckets: 7, New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Rand: noJitter, Quotas: quota.Quotas{{N: 2, Per: time.Hour, Burst: 1}}}
		}}
		use := func(name string, a Answer) {
			grant, _ := g.Limiter(name).Observe(Claim{})
			grant.Answered(a)
			time.Sleep(time.Millisecond)
		}
		use("idle", Answer{})
		time.Sleep(time.Hour) // what was charged has come back
		use("waited for", Answer{})
		_, waits := join(t, g.Limiter("waited for"), Claim{})
		under, _ := g.Limiter("under way").Observe(Claim{})
		use("held", Answer{Refused: true, Hold: &quota.Hold{For: 30 * time.Minute}})
		use("used up", says(0, time.Hour))
		use("indebted", Answer{})
		var order []string
		before := buckets(g)
		for i := range 100 {
			use(fmt.Sprint("new ", i), Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}})
			now := buckets(g)
			if len(now) > 7 {
				t.Fatalf("%d buckets: %q", len(now), now)
			}
			var gone []string
			for _, name := range before {
				if !slices.Contains(now, name) && !strings.HasPrefix(name, "new") {
					gone = append(gone, name)
				}
			}
			order, before = append(order, gone...), now
		}
		want := []string{"idle", "indebted", "held", "used up"}
		if !slices.Equal(order, want) {
			t.Errorf("forgotten %q, want %q", order, want)
		}
		if !slices.Contains(before, "waited for") || !slices.Contains(before, "under way") || gone(waits) {
			t.Errorf("left are %q", before)
		}
		under.Answered(Answer{})
		waits.Leave()
	})
}

// A crawl of ever new hosts, all of which refuse, fills no memory: there are 100,000 buckets at most, each of
// which weighs some 2 kB. What it costs to forget does not grow with how many there are: see TestFullIsRare of
// package tree. Usually, a tenth of that is tried; that 100,000 is the default is then for TestEffectiveValues
// of package check alone.
func TestGroupIsBoundedByDefault(t *testing.T) {
	room := whole.Or(10_000, 100_000)
	synctest.Test(t, func(t *testing.T) {
		g := &Group{MaxBuckets: whole.Or(room, 0)}
		held := g.Limiter("patient.example")
		held.Pause(time.Hour)
		start := time.Now()
		_, w := join(t, held, Claim{})
		for i := range room * 11 / 10 {
			l := g.Limiter(fmt.Sprint(i, ".example"))
			grant, _ := l.Observe(Claim{})
			grant.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 15 * time.Minute}})
			if n := g.buckets.Count(); n > room {
				t.Fatalf("%d buckets after %d", n, i)
			}
		}
		if n := g.buckets.Count(); n < room*8/10 {
			t.Errorf("%d buckets are left: the latest are wanted", n)
		}
		<-w.Ready()
		if took := time.Since(start); took != time.Hour {
			t.Errorf("who waited went after %v, want an hour", took)
		}
	})
}

// While no claim goes because several buckets change, none of them is forgotten.
func TestGroupForgetsNothingWhileItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		l := g.Limiter("a", "x")
		thaw := l.Freeze()
		if l.Idle() {
			t.Error("to be forgotten")
		}
		g.sweepTwice()
		if l.forgotten.Load() {
			t.Error("forgotten")
		}
		thaw()
		if !l.Idle() {
			t.Error("not to be forgotten")
		}
	})
}

// TestIdleNeedsAllThatIsLeft: a bucket is not idle while what is left to those that are not urgent is short.
func TestIdleNeedsAllThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 10"), Reserve: 0.5}
		grant(t, l, Claim{N: 5}).Answered(Answer{})
		time.Sleep(500 * time.Millisecond)
		if f := l.Forecast(Claim{N: 5}); f.Wait != 500*time.Millisecond || l.Idle() {
			t.Errorf("forecast %+v, idle %v: a new one would let it go at once", f, l.Idle())
		}
	})
}

// A handle of a bucket that was forgotten is one of the bucket that is under the path now.
func TestGroupForgottenHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		old := g.Limiter("a", "x")
		g.sweepTwice()
		if !old.forgotten.Load() || len(buckets(g)) != 0 {
			t.Fatalf("%v is left", buckets(g))
		}
		now := g.Limiter("a", "x")
		if now == old || now.forgotten.Load() {
			t.Fatal("the bucket is not a new one")
		}
		first, err := old.Acquire(t.Context(), Claim{})
		if err != nil || first.l != now {
			t.Errorf("granted by %p, %v, want %p", first.l, err, now)
		}
		if f := old.Forecast(Claim{}); f.Wait != time.Second || f.Bucket != "a" {
			t.Errorf("forecast %+v", f)
		}
		second, f := old.Observe(Claim{})
		if f.Wait != time.Second || second.l != now {
			t.Errorf("observed %+v", f)
		}
		if s := old.State(); s.InFlight != 2 {
			t.Errorf("state %+v", s)
		}
		old.Pause(time.Minute)
		if held := now.State().Held; held != time.Minute {
			t.Errorf("held for %v, want 1m", held)
		}
		old.Resume()
		if held := now.State().Held; held != 0 {
			t.Errorf("held for %v, want 0", held)
		}
		if err := old.SetQuotas(quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}); err != nil {
			t.Fatal(err)
		}
		first.Answered(Answer{})
		second.Cancel()
		if s := now.State(); s.InFlight != 0 || s.Next.Quota != "1/s even" && s.Next.Quota != "1/h even" {
			t.Errorf("state %+v", s)
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A handle of a bucket that a server names stands for the bucket of that name, not for all of its Parent.
func TestGroupForgottenHandleOfANamedBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(100)}
		var search *Limiter
		for i := range 4 {
			name := [...]string{"core", "search"}[i%2]
			grant, err := g.Limiter("a").Acquire(t.Context(), Claim{Verb: "GET", Path: "/" + name})
			if err != nil {
				t.Fatal(err)
			}
			search = grant.l
			grant.Answered(remaining(name, [...]int{10, 0, 10, 10}[i]))
		}
		if search.Name != "a (search)" {
			t.Fatalf("granted by %s", search.Name)
		}
		time.Sleep(time.Hour)
		g.sweepTwice()
		if !search.forgotten.Load() {
			t.Fatal("not forgotten")
		}
		search.Pause(time.Hour)
		if s := search.State(); s.Bucket != "a (search)" || s.Held != time.Hour {
			t.Errorf("%s is held for %v, want a (search) for 1h", s.Bucket, s.Held)
		}
		if s := g.Limiter("a").State(); s.Held != 0 {
			t.Errorf("%s is held for %v", s.Bucket, s.Held)
		}
		if _, err := search.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
			t.Errorf("claims go by their kind while the server names nothing: %v", err)
		}
	})
}

// Forgetting a bucket loses nothing.
func TestGroupForgetsOnlyWhatIsOfNoUse(t *testing.T) {
	hold := Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}
	for name, use := range map[string]func(t *testing.T, l *Limiter) (end func()){
		"in flight": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			g, _ := l.Acquire(t.Context(), Claim{})
			time.Sleep(time.Minute)
			return func() { g.Answered(Answer{}) }
		},
		"being read": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			if err := l.SetQuotas(quota.Quotas{{N: 1, Kind: quota.InFlight}}); err != nil {
				t.Fatal(err)
			}
			g, _ := l.Acquire(t.Context(), Claim{})
			g.Answered(Answer{Reading: true})
			time.Sleep(time.Minute)
			return func() { g.Done() }
		},
		"charged": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			l.Wait(t.Context(), 1)
			return func() { time.Sleep(time.Second) }
		},
		"waiting": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			l.Pause(time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			go l.Wait(ctx, 1)
			synctest.Wait()
			l.hold = due.Hold{}
			return func() { cancel(); synctest.Wait() }
		},
		"held": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			g, _ := l.Acquire(t.Context(), Claim{})
			g.Answered(hold)
			return func() { time.Sleep(time.Hour) }
		},
		"learned": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			g, _ := l.Acquire(t.Context(), Claim{})
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: 3, Reset: time.Hour, ResetKnown: true}}})
			return func() { time.Sleep(2 * time.Hour) }
		},
		"unsettled": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			g, _ := l.Acquire(t.Context(), Claim{})
			if !g.Answered(Answer{Unsettled: true, Spent: quota.Costs{"bytes": 5}}).Open {
				t.Error("Done is not waited for")
			}
			time.Sleep(time.Minute)
			return func() { g.Settle(quota.Costs{"bytes": 7}); g.Done() }
		},
		"unsettled, of requests alone": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			g, _ := l.Acquire(t.Context(), Claim{})
			if !g.Answered(Answer{Unsettled: true}).Open {
				t.Error("Done is not waited for")
			}
			time.Sleep(time.Minute)
			return func() { g.Done() }
		},
		"below it": func(t *testing.T, l *Limiter) func() {
			t.Helper()
			l = l.group.Limiter("a", "x")
			g, _ := l.Acquire(t.Context(), Claim{})
			time.Sleep(time.Minute)
			return func() { g.Answered(Answer{}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Group{New: perSecond(1)}
				l := g.Limiter("a")
				end := use(t, l)
				g.sweepTwice()
				if l.forgotten.Load() {
					t.Error("forgotten while it was of use")
				}
				end()
				g.sweepTwice()
				g.sweepTwice()
				if !l.forgotten.Load() || len(buckets(g)) != 0 {
					t.Errorf("kept without use: %v", buckets(g))
				}
			})
		})
	}
}

// A bucket is not forgotten by the very call that asks for one below it.
func TestGroupKeepsTheParentOfANewBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		a := g.Limiter("a")
		for i := range tree.SweepFrom - 1 {
			g.Limiter(fmt.Sprint(i))
		}
		g.mu.Lock()
		g.sweep(nil) // all are looked at for the first time; the next sweep forgets them
		g.buckets.SweepAt = 0
		g.mu.Unlock()
		x := g.Limiter("a", "x")
		if got := g.Limiter("a"); x.Parent != got || got != a || a.forgotten.Load() {
			t.Errorf("the parent %p was forgotten; the bucket of its path is %p", a, got)
		}
		g.mu.Lock()
		g.sweep(x.node)
		g.mu.Unlock()
		if n := len(g.State()); n != 2 || a.forgotten.Load() {
			t.Errorf("%d buckets are left, want a and a/x", n)
		}
	})
}

// However many keys are asked for, those that are of no use are forgotten.
func TestGroupIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		most := 0
		for i := range whole.Or(30, 100) * tree.SweepFrom {
			g.Limiter(fmt.Sprint(i))
			most = max(most, g.buckets.Count())
		}
		if most > 4*tree.SweepFrom {
			t.Errorf("%d buckets at once, want %d at most", most, 4*tree.SweepFrom)
		}
	})
}

// MaxWait counts from when a claim was made first, also if its bucket was forgotten since.
func TestGroupPlaceOfAForgottenBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], MaxWait: 2 * time.Hour} }}
		time.Sleep(time.Minute)
		old, err := g.Limiter("a").Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		old.Answered(Answer{})
		time.Sleep(time.Hour)
		g.sweepTwice()
		a := g.Limiter("a")
		a.Pause(time.Hour + 1)
		if _, err := a.Acquire(t.Context(), Claim{After: old}); !errors.Is(err, ErrMaxWait) {
			t.Errorf("got %v, want ErrMaxWait", err)
		}
		a.Resume()
		a.Pause(time.Hour)
		if _, err := a.Acquire(t.Context(), Claim{After: old}); err != nil {
			t.Error(err)
		}
	})
}
