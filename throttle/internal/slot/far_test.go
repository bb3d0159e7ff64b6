package slot

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// tokenBucket is a quota of n in a Per.
func tokenBucket(n int, per time.Duration, burst int, debt bool) quota.Quota {
	return quota.Quota{N: int64(n), Per: per, Burst: int64(burst), Debt: debt, Kind: quota.TokenBucket}
}

// early is by how much each slot is before it may be, by a plain bucket with the numbers of b that is full at
// an instant.
func early(b *Bucket, full monotime.Time, slots []handed) []time.Duration {
	order, by := make([]int, len(slots)), make([]time.Duration, len(slots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(slots[i].at, slots[j].at), cmp.Compare(slots[i].n, slots[j].n))
	})
	for _, i := range order {
		s := slots[i]
		by[i] = full.Sub(s.at) - b.ahead(int64(s.n))
		full = max(full, s.at).Add(b.Work(int64(s.n)))
	}
	return by
}

// tooEarly is by how much the worst slot is.
func tooEarly(b *Bucket, full monotime.Time, slots []handed) time.Duration {
	return max(slices.Max(append(early(b, full, slots), 0)), 0)
}

// TestFarSlotsAgainstPlainBucket hands out near and far slots, some of which come back, with debts: none is too
// early by a plain bucket, though far ones are remembered as one.
func TestFarSlotsAgainstPlainBucket(t *testing.T) {
	severals := 0
	for seed := range whole.Or[uint64](12, 30) {
		r := rand.New(rand.NewPCG(seed, 77))
		q := tokenBucket(1+r.IntN(200), time.Duration(1+r.IntN(3))*time.Second, 1+r.IntN(30), r.IntN(2) == 0)
		b := New(q, slotLife, horizon, 0).(*Bucket)
		now := monotime.Time(1)
		var slots []handed
		for step := range 300 {
			if r.IntN(3) == 0 {
				now = now.Add(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
			}
			most := q.Burst
			if q.Debt {
				most *= 3
			}
			n := 1 + r.IntN(int(most))
			i := -1
			if len(slots) > 0 {
				i = r.IntN(len(slots))
			}
			if r.IntN(4) == 0 && i >= 0 && (slots[i].at < now || slots[i].at.Sub(now) > Near(horizon) && !b.Passed(now, slots[i].at)) {
				part := 1 + r.IntN(slots[i].n)
				b.Give(now, slots[i].at, int64(part))
				if slots[i].n -= part; slots[i].n == 0 {
					slots = slices.Delete(slots, i, i+1)
				}
			} else {
				from := now
				if r.IntN(2) == 0 {
					from = now.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
				}
				at := b.When(from, int64(n))
				b.Take(now, at, int64(n))
				slots = append(slots, handed{at, n})
			}
			for _, f := range b.far {
				if f.several {
					severals++
				}
			}
			if r.IntN(5) == 0 {
				b = reread(t, b, q, 0).(*Bucket)
			}
			if e := tooEarly(b, 0, slots); e > time.Microsecond {
				t.Fatalf("seed %d step %d %+v: %v too early", seed, step, q, e)
			}
		}
	}
	if severals == 0 {
		t.Error("no far slots were remembered as one")
	}
}

// TestFarSlotsAtALowerRate: far slots are remembered as one; then the quota becomes slower. What is handed out
// before them does not make them worse than they are.
func TestFarSlotsAtALowerRate(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 78))
		q := tokenBucket(1000+r.IntN(3000), time.Second, 60+r.IntN(300), r.IntN(2) == 0)
		b := New(q, slotLife, horizon, 0).(*Bucket)
		now := monotime.Time(1)
		var slots []handed
		for range mostFar + 1 {
			n := 1 + r.IntN(2)
			at := b.When(now.Add(10*time.Second), int64(n))
			b.Take(now, at, int64(n))
			slots = append(slots, handed{at, n})
		}
		q.N /= 10
		b.Set(now, q, slotLife, horizon)
		before := tooEarly(b, 0, slots)
		for range 30 {
			n := 1 + r.IntN(int(q.Burst))
			at := b.When(now, int64(n))
			b.Take(now, at, int64(n))
			slots = append(slots, handed{at, n})
			if e := tooEarly(b, 0, slots); e > before+time.Millisecond {
				t.Fatalf("seed %d: %d at %v makes the slots %v worse (%v to %v), T=%v", seed, n, at, e-before, before, e, b.Work(1))
			}
		}
	}
}

