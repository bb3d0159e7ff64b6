package throttle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/tree"
	"github.com/gopacer/pacer/throttle/store"
)

// sweep looks at all buckets at once. It requires that g.mu is held.
func (g *Group) sweep(n *bucketNode) { g.buckets.Sweep(n, check.MaxBuckets(g.MaxBuckets), sweeper{}) }

// sweepTwice forgets what is not in use.
func (g *Group) sweepTwice() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for range 2 {
		g.sweep(nil)
	}
}

func TestGroupHasABucketPerPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(2)}
		a, b := g.Limiter("a"), g.Limiter("b")
		below := g.Limiter("a", "x")
		if g.Limiter("a") != a || g.Limiter("a", "x") != below || a == b || below.Parent != a || a.Parent != nil {
			t.Error("not one bucket for each path, below that of the path without the last key")
		}
		if got, want := fmt.Sprint(buckets(g)), "[a a/x b]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		// What is below draws on what is above.
		start := time.Now()
		for i, l := range []*Limiter{a, below, below, b} {
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(i, err)
			}
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %v, want 1s", got)
		}
	})
}

func TestZeroGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		if g.State() != nil || g.Close() != nil || within.Update(&g, func() bool { return true }) != nil {
			t.Error("want nothing of a Group without buckets")
		}
		l := g.Limiter("a", "b")
		grant, err := l.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		// The bucket is new and starts slowly: the second one waits for the answer to the first one.
		if f := l.Forecast(Claim{}); l.Name != "b" || f.Cause != CauseSlowStart {
			t.Errorf("%s: %+v", l.Name, f)
		}
		grant.Answered(Answer{})
		defer func() {
			if recover() == nil {
				t.Error("a path without a key does not panic")
			}
			if g.Limiter("a", "b") != l { // and locks nothing for ever
				t.Error("another bucket")
			}
		}()
		g.Limiter()
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
			l = l.entry.group.Limiter("a", "x")
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
		g.sweep(x.entry.node)
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

func TestGroupUpdateSetsQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		per := time.Hour
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: 1, Per: per, Kind: quota.TokenBucket}}}
		}}
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		order := follows(t, 3, func(int) error { return g.Limiter("a").Wait(t.Context(), 1) })
		time.Sleep(10 * time.Second)
		if err := within.Update(g, func() bool { per = 10 * time.Second; return false }); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(order()), "[0 19.972s <nil> 1 29.972s <nil> 2 39.972s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
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

// An error names the bucket whose quotas are wrong; the others have theirs.
func TestGroupUpdateReportsWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := map[string]int64{"a": 1, "b": 1}
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: n[path[0]], Per: time.Hour, Burst: 1}}}
		}}
		a, b := g.Limiter("a"), g.Limiter("b")
		err := within.Update(g, func() bool { n["a"], n["b"] = -1, 5; return false })
		if err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("got %v, want an error that names -1", err)
		}
		if err := a.Wait(t.Context(), 1); err != nil {
			t.Errorf("what was wrong was set: %v", err)
		}
		if got := b.quotas[0].N; got != 5 {
			t.Errorf("b has %d, want 5", got)
		}
	})
}

// Claims that belong under another path after an Update line up there in the order in which they
// first asked, before anybody goes.
func TestGroupUpdateMovesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(1)}
		key := func(i int) string { return [...]string{"a", "b"}[i%2] }
		var mu sync.Mutex
		find := func(i int) func() *Limiter {
			return func() *Limiter {
				mu.Lock()
				defer mu.Unlock()
				return g.Limiter(key(i))
			}
		}
		for _, k := range []string{"a", "b", "c"} {
			g.Limiter(k).Pause(10 * time.Second)
		}
		var waits []string
		order := follows(t, 4, func(i int) error {
			grant, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find(i), func(f Forecast) {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, fmt.Sprint(i, " ", f.Bucket))
			}, nil)
			if err == nil {
				if name := grant.l.Name; name != "c" {
					t.Errorf("%d was granted by %s, want c", i, name)
				}
				grant.Answered(Answer{})
			}
			return err
		})
		err := within.Update(g, func() bool {
			mu.Lock()
			defer mu.Unlock()
			key = func(int) string { return "c" }
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(order()), "[0 10s <nil> 1 11s <nil> 2 12s <nil> 3 13s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		slices.Sort(waits)
		if got, want := fmt.Sprint(waits), "[0 a 0 c 1 b 1 c 2 a 2 c 3 b 3 c]"; got != want {
			t.Errorf("waits were told of %s, want %s", got, want)
		}
	})
}

