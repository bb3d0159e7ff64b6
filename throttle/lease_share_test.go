package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestLeaseNewcomers: those who come later have their share soon, and those who leave leave theirs.
func TestLeaseNewcomers(t *testing.T) {
	for _, n := range []int{100, 1000} {
		t.Run(fmt.Sprintf("%d/s", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{t: t, start: time.Now(), each: make([]int, 10)}
				shared := nearStore()
				for i := range 10 {
					first := time.Duration(i/5) * 5 * time.Second
					l := member(t, shared, fmt.Sprintf("%d/s even", n))
					for range 100 {
						pause := first
						f.worker(until(t, f.start.Add(15*time.Second)), i, l, func() time.Duration { d := pause; pause = 0; return d })
					}
				}
				f.wait.Wait()
				var soon, late [10]int
				for _, s := range f.sends {
					switch {
					case s.at > 5500*time.Millisecond && s.at <= 6500*time.Millisecond:
						soon[s.by]++
					case s.at > 7*time.Second:
						late[s.by]++
					}
				}
				if j := jain(soon[:]); j < 0.95 {
					t.Errorf("a second after half a second: Jain %.4f: %v", j, soon)
				}
				if j := jain(late[:]); j < 0.99 {
					t.Errorf("from two seconds on: Jain %.4f: %v", j, late)
				}
			})
		})
	}
}

// TestLeaseLight: who asks seldom waits for no more than a horizon beside those who always ask.
func TestLeaseLight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, start: time.Now(), each: make([]int, 6)}
		shared := nearStore()
		end := f.start.Add(20 * time.Second)
		for i := range 5 {
			l := member(t, shared, "100/s even")
			for range 20 {
				f.worker(until(t, end), i, l, func() time.Duration { return 0 })
			}
		}
		l := member(t, shared, "100/s even")
		most := time.Duration(0)
		for range 19 {
			time.Sleep(time.Second)
			start := time.Now()
			if err := l.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			most = max(most, time.Since(start))
		}
		f.wait.Wait()
		if most > horizon+20*time.Millisecond {
			t.Errorf("waited for %v, want %v at most", most, horizon)
		}
	})
}

// TestLeaseCrash: what a process had in hand that is no more is all that is lost.
func TestLeaseCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, start: time.Now(), each: make([]int, 4)}
		shared := nearStore()
		for i := range 4 {
			l := member(t, shared, "200/s even")
			end := f.start.Add(10 * time.Second)
			if i == 0 {
				end = f.start.Add(5 * time.Second)
			}
			ctx := until(t, end)
			for range 8 {
				f.worker(ctx, i, l, func() time.Duration { return 0 })
			}
			if i == 0 {
				time.AfterFunc(4999*time.Millisecond, func() {
					l.lock()
					l.link.closed = true // it says no more
					l.unlock()
				})
			}
		}
		f.wait.Wait()
		after, last, silence := 0, time.Duration(0), time.Duration(0)
		for _, s := range f.sends {
			if s.at > 5*time.Second {
				after++
				silence = max(silence, s.at-last)
			}
			last = s.at
		}
		// 1000 in 5 s, less 1 % for SlotLife, less its share of what is ahead: 200·H/4 = 25.
		if after < 965 {
			t.Errorf("%d went after it, want 965", after)
		}
		if silence > 150*time.Millisecond {
			t.Errorf("nothing went for %v", silence)
		}
	})
}

// TestLeaseRemaining: what the server says to one remains, is known to all.
func TestLeaseRemaining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "100/s burst 10"), member(t, shared, "100/s burst 10")
		a.Rand, b.Rand = func() float64 { return 0 }, func() float64 { return 0 }
		g, err := a.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Answered(Answer{Statements: []quota.Statement{{Limit: 60, Remaining: 0, Reset: 10 * time.Second, ResetKnown: true, Resolution: time.Second}}})
		time.Sleep(time.Second)
		start := time.Now()
		g, err = b.Acquire(t.Context(), Claim{})
		if err != nil {
			t.Fatal(err)
		}
		g.Answered(Answer{})
		if d := time.Since(start); d < 8*time.Second || d > 9*time.Second+time.Millisecond {
			t.Errorf("went after %v, want 9s", d)
		}
	})
}

