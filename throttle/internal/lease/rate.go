package lease

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// decayingRate is how often something happened lately: what happened longer ago than some time
// counts ever less.
type decayingRate struct {
	n  float64 // in that time
	at monotime.Time
}

func (r *decayingRate) now(now monotime.Time, lately time.Duration) float64 {
	return r.n * math.Exp(-float64(now.Sub(r.at))/float64(lately))
}

func (r *decayingRate) count(now monotime.Time, n float64, lately time.Duration) {
	r.n, r.at = r.now(now, lately)+n, now
}

// backlog is the shortest line that was seen right after a grant, over the last two
// half-horizons. If that is never zero, demand is steady.
type backlog struct {
	least, before int
	since         monotime.Time
}

func (b *backlog) count(now monotime.Time, waiting int) {
	if now.Sub(b.since) >= Horizon/2 {
		b.before = b.least
		if now.Sub(b.since) >= 2*Horizon {
			b.before = 0 // nobody went for long
		}
		b.least, b.since = waiting, now
	}
	b.least = min(b.least, waiting)
}

// steady reports whether others always waited.
func (b *backlog) steady() bool { return min(b.least, b.before) > 0 }

// demand is how much is used of what a bucket has, and how evenly.
type demand struct {
	went    decayingRate // grants in a second
	burst   decayingRate // and in a moment
	expired decayingRate // slots that got too old, in grants of the latest size, in a second
	line    backlog
	unit    []int // what the latest claim cost
}

// If so many go in a moment, as they do when a window begins, as many may follow at once.
const (
	many   = 3
	moment = 10 * time.Millisecond
)

// grant counts a grant after which so many wait.
func (d *demand) grant(now monotime.Time, waiting int) {
	d.went.count(now, 1, time.Second)
	d.burst.count(now, 1, moment)
	d.line.count(now, max(waiting, 0))
}

// prefetchShare scales prefetching by used/(used + 4·expired): half, if a fifth of the slots
// expired unused.
func (d *demand) prefetchShare(now monotime.Time) float64 {
	used := d.went.now(now, time.Second)
	return used / max(used+4*d.expired.now(now, time.Second), 1e-9)
}
