package redisquota_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/redisquota/goredis"
	"github.com/gopacer/pacer/throttle/store"
)

// sending is what was sent of a slot: somewhere from its instant on until SlotLife after it.
type sending struct {
	us int64
	n  int64
}

// TestStoreDefinition: whatever is sent of the slots, each quota holds by its definition, also
// where nothing divides evenly and numbers are large.
func TestStoreDefinition(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range []string{
		"7/s even", "7/s burst 3", "1000003/d burst 1000", "9007199/h burst 9007199", "70368744177664 tokens/d burst 70368744177664",
		"7/s log", "333/977ms window", "70368744177664 bytes/s log", "13/s sliding 7", "13/s window grid", "17/s estimate", "70368744177664 tokens/s estimate",
	} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				flushAll(t, c)
				plays(t, c, text, seed, func(now time.Time) { s.Mini.SetTime(now) })
			})
		}
	}
}

// TestStoreDefinitionOfEvictedLogs: logs hold also where their keys alone are evicted, again and again.
func TestStoreDefinitionOfEvictedLogs(t *testing.T) {
	s := mini(t)
	c := dial(t, s)
	for _, text := range []string{"7/s log", "60/2s log", "333/977ms window", "70368744177664 bytes/s log", "13/s sliding 7"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s seed %d", text, seed), func(t *testing.T) {
				flushAll(t, c)
				r, evicted := rand.New(rand.NewPCG(seed, 4)), 0
				plays(t, c, text, seed, func(now time.Time) {
					s.Mini.SetTime(now)
					if r.IntN(4) == 0 && s.Mini.Del("{pacer:api}:log1") {
						evicted++
					}
				})
				if evicted < 5 {
					t.Errorf("%d keys were evicted, want 5 at least", evicted)
				}
			})
		}
	}
}

// plays checks what is sent by a quota.
func plays(t *testing.T, c redis.UniversalClient, text string, seed uint64, clock func(time.Time)) {
	t.Helper()
	m := &member{t: t, store: goredis.New(c), quotas: parse(t, text), name: "a"}
	sends := play(m, rand.New(rand.NewPCG(seed, 3)), clock)
	if len(sends) < 5 {
		t.Errorf("%d sendings, want 5 at least", len(sends))
	}
	checkDefinition(t, &m.quotas[0], sends)
}

// slotLife is that of member.request.
const slotLife = 20 * time.Millisecond

func play(m *member, r *rand.Rand, clock func(time.Time)) (sends []sending) {
	m.t.Helper()
	q := &m.quotas[0]
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(r.Int64N(1e9)) * time.Microsecond)
	limit := q.N
	if q.Kind == quota.TokenBucket {
		limit = q.Burst
	}
	var has []store.Part
	clock(now)
	m.ask(1, 0) // a new bucket is a drained one
	now = now.Add(2 * q.Per)
	for range 80 {
		now = now.Add(time.Duration(r.Int64N(int64(min(q.Per, 2*time.Second)/8)/1000)) * time.Microsecond)
		clock(now)
		req := m.request(1, 0)
		for range r.IntN(4) {
			cost := 1 + r.IntN(int(1+limit/50))
			if r.IntN(8) == 0 {
				cost = 1 + r.IntN(int(limit))
			}
			req.Asks = append(req.Asks, store.Ask{Cost: []int64{int64(cost)}, Count: 1 + r.IntN(3), Within: time.Duration(r.IntN(3)) * time.Second})
		}
		for len(has) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(has))
			part := 1 + r.IntN(int(has[i].Cost[0]))
			req.Back = append(req.Back, store.Part{Slot: has[i].Slot, Cost: []int64{int64(part)}})
			if has[i].Cost[0] -= int64(part); has[i].Cost[0] == 0 {
				has = slices.Delete(has, i, i+1)
			}
		}
		for _, slot := range m.send(req).Slots {
			has = append(has, store.Part{Slot: slot.ID, Cost: []int64{req.Asks[slot.Ask].Cost[0] * int64(slot.Count)}})
		}
	}
	for _, p := range has {
		delay := []int64{0, slotLife.Microseconds(), r.Int64N(slotLife.Microseconds() + 1)}[r.IntN(3)]
		sends = append(sends, sending{p.Slot + delay, p.Cost[0]})
	}
	slices.SortFunc(sends, func(a, b sending) int { return int(a.us - b.us) })
	return sends
}

func checkDefinition(t *testing.T, q *quota.Quota, sends []sending) {
	t.Helper()
	n, per := q.N, q.Per.Microseconds()
	switch q.Kind {
	case quota.TokenBucket:
		checkBucket(t, q, sends)
	case quota.ClockWindow:
		in := map[int64]int64{}
		for _, s := range sends {
			if in[s.us/per] += s.n; in[s.us/per] > n {
				t.Errorf("%d in the window of %d", in[s.us/per], s.us)
			}
		}
	case quota.EstimatedWindow:
		in := map[int64]int64{}
		for _, s := range sends {
			window := s.us / per
			in[window] += s.n
			// cur + prev·(1−u) < N + 1/2
			left := new(big.Int).Mul(big.NewInt(2*in[window-1]), big.NewInt(per-s.us%per))
			room := new(big.Int).Mul(big.NewInt(2*(n-in[window])+1), big.NewInt(per))
			if left.Cmp(room) >= 0 {
				t.Errorf("the estimate is above %d at %d", n, s.us)
			}
		}
	default:
		for i := range sends {
			sum := int64(0)
			for _, s := range sends[i:] {
				if s.us >= sends[i].us+per {
					break
				}
				sum += s.n
			}
			if sum > n {
				t.Errorf("%d in %v from %d on", sum, q.Per, sends[i].us)
			}
		}
	}
}

// checkBucket: Burst + t·N/Per; if Burst is too small for SlotLife, 1 + (t + SlotLife)·N/Per, at a rate that is
// lower.
func checkBucket(t *testing.T, q *quota.Quota, sends []sending) {
	t.Helper()
	rate, burst := float64(q.N)/float64(q.Per), float64(q.Burst)
	slack := 0.0
	if burst < 1+rate*float64(slotLife) {
		longer := float64(max(q.Per, time.Second))
		rate *= longer / (longer + float64(slotLife))
		burst, slack = 1, float64(slotLife)
	}
	for i := range sends {
		sum := int64(0)
		for _, s := range sends[i:] {
			sum += s.n
			span := float64(s.us-sends[i].us) * 1000
			if most := burst + (span+slack)*rate; float64(sum) > math.Nextafter(most+1e-6, math.Inf(1))*(1+1e-12) {
				t.Fatalf("%d in %v from %d on, want at most %v", sum, time.Duration(span), sends[i].us, most)
			}
		}
	}
}