// TestLeaseUrgent: what is reserved is reserved in the whole fleet, and who is urgent takes the next
// slot.
func TestLeaseUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		var limiters [2]*Limiter
		for i := range limiters {
			limiters[i] = &Limiter{Name: "api", Quotas: quotas(t, "10/s log"), Shared: Shared{Store: shared}, Reserve: 0.3}
			defer limiters[i].Close()
		}
		start := time.Now()
		went := func() (n int) {
			for i := range 20 {
				if _, err := limiters[i%2].Acquire(t.Context(), Claim{MaxWait: -1}); err == nil {
					n++
				}
			}
			return n
		}
		if n := went(); n != 7 {
			t.Errorf("%d of 10 went, want 7", n)
		}
		for i := range 4 {
			_, err := limiters[i%2].Acquire(t.Context(), Claim{Priority: Urgent, MaxWait: -1})
			if (err == nil) != (i < 3) {
				t.Errorf("urgent %d: %v", i, err)
			}
		}
		if d := time.Since(start); d > 20*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

// TestLeaseParent: a path may have its store at either end.
func TestLeaseParent(t *testing.T) {
	for _, above := range []bool{false, true} {
		t.Run(fmt.Sprint("above ", above), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				var leaves, all []*Limiter
				for range 2 {
					root := &Limiter{Name: "host", Quotas: quotas(t, "20/s burst 10")}
					all = append(all, root)
					for i := range 2 {
						leaf := &Limiter{Name: fmt.Sprint("leaf", i), Quotas: quotas(t, "15/s even"), Parent: root}
						leaves, all = append(leaves, leaf), append(all, leaf)
					}
				}
				for _, l := range all {
					if (l.Parent == nil) == above {
						l.Shared.Store = shared
						defer l.Close()
					}
				}
				f := &fleet{t: t, start: time.Now(), each: make([]int, 4)}
				for i, l := range leaves {
					for range 3 {
						f.worker(until(t, f.start.Add(20*time.Second)), i, l, func() time.Duration { return 0 })
					}
				}
				f.wait.Wait()
				want := 400 // 20 in a second of both hosts
				if !above {
					want = 600 // 15 in a second of each kind of leaf: less than 20 of each host
				}
				if n := len(f.sends); n < want*98/100 || n > want+20 {
					t.Errorf("%d went in 20s, want %d: %v", n, want, f.each)
				}
			})
		})
	}
}

// TestLeaseParents: a path may have two, whose slots must meet.
func TestLeaseParents(t *testing.T) {
	for _, c := range []struct {
		host, leaf string
		want       int // in three minutes, of two leaves of each of two hosts
	}{
		{"5000/h log", "30/m log", 180},
		{"600/m log", "300/m log", 1800},
		{"600/m log", "500/m log", 1800},
		{"600/m even", "500/m even", 1800},
		{"20/s burst 20", "15/s even", 3600},
	} {
		t.Run(c.host+" above "+c.leaf, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				f := &fleet{t: t, start: time.Now(), each: make([]int, 4)}
				for i := range 2 {
					root := &Limiter{Name: "host", Quotas: quotas(t, c.host), Shared: Shared{Store: shared}}
					defer root.Close()
					for j := range 2 {
						leaf := &Limiter{Name: fmt.Sprint("leaf", j), Quotas: quotas(t, c.leaf), Shared: Shared{Store: shared}, Parent: root}
						defer leaf.Close()
						for range 3 {
							f.worker(until(t, f.start.Add(3*time.Minute)), 2*i+j, leaf, func() time.Duration { return 0 })
						}
					}
				}
				f.wait.Wait()
				if n := len(f.sends); n < c.want*97/100 || n > c.want*103/100 {
					t.Errorf("%d went, want %d", n, c.want)
				}
				if n := shared.calls.Load(); n > int64(3*c.want) {
					t.Errorf("%d calls for %d", n, c.want)
				}
			})
		})
	}
}

// TestLeaseScarce: while there is nothing to be had, it is not asked for all the time.
func TestLeaseScarce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		l := member(t, shared, "600/m log")
		f := &fleet{t: t, start: time.Now(), each: make([]int, 1)}
		for range 2 {
			f.worker(until(t, f.start.Add(90*time.Second)), 0, l, func() time.Duration { return 0 })
		}
		f.wait.Wait()
		if n := shared.calls.Load(); len(f.sends) != 1200 || n > 400 {
			t.Errorf("%d calls for %d, want 1200", n, len(f.sends))
		}
	})
}

