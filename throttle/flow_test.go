package throttle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// flowing is a crowd of waiters by flow, which go one after the other.
type flowing struct {
	*testing.T
	l       *Limiter
	start   time.Time
	waiting map[*Waiter]string
	went    []string // flows, in the order in which they went
}

func newFlowing(t *testing.T, l *Limiter) *flowing {
	t.Helper()
	return &flowing{t, l, time.Now(), map[*Waiter]string{}, nil}
}

// join has n of a flow wait.
func (f *flowing) join(flow string, n int, c Claim) (ws []*Waiter) {
	f.Helper()
	for c.Flow = flow; n > 0; n-- {
		_, w := join(f.T, f.l, c)
		if w == nil {
			f.Fatalf("one of %q went at once", flow)
		}
		f.waiting[w] = flow
		ws = append(ws, w)
	}
	return ws
}

// next lets time pass until somebody goes, and returns who: all of one instant in the order of their flows.
func (f *flowing) next(every time.Duration) {
	f.Helper()
	time.Sleep(every)
	synctest.Wait()
	var now []string
	for w, flow := range f.waiting {
		if gone(w) {
			if w.err != nil {
				f.Fatal(w.err)
			}
			now = append(now, flow)
			delete(f.waiting, w)
		}
	}
	slices.Sort(now)
	f.went = append(f.went, now...)
}

// goes lets time pass, and compares the order in which flows go then, one after each span.
func (f *flowing) goes(every time.Duration, want string) {
	f.Helper()
	f.went = nil
	for range strings.Fields(want) {
		f.next(every)
	}
	if got := strings.Join(f.went, " "); got != want {
		f.Errorf("went %s, want %s", got, want)
	}
}

// leave has all leave who still wait.
func (f *flowing) leave() {
	f.Helper()
	for w := range f.waiting {
		w.Leave()
	}
	clear(f.waiting)
	if line := &f.l.line; line.waiting != 0 || line.Len() != 0 || line.sure.Flows != nil || f.l.tree.flows != nil {
		f.Errorf("%d wait, %d stand in line, of flows %v, and %v in the tree", line.waiting, line.Len(), line.sure.Flows, f.l.tree.flows)
	}
}

// A newcomer beside 10 000 of another flow goes next, and is told so. It makes no difference how much of the
// line was served.
func TestFlowNewcomerBesideManyWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tick = 10 * time.Millisecond
		l := &Limiter{Quotas: quotas(t, "100/s even"), MaxWait: Forever}
		grant(t, l, Claim{Flow: "batch"})
		f := newFlowing(t, l)
		f.join("batch", 10_000, Claim{})
		if got := l.Forecast(Claim{Flow: "batch"}).Wait; got != 10_001*tick {
			t.Errorf("one more of the batch is told %v, want %v", got, 10_001*tick)
		}
		for i := range 3 {
			f.goes(tick, "batch batch batch")
			if got := l.Forecast(Claim{Flow: "person"}).Wait; got != tick {
				t.Errorf("%d: a person is told %v, want %v", i, got, tick)
			}
			f.join("person", 1, Claim{MaxWait: tick})
			f.goes(tick, "person batch batch")
		}
		// Two persons and the batch: all have gone within as many grants as there are flows.
		f.join("one", 2, Claim{})
		f.join("two", 2, Claim{})
		f.goes(tick, "one two batch one two batch batch")
		f.leave()
	})
}

