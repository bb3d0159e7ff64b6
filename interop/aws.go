package interop

import (
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// adaptive is the retry mode of that name in the AWS SDK, around plain HTTP: its calls
// are made in the order in which the SDK's middleware makes them.
type adaptive struct {
	base http.RoundTripper
	mode *retry.AdaptiveMode
}

// newAdaptive returns the mode without a bound on attempts, as the batch must get done.
func newAdaptive(base http.RoundTripper, _ job) http.RoundTripper {
	unbounded := func(o *retry.StandardOptions) { o.MaxAttempts, o.RateLimiter = 0, ratelimit.None }
	return &adaptive{base, retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, unbounded)
	})}
}

// RoundTrip implements http.RoundTripper.
func (a *adaptive) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	release := func(error) error { return nil } // of the token of the retry before
	for attempt := 1; ; attempt++ {
		end, err := a.mode.GetAttemptToken(ctx)
		if err != nil {
			return nil, err
		}
		resp, failure := a.base.RoundTrip(req)
		if failure == nil && resp.StatusCode/100 != 2 {
			discard(resp)
			failure = &smithy.GenericAPIError{Code: "TooManyRequestsException", Message: resp.Status}
		}
		if err := errors.Join(release(failure), end(failure)); err != nil {
			return nil, err
		}
		if failure == nil {
			return resp, nil
		}
		if !a.mode.IsErrorRetryable(failure) {
			return nil, failure
		}
		if release, err = a.mode.GetRetryToken(ctx, failure); err != nil {
			return nil, err
		}
		delay, err := a.mode.RetryDelay(attempt, failure)
		if err != nil {
			return nil, err
		}
		if err := pause(ctx, delay); err != nil {
			return nil, err
		}
	}
}
