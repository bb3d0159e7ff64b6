package throttle

import (
	"math"
	"time"
)

// backlog is how few waited, right after somebody went, in the last two quarters of a horizon.
type backlog struct {
	least, before int
	since         instant
}

func (b *backlog) count(now instant, waiting int) {
	if now.sub(b.since) >= horizon/2 {
		b.before = b.least
		if now.sub(b.since) >= 2*horizon {
			b.before = 0 // nobody went for long
		}
		b.least, b.since = waiting, now
	}
	b.least = min(b.least, waiting)
}

// steady reports whether there were always others.
func (b *backlog) steady() bool { return min(b.least, b.before) > 0 }

// rhythm is how often something happened lately: what happened longer ago than some time
// counts ever less.
type rhythm struct {
	n  float64 // in that time
	at instant
}

func (r *rhythm) now(now instant, lately time.Duration) float64 {
	return r.n * math.Exp(-float64(now.sub(r.at))/float64(lately))
}

func (r *rhythm) count(now instant, n float64, lately time.Duration) {
	r.n, r.at = r.now(now, lately)+n, now
}
