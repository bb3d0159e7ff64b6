package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// dearth is what became of requests that cost more than what remained of a limit. Such a request keeps its
// place, and the others wait behind it, until as much is back. But so much may never remain, whatever the
// server states, or be taken by others each time: then all would wait for looks that come ever later.
type dearth struct {
	since monotime.Time // when one was refused first, since one as dear was served
	n     int           // the most that one has cost since; zero if none was refused
	over  bool          // that lasts for longer than dearthFor: nobody waits behind such a request any more
}

// dearthFor is for how long so much is waited for: as long as a window of a minute takes to be back, with looks
// that double.
const dearthFor = 2 * time.Minute

// refuse takes in that a request was refused which costs more than what remains.
func (d *dearth) refuse(o *outcome) {
	if d.n == 0 {
		d.since = o.now
	}
	d.n, d.over = max(d.n, o.n), o.now.Sub(d.since) > dearthFor
}

// serve takes in that a request of a cost was served.
func (d *dearth) serve(n int) {
	if n >= d.n {
		*d = dearth{}
	}
}
