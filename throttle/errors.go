package throttle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/throttle/internal/readable"
)

// Why a claim was refused. Each [*Error] wraps one of these.
var (
	ErrWouldWait  = errors.New("would have to wait")                            // the claim could go later, but not now, and must not wait
	ErrMaxWait    = errors.New("wait over MaxWait")                             // the wait would be longer than MaxWait
	ErrStandstill = errors.New("nothing can go within MaxStandstill")           // not one token comes within MaxStandstill, even with nobody ahead
	ErrDeadline   = errors.New("wait past the deadline")                        // the wait would not end before the context's deadline, which http.Client.Timeout sets too, or so late that the answer of a Transport's request would come after it
	ErrQueueFull  = errors.New("queue is full")                                 // MaxQueue claims wait already, or the line costs as much as a Quota's Queue
	ErrTooLarge   = errors.New("cost above what the quota ever grants at once") // the cost is above what a quota ever grants at once (its Burst or its N), so no wait helps
	// ErrUnit: a unit of Claim.Costs is nearly that of a quota, such as "token" beside "tokens": see
	// Claim.Costs. Or Wait or Allow were called, which claim requests alone and do not say when they end, and
	// there is a quota in another unit, or one that bounds what is in flight.
	ErrUnit     = errors.New("claim does not fit a quota")
	ErrClosed   = errors.New("closed")   // Limiter.Close was called
	ErrCanceled = errors.New("canceled") // the caller's context or Cancel channel ended the wait, or had ended before it
)

// ErrInvalid is what errors.Is finds in an error about a field of a Limiter or of a Claim that is invalid, or
// about quotas that are. Nothing is granted until that is mended: no wait helps, nor another attempt. Such an
// error is no [*Error].
var ErrInvalid = fields.ErrInvalid

// errDismissed ends a waiter whose claim belongs in another bucket now. It is never wrapped.
var errDismissed = errors.New("throttle: dismissed")

// isDismissed is errors.Is for errDismissed, which would unwrap each *Error, at the cost of an allocation.
func isDismissed(err error) bool { return err == errDismissed } //nolint:errorlint // see above

// errAbandoned ends a waiter for which nobody waits any more.
var errAbandoned = errors.New("throttle: abandoned")

// Cause is what a claim has to wait for, as an identifier: for metrics, logs and JSON. With a blank for each _,
// it is what the text of an error says.
type Cause string

// The causes of a wait.
const (
	CausePace            Cause = "pace"              // a configured quota
	CauseSpread          Cause = "spread"            // a share of what remains, for the time until a far reset; see Spend
	CauseWarmUp          Cause = "warm_up"           // a configured quota that warms up
	CauseInFlight        Cause = "in_flight"         // a quota that bounds what is under way, or such a limit of the server
	CauseHold            Cause = "hold"              // the server refused, and said for how long or did not; or Pause was called
	CauseWindowUsedUp    Cause = "window_used_up"    // the server says that nothing remains of a limit
	CauseSlowStart       Cause = "slow_start"        // one request goes first, and others when its answer has come
	CauseStoreAsked      Cause = "store_asked"       // the reply of a Store
	CauseStoreNotReached Cause = "store_not_reached" // a Store that cannot be reached
)

// Wait is a part of the time that a claim has waited: for how long it waited for one cause. At each instant,
// that is what the first in its line waited for, as far as was known then.
type Wait struct {
	Bucket string        // name of the Limiter that delayed the claim: the one that was asked, or one above it
	Label  string        // of that Limiter
	Cause  Cause         // what the claim waited for; CauseHold also while Group.Update changed the bucket
	Quota  string        // the quota or limit that the claim waited for, as text; empty if none in particular
	For    time.Duration // how long
}

// Error says that a Limiter, not the server, refused a claim, and why.
//
// Wait and At are what the server said, where it said that; and for ErrStandstill, when one token could go. The
// server may be asked sooner, after MaxHold. Bounds (MaxWait, MaxStandstill, a deadline) are compared with the
// earlier instant: a claim that may be the one that goes to ask is not refused. Where only an answer ends the
// wait ([CauseSlowStart], [CauseInFlight]), Wait is zero and At the present, since the answer may come any
// moment: a caller that sleeps for Wait and tries again needs a least pause of its own.
//
// errors.Is finds the sentinel in Err. If the context ended the wait, errors.Is also finds the context's error
// and its cause. If the wait would outlast the deadline of the context (ErrDeadline), errors.Is also finds
// context.DeadlineExceeded, and no cause: a context has none before it ends. In both cases, Timeout reports
// whether it is a deadline.
type Error struct {
	Bucket string        // name of the Limiter that delayed the claim
	Quota  string        // the quota or limit that delayed the claim, as text; empty if none in particular
	Cause  Cause         // what the claim had to wait for; empty if nothing
	Wait   time.Duration // how long the wait would have been from then on; zero if not known, as for an answer to come or a Store to be back
	At     time.Time     // when the claim would have gone; zero if not known
	Cost   int64         // what was claimed, in Unit
	Unit   string        // of Cost: for ErrTooLarge that of the quota, for ErrUnit as it was claimed; empty for requests, in which all others are
	Err    error         // ErrWouldWait, ErrMaxWait, …

	ctxErr, cause error  // Err of the context that ended, or would have ended, the wait; and its Cause, which it has when it has ended
	detail        string // what the text says after that of Err

	tooMuch string // what was claimed, if that is above what goes at once, of ErrTooLarge or in an outage of the Store; how much that is, and what to do
	trouble error  // of the Store; not wrapped, since it may be a timeout that has nothing to do with the caller's
}

// Error implements error.
func (e *Error) Error() string {
	return readable.Refusal{Bucket: e.Bucket, Why: e.Err, Detail: e.detail, Cause: string(e.Cause), Quota: e.Quota, TooMuch: e.tooMuch, TooLarge: errors.Is(e.Err, ErrTooLarge), Cost: e.Cost, Wait: e.Wait, Behind: [...]error{e.trouble, e.cause}}.String()
}

// Unwrap returns the sentinel and, if there are any, the context's error and its cause.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.ctxErr, e.cause}, func(err error) bool { return err == nil })
}

// Timeout reports whether a deadline is the reason, as net.Error and url.Error do.
func (e *Error) Timeout() bool {
	return errors.Is(e.ctxErr, context.DeadlineExceeded) || errors.Is(e.cause, context.DeadlineExceeded)
}
