package slot

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// Bucket is the ledger of a quota.TokenBucket. With T = Per/N and τ = Burst·T − late, a slot
// of n may be at s ≥ full + n·T − τ, and then the bucket is full again n·T after the later of
// full and s.
type Bucket struct {
	quota     quota.Quota
	per       time.Duration // in which N come back: Per, or longer
	tolerance time.Duration // τ
	near      time.Duration // slots no farther ahead are handed out in their order
	veryFar   time.Duration // of slots that are farther ahead, more are remembered

	assumed  monotime.Time // the bucket was assumed to be empty then
	full     monotime.Time // when the bucket is full again, as far as near slots have emptied it
	lastNear monotime.Time // the last near slot: no slot that is handed out later is before
	peaks    limit.Peaks[time.Duration]
	far      []farSlot // the other slots, in their order
}

// farSlot is a slot before which there may be others.
type farSlot struct {
	at monotime.Time
	n  int
}

// mostFar bounds how many far slots are remembered. Of those that are not very far there are many where a quota is fast, and what
// comes back is of use at once: where few are large, it is not.
const mostFar, mostAhead = 64, 16

// Set implements Ledger. Where the burst is too small for being late, T is longer.
func (b *Bucket) Set(q quota.Quota, late, horizon time.Duration) {
	b.quota, b.per, b.near, b.veryFar = q, q.Per, Near(horizon), 2*horizon
	b.tolerance = b.Work(q.Burst) - late
	if b.tolerance < b.Work(1) {
		b.per += monotime.Scale(q.Per, int64(late), int64(max(q.Per, time.Second)))
		b.tolerance = b.Work(1)
	}
}

// Work returns how long n take to come back.
func (b *Bucket) Work(n int) time.Duration {
	return monotime.Scale(b.per, min(int64(n), quota.MaxN), int64(b.quota.N))
}

// ahead is how long before the bucket is full n may go.
func (b *Bucket) ahead(n int) time.Duration {
	if b.quota.Debt {
		n = min(n, b.quota.Burst)
	}
	return b.tolerance - b.Work(n)
}

// When implements Ledger.
func (b *Bucket) When(t monotime.Time, n int) monotime.Time {
	full, last := b.full, b.lastNear
	for k := 0; ; k++ {
		s := max(t, last, full.Add(-b.ahead(n)))
		if k == len(b.far) {
			return s
		}
		if f := b.far[k]; s <= f.at && b.bears(max(full, s).Add(b.Work(n)), k) {
			return s
		}
		last = b.far[k].at
		full = max(full, last).Add(b.Work(b.far[k].n))
	}
}

// bears reports whether the far slots from the k-th on remain right if the bucket is full again
// at full, before them.
func (b *Bucket) bears(full monotime.Time, k int) bool {
	for _, f := range b.far[k:] {
		if f.at < full.Add(-b.ahead(f.n)) {
			return false
		}
		full = max(full, f.at).Add(b.Work(f.n))
	}
	return true
}

// Take implements Ledger.
func (b *Bucket) Take(now, slot monotime.Time, n int) {
	if ahead := slot.Sub(now); ahead > b.near && len(b.far) < mostAhead || ahead > b.veryFar && len(b.far) < mostFar {
		b.settle(now.Add(b.near))
		i := sort.Search(len(b.far), func(i int) bool { return b.far[i].at > slot })
		b.far = slices.Insert(b.far, i, farSlot{slot, n})
		return
	}
	b.settle(slot)
	b.charge(slot, n)
	b.settle(now.Add(b.near))
}

// settle has the far slots up to t be near ones.
func (b *Bucket) settle(t monotime.Time) {
	n := 0
	for ; n < len(b.far) && b.far[n].at <= t; n++ {
		b.charge(b.far[n].at, b.far[n].n)
	}
	b.far = slices.Delete(b.far, 0, n)
}

// charge charges a near slot. A debt is monotime.Longest at most.
func (b *Bucket) charge(slot monotime.Time, n int) {
	b.peaks.Note(slot, max(b.full.Sub(slot), 0), 1)
	b.full = min(max(b.full, slot).Add(b.Work(n)), slot.Add(monotime.Longest))
	b.lastNear = max(b.lastNear, slot)
}

// Overdraw implements Ledger.
func (b *Bucket) Overdraw(now monotime.Time, n int) {
	b.settle(now) // what went before is charged before
	b.charge(max(now, b.lastNear), n)
}

