package contract

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// trap is a world in which each function of the caller notes its calls, and one call of one of them does not
// return.
type trap struct {
	mu     sync.Mutex
	calls  map[string]int
	target string // the function; empty if all return
	nth    int    // the call of it, from 1
	spring func()
	sprung bool
	over   bool // calls are no longer noted

	sent, retried int // times that Base was called; of these, after a failure
	turn          int // how often Base has seen the request
	failed        bool
	bodies        []*trapBody
	contexts      []context.Context // of the attempts
	reasons       []pacer.Reason
}

// at is called by the function of a name, for a request; nil if the function does not know which.
func (p *trap) at(name string, req *http.Request) {
	p.mu.Lock()
	if p.over || req != nil && req.URL.Path != "/trap" {
		p.mu.Unlock()
		return
	}
	p.calls[name]++
	now := name == p.target && p.calls[name] == p.nth
	p.sprung = p.sprung || now
	p.mu.Unlock()
	if now {
		p.spring()
	}
}

// body returns a body whose calls are noted.
func (p *trap) body(name, text string, req *http.Request) io.ReadCloser {
	b := &trapBody{of: p, name: name, req: req, r: strings.NewReader(text)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, b)
	return b
}

type trapBody struct {
	of     *trap
	name   string
	req    *http.Request
	r      io.Reader
	closes int // protected by of.mu
}

func (b *trapBody) Read(buf []byte) (int, error) {
	b.of.at(b.name+".Read", b.req)
	return b.r.Read(buf)
}

func (b *trapBody) Close() error {
	b.of.mu.Lock()
	b.closes++
	b.of.mu.Unlock()
	b.of.at(b.name+".Close", b.req)
	return nil
}

// request returns the request that meets the trap, or another one.
func (p *trap) request(t *testing.T, method, path string) *http.Request {
	t.Helper()
	req := lab.Request(t, method, "http://a.example"+path, "")
	req.ContentLength = 4
	req.GetBody = func() (io.ReadCloser, error) {
		p.at("GetBody", req)
		return p.body("the request's body", "text", req), nil
	}
	req.Body = p.body("the request's body", "text", req)
	return req
}

// RoundTrip is Base: it refuses, fails, breaks off and serves, in turn.
func (p *trap) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.sent++
	if p.failed && req.URL.Path == "/trap" {
		p.retried++
	}
	p.mu.Unlock()
	if req.URL.Path == "/trap" {
		p.contexts = append(p.contexts, req.Context())
	}
	p.at("Base", req)
	io.Copy(io.Discard, req.Body)
	req.Body.Close()
	answer := func(status int, header ...string) (*http.Response, error) {
		resp := lab.Answer(req, status, "", append(header, "Content-Type", "application/json")...)
		resp.Body, resp.ContentLength = p.body("the answer's body", `{"error": "text"}`, req), -1
		return resp, nil
	}
	switch req.URL.Path {
	case "/other":
		time.Sleep(time.Second)
		return answer(200)
	case "/next":
		return answer(200)
	case "/fail":
		return answer(500)
	}
	p.turn++
	p.failed = p.turn == 2 || p.turn == 3
	switch p.turn {
	case 1:
		return answer(429, "Retry-After", "1")
	case 2:
		return answer(503)
	case 3:
		return nil, lab.ErrBroken
	}
	return answer(200, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "999", "X-RateLimit-Reset", "60")
}

