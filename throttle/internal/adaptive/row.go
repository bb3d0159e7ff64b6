package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// row is what a server that states nothing served without a refusal in between. It says when to look again after the row, and when
// the next one may be over.
//
// A window that is used up comes back a whole number of seconds after it began, since nobody configures other windows; and it
// began with the row. Buckets come back sooner: the first looks, after 100 and 200 ms, are for these. From then on, each
// look comes when nothing was served for half as long again as at the look before, at the next whole second of the row: of a row that
// was served at once after 1, 2, 3, 5, 8, 12, 18, 27, 41 and 62 seconds. With holds that double, half of a window was lost now and then.
// Where nothing was served for lateFrom before the row, those for buckets are left out after it.
//
// A window also has as many requests in each row. So a second row is expected to end where the first one did (over).
//
// In come requests that were served (serve, count) and refusals (refuse). Out comes how long the next hold is (next), and whether a slow
// start is to begin again in the row (over).
type row struct {
	from    monotime.Time // the first request of it was served; zero if there is none
	refused monotime.Time // the first refusal after it; zero if it goes on
	served  int           // tokens
	late    bool          // nothing was served for lateFrom before it
	before  int           // tokens served in the row before, if these were leastRow; zero if they do not count any more
}

const (
	// shortLooks is how many looks after a row come for buckets.
	shortLooks = 2

	// lateFrom is for how long nothing is served where a window comes back, and no bucket. With half a second, an estimated window of 50
	// in 2 s takes 1.11 times the least, and not 1.10. What it is worth stands in internal/tests/matrix/README.md.
	lateFrom = time.Second
)

// serve takes in that a request was served, for n tokens.
func (r *row) serve(now monotime.Time, n int) {
	switch {
	case r.refused != 0:
		if r.served >= leastRow { // less is what looks have found
			r.before = r.served
		}
		*r = row{from: now, before: r.before, late: r.served > 0 && now.Sub(r.refused) >= lateFrom}
	case r.from == 0:
		r.from = now
	}
	r.served += n
}

// lasted returns for how long requests have been served without a refusal, after the first one was served.
func (r *row) lasted(now monotime.Time) time.Duration {
	if r.from == 0 || r.refused != 0 {
		return 0
	}
	return now.Sub(r.from)
}

// count takes in n tokens of requests that were served while nothing was known.
func (r *row) count(n int) {
	if r.refused == 0 {
		r.served += n
	}
}

// over reports, once in a row, whether as many are served or in flight as the row before had: a window is used up now.
func (r *row) over(inFlight int) bool {
	if r.before == 0 || r.refused != 0 || r.served+inFlight < r.before {
		return false
	}
	r.before = 0
	return true
}

// refuse takes in a refusal.
func (r *row) refuse(now monotime.Time) {
	if r.refused == 0 {
		r.refused = now
	}
}

// next returns for how long nothing goes after the n-th refusal in a row, if that is unsaid(n) where there was no row. Later says that looks
// for buckets may be left out.
func (r *row) next(now monotime.Time, n int, later bool) time.Duration {
	hold := unsaid(n)
	if n <= shortLooks && (!later || !r.late) || hold > longestStretch || r.from == 0 || r.refused == 0 {
		return hold
	}
	lasted := now.Sub(r.from)
	look := lasted + max(now.Sub(r.refused)/2, firstHold)
	return min((look+time.Second-1).Truncate(time.Second)-lasted, longestStretch)
}
