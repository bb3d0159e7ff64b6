package throttle

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/slot"
	"github.com/gopacer/pacer/throttle/store"
)

// TestStoreAgainstDefinition: whatever part of the slots is used, and however late within SlotLife, every
// quota holds by its definition.
func TestStoreAgainstDefinition(t *testing.T) {
	for _, text := range []string{
		"50/s even", "50/s burst 5", "20/s burst 20", "7/3s burst 2", "3/s burst 5 debt",
		"20/s window", "20/s window grid", "20/s estimate", "20/s log", "20/s sliding", "30/2s sliding 4",
		"30/s burst 10, 40/2s log", "20/s window grid, 60 tokens/s burst 30", "10/500ms even, 40 points/2s estimate", "12/s burst 6, 20/3s log", "9/s estimate, 20/3s window grid", "20 points/s burst 20, 30/3s estimate", "15/s burst 3, 3/s window grid", "4/s burst 8", "5/s burst 6, 9/2s log",
	} {
		for seed := range whole.Or[uint64](10, 20) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					againstDefinition(t, rand.New(rand.NewPCG(seed, 5)), quotas(t, text))
				})
			})
		}
	}
}

func againstDefinition(t *testing.T, r *rand.Rand, qs quota.Quotas) {
	t.Helper()
	time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
	h := sendings{quotas: qs, start: time.Now()}
	l := &Limiter{Quotas: qs}
	h.slotLife = l.effectiveSlotLife(qs.Explicit())
	var stored quota.Quotas
	for _, q := range qs {
		stored = append(stored, plain(q))
	}
	memory := new(store.Memory)
	if r.IntN(3) == 0 {
		memory.Lose()
	}
	type got struct {
		slot  int64
		at    time.Duration
		cost  []int64
		spoil bool
	}
	var slots []got
	serial := make([]int64, 3)
	for range 150 {
		time.Sleep(time.Duration(r.ExpFloat64() * float64(30*time.Millisecond)))
		by := r.IntN(len(serial))
		serial[by]++
		q := &store.Request{
			Version: 1, Bucket: "b", Quotas: stored, SlotLife: h.slotLife, Horizon: horizon, Member: fmt.Sprint(by), Serial: serial[by],
			Hand: make([]int64, len(stored)),
		}
		now := time.Since(h.start)
		for i := range slots { // what is not sent comes back, before its time or after it
			s := &slots[i]
			if !s.spoil && r.IntN(8) == 0 && s.at > now-time.Second {
				s.spoil = true
				q.Back = append(q.Back, store.Part{Slot: s.slot, Cost: s.cost})
			}
		}
		for range 1 + r.IntN(3) {
			cost := make([]int64, len(stored))
			for i := range cost {
				cost[i] = r.Int64N(min(slot.Most(&stored[i]), 4) + 1)
			}
			if !slot.Empty(cost) {
				q.Asks = append(q.Asks, store.Ask{Cost: cost, Count: 1 + r.IntN(4), Within: time.Duration(r.IntN(2000)-500) * time.Millisecond})
			}
		}
		reply, err := memory.Exchange(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range reply.Slots {
			if a := q.Asks[s.Ask]; s.In < 0 || a.Within >= 0 && s.In > a.Within {
				t.Errorf("a slot in %v, for an ask within %v", s.In, a.Within)
			}
			for range s.Count {
				slots = append(slots, got{s.ID, now + s.In, q.Asks[s.Ask].Cost, r.IntN(10) == 0})
			}
		}
	}
	if len(slots) < 20 {
		t.Fatalf("%d slots", len(slots))
	}
	// The worst is what goes as late as it may, up to some instant, and on time from then on.
	for range 40 {
		turn := slots[r.IntN(len(slots))].at
		h.sends = nil
		for _, s := range slots {
			slotLife := time.Duration(r.Int64N(int64(h.slotLife)+1)) * time.Duration(r.IntN(2))
			if r.IntN(10) > 0 {
				if slotLife = 0; s.at < turn {
					slotLife = h.slotLife
				}
			}
			if !s.spoil {
				h.sends = append(h.sends, sent{at: s.at + slotLife, cost: s.cost})
			}
		}
		sort.SliceStable(h.sends, func(i, j int) bool { return h.sends[i].at < h.sends[j].at })
		h.check(t)
		if t.Failed() {
			return
		}
	}
}
