package store

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// loss is how many members had the bucket when it was lost, and how many of these have told all.
type loss struct {
	had  int // as far as they know; tooMany if nobody knows
	told int

	parts []toldPart // what members told within SharesFor, for quotas that come later: those of a version of a program that asks after another one did
}

// toldPart is what went, or will go, at an instant, in one unit.
type toldPart struct {
	at   monotime.Time
	unit string
	n    int
}

// mostTold bounds how many parts are remembered. What is told beyond that counts with the latest of its unit; where a unit has none yet, the
// earliest part of another one counts with the latest of that.
const mostTold = 64

// mostInPart is the most that a part counts. What is read from bytes is no more, either.
const mostInPart = min(quota.MaxN, math.MaxInt)

// add notes a part. What went in one second after the bucket was lost, or before, counts as if all went with the last of it.
func (o *loss) add(part toldPart, born monotime.Time) {
	second := func(t monotime.Time) time.Duration { return (t.Sub(born) + monotime.Longest).Truncate(time.Second) }
	joins := slices.IndexFunc(o.parts, func(w toldPart) bool { return w.unit == part.unit && second(w.at) == second(part.at) })
	if joins < 0 && len(o.parts) == mostTold {
		if joins = o.latest(part.unit); joins < 0 {
			o.makeRoom()
		}
	}
	switch {
	case joins >= 0:
		o.parts[joins].join(part)
	case len(o.parts) < mostTold: // else each is of a unit of its own
		part.n = min(part.n, mostInPart)
		o.parts = append(o.parts, part)
	}
}

// makeRoom has the earliest part that is not the latest of its unit count with that.
func (o *loss) makeRoom() {
	first, into := -1, -1
	for k, w := range o.parts {
		if latest := o.latest(w.unit); latest != k && (first < 0 || w.at < o.parts[first].at) {
			first, into = k, latest
		}
	}
	if first >= 0 {
		o.parts[into].join(o.parts[first])
		o.parts = slices.Delete(o.parts, first, first+1)
	}
}

// latest is the index of the latest part of a unit; -1 if it has none.
func (o *loss) latest(unit string) (at int) {
	at = -1
	for k, w := range o.parts {
		if w.unit == unit && (at < 0 || w.at >= o.parts[at].at) {
			at = k
		}
	}
	return at
}

// join has another part count with this one, at the later of the two.
func (w *toldPart) join(o toldPart) {
	n := min(o.n, mostInPart)
	w.at, w.n = max(w.at, o.at), min(w.n, mostInPart-n)+n
}

// tooMany is as how many members count of which nobody knows how many they are.
const tooMany = 1 << 30

// all reports whether all have told.
func (o *loss) all() bool { return 0 < o.had && o.had <= o.told }
