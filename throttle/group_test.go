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

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/check"
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
			search := within.Search(g, find, func(Forecast) { panic("waits") }, nil)
			search.Acquire(t.Context(), false, Claim{}, new(Grant))
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
				search := within.Search(&g, find, nil, &got)
				_, err := search.Acquire(t.Context(), false, Claim{}, new(Grant))
				if !errors.Is(err, test.err) || !slices.Equal(got, test.want) || sumOf(got) != time.Since(start) {
					t.Errorf("%v, waited %v for %+v, want %+v", err, time.Since(start), got, test.want)
				}
			})
		})
	}
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
		search := within.Search(g, find, func(f Forecast) { t.Errorf("told of %+v", f) }, nil)
		if _, err := search.Acquire(t.Context(), false, Claim{Priority: Urgent}, new(Grant)); err != nil {
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
			acquireIn(t.Context(), g, find, Claim{})
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

type badWriter struct{}

var errBad = errors.New("disk full")

func (badWriter) Write([]byte) (int, error) { return 0, errBad }
func (badWriter) Read([]byte) (int, error)  { return 0, errBad }

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
					search := within.Search(g, find, func(Forecast) {}, nil)
					grant, err := search.Acquire(ctx, false, Claim{Verb: "GET", Path: fmt.Sprint("/", k%3)}, new(Grant))
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
			search := within.Search(g, find, nil, nil)
			grant, err := search.Acquire(t.Context(), false, Claim{}, new(Grant))
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
