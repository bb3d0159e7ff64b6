package throttle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rough is a Store as a network makes it: late, failing before and after it was done, repeating
// what it was told, at once and much later.
type rough struct {
	Store
	mu    sync.Mutex
	r     *rand.Rand
	fails bool
	wait  sync.WaitGroup // for what is repeated late
}

func (s *rough) random(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.IntN(n)
}

var errRough = errors.New("connection reset")

func (s *rough) Exchange(ctx context.Context, r *Request) (*Reply, error) {
	time.Sleep(time.Duration(s.random(3000)) * time.Microsecond)
	what := 100
	if s.fails {
		what = s.random(30)
	}
	if what == 0 {
		return nil, errRough
	}
	reply, err := s.Store.Exchange(ctx, r)
	switch what {
	case 1:
		return nil, errRough
	case 2, 3:
		reply, err = s.Store.Exchange(ctx, r)
	case 4:
		s.wait.Go(func() {
			time.Sleep(time.Duration(s.random(1000)) * time.Millisecond)
			s.Store.Exchange(context.Background(), r)
		})
	}
	time.Sleep(time.Duration(s.random(3000)) * time.Microsecond)
	return reply, err
}

// sendings is what a random fleet did.
type sendings struct {
	quotas Quotas
	late   time.Duration
	sends  []sent // in their order
	start  time.Time
}

// play has a random fleet do random things.
func play(t *testing.T, r *rand.Rand, quotas Quotas, fails bool) (h sendings, store *MemoryStore) {
	t.Helper()
	h = sendings{quotas: quotas, start: time.Now()}
	store = new(MemoryStore)
	net := &rough{Store: store, r: rand.New(rand.NewPCG(r.Uint64(), 0)), fails: fails}
	members := 1 + r.IntN(8)
	limiters := make([]*Limiter, members)
	for i := range limiters {
		limiters[i] = &Limiter{Name: "api", Quotas: quotas, Store: net, Outage: Closed}
	}
	longest := quotas.longest()
	h.late = limiters[0].late(quotas)
	span := min(4*longest, 4*time.Second)
	var mu sync.Mutex
	var wait sync.WaitGroup
	largest := make([]int, len(quotas))
	for i := range quotas {
		largest[i] = min(quotas[i].most(), 3)
	}
	for range 20 + r.IntN(200) {
		by := r.IntN(members)
		at := time.Duration(r.Int64N(int64(span)))
		if r.IntN(3) == 0 {
			at -= at % (span / 8) // many at once
		}
		claim := Claim{Costs: Costs{}, Priority: Priority(r.IntN(3) - 1)}
		for i, q := range quotas {
			if n := r.IntN(largest[i] + 1); q.Unit != "" && n > 0 {
				claim.Costs[q.Unit] = n
			} else if q.Unit == "" {
				claim.N = 1 + r.IntN(largest[i])
			}
		}
		timeout := time.Duration(0)
		switch r.IntN(5) {
		case 0:
			timeout = time.Duration(1 + r.Int64N(int64(span/4)))
		case 1:
			claim.NoWait = r.IntN(2) == 0
		}
		giveUp, settle, after := r.IntN(6) == 0, r.IntN(4) == 0, time.Duration(r.Int64N(int64(span/4)))
		wait.Go(func() {
			time.Sleep(at)
			ctx := t.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout)
				if by%2 == 0 { // it is not known before
					var stop context.CancelCauseFunc
					ctx, stop = context.WithCancelCause(t.Context())
					time.AfterFunc(timeout, func() { stop(nil) })
				}
				defer cancel()
			}
			g, err := limiters[by].Acquire(ctx, claim)
			if err != nil {
				if timeout == 0 && !claim.NoWait {
					t.Errorf("%v: %v", time.Since(h.start), err)
				}
				return
			}
			s := sent{at: time.Since(h.start), by: by, cost: make([]int, len(quotas))}
			for i := range quotas {
				s.cost[i] = claim.Costs[quotas[i].Unit]
				if quotas[i].Unit == "" {
					s.cost[i] = claim.N
				}
			}
			switch {
			case giveUp:
				time.Sleep(after % (10 * time.Millisecond))
				g.Cancel()
				return
			case settle:
				time.Sleep(after)
				spent := Costs{}
				for i := range quotas {
					s.cost[i] /= 2
					spent[quotas[i].name()] = s.cost[i]
				}
				g.Settle(spent)
			}
			g.Done(Answer{})
			mu.Lock()
			h.sends = append(h.sends, s)
			mu.Unlock()
		})
	}
	if r.IntN(4) == 0 {
		time.Sleep(span / 3)
		limiters[0].Pause(span / 10)
	}
	wait.Wait()
	for _, l := range limiters {
		for l.Close() != nil {
			l.lease.closed = false // it may be told again
		}
	}
	net.wait.Wait()
	sort.SliceStable(h.sends, func(i, j int) bool { return h.sends[i].at < h.sends[j].at })
	return h, store
}

