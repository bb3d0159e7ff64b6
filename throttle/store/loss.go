package store

import (
	"math"
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

// mostTold bounds how many parts are remembered. What is told beyond that counts with the latest of its unit.
const mostTold = 64

// mostInPart is the most that a part counts. What is read from bytes is no more, either.
const mostInPart = min(quota.MaxN, math.MaxInt)

// add notes a part. What went in one second after the bucket was lost, or before, counts as if all went with the last of it.
func (o *loss) add(part toldPart, born monotime.Time) {
	second := func(t monotime.Time) time.Duration { return (t.Sub(born) + monotime.Longest).Truncate(time.Second) }
	part.n = min(part.n, mostInPart)
	joins, latest := -1, -1
	for k, w := range o.parts {
		if w.unit != part.unit {
			continue
		}
		if second(w.at) == second(part.at) {
			joins = k
		}
		if latest < 0 || w.at >= o.parts[latest].at {
			latest = k
		}
	}
	switch {
	case joins < 0 && len(o.parts) < mostTold:
		o.parts = append(o.parts, part)
		return
	case joins < 0:
		joins = latest
	}
	if joins >= 0 {
		w := &o.parts[joins]
		w.at, w.n = max(w.at, part.at), min(w.n, mostInPart-part.n)+part.n
	}
}

// tooMany is as how many members count of which nobody knows how many they are.
const tooMany = 1 << 30

// all reports whether all have told.
func (o *loss) all() bool { return 0 < o.had && o.had <= o.told }
