package throttle

import "math"

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

// rhythm is how often something happens: what happened longer ago than a second
// or so counts ever less.
type rhythm struct {
	perSecond float64
	at        instant
}

func (r *rhythm) now(now instant) float64 {
	return r.perSecond * math.Exp(-now.sub(r.at).Seconds())
}

func (r *rhythm) count(now instant, n float64) { r.perSecond, r.at = r.now(now)+n, now }