// Claims keep their order if an Update moves them and gives their bucket a Store.
func TestGroupUpdateMovesWaitersToAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func([]string) *Limiter {
			return &Limiter{Name: "a", Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, Shared: Shared{Store: shared}}
		}}
		find := func() *Limiter { return g.Limiter("a") }
		if err := find().Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		order := follows(t, 5, func(int) error {
			_, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil)
			return err
		})
		if err := within.Update(g, func() bool { shared = memory; return true }); err != nil {
			t.Fatal(err)
		}
		for i, went := range order() {
			if !strings.HasPrefix(went, fmt.Sprint(i, " ")) {
				t.Errorf("%s went in place of %d", went, i)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Quotas that cannot live in a Store because of those above them can be mended, in one Update with these.
func TestGroupUpdateMendsQuotasOfAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, above := &store.Memory{}, 1
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/"), Shared: Shared{Store: shared}, Quotas: quota.Quotas{{N: int64(above), Burst: 1}}}
			if len(path) > 1 {
				l.Quotas = quota.Quotas{{N: 10, Burst: 1}}
			}
			return l
		}}
		below := g.Limiter("a", "b")
		if err := below.Wait(t.Context(), 1); err == nil || !strings.Contains(err.Error(), `quota "1/s even" of a`) {
			t.Fatalf("got %v, want an error that names the quota above", err)
		}
		if err := within.Update(g, func() bool { above = 1000; return false }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 11 {
			if err := below.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d < time.Second {
			t.Errorf("11 went in %v, want 10/s", d)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Claims that are on their way after one Update keep their places when another one follows at once.
func TestGroupTwoUpdatesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/")}
			if len(path) > 1 {
				l.Quotas, l.Shared.Store = quota.Quotas{{N: 1, Kind: quota.TokenBucket}}, shared
			}
			return l
		}}
		key := "a"
		find := func() *Limiter { return g.Limiter("host", key) }
		if err := find().Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		acquire := func(int) error {
			_, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil)
			return err
		}
		early := follows(t, 5, acquire)
		err := errors.Join(
			within.Update(g, func() bool { key = "b"; return true }),
			within.Update(g, func() bool { shared = &store.Memory{}; return true }),
		)
		if err != nil {
			t.Fatal(err)
		}
		late := make(chan time.Time)
		go func() {
			if err := acquire(5); err != nil {
				t.Error(err)
			}
			late <- time.Now()
		}()
		for i, went := range early() {
			if !strings.HasPrefix(went, fmt.Sprint(i, " ")) {
				t.Errorf("%s went in place of %d", went, i)
			}
		}
		last := time.Now()
		if at := <-late; !at.After(last) {
			t.Errorf("the claim that came last went %v before the others", last.Sub(at))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A bucket that is made anew, since it has a Store now, knows what the server has said.
func TestGroupUpdateWithAStoreKeepsHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func([]string) *Limiter {
			return &Limiter{Name: "a", Quotas: quota.Quotas{{N: 100, Burst: 1}}, Shared: Shared{Store: shared}, Rand: noJitter}
		}}
		grant, _ := g.Limiter("a").Acquire(t.Context(), Claim{})
		grant.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 10 * time.Minute}})
		if err := within.Update(g, func() bool { shared = memory; return false }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil || time.Since(start) != 10*time.Minute {
			t.Errorf("%v after %v, want to go after 10m", err, time.Since(start))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A claim whose callback panics leaves nothing in line.
func TestGroupAcquireWhoseCallbackPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func([]string) *Limiter { return &Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.InFlight}}} }}
		find := func() *Limiter { return g.Limiter("a") }
		first, _ := find().Acquire(t.Context(), Claim{})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, func(Forecast) { panic("waits") }, nil)
		}()
		if n := find().State().Waiting; n != 0 {
			t.Errorf("%d wait, want none", n)
		}
		first.Answered(Answer{})
		grant(t, find(), Claim{})
	})
}