// TestFarSlotsThatMembersTellOf: whatever members tell of slots to come, the peaks stay in order, and so do the
// far slots.
func TestFarSlotsThatMembersTellOf(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 80))
		q := tokenBucket(1+r.IntN(200), time.Second, 1+r.IntN(30), r.IntN(2) == 0)
		b := New(q, slotLife, horizon, 0).(*Bucket)
		now := monotime.Time(1)
		for range 200 {
			now = now.Add(time.Duration(r.Int64N(int64(30 * time.Millisecond))))
			n := 1 + r.IntN(int(q.Burst))
			switch r.IntN(6) {
			case 0:
				b.Own(now, now.Add(time.Duration(r.Int64N(int64(4*time.Second)))-time.Second), 0, int64(n))
			case 1:
				b.Overdraw(now, int64(n))
			case 2:
				if r.IntN(10) == 0 {
					b.Release(now, 0)
				}
			case 3:
				q.N, q.Burst = int64(1+r.IntN(200)), int64(1+r.IntN(30))
				b.Set(now, q, slotLife, horizon)
			default:
				at := b.When(now.Add(time.Duration(r.Int64N(int64(5*time.Second)))), int64(n))
				b.Take(now, at, int64(n))
				if len(b.far) > mostFar {
					t.Fatalf("seed %d: %d far slots", seed, len(b.far))
				}
				if r.IntN(3) == 0 {
					b.Give(now, at, int64(n))
				}
			}
			for i, f := range b.far {
				if f.first > f.last || f.at < f.first || f.bears > f.first || i > 0 && f.first < b.far[i-1].last || f.n < 1 || f.work < b.Work(f.n) {
					t.Fatalf("seed %d: %+v", seed, b.far)
				}
			}
			last := monotime.Time(0)
			for at := range b.peaks.All() {
				if at < last {
					t.Fatalf("seed %d: peaks are not in order", seed)
				}
				last = at
			}
			if s := b.When(now, 1); s < now {
				t.Fatalf("seed %d: at %v, before %v", seed, s, now)
			}
		}
		end := max(now, b.Debt()).Add(2*time.Hour + b.Work(q.Burst)*2)
		if s := b.When(end, q.Burst); s.Sub(end) > 2*slotLife+b.Work(1) {
			t.Fatalf("seed %d: after all has come back, %d go in %v", seed, q.Burst, s.Sub(end))
		}
	}
}

// TestFarSlotsThatAreHostile: what Restore has accepted can be written and read again after any use.
func TestFarSlotsThatAreHostile(t *testing.T) {
	const l = monotime.Longest
	q := tokenBucket(3, time.Second, 5, false)
	app := func(to []byte, vs ...int64) []byte {
		for _, v := range vs {
			to = varint.Append(to, v)
		}
		return to
	}
	to := app(nil, 0, 0, 0, 0, 32) // assumed, full, lastNear, peaks, far
	for i := range int64(32) {
		first := int64(10*time.Second) + i*int64(40*time.Hour)<<min(i, 8)
		to = varint.AppendBool(app(to, first, 0, 1), true)
		to = app(to, first, int64(l), -2*int64(l))
	}
	b := New(q, slotLife, horizon, 0).(*Bucket)
	r := varint.NewReader(to)
	if b.Restore(r); r.Err() != nil || !r.Empty() {
		t.Fatal(r.Err(), r.Empty())
	}
	now := monotime.Time(1)
	for i := range 40 {
		at := b.When(now, 1)
		if at < now {
			t.Fatalf("%d: at %d", i, at)
		}
		b.Take(now, at, 1)
		b.Take(now, now.Add(11*time.Second+time.Duration(i)*30*time.Hour<<min(i, 8)), 1)
		for _, f := range b.far {
			if f.bears > f.first {
				t.Fatalf("%d: bears %d first %d", i, f.bears, f.first)
			}
		}
		r := varint.NewReader(b.Append(nil))
		read := New(q, slotLife, horizon, 0)
		if read.Restore(r); r.Err() != nil {
			t.Fatalf("%d: %v", i, r.Err())
		}
	}
}

// TestFarSlotsWhoseQuotaChanges: far slots with debts are remembered as one; then the burst, the rate or both
// change, some times. What is handed out before them does not make them worse than they are.
func TestFarSlotsWhoseQuotaChanges(t *testing.T) {
	severals := 0
	for seed := range whole.Or[uint64](40, 100) * *times {
		r := rand.New(rand.NewPCG(seed, 79))
		q := tokenBucket(100+r.IntN(3000), time.Second, 20+r.IntN(100), r.IntN(4) > 0)
		b := New(q, slotLife, horizon, 0).(*Bucket)
		now := monotime.Time(1)
		var slots []handed
		hand := func(from monotime.Time, most int) {
			n := 1 + r.IntN(most)
			if !q.Debt {
				n = min(n, int(q.Burst))
			}
			at := b.When(from, int64(n))
			b.Take(now, at, int64(n))
			slots = append(slots, handed{at, n})
		}
		for range 6 {
			for range mostFar {
				hand(now.Add(5*time.Second+time.Duration(r.Int64N(int64(3*time.Second)))), 1+r.IntN(int(3*q.Burst)))
			}
			if r.IntN(2) == 0 {
				q.Burst = max(20, q.Burst*(1+int64(r.IntN(12)))/4)
			}
			if r.IntN(4) > 0 {
				q.N = max(50, q.N*(1+int64(r.IntN(8)))/4)
			}
			q.Debt = r.IntN(4) > 0
			b.Set(now, q, slotLife, horizon)
			for _, f := range b.far {
				if f.several {
					severals++
				}
			}
			full := b.full // of what is near, at the rate of then
			slots = slices.DeleteFunc(slots, func(s handed) bool { return s.at <= b.lastNear })
			before := early(b, full, slots)
			for range 30 {
				hand(now, 1+r.IntN(int(q.Burst)))
				for i, e := range early(b, full, slots) {
					if i == len(before) {
						before = append(before, 0)
					}
					if e > max(before[i], 0)+time.Microsecond {
						t.Fatalf("seed %d %+v: with %+v, %+v is %v too early, and was %v", seed, q, slots[len(slots)-1], slots[i], e, before[i])
					}
				}
			}
			now = now.Add(time.Duration(r.Int64N(int64(time.Second))))
		}
	}
	if severals == 0 {
		t.Error("no far slots were remembered as one")
	}
}