// Count charges a slot that the bucket need not have granted. It leaves the bucket empty at most, after the last such slot, and
// nothing comes back of it.
func (b *Bucket) Count(slot monotime.Time, n int) {
	if slot <= b.assumed {
		return // a bucket that is empty has paid for all before
	}
	b.settle(slot)
	slot = max(slot, b.lastNear)
	b.full = max(b.full, min(max(b.full, slot).Add(b.Work(n)), slot.Add(b.tolerance)))
	b.peaks.Note(slot+1, 0, 1) // of an earlier one, and of this one
	b.lastNear = slot
}

// Give implements Ledger.
func (b *Bucket) Give(now, slot monotime.Time, n int) {
	for i := range b.far {
		if f := &b.far[i]; f.at == slot {
			part := min(n, f.n)
			f.n, n = f.n-part, n-part
		}
	}
	b.far = slices.DeleteFunc(b.far, func(f farSlot) bool { return f.n == 0 })
	if n == 0 {
		return
	}
	if d := b.peaks.Refund(slot, b.Work(n), b.full.Sub(now)); d > 0 {
		b.full = b.full.Add(-d)
	}
}

// Passed implements Ledger. What was handed out in order is up to lastNear, where far slots were too many, too.
func (b *Bucket) Passed(_, slot monotime.Time) bool { return slot <= b.lastNear }

// AssumeUsed is Assume of all up to t.
func (b *Bucket) AssumeUsed(t monotime.Time) { b.Assume(t, monotime.Longest) }

// Assume implements Ledger. All slots are before t, if there are any.
func (b *Bucket) Assume(t monotime.Time, first time.Duration) {
	if n := len(b.far); n > 0 {
		b.lastNear, b.far = max(b.lastNear, b.far[n-1].at), nil
	}
	sooner := max(b.Work(1)-first, 0)
	b.full, b.assumed = max(b.full, t.Add(b.tolerance-sooner)), max(b.assumed, t)
}

// Own implements Ledger. A bucket that is empty at an instant has paid for all before. What went may be told by one
// process after another, and not in the order in which it went: all of it leaves the bucket empty at most.
func (b *Bucket) Own(now, at monotime.Time, n int) {
	switch {
	case at <= b.assumed:
	case at > now:
		b.Take(now, at, n)
	default:
		b.settle(now)
		b.full = max(b.full, min(max(b.full, at).Add(b.Work(n)), now.Add(b.tolerance)))
	}
}

// Release implements Ledger. It leaves the bucket empty, and what went before does not come back beside that.
func (b *Bucket) Release(t monotime.Time) {
	b.settle(t)
	empty := max(t, b.lastNear)
	if full := empty.Add(b.tolerance); b.full > full {
		b.full = full
		b.peaks.Note(empty, 0, 1)
	}
	b.assumed = min(b.assumed, t)
}

// Left implements Ledger. Nobody needs to know it of a bucket: what is used in turns, at its rate, needs none of the burst.
func (b *Bucket) Left(monotime.Time) int { return 0 }

// Debt returns until when nothing is left, for all that was handed out.
func (b *Bucket) Debt() monotime.Time {
	full := b.full
	for _, f := range b.far {
		full = max(full, f.at).Add(b.Work(f.n))
	}
	return full.Add(-b.tolerance)
}

// Append implements Ledger.
func (b *Bucket) Append(to []byte) []byte {
	to = varint.Append(varint.Append(varint.Append(to, b.assumed), b.full), b.lastNear)
	to = varint.Append(to, b.peaks.Len())
	for at, room := range b.peaks.All() {
		to = varint.Append(varint.Append(to, at), room)
	}
	to = varint.Append(to, len(b.far))
	for _, f := range b.far {
		to = varint.Append(varint.Append(to, f.at), f.n)
	}
	return to
}

// Restore implements Ledger.
func (b *Bucket) Restore(r *varint.Reader) {
	b.assumed, b.full, b.lastNear = r.Time(), r.Time(), r.Time()
	for range r.Len() {
		at := r.Time()
		b.peaks.Note(at, time.Duration(r.Int(0, int64(monotime.Longest))), 1)
	}
	for range r.Len() {
		f := farSlot{r.Time(), int(r.Int(1, min(quota.MaxN, math.MaxInt)))}
		if n := len(b.far); n > 0 && f.at < b.far[n-1].at {
			r.Fail()
		}
		b.far = append(b.far, f)
	}
}