// A claim that is moved to another bucket has waited in both lines, and meanwhile. If it then goes at once, or
// is refused, its wait adds up all the same.
func TestGroupAcquireMovedWait(t *testing.T) {
	s := time.Second
	for name, test := range map[string]struct {
		quota string // of the bucket to which the claim is moved
		want  []Wait
		err   error
	}{
		"waits again": {"1/10s even", []Wait{{"b", "B", CausePace, "1/10s even", 5 * s}, {"a", "A", CausePace, "1/m even", 3 * s}, {"a", "A", CauseHold, "", 2 * s}}, nil},
		"goes":        {"", []Wait{{"a", "A", CausePace, "1/m even", 3 * s}, {"a", "A", CauseHold, "", 2 * s}}, nil},
		"refused":     {"1/h even", []Wait{{"a", "A", CausePace, "1/m even", 3 * s}, {"a", "A", CauseHold, "", 2 * s}}, ErrMaxWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var moved atomic.Bool
				g := Group{New: func(path []string) *Limiter {
					q := "1/m even"
					if path[0] == "b" {
						q = test.quota
					}
					return &Limiter{Name: path[0], Label: strings.ToUpper(path[0]), MaxWait: time.Hour / 2, Quotas: quotas(t, q)}
				}}
				for _, key := range []string{"a", "b"} {
					grant(t, g.Limiter(key), Claim{})
				}
				find := func() *Limiter {
					if !moved.Load() {
						return g.Limiter("a")
					}
					time.Sleep(2 * s)
					return g.Limiter("b")
				}
				time.AfterFunc(3*s, func() {
					_ = within.Update(&g, func() bool { moved.Store(true); return true })
				})
				start := time.Now()
				var got []Wait
				_, err := within.Acquire(t.Context(), false, &g, Claim{}, new(Grant), find, nil, func(w []Wait) { got = append(got, w...) })
				if !errors.Is(err, test.err) || !slices.Equal(got, test.want) || sumOf(got) != time.Since(start) {
					t.Errorf("%v, waited %v for %+v, want %+v", err, time.Since(start), got, test.want)
				}
			})
		})
	}
}

// If the function that is told of a wait panics, what was granted goes to the next in line.
func TestGroupAcquireWhoseReportPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func([]string) *Limiter { return &Limiter{Quotas: quotas(t, "1 in flight")} }}
		find := func() *Limiter { return g.Limiter("a") }
		first := grant(t, find(), Claim{})
		time.AfterFunc(time.Second, first.Cancel)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			within.Acquire(t.Context(), false, &g, Claim{}, new(Grant), find, nil, func([]Wait) { panic("waited") })
		}()
		grant(t, find(), Claim{MaxWait: -1})
	})
}

// Waits is not told of a claim that overtakes others and goes at once.
func TestGroupAcquireThatDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func([]string) *Limiter { return &Limiter{Quotas: quota.Quotas{{N: 10, Burst: 10}}, Reserve: 0.5} }}
		find := func() *Limiter { return g.Limiter("a") }
		if err := find().Wait(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		order := follows(t, 1, func(int) error { return find().Wait(t.Context(), 1) })
		if _, err := within.Acquire(t.Context(), false, g, Claim{Priority: Urgent}, new(Grant), find, func(f Forecast) { t.Errorf("told of %+v", f) }, nil); err != nil {
			t.Error(err)
		}
		order()
	})
}

// New may write to the path that it gets.
func TestGroupNewThatWritesToThePath(t *testing.T) {
	g := &Group{New: func(path []string) *Limiter {
		path[len(path)-1] = "x"
		return &Limiter{Name: "b"}
	}}
	for _, path := range [][]string{{"a"}, {"a", "b"}} {
		if first, second := g.Limiter(path...), g.Limiter(path...); first != second {
			t.Errorf("%q: another bucket at each call", path)
		}
	}
}

// A claim that is canceled in the moment in which it is to move does not keep the others from going.
func TestGroupCanceledWhileMoved(t *testing.T) {
	for range 20 { // which of the two the claim sees first is random
		synctest.Test(t, func(t *testing.T) {
			g := &Group{New: perSecond(1)}
			g.Limiter("a").Pause(time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			find := func() *Limiter { return g.Limiter("a") }
			done := make(chan error)
			go func() {
				_, err := within.Acquire(ctx, false, g, Claim{}, new(Grant), find, nil, nil)
				done <- err
			}()
			synctest.Wait()
			if err := within.Update(g, func() bool { cancel(); return true }); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, ErrCanceled) {
				t.Fatalf("got %v, want ErrCanceled", err)
			}
			start := time.Now()
			if err := g.Limiter("a").Wait(t.Context(), 1); err != nil || time.Since(start) != time.Second {
				t.Fatalf("%v after %v, want to go after 1s", err, time.Since(start))
			}
		})
	}
}

// What is no new Limiter makes no bucket: a circle of buckets would be followed for ever. Nothing stays locked.
func TestGroupWantsNewLimiters(t *testing.T) {
	var made *Limiter
	g := &Group{New: func([]string) *Limiter { return made }}
	panics := func(want string, f func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
				t.Errorf("panic %q, want one about what %s", got, want)
			}
		}()
		f()
	}
	panics("Group.New returned nil", func() { g.Limiter("a") })
	panics("Group.New returned nil", func() { g.Limiter("a") })
	made = &Limiter{}
	if !g.Limiter("a").Allow(1) {
		t.Error("the bucket grants nothing")
	}
	panics("is a bucket of a Group already", func() { g.Limiter("b") })
	panics("is a bucket of a Group already", func() { g.Limiter("a", "b") })
	if err := g.Update(func() {}); err != nil {
		t.Error(err)
	}
	made = nil
	panics("Group.New returned nil", func() { _ = g.Update(func() {}) })
	made = &Limiter{}
	if !g.Limiter("b").Allow(1) || !g.Limiter("a").Allow(1) {
		t.Error("a bucket grants nothing")
	}
}

