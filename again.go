package pacer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/attempt"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/delay"
	"github.com/gopacer/pacer/internal/verdict"
	"github.com/gopacer/pacer/internal/waits"
	"github.com/gopacer/pacer/throttle"
)

// exchange is a request whose first attempt was refused or failed, on its way through further attempts.
type exchange struct {
	trip                      // of the next attempt, with the answer to the latest one until the next is sent
	last      *throttle.Grant // grant of the latest attempt
	firstSent time.Time       // when the request was sent for the first time, by the monotonic clock too: the other may be set

	err   error         // of the latest attempt
	delay time.Duration // how long the next attempt has backed off, out of line

	failures int // attempts that failed
	refusals int // attempts that the server refused as too early
	delays   delay.Delays

	counted   int       // of the refusals, those that were not in vain (verdict.Verdict.Vain)
	countedAt time.Time // when the latest of these came

	// What the next attempt has, until it is sent; its request until it has ended.
	paid  bool            // the budget has paid for it
	grant *throttle.Grant // nil if it has none yet
	next  *http.Request   // nil if there is none yet
}

// stop is why a request is not sent again.
type stop struct {
	reason  Reason
	because error // as in GaveUp
}

// errElapsed is the cause of a context that ends at MaxElapsed.
var errElapsed = errors.New("pacer: MaxElapsed has passed")

// again sends a request again whose attempt with the grant g has ended so, unless that is final: see
// exchange.run. The answer is in the trip.
func (t *Transport) again(trip *trip, g *throttle.Grant, v verdict.Verdict, err error) error {
	if v.Kind == verdict.Final {
		return err
	}
	x := newExchange(trip, g, err)
	trip.resp = nil // x has it
	x.run(trip.req.Context(), v)
	trip.resp = x.resp
	return x.err
}

func newExchange(trip *trip, g *throttle.Grant, err error) *exchange {
	now := time.Now()
	trip.causes = nil // Went was told
	return &exchange{trip: *trip, last: ofThrottle.Keep(g), firstSent: now.Add(trip.firstSent(g).Sub(now)), err: err}
}

// run sends the request again if it may be, until an attempt is final or a bound is reached. It leaves the
// outcome of the latest attempt.
func (x *exchange) run(ctx context.Context, v verdict.Verdict) {
	ended := false
	defer func() {
		if !ended { // a function of the caller has panicked
			defer body.Close(nil, x.resp)
			defer x.giveBack()
			end(x.last)
		}
	}()
	var why *stop
	for why == nil && v.Kind != verdict.Final {
		if why = x.prepare(ctx, v); why == nil {
			x.last, x.resp, x.paid, x.grant = x.grant, nil, false, nil
			x.calls.addSend(x.t, x.last)
			v, x.err = x.t.attempt(x.next, &x.trip, x.last)
			x.next = nil
		}
	}
	if why != nil {
		x.giveBack()
		x.giveUp(ctx, why)
	}
	ended = true
}

// prepare does all that comes before another attempt, or returns why there is to be none.
func (x *exchange) prepare(ctx context.Context, v verdict.Verdict) (why *stop) {
	x.causes, x.delay = nil, 0
	if v.Kind == verdict.Refused && !x.nested {
		why = x.onRefusal(ctx, v)
	} else {
		why = x.onFailure(ctx, v)
	}
	if why == nil {
		why = x.acquire(ctx)
	}
	if why == nil {
		why = x.nextRequest(ctx, v.Kind == verdict.Refused)
	}
	if why == nil {
		x.resends = x.failures + x.refusals
		x.t.tellWent(&x.trip, x.grant)
	}
	return why
}

// giveBack gives back what the next attempt has, since it is not made.
func (x *exchange) giveBack() {
	if x.paid {
		x.budget().Refund()
	}
	if x.grant != nil {
		x.grant.Cancel()
	}
	next := x.next
	x.paid, x.grant, x.next = false, nil, nil
	body.Close(next, nil)
}

// onRefusal counts a refusal, and asks for the request's old place in line. If the refusal is the matter of
// this request alone, which is not to be sent again for so long, onRefusal waits for that out of line.
func (x *exchange) onRefusal(ctx context.Context, v verdict.Verdict) *stop {
	x.claim.After = x.last
	alone, now := v.After, time.Now()
	if x.refusals++; !v.Vain {
		x.counted, x.countedAt = x.counted+1, now
	}
	switch {
	case x.refusedTooOften(now, alone > 0):
		return &stop{reason: ReasonRefusals}
	case alone > 0 && !x.t.mayWait(x.maxWait, time.Since(x.firstSent), alone):
		return &stop{reason: ReasonHint}
	}
	if why := x.mayBegin(ctx, alone); why != nil || alone == 0 {
		return why
	}
	return x.sleep(ctx, alone)
}

