package throttle

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// ledger is the arithmetic of one quota in a store: a limit for instants that are still to
// come. Its methods are those of limit; slots take the place of what went.
type ledger interface {
	// when returns the earliest instant, not before t, for a slot of n.
	when(t instant, n int) instant
	take(slot instant, n int)
	give(now, slot instant, n int)
	// set changes the numbers of the quota.
	set(q Quota, late time.Duration)
	// drain makes it one that was used evenly up to t.
	drain(t instant)
}

// newLedger returns that of q, new.
func newLedger(q Quota, late time.Duration, wall int64) ledger {
	var l ledger
	switch q.Kind {
	case TokenBucket:
		l = &slotBucket{}
	case ClockWindow, EstimatedWindow:
		l = &slotGrid{limit: newWindow(q, wall), wall: wall}
	default:
		l = &slotWindow{}
	}
	l.set(q, late)
	return l
}

// alikeLedger reports whether two quotas can have the same ledger, one after the other.
func alikeLedger(p, q *Quota) bool {
	return p.Kind == q.Kind && p.unit() == q.unit() && (!p.onClock() || p.per() == q.per())
}

// slotBucket is a TokenBucket.
type slotBucket struct {
	quota     Quota
	per       time.Duration // in which N come back
	tolerance time.Duration // τ
	full      instant
	peaks     []slotPeak
}

// slotPeak is what was missing from a full bucket, as the time in which it comes
// back, right before a slot was taken; see peak.
type slotPeak struct {
	at      instant
	missing time.Duration
}

func (b *slotBucket) set(q Quota, late time.Duration) {
	b.quota, b.per = q, q.per()
	b.tolerance = b.work(q.burst()) - late
	if b.tolerance < b.work(1) {
		b.per += scale(q.per(), int64(late), int64(max(q.per(), time.Second)))
		b.tolerance = b.work(1)
	}
}

// work returns how long n take to come back.
func (b *slotBucket) work(n int) time.Duration { return scale(b.per, cost(n), int64(b.quota.N)) }

func (b *slotBucket) when(t instant, n int) instant {
	if b.quota.Debt {
		n = min(n, b.quota.burst())
	}
	return max(t, b.full.add(b.work(n)-b.tolerance))
}

func (b *slotBucket) take(slot instant, n int) {
	missing := max(b.full.sub(slot), 0)
	i := len(b.peaks)
	for i > 0 && b.peaks[i-1].missing >= missing {
		i--
	}
	if b.peaks = append(b.peaks[:i], slotPeak{slot, missing}); len(b.peaks) > maxPeaks {
		b.merge()
	}
	b.full = max(b.full, slot).add(b.work(n))
}

// merge makes one of the two peaks that differ least for their size, by which rather too
// little comes back.
func (b *slotBucket) merge() {
	least, ratio := 0, math.Inf(1)
	for i := range b.peaks[:len(b.peaks)-1] {
		if r := float64(b.peaks[i+1].missing) / float64(max(b.peaks[i].missing, 1)); r < ratio {
			least, ratio = i, r
		}
	}
	b.peaks[least+1].missing = b.peaks[least].missing
	b.peaks = slices.Delete(b.peaks, least, least+1)
}

func (b *slotBucket) give(now, slot instant, n int) {
	d, first := min(b.work(n), b.full.sub(now)), len(b.peaks)
	for first > 0 && b.peaks[first-1].at > slot {
		first--
	}
	if first < len(b.peaks) {
		d = min(d, b.peaks[first].missing)
	}
	if d <= 0 {
		return
	}
	b.full = b.full.add(-d)
	kept := b.peaks[:0]
	for i, p := range b.peaks {
		if i >= first {
			p.missing -= d
			for len(kept) > 0 && kept[len(kept)-1].missing >= p.missing {
				kept = kept[:len(kept)-1]
			}
		}
		kept = append(kept, p)
	}
	b.peaks = kept
}

func (b *slotBucket) drain(t instant) { b.full = t.add(b.tolerance) }

// slotWindow is a window of what went in the last Per and Late.
type slotWindow struct {
	log   sliding
	quota Quota
}

func (w *slotWindow) set(q Quota, late time.Duration) {
	w.quota = q
	w.log.n, w.log.per, w.log.cell = int64(q.N), q.per()+late, late
	if q.Kind == SlidingWindow {
		w.log.cell = q.per() / time.Duration(q.cells())
	}
}

func (w *slotWindow) when(t instant, n int) instant {
	at, _ := w.log.when(t, 0, n)
	return at
}

func (w *slotWindow) take(slot instant, n int)      { w.log.take(slot, slot, n) }
func (w *slotWindow) give(now, slot instant, n int) { w.log.give(now, slot, n) }

func (w *slotWindow) drain(t instant) {
	const parts = 10
	n := int64(w.quota.N)
	for k := int64(1); k <= parts; k++ {
		if number := n * k / parts; number > w.log.number() {
			at := t.add(-w.log.per).add(w.quota.per() * time.Duration(k) / parts)
			w.log.entries = append(w.log.entries, entry{at, at, number})
		}
	}
}

// slotGrid is a window of the clock, in the last Late of which there are no slots.
type slotGrid struct {
	limit

	wall      int64
	per, late time.Duration
	quota     Quota
}

func (g *slotGrid) set(q Quota, late time.Duration) {
	g.quota, g.per, g.late = q, q.per(), late
	switch w := g.limit.(type) {
	case *fixed:
		w.n = int64(q.N)
	case *estimated:
		w.n = int64(q.N)
	}
}

func (g *slotGrid) when(t instant, n int) instant {
	for {
		t, _ = g.limit.when(t, 0, n)
		end := tick(t, g.per, g.wall).add(g.per)
		if t.add(g.late) < end {
			return t
		}
		t = end
	}
}

func (g *slotGrid) take(slot instant, n int)      { g.limit.take(slot, slot, n) }
func (g *slotGrid) give(now, slot instant, n int) { g.limit.give(now, slot, n) }

func (g *slotGrid) drain(t instant) {
	start := tick(t, g.per, g.wall)
	n := int64(g.quota.N)
	used := int64(scale(time.Duration(n), int64(t.sub(start)), int64(g.per)))
	switch w := g.limit.(type) {
	case *fixed:
		w.start, w.used, w.last = start, used, t
	case *estimated:
		w.start, w.current, w.previous, w.last = start, used, n, t
	}
}

// scale returns d·a/b rounded up, at most ages; b is positive, a not negative.
func scale(d time.Duration, a, b int64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(a))
	if hi >= uint64(b) {
		return ages
	}
	q, r := bits.Div64(hi, lo, uint64(b))
	if r > 0 {
		q++
	}
	return time.Duration(min(q, uint64(ages)))
}