// Parents that lead in a circle are found, and not followed for ever.
func TestParentsInACircle(t *testing.T) {
	a := &Limiter{Name: "a"}
	b := &Limiter{Name: "b", Parent: a}
	a.Parent = b
	for _, l := range []*Limiter{a, b, {Name: "c", Parent: b}} {
		if err := l.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("the Parents of Limiter %q lead in a circle", l.Name)) {
			t.Errorf("%s: %v", l.Name, err)
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "lead in a circle") {
					t.Errorf("%s: panic %q", l.Name, got)
				}
			}()
			l.Allow(1)
		}()
	}
}

// What finds a bucket may panic, and what makes one: nothing stays locked or frozen.
func TestGroupPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		g := &Group{New: func(path []string) *Limiter {
			if broken {
				panic("New")
			}
			return &Limiter{Name: path[0]}
		}}
		panics := func(name string, f func()) {
			t.Helper()
			defer func() {
				if r := recover(); r != name {
					t.Errorf("recovered %v, want %v", r, name)
				}
			}()
			f()
		}
		g.Limiter("a").Pause(time.Second)
		moved := false
		find := func() *Limiter {
			if moved {
				panic("find")
			}
			return g.Limiter("a")
		}
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil)
		}()
		synctest.Wait()
		if err := within.Update(g, func() bool { moved = true; return true }); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r != "find" {
			t.Errorf("recovered %v, want find", r)
		}
		broken = true
		panics("New", func() { g.Limiter("b") })
		panics("New", func() { within.Update(g, func() bool { return true }) })
		panics("change", func() { within.Update(g, func() bool { panic("change") }) })
		broken = false
		start := time.Now()
		if err := g.Limiter("a").Wait(t.Context(), 1); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want to go after 1s", err, time.Since(start))
		}
		if err := g.Limiter("b").Wait(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
}

// New may panic at any of its calls when a bucket gets a Store and is made anew: each claim goes all the same,
// in one bucket or the other, and in one alone once an Update returns.
func TestGroupUpdateWithAStorePanics(t *testing.T) {
	for last := range 12 {
		synctest.Test(t, func(t *testing.T) {
			var shared store.Store
			var calls atomic.Int64
			calls.Store(-1000)
			g := &Group{New: func(path []string) *Limiter {
				if calls.Add(1) == int64(last) {
					panic("New")
				}
				l := &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.SlidingLog}}}
				if len(path) == 1 {
					l.Shared.Store = shared
				}
				return l
			}}
			start := time.Now()
			var mu sync.Mutex
			var went []time.Duration
			claim := func(path ...string) {
				find := func() *Limiter { return g.Limiter(path...) }
				go func() {
					defer func() { _ = recover() }()
					if _, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					went = append(went, time.Since(start))
				}()
				synctest.Wait()
			}
			claim("a")
			claim("a", "x")
			claim("a", "y")
			shared = new(store.Memory)
			calls.Store(0)
			update := func() (panicked any) {
				defer func() { panicked = recover() }()
				if err := within.Update(g, func() bool { return false }); err != nil {
					t.Error(err)
				}
				return nil
			}
			if update() != nil {
				update()
			}
			calls.Store(-1000)
			synctest.Wait()
			claim("a")
			time.Sleep(time.Minute)
			mu.Lock()
			defer mu.Unlock()
			want := []time.Duration{0, 0, 10100 * time.Millisecond, 20200 * time.Millisecond}
			if !slices.Equal(went, want) {
				t.Errorf("call %d panics: went at %v, want %v", last, went, want)
			}
			_ = g.Close()
		})
	}
}

