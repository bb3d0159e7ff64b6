package throttle

import (
	"math"
	"slices"
	"time"
)

// slotBucket is a TokenBucket.
type slotBucket struct {
	quota     Quota
	per       time.Duration // in which N come back
	tolerance time.Duration // τ

	slotBusy          // since it was full last, before the last slot
	early    slotBusy // what was before that
	until    instant  // the first slot after early; the bucket is full again by then
}

// slotBusy is a time in which a bucket is not full.
type slotBusy struct {
	full  instant // its end
	peaks []slotPeak
}

// slotPeak is what was missing from a full bucket, as the time in which it comes
// back, right before a slot was taken. Had an earlier slot not been, so much more would
// have been there at most: of what comes back of it, the rest would have spilled over.
// Only those matter after which none was smaller.
type slotPeak struct {
	at      instant
	missing time.Duration
}

func (b *slotBucket) set(q Quota, late, _ time.Duration) {
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
	d := b.work(n) // after which it may be full again
	ahead := d
	if b.quota.Debt {
		ahead = b.work(min(n, b.quota.burst()))
	}
	if t < b.until {
		s := max(t, b.early.last(), b.early.full.add(ahead-b.tolerance))
		if max(b.early.full, s).add(d) <= b.until {
			return s
		}
	}
	return max(t, b.last(), b.full.add(ahead-b.tolerance))
}

func (b *slotBucket) take(now, slot instant, n int) {
	if slot < b.until {
		b.early.take(slot, b.work(n))
		return
	}
	if slot > max(now, b.full) && b.until <= now {
		b.early, b.until, b.slotBusy = b.slotBusy, slot, slotBusy{}
	}
	b.slotBusy.take(slot, b.work(n))
}

func (b *slotBucket) owe(now instant, n int) {
	d := b.work(n)
	if now < b.until {
		b.early.take(max(now, b.early.last()), d)
		d = max(b.early.full.sub(b.until), 0)
		b.early.full = b.early.full.add(-d)
		b.full = b.full.add(d) // peaks are too small now, by which too little comes back
		return
	}
	b.slotBusy.take(max(now, b.last()), d)
}

func (b *slotBucket) give(now, slot instant, n int) {
	if slot < b.until {
		b.early.give(now, slot, b.work(n))
		return
	}
	b.slotBusy.give(now, slot, b.work(n))
}

func (b *slotBucket) drain(t instant) { b.full = t.add(b.tolerance) }

// last is the last slot; zero if there was none.
func (b *slotBusy) last() instant {
	if n := len(b.peaks); n > 0 {
		return b.peaks[n-1].at
	}
	return 0
}

func (b *slotBusy) take(slot instant, work time.Duration) {
	missing := max(b.full.sub(slot), 0)
	i := len(b.peaks)
	for i > 0 && b.peaks[i-1].missing >= missing {
		i--
	}
	if b.peaks = append(b.peaks[:i], slotPeak{slot, missing}); len(b.peaks) > maxPeaks {
		b.merge()
	}
	b.full = max(b.full, slot).add(work)
}

// merge makes one of the two peaks that differ least for their size, by which rather too
// little comes back.
func (b *slotBusy) merge() {
	least, ratio := 0, math.Inf(1)
	for i := range b.peaks[:len(b.peaks)-1] {
		if r := float64(b.peaks[i+1].missing) / float64(max(b.peaks[i].missing, 1)); r < ratio {
			least, ratio = i, r
		}
	}
	b.peaks[least+1].missing = b.peaks[least].missing
	b.peaks = slices.Delete(b.peaks, least, least+1)
}

func (b *slotBusy) give(now, slot instant, work time.Duration) {
	d, first := min(work, b.full.sub(now)), len(b.peaks)
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