// Flows get their weights, by cost in the unit that keeps the bucket busy for the longest, and no token is lost
// to it.
func TestFlowShares(t *testing.T) {
	for name, test := range map[string]struct {
		quotas string
		claim  func(flow int) Claim
		every  time.Duration
	}{
		"requests": {"100/s even", func(int) Claim { return Claim{} }, 10 * time.Millisecond},
		"costs":    {"100/s burst 5", func(flow int) Claim { return Claim{N: 1 + 2*flow} }, 10 * time.Millisecond},
		"tokens":   {"1000/s, 6000 tokens/m burst 9", func(flow int) Claim { return tokens(1 + 4*flow) }, 10 * time.Millisecond},
		"month":    {"100/s even, 100000000/month", func(int) Claim { return Claim{} }, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Quotas: quotas(t, test.quotas)}
				grant(t, l, test.claim(2)) // takes all that there is
				f := newFlowing(t, l)
				flows, cost, most, total := []string{"a", "b", "c"}, map[string]int{}, 0.0, 0
				for i, flow := range flows {
					c := test.claim(i)
					cost[flow] = max(c.N, int(c.Costs["tokens"]), 1)
					c.Weight = i + 1
					most = max(most, float64(cost[flow])/float64(c.Weight))
					f.join(flow, 100, c)
					total += 100 * cost[flow]
				}
				got := map[string]int{}
				for len(f.waiting) > 0 {
					f.went = nil
					f.next(test.every)
					backlogged := map[string]bool{}
					for _, flow := range f.waiting {
						backlogged[flow] = true
					}
					for _, flow := range f.went {
						got[flow] += cost[flow]
					}
					if len(backlogged) < len(flows) {
						continue
					}
					least, highest := got["a"]*6, 0
					for i, flow := range flows {
						least, highest = min(least, got[flow]*6/(i+1)), max(highest, got[flow]*6/(i+1))
					}
					if float64(highest-least) > 6*2*most {
						t.Fatalf("after %v: %v", time.Since(f.start), got)
					}
				}
				if took := time.Since(f.start); took != time.Duration(total)*test.every {
					t.Errorf("all went after %v, want %v", took, time.Duration(total)*test.every)
				}
				f.leave()
			})
		})
	}
}

// Who leaves is not charged, what is given back goes to whose turn it is, and a hold or other quotas do not
// change the order.
func TestFlowTurnsWhenThingsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even")}
		grant(t, l, Claim{})
		f := newFlowing(t, l)
		many := f.join("a", 100, Claim{})
		for _, w := range many[:98] {
			w.Leave()
			delete(f.waiting, w)
		}
		f.join("b", 2, Claim{})
		f.goes(time.Second, "a b a b") // the 98 of a who left cost it nothing
		f.leave()
	})
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even debt")}
		grant(t, l, Claim{})
		f := newFlowing(t, l)
		f.join("a", 10, Claim{})
		f.join("b", 10, Claim{N: 2})
		f.goes(time.Second, "a b")
		l.Pause(5 * time.Second)
		f.goes(5*time.Second, "a")
		f.join("c", 3, Claim{})
		f.goes(time.Second, "c a")
		if err := l.SetQuotas(quotas(t, "2/s even debt")); err != nil {
			t.Fatal(err)
		}
		// Costs count anew: all begin side by side, and of equals who was there first.
		f.goes(time.Second/2, "a")
		f.goes(time.Second/2, "b")
		f.next(time.Second / 2) // b takes two
		f.goes(time.Second/2, "c a c a")
		f.leave()
	})
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1 in flight")}
		g := grant(t, l, Claim{})
		f := newFlowing(t, l)
		a := f.join("a", 2, Claim{})
		b := f.join("b", 2, Claim{})
		for _, w := range []*Waiter{a[0], b[0], a[1], b[1]} { // whether it was sent or not
			if gone(w) {
				t.Fatal("went before its turn")
			}
			if g.Cancel(); !gone(w) {
				t.Fatal("did not go when it was its turn")
			}
			g = w.Granted()
			clear(f.waiting)
		}
		f.leave()
	})
}

// Priority decides first: flows go in turns within one. A claim that has waited for Aging goes before more
// urgent ones of other flows that came later.
func TestFlowBehindPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even"), Aging: 3 * time.Second}
		grant(t, l, Claim{})
		f := newFlowing(t, l)
		f.join("batch", 3, Claim{Priority: Background})
		f.join("night", 1, Claim{Priority: Background})
		f.join("a", 2, Claim{Priority: Urgent})
		f.join("b", 1, Claim{Priority: Urgent})
		f.goes(time.Second, "a b a")
		time.Sleep(time.Second / 2)
		f.join("c", 2, Claim{Priority: Normal}) // 3.5 s after the batch
		f.goes(time.Second/2, "batch")
		f.goes(time.Second, "night batch batch c c")
		f.leave()
	})
}

