package pacer

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/logline"
	"github.com/gopacer/pacer/internal/undo"
	"github.com/gopacer/pacer/internal/waits"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Trace is a set of hooks. Any of them may be nil. Hooks, but for StoreEvent, run in the goroutine of the
// request, with no lock held, and delay the request while they run; hooks of different requests may run at the
// same time. A hook must not modify the request. Log returns a Trace that writes a log, and Traces makes one of
// several.
type Trace struct {
	// Queued is called before a request waits in line, and again if it has to line up anew, after SetQuotas,
	// say. In ModeObserve it is called, before the request is sent, for a request that should have waited.
	Queued func(Queued)

	// Went is called when a request goes: before each attempt, or of one that Acquire has waited for, when
	// Acquire returns.
	Went func(Went)

	// NotSent is called when pacer does not send a request, unless the configuration or the request is invalid:
	// then only the caller is told. In ModeObserve it is called, before the request is sent, for one that would
	// not have been: it would wait for longer than MaxWait, or must not wait (a negative MaxWait or MaxQueue);
	// nothing can go within MaxStandstill; its cost is too large; or a unit of its cost is nearly that of a
	// quota, as "token" beside "tokens". Deadlines and the number of those that wait do not count.
	NotSent func(NotSent)

	// Answered is called at the end of each attempt, when its answer begins or there is none, and after
	// Learned.
	Answered func(Answered)

	// Learned is called when an answer said something about limits.
	Learned func(Learned)

	// Retrying is called right before a request is sent again, when it has waited for its delay and in line.
	Retrying func(Retrying)

	// GaveUp is called when a request that was refused or failed is not sent again, though another one after
	// the same outcome might be.
	GaveUp func(GaveUp)

	// StoreEvent is called when Shared.Store can no longer be reached, when it can be reached again, when it is
	// too slow, has lost a bucket, or another process shares a bucket by other quotas. Calls for one bucket
	// come one after the other, in a goroutine of their own and not in that of a request: a panic of StoreEvent
	// ends the program.
	StoreEvent func(throttle.StoreEvent)
}

// Event is what a hook of a request is told in any case.
type Event struct {
	// Request is what RoundTrip or Acquire was given, or a copy of that where it gets an Idempotency-Key or its
	// body is kept (Retry.IdempotencyKey, Retry.BufferBody). It is the same in all attempts.
	Request *http.Request

	// Bucket is the name of the request's most specific bucket; of Queued, that of the bucket that stands in
	// the way.
	Bucket string

	// Label is for logs and metrics: the host of the request's most specific bucket, or its pattern, and at
	// which host unless the pattern says so. It has no values of wildcards and no digest of what Key returned,
	// so it shows no part of a URL but the host.
	Label string

	Mode Mode // that of the request. In ModeObserve, what the hook is told would have been
}

// Queued describes a request that cannot go now.
type Queued struct {
	Event
	Cause throttle.Cause // what the request waits for
	Quota string         // the quota or limit that the request waits for; empty if it waits for something else
	Wait  time.Duration  // how long the request will wait, as projected now; zero if an answer ends the wait, or while buckets are being changed
}

// Went describes a request that goes.
type Went struct {
	Event
	Attempt int             // the number of the attempt, from 1
	Wait    time.Duration   // how long the request waited in line for this attempt: the sum of Waits, exactly
	Waits   []throttle.Wait // what it waited for: each bucket, cause and quota once, the longest first; nil if it did not wait
}

// NotSent describes a request that pacer did not send.
type NotSent struct {
	Event
	Err   error           // a *throttle.Error
	Wait  time.Duration   // how long it waited in vain: the sum of Waits, exactly
	Waits []throttle.Wait // and what for; see Went
}

// Answered describes how an attempt has ended.
type Answered struct {
	Event
	Attempt int           // the number of the attempt, from 1
	Status  int           // of the answer; zero if there is none
	Err     error         // why there is no answer; nil if there is one
	Latency time.Duration // from when the request went until the answer began, or what Learn.Bodies has selected of it was read
	Costs   quota.Costs   // what it was charged, as far as is known: as claimed, or what Spent said. Bytes of bodies come later
	Refused bool          // the server refused the request as too early
	Held    time.Duration // for how long nothing goes from now on because the bucket is held, Learn.MaxHold at most: then one request looks. Zero if it is not held
}