// A bucket that gets a Store is made anew. What is under way ends in the old one; who waits waits in
// the new one.
func TestGroupUpdateWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared store.Store
		memory := &store.Memory{}
		g := &Group{New: func(path []string) *Limiter {
			l := &Limiter{Name: strings.Join(path, "/")}
			if len(path) == 1 {
				l.Quotas, l.Shared.Store = quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}, shared
			}
			return l
		}}
		old, below := g.Limiter("a"), g.Limiter("a", "x")
		under, err := old.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		order := follows(t, 2, func(int) error {
			_, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), func() *Limiter { return g.Limiter("a") }, nil, nil)
			return err
		})
		if err := within.Update(g, func() bool { shared = memory; return false }); err != nil {
			t.Fatal(err)
		}
		if !old.forgotten.Load() || !below.forgotten.Load() {
			t.Error("the old buckets are in use")
		}
		if got, want := fmt.Sprint(order()), "[0 0s <nil> 1 10.1s <nil>]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		under.Answered(Answer{})
		if s := g.Limiter("a").State(); s.Store == nil || s.InFlight != 2 {
			t.Errorf("state %+v", s)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Limiter("a").Wait(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// TestGroupLearnsBeforeItSplits: a bucket that is to learn an answer, since all requests are counted together as far as
// is known, is locked until it has: another answer may say the contrary. Else the bucket of all learns what is of a
// few, and has all wait for the reset of that.
func TestGroupLearnsBeforeItSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter} }}
		l := g.Limiter("a")
		grant, err := l.Acquire(t.Context(), Claim{Verb: "GET", Path: "/search/x"})
		if err != nil {
			t.Fatal(err)
		}
		a := remaining("search", 9)
		if _, local := grant.forward(&a, 0); !local || l.asRoot.mu.TryLock() {
			t.Fatalf("local %v, and another answer may come before the bucket learns", local)
		}
		l.unlock()
		grant.Answered(a)
		if got := l.State().Limits; len(got) != 1 || got[0].Available != 9 {
			t.Errorf("%+v, want 9 left", got)
		}
	})
}

// What a server counts on its own gets a bucket of its own, once it is known which claims draw on it.
func TestGroupSplitsByWhatServersName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], SlowStart: true, Rand: noJitter} }}
		l := g.Limiter("a")
		search, core := Claim{Verb: "GET", Path: "/search/x"}, Claim{Verb: "GET", Path: "/users/x"}
		ask := func(c Claim, a Answer) *Limiter {
			t.Helper()
			grant, err := l.Acquire(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			grant.Answered(a)
			return grant.l
		}
		ask(core, remaining("core", 50))
		if got := fmt.Sprint(buckets(&g)); got != "[a]" {
			t.Fatalf("%s, want one bucket while the server names one", got)
		}
		ask(search, remaining("search", 0))
		if got, want := fmt.Sprint(buckets(&g)), "[a a (core) a (search)]"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		start := time.Now()
		if by := ask(core, remaining("core", 49)); by.Name != "a (core)" || by.Parent != l || time.Since(start) != 0 {
			t.Errorf("granted by %s after %v", by.Name, time.Since(start))
		}
		if f := l.Forecast(search); f.Wait != time.Minute || f.Bucket != "a (search)" {
			t.Errorf("forecast %+v", f)
		}
		if by := ask(search, remaining("search", 99)); by.Name != "a (search)" || time.Since(start) != time.Minute {
			t.Errorf("granted by %s after %v", by.Name, time.Since(start))
		}
	})
}

// Who waits when a bucket is split waits where its kind belongs, in the order of those who asked.
func TestGroupSplitMovesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: 1, Kind: quota.InFlight}}, Rand: noJitter}
		}}
		l := g.Limiter("a")
		claim := func(i int) Claim {
			return Claim{Verb: "GET", Path: [...]string{"/users/", "/search/"}[i%2] + fmt.Sprint(i)}
		}
		first, _ := l.Acquire(t.Context(), claim(0))
		first.Answered(remaining("core", 50))
		second, _ := l.Acquire(t.Context(), claim(1))
		order := follows(t, 4, func(i int) error {
			grant, err := l.Acquire(t.Context(), claim(i))
			if err == nil {
				time.Sleep(time.Second)
				grant.Answered(Answer{})
			}
			return err
		})
		second.Answered(remaining("search", 0))
		want := "[0 1s <nil> 2 2s <nil> 1 1m1s <nil> 3 1m2s <nil>]"
		if got := fmt.Sprint(order()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// However many names a server gives, there are few buckets.
func TestGroupNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		l := g.Limiter("a")
		for i := range 10_000 {
			grant, f := l.Observe(Claim{Verb: "GET", Path: fmt.Sprint("/", i)})
			_ = f
			grant.Answered(remaining(fmt.Sprint("n", i), 1))
		}
		if n := len(g.State()); n > 100 {
			t.Errorf("%d buckets, want 100 at most", n)
		}
	})
}

// What was learned is there in the next run, under digests of paths.
func TestGroupSaveAndLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &Group{New: perSecond(100)}
		grant, err := one.Limiter("a", "secret").Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		grant.Answered(Answer{Statements: []quota.Statement{{Limit: 10, Remaining: 0, Reset: time.Minute, ResetKnown: true}}})
		var saved bytes.Buffer
		if err := one.Save(&saved); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(saved.String(), "secret") {
			t.Errorf("%s has a key", saved.String())
		}
		two := &Group{New: perSecond(100)}
		if err := two.Load(bytes.NewReader(saved.Bytes())); err != nil {
			t.Fatal(err)
		}
		// What there was no use for yet is saved again.
		var again bytes.Buffer
		if err := two.Save(&again); err != nil || again.String() != saved.String() {
			t.Errorf("%v: got %s, want %s", err, again.String(), saved.String())
		}
		if f := two.Limiter("a", "other").Forecast(Claim{}); f.Wait != 0 {
			t.Errorf("another path waits %v", f.Wait)
		}
		if f := two.Limiter("a", "secret").Forecast(Claim{}); f.Wait != time.Minute {
			t.Errorf("waits %v, want 1m", f.Wait)
		}
	})
}

