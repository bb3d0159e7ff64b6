package pacer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/body"
	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/internal/payment"
	"github.com/gopacer/pacer/internal/waits"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Call is one call of an API: what the call asks of the Transports that carry it, where that differs from their
// fields, and how the call went. All redirects and retries of a request belong to the same call. The zero Call
// asks for nothing. A Call must not be used for two calls at the same time.
//
//	call := &pacer.Call{Costs: quota.Costs{"tokens": 1200}, Priority: throttle.Urgent}
//	resp, err := client.Do(req.WithContext(pacer.WithCall(ctx, call)))
//
// A request may belong to several Calls: a middleware adds its own to that of the caller. Of each field, the
// value of the Call that was added last counts, among those that set the field; of Costs, of each unit. All of
// the Calls are told how the call went. A nil *Call is one to which no request belongs: Settle does nothing,
// and the other methods return zero.
type Call struct {
	// Mode says what happens if the request cannot go now. Zero means not set: the matching entry of
	// Transport.Modes, else Transport.Mode, else ModeWait.
	Mode Mode

	// Priority is how urgent the request is. Zero means not set: what Line.Priority returns.
	Priority throttle.Priority

	// Costs is what the request is expected to cost, by unit. A unit that is not in Costs costs what
	// Transport.Cost returns for it. Of quota.Requests, less than 1 counts as 1. A unit that no quota has is
	// ignored, but see there. A negative cost is zero.
	Costs quota.Costs

	// MaxWait bounds how long the request waits, as Transport.MaxWait does. Zero means not set. If negative,
	// the request does not wait. Below 1 ms, it is an error, as in a Transport. MaxStandstill holds all the
	// same.
	MaxWait time.Duration

	// MaxAttempts bounds how often the request is sent if it fails, as Retry.MaxAttempts does. Zero means not
	// set. If negative, 1. A request that the server refuses as too early was not served, and is sent again all
	// the same, unless Once is set.
	MaxAttempts int

	// Once says that the request is sent once at most: neither a failure nor a refusal is followed by another
	// attempt, whatever Retry.CheckRetry says. With MaxAttempts of 1, no failure is.
	Once bool

	// Idempotent says that the request may be repeated like one whose method is idempotent. If false, its
	// method and its Idempotency-Key say so.
	Idempotent bool

	account waits.Account

	mu    sync.Mutex // protects sends
	sends []sends
}

// sends counts what one Transport has sent for a call. A call has several if one Transport stands below
// another.
type sends struct {
	by       *Transport
	grant    *throttle.Grant // of the latest attempt
	attempts int
}

// noCall is what a nil *Call stands for.
var noCall Call

// WithCall returns a context whose requests belong to c, and to the Calls of ctx. If c is nil, it returns ctx.
func WithCall(ctx context.Context, c *Call) context.Context {
	if c == nil {
		return ctx
	}
	return withInfo(ctx, func(i *requestInfo) { i.calls = &calls{c, i.calls.without(c)} })
}

// CallFrom returns the Call that was added last to a context, nil if there is none. Its methods may be called
// all the same.
func CallFrom(ctx context.Context) *Call {
	if l := known(ctx).calls; l != nil {
		return l.call
	}
	return nil
}

// Attempts returns how often a request was sent for the call.
func (c *Call) Attempts() (n int) {
	c = cmp.Or(c, &noCall)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sends {
		n = max(n, s.attempts) // not the sum: what the outer Transport sends, the inner one sends, too
	}
	return n
}

// Waited returns for how long the requests of the call waited in line, in total.
func (c *Call) Waited() time.Duration {
	return waits.Sum(c.Waits())
}

// Waits returns what the requests of the call waited for in line: each bucket, cause and quota once, the
// longest first. Their sum is what Waited returns, exactly.
func (c *Call) Waits() []throttle.Wait { return cmp.Or(c, &noCall).account.Waits() }

// BackedOff returns for how long the requests of the call backed off, in total: out of line, after failures
// mostly. See Retrying. What is left of the time that the call took is that of the attempts.
func (c *Call) BackedOff() time.Duration { return cmp.Or(c, &noCall).account.BackedOff() }

