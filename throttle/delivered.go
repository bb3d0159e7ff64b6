package throttle

import (
	"math"
	"time"
)

// delivered is the rate at which a server that says nothing about its limits serves
// requests while it also refuses some: that is what it allows, whatever it counts.
// Where nothing else is known, requests are paced just under it. The pace rises
// slowly, to find out whether more is allowed, and ever more slowly the more often
// that was refused.
type delivered struct {
	since  instant // of the last refusal, or of the end of a pause in asking
	got    int     // served since
	asked  instant // when something was asked for last
	rate   float64 // tokens per second, at from; zero if it is not known
	from   instant
	growth float64 // of the rate, per second
	paced  instant // what went last counts from here
}

const (
	// under is what is asked of the delivered rate: at exactly the server's rate,
	// the jitter of the network alone would have requests refused.
	under = 0.95
	// fastest and slowest are how fast the pace begins to rise after the first
	// refusal, and in the end: by a fifth and by a five hundredth a second. It halves
	// each time.
	fastest, slowest = 0.2, 0.002
	// surge is by how much of itself that grows in a second without a refusal. With
	// more of it, the windows of a server are overrun in turns with its holds.
	surge = 0.15
	// pause is how long nothing is asked before a measurement starts anew: a rate is
	// what a server delivers to one who asks for more.
	pause = time.Second
)

// at returns the rate at t. The longer nothing is refused, the faster it rises: what
// was measured may have been far too low, if the server was not serving then.
func (d *delivered) at(t instant) float64 {
	s := max(t.sub(d.from), 0).Seconds()
	return d.rate * math.Exp(d.growth*s*(1+surge*s))
}

// due returns when n may go, not before t, if ahead tokens go before.
func (d *delivered) due(t instant, ahead, n int) instant {
	if d.rate == 0 {
		return t
	}
	return max(t, d.paced.add(seconds(float64(ahead+n)/d.at(t))))
}

// take counts a grant of n.
func (d *delivered) take(now instant, n int) {
	if d.since == 0 {
		return
	}
	if now.sub(d.asked) > pause && now.sub(d.since) > pause {
		d.since, d.got = now, 0
	}
	d.asked = now
	if d.rate > 0 {
		// A late timer does not slow it down.
		d.paced = max(d.paced.add(seconds(float64(n)/d.at(now))), now.add(-lagCredit))
	}
}

// refused takes in a refusal.
func (d *delivered) refused(now instant) {
	if took := now.sub(d.since); d.since > 0 && d.got > 0 && took > 0 {
		d.growth = max(d.growth/2, slowest)
		if d.rate == 0 {
			d.growth = fastest
		}
		d.rate = under * float64(d.got) / took.Seconds()
		d.from, d.paced = now, now
	}
	d.since, d.got = now, 0
}
