package throttle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// rough is a Store as a network makes it: late, failing before and after it was done, repeating
// what it was told, at once and much later.
type rough struct {
	store.Store
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

func (s *rough) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
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

// play has a random fleet do random things.
func play(t *testing.T, r *rand.Rand, quotas quota.Quotas, fails bool) (h sendings, shared *store.Memory) {
	t.Helper()
	h = sendings{quotas: quotas, start: time.Now()}
	shared = new(store.Memory)
	net := &rough{Store: shared, r: rand.New(rand.NewPCG(r.Uint64(), 0)), fails: fails}
	members := 1 + r.IntN(8)
	limiters := make([]*Limiter, members)
	for i := range limiters {
		limiters[i] = &Limiter{Name: "api", Quotas: quotas, Shared: Shared{Store: net, Outage: OutageClosed}}
	}
	longest := time.Duration(0)
	for _, q := range quotas.Explicit() {
		longest = max(longest, q.Per)
	}
	h.slotLife = limiters[0].effectiveSlotLife(quotas.Explicit())
	span := min(4*longest, 4*time.Second)
	var mu sync.Mutex
	var wait sync.WaitGroup
	largest := make([]int64, len(quotas))
	for i, q := range quotas.Explicit() {
		largest[i] = min(slot.Most(&q), 3)
	}
	for range 20 + r.IntN(200) {
		by := r.IntN(members)
		at := time.Duration(r.Int64N(int64(span)))
		if r.IntN(3) == 0 {
			at -= at % (span / 8) // many at once
		}
		claim := Claim{Costs: quota.Costs{}, Priority: byIndex[r.IntN(3)]}
		for i, q := range quotas {
			if n := r.IntN(int(largest[i] + 1)); q.Unit != "" && n > 0 {
				claim.Costs[q.Unit] = int64(n)
			} else if q.Unit == "" {
				claim.N = 1 + r.IntN(int(largest[i]))
			}
		}
		timeout := time.Duration(0)
		switch r.IntN(5) {
		case 0:
			timeout = time.Duration(1 + r.Int64N(int64(span/4)))
		case 1:
			claim.MaxWait = -time.Duration(r.IntN(2))
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
				if timeout == 0 && claim.MaxWait >= 0 {
					t.Errorf("%v: %v", time.Since(h.start), err)
				}
				return
			}
			s := sent{at: time.Since(h.start), by: by, cost: make([]int64, len(quotas))}
			for i := range quotas {
				s.cost[i] = claim.Costs[quotas[i].Unit]
				if quotas[i].Unit == "" {
					s.cost[i] = int64(claim.N)
				}
			}
			switch {
			case giveUp:
				time.Sleep(after % (10 * time.Millisecond))
				g.Cancel()
				return
			case settle:
				time.Sleep(after)
				spent := quota.Costs{}
				for i := range quotas {
					s.cost[i] /= 2
					spent[limit.UnitName(&quotas[i])] = s.cost[i]
				}
				g.Settle(spent)
			}
			g.Answered(Answer{})
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
			l.lock()
			l.link.closed = false // it may be told again
			l.unlock()
		}
	}
	net.wait.Wait()
	sort.SliceStable(h.sends, func(i, j int) bool { return h.sends[i].at < h.sends[j].at })
	return h, shared
}

func TestLeaseAgainstDefinition(t *testing.T) {
	for _, text := range []string{
		"50/s even", "50/s burst 5", "20/s burst 20", "100/s queue 1000",
		"20/s window", "20/s window grid", "20/s estimate", "20/s log", "20/s sliding", "30/2s sliding 4",
		"30/s burst 10, 40/2s log", "20/s window grid, 60 tokens/s burst 30", "10/500ms even, 40 points/2s estimate", "12/s burst 6, 20/3s log", "9/s estimate, 20/3s window grid", "20 points/s burst 20, 30/3s estimate", "15/s burst 3, 3/s window grid", "4/s burst 8", "5/s burst 6, 9/2s log",
	} {
		quotas, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, fails := range []bool{false, true} {
			for seed := range seeds(2) {
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
		quotas, err := quota.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range seeds(2) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Minute)
					h, shared := play(t, rand.New(rand.NewPCG(seed, 2)), slices.Clone(quotas), false)
					h.check(t)
					want, full := 0, time.Duration(0)
					for _, s := range h.sends {
						want += int(s.cost[0])
						full = max(full, s.at) + time.Duration(s.cost[0])*explicit(quotas[0]).Per/time.Duration(quotas[0].N)
					}
					time.Sleep(10 * time.Second) // what came back of slots that were still to come has passed
					p := probe{t: t, store: shared}
					for _, q := range quotas {
						p.quotas = append(p.quotas, plain(q))
					}
					if explicit(quotas[0]).Kind == quota.TokenBucket {
						in, slotLife := p.first(int(quotas[0].Burst), -1)
						if d := time.Since(h.start) + in - slotLife - full; d > h.slotLife || d < -h.slotLife {
							t.Errorf("the bucket is full %v after %v, want within %v", d, full, h.slotLife)
						}
						return
					}
					free := quotas[0].N - int64(want)
					if in, _ := p.first(int(free+1), 0); in == 0 {
						t.Errorf("the store counts less than %d", want)
					}
					if in, _ := p.first(int(free), 0); in != 0 {
						t.Errorf("the store counts more than %d", want)
					}
				})
			})
		}
	}
}
