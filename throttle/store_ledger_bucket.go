package throttle

import (
	"math"
	"slices"
	"sort"
	"time"
)

// slotBucket is a TokenBucket.
type slotBucket struct {
	quota     Quota
	per       time.Duration // in which N come back
	tolerance time.Duration // τ
	soon      time.Duration

	full  instant // when it is full again, but for slots in far
	order instant // the last slot that is not in far: no later one is before
	peaks []slotPeak
	far   []slotFar // slots that are not soon, in their order
}

// slotFar is a slot before which there may be others.
type slotFar struct {
	at instant
	n  int
}

// mostFar bounds how many are remembered.
const mostFar = 64

// slotPeak is what was missing from a full bucket, as the time in which it comes
// back, right before a slot was taken. Had an earlier slot not been, so much more would
// have been there at most: of what comes back of it, the rest would have spilled over.
// Only those matter after which none was smaller.
type slotPeak struct {
	at      instant
	missing time.Duration
}

func (b *slotBucket) set(q Quota, late, horizon time.Duration) {
	b.quota, b.per, b.soon = q, q.per(), 2*horizon
	b.tolerance = b.work(q.burst()) - late
	if b.tolerance < b.work(1) {
		b.per += scale(q.per(), int64(late), int64(max(q.per(), time.Second)))
		b.tolerance = b.work(1)
	}
}

// work returns how long n take to come back.
func (b *slotBucket) work(n int) time.Duration { return scale(b.per, cost(n), int64(b.quota.N)) }

// ahead is how long before the bucket is full n may go.
func (b *slotBucket) ahead(n int) time.Duration {
	if b.quota.Debt {
		n = min(n, b.quota.burst())
	}
	return b.tolerance - b.work(n)
}

func (b *slotBucket) when(t instant, n int) instant {
	full, order := b.full, b.order
	for k := 0; ; k++ {
		s := max(t, order, full.add(-b.ahead(n)))
		if k == len(b.far) {
			return s
		}
		if f := b.far[k]; s <= f.at && b.bears(max(full, s).add(b.work(n)), k) {
			return s
		}
		order = b.far[k].at
		full = max(full, order).add(b.work(b.far[k].n))
	}
}

// bears reports whether the slots in far from the k-th on remain right if the bucket is full again at full,
// before them.
func (b *slotBucket) bears(full instant, k int) bool {
	for _, f := range b.far[k:] {
		if f.at < full.add(-b.ahead(f.n)) {
			return false
		}
		full = max(full, f.at).add(b.work(f.n))
	}
	return true
}

func (b *slotBucket) take(now, slot instant, n int) {
	if slot.sub(now) > b.soon && len(b.far) < mostFar {
		i := sort.Search(len(b.far), func(i int) bool { return b.far[i].at > slot })
		b.far = slices.Insert(b.far, i, slotFar{slot, n})
		return
	}
	b.settle(slot)
	b.charge(slot, n)
	b.settle(now.add(b.soon))
}

// settle has the slots in far up to t be in order.
func (b *slotBucket) settle(t instant) {
	n := 0
	for ; n < len(b.far) && b.far[n].at <= t; n++ {
		b.charge(b.far[n].at, b.far[n].n)
	}
	b.far = slices.Delete(b.far, 0, n)
}

func (b *slotBucket) charge(slot instant, n int) {
	missing := max(b.full.sub(slot), 0)
	i := len(b.peaks)
	for i > 0 && b.peaks[i-1].missing >= missing {
		i--
	}
	if b.peaks = append(b.peaks[:i], slotPeak{slot, missing}); len(b.peaks) > maxPeaks {
		b.merge()
	}
	b.full, b.order = max(b.full, slot).add(b.work(n)), max(b.order, slot)
}

func (b *slotBucket) owe(now instant, n int) { b.charge(max(now, b.order), n) }

func (b *slotBucket) give(now, slot instant, n int) {
	for i := range b.far {
		if f := &b.far[i]; f.at == slot {
			part := min(n, f.n)
			f.n, n = f.n-part, n-part
		}
	}
	b.far = slices.DeleteFunc(b.far, func(f slotFar) bool { return f.n == 0 })
	if n == 0 {
		return
	}
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
