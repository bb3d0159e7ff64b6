// Package pacer makes a program a good guest of the HTTP APIs that it calls.
//
//	client := &http.Client{Transport: &pacer.Transport{}}
//
// A [Transport] is an [http.RoundTripper] which paces requests before the server
// has to refuse them. It learns every host's limits from the headers of its
// answers, holds everybody back when a server says so, starts slowly where it
// knows nothing, and retries what is safe to retry.
//
// # One request
//
// A request draws on buckets: that of its host, and, where Quotas name a pattern
// for it, that of the most specific one. It goes when all of them grant it at the
// same instant. If it cannot go now, Mode says what happens; by default it waits
// in line, first come, first served, for at most MaxWait and never towards a
// deadline of its context that it would miss.
//
// The answer is learned from. What headers say about limits bounds what may go
// until the reset; a Retry-After holds the whole bucket, not only the call that
// received it; after a hold one request goes first and the others follow what it
// learns. Package throttle has the rules.
//
// # Again
//
// A refusal, which is a 429 or another status with which a server says "not yet"
// (403, 503 and their like with a Retry-After), did nothing: the request goes back
// to the front of its line, whatever its method, until MaxWait has passed.
//
// A failure, which is a transport error or a 408, 425 or 5xx, is retried with
// jittered exponential backoff if the method is idempotent, the request carries an
// Idempotency-Key or it provably never reached the server, for MaxAttempts at
// most, and within a retry budget, so that an outage is not met with a multiple
// of the load.
//
// A body is sent again only if the request has GetBody (as those of
// http.NewRequest from bytes and strings have). Bodies are never buffered.
//
// # What is returned
//
// A response is returned as it came, whatever its status: after the last attempt,
// that is the server's own last answer, body unread. An error means that no answer
// was received, or, if it is a [*throttle.Error], that pacer did not send the
// request; errors.As finds it, and it says why and when it could have gone.
//
// Nothing is logged, no goroutine is kept, and there is nothing to close.
package pacer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/throttle"
)

// Transport is an http.RoundTripper that paces, learns and retries. The zero
// Transport is ready to use. Fields must not be changed after the first request;
// a Transport must not be copied. It is safe for concurrent use.
type Transport struct {
	// Base sends the requests. If nil, http.DefaultTransport is used.
	Base http.RoundTripper

	// Quotas are what providers grant, under the patterns of http.ServeMux:
	// "api.github.com/", "GET api.github.com/search/",
	// "POST discord.com/api/channels/{channel}/messages". "/" is for every host
	// that is not named, each for itself. A request draws on its host's pattern
	// and on the most specific other one; each value of a wildcard is a bucket of
	// its own. What the server says may only lower them. None are needed: what is
	// not configured is learned.
	Quotas map[string]throttle.Quotas

	// Key splits buckets further, by tenant or credential. If nil, all requests
	// to a host draw on the same.
	Key func(*http.Request) string

	// Cost is what a request costs in tokens. If nil, and where it returns less
	// than 1, a request costs 1.
	Cost func(*http.Request) int

	// Mode says what happens to a request that cannot go now. Zero is Wait.
	Mode Mode

	// Fallback answers, in mode Degrade, what pacer would otherwise not send; what
	// the server refuses is returned as it came. It must be set there and only
	// there.
	Fallback http.RoundTripper

	// MaxWait bounds how long a request waits for its turn, and how long one that
	// the server refuses is tried again. Zero means two minutes, so that limits per
	// minute, which are the most common, are waited for. If negative, none waits.
	MaxWait time.Duration

	// MaxQueue bounds how many requests wait in a bucket. Zero means no bound. If
	// negative, none waits.
	MaxQueue int

	// MaxHold bounds for how long a bucket is held on a server's word; after it,
	// one request probes. Zero means 15 minutes. If negative, nothing that a
	// server says holds a bucket.
	MaxHold time.Duration

	// IdleAfter is how long a bucket must idle before it starts slowly again. Zero
	// means a minute. If negative, only a new bucket, and one whose hold has
	// ended, starts slowly.
	IdleAfter time.Duration

	// MaxAttempts bounds how often a request that fails is sent, the first time
	// included. Zero means 3. If negative, 1. A request that the server refuses
	// as too early does not count; see MaxRefusals.
	MaxAttempts int

	// MaxRefusals bounds how often a request that the server refuses as too early
	// is sent again. Zero means 10. If negative, it is not.
	MaxRefusals int

	// Backoff is the delay before a retry of a failure, unless the server asks for
	// a longer one. If nil, backoff.Exponential{} with full jitter is used.
	Backoff backoff.Backoff

	// NewBackOff, if not nil, is used in place of Backoff: it returns a fresh
	// BackOff of github.com/cenkalti/backoff for each request that fails, whose
	// Stop ends the retrying.
	NewBackOff func() cenkalti.BackOff

	// CheckRetry, if not nil, says which failures may be retried, in place of
	// pacer's own table (that of go-retryablehttp, and 408 and 425). What is not
	// safe to repeat is not retried all the same. If it returns an error, that
	// ends the retrying.
	CheckRetry retryablehttp.CheckRetry

	// BudgetRatio is how many retries of failures each success of a bucket pays
	// for. Zero means 0.1: an outage is met with 1.1 times the load. If negative,
	// only the first 10 retries, which are free, are made.
	BudgetRatio float64

	// Trace is told what happens. If nil, nobody is.
	Trace *Trace

	// Rand gives numbers from [0, 1) for all jitter. If nil, that of math/rand/v2.
	// Tests set it to be exact.
	Rand func() float64

	once    sync.Once
	invalid error
	router  router
}

