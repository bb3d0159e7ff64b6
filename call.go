package pacer

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Call is one call of an API: what the call asks of the Transports that carry it, where that differs from
// their fields, and how the call went. All redirects and retries of a request belong to the same call. The
// zero Call asks for nothing. A Call must not be used for two calls at the same time.
//
//	call := &pacer.Call{Costs: quota.Costs{"tokens": 1200}, Priority: throttle.Urgent}
//	resp, err := client.Do(req.WithContext(pacer.WithCall(ctx, call)))
type Call struct {
	// Mode says what happens if the request cannot go now. Zero means not set: the matching entry of
	// Transport.Modes, else Transport.Mode, else Wait.
	Mode Mode

	// Priority is how urgent the request is. Zero means not set: what
	// Transport.Priority returns.
	Priority throttle.Priority

	// Costs is what the request is expected to cost, by unit. A unit that is not in Costs costs what
	// Transport.Cost returns for it.
	Costs quota.Costs

	mu     sync.Mutex // protects the fields below
	sends  []sends
	waited time.Duration
}

// sends counts what one Transport has sent for a call. A call has several if one Transport stands below
// another.
type sends struct {
	by       *Transport
	grant    *throttle.Grant // of the latest attempt
	attempts int
}

// WithCall returns a context whose requests belong to c.
func WithCall(ctx context.Context, c *Call) context.Context {
	next := &requestInfo{call: c}
	if last := infoOf(ctx); last != nil {
		next.payment, next.above = last.payment, last.above
	}
	return context.WithValue(ctx, infoKey{}, next)
}

// Attempts returns how often a request was sent for the call.
func (c *Call) Attempts() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sends {
		n = max(n, s.attempts) // not the sum: what the outer Transport sends, the inner one sends, too
	}
	return n
}

// Waited returns for how long the requests of the call waited in line, in total.
func (c *Call) Waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// Settle reports what the request that was sent last has really cost, in each unit that spent has; see
// throttle.Grant.Settle. It is for costs that stand in the body of an answer, and may be called after the
// body was read. Before the first request is sent, it does nothing.
func (c *Call) Settle(spent quota.Costs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.sends {
		c.sends[i].grant.Settle(spent)
	}
}

// addSend notes that t sends a request with the grant g.
func (c *Call) addSend(t *Transport, g *throttle.Grant) {
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

// addWait adds d to the time that requests of the call waited. If c is nil, it does nothing.
func (c *Call) addWait(d time.Duration) {
	if c != nil {
		c.mu.Lock()
		c.waited += d
		c.mu.Unlock()
	}
}

type infoKey struct{}

// requestInfo is what pacer keeps in the context of a request.
type requestInfo struct {
	call    *Call      // nil if the request belongs to no Call
	payment *payment   // what Acquire was granted; nil if Acquire was not called
	above   *Transport // a Transport above that retries the request; nil if there is none
}

// infoOf returns the requestInfo of a context, nil if it has none.
func infoOf(ctx context.Context) *requestInfo {
	c, _ := ctx.Value(infoKey{}).(*requestInfo)
	return c
}

// terms are the conditions under which a request is sent.
type terms struct {
	call        *Call
	mode        Mode
	claim       throttle.Claim
	countsBytes bool              // the sent and received bytes are counted, and charged at the end
	nested      bool              // a Transport above this one retries the request
	limiter     *throttle.Limiter // where the request was granted, or waits
	sentAt      time.Time         // when it was sent after Acquire; else zero, and the grant has the time
}

// terms fills in tm for a request: what its Call says, and for what the Call leaves open, what the
// Transport says. tm is a pointer since copies of terms would be much of the cost of a request.
func (t *Transport) terms(req *http.Request, c *requestInfo, tm *terms) {
	tm.mode = t.Mode
	if t.modes != nil {
		tm.mode = t.modeByPattern(req)
	}
	tm.claim.Cancel = req.Cancel //nolint:staticcheck // old callers still use it, and http.Client does
	if t.Cost != nil {
		tm.claim.Costs = t.Cost(req)
	}
	if t.Priority != nil {
		tm.claim.Priority = t.Priority(req)
	}
	if c != nil {
		tm.nested = c.above != nil
		if c.call != nil {
			tm.applyCall(c.call)
		}
	}
	if t.routes.Load().hasBytes {
		tm.costBytes(req)
	}
	if tm.mode == 0 {
		tm.mode = ModeWait
	}
	tm.claim.NoWait = tm.mode != ModeWait
	tm.claim.Verb, tm.claim.Path = req.Method, req.URL.Path
}

// modeByPattern returns the Mode of the request: that of the most specific matching pattern of Modes, else
// Transport.Mode.
func (t *Transport) modeByPattern(req *http.Request) Mode {
	mode := t.modes.OfHost(pattern.Hostname(req.URL))
	if m := t.modes.Match(req); m.Pattern != "" {
		mode = m.Value
	}
	if mode == 0 {
		return t.Mode
	}
	return mode
}

// applyCall overrides the terms by what the Call sets.
func (tm *terms) applyCall(call *Call) {
	tm.call = call
	if call.Mode != 0 {
		tm.mode = call.Mode
	}
	if call.Priority != 0 {
		tm.claim.Priority = call.Priority
	}
	if len(call.Costs) > 0 {
		costs := maps.Clone(call.Costs)
		for unit, n := range tm.claim.Costs {
			if _, ok := costs[unit]; !ok {
				costs[unit] = n
			}
		}
		tm.claim.Costs = costs
	}
}

// costBytes charges the bytes of request and response, unless the Call or Transport.Cost has charged bytes
// already. Before the request is sent, at most the length of its own body is known.
func (tm *terms) costBytes(req *http.Request) {
	if _, ok := tm.claim.Costs[quota.Bytes]; ok {
		return
	}
	costs := maps.Clone(tm.claim.Costs)
	if costs == nil {
		costs = quota.Costs{}
	}
	costs[quota.Bytes] = int(max(req.ContentLength, 0))
	tm.claim.Costs, tm.countsBytes = costs, true
}

// firstSent returns when the request was sent for the first time. After Acquire, the request is sent later
// than the grant was given; otherwise both happen at the same instant.
func (tm *terms) firstSent(g *throttle.Grant) time.Time {
	if tm.sentAt.IsZero() {
		return g.Time()
	}
	return tm.sentAt
}
