package pacer

import (
	"net/http"
	"slices"
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

	// Refused is called when pacer does not send a request.
	Refused func(Refused)

	// Learned is called when an answer said something about limits.
	Learned func(Learned)

	// Held is called when an answer is a refusal after which its bucket is held.
	Held func(Held)

	// Retrying is called before a request is sent again: for a failure before its delay, for a refusal
	// before the request goes back in line.
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

// Refused describes a request that pacer did not send.
type Refused struct {
	Request *http.Request
	Bucket  string
	Err     error // a *throttle.Error
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
	Status  int
	For     time.Duration
}

// Retrying describes a request that is about to be sent again.
type Retrying struct {
	Request *http.Request
	Bucket  string
	Attempt int           // the number of the attempt to come: 2 for the first retry
	Refusal bool          // true if the server refused the request as too early; false if it failed
	Status  int           // of the last answer; zero if there was no answer
	Err     error         // of the last attempt; nil if there was an answer
	Delay   time.Duration // the backoff of a failure; a refusal waits in line instead
}

// GaveUp describes a request that is not sent again.
type GaveUp struct {
	Request  *http.Request
	Bucket   string
	Attempts int   // how often the request was sent
	Status   int   // of the last answer, which the caller gets; zero if there was no answer
	Err      error // of the last attempt; nil if there was an answer

	// Why is ErrAttempts, ErrBudget or another error of this package, a *throttle.Error if the request
	// would have to wait too long, or the cause with which the context has ended.
	Why error
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

func (t *Trace) refused(r Refused) {
	if t != nil && t.Refused != nil {
		t.Refused(r)
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
