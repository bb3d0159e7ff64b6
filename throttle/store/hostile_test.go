package store

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// hostile makes requests that no Limiter sends.
type hostile struct {
	*rand.Rand
	ids []int64 // of slots
}

func (h *hostile) number() int64 {
	huge := []int64{math.MaxInt64, math.MinInt64, -1, 0, 1, quota.MaxN, quota.MaxN + 1, 1 << 62, 3, 1e9, 5e17}
	if h.IntN(3) == 0 {
		return huge[h.IntN(len(huge))]
	}
	return h.Int64N(12)
}

func (h *hostile) span() time.Duration {
	if h.IntN(4) == 0 {
		return time.Duration(h.number())
	}
	return time.Duration(h.Int64N(3e9) - 1e9)
}

// cost is of so many quotas, or of one less.
func (h *hostile) cost(quotas int) []int64 {
	c := make([]int64, quotas-h.IntN(10)/9)
	for i := range c {
		c[i] = h.number()
	}
	return c
}

func (h *hostile) often(n int) bool { return h.IntN(n) == 0 }

// request is of the quotas, in the life of a bucket.
func (h *hostile) request(qs quota.Quotas, life int64) *Request {
	n := len(qs)
	r := request(qs, h.Int64N(30))
	r.Member, r.SlotLife = string(rune('a'+h.IntN(4))), time.Duration(h.IntN(40))*time.Millisecond
	r.Answered = max(h.Int64N(r.Serial+1)-1, 0)
	if h.often(20) {
		r.Horizon = monotime.Longest
	}
	if h.often(2) {
		r.Life = life
	}
	r.Look, r.Leave, r.Release, r.Outage, r.GoesOn, r.Fresh = h.often(9), h.often(9), h.often(9), h.often(5), h.often(2), h.often(2)
	r.Ahead, r.Since, r.Standstill, r.Sharing = h.span(), h.span(), h.span(), int(h.number())
	if h.often(9) {
		r.Hold = h.span()
	}
	r.Hand, r.More = h.cost(n), h.cost(n)
	for range h.IntN(3) {
		r.Back = append(r.Back, Part{h.ids[h.IntN(len(h.ids))] + h.Int64N(2), h.cost(n)}, Part{h.number(), h.cost(n)})
	}
	for range h.IntN(4) + h.IntN(30)/29*600 {
		r.Own = append(r.Own, Own{h.span(), h.cost(n)})
	}
	for range h.IntN(3) {
		r.Asks = append(r.Asks, Ask{h.cost(n), h.IntN(30), h.span()})
	}
	for range h.IntN(2) {
		r.Statements = append(r.Statements, quota.Statement{Limit: h.number(), Remaining: h.number(), Reset: h.span(), Window: h.span(), Skew: h.span(), Resolution: h.span(), ResetKnown: h.often(2)})
	}
	return r
}

// TestHostileMembers: whatever members say, a Ledger can be written and read again, and does not grow. One that
// cannot be read is lost for all.
func TestHostileMembers(t *testing.T) {
	lists := []quota.Quotas{
		quota.MustParse("10/s burst 5, 10/m log, 9/s window grid, 20/s estimate, 30/2s sliding 4").Explicit(),
		quota.MustParse("7/s burst 5 debt, 10/m log, 11/s estimate").Explicit(), quota.MustParse("5/s estimate, 1/h burst 3").Explicit(),
	}
	for seed := range 100 * *times {
		h := &hostile{rand.New(rand.NewPCG(seed, 9)), []int64{1}}
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		l.Lose()
		now := time.Second
		for step := range 80 {
			now += time.Duration(h.Int64N(2e9) >> h.IntN(20))
			r := h.request(lists[h.IntN(len(lists))], int64(l.born))
			for _, s := range exchange(t, l, now, r).Slots {
				h.ids = append(h.ids, s.ID)
			}
			b, _ := l.MarshalBinary()
			if err := new(Ledger).UnmarshalBinary(b); err != nil || len(b) > 100_000 {
				t.Fatalf("seed %d, step %d: %+v: %d bytes, %v", seed, step, r, len(b), err)
			}
		}
	}
}

// TestHostileSums: however much a member says that went, no sum overflows: nobody else gets what is not there
// any more, and the Ledger can be written and read again.
func TestHostileSums(t *testing.T) {
	for _, text := range []string{"10/m log", "10/m window", "10/m sliding", "9/m window grid", "20/m estimate", "5/m burst 5", "5/m burst 5 debt"} {
		l := &Ledger{Epoch: time.Unix(1e9, 0)}
		now := 10 * time.Minute
		r := request(quota.MustParse(text).Explicit(), 1)
		r.Member = "hostile"
		exchange(t, l, now, r)
		r.Serial++
		for range 10_000 {
			r.Own = append(r.Own, Own{-time.Second, []int64{math.MaxInt64}}, Own{0, []int64{math.MaxInt64}})
		}
		exchange(t, l, now, r)
		for range 3 {
			r.Serial++
			r.Own, r.More = nil, []int64{math.MaxInt64}
			exchange(t, l, now, r)
			l = again(t, l)
			other := request(r.Quotas, r.Serial)
			other.Asks = []Ask{{Cost: []int64{1}, Count: 1, Within: time.Second}}
			if reply := exchange(t, l, now, other); len(reply.Slots) > 0 {
				t.Errorf("%s: another got %+v", text, reply.Slots)
			}
			l = again(t, l)
		}
	}
}