// refusedTooOften reports whether the request is refused for good. Unless MaxRefusals is set, refusals in vain
// do not count: they say nothing of this request. They do where they have lasted for MaxStandstill, as of a
// server that is down; where more than one comes each second after the first ten, as with a MaxHold of
// milliseconds; and where the refusals are found to be the matter of this request alone.
func (x *exchange) refusedTooOften(now time.Time, alone bool) bool {
	refusals, most, bound := x.refusals, x.t.Retry.maxRefusals(), x.t.maxStandstill()
	rare := time.Duration(refusals-most)*time.Second <= now.Sub(x.firstSent)
	if x.t.Retry.MaxRefusals == 0 && !alone && rare && (bound == Forever || now.Sub(x.countedAt) < bound) {
		refusals = x.counted
	}
	return refusals > most
}

// mayBegin returns why no attempt may begin after a delay; nil if one may.
func (x *exchange) mayBegin(ctx context.Context, delay time.Duration) *stop {
	if deadline, ok := ctx.Deadline(); ok && delay > 0 && time.Until(deadline) <= delay {
		return &stop{reason: ReasonDeadline}
	}
	if most, ok := x.t.Retry.maxElapsed(); ok && (most == 0 || most-time.Since(x.firstSent) < delay) {
		return &stop{reason: ReasonElapsed}
	}
	return nil
}

// onFailure counts a failure, and waits for the backoff, or returns why there is to be no other
// attempt. A delay that the server asks for is never shortened: if it is too long, there is no other attempt.
func (x *exchange) onFailure(ctx context.Context, v verdict.Verdict) *stop {
	after := v.After
	x.failures++
	mayWait := func(d time.Duration) bool { return x.t.mayWait(x.maxWait, 0, d) }
	switch {
	case v.Kind == verdict.Unsafe:
		return &stop{reason: ReasonMethod}
	case v.Kind == verdict.Unrepeatable:
		return &stop{reason: ReasonBody}
	case x.nested:
		return &stop{reason: ReasonNested}
	case x.failures >= x.maxAttempts:
		return &stop{reason: ReasonAttempts}
	case !mayWait(after):
		return &stop{reason: ReasonHint}
	}
	d, ok, asked := x.delays.Next(&delay.Policy{Backoff: x.t.Retry.Backoff, NewSequence: x.t.Retry.NewSequence, Rand: x.t.Rand}, x.failures, x.resp, mayWait)
	switch {
	case asked:
		return &stop{reason: ReasonHint}
	case !ok:
		return &stop{reason: ReasonBackoff}
	}
	if d < after {
		// Clients that were told the same delay do not come back at the same instant.
		d = after + min(d, after/10)
	}
	if why := x.mayBegin(ctx, d); why != nil {
		return why
	}
	if x.paid = x.budget().Withdraw(); !x.paid {
		return &stop{reason: ReasonBudget}
	}
	// A retry of a failure is a new claim: it pays again, and waits at the end of the line.
	x.claim.After = nil
	return x.sleep(ctx, d)
}

// sleep waits for d. The answer at hand is kept meanwhile.
func (x *exchange) sleep(ctx context.Context, d time.Duration) *stop {
	x.readAhead()
	begun := time.Now()
	err := attempt.Sleep(ctx, d, x.claim.Cancel, throttle.ErrCanceled)
	x.delay = time.Since(begun)
	x.calls.addWaits(nil, x.delay)
	if err != nil {
		return &stop{ReasonCanceled, err}
	}
	return nil
}