// Where MaxQueue is reached, the one that would go last makes room for one that goes before it.
func TestFlowMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even"), MaxQueue: 4}
		grant(t, l, Claim{})
		f := newFlowing(t, l)
		many := f.join("many", 4, Claim{})
		if _, _, err := l.Join(t.Context(), Claim{Flow: "many"}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one more of the same flow: %v", err)
		}
		f.join("one", 2, Claim{})
		for i, w := range many {
			if refused := i > 1; gone(w) != refused || refused && !errors.Is(w.err, ErrQueueFull) {
				t.Errorf("the one at %d is gone: %v, with %v", i, gone(w), w.err)
			}
		}
		delete(f.waiting, many[2])
		delete(f.waiting, many[3])
		if _, _, err := l.Join(t.Context(), Claim{Flow: "one"}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one more beside two of each: %v", err)
		}
		f.goes(time.Second, "many one many one")
		f.leave()
	})
}

// Flows that wait in buckets below share what is above by what each got there.
func TestFlowsOfChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Quotas: quotas(t, "1/s even")}
		one, other := &Limiter{Parent: root}, &Limiter{Parent: root}
		grant(t, root, Claim{})
		f := newFlowing(t, root)
		for range 40 {
			f.l = one
			f.join("a", 1, Claim{})
			f.join("b", 1, Claim{})
			f.l = other
			f.join("c", 1, Claim{})
		}
		got := map[string]int{}
		for range 30 {
			f.went = nil
			f.next(time.Second)
			for _, flow := range f.went {
				got[flow]++
			}
			if d := max(got["a"], got["b"], got["c"]) - min(got["a"], got["b"], got["c"]); d > 2 {
				t.Fatalf("%v", got)
			}
		}
		if want := map[string]int{"a": 10, "b": 10, "c": 10}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		f.leave()
		f.l = one
		f.leave()
		f.l = root
		f.leave()
	})
}

// A claim that the server has refused is made again at the front of its flow, and pays as every claim.
func TestFlowAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even"), Rand: noJitter}
		g := grant(t, l, Claim{Flow: "a"})
		f := newFlowing(t, l)
		f.join("a", 2, Claim{})
		f.join("b", 2, Claim{})
		g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 3 * time.Second}})
		again := f.join("a", 1, Claim{After: g})[0]
		f.next(3 * time.Second)
		if !gone(again) {
			t.Errorf("went %v, want the one that was refused", f.went)
		}
		again.Granted().Answered(Answer{})
		f.goes(time.Second, "b a b a")
		f.leave()
	})
}

// With a Store each process has its own line, in which flows go in turns; Close ends all.
func TestFlowWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var memory store.Memory
		l := &Limiter{Name: "shared", Quotas: quotas(t, "10/s even"), Shared: Shared{Store: &memory}}
		ctx := context.Background()
		g, err := l.Acquire(ctx, Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Answered(Answer{})
		f := newFlowing(t, l)
		f.join("many", 50, Claim{})
		f.join("one", 1, Claim{})
		for !slices.Contains(f.went, "one") {
			f.next(time.Millisecond)
		}
		if len(f.went) > 2 {
			t.Errorf("%v went before one, want one at most", f.went)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for w := range f.waiting {
			if !gone(w) || !errors.Is(w.err, ErrClosed) {
				t.Fatalf("ended: %v, with %v", gone(w), w.err)
			}
		}
		clear(f.waiting)
		f.leave()
	})
}