// GaveUp returns why the request that was sent last was not sent again, although it was refused or failed, and
// the error behind that, if there is one: as Trace.GaveUp is told. A caller that got a 503 so learns which
// bound ended the retries, or that a POST is not repeated. Both are zero after any other answer, after which no
// request is sent again (a 404, say), and of a Call with Once, or in ModeObserve. docs/retrying.md has the
// tables. Of two Transports one above the other, it is the reason of the one that retries, and never
// ReasonNested.
func (c *Call) GaveUp() (why Reason, because error) {
	reason, because := cmp.Or(c, &noCall).account.GaveUp()
	return Reason(reason), because
}

// Settle reports what the request that was sent last has really cost, in each unit that spent has; see
// throttle.Grant.Settle. It is for costs that stand in the body of an answer, and may be called after the body
// was read. Before the first request is sent, it does nothing.
func (c *Call) Settle(spent quota.Costs) {
	c = cmp.Or(c, &noCall)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.sends {
		c.sends[i].grant.Settle(spent)
	}
}

// addSend notes that t sends a request with the grant g.
func (c *Call) addSend(t *Transport, g *throttle.Grant) {
	c.account.GiveUp("", nil, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.sends {
		if s := &c.sends[i]; s.by == t {
			s.grant = g
			s.attempts++
			return
		}
	}
	c.sends = append(c.sends, sends{t, g, 1})
}

// calls are the Calls of a request, the one that was added last first. Nil has none.
type calls struct {
	call  *Call
	older *calls
}

// without returns the calls but c.
func (l *calls) without(c *Call) *calls {
	switch {
	case l == nil:
		return nil
	case l.call == c:
		return l.older.without(c)
	}
	return &calls{l.call, l.older.without(c)}
}

// asks returns what the Calls ask for together. Its Costs must not be changed.
func (l *calls) asks() *Call {
	switch {
	case l == nil:
		return &Call{}
	case l.older == nil:
		return l.call
	}
	c, o := l.call, l.older.asks()
	return &Call{
		Mode: cmp.Or(c.Mode, o.Mode), Priority: cmp.Or(c.Priority, o.Priority), Costs: waits.Over(o.Costs, c.Costs),
		MaxWait: cmp.Or(c.MaxWait, o.MaxWait), MaxAttempts: cmp.Or(c.MaxAttempts, o.MaxAttempts),
		Once: c.Once || o.Once, Idempotent: c.Idempotent || o.Idempotent,
	}
}

// addSend notes in all Calls that t sends a request with the grant g.
func (l *calls) addSend(t *Transport, g *throttle.Grant) {
	for ; l != nil; l = l.older {
		l.call.addSend(t, g)
	}
}

// addWaits adds to what requests of all Calls waited for, and to how long they backed off.
func (l *calls) addWaits(causes []throttle.Wait, backedOff time.Duration) {
	for ; l != nil; l = l.older {
		l.call.account.Add(causes, backedOff)
	}
}

// giveUp notes in all Calls why the request is not sent again; after a Transport below, unless that one has.
func (l *calls) giveUp(why string, because error, below bool) {
	for ; l != nil; l = l.older {
		l.call.account.GiveUp(why, because, below)
	}
}

type infoKey struct{}

// requestInfo is what pacer keeps in the context of a request.
type requestInfo struct {
	calls   *calls           // nil if the request belongs to no Call
	payment *payment.Payment // what Acquire was granted; nil if Acquire was not called
	above   *Transport       // a Transport above that retries the request; nil if there is none
	sent    *url.URL         // what that Transport sent
	resends int              // how often the request was sent before
}

// Resends returns how often the request of a context was sent before: it is for a RoundTripper below a
// Transport, which is to mark what is sent again (http.request.resend_count in the semantic conventions of
// OpenTelemetry).
func Resends(ctx context.Context) int { return known(ctx).resends }

// withInfo returns a context with a changed requestInfo.
func withInfo(ctx context.Context, change func(*requestInfo)) context.Context {
	info := known(ctx)
	change(&info)
	return context.WithValue(ctx, infoKey{}, &info)
}

// known returns what a context has; zero if that is nothing.
func known(ctx context.Context) requestInfo {
	if info := infoOf(ctx); info != nil {
		return *info
	}
	return requestInfo{}
}

// infoOf returns the requestInfo of a context, nil if it has none.
func infoOf(ctx context.Context) *requestInfo {
	info, _ := ctx.Value(infoKey{}).(*requestInfo)
	return info
}

// check returns an error if t has sent the request that it is given to send, or if something is wrong with a
// Call. A Base may send another request through t, to get a token for one.
func (info *requestInfo) check(t *Transport, req *http.Request) error {
	if info.above == t && info.sent.String() == req.URL.String() {
		return backoff.Permanent(errBelowItself)
	}
	for l := info.calls; l != nil; l = l.older {
		if why := fields.BareNumber(l.call.MaxWait, time.Millisecond); why != "" {
			return errors.New("pacer: Call.MaxWait is " + why)
		}
		if err := l.call.Mode.check("Call.Mode"); err != nil {
			return err
		}
	}
	return nil
}

// terms are the conditions under which a request is sent.
type terms struct {
	calls       *calls
	mode        Mode
	claim       throttle.Claim
	maxWait     time.Duration
	maxAttempts int
	once        bool
	stream      *throttle.Limiter // on which its bodies draw as they flow; nil if no quota is Streamed
	countsBytes bool              // the sent and received bytes are counted, and charged at the end
	nested      bool              // a Transport above this one retries the request
}

// trip is a request on its way, attempt by attempt. Each is sent on the same terms, but for the place in line.
type trip struct {
	terms
	t   *Transport
	req *http.Request // as the caller gave it, or as alter made it

	limiter *throttle.Limiter // where the request was granted, or waits
	since   time.Time         // from when on it waits in line; zero if it does not
	causes  []throttle.Wait   // what it waited for, for this attempt; nil if it did not wait, or nobody asks
	sentAt  time.Time         // when it was sent after Acquire; else zero, and the grant has the time
	ends    time.Time         // when the AttemptTimeout of the attempt ends; zero if there is none
	latency time.Duration     // until its answer began; only if there is a Trace
	sent    *atomic.Int64     // bytes that were read of the body of the attempt; nil if their number is known, or nobody counts them
	resp    *http.Response    // the answer; nil if there is none
	holds   bool              // the answer holds a slot, or is still to be charged, until it ends
	resends int               // how often it was sent before this attempt
}

// terms begins the trip of a request, on the terms that its Calls ask for, and for what they leave open, the
// Transport. trip is a pointer since copies of terms would be much of the cost of a request.
func (t *Transport) terms(req *http.Request, info *requestInfo, trip *trip) {
	trip.t, trip.req = t, req
	trip.mode, trip.maxWait, trip.maxAttempts = t.Mode, t.MaxWait, t.Retry.maxAttempts()
	if t.modes != nil {
		trip.mode = t.modeByPattern(req)
	}
	trip.claim.Cancel = req.Cancel //nolint:staticcheck // old callers still use it, and http.Client does
	if t.Cost != nil {
		trip.claim.Costs = t.Cost(req)
	}
	if t.Line.Priority != nil {
		trip.claim.Priority = t.Line.Priority(req)
	}
	if t.Line.Flow != nil {
		trip.claim.Flow = t.Line.Flow(req)
		if t.Line.Weight != nil {
			trip.claim.Weight = t.Line.Weight(req)
		}
	}
	if info != nil {
		trip.nested = info.above != nil
		if info.calls != nil {
			trip.apply(info.calls)
		}
	}
	trip.claim.N, trip.claim.Costs = waits.Apart(trip.claim.Costs)
	rs := t.routes.Load()
	if rs.hasBytes {
		trip.costBytes(req)
	}
	if trip.mode = cmp.Or(trip.mode, ModeWait); trip.mode != ModeWait && trip.mode != ModeObserve {
		trip.claim.MaxWait = -1
	}
	if rs.hasStreams && trip.mode != ModeObserve && rs.streams(req) {
		trip.stream = t.streams.Limiter(t.path(nil, rs, req)...)
	}
	trip.claim.Verb, trip.claim.Path = req.Method, req.URL.Path
}

// status returns the status of the answer at hand, zero if there is no answer.
func (trip *trip) status() int {
	if trip.resp == nil {
		return 0
	}
	return trip.resp.StatusCode
}

// apply overrides the terms by what the Calls set.
func (tm *terms) apply(l *calls) {
	c := l.asks()
	tm.calls, tm.once = l, c.Once
	tm.mode = cmp.Or(c.Mode, tm.mode)
	tm.claim.Priority = cmp.Or(c.Priority, tm.claim.Priority)
	if len(c.Costs) > 0 {
		tm.claim.Costs = waits.Over(tm.claim.Costs, c.Costs) // copied, since the caller may change its map before it settles the call
	}
	tm.claim.MaxWait = c.MaxWait
	tm.maxWait = cmp.Or(c.MaxWait, tm.maxWait)
	if c.MaxAttempts != 0 {
		tm.maxAttempts = max(c.MaxAttempts, 1)
	}
}

// modeByPattern returns the Mode of the request: that of the most specific matching pattern of Modes, else
// Transport.Mode.
func (t *Transport) modeByPattern(req *http.Request) Mode {
	mode := t.modes.OfHost(pattern.Hostname(req.URL))
	if m := t.modes.Match(req); m.Pattern != "" {
		mode = m.Value
	}
	return cmp.Or(mode, t.Mode)
}

// costBytes charges the bytes of request and response, unless the Call or Transport.Cost has charged bytes
// already. Before the request is sent, at most the length of its own body is known; it is charged for one byte
// at least, so that it waits while a quota is in debt for answers before.
func (tm *terms) costBytes(req *http.Request) {
	if _, ok := tm.claim.Costs[quota.Bytes]; ok {
		return
	}
	tm.claim.Costs, tm.countsBytes = waits.Over(tm.claim.Costs, quota.Costs{quota.Bytes: body.Cost(max(req.ContentLength, 1))}), true
}

// firstSent returns when the request was sent for the first time. After Acquire, the request is sent later
// than the grant was given; otherwise both happen at the same instant.
func (trip *trip) firstSent(g *throttle.Grant) time.Time {
	if trip.sentAt.IsZero() {
		return ofThrottle.Time(g)
	}
	return trip.sentAt
}

// Mode says what happens to a request that cannot go now. Zero, the empty text, means not set: the Call's Mode,
// else the matching entry of Modes, else Transport.Mode, else ModeWait.
type Mode string

// The modes.
const (
	// ModeWait lets the request wait in line.
	ModeWait Mode = "wait"
	// ModeReject returns a *throttle.Error at once. Of a server that has refused nothing, that is where your
	// quotas, or what the server states, say so: to a new host all requests go. After a refusal a bucket starts
	// slowly: of many requests at the same time only one may go then.
	ModeReject Mode = "reject"
	// ModeDegrade hands the request to Fallback, which answers with a cached copy or a default, or asks another
	// host. The request does not wait first, whatever MaxWait is, and to a new host it goes as in ModeReject.
	// To wait for a while first, set a MaxWait in ModeWait, and answer where errors.As finds a *throttle.Error.
	ModeDegrade Mode = "degrade"
	// ModeObserve sends the request all the same, and tells Trace how long it should have waited. Nothing is
	// delayed and nothing is retried. This mode is for trying pacer on a live system.
	ModeObserve Mode = "observe"
)

// check returns an error if m, which has a name, is neither zero nor one of the constants.
func (m Mode) check(name string) error {
	switch m {
	case "", ModeWait, ModeReject, ModeDegrade, ModeObserve:
		return nil
	}
	return fmt.Errorf("pacer: %s is %q, want wait, reject, degrade or observe", name, string(m))
}
