package bench

import (
	"net/http"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

// A rate and a burst that never bind: no benchmark is as fast.
const (
	hugeRate  = 1_000_000_000 // per second
	hugeBurst = 1_000_000
)

// Subject is a RoundTripper under measure.
type Subject struct {
	Name   string
	Answer Answer // of the base that Wrap is given
	Wrap   func(base http.RoundTripper) http.RoundTripper
}

// New returns the RoundTripper around a new base.
func (s Subject) New() http.RoundTripper { return s.Wrap(NewBase(s.Answer)) }

// Names of the subjects with which others are compared.
const (
	Bare  = "bare base"
	XTime = "ten lines around rate.Limiter"
)

// Subjects returns the RoundTrippers that are compared. The cost of each is measured
// beside the cost of the one that is named Bare and has the same Answer.
func Subjects() []Subject {
	return []Subject{
		{Bare, Plain, bare},
		{XTime, Plain, newXTime},
		{"pacer, nothing configured", Plain, newPacer},
		{"pacer, a quota that never binds", Plain, newPacerQuota},
		{"rehttp", Plain, newRehttp},
		{"go-retryablehttp", Plain, newRetryable},
		{"failsafehttp retry", Plain, newFailsafe},
		{Bare, Usual, bare},
		{"pacer, nothing configured, usual headers", Usual, newPacer},
		{Bare, Epoch, bare},
		{"pacer, X-RateLimit headers, reset as epoch", Epoch, newPacer},
		{Bare, Delta, bare},
		{"pacer, X-RateLimit headers, reset as delta", Delta, newPacer},
		{Bare, Countdown, bare},
		{"pacer, X-RateLimit headers, counting down", Countdown, newPacer},
	}
}

func bare(base http.RoundTripper) http.RoundTripper { return base }

// xTime is what a program writes without pacer.
type xTime struct {
	base    http.RoundTripper
	limiter *rate.Limiter
}

func newXTime(base http.RoundTripper) http.RoundTripper {
	return &xTime{base, rate.NewLimiter(hugeRate, hugeBurst)}
}

// RoundTrip implements http.RoundTripper.
func (t *xTime) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.limiter.Wait(req.Context()); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return t.base.RoundTrip(req)
}

func newPacer(base http.RoundTripper) http.RoundTripper { return &pacer.Transport{Base: base} }

func newPacerQuota(base http.RoundTripper) http.RoundTripper {
	return &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{
		"api.example.com/": {{N: hugeRate, Burst: hugeBurst}},
	}}
}

func newPacerPattern(base http.RoundTripper) http.RoundTripper {
	return &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{
		"GET api.example.com/v1/{collection}": {{N: hugeRate, Burst: hugeBurst}},
	}}
}

func newRehttp(base http.RoundTripper) http.RoundTripper {
	return rehttp.NewTransport(base,
		rehttp.RetryAll(rehttp.RetryMaxRetries(2), rehttp.RetryStatuses(http.StatusTooManyRequests, http.StatusServiceUnavailable)),
		rehttp.ExpJitterDelay(100*time.Millisecond, 10*time.Second))
}

func newRetryable(base http.RoundTripper) http.RoundTripper {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = base
	client.Logger = nil
	return client.StandardClient().Transport
}

func newFailsafe(base http.RoundTripper) http.RoundTripper {
	retry := failsafehttp.NewRetryPolicyBuilder().Build() //nolint:bodyclose // a policy for responses, not one
	return failsafehttp.NewRoundTripper(base, retry)
}
