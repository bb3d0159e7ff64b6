package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// dearth is what became of requests that cost more than what remained of a limit. Such a request keeps its
// place, and the others wait behind it, until as much is back. But so much may never remain, whatever the
// server states: then all would wait for looks that come ever later. So nobody waits any more once the same
// remains as two minutes ago. While what remains changes, the limit comes back and others take of it: then the
// request waits on, as these may come to wait for a request as dear themselves.
//
// Two such requests that were refused one after the other say how fast the limit comes back, and so when the
// next look finds enough, if the server states no reset.
type dearth struct {
	since monotime.Time // when one was refused first, since one as dear was served
	still monotime.Time // since when the same remains
	n     int           // the most that one has cost since; zero if none was refused
	over  bool          // one of these lasts for too long: nobody waits behind such a request any more

	sent  monotime.Time // when the latest of them went
	left  int           // so much remained then
	token time.Duration // about how long a token takes to come back; zero if nobody knows
	back  monotime.Time // when as much is back as the latest wants; or when that is over, if nobody knows
}

const (
	// dearthFor is for how long so much is waited for where the same remains: as long as a window of a minute
	// takes to be back, with looks that double.
	dearthFor = 2 * time.Minute

	// dearthMost is for how long so much is waited for where others take what comes back.
	dearthMost = 5 * dearthFor

	// dearthLook bounds in what time the next look comes: others may stop to take what comes back.
	dearthLook = dearthFor / 2
)

// refuse takes in that a request was refused which costs more than what remains.
func (d *dearth) refuse(o *outcome) {
	switch {
	case d.n == 0:
		d.since, d.still = o.now, o.now
	case o.sent > d.sent && o.remaining != d.left:
		d.still = o.now
		d.measure(o.sent, o.remaining)
	case o.sent > d.sent:
		d.token = 0 // it does not come back token by token
	}
	d.n, d.over = max(d.n, o.n), o.now.Sub(d.still) >= dearthFor || o.now.Sub(d.since) > dearthMost
	d.sent, d.left = o.sent, o.remaining
	d.back = 0
	if d.token > 0 && d.still == o.now {
		d.back = o.sent.Add(min(monotime.Times(int64(o.n-o.remaining+1), d.token), dearthLook)) // Remaining is rounded down
	}
}

// next returns when the next look comes that would come at an instant if nothing were known of a dearth. No
// look is put off beyond the instant at which nobody is to wait any more.
func (d *dearth) next(now, at monotime.Time) monotime.Time {
	switch end := d.still.Add(dearthFor + time.Second); {
	case d.n == 0:
	case d.back > now:
		return d.back
	case !d.over && end > now:
		return min(at, end)
	}
	return at
}

// measure takes in that so much was there at an instant, after a request that was refused. Where less has come
// back than before, others may have taken the rest.
func (d *dearth) measure(at monotime.Time, there int) {
	if came := there - d.left; came > 0 {
		token := at.Sub(d.sent) / time.Duration(came)
		if d.token > 0 {
			token = min(token, d.token+d.token/4)
		}
		d.token = token
	}
}

// serve takes in that a request was served.
func (d *dearth) serve(o *outcome) {
	if o.n < d.n {
		return
	}
	if d.n > 0 && d.token > 0 {
		d.measure(o.sent, o.found())
	}
	*d = dearth{token: d.token}
}
