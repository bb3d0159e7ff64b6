package slot

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestLedgersOfAQuotaThatChangesToAndFro: a quota becomes another one and what it was, three times. Then each
// cost waits for as long as if nothing had happened, but for what time gave back.
func TestLedgersOfAQuotaThatChangesToAndFro(t *testing.T) {
	for _, test := range []struct {
		quota, other string
		back         int // how many tokens come back in ten seconds of the other quota
	}{
		{"60/m burst 4", "6000/m burst 4", 1000},
		{"60/m burst 4", "6/m burst 4", 1},
		{"6000/m burst 40", "60/m burst 4", 10},
		{"60/m burst 4", "60/m burst 40", 10},
		{"60/m burst 40", "60/m burst 4", 10},
		{"60/m burst 4", "12000/2m burst 4", 1000},
		{"60/m burst 4 debt", "6000/m burst 8 debt", 1000},
		{"60/m even", "6000/m even", 1000},
		{"6000/m even", "60/m even", 10},
		{"60/m log", "6000/m log", 0},
		{"60/m log", "6/m log", 0},
		{"60/m log", "60/h log", 0},
		{"60/m sliding", "6000/m sliding", 0},
		{"60/m window", "6/m window", 0},
		{"60/m window grid", "6000/m window grid", 0},
		{"60/m estimate", "6/m estimate", 0},
	} {
		q, other := quota.MustParse(test.quota).Explicit()[0], quota.MustParse(test.other).Explicit()[0]
		charged := func(at monotime.Time, n int) Ledger {
			l := New(q, 0, horizon, 0)
			for range n {
				l.Overdraw(at, 1)
			}
			return l
		}
		for _, span := range []time.Duration{0, 10 * time.Second} {
			for _, n := range []int64{1, 30, 90} {
				now := monotime.Time(1).Add(time.Hour)
				l, as := charged(now, int(n)), charged(now, int(n))
				for range 3 {
					l.Set(now, other, 0, horizon)
					now = now.Add(span)
					l.Set(now, q, 0, horizon)
				}
				if span > 0 && q.Kind == quota.TokenBucket {
					as = charged(now, int(max(n-3*int64(test.back), 0)))
				}
				for cost := 1; int64(cost) <= min(Most(&q), 4); cost++ {
					if got, want := l.When(now, int64(cost)).Sub(now), as.When(now, int64(cost)).Sub(now); got != want {
						t.Errorf("%s, %s for %v, %d charged: %d go in %v, want in %v", test.quota, test.other, span, n, cost, got, want)
					}
				}
			}
		}
	}
}

// change is an instant from which on so many tokens come back a second, and the burst is larger by more. It
// counts after what was handed out before.
type change struct {
	at         monotime.Time
	rate, more float64
}

// sent is a slot that was handed out after so many changes.
type sent struct {
	handed
	changes int
}

// missing is how many tokens of a bucket are missing before each slot, and how many at an instant after all of
// them, where the quota changes.
func missing(changes []change, slots []sent, end monotime.Time) (before []float64, left float64) {
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(slots[i].at, slots[j].at), cmp.Compare(slots[i].changes, slots[j].changes), cmp.Compare(slots[i].n, slots[j].n))
	})
	before = make([]float64, len(slots))
	now, k := monotime.Time(0), 0
	pass := func(to monotime.Time, made int) {
		for ; k+1 < len(changes) && (changes[k+1].at < to || changes[k+1].at == to && k+1 < made); k++ {
			left = max(left-changes[k+1].at.Sub(now).Seconds()*changes[k].rate, 0)
			left = max(left+changes[k+1].more, 0)
			now = changes[k+1].at
		}
		left = max(left-to.Sub(now).Seconds()*changes[k].rate, 0)
		now = to
	}
	for _, i := range order {
		pass(slots[i].at, slots[i].changes)
		before[i] = left
		left += float64(slots[i].n)
	}
	pass(max(end, now), math.MaxInt)
	return before, left
}

// lastNear is the last instant of what is near, and of what is remembered as one with a slot of the past.
func lastNear(b *Bucket, now monotime.Time) monotime.Time {
	last := max(now, b.lastNear)
	for _, f := range b.far {
		if f.first <= now {
			last = max(last, f.last)
		}
	}
	return last
}

