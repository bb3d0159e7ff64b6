package pacer

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// Trace is a set of hooks. Any of them may be nil. Hooks run in the goroutine of the request, with no lock
// held, and delay the request while they run; hooks of different requests may run at the same time. A hook
// must not modify the request.
type Trace struct {
	// Queued is called before a request waits in line. In mode ModeObserve it is called, before the request is
	// sent, for a request that should have waited.
	Queued func(Queued)

	// NotSent is called when pacer does not send a request.
	NotSent func(NotSent)

	// Learned is called when an answer said something about limits.
	Learned func(Learned)

	// Held is called when an answer is a refusal after which its bucket is held.
	Held func(Held)

	// Retrying is called right before a request is sent again, when it has waited for its delay and in line.
	Retrying func(Retrying)

	// GaveUp is called when a request that was refused or failed is not sent again, although it could be.
	GaveUp func(GaveUp)
}

// Queued describes a request that cannot go now.
type Queued struct {
	Request *http.Request
	Bucket  string         // the name of the bucket that stands in the way
	Cause   throttle.Cause // what the request waits for
	Quota   string         // the quota or limit that the request waits for; empty if it waits for something else
	Wait    time.Duration  // how long the request will wait, as projected now
}

// NotSent describes a request that pacer did not send.
type NotSent struct {
	Request *http.Request
	Bucket  string
	Err     error // a *throttle.Error, or what is wrong with the configuration
}

// Learned describes what an answer said about limits.
type Learned struct {
	Request *http.Request
	Bucket  string
	Limits  []headers.Limit
}

// Held describes an answer after which its bucket grants nothing for a while.
type Held struct {
	Request *http.Request
	Bucket  string
	Status  int           // of the answer
	For     time.Duration // how long the bucket is held from now on
}

// Retrying describes a request that is sent again.
type Retrying struct {
	Request *http.Request
	Bucket  string
	Attempt int           // the number of the attempt that has just ended, from 1
	Refusal bool          // true if the server refused the request as too early; false if it failed
	Status  int           // of the last answer; zero if there was no answer
	Err     error         // of the last attempt; nil if there was an answer
	Delay   time.Duration // the backoff of a failure, which is over; a refusal waits in line instead
}

// GaveUp describes a request that is not sent again.
type GaveUp struct {
	Request  *http.Request
	Bucket   string
	Attempts int    // how often the request was sent
	Status   int    // of the last answer, which the caller gets; zero if there was no answer
	Reason   Reason // why the request is not sent again
	Err      error  // of the last attempt; nil if there was an answer

	// Because is the error behind the Reason: the *throttle.Error of a request that would have to wait for
	// too long, the error of a context that has ended, or the error of GetBody or PrepareRetry. It is nil
	// if the Reason says it all.
	Because error
}

// Reason is why a request that was refused or failed is not sent again.
type Reason int

// The reasons. docs/waiting.md says what to change if a reason comes too often.
const (
	ReasonAttempts Reason = iota + 1 // it was sent MaxAttempts times
	ReasonRefusals                   // the server has refused it more than MaxRefusals times
	ReasonHint                       // the answer asks for a wait over MaxStandstill or MaxWait; of a refusal that holds its bucket see ReasonWait
	ReasonWait                       // its bucket does not grant it, mostly since the wait would be too long; Because says why
	ReasonDeadline                   // the next attempt would miss the deadline of its context
	ReasonElapsed                    // the next attempt would begin later than MaxElapsed
	ReasonBudget                     // the retry budget of the bucket is used up
	ReasonBackoff                    // the Backoff, or the BackOff of NewBackOff, says to stop
	ReasonBody                       // its body cannot be sent again: there is no GetBody, and the body is longer than BufferBody
	ReasonNested                     // a Transport above sends it again
	ReasonCanceled                   // its context has ended; Because says why
	ReasonPrepare                    // GetBody or PrepareRetry has returned an error; Because is that error
)

var reasons = [...]string{
	"", "attempts", "refusals", "hint", "wait", "deadline", "elapsed", "budget", "backoff", "body", "nested", "canceled", "prepare",
}

// String returns the name of the constant without the type, in lower case: "attempts".
func (r Reason) String() string {
	if r > 0 && int(r) < len(reasons) {
		return reasons[r]
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// queued returns the event of a request that waits as f says.
func queued(req *http.Request, f throttle.Forecast) Queued {
	return Queued{Request: req, Bucket: f.Bucket, Cause: f.Cause, Quota: f.Quota, Wait: f.Wait}
}

func (t *Trace) queued(q Queued) {
	if t != nil && t.Queued != nil {
		t.Queued(q)
	}
}

func (t *Trace) notSent(n NotSent) {
	if t != nil && t.NotSent != nil {
		t.NotSent(n)
	}
}

// learned passes on a copy of limits. Since only the copy escapes, the limits of an answer need not leave
// the stack if there is no hook.
func (t *Trace) learned(req *http.Request, bucket string, limits []headers.Limit) {
	if t != nil && t.Learned != nil && len(limits) > 0 {
		t.Learned(Learned{Request: req, Bucket: bucket, Limits: slices.Clone(limits)})
	}
}

func (t *Trace) held(h Held) {
	if t != nil && t.Held != nil {
		t.Held(h)
	}
}

func (t *Trace) gaveUp(g GaveUp) {
	if t != nil && t.GaveUp != nil {
		t.GaveUp(g)
	}
}

func (t *Trace) retrying(r Retrying) {
	if t != nil && t.Retrying != nil {
		t.Retrying(r)
	}
}
