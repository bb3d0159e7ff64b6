package pacer

import (
	"net/http"
	"slices"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/throttle"
)

// Trace is a set of hooks. Any may be nil. They are called in the goroutine of the
// request, with no lock held, and delay it for as long as they run; those of
// different requests run at the same time. Requests must not be modified.
type Trace struct {
	// Queued is called before a request waits in line. In mode Observe it is
	// called for a request that should have waited, before it is sent.
	Queued func(Queued)

	// Refused is called when pacer does not send a request.
	Refused func(Refused)

	// Learned is called when an answer spoke of limits.
	Learned func(Learned)

	// Held is called when an answer leaves its bucket held.
	Held func(Held)

	// Retrying is called before a request is sent again: for a failure before
	// its delay, for a refusal before it goes back in line.
	Retrying func(Retrying)

	// GaveUp is called when a request that was refused or failed, and that could
	// be sent again, is not.
	GaveUp func(GaveUp)
}

// Queued is a request that cannot go now.
type Queued struct {
	Request *http.Request
	Bucket  string         // that stands in the way
	Cause   throttle.Cause // what it waits for
	Quota   string         // which quota or limit, if it is one
	Wait    time.Duration  // how long, as projected
}

// Refused is a request that was not sent.
type Refused struct {
	Request *http.Request
	Bucket  string
	Err     error // a *throttle.Error
}

// Learned is what an answer said about limits.
type Learned struct {
	Request *http.Request
	Bucket  string
	Limits  []headers.Limit
}

// Held is an answer after which nothing goes for a while.
type Held struct {
	Request *http.Request
	Bucket  string
	Status  int
	For     time.Duration
}

// Retrying is a request that is sent again.
type Retrying struct {
	Request *http.Request
	Bucket  string
	Attempt int           // the number of the attempt to come: 2 for the first retry
	Refusal bool          // the server refused it as too early; else it failed
	Status  int           // of the answer; zero if there was none
	Err     error         // if there was no answer
	Delay   time.Duration // the backoff of a failure; a refusal waits in line instead
}

// GaveUp is a request that is not sent again.
type GaveUp struct {
	Request  *http.Request
	Bucket   string
	Attempts int   // how often it was sent
	Status   int   // of the last answer, which the caller gets; zero if there was none
	Err      error // if there was no answer
	Why      error // ErrAttempts, ErrBudget, …, a *throttle.Error if it would have to wait too long, or what ended the context
}

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

// learned passes on a copy, so that the limits of an answer that nobody is told of
// need not leave the stack.
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
