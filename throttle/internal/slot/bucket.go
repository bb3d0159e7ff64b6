package slot

import (
	"slices"
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// Bucket is the ledger of a quota.TokenBucket. With T = Per/N and τ = Burst·T − SlotLife, a slot
// of n may be at s ≥ full + n·T − τ, and then the bucket is full again n·T after the later of
// full and s.
type Bucket struct {
	quota     quota.Quota
	per       time.Duration // in which N come back: Per, or longer
	slotLife  time.Duration
	tolerance time.Duration // τ
	near      time.Duration // slots no farther ahead are handed out in their order

	assumed  monotime.Time // the bucket was assumed to be empty then
	full     monotime.Time // when the bucket is full again, as far as near slots have emptied it
	lastNear monotime.Time // the last near slot: no slot that is handed out later is before
	peaks    limit.Peaks[time.Duration]
	far      []farRun // the other slots, in their order
}

// farRun is a slot before which there may be others; or if there are too many of them, slots that are near
// together, between which there are none. To what is before and after them, such slots are as one at the
// instant at: if the bucket is full again at full before it, then work after the later of full and at.
type farRun struct {
	first, last monotime.Time
	n           int64
	several     bool
	at          monotime.Time
	work        time.Duration
	bears       monotime.Time // with τ, what full may be before it
	allBear     monotime.Time // what full may be before it for the later ones to remain right, too
}

// mostFar bounds how many farRuns are remembered.
const mostFar = 32

// never is before all instants at which a bucket may be full: it is as early as can be written.
const never = -2 * monotime.Time(monotime.Longest)

// Set implements Ledger.
func (b *Bucket) Set(now monotime.Time, q quota.Quota, slotLife, horizon time.Duration) {
	if b.per > 0 && (q.Per != b.quota.Per || q.N != b.quota.N || q.Burst != b.quota.Burst) {
		b.settle(now)
		b.change(max(now, b.lastNear, b.assumed), &q)
	}
	b.quota, b.near = q, Near(horizon)
	b.bear(slotLife)
	for i := range b.far {
		if f := &b.far[i]; !f.several {
			*f = b.run(f.at, f.n)
		} else {
			f.pace(b.Work(f.n))
		}
	}
	b.link()
	b.follow(now, slotLife)
}

// bear reckons with slots that may be used until slotLife after their instants. Where the burst is too small
// for that, T is longer.
func (b *Bucket) bear(slotLife time.Duration) {
	b.per = b.quota.Per
	b.tolerance = b.Work(b.quota.Burst) - slotLife
	if b.tolerance < b.Work(1) {
		b.per += monotime.Scale(b.quota.Per, int64(slotLife), int64(max(b.quota.Per, time.Second)))
		b.tolerance = b.Work(1)
	}
}

// change has as many tokens be there as before, but no more than the burst of q: so nobody gains by a quota
// that changes to and fro. As many may be there as if all had gone as late as it may. The numbers change at an
// instant up to which all near slots are handed out, since what came back before each of them is not known. So
// a change to a slower rate lets as much more go as the faster one brings in that long: those slots stand
// anyway.
func (b *Bucket) change(at monotime.Time, q *quota.Quota) {
	was, most, slotLife := *b, b.quota.Burst, b.slotLife
	if b.per > b.quota.Per {
		most, slotLife = 1, 0
	}
	b.quota = *q
	b.bear(b.slotLife)
	scale := func(missing time.Duration) time.Duration {
		per := micros(monotime.Scale(max(missing, 0), int64(b.per), int64(was.per)))
		return micros(monotime.Scale(per, was.quota.N, q.N))
	}
	missing := time.Duration(0)
	if was.full != 0 { // else nobody has drawn on it
		missing = scale(was.full.Sub(at) + slotLife)
	}
	b.full = max(at.Add(b.tolerance+max(missing-b.Work(most), -b.Work(q.Burst))), 0)
	b.peaks = limit.Peaks[time.Duration]{}
	for at, room := range was.peaks.All() {
		b.note(at, scale(room))
	}
	room := min(scale(was.full.Sub(at)), max(b.full.Sub(at), 0)) // what it could not hold, or cannot any more, is gone
	b.note(at+1, room)                                           // also of a slot at that instant
}

// note notes how much is missing from a full bucket, right before a slot. More than monotime.Longest counts as
// that: a debt may be longer by a SlotLife, or by other numbers.
func (b *Bucket) note(at monotime.Time, missing time.Duration) {
	b.peaks.Note(max(at, b.peaks.Last()), min(max(missing, 0), monotime.Longest), 1)
}

// micros rounds up to microseconds, as Redis counts.
func micros(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

// follow has the slots from now on be used until slotLife. What may have gone late up to now has the server's
// bucket be full again at full + slotLife. That stays as it was where slotLife becomes shorter; and where it
// becomes longer, if the burst bears it.
func (b *Bucket) follow(now monotime.Time, slotLife time.Duration) {
	shorter := b.slotLife - slotLife
	b.slotLife = slotLife
	if shorter == 0 {
		return
	}
	b.settle(now)
	if shorter > 0 || b.per == b.quota.Per {
		b.full = max(b.full.Add(shorter), min(b.full, now))
	}
}

// run returns one slot.
func (b *Bucket) run(at monotime.Time, n int64) farRun {
	return farRun{first: at, last: at, n: n, at: at, work: b.Work(n), bears: at.Add(b.ahead(n) - b.tolerance)}
}

// fullAfter returns when the bucket is full again, if before these slots it was to be full at an instant.
func (f *farRun) fullAfter(full monotime.Time) monotime.Time {
	return min(max(full, f.at).Add(f.work), f.last.Add(monotime.Longest))
}

// link notes what all runs bear, after some have changed.
func (b *Bucket) link() {
	for i := len(b.far) - 1; i >= 0; i-- {
		f := &b.far[i]
		f.allBear = f.bears.Add(b.tolerance)
		if i+1 < len(b.far) {
			f.allBear = min(f.allBear, max(b.far[i+1].allBear.Add(-f.work), 0)) // at 0 it bears nothing
		}
	}
}

// Work returns how long n take to come back.
func (b *Bucket) Work(n int64) time.Duration {
	return monotime.Scale(b.per, min(n, quota.MaxN), b.quota.N)
}

// ahead is how long before the bucket is full n may go.
func (b *Bucket) ahead(n int64) time.Duration {
	if b.quota.Debt {
		n = min(n, b.quota.Burst)
	}
	return b.tolerance - b.Work(n)
}

// When implements Ledger.
func (b *Bucket) When(t monotime.Time, n int64) monotime.Time {
	full, last := b.full, b.lastNear
	for k := 0; ; k++ {
		s := max(t, last, full.Add(-b.ahead(n)))
		if k == len(b.far) {
			return s
		}
		f := &b.far[k]
		if s <= f.first && max(full, s).Add(b.Work(n)) <= f.allBear {
			return s
		}
		last, full = f.last, f.fullAfter(full)
	}
}

// Take implements Ledger.
func (b *Bucket) Take(now, slot monotime.Time, n int64) {
	slot = max(slot, b.lastNear) // what Own tells of may be before
	if slot.Sub(now) <= b.near || !b.remember(slot, n) {
		b.settle(slot)
		slot = max(slot, b.lastNear)
		b.charge(slot, slot, b.Work(n))
	}
	for len(b.far) > 0 && b.far[0].last.Sub(now) <= b.near {
		b.settle(b.far[0].first)
	}
}

// remember has a slot be one of the far ones, and reports whether it is: not if it is between slots that are
// remembered as one.
func (b *Bucket) remember(slot monotime.Time, n int64) bool {
	i := sort.Search(len(b.far), func(i int) bool { return b.far[i].last > slot })
	if i < len(b.far) && b.far[i].first < slot {
		return false
	}
	b.far = slices.Insert(b.far, i, b.run(slot, min(n, mostCost)))
	for apart := max(b.near, 1); len(b.far) > mostFar && apart > 0; apart *= 2 { // below 0 it has overflowed
		b.join(apart)
	}
	b.link()
	return true
}

// join has far slots that are so near together be remembered as one.
func (b *Bucket) join(apart time.Duration) {
	joined := b.far[:1]
	for _, f := range b.far[1:] {
		o := &joined[len(joined)-1]
		if f.last.Sub(o.first) >= apart {
			joined = append(joined, f)
			continue
		}
		o.asOne()
		f.asOne()
		o.pace(max(o.work, monotime.Scale(f.work, o.n, f.n)))
		f.pace(max(f.work, monotime.Scale(o.work, f.n, o.n)))
		o.last, o.n = f.last, min(o.n+f.n, mostCost)
		o.at = max(o.at, f.at.Add(-o.work))
		o.bears = max(min(o.bears, f.bears.Add(-o.work)), never)
		o.work = min(o.work+f.work, monotime.Longest)
	}
	b.far = joined
}

// asOne has a slot be one of several. If its debt is above the burst it bears less than alone, by the rest of
// the debt: so it is right whatever the burst is later.
func (f *farRun) asOne() {
	if !f.several {
		f.several, f.bears = true, f.at.Add(-f.work)
	}
}

// pace has slots that are remembered as one take as long as at another rate. All slots of a run take as long
// for each token: else nobody knew by how much each of them becomes slower or faster. The last of them may be
// all that is slower, or the first all that is faster.
func (f *farRun) pace(work time.Duration) {
	if more := work - f.work; more > 0 {
		f.bears = max(f.bears.Add(-more), f.first.Add(-work))
	} else {
		f.at = min(f.at.Add(-more), f.last)
	}
	f.work = work
}

// settle has the far slots up to t be near ones, and those that are remembered as one with them.
func (b *Bucket) settle(t monotime.Time) {
	n := 0
	for ; n < len(b.far) && b.far[n].first <= t; n++ {
		b.charge(b.far[n].at, b.far[n].last, b.far[n].work)
	}
	b.far = slices.Delete(b.far, 0, n)
}

// charge charges near slots up to last, which are as one at an instant. A debt is monotime.Longest at most.
func (b *Bucket) charge(at, last monotime.Time, work time.Duration) {
	b.note(last, b.full.Sub(at))
	b.full = min(max(b.full, at).Add(work), last.Add(monotime.Longest))
	b.lastNear = max(b.lastNear, last)
}

// Overdraw implements Ledger.
func (b *Bucket) Overdraw(now monotime.Time, n int64) {
	b.settle(now) // what went before is charged before
	at := max(now, b.lastNear)
	b.charge(at, at, b.Work(n))
}

// Count charges a slot that the bucket need not have granted. It leaves the bucket empty at most, after the
// last such slot, and nothing comes back of it.
func (b *Bucket) Count(slot monotime.Time, n int64) {
	if slot <= b.assumed {
		return // a bucket that is empty has paid for all before
	}
	b.settle(slot)
	slot = max(slot, b.lastNear)
	b.full = max(b.full, min(max(b.full, slot).Add(b.Work(n)), slot.Add(b.tolerance)))
	b.peaks.Note(slot+1, 0, 1) // of an earlier one, and of this one
	b.lastNear = slot
}

// Give implements Ledger. Of far slots that are remembered as one, the last ones may be all that are sooner for
// it.
func (b *Bucket) Give(now, slot monotime.Time, n int64) {
	b.settle(now)
	for i := len(b.far) - 1; i >= 0 && n > 0; i-- {
		switch f := &b.far[i]; {
		case slot < f.first || slot > f.last:
		case n < f.n && f.several:
			f.n, n = f.n-n, 0
			f.pace(b.Work(f.n))
		case n < f.n:
			*f, n = b.run(slot, f.n-n), 0
		default:
			n -= f.n
			b.far = slices.Delete(b.far, i, i+1)
		}
	}
	b.link()
	if n == 0 {
		return
	}
	if d := b.peaks.Refund(slot, b.Work(n), b.full.Sub(now)); d > 0 {
		b.full = b.full.Add(-d)
	}
}

// Passed implements Ledger. Whether far slots that are remembered as one remain right with what comes back of
// one of them is not known.
func (b *Bucket) Passed(_, slot monotime.Time) bool {
	for _, f := range b.far {
		if f.several && f.first <= slot && slot <= f.last {
			return true
		}
	}
	return slot <= b.lastNear
}

// Assume implements Ledger. All slots are before t, if there are any.
func (b *Bucket) Assume(t monotime.Time, first time.Duration) {
	if n := len(b.far); n > 0 {
		b.lastNear, b.far = max(b.lastNear, b.far[n-1].last), nil
	}
	sooner := max(b.Work(1)-first, 0)
	b.full, b.assumed = max(b.full, t.Add(b.tolerance-sooner)), max(b.assumed, t)
}

// Own implements Ledger. A bucket that is empty at an instant has paid for all before. What went may be told by
// one process after another, and not in the order in which it went: all of it leaves the bucket empty at most.
func (b *Bucket) Own(now, at, _ monotime.Time, n int64) {
	switch {
	case at <= b.assumed:
	case at > now:
		b.Take(now, at, n)
	default:
		b.settle(now)
		b.full = max(b.full, min(max(b.full, at).Add(b.Work(n)), now.Add(b.tolerance)))
	}
}

// Fall implements Ledger. What is missing comes back that much later then.
func (b *Bucket) Fall(monotime.Time, time.Duration) {}

// Trust implements Ledger. What went of a bucket nobody tells.
func (b *Bucket) Trust(_, _ monotime.Time) {}

// Release implements Ledger. It leaves the bucket empty, and what went before does not come back beside that.
func (b *Bucket) Release(t monotime.Time, _ int64) {
	b.settle(t)
	empty := max(t, b.lastNear)
	if full := empty.Add(b.tolerance); b.full > full {
		b.full = full
		b.peaks.Note(empty, 0, 1)
	}
	b.assumed = min(b.assumed, t)
}

// Left implements Ledger. Nobody needs to know it of a bucket: what is used in turns, at its rate, needs none
// of the burst.
func (b *Bucket) Left(monotime.Time) int64 { return 0 }

// Room returns how much may go at now. It is the burst at most, also with Debt.
func (b *Bucket) Room(now monotime.Time) int64 {
	d := min(max(now.Sub(b.Debt()), 0), b.tolerance)
	n := int64(monotime.Scale(d, b.quota.N, int64(b.per)))
	if b.Work(n) > d {
		n--
	}
	return n
}

// Debt returns until when nothing is left, for all that was handed out.
func (b *Bucket) Debt() monotime.Time {
	full := b.full
	for _, f := range b.far {
		full = f.fullAfter(full)
	}
	return full.Add(-b.tolerance)
}

// Owes returns how many tokens are missing at now, beyond those of an empty bucket.
func (b *Bucket) Owes(now monotime.Time) int64 {
	return int64(monotime.Scale(max(b.Debt().Sub(now), 0), b.quota.N, int64(b.per)))
}

// Append implements Ledger.
func (b *Bucket) Append(to []byte) []byte {
	to = varint.Append(to, b.assumed, b.full, b.lastNear)
	to = varint.Append(to, b.peaks.Len())
	for at, room := range b.peaks.All() {
		to = varint.Append(to, int64(at), int64(room))
	}
	to = varint.Append(to, len(b.far))
	for _, f := range b.far {
		to = varint.Append(to, int64(f.first), int64(f.last.Sub(f.first)), f.n)
		to = varint.AppendBool(to, f.several)
		if f.several {
			to = varint.Append(to, int64(f.at), int64(f.work), int64(f.bears))
		}
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
		first, span, n := r.Time(), time.Duration(r.Int(0, int64(monotime.Longest))), r.Int(1, mostCost)
		f := b.run(first, n)
		if f.several = r.Bool(); f.several {
			f.last, f.at, f.work, f.bears = first.Add(span), r.Time(), time.Duration(r.Int(0, int64(monotime.Longest))), r.Time()
		}
		if n := len(b.far); n > 0 && f.first < b.far[n-1].last {
			r.Fail()
		}
		b.far = append(b.far, f)
	}
	b.link()
}
