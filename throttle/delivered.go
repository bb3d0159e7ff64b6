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

	rows    [measured]row // the latest
	known   int           // how many there are
	more    int           // refusals since the latest, soon after one another
	guessed bool          // the rate is from less than a row
	vain    int           // how often the pace was lowered, and soon refused again
}

// row is refusals in a row, which are one signal, and what follows until the next: some
// time in which nothing is served, and what was served then.
type row struct {
	at     instant // of the first refusal
	last   instant // of the last one
	open   instant // when something was served again; zero if nothing was
	hinted bool    // the server said for how long it would refuse
	served int
}

// took returns how long the row lasted until end. Where nobody was told when the server
// would serve again, that was at some time between the last refusal and the first that
// was served.
func (r *row) took(end instant) time.Duration {
	d := end.sub(r.at)
	if !r.hinted && r.open > r.last {
		d -= r.open.sub(r.last) / 2
	}
	return d
}

const (
	// under is what is asked of the delivered rate: at exactly the server's rate,
	// the jitter of the network alone would have requests refused.
	under = 0.95
	// fastest and slowest are how fast the pace begins to rise after the first
	// refusal, and in the end: by a fifth and by a two thousandth a second. It halves
	// each time.
	fastest, slowest = 0.2, 0.0005
	// surge is by how much of itself that grows in a second without a refusal, at
	// first; it halves too. With more of it, the windows of a server are overrun in
	// turns with its holds.
	surge = 0.15
	// pause is how long nothing is asked before a measurement starts anew: a rate is
	// what a server delivers to one who asks for more.
	pause = time.Second
	// measured is over how many rows a rate is measured: what a window let through, and
	// the time until the next one, are part of it.
	measured = 4
	// few is how many are served between refusals that are one row still: a window that
	// opens lets some through before it is full again.
	few = 8
	// proven is how many are served at a pace that was right when it began to rise.
	proven = 16
	// mostVain is how often the pace is lowered if that does not help: what is measured is
	// what was delivered, and soon suffices, if it is the pace at all.
	mostVain = 4
	// overdone is by how much of what was delivered the pace at which that was refused is
	// believed to tell something.
	overdone = 1.25
)

// at returns the rate at t. The longer nothing is refused, the faster it rises: what
// was measured may have been far too low, if the server was not serving then.
func (d *delivered) at(t instant) float64 {
	s := max(t.sub(d.from), 0).Seconds()
	return d.rate * math.Exp(d.growth*s*(1+surge*d.growth/fastest*s))
}

// due returns when n may go, not before t, if ahead tokens go before.
func (d *delivered) due(t instant, ahead, n int) instant {
	if d.rate == 0 {
		return t
	}
	return max(t, d.paced.add(seconds(float64(ahead+n)/d.at(t))))
}

// take counts a grant of n to one who asked then.
func (d *delivered) take(now, asked instant, n int) {
	if d.since == 0 {
		return
	}
	if asked.sub(d.asked) > pause && asked.sub(d.since) > pause {
		d.since, d.got = now, 0
		d.begin(now)
	}
	d.asked = now
	if d.rate > 0 {
		// A late timer does not slow it down.
		d.paced = max(d.paced.add(seconds(float64(n)/d.at(now))), now.add(-lagCredit))
	}
}

// begin begins a measurement.
func (d *delivered) begin(now instant) {
	d.rows[0], d.known, d.more = row{at: now, last: now, open: now}, 1, 0
}

// serve counts what was served.
func (d *delivered) serve(now instant, n int) {
	d.got += n
	if d.known > 0 {
		r := &d.rows[d.known-1]
		r.served += n
		if r.open == 0 {
			r.open = now
		}
	}
}

// refused takes in a refusal. Hinted says that the server told for how long.
func (d *delivered) refused(now instant, hinted bool) {
	switch {
	case d.known == 0:
		d.begin(now)
		d.rows[0].open, d.rows[0].hinted = 0, hinted
	case d.got < few && (d.got == 0 || d.more < measured):
		r := &d.rows[d.known-1]
		r.last, r.open = now, 0
		if d.got > 0 {
			d.more++
		}
		switch {
		case d.rate > 0:
			d.from, d.paced = now, now
		case r.served > 0 && now > r.at:
			// It is too early to tell, but better than nothing.
			d.rate, d.growth, d.from, d.paced = under*float64(r.served)/now.sub(r.at).Seconds(), fastest, now, now
			d.guessed = true
		}
	case now > d.rows[d.known-1].at:
		d.measure(now)
		if d.known == measured {
			copy(d.rows[:], d.rows[1:])
			d.known--
		}
		d.rows[d.known] = row{at: now, last: now, hinted: hinted}
		d.known++
		d.more = 0
	}
	d.since, d.got = now, 0
}

// measure sets the rate when a row ends.
func (d *delivered) measure(end instant) {
	var served int
	var took, last time.Duration
	for i := range d.known {
		r, end := &d.rows[i], end
		if i < d.known-1 {
			end = d.rows[i+1].at
		}
		last = r.took(end)
		took += last
		served += r.served
	}
	if served == 0 || last <= 0 {
		return
	}
	rate := max(float64(served)/took.Seconds(), float64(d.rows[d.known-1].served)/last.Seconds())
	if d.rate > 0 && d.got >= proven {
		// What was delivered while the pace rose is less than what is allowed, and the
		// pace at which it was refused is more.
		rate = math.Sqrt(rate * min(max(d.at(end), rate), overdone*rate))
	}
	rate *= under
	switch {
	case d.got >= proven:
		d.vain = 0
	case rate >= d.rate || d.guessed:
	case d.vain >= mostVain:
		rate = d.rate // it is not the pace that is refused
	default:
		d.vain++
	}
	if d.growth = max(d.growth/2, slowest); d.rate == 0 || d.guessed {
		d.growth = fastest
	}
	d.rate, d.from, d.paced, d.guessed = rate, end, end, false
}