// Learned describes what an answer said about limits.
type Learned struct {
	Event
	Limits  []headers.Limit // what the answer says, in its headers or in what Learn.Bodies has selected: one at least
	Beliefs []string        // what is believed of the bucket now: see throttle.State
}

// Retrying describes a request that is sent again.
type Retrying struct {
	Event
	Attempt int           // the number of the attempt that has just ended, from 1
	Refused bool          // true if the server refused the request as too early; false if it failed
	Status  int           // of the last answer; zero if there was no answer
	Err     error         // of the last attempt; nil if there was an answer
	Delay   time.Duration // how long it has backed off, out of line: after a failure, or a refusal of this request alone; else zero
}

// GaveUp describes a request that is not sent again.
type GaveUp struct {
	Event
	Attempts int    // how often the request was sent
	Status   int    // of the last answer, which the caller gets unless its context has ended; zero if there was no answer
	Reason   Reason // why the request is not sent again
	Err      error  // of the last attempt; nil if there was an answer

	// Because is the error behind the Reason: the *throttle.Error of a request that would have to wait for too
	// long, the error of a context that has ended, or the error of GetBody or PrepareRetry. It is nil if the
	// Reason says it all.
	Because error

	Wait  time.Duration   // how long it waited in line since the last attempt
	Waits []throttle.Wait // and what for; see Went
	Delay time.Duration   // how long it has backed off since then, out of line; zero if it has not; see Retrying
}

// Reason is why a request that was refused or failed is not sent again, as an identifier: for metrics, logs and
// JSON. Zero, the empty text, is none: only Call.GaveUp returns it.
type Reason string

// The reasons. docs/waiting.md says what to change if a reason comes too often.
const (
	ReasonAttempts Reason = "attempts" // it has failed as often as MaxAttempts allows
	ReasonRefusals Reason = "refusals" // the server has refused it more than MaxRefusals times
	ReasonHint     Reason = "hint"     // the answer asks for a wait over MaxStandstill or MaxWait; of a refusal that holds its bucket see ReasonWait
	ReasonWait     Reason = "wait"     // its bucket does not grant it, mostly since the wait would be too long; Because says why
	ReasonDeadline Reason = "deadline" // the next attempt would miss the deadline of its context
	ReasonElapsed  Reason = "elapsed"  // the next attempt would begin later than MaxElapsed
	ReasonBudget   Reason = "budget"   // the retry budget of the bucket is used up
	ReasonBackoff  Reason = "backoff"  // the Backoff, or the Sequence of NewSequence, says to stop
	ReasonMethod   Reason = "method"   // it failed, and may have been carried out: its method is not idempotent, and it has no Idempotency-Key
	ReasonBody     Reason = "body"     // its body cannot be sent again: there is no GetBody, and the body is longer than BufferBody; or there is a Trailer
	ReasonNested   Reason = "nested"   // a Transport above sends it again
	ReasonCanceled Reason = "canceled" // its context has ended; Because says why
	ReasonPrepare  Reason = "prepare"  // GetBody or PrepareRetry has returned an error, or GetBody no body; Because says why
)

// Log returns a Trace that writes a log. A line at level Info is for a wait of over a second, and for a store
// that can be reached again. A line at level Warn is for a refusal by a server; for a request that is not sent,
// or not sent again (at Info if its context was canceled); and for a store that cannot be reached, is too slow,
// has lost a bucket, or has it with other quotas, too. For each Label, there is at most one line of a kind in a
// second, with a count of those that were left out. A line shows the method and the Label, but nothing else of
// a request. Of an error that is not pacer's own it shows the kind, such as "timeout" or the Go type
// "*errors.errorString", and not the text, which may quote a URL and what is secret in it; an error that
// implements slog.LogValuer is shown as it says. If logger is nil, it is slog.Default().
//
//	transport := &pacer.Transport{Trace: pacer.Log(slog.Default())}
func Log(logger *slog.Logger) *Trace {
	l := logline.New(logger)
	return &Trace{
		Went:     func(e Went) { l.Waited(e.logged(), e.Wait, e.Waits) },
		NotSent:  func(e NotSent) { l.NotSent(e.logged(), e.Err, e.Wait, e.Waits) },
		Answered: func(e Answered) { l.Answered(e.logged(), e.Refused, e.Status, e.Held) },
		Retrying: func(e Retrying) { l.BackedOff(e.logged(), e.Delay, e.Refused, e.Status, e.Err) },
		GaveUp: func(e GaveUp) {
			l.GaveUp(e.logged(), logline.End{Reason: string(e.Reason), Attempts: e.Attempts, Status: e.Status, Err: e.Err, Because: e.Because, Delay: e.Delay, Wait: e.Wait, Waits: e.Waits})
		},
		StoreEvent: l.StoreEvent,
	}
}