// What nobody has asked for yet outlives another Load.
func TestGroupLoadsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(100)}
		for i, key := range []string{"a", "b"} {
			from := &Group{New: perSecond(100)}
			grant, _ := from.Limiter(key).Acquire(t.Context(), Claim{})
			grant.Answered(remaining("", 10+i))
			var saved bytes.Buffer
			if err := errors.Join(from.Save(&saved), g.Load(&saved)); err != nil {
				t.Fatal(err)
			}
		}
		for i, key := range []string{"a", "b"} {
			if ws := g.Limiter(key).State().Limits; len(ws) != 2 || ws[1].Available != 10+int64(i) {
				t.Errorf("%s knows %+v, want that %d are available", key, ws, 10+i)
			}
		}
	})
}

// Nothing is missing in what is saved while buckets are made.
func TestGroupSavesWhileBucketsAreMade(t *testing.T) {
	const n = 300
	from := &Group{New: perSecond(100)}
	for i := range n {
		grant, _ := from.Limiter(fmt.Sprint(i)).Acquire(t.Context(), Claim{})
		grant.Answered(remaining("", 10))
	}
	var saved bytes.Buffer
	if err := from.Save(&saved); err != nil {
		t.Fatal(err)
	}
	g := &Group{New: perSecond(100)}
	if err := g.Load(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			g.Limiter(fmt.Sprint(i))
		}
	})
	for range 20 {
		var again bytes.Buffer
		if err := g.Save(&again); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(again.String(), `"windows"`); got != n {
			t.Fatalf("saved %d buckets, want %d", got, n)
		}
	}
	wg.Wait()
}

// What was learned in one bucket is not taken for that of another, whatever is in their keys.
func TestGroupSavesEachPathByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: perSecond(100)}
		l := g.Limiter("a")
		for i, name := range []string{"x", "y"} { // both get a bucket below a
			grant, _ := l.Observe(Claim{Verb: "GET", Path: "/" + name})
			grant.Answered(remaining(name, 1-i))
		}
		paths := [][]string{{"a"}, {"a", "b"}, {"a\x00b"}, {`a" "b`}, {"a", "x"}, {"a", "x true"}, {"a x"}, {""}, {"", ""}}
		seen := map[string]string{}
		for _, path := range paths {
			g.Limiter(path...)
		}
		for _, n := range g.snapshot() {
			l := n.Value
			if other, ok := seen[l.entry.node.Digest()]; ok {
				t.Errorf("%q and %s have one digest", l.entry.node.Path(), other)
			}
			seen[l.entry.node.Digest()] = fmt.Sprintf("%q", l.entry.node.Path())
		}
		if want := len(paths) + 2; len(seen) != want {
			t.Errorf("%d buckets, want %d", len(seen), want)
		}
	})
}

type badWriter struct{}

var errBad = errors.New("disk full")

func (badWriter) Write([]byte) (int, error) { return 0, errBad }
func (badWriter) Read([]byte) (int, error)  { return 0, errBad }

func TestGroupSaveAndLoadErrors(t *testing.T) {
	var g Group
	if err := g.Save(badWriter{}); !errors.Is(err, errBad) {
		t.Errorf("got %v, want %v", err, errBad)
	}
	if err := g.Load(badWriter{}); !errors.Is(err, errBad) {
		t.Errorf("got %v, want %v", err, errBad)
	}
	for _, text := range []string{"", "{", `{"version": 2}`, `{"version": 1, "buckets": 1}`} {
		if err := g.Load(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "throttle: load: ") {
			t.Errorf("%q: got %v", text, err)
		} else if later := text == `{"version": 2}`; errors.Is(err, errors.ErrUnsupported) != later {
			t.Errorf("%q: got %v, of a later version: %v", text, err, later)
		}
	}
}

