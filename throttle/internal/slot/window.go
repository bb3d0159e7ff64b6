package slot

import (
	"math"
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// window is the ledger of a quota of what went in the last Per: quota.SlidingWindow,
// quota.SlidingLog and quota.FixedWindow. A slot counts for Per and slotLife, since what it is for may go
// until slotLife after it. Near slots are handed out in their order, so that what has left the window
// before a near slot need not be remembered.
type window struct {
	log   limit.Log
	quota quota.Quota
	near  time.Duration // slots no farther ahead are handed out in their order

	falls monotime.Time // when slotLife becomes shorter; zero if it does not
	per   time.Duration // for how long a slot counts then

	lastNear monotime.Time // the last near slot: no slot that is handed out later is before
	assumed  []handedOut   // what Assume has charged, and Own has not taken over
}

// handedOut is so much at an instant.
type handedOut struct {
	at monotime.Time
	n  int64
}

// Set implements Ledger.
func (w *window) Set(_ monotime.Time, q quota.Quota, slotLife, horizon time.Duration) {
	w.quota, w.near = q, Near(horizon)
	w.log.Per, w.log.Cell = q.Per+slotLife, slotLife
	if q.Kind == quota.SlidingWindow {
		w.log.Cell = q.Per / time.Duration(q.Cells)
	}
	w.log.Cell = min(w.log.Cell, max(q.Per/100, 20*time.Millisecond)) // all of a cell leaves with its last slot
}

// Fall implements Ledger.
func (w *window) Fall(at monotime.Time, to time.Duration) { w.falls, w.per = at, w.quota.Per+to }

// leaves returns when an entry leaves that goes up to an instant.
func (w *window) leaves(last monotime.Time) monotime.Time {
	at := last.Add(w.log.Per)
	if w.falls != 0 {
		at = min(at, max(w.falls, last.Add(w.per)))
	}
	return at
}

// When implements Ledger.
func (w *window) When(t monotime.Time, n int64) monotime.Time {
	live := w.log.Live()
	t = max(t, w.lastNear)
	for {
		later := sort.Search(len(live), func(i int) bool { return live[i].First > t })
		if s := w.room(live, t, later, n); s > t {
			t = s // some that are later may not be then
		} else if t = w.bears(live, t, later, n); t == s {
			return t
		}
	}
}

// room returns when, at t or later, so much has left of all up to the later entries that there
// is room for n.
func (w *window) room(live []limit.Entry, t monotime.Time, later int, n int64) monotime.Time {
	before := w.log.Before(later) + min(n, quota.MaxN) - w.quota.N
	if before <= w.log.Before(0) {
		return t
	}
	i := sort.Search(later, func(i int) bool { return live[i].Number >= before })
	return max(t, w.leaves(live[i].Last))
}

// bears returns t if all later entries remain right with n at t, or the first for which it is
// too much.
func (w *window) bears(live []limit.Entry, t monotime.Time, later int, n int64) monotime.Time {
	for _, e := range live[later:] {
		if e.First >= w.leaves(t) {
			break
		}
		i := sort.Search(later, func(i int) bool { return w.leaves(live[i].Last) > e.First })
		if e.Number-w.log.Before(i)+min(n, quota.MaxN) > w.quota.N {
			return e.Last
		}
	}
	return t
}

// Take implements Ledger.
func (w *window) Take(now, slot monotime.Time, n int64) {
	if slot.Sub(now) > w.near {
		w.log.Purge(now)
	} else {
		w.log.Purge(slot)
		w.lastNear = max(w.lastNear, slot)
	}
	w.log.Insert(slot, n)
}

// coarse is in how many parts of Per it is known when something went for which no slot was handed out. Slots
// make no more entries than there are tokens; but as much may go without them as members say, each time at
// another instant.
const coarse = 1000

// Overdraw implements Ledger.
func (w *window) Overdraw(now monotime.Time, n int64) {
	w.lastNear = max(now, w.lastNear)
	w.log.Purge(w.lastNear)
	w.join(w.lastNear, n)
}

// join charges what went without a slot, as far as no sum overflows by it.
func (w *window) join(at monotime.Time, n int64) {
	const most = 2 * quota.MaxN
	if n = min(n, quota.MaxN, most-(w.log.Number()-w.log.Before(0))); n > 0 {
		w.log.Join(at, n, w.quota.Per/coarse)
	}
}

// Give implements Ledger.
func (w *window) Give(_, slot monotime.Time, n int64) { w.log.Give(slot, n) }

// Passed implements Ledger. An entry counts from its first slot until Per after its last one: slots that joined
// the entry, or an earlier one, may have left no room for this one.
func (w *window) Passed(_, slot monotime.Time) bool {
	live := w.log.Live()
	later := sort.Search(len(live), func(i int) bool { return live[i].First > slot })
	return slot <= w.lastNear || w.room(live, slot, later, 0) > slot || w.bears(live, slot, later, 0) > slot
}

// Assume implements Ledger. What was used comes back in ten parts, of which the first may be split.
func (w *window) Assume(t monotime.Time, first time.Duration) {
	const parts = 10
	n, per := w.quota.N, w.quota.Per
	w.assumed = nil
	for d := max(first, time.Microsecond); d < per/parts; d *= 2 {
		w.assume(t.Add(d), max(int64(monotime.Scale(d, n, int64(per)))-1, 1))
	}
	for k := int64(1); k <= parts; k++ {
		w.assume(t.Add(monotime.Scale(per, k, parts)), n*k/parts)
	}
}

// assume has so much be back at an instant.
func (w *window) assume(back monotime.Time, n int64) {
	if missing := n - w.log.Number(); missing > 0 {
		at := back.Add(-w.log.Per)
		w.log.Append(at, missing)
		w.assumed = append(w.assumed, handedOut{at, missing})
	}
}

// Own implements Ledger. Nobody can have used more than N: what is known of takes the place of what was
// assumed, the oldest first.
func (w *window) Own(now, at, assumed monotime.Time, n int64) {
	if at.Add(w.log.Per) <= now {
		return // it has left
	}
	left := min(n, quota.MaxN)
	for len(w.assumed) > 0 && left > 0 {
		a := &w.assumed[0]
		if at > assumed || at.Add(w.log.Per) <= assumed {
			break // it went after all that is assumed, or has left when that counts
		}
		part := min(a.n, left)
		w.log.Give(a.at, part)
		left -= part
		if a.n -= part; a.n == 0 {
			w.assumed = w.assumed[1:]
		}
	}
	w.join(at, n)
}

// Trust implements Ledger.
func (w *window) Trust(_, _ monotime.Time) {
	for _, a := range w.assumed {
		w.log.Give(a.at, a.n)
	}
	w.assumed = nil
}

// Release implements Ledger. Of what is beyond N, the latest goes. An entry of which a part is still to come
// does not count as gone: that part is handed out for when what came before has left. Alone it has no more than
// N either.
func (w *window) Release(t monotime.Time, most int64) {
	w.Trust(t, t)
	w.log.Purge(t)
	live := w.log.Live()
	i := sort.Search(len(live), func(i int) bool { return live[i].Last > t })
	if i < len(live) && live[i].First <= t {
		w.log.Give(live[i].Last, max(w.log.Before(i+1)-w.log.Before(i)-most, 0))
	}
	for excess := w.log.Before(i) - w.log.Before(0) - most; excess > 0; i-- {
		had := w.log.Before(i) - w.log.Before(i-1)
		w.log.Give(w.log.Live()[i-1].Last, min(had, excess))
		excess -= had
	}
}

// Left implements Ledger. It forgets nothing: another Per may be longer.
func (w *window) Left(now monotime.Time) int64 {
	live := w.log.Live()
	i := sort.Search(len(live), func(i int) bool { return live[i].Last.Add(w.log.Per) > now })
	return max(w.quota.N-(w.log.Number()-w.log.Before(i)), 0)
}

// Append implements Ledger.
func (w *window) Append(to []byte) []byte {
	live, left := w.log.Live(), w.log.Before(0)
	to = varint.Append(to, int64(w.lastNear), int64(len(w.assumed)))
	for _, a := range w.assumed {
		to = varint.Append(to, int64(a.at), a.n)
	}
	to = varint.Append(to, len(live))
	for _, e := range live {
		to = varint.Append(to, int64(e.First), int64(e.Last.Sub(e.First)), e.Number-left) // numbers begin anew
	}
	return to
}

// Restore implements Ledger.
func (w *window) Restore(r *varint.Reader) {
	w.lastNear = r.Time()
	for range r.Len() {
		w.assumed = append(w.assumed, handedOut{r.Time(), r.Int(1, math.MaxInt64/4)})
	}
	entries := make([]limit.Entry, r.Len())
	for i := range entries {
		e := &entries[i]
		e.First = r.Time()
		e.Last = e.First.Add(time.Duration(r.Int(0, int64(monotime.Longest))))
		e.Number = r.Int(0, math.MaxInt64)
	}
	if !w.log.Restore(0, entries) {
		r.Fail()
	}
}