// logged is what a line of a log says of the request.
func (e *Event) logged() logline.Request {
	return logline.Request{Context: e.Request.Context(), Method: e.Request.Method, Label: e.Label, Observed: e.Mode == ModeObserve}
}

// Traces returns a Trace that calls the hooks of several, in their order. A nil Trace has none.
func Traces(traces ...*Trace) *Trace {
	return &Trace{
		Queued:     waits.Hooks(traces, func(t *Trace) func(Queued) { return t.Queued }),
		Went:       waits.Hooks(traces, func(t *Trace) func(Went) { return t.Went }),
		NotSent:    waits.Hooks(traces, func(t *Trace) func(NotSent) { return t.NotSent }),
		Answered:   waits.Hooks(traces, func(t *Trace) func(Answered) { return t.Answered }),
		Learned:    waits.Hooks(traces, func(t *Trace) func(Learned) { return t.Learned }),
		Retrying:   waits.Hooks(traces, func(t *Trace) func(Retrying) { return t.Retrying }),
		GaveUp:     waits.Hooks(traces, func(t *Trace) func(GaveUp) { return t.GaveUp }),
		StoreEvent: waits.Hooks(traces, func(t *Trace) func(throttle.StoreEvent) { return t.StoreEvent }),
	}
}

var none Trace // without hooks

// trace is the Trace of t; none if it has none.
func (t *Transport) trace() *Trace { return cmp.Or(t.Trace, &none) }

// event returns what hooks are told of a request in any case.
func (trip *trip) event(l *throttle.Limiter) Event {
	return Event{Request: trip.req, Bucket: l.Name, Label: l.Label, Mode: trip.mode}
}

// tellWent tells Trace that the request goes, with the grant g.
func (t *Transport) tellWent(trip *trip, g *throttle.Grant) {
	if t.Trace == nil || t.Trace.Went == nil {
		return
	}
	undo.OnPanic(func() {
		t.Trace.Went(Went{Event: trip.event(ofThrottle.Granter(g)), Attempt: trip.resends + 1, Wait: waits.Sum(trip.causes), Waits: trip.causes})
	}, g.Cancel)
}

// tellNotSent counts a request that is not sent, and tells Trace of that, or in ModeObserve of one that would
// not have been.
func (t *Transport) tellNotSent(trip *trip, err error) {
	if trip.mode != ModeObserve {
		t.counts.notSent.Add(1)
	}
	if hook := t.trace().NotSent; hook != nil {
		hook(NotSent{Event: trip.event(trip.limiter), Err: err, Wait: waits.Sum(trip.causes), Waits: trip.causes})
	}
}

// tellAnswered tells Trace how an attempt with the grant g has ended: with an error, or an answer, what that
// cost, and its outcome.
func (t *Transport) tellAnswered(trip *trip, g *throttle.Grant, err error, spent quota.Costs, o throttle.Outcome) {
	if hook := t.trace().Answered; hook != nil {
		costs := waits.Costs(trip.claim.N, trip.claim.Costs, spent)
		hook(Answered{Event: trip.event(ofThrottle.Granter(g)), Attempt: trip.resends + 1, Status: trip.status(), Err: err, Latency: trip.latency, Costs: costs, Refused: o.Refused, Held: o.Held})
	}
}

// tellLearned tells Trace of a copy of limits. Since only the copy escapes, the limits of an answer need not
// leave the stack if there is no hook.
func (t *Transport) tellLearned(trip *trip, l *throttle.Limiter, limits []headers.Limit) {
	if hook := t.trace().Learned; hook != nil && len(limits) > 0 {
		hook(Learned{Event: trip.event(l), Limits: slices.Clone(limits), Beliefs: l.State().Beliefs})
	}
}
