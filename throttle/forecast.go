package throttle

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Forecast is how long a claim would wait, and why, as it looks now, for all that it and those ahead in line
// wait for. If nothing changes, the wait is shorter in three cases alone: one ahead comes to wait behind a more
// urgent claim below and lets others pass; a quota warms up, and those ahead have waited for something else for
// a while, which is taken to have cooled it; or the server asked for longer than MaxHold, after which one
// request looks (the Wait is what the server said, as in an [Error]). The wait may be longer:
//   - Of a limit that the server states, only the next reset is known.
//   - When a hold ends, or a reset comes, one request goes first to look whether the server grants again. Those
//     behind it wait for its answer, and longer if that says so.
//   - What a claim costs that does not say it is guessed: by what those of its kind have cost in the mean, and
//     by how much they vary; by all claims, if its kind is not known.
//   - Each of several quotas is taken to delay those ahead alone, though one may have the window of another
//     begin later.
//   - Claims ahead that cost several tokens of a window, or any of a quota.EstimatedWindow, are taken to go
//     token by token, as fast as they may.
//   - A claim that costs nothing of a quota with a Debt or a WarmUp is taken to go with the first of those
//     ahead that do.
//   - Claims that have aged, or asked another bucket, count only if it is known that they go first.
//   - Of other flows, 250 claims count at most.
type Forecast struct {
	Wait   time.Duration // zero if the claim would go at once, at an answer of a server or a Store that may come any moment, or Never; see Error
	Bucket string        // name of the Limiter that delays the claim; empty if none does
	Label  string        `json:"-"` // of that Limiter
	Cause  Cause         // what the claim would wait for; empty if nothing
	Quota  string        // the quota or limit that delays the claim, as text; empty if none in particular
	Never  bool          // no wait helps: Err says why, and is ErrTooLarge, ErrUnit, ErrInvalid or ErrClosed
	Err    error         // that the claim would be refused with, if Never, or ErrStandstill; of Observe also ErrMaxWait and ErrWouldWait, but how many wait (MaxQueue) never counts
}

// delay is when a claim may go, and which bucket delays it until then.
type delay struct {
	limit.Due
	bucket *Limiter // nil if none does
}

// forecast is what a Forecast says of d.
func (d delay) forecast(now monotime.Time) Forecast {
	f := Forecast{Cause: Cause(d.Cause), Quota: d.Quota, Never: d.Never}
	if !d.Never && (d.Cause != limit.Store || d.At.Sub(now) < monotime.Longest) {
		f.Wait = d.Reported().Sub(now)
	}
	if d.bucket != nil && (d.Cause != "" || d.Never) {
		f.Bucket, f.Label = d.bucket.Name, d.bucket.Label
	}
	return f
}
