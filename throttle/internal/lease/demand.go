package lease

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// decayingRate is how often something happened lately: an event counts exp(−age/lately), where
// lately is the same span in all calls.
type decayingRate struct {
	n  float64 // as of at
	at monotime.Time
}

func (r *decayingRate) now(now monotime.Time, lately time.Duration) float64 {
	return r.n * math.Exp(-float64(now.Sub(r.at))/float64(lately))
}

func (r *decayingRate) count(now monotime.Time, n float64, lately time.Duration) {
	r.n, r.at = r.now(now, lately)+n, now
}

// backlog is the shortest line seen right after a grant, over the last two half-horizons. If it
// is never zero, demand is steady.
type backlog struct {
	least, before int           // in this half-horizon, and in the one before it
	since         monotime.Time // when this half-horizon began
}

func (b *backlog) count(now monotime.Time, waiting int) {
	if now.Sub(b.since) >= Horizon/2 {
		b.before = b.least
		if now.Sub(b.since) >= 2*Horizon {
			b.before = 0 // no grant for long
		}
		b.least, b.since = waiting, now
	}
	b.least = min(b.least, waiting)
}

// steady reports whether claims waited after every grant.
func (b *backlog) steady() bool { return min(b.least, b.before) > 0 }

// demand is how much of a bucket is used, and how evenly.
type demand struct {
	grants  decayingRate // in a second
	burst   decayingRate // grants in a moment
	expired decayingRate // slots that expired unused, in units, in a second
	backlog backlog
	unit    []int64 // what the latest claim cost: what one prefetched slot costs
}

// If so many claims go within a moment, as they do when a window begins, as many may follow at
// once.
const (
	many   = 3
	moment = 10 * time.Millisecond
)

// grant counts a grant after which so many claims wait.
func (d *demand) grant(now monotime.Time, waiting int) {
	d.grants.count(now, 1, time.Second)
	d.burst.count(now, 1, moment)
	d.backlog.count(now, max(waiting, 0))
}

// expire counts so many units that expired unused. A slot expires only if no claim waited for
// it.
func (d *demand) expire(now monotime.Time, units float64) {
	d.backlog.count(now, 0)
	if units > 0 {
		d.expired.count(now, units, time.Second)
	}
}

// prefetchShare scales prefetching by used/(used + 4·expired): half, if a fifth of the slots
// expired unused.
func (d *demand) prefetchShare(now monotime.Time) float64 {
	used := d.grants.now(now, time.Second)
	return used / max(used+4*d.expired.now(now, time.Second), 1e-9)
}
