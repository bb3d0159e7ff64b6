package pace

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// row is what a server that states nothing served without a refusal in between. It says when to look again
// after the row, and when the next one may be over.
//
// A window that is used up comes back a whole number of seconds after it began, since nobody configures other
// windows; and it began with the row. Each look comes when nothing was served for half as long again as at the
// look before, at the next whole second of the row, and none passes over a usual window: of a row that was
// served at once after 1, 2, 3, 5, 8, 10, 15, 23, 30, 45 and 60 seconds. With holds that double, half of a
// window was lost now and then. A look in vain is one more refusal, which weighs the less the more are served.
// So the more were served in the row, the closer together are the looks (apart). But a request is refused only
// so often before its caller is told. So they are closer together only as far as others look in turns, and each
// request by itself no more often than if it were alone.
//
// Buckets come back sooner. So the first looks, after 100 and 200 ms, are for these. Where a pace had risen,
// and so is the reason of the refusal, the first one comes when a token is back at the pace, if that is sooner.
// Where nothing was served for lateFrom before the row, looks for buckets are left out after it.
//
// A window also has as many requests in each row. So a second row is expected to end where the first one did
// (over).
//
// In come requests that were served (serve, count) and refusals (refuse). Out comes when the next look is
// (look), and whether a slow start is to begin again in the row (over).
type row struct {
	from    monotime.Time // the first request of it was served; zero if there is none
	refused monotime.Time // the first refusal after it; zero if it goes on
	served  int           // tokens
	late    bool          // nothing was served for lateFrom before it
	before  int           // tokens served in the row before, if these were leastRow; zero if they do not count any more
}

const (
	// leastRow is how many must be served in a row to be expected again.
	leastRow = 8

	// shortLooks is how many looks after a row come for buckets, each after twice as long.
	shortLooks = 2

	// leastLook is how far away a look is at least, but for the first one where a pace had risen, before it is
	// made a whole second of the row; where a usual window is over sooner, the look is that late for it.
	// longestLook is how far away it is at most, until nothing was served for manyLooks. From then on, each
	// comes after half as long again.
	leastLook   = 100 * time.Millisecond
	longestLook = 30 * time.Second
	manyLooks   = 5 * time.Minute

	// looseRow is how many may be served in a row after which looks are not closer together. With 12, long runs
	// of the matrix take longer, and with 48, windows are found later: see internal/tests/matrix/tried.md.
	looseRow = 24

	// lateFrom is for how long nothing is served where a window comes back, and no bucket. With half a second,
	// an estimated window of 50 in 2 s takes 1.11 times the least, and not 1.10. What it is worth stands in
	// internal/tests/matrix/tried.md.
	lateFrom = time.Second
)

// usual are the windows of ten seconds and more that people configure most. Of shorter ones, no whole second is
// far from a look.
var usual = [...]time.Duration{
	10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 24 * time.Hour,
}

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

// count takes in n tokens of requests that were served while nothing was known.
func (r *row) count(n int) {
	if r.refused == 0 {
		r.served += n
	}
}

// over reports, once in a row, whether as many are served or in flight as the row before had: a window is used
// up now.
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

// look returns for how long nothing goes after the n-th refusal in a row, and whether the row says so. Later
// says that looks for buckets may be left out. Token is how long a token takes at the pace that is left after
// the refusal; monotime.Longest if the pace is not the reason of the refusals. So many others wait to look in
// turns.
func (r *row) look(now monotime.Time, n int, later bool, token time.Duration, others int) (hold time.Duration, ok bool) {
	if r.from == 0 || r.refused == 0 {
		return 0, false
	}
	if n <= shortLooks && (!later || !r.late) {
		if n <= 1 {
			return min(leastLook, max(token, 1)), true
		}
		return leastLook << (n - 1), true
	}
	lasted, unserved := now.Sub(r.from), now.Sub(r.refused)
	look := lasted + max(time.Duration(r.apart(others)*float64(unserved)), leastLook)
	hold = (look + time.Second - 1).Truncate(time.Second) - lasted
	if hold = min(hold, longestLook); unserved >= manyLooks {
		hold = max(hold, unserved/2)
	}
	for _, window := range usual {
		if lasted < window {
			hold = min(hold, max(window-lasted, leastLook))
			break
		}
	}
	return hold, true
}

// apart is for which part of the time for which nothing was served nothing goes before the next look: a half,
// and a quarter where four times looseRow were served; but a half over all that look in turns at least.
func (r *row) apart(others int) float64 {
	return max(math.Sqrt(looseRow/float64(max(r.served, looseRow))), 1/float64(max(others, 0)+1)) / 2
}