// TestLeaseClose gives back what is in hand, and ends waits.
func TestLeaseClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s even"), member(t, shared, "10/s even")
		tl := &timeline{start: time.Now()}
		tl.ask(t.Context(), "a1", a, 1)
		tl.ask(t.Context(), "a2", a, 1)
		time.Sleep(10 * time.Millisecond)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		tl.ask(t.Context(), "b1", b, 1)
		time.Sleep(time.Second)
		tl.check(t, "a1 500µs", "a2 10ms: throttle: api: not sent: closed", "b1 101.5ms")
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Wait(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		p := probe{t: t, store: shared.Store, quotas: quota.Quotas{plain(quotas(t, "10/s even")[0])}}
		if n := p.exchange(&store.Request{Serial: 1, Leave: true}).Members; n != 1 {
			t.Errorf("%d members", n)
		}
		if err := new(Limiter).Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaseSettle: an estimate that was too high comes back to all, one that was too low is charged. With
// OutageShare, what is beyond the parts of others that may have sent without the store comes when these have
// told that they did not, and the claim asks again.
func TestLeaseSettle(t *testing.T) {
	for mode, later := range map[Outage]time.Duration{OutageClosed: 0, OutageShare: 120 * time.Millisecond} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := nearStore()
				a, b := member(t, shared, "1000 tokens/m log"), member(t, shared, "1000 tokens/m log")
				a.Shared.Outage, b.Shared.Outage = mode, mode
				g, err := a.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 900}})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				g.Settle(quota.Costs{"tokens": 400})
				g.Answered(Answer{})
				time.Sleep(time.Second)
				start := time.Now()
				g, err = b.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 600}})
				if d := time.Since(start); err != nil || d.Truncate(10*time.Millisecond) != later || later == 0 && d != 500*time.Microsecond {
					t.Errorf("after %v: %v", d, err)
				}
				g.Answered(Answer{Spent: quota.Costs{"tokens": 700}})
				time.Sleep(57 * time.Second) // 400 leave a minute after they went
				start = time.Now()
				if _, err = a.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 300}}); err != nil || time.Since(start).Truncate(10*time.Millisecond) != later || later == 0 && time.Since(start) > time.Millisecond {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				if _, err = a.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 1}, MaxWait: -1}); !errors.Is(err, ErrWouldWait) {
					t.Error(err)
				}
				if _, err = a.Acquire(t.Context(), Claim{Costs: quota.Costs{"tokens": 1001}}); !errors.Is(err, ErrTooLarge) {
					t.Error(err)
				}
			})
		})
	}
}

// TestLeaseValidate: what cannot live in a store.
func TestLeaseValidate(t *testing.T) {
	for _, c := range []struct {
		name, quotas string
		slotLife     time.Duration
		ok           bool
	}{
		{"api", "5/s even", 0, true},
		{"api", "5/s even, 3 in flight", 0, true},
		{"", "5/s even", 0, false},
		{"api", "5/s warm-up 3s", 0, false},
		{"api", "5/s log", time.Second, false},
		{"api", "5/s log", time.Second / 2, true},
	} {
		l := &Limiter{Name: c.name, Quotas: quotas(t, c.quotas), Shared: Shared{SlotLife: c.slotLife, Store: new(store.Memory)}, MaxWait: time.Minute}
		if _, err := l.Acquire(t.Context(), Claim{}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		l.Close()
	}
	for text, ok := range map[string]bool{"10/s even": false, "10/s burst 3": false, "10/s burst 20": true, "600/m log": true} {
		root := &Limiter{Name: "root", Quotas: quotas(t, text), Shared: Shared{Store: new(store.Memory)}}
		l := &Limiter{Name: "leaf", Quotas: quotas(t, "5/s even"), Shared: Shared{Store: new(store.Memory)}, Parent: root}
		if err := l.Wait(t.Context(), 1); (err == nil) != ok {
			t.Errorf("%s above a store: %v", text, err)
		}
		l.Close()
		root.Close()
	}
}

// TestLeaseSetQuotas: quotas that change keep what was charged to them.
func TestLeaseSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := nearStore()
		a, b := member(t, shared, "10/s log"), member(t, shared, "10/s log")
		for range 10 {
			if err := a.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.SetQuotas(quotas(t, "12/s log")); err != nil {
			t.Fatal(err)
		}
		if err := b.SetQuotas(quotas(t, "12/s log")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // by then the store has been told
		start := time.Now()
		for i := range 3 {
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); (d < 2*time.Millisecond) != (i < 2) {
				t.Errorf("%d went after %v", i, d)
			}
		}
	})
}

