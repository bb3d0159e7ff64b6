package store

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// loss is how many members had the bucket when it was lost, and how many of these have told all.
type loss struct {
	had  int // as far as they know; tooMany if nobody knows
	told int

	parts []toldPart // what members told within SharingFor, for quotas that come later: those of a version of a program that asks after another one did
}

// toldPart is what went, or will go, at an instant, in one unit.
type toldPart struct {
	at   monotime.Time
	unit string
	n    int64
}

// mostTold bounds how many parts are remembered. Beyond that, two of the unit that has most count as one.
const mostTold = 64

// mostInPart is the most that a part counts. What is read from bytes is no more, either.
const mostInPart = quota.MaxN

// add notes a part. Parts of a unit are in the order of their instants. What went in one second after the
// bucket was lost, or before, counts as if all went with the last of it: a window that comes later counts that
// for no less. What is still to come is not moved, since it may count in a window that ends before.
func (o *loss) add(part toldPart, born, now monotime.Time) {
	second := func(t monotime.Time) time.Duration { return (t.Sub(born) + monotime.Longest).Truncate(time.Second) }
	part.n = min(part.n, mostInPart)
	k := len(o.parts)
	for ; k > 0; k-- {
		w := &o.parts[k-1]
		if w.unit != part.unit {
			continue
		}
		if w.at == part.at || max(w.at, part.at) <= now && second(w.at) == second(part.at) {
			w.join(part)
			return
		}
		if w.at < part.at {
			break
		}
	}
	o.parts = slices.Insert(o.parts, k, part)
	if len(o.parts) > mostTold && !o.joinTwo(now) {
		o.parts = slices.Delete(o.parts, k, k+1)
	}
}

// join has a part count with this one, as if all went with the later of them.
func (w *toldPart) join(part toldPart) {
	w.at, w.n = max(w.at, part.at), min(w.n, mostInPart-part.n)+part.n
}

// joinTwo joins two neighbours of the unit that has most parts: of those that have gone, if there are two, the
// nearest. It reports whether any unit has two.
func (o *loss) joinTwo(now monotime.Time) bool {
	count := map[string]int{}
	unit := o.parts[0].unit
	for _, w := range o.parts {
		count[w.unit]++
	}
	for u, n := range count {
		if n > count[unit] || n == count[unit] && u < unit {
			unit = u
		}
	}
	first, second, last := -1, -1, -1
	gap := time.Duration(0)
	for k, w := range o.parts {
		if w.unit != unit {
			continue
		}
		if last >= 0 && (second < 0 || w.at <= now && w.at.Sub(o.parts[last].at) < gap) {
			first, second, gap = last, k, w.at.Sub(o.parts[last].at)
		}
		last = k
	}
	if second < 0 {
		return false
	}
	o.parts[second].join(o.parts[first])
	o.parts = slices.Delete(o.parts, first, first+1)
	return true
}

// tooMany is as how many members count of which nobody knows how many they are.
const tooMany = 1 << 30

// all reports whether all have told.
func (o *loss) all() bool { return 0 < o.had && o.had <= o.told }
