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

// Call is one call of an API: what it asks of the Transports that carry it, where that
// differs from their fields, and how it went. Redirects and retries belong to it. The
// zero Call asks for nothing. It belongs to one call at a time.
//
//	call := &pacer.Call{Costs: quota.Costs{"tokens": 1200}, Priority: throttle.Urgent}
//	resp, err := client.Do(req.WithContext(pacer.WithCall(ctx, call)))
type Call struct {
	// Mode says what happens if it cannot go now. Zero is what the Transport says.
	Mode Mode

	// Priority is how urgent it is. Zero is what Transport.Priority says.
	Priority throttle.Priority

	// Costs is what it is thought to cost. What is not among it costs what
	// Transport.Cost says.
	Costs quota.Costs

	mu     sync.Mutex // protects the fields below
	sends  []sends
	waited time.Duration
}

// sends is what one Transport has sent for a call, of which there may be one below the other.
type sends struct {
	by       *Transport
	grant    *throttle.Grant // of the latest
	attempts int
}

// WithCall returns a context with which a request belongs to c.
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
		n = max(n, s.attempts) // what one sends passes through the others
	}
	return n
}

// Waited returns for how long the call waited in line.
func (c *Call) Waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// Settle tells what the request that was sent last has really cost, in the units that
// are among spent; see throttle.Grant.Settle. It is for costs that stand in the body
// of an answer, and may be called when that has been read. Before anything was sent it
// does nothing.
func (c *Call) Settle(spent quota.Costs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.sends {
		c.sends[i].grant.Settle(spent)
	}
}

// addSend notes that t sends a request. It returns where the grant is from then on.
func (c *Call) addSend(t *Transport, g *throttle.Grant) *throttle.Grant {
	kept := new(throttle.Grant)
	*kept = *g
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.sends {
		if s := &c.sends[i]; s.by == t {
			s.grant = kept
			s.attempts++
			return kept
		}
	}
	c.sends = append(c.sends, sends{t, kept, 1})
	return kept
}

// addWait notes that a request waited.
func (c *Call) addWait(d time.Duration) {
	if c != nil {
		c.mu.Lock()
		c.waited += d
		c.mu.Unlock()
	}
}

type infoKey struct{}

// requestInfo is what the context of a request knows.
type requestInfo struct {
	call    *Call      // nil if there is none
	payment *payment   // nil if nothing was paid
	above   *Transport // that retries; nil if none does
}

func infoOf(ctx context.Context) *requestInfo {
	c, _ := ctx.Value(infoKey{}).(*requestInfo)
	return c
}

// modeByPattern returns the mode that Modes has for the request.
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

// terms are those on which a request goes.
type terms struct {
	call        *Call
	mode        Mode
	claim       throttle.Claim
	countsBytes bool      // the bytes of its bodies
	nested      bool      // a Transport above retries
	sentAt      time.Time // when it was sent, if it was paid for before; else it is sent when it is granted
}

// firstSent is when the request was sent for the first time: when it was granted, if it was not paid for
// before.
func (tm *terms) firstSent(g *throttle.Grant) time.Time {
	if tm.sentAt.IsZero() {
		return g.Time()
	}
	return tm.sentAt
}

// terms fills in those of a request: what its Call says, and else the Transport.
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
		tm.mode = Wait
	}
	tm.claim.NoWait = tm.mode != Wait
	tm.claim.Class = throttle.Class{Verb: req.Method, Path: req.URL.Path}
}

// applyCall takes over what the call says.
func (tm *terms) applyCall(call *Call) {
	tm.call = call
	if call.Mode != 0 {
		tm.mode = call.Mode
	}
	if call.Priority != throttle.Normal {
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

// costBytes has the bytes of request and response count, unless somebody knows better.
// Before it is sent, the length of the request's body is known at most.
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