// transport returns a Transport with functions of all kinds.
func (p *trap) transport() *pacer.Transport {
	return &pacer.Transport{
		Base:   p,
		Quotas: lab.All(lab.InFlight(1), lab.Budget(100)),
		Key:    func(r *http.Request) string { p.at("Key", r); return "" },
		Cost:   func(r *http.Request) quota.Costs { p.at("Cost", r); return nil },
		Spent:  func(r *http.Response) quota.Costs { p.at("Spent", r.Request); return nil },
		Rand:   func() float64 { p.at("Rand", nil); return 0 },
		Line: pacer.Line{
			Priority: func(r *http.Request) throttle.Priority { p.at("Priority", r); return throttle.Normal },
			Flow:     func(r *http.Request) string { p.at("Flow", r); return "" },
			Weight:   func(r *http.Request) int { p.at("Weight", r); return 1 },
		},
		Learn: pacer.Learn{Bodies: func(r *http.Response) bool { p.at("Bodies", r.Request); return true }},
		Retry: pacer.Retry{
			BudgetRatio: -1, MaxAttempts: 3,
			PrepareRetry: func(r *http.Request) error { p.at("PrepareRetry", r); return nil },
		},
		Fallback: func(r *http.Request, _ *throttle.Error) (*http.Response, error) {
			p.at("Fallback", r)
			return lab.Answer(r, 200, ""), nil
		},
		Trace: &pacer.Trace{
			Queued:   func(e pacer.Queued) { p.at("Queued", e.Request) },
			Went:     func(e pacer.Went) { p.at("Went", e.Request) },
			NotSent:  func(e pacer.NotSent) { p.at("NotSent", e.Request) },
			Answered: func(e pacer.Answered) { p.at("Answered", e.Request) },
			Learned:  func(e pacer.Learned) { p.at("Learned", e.Request) },
			Retrying: func(e pacer.Retrying) { p.at("Retrying", e.Request) },
			GaveUp: func(e pacer.GaveUp) {
				p.at("GaveUp", e.Request)
				p.reasons = append(p.reasons, e.Reason)
			},
		},
	}
}

// noted is a Backoff, and a BackOff.
type noted struct{ *trap }

func (p noted) Delay(int, time.Duration) time.Duration { p.at("Delay", nil); return time.Second }
func (p noted) NextBackOff() time.Duration             { p.at("NextBackOff", nil); return time.Second }
func (p noted) Reset()                                 { p.at("Reset", nil) }

// traps are ways to meet a trap.
var traps = map[string]struct {
	method string
	set    func(tr *pacer.Transport, p *trap)
	other  bool // another request is under way, for a second
	send   func(ctx context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error)
}{
	"retries": {method: "PUT"},
	"retries, with other functions": {method: "POST", set: func(tr *pacer.Transport, p *trap) {
		tr.Retry.Backoff, tr.Retry.AttemptTimeout = noted{p}, time.Second
		tr.Retry.IdempotencyKey = func(r *http.Request) string { p.at("IdempotencyKey", r); return "key" }
		tr.Retry.CheckRetry = func(_ context.Context, resp *http.Response, err error) (bool, error) {
			p.at("CheckRetry", nil)
			return err != nil || resp.StatusCode >= 400, nil
		}
	}},
	"a BackOff, and a kept body": {method: "PUT", set: func(tr *pacer.Transport, p *trap) {
		tr.Retry.BufferBody = 100
		tr.Retry.NewSequence = func() backoff.Sequence { p.at("NewSequence", nil); return noted{p} }
	}, send: func(_ context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
		req.GetBody = nil
		return tr.RoundTrip(req)
	}},
	"bytes": {method: "PUT", set: func(tr *pacer.Transport, _ *trap) {
		tr.Quotas = lab.All(lab.InFlight(1), lab.Budget(100), lab.Hoard())
		tr.Spent = nil
	}},
	"in line": {method: "PUT", other: true},
	"in another line": {method: "PUT", other: true, send: func(_ context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
		table := pacer.Table{"/": tr.Quotas["/"], "PUT a.example/": {lab.OnePerSecond()}}
		time.AfterFunc(time.Second/2, func() { _ = tr.SetQuotas(table) })
		return tr.RoundTrip(req)
	}},
	"observed": {method: "PUT", other: true, set: func(tr *pacer.Transport, _ *trap) {
		tr.Mode = pacer.ModeObserve
	}},
	"degraded": {method: "PUT", other: true, set: func(tr *pacer.Transport, _ *trap) {
		tr.Mode = pacer.ModeDegrade
	}},
	"not repeatable": {method: "PUT", send: func(_ context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
		req.GetBody = nil
		return tr.RoundTrip(req)
	}},
	"gives up": {method: "PUT", set: func(tr *pacer.Transport, _ *trap) { tr.Retry.MaxAttempts = -1 }},
	"canceled": {method: "PUT", send: func(ctx context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second/2)
		defer cancel()
		resp, err := tr.RoundTrip(req.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return resp, err
	}},
	"acquired": {method: "PUT", other: true, send: func(ctx context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
		mine := req.Body // until the request is sent
		defer func() {
			if mine != nil {
				mine.Close()
			}
		}()
		req, cancel, err := tr.Acquire(ctx, req)
		if err != nil {
			return nil, err
		}
		mine = nil
		defer cancel()
		return tr.RoundTrip(req)
	}},
}