// Mode says what happens to a request that cannot go now.
type Mode int

const (
	// Wait lets it wait in line.
	Wait Mode = iota
	// Reject returns a *throttle.Error at once.
	Reject
	// Degrade hands it to Fallback: a cached copy, a default, another host.
	Degrade
	// Observe sends it all the same, and tells Trace how long it should have
	// waited. Nothing is delayed and nothing is retried: for trying pacer on a
	// live system.
	Observe
)

// String returns the name of the constant.
func (m Mode) String() string {
	if names := [...]string{"Wait", "Reject", "Degrade", "Observe"}; m >= 0 && int(m) < len(names) {
		return names[m]
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}

// Validate reports what is wrong with the configuration: which field or pattern,
// and what was expected. It may be called before the first request; else that, and
// every later one, returns the error.
func (t *Transport) Validate() error {
	t.once.Do(func() { t.invalid = t.init() })
	return t.invalid
}

func (t *Transport) init() error {
	switch {
	case t.Mode < Wait || t.Mode > Observe:
		return fmt.Errorf("pacer: Mode is %d, want Wait, Reject, Degrade or Observe", t.Mode)
	case t.Mode == Degrade && t.Fallback == nil:
		return errors.New("pacer: Fallback is nil, want a RoundTripper that answers in mode Degrade")
	case t.Mode != Degrade && t.Fallback != nil:
		return errors.New("pacer: Fallback is set, want it nil in modes other than Degrade")
	}
	return t.router.init(t)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.check(req); err != nil {
		closeBody(req)
		return nil, err
	}
	ctx := req.Context()
	c := throttle.Claim{N: t.cost(req), Cancel: req.Cancel, NoWait: t.Mode != Wait} //nolint:staticcheck // old callers still use Cancel, and http.Client does
	var g throttle.Grant
	b, err := t.acquire(ctx, req, &c, &g)
	if err != nil {
		if t.Mode == Degrade && !errors.Is(err, throttle.ErrCanceled) {
			return t.Fallback.RoundTrip(req)
		}
		closeBody(req)
		return nil, err
	}
	resp, err := send(t.base(), req)
	v := t.learn(req, b, &g, resp, err)
	if v.kind == final {
		return resp, err
	}
	x := exchange{t: t, req: req, bucket: b, claim: c, place: g.Place(), resp: resp, err: err}
	return x.again(ctx, v)
}

// CloseIdleConnections forwards to Base, as http.Client expects of its Transport.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// check refuses what cannot be routed, in the words of net/http.
func (t *Transport) check(req *http.Request) error {
	switch {
	case req.URL == nil:
		return errors.New("pacer: nil Request.URL")
	case req.Header == nil:
		return errors.New("pacer: nil Request.Header")
	}
	return t.Validate()
}

// acquire finds the bucket of the request, and waits until it and those above it
// grant the claim, in the way that Mode says. Claim and grant are passed by pointer
// on the way of every request, where copies of them would be much of the cost.
func (t *Transport) acquire(ctx context.Context, req *http.Request, c *throttle.Claim, g *throttle.Grant) (*bucket, error) {
	for {
		b := t.router.bucket(t, req)
		if t.Mode == Observe {
			*g = t.observe(req, b, c)
			return b, nil
		}
		var w *throttle.Waiter
		var err error
		if *g, w, err = b.Join(ctx, *c); w != nil || err != nil {
			*g, err = t.wait(ctx, req, b, w, err)
			return b, err
		}
		if !b.gone.Load() {
			return b, nil
		}
		g.Cancel()
	}
}

// wait waits in line.
func (t *Transport) wait(ctx context.Context, req *http.Request, b *bucket, w *throttle.Waiter, err error) (g throttle.Grant, _ error) {
	if w != nil {
		t.Trace.queued(queued(req, w.Forecast))
		g, err = w.Wait(ctx)
	}
	if err != nil {
		t.Trace.refused(Refused{Request: req, Bucket: b.Name, Err: err})
	}
	return g, err
}

// observe lets the request go, and tells how long it should have waited.
func (t *Transport) observe(req *http.Request, b *bucket, c *throttle.Claim) throttle.Grant {
	g, f := b.Observe(c.N)
	if f.Wait > 0 {
		t.Trace.queued(queued(req, f))
	}
	return g
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

func (t *Transport) cost(req *http.Request) int {
	if t.Cost == nil {
		return 1
	}
	return max(t.Cost(req), 1)
}

func (t *Transport) maxWait() time.Duration {
	if t.MaxWait == 0 {
		return 2 * time.Minute
	}
	return t.MaxWait
}

// send hands the request to base and holds base to the contract: an answer with a
// body or an error, not both, not neither.
func send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	switch {
	case err != nil && resp != nil:
		if resp.Body != nil {
			resp.Body.Close()
		}
		return nil, err
	case err == nil && resp == nil:
		return nil, fmt.Errorf("pacer: Base (%T) returned neither a response nor an error", base)
	case err == nil && resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, err
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