// TestBucketWhoseQuotaChanges hands out slots at random instants, gives some back, and changes the rate, the
// burst or both: a plain bucket that changes behind the last near slot has as much in it, and no slot is too
// early, or makes another one earlier than it was.
func TestBucketWhoseQuotaChanges(t *testing.T) {
	const dust = 0.1 // tokens: each change rounds to a microsecond
	joins, gives := 0, 0
	for seed := range whole.Or[uint64](150, 400) * *times {
		r := rand.New(rand.NewPCG(seed, 81))
		numbers := []int64{2, 50, 100, 200, 400, 1000}
		q := tokenBucket(int(numbers[r.IntN(6)]), time.Second<<r.IntN(2), 1+r.IntN(30), r.IntN(3) == 0)
		b := New(q, 0, horizon, 0).(*Bucket)
		now := monotime.Time(1)
		rate := func() float64 { return float64(q.N) / q.Per.Seconds() }
		changes := []change{{0, rate(), 0}}
		var slots []sent
		joined, given := false, false
		for step := range 120 {
			if r.IntN(3) > 0 {
				now = now.Add(time.Duration(r.IntN(60_000)) * time.Microsecond >> r.IntN(6))
			}
			before, _ := missing(changes, slots, 0)
			i := -1
			if len(slots) > 0 {
				i = r.IntN(len(slots))
			}
			switch k := r.IntN(10); {
			case k < 2:
				if r.IntN(2) == 0 {
					q.N = numbers[r.IntN(6)]
				}
				burst := q.Burst
				if r.IntN(4) == 0 {
					q.Burst = int64(1 + r.IntN(30))
				}
				b.Set(now, q, 0, horizon)
				changes = append(changes, change{max(now, b.lastNear), rate(), float64(q.Burst - burst)})
				before = nil
			case k < 4 && i >= 0:
				n := 1 + r.IntN(slots[i].n)
				b.Give(now, slots[i].at, int64(n))
				if slots[i].n -= n; slots[i].n == 0 {
					slots = slices.Delete(slots, i, i+1)
				}
				given, before = true, nil
				gives++
			case k == 4:
				at := lastNear(b, now)
				n := 1 + r.IntN(8)
				b.Overdraw(now, int64(n))
				slots = append(slots, sent{handed{at, n}, len(changes)})
				before = nil
			default:
				from := now
				if r.IntN(3) == 0 {
					from = now.Add(time.Duration(r.Int64N(int64(3 * time.Second))).Truncate(time.Microsecond))
				}
				n := 1 + r.IntN(int(q.Burst))
				at := b.When(from, int64(n))
				b.Take(now, at, int64(n))
				slots = append(slots, sent{handed{at, n}, len(changes)})
				before = append(before, 0)
			}
			end := max(now, b.lastNear)
			for _, f := range b.far {
				if f.several {
					joined = true
					joins++
				}
				end = max(end, f.last)
			}
			after, want := missing(changes, slots, end)
			for i, m := range before {
				if was := max(m+float64(int64(slots[i].n)-q.Burst), 0); after[i]+float64(int64(slots[i].n)-q.Burst) > was+dust {
					t.Fatalf("seed %d step %d %+v: %+v finds %v missing, and found %v", seed, step, q, slots[i], after[i], m)
				}
			}
			full := b.full
			for _, f := range b.far {
				full = f.fullAfter(full)
			}
			got := max(full.Sub(end).Seconds(), 0) * rate()
			if got < want-dust || got > want+dust && !joined && !given {
				t.Fatalf("seed %d step %d %+v: %v tokens are missing, want %v", seed, step, q, got, want)
			}
		}
	}
	if joins == 0 || gives == 0 {
		t.Errorf("%d times far slots were remembered as one, and %d times some came back", joins, gives)
	}
}

// TestBucketAssumedUsedWhoseQuotaChanges: what is assumed to be used up to an instant is used up to then by
// each quota.
func TestBucketAssumedUsedWhoseQuotaChanges(t *testing.T) {
	now := monotime.Time(1).Add(time.Hour)
	b, used := New(tokenBucket(1, time.Second, 4, false), 0, horizon, 0), now.Add(horizon)
	b.Assume(used, monotime.Longest)
	for _, n := range []int64{100, 1, 1000, 1} {
		q := tokenBucket(int(n), time.Second, 4, false)
		b.Set(now, q, 0, horizon)
		for cost := 1; cost <= 4; cost++ {
			if got, want := b.When(used, int64(cost)), used.Add(time.Second*time.Duration(cost)/time.Duration(n)); got != want {
				t.Errorf("at %d/s %d go %v after what was used, want after %v", n, cost, got.Sub(used), want.Sub(used))
			}
		}
	}
}