// Zero and negative are one.
func TestFlowWeightIsOneAtLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even")}
		grant(t, l, Claim{Flow: "a", Weight: -1})
		var went []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, c := range []Claim{{Flow: "a", Weight: -7}, {Flow: "a", Weight: -7}, {Flow: "a", Weight: -7}, {Flow: "b"}, {Flow: "b"}, {Flow: "c", Weight: 1}, {Flow: "c", Weight: 1}} {
			wg.Go(func() {
				if _, err := l.Acquire(t.Context(), c); err != nil {
					t.Error(err)
				}
				mu.Lock()
				went = append(went, c.Flow)
				mu.Unlock()
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := []string{"a", "b", "c", "a", "b", "c", "a"}; !slices.Equal(went, want) {
			t.Errorf("went in the order %q, want %q", went, want)
		}
	})
}

// What it costs to grant one of 10 000 who wait and to have another come.
func BenchmarkFlows(b *testing.B) {
	for _, flows := range []int{0, 1, 100, 10_000} {
		b.Run(fmt.Sprint(flows, " flows"), func(b *testing.B) {
			l := &Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.InFlight}}}
			claim := func(i int) Claim {
				if flows == 0 {
					return Claim{}
				}
				return Claim{Flow: fmt.Sprint(i % flows)}
			}
			ctx := b.Context()
			g, err := l.Acquire(ctx, Claim{})
			if err != nil {
				b.Fatal(err)
			}
			in := map[uint64]*Waiter{}
			number := 0
			come := func() {
				number++
				_, w, err := l.Join(ctx, claim(number))
				if err != nil {
					b.Fatal(err)
				}
				in[w.place.number] = w
			}
			for range crowded {
				come()
			}
			b.ReportAllocs()
			for b.Loop() {
				first := l.line.Heads(new([priorities]*waiter))[0]
				g.Answered(Answer{})
				g = in[first.place.number].Granted()
				delete(in, first.place.number)
				come()
			}
		})
	}
}

// A claim that the server has refused so often that it lost its place waits for its turn, and not for all that
// another flow has in line. Its flow pays eight times for it.
func TestFlowThatLostItsPlaceTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "1/s even"), Rand: noJitter}
		g := grant(t, l, Claim{Flow: "p"})
		f := newFlowing(t, l)
		f.join("a", 100, Claim{})
		for i, want := range []string{"p", "a a p", "a a a a a a a a p", "a a a a a a a a p"} {
			g.Answered(Answer{Refused: true, Hold: &quota.Hold{For: 3 * time.Second}})
			again := f.join("p", 1, Claim{After: g})[0]
			for f.went = nil; !gone(again); {
				if f.next(time.Second); len(f.went) > 20 {
					break
				}
			}
			if got := strings.Join(f.went, " "); got != want {
				t.Fatalf("after refusal %d: %s, want %s", i+1, got, want)
			}
			g = again.Granted()
		}
		f.leave()
	})
}

// TestFlowsAfterSetQuotas: where the quotas of a bucket change, what its flows got before is forgotten; so
// another waiter may be the first of it, and takes the place of the one that was in the line of the parent.
func TestFlowsAfterSetQuotas(t *testing.T) {
	for _, changes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			parent := &Limiter{Quotas: quota.Quotas{{N: 1, Burst: 1}}}
			l, other := &Limiter{Parent: parent, Quotas: quota.Quotas{{N: 1000}}}, &Limiter{Parent: parent}
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var order []string
			for _, flow := range []string{"a", "a", "b", "c"} {
				of := l
				if flow == "c" {
					of = other
				}
				go func() {
					if _, err := of.Acquire(t.Context(), Claim{Flow: flow}); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					order = append(order, flow)
				}()
				synctest.Wait()
			}
			time.Sleep(time.Second)
			synctest.Wait()
			want := []string{"a", "b", "c", "a"}
			if changes {
				want = []string{"a", "c", "a", "b"}
				if err := l.SetQuotas(quota.Quotas{{N: 500}}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(order, want) {
				t.Errorf("quotas changed: %v: went %v, want %v", changes, order, want)
			}
		})
	}
}
