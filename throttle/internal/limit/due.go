package limit

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Due is when a claim may go, and what it waits for until then.
type Due struct {
	At         monotime.Time
	Said       monotime.Time // until when a server said that nothing goes, if that is later than At: then a request finds out before
	Unreserved monotime.Time // when it could go but for what is reserved: until then it stands in the way of others
	Cause      Cause
	Quota      string // which quota or limit it waits for; empty if none in particular
	Cost       int64  // what was asked for of the quota, if Never
	Never      bool   // no wait helps: the cost is above what the quota ever grants
}

// Cause is what a claim waits for.
type Cause string

// The causes.
const (
	Pace      Cause = "pace"
	Spaced    Cause = "spread"
	WarmUp    Cause = "warm_up"
	InFlight  Cause = "in_flight"
	Hold      Cause = "hold"
	Window    Cause = "window_used_up"
	SlowStart Cause = "slow_start"
	Asked     Cause = "store_asked"
	Store     Cause = "store_not_reached"
)

// CauseOf returns what a claim waits for if it waits for q.
func CauseOf(q *quota.Quota) Cause {
	switch {
	case q.WarmUp > 0:
		return WarmUp
	case q.Kind.Concurrent():
		return InFlight
	}
	return Pace
}

// Until puts d off until at, because of a quota or limit; until said, if that is later, by what a server
// says. If something else was said to last longer, that remains the cause.
func (d *Due) Until(at, said monotime.Time, cause Cause, quota string) {
	longer := d.Said > max(said, at)
	if d.At = at; longer {
		return
	}
	if d.Said = said; said <= at {
		d.Said = 0
	}
	d.Cause, d.Quota, d.Cost, d.Never = cause, quota, 0, false
}

// Reported is when the claim may go as far as is said: later than At if the server said so.
func (d *Due) Reported() monotime.Time { return max(d.At, d.Said) }

// later puts d off until at, because of a quota.
func (d *Due) later(at monotime.Time, q *quota.Quota) { d.Until(at, at, CauseOf(q), q.Name) }

// first puts d off until others have shown first what claims cost of a quota, at the latest at an instant.
// Their answers may come any moment: see Stack.Due.
func (d *Due) first(at monotime.Time, q *quota.Quota, optimist bool) {
	switch {
	case at <= d.At:
	case !optimist:
		d.Until(at, at, SlowStart, q.Name)
	case d.Cause == "":
		d.Cause, d.Quota = SlowStart, q.Name
	}
}