// run makes a request meet a trap, and returns what the functions were called. Then it looks whether anything
// was lost.
func (p *trap) run(t *testing.T, way string) {
	t.Helper()
	w := traps[way]
	tr := p.transport()
	if w.set != nil {
		w.set(tr, p)
	}
	if w.other {
		go func() { p.try(t, tr, "/other") }()
		synctest.Wait()
	}
	var recovered any
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recovered = recover() }()
		send := w.send
		if send == nil {
			send = func(_ context.Context, tr *pacer.Transport, req *http.Request) (*http.Response, error) {
				return tr.RoundTrip(req)
			}
		}
		req := p.request(t, w.method, "/trap")
		func() {
			if resp, err := send(t.Context(), tr, req); err == nil {
				defer resp.Body.Close()
				io.Copy(io.Discard, resp.Body)
			}
		}()
		returned = true
	}()
	<-done
	// Its own answer, which is being read meanwhile, holds the slot: it is chance whether the request lines up
	// for that.
	fewer := p.nth > 1 && p.calls[p.target] < p.nth
	if p.target != "" && !fewer && (!p.sprung || returned) || recovered != nil && recovered != "oops" {
		t.Fatalf("sprung: %v, returned: %v, recovered %v", p.sprung, returned, recovered)
	}
	if w.other {
		time.Sleep(time.Second)
	}
	synctest.Wait()
	p.over = true
	p.nothingLost(t, tr)
}

// try sends another request, which is not to wait, and returns its status.
func (p *trap) try(t *testing.T, tr *pacer.Transport, path string) {
	t.Helper()
	resp, err := tr.RoundTrip(p.request(t, "PUT", path))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// nothingLost looks whether anything was lost, when nothing is under way any more.
func (p *trap) nothingLost(t *testing.T, tr *pacer.Transport) {
	t.Helper()
	for _, s := range tr.State() {
		if s.InFlight != 0 || s.Waiting != 0 || s.Next.Cause == throttle.CauseInFlight {
			t.Errorf("state %+v", s)
		}
	}
	if s := tr.Stats(); s.Waiting != 0 || s.InFlight != 0 {
		t.Errorf("stats %+v", s)
	}
	for i, b := range p.bodies {
		if b.closes == 0 {
			t.Errorf("%s, the %dth body of %d, is not closed", b.name, i+1, len(p.bodies))
		}
		if b.closes > 1 && b.name == "the answer's body" {
			t.Errorf("%s, the %dth body of %d, is closed %d times", b.name, i+1, len(p.bodies), b.closes)
		}
	}
	for _, ctx := range p.contexts {
		if tr.Retry.AttemptTimeout != 0 && ctx.Err() == nil {
			t.Error("the context of an attempt has not ended")
		}
	}
	time.Sleep(time.Minute) // any hold is over
	start := time.Now()
	tr.Mode = pacer.ModeReject
	p.try(t, tr, "/next")
	if took := time.Since(start); took != 0 {
		t.Errorf("the next request took %v", took)
	}
	s := lab.State(t, tr, "a.example")
	if got := s.Limits[1].Available; got != 100-int64(p.sent) {
		t.Errorf("%d of 100 are left, and %d were sent", got, p.sent)
	}
	// What is left of the 10 retries.
	tr.Mode, tr.Retry.MaxAttempts = pacer.ModeWait, 3
	p.reasons = nil
	before, requests := p.sent, 0
	for ; requests < 20 && !slices.Contains(p.reasons, pacer.ReasonBudget); requests++ {
		p.try(t, tr, "/fail")
	}
	if got := p.sent - before - requests; got != 10-p.retried {
		t.Errorf("%d retries are left of 10, and %d were made", got, p.retried)
	}
}

// Whatever function of the caller panics, or ends its goroutine as t.FailNow does, at whichever call: nothing
// is lost, and the panic arrives as it was.
func TestPanicOfAnyFunction(t *testing.T) {
	for way := range traps {
		var calls map[string]int
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &trap{calls: map[string]int{}}
				p.run(t, way)
				calls = p.calls
			})
		})
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			for nth := range min(calls[name], 9) {
				for how, spring := range map[string]func(){"panics": func() { panic("oops") }, "exits": runtime.Goexit} {
					t.Run(fmt.Sprintf("%s/%s/%d/%s", way, name, nth+1, how), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							p := &trap{calls: map[string]int{}, target: name, nth: nth + 1, spring: spring}
							p.run(t, way)
						})
					})
				}
			}
		}
	}
}
