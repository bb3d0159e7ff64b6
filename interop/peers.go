package interop

import (
	"context"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
)

// The settings of the clients that retry, which are those that users come to after
// "giving up after 5 attempt(s)": enough attempts for a batch, and delays that double
// from the least to the greatest.
const (
	retries      = 1000
	shortestWait = 100 * time.Millisecond
	longestWait  = time.Second
)

func newRetryable(base http.RoundTripper, _ job) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = retries, shortestWait, longestWait
	c.Logger = nil
	return c.StandardClient().Transport
}

func newFailsafe(base http.RoundTripper, _ job) http.RoundTripper {
	//nolint:bodyclose // a policy for responses, not one
	policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(shortestWait, longestWait).WithMaxRetries(retries).Build()
	return failsafehttp.NewRoundTripper(base, policy)
}

// handSet is limiters set to the documented quotas, which every attempt passes, and
// go-retryablehttp around them.
type handSet struct {
	base         http.RoundTripper
	wide, narrow []*rate.Limiter // of each route
}

func newHandSet(base http.RoundTripper, j job) http.RoundTripper {
	set := func(q quota.Quota) *rate.Limiter { return rate.NewLimiter(rate.Limit(perSecond(q)), atOnce(q)) }
	h := &handSet{base: base, wide: []*rate.Limiter{set(j.Truth.Quota)}}
	for _, q := range j.Truth.Also {
		h.wide = append(h.wide, set(q))
	}
	if narrow := j.Truth.Quota; j.Truth.Narrow > 0 {
		narrow.N = int64(j.Truth.Narrow)
		h.narrow = []*rate.Limiter{set(narrow)}
	}
	return newRetryable(h, j)
}

// RoundTrip implements http.RoundTripper.
func (h *handSet) RoundTrip(req *http.Request) (*http.Response, error) {
	limiters := h.wide
	if h.narrow != nil && req.URL.Path == narrowPath {
		limiters = h.narrow
	}
	for _, l := range limiters {
		if err := l.Wait(req.Context()); err != nil {
			return nil, err
		}
	}
	return h.base.RoundTrip(req)
}

// naive asks again every 50 ms.
type naive struct{ base http.RoundTripper }

func newNaive(base http.RoundTripper, _ job) http.RoundTripper { return naive{base} }

// RoundTrip implements http.RoundTripper.
func (n naive) RoundTrip(req *http.Request) (*http.Response, error) {
	return again(n.base, req, func(ctx context.Context) error { return pause(ctx, 50*time.Millisecond) })
}