// Everything at once: nothing is lost, nothing deadlocks, and all is forgotten in the end.
func TestGroupRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n, shift := 100, 0
		g := &Group{New: func(path []string) *Limiter {
			mu.Lock()
			defer mu.Unlock()
			return &Limiter{Name: strings.Join(path, "/"), Quotas: quota.Quotas{{N: int64(n), Burst: int64(n)}, {N: 3, Kind: quota.InFlight}}, SlowStart: len(path) == 1, Tenant: path[len(path)-1] > "2"}
		}}
		stop := make(chan struct{})
		var wg, rest sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 1))
				for range 100 {
					k := random.IntN(40)
					find := func() *Limiter {
						mu.Lock()
						k := k + shift
						mu.Unlock()
						return g.Limiter(fmt.Sprint(k%5), fmt.Sprint(k))
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2000))*time.Millisecond)
					grant, err := within.Acquire(ctx, false, g, Claim{Verb: "GET", Path: fmt.Sprint("/", k%3)}, new(Grant), find, func(Forecast) {}, nil)
					if err == nil {
						time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
						switch random.IntN(5) {
						case 0:
							grant.Cancel()
						case 3:
							grant.Answered(Answer{Refused: true, Hold: holdIf(time.Duration(random.IntN(3))*100*time.Millisecond, random.IntN(2) == 0)})
						case 1:
							grant.Answered(remaining(fmt.Sprint("n", k%3), random.IntN(3)))
						case 2:
							if grant.Answered(Answer{Reading: true}).Open {
								grant.Done()
							}
						default:
							grant.Answered(Answer{})
						}
					}
					cancel()
				}
			})
		}
		for _, f := range []func(){
			func() {
				within.Update(g, func() bool {
					mu.Lock()
					defer mu.Unlock()
					n, shift = 201-n, shift+1
					return true
				})
			},
			func() { g.sweepTwice() },
			func() { g.State() },
			func() { checkGroup(t, g) },
			func() {
				var b bytes.Buffer
				if err := errors.Join(g.Save(&b), g.Load(&b)); err != nil {
					t.Error(err)
				}
			},
		} {
			rest.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(17 * time.Millisecond):
						f()
					}
				}
			})
		}
		wg.Wait()
		close(stop)
		rest.Wait()
		time.Sleep(time.Hour)
		for _, s := range g.State() {
			if s.Waiting != 0 || s.InFlight != 0 || s.Held != 0 || s.Next.Wait != 0 {
				t.Errorf("%+v", s)
			}
		}
		for range 5 { // one level after the other
			g.sweepTwice()
		}
		if names := buckets(g); len(names) != 0 {
			t.Errorf("%d buckets are left: %v", len(names), names)
		}
	})
}

func TestGroupAllocates(t *testing.T) {
	g := &Group{New: perSecond(1 << 30)}
	l := g.Limiter("a", "b")
	find := func() *Limiter { return l }
	for name, test := range map[string]struct {
		f    func()
		want float64
	}{
		"Limiter": {func() { g.Limiter("a", "b") }, 0},
		"Acquire and Answered": {func() {
			grant, err := within.Acquire(t.Context(), false, g, Claim{}, new(Grant), find, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			grant.Answered(Answer{})
		}, 0},
	} {
		if got := testing.AllocsPerRun(100, test.f); got != test.want {
			t.Errorf("%s: %v allocations, want %v", name, got, test.want)
		}
	}
}

// Claims behind one that a Store cannot serve in time are served, also where they wait in a bucket below.
func TestStoreRefusesOneOfABucketBelow(t *testing.T) {
	for name, first := range map[string]Claim{"NoWait": {MaxWait: -1}, "deadline": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := &slowStore{Store: new(store.Memory), there: 10 * time.Millisecond, back: 10 * time.Millisecond}
				qs := quota.Quotas{{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}
				other := &Limiter{Name: "p", Shared: Shared{Store: shared}, Quotas: qs}
				if err := other.Wait(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				parent := &Limiter{Name: "p", Shared: Shared{Store: shared}, Quotas: qs}
				below := &Limiter{Name: "c", Parent: parent}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				refused := make(chan error)
				go func() {
					_, err := below.Acquire(ctx, first)
					refused <- err
				}()
				time.Sleep(time.Millisecond)
				start := time.Now()
				done := make(chan error)
				go func() { done <- below.Wait(t.Context(), 1) }()
				if err := <-refused; err == nil {
					t.Error("the first one went, want that it is refused")
				}
				if err := <-done; err != nil || time.Since(start) > 12*time.Second {
					t.Errorf("the second one: %v after %v, want to go after some 10s", err, time.Since(start))
				}
				if err := errors.Join(parent.Close(), other.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Whoever waits for a closed bucket is told at once, from however far below.
func TestCloseRefusesAllBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := &Limiter{Name: "top", Shared: Shared{Store: new(store.Memory)}, Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
		middle := &Limiter{Name: "middle", Parent: top}
		below := &Limiter{Name: "below", Parent: middle}
		if err := below.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		order := follows(t, 6, func(i int) error {
			_, err := [...]*Limiter{below, middle}[i%2].Acquire(t.Context(), Claim{Priority: byIndex[i%3]})
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%d: got %v, want ErrClosed", i, err)
			}
			return err
		})
		if err := top.Close(); err != nil {
			t.Error(err)
		}
		order()
		if d := time.Since(start).Truncate(time.Second); d != 0 {
			t.Errorf("after %v, want at once", d)
		}
	})
}

// TestCounters has statements that cannot be about one counter. A Group splits the bucket; a Limiter alone
// takes all for one. What has become one with another counter is forgotten, and who still has it goes on with
// what is there.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		answer := func(l *Limiter, path string, limit, remaining int) *Limiter {
			t.Helper()
			grant, err := l.Acquire(t.Context(), Claim{Verb: "GET", Path: path})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			grant.Answered(Answer{Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}}})
			return grant.l
		}
		var alone Limiter
		for i := range 10 {
			answer(g.Limiter("host"), "/a", 100, 90-i)
			answer(g.Limiter("host"), "/b", 1000, 900-i)
			answer(&alone, "/a", 100, 90-i)
			if l := answer(&alone, "/b", 1000, 900-i); l != &alone {
				t.Errorf("%s is not the Limiter itself", l.Name)
			}
		}
		b := answer(g.Limiter("host"), "/b", 1000, 880)
		if b.Name != "host (GET /b)" || len(g.State()) != 3 {
			t.Errorf("%q of %d buckets, want that of /b, of 3", b.Name, len(g.State()))
		}
		for i := range 6 { // the limits become equal
			answer(g.Limiter("host"), "/b", 100, 70-2*i)
			answer(g.Limiter("host"), "/a", 100, 69-2*i)
		}
		a := answer(g.Limiter("host"), "/a", 100, 50)
		if got := answer(g.Limiter("host"), "/b", 100, 49); got != a || len(g.State()) != 2 {
			t.Errorf("%q and %q are two of %d buckets, want one of 2", got.Name, a.Name, len(g.State()))
		}
		for _, l := range []*Limiter{a, b} {
			if l.Pause(time.Minute); l.State().Held == 0 {
				t.Errorf("%q is not held after a pause", l.Name)
			}
		}
		if n := len(g.State()); n != 2 {
			t.Errorf("%d buckets after that, want 2", n)
		}
	})
}