// check tells where a sendings breaks a quota by definition.
func (h *sendings) check(t *testing.T) {
	t.Helper()
	for i, q := range h.quotas {
		switch q.Kind {
		case TokenBucket:
			h.checkBucket(t, i, q)
		case ClockWindow:
			in := map[int64]int{}
			for _, s := range h.sends {
				window := h.start.Add(s.at).UnixNano() / int64(q.per())
				if in[window] += s.cost[i]; in[window] > q.N {
					t.Errorf("%v: more than %d in its window, at %v", q, q.N, s.at)
				}
			}
		case EstimatedWindow:
			in := map[int64]int{}
			for _, s := range h.sends {
				at := h.start.Add(s.at).UnixNano()
				window, rest := at/int64(q.per()), at%int64(q.per())
				in[window] += s.cost[i]
				// cur + prev·(1−u) < N + 1/2, in whole numbers.
				if s.cost[i] > 0 && 2*(int64(in[window]-q.N)*int64(q.per())+int64(in[window-1])*(int64(q.per())-rest)) > int64(q.per()) {
					t.Errorf("%v: estimate above %d at %v", q, q.N, s.at)
				}
			}
		default:
			for j := range h.sends {
				n := 0
				for k := j; k < len(h.sends) && h.sends[k].at < h.sends[j].at+q.per(); k++ {
					n += h.sends[k].cost[i]
				}
				if n > q.N {
					t.Errorf("%v: %d in %v from %v", q, n, q.per(), h.sends[j].at)
				}
			}
		}
	}
}

func (h *sendings) checkBucket(t *testing.T, i int, q Quota) {
	t.Helper()
	interval := float64(q.per()) / float64(q.N)
	burst, slack := float64(q.burst()), 0.0
	if burst < 1+float64(h.late)/interval {
		// One at a time, and what is due within Late of each other may go at once.
		p := float64(max(q.per(), time.Second))
		interval *= (p + float64(h.late)) / p
		burst, slack = 1, float64(h.late)
	}
	for j := range h.sends {
		n := 0
		for k := j; k < len(h.sends); k++ {
			n += h.sends[k].cost[i]
			span := h.sends[k].at - h.sends[j].at
			if float64(n)-burst > (float64(span)+slack)/interval+1e-6 {
				t.Fatalf("%v: %d in %v from %v, late %v", q, n, span, h.sends[j].at, h.late)
			}
		}
	}
}

func TestLeaseAgainstDefinition(t *testing.T) {
	for _, text := range []string{
		"50/s", "50/s burst 5", "20/s burst 20", "100/s queue 1000",
		"20/s window", "20/s window grid", "20/s estimate", "20/s log", "20/s sliding", "30/2s sliding 4",
		"30/s burst 10, 40/2s log", "20/s window grid, 60 tokens/s burst 30", "10/500ms, 40 points/2s estimate", "12/s burst 6, 20/3s log", "9/s estimate, 20/3s window grid", "20 points/s burst 20, 30/3s estimate", "15/s burst 3, 3/s window grid", "4/s burst 8", "5/s burst 6, 9/2s log",
	} {
		quotas, err := ParseQuotas(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, fails := range []bool{false, true} {
			for seed := range uint64(16) {
				t.Run(fmt.Sprintf("%s fails %v seed %d", text, fails, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h, _ := play(t, rand.New(rand.NewPCG(seed, 1)), slices.Clone(quotas), fails)
						h.check(t)
					})
				})
			}
		}
	}
}

// TestLeaseReturnsExactly: what a store has counted in the end is what was sent, to the token.
func TestLeaseReturnsExactly(t *testing.T) {
	for _, text := range []string{"500/h log", "500/h window", "500/h window grid", "500/h estimate", "500/h sliding 5", "500 points/h log, 20/s burst 9", "500/h burst 500"} {
		quotas, err := ParseQuotas(text)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(30) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Minute)
					h, store := play(t, rand.New(rand.NewPCG(seed, 2)), slices.Clone(quotas), false)
					h.check(t)
					want, full := 0, time.Duration(0)
					for _, s := range h.sends {
						want += s.cost[0]
						full = max(full, s.at) + time.Duration(s.cost[0])*quotas[0].per()/time.Duration(quotas[0].N)
					}
					var got int64
					switch l := store.buckets["api"].ledgers[0].(type) {
					case *slotBucket:
						store.buckets["api"].fill(store.now() + 1)
						l.settle(store.now())
						if d := time.Duration(l.full-1) - full; d > h.late || d < -h.late {
							t.Errorf("the bucket is full at %v, want %v, within %v", time.Duration(l.full-1), full, h.late)
						}
						return
					case *slotWindow:
						got = l.log.number() - l.log.left
					case *slotGrid:
						switch w := l.limit.(type) {
						case *fixed:
							got = w.used
						case *estimated:
							got = w.current
						}
					}
					for _, hole := range store.buckets["api"].holes {
						got -= int64(hole.cost[0])
					}
					if got != int64(want) {
						t.Errorf("the store counts %d, want %d", got, want)
					}
				})
			})
		}
	}
}