// acquire waits for the next turn, until MaxElapsed at most. The answer at hand is kept meanwhile.
func (x *exchange) acquire(ctx context.Context) *stop {
	x.sentAt = time.Time{}
	within := ctx
	most, bounded := x.t.Retry.maxElapsed()
	if bounded {
		var cancel context.CancelFunc
		within, cancel = context.WithDeadlineCause(ctx, x.firstSent.Add(most+1), errElapsed) // an attempt may begin at most
		defer cancel()
	}
	end, ok := ctx.Deadline()
	elapses := bounded && (!ok || end.After(x.firstSent.Add(most)))
	g, err := x.t.acquire(within, !elapses, &x.trip, new(throttle.Grant))
	switch {
	case err == nil:
		x.grant = g
		return nil
	case errors.Is(err, context.DeadlineExceeded) && elapses:
		return &stop{ReasonElapsed, err}
	case errors.Is(err, throttle.ErrCanceled):
		return &stop{ReasonCanceled, err}
	case errors.Is(err, throttle.ErrDeadline):
		return &stop{ReasonDeadline, err}
	}
	return &stop{ReasonWait, err}
}

// budget returns the retry budget of the bucket that granted the latest attempt.
func (x *exchange) budget() *backoff.Budget { return &bucketOf(ofThrottle.Granter(x.last)).budget }

// nextRequest makes the request for the next attempt. It is always a copy: the goroutine that writes the body
// of the previous attempt may still read the previous request. Trace is told, with what kind of attempt went
// before, and the answer at hand is discarded.
func (x *exchange) nextRequest(ctx context.Context, refusal bool) *stop {
	next := x.req.Clone(withInfo(ctx, func(i *requestInfo) { i.resends = x.failures + x.refusals }))
	var err error
	switch next.Body, err = body.Again(x.req); {
	case errors.Is(err, errBodyTooLong):
		return &stop{reason: ReasonBody}
	case err != nil:
		return &stop{ReasonPrepare, err}
	}
	x.next = next
	if x.t.Retry.ResendHeader != "" {
		next.Header.Set(x.t.Retry.ResendHeader, strconv.Itoa(x.failures+x.refusals))
	}
	if x.t.Retry.PrepareRetry != nil {
		if err := x.t.Retry.PrepareRetry(next); err != nil {
			return &stop{ReasonPrepare, fmt.Errorf("pacer: PrepareRetry: %w", err)}
		}
	}
	x.t.counts.retried.Add(1)
	if hook := x.t.trace().Retrying; hook != nil {
		hook(Retrying{Event: x.event(), Attempt: x.failures + x.refusals, Refused: refusal, Status: x.status(), Err: x.err, Delay: x.delay})
	}
	resp := x.resp
	x.resp = nil // its Close may panic, and is not called twice
	body.Discard(resp)
	return nil
}

// readAhead begins to read the answer at hand while the request waits: the answer can still be returned, and
// its connection becomes free. Where the answer holds a slot, the request may wait for just that; where
// connections are few, or what is in flight is bounded, the request that it waits for may need just that
// connection: for seconds, or for ever.
func (trip *trip) readAhead() {
	if trip.resp != nil {
		base, ok := trip.t.base().(*http.Transport)
		trip.resp.Body = body.ReadAhead(trip.resp.Body, trip.holds || trip.t.routes.Load().boundsFlight || ok && base.MaxConnsPerHost > 0)
	}
}

// event is what hooks are told in any case.
func (x *exchange) event() Event { return x.trip.event(ofThrottle.Granter(x.last)) }

// giveUp leaves it at the answer at hand, or the error of the latest attempt. It puts why in their place only
// if the caller has canceled the request.
func (x *exchange) giveUp(ctx context.Context, why *stop) {
	x.tellGaveUp(why)
	gone := why.because
	switch {
	case why.reason == ReasonCanceled:
	case ctx.Err() != nil && why.reason != ReasonMethod: // such a request is not sent again in any case
		gone = attempt.ContextError(ctx)
	default:
		return
	}
	resp := x.resp
	if resp == nil {
		gone = fmt.Errorf("%w; not sent again: %w", x.err, gone)
	}
	x.resp, x.err = nil, gone
	body.Close(nil, resp)
}

// tellGaveUp counts a request that is not sent again, and tells its Calls and Trace why.
func (x *exchange) tellGaveUp(why *stop) {
	if below := x.t.isAbove() && !x.t.retries(&x.trip); !x.nested { // one below has retried, if any has
		x.calls.giveUp(string(why.reason), why.because, below)
	}
	x.t.counts.gaveUp.Add(1)
	if hook := x.t.trace().GaveUp; hook != nil {
		e := GaveUp{Event: x.event(), Status: x.status(), Reason: why.reason, Err: x.err, Because: why.because, Waits: x.causes, Delay: x.delay}
		e.Attempts, e.Wait = x.failures+x.refusals, waits.Sum(e.Waits)
		hook(e)
	}
}