// TestLeaseSetQuotasTold: a Store is told of new quotas at once, also where nobody waits: others may go by the
// ones of before while those are about.
func TestLeaseSetQuotasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &quotaStore{}
		l := member(t, shared, "10/s burst 10")
		if err := l.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := l.SetQuotas(quotas(t, "20/s burst 5")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if want := (quota.Quotas{{N: 20, Per: time.Second, Kind: quota.TokenBucket, Burst: 5}}); !slices.Equal(shared.told, want) {
			t.Errorf("the store knows of %v, want %v", shared.told, want)
		}
	})
}

// TestLeaseSetQuotasOften: numbers that change each 5 ms neither keep what waits from going nor cost a call
// each time. There are some 100 calls for 400 changes, and a few more or less by the order in which those that
// wait come.
func TestLeaseSetQuotasOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &countingStore{Store: nearStore()}
		l := member(t, shared, "100/s even")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var went atomic.Int64
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				for l.Wait(ctx, 1) == nil {
					went.Add(1)
				}
			})
		}
		changes := int64(0)
		for ; ctx.Err() == nil; changes++ {
			time.Sleep(5 * time.Millisecond)
			if err := l.SetQuotas(quotas(t, []string{"120/s even", "100/s even"}[changes%2])); err != nil {
				t.Fatal(err)
			}
		}
		wait.Wait()
		if went, calls := went.Load(), shared.calls.Load(); went < 2*90 || calls > changes/3 {
			t.Errorf("%d went, with %d calls; want 180 at least, with %d at most", went, calls, changes/3)
		}
	})
}

// countingStore counts calls.
type countingStore struct {
	store.Store
	calls atomic.Int64
}

func (s *countingStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	s.calls.Add(1)
	return s.Store.Exchange(ctx, r)
}

// TestLeaseSetQuotasAsPlain: a bucket whose quotas change has as much in it with a Store as without one: what
// was there, and no more than the burst of now holds. Slots may be used for a microsecond, by which the Store
// has less.
func TestLeaseSetQuotasAsPlain(t *testing.T) {
	type change struct {
		after time.Duration
		use   int    // at once, before
		text  string // the quotas of then
	}
	const ms = time.Millisecond
	for _, changes := range [][]change{
		{{0, 300, "10/s burst 10"}},
		{{0, 300, "10/s burst 10"}, {500 * ms, 0, "100/s burst 300"}},
		{{0, 200, "10/s burst 10"}},
		{{0, 200, "10/s burst 150"}},
		{{0, 1, "10/s burst 10"}, {ms, 1, "100/s burst 300"}},
		{{0, 0, "100/s burst 400"}},
		{{0, 100, "100/s burst 400"}},
		{{0, 300, "1000/s burst 300"}},
		{{0, 100, "200/s burst 20"}, {100 * ms, 10, "100/s burst 300"}, {250 * ms, 5, "10/s burst 12"}},
		{{0, 290, "50/s even"}, {200 * ms, 0, "100/s burst 300"}},
		{{0, 300, "200/2s burst 20"}},
		{{0, 300, "10/s burst 10"}, {100 * ms, 0, "100/s burst 300"}, {100 * ms, 0, "10/s burst 10"}, {100 * ms, 0, "100/s burst 300"}},
		{{100 * ms, 300, "100/s burst 300 debt"}, {0, 400, "100/s burst 500 debt"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			instants := func(s store.Store) (all []time.Duration) {
				l := member(t, s, "100/s burst 300")
				if s != nil {
					l.Shared.SlotLife = time.Microsecond
				}
				for _, c := range changes {
					time.Sleep(c.after)
					if c.use > 0 {
						if err := l.Wait(t.Context(), c.use); err != nil {
							t.Fatal(err)
						}
					}
					if err := l.SetQuotas(quotas(t, c.text)); err != nil {
						t.Fatal(err)
					}
				}
				start := time.Now()
				for range 50 {
					if err := l.Wait(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					all = append(all, time.Since(start).Round(50*time.Microsecond))
				}
				return all
			}
			if plain, shared := instants(nil), instants(new(store.Memory)); !slices.Equal(shared, plain) {
				t.Errorf("%v: with a Store after\n%v, without after\n%v", changes, shared, plain)
			}
		})
	}
}