// Forecast changes nothing: where a bucket is split by routes, it makes no bucket, and takes no counter and no
// route of those that a Group remembers.
func TestForecastOfRoutesChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		ask := func(path string, limit, remaining int) string {
			grant, err := g.Limiter("host").Acquire(t.Context(), Claim{Verb: "GET", Path: path})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			grant.Answered(Answer{Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}}})
			return grant.l.Name
		}
		for i := range 10 {
			ask("/a", 100, 90-i)
			ask("/b", 1000, 900-i)
		}
		before := len(g.State())
		for i := range 1000 {
			g.Limiter("host").Forecast(Claim{Verb: fmt.Sprintf("V%d", i%30), Path: fmt.Sprintf("/%c/%c", 'a'+i%26, 'a'+i/26)})
		}
		if after := len(g.State()); after != before {
			t.Errorf("%d buckets after forecasts, want %d", after, before)
		}
		for i := range 10 {
			if got := ask("/c", 10_000, 9000-i); got != "host (GET /c)" && i > 5 {
				t.Errorf("a new route is in %q", got)
			}
		}
	})
}

// Forecast changes nothing, either, of a limit of requests at the same time on which buckets draw together.
func TestForecastSharesNoLimitOfRequestsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter} }}
		claim := func(path string) Claim { return Claim{Verb: "GET", Path: path} }
		acquire := func(path string) *Grant {
			grant, err := g.Limiter("host").Acquire(t.Context(), claim(path))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			return grant
		}
		ask := func(path string, limit, remaining int) {
			acquire(path).Answered(Answer{
				Statements:  []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}},
				Concurrency: quota.Concurrency{Limit: 10, Remaining: 9, RemainingKnown: true},
			})
		}
		for i := range 10 {
			ask("/a", 100, 90-i)
			ask("/b", 1000, 900-i)
		}
		for i := range 100 {
			g.Limiter("host").Forecast(claim(fmt.Sprint("/new", i)))
		}
		for i := range 10 {
			ask("/c", 10_000, 9000-i)
		}
		for range 10 {
			acquire("/a")
		}
		for _, path := range []string{"/c", "/never"} {
			if f := g.Limiter("host").Forecast(claim(path)); f.Cause != CauseInFlight {
				t.Errorf("%s waits %v for %v beside ten at a time, want that it waits for these", path, f.Wait, f.Cause)
			}
		}
	})
}
