package bench

import (
	"context"
	"net/http"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

// A rate and a burst that never bind: no benchmark is as fast.
const (
	hugeRate  = 1_000_000_000 // per second
	hugeBurst = 1_000_000

	// A rate and a burst that never bind either, and of which no token comes back between two requests.
	slowRate  = 1
	vastBurst = 1_000_000_000
)

// Subject is a RoundTripper under measure.
type Subject struct {
	Name   string
	Answer Answer // of the base that Wrap is given
	Wrap   func(base http.RoundTripper) http.RoundTripper
	Goal   float64 // what it is to add at most, in multiples of what XTime adds; zero if there is no goal
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
	subjects := []Subject{
		{Bare, Plain, bare, 0},
		{XTime, Plain, newXTime, 0},
		{"pacer, nothing configured", Plain, newPacer, 1.15},
		{"pacer, a quota that never binds", Plain, newPacerQuota, 1.8},
		{"pacer, the same, not full again", Plain, newPacerVast, 0},
		{"x/oauth2", Plain, newOAuth2, 0},
		{"rehttp", Plain, newRehttp, 0},
		{"go-retryablehttp", Plain, newRetryable, 0},
		{"failsafehttp retry", Plain, newFailsafe, 0},
		{"AWS SDK retry middleware", Plain, newAWS, 0},
	}
	for _, learned := range []struct {
		name   string
		answer Answer
		goal   float64
	}{
		{"pacer, nothing configured, usual headers", Usual, 1.2},
		{"pacer, X-RateLimit headers, reset as epoch", Epoch, 2},
		{"pacer, X-RateLimit headers, reset as delta", Delta, 2},
		{"pacer, X-RateLimit headers, counting down", Countdown, 2},
		{"pacer, X-RateLimit headers, a fresh map", Fresh, 2},
		{"pacer, GitHub's headers", GitHub, 4},
		{"pacer, draft 7", Draft7, 4},
		{"pacer, draft 8", Draft8, 4},
		{"pacer, OpenAI's headers", OpenAI, 4.4},
		{"pacer, names that no table has", Unknown, 3},
	} {
		subjects = append(subjects, Subject{Bare, learned.answer, bare, 0}, Subject{learned.name, learned.answer, newPacer, learned.goal})
	}
	return subjects
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

func newPacerVast(base http.RoundTripper) http.RoundTripper {
	return &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{
		"api.example.com/": {{N: slowRate, Burst: vastBurst}},
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

func newOAuth2(base http.RoundTripper) http.RoundTripper {
	return &oauth2.Transport{Base: base, Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "secret"})}
}

// awsRetry is the middleware in which the AWS SDK makes attempts, in its standard mode, with nothing else
// around it.
type awsRetry struct {
	attempts *retry.Attempt
	send     middleware.FinalizeHandlerFunc
}

func newAWS(base http.RoundTripper) http.RoundTripper {
	return &awsRetry{
		retry.NewAttemptMiddleware(retry.NewStandard(), smithyhttp.RequestCloner),
		func(ctx context.Context, in middleware.FinalizeInput) (out middleware.FinalizeOutput, _ middleware.Metadata, err error) {
			out.Result, err = base.RoundTrip(in.Request.(*smithyhttp.Request).Build(ctx)) //nolint:bodyclose // whoever called RoundTrip closes it
			return out, middleware.Metadata{}, err
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (t *awsRetry) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := (&smithyhttp.Request{Request: req}).SetStream(req.Body)
	if err != nil {
		return nil, err
	}
	out, _, err := t.attempts.HandleFinalize(req.Context(), middleware.FinalizeInput{Request: r}, t.send)
	if err != nil {
		return nil, err
	}
	return out.Result.(*http.Response), nil
}
