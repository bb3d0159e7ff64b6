package limit

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Due is when a claim may go, and what it waits for until then.
type Due struct {
	At         monotime.Time
	Unreserved monotime.Time // when it could go but for what is reserved: until then it stands in the way of others
	Cause      Cause
	Quota      string // which quota or limit it waits for; empty if none in particular
	Cost       int    // what was asked for of the quota, if Never
	Never      bool   // no wait helps: the cost is above what the quota ever grants
}

// Cause is what a claim waits for.
type Cause string

// The causes.
const (
	Pace      Cause = "pace"
	WarmUp    Cause = "warm-up"
	InFlight  Cause = "in flight"
	Hold      Cause = "hold"
	Window    Cause = "window used up"
	SlowStart Cause = "slow start"
	Store     Cause = "store not reached"
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

// later returns d with the quota that holds a claim up until at.
func (d Due) later(at monotime.Time, q *quota.Quota) Due {
	return Due{At: at, Unreserved: d.Unreserved, Cause: CauseOf(q), Quota: q.Name}
}
