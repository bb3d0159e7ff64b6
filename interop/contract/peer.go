package contract

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/PuerkitoBio/rehttp"
	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
)

// Peer is a RoundTripper that sends requests again.
type Peer struct {
	Name   string
	Module string // that it is of; empty if it is of this one

	// wrap returns the peer over base, set to three attempts with a delay between them, and
	// otherwise as it comes.
	wrap func(base http.RoundTripper, delay time.Duration) http.RoundTripper
}

// attempts is how often a peer sends a request that fails.
const attempts = 3

// Peers returns all peers. The last one sends nothing again: it is what is below the others.
func Peers() []Peer {
	return []Peer{
		{"pacer", "", newPacer},
		{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", newRetryable},
		{"failsafehttp", "github.com/failsafe-go/failsafe-go", newFailsafe},
		{"rehttp", "github.com/PuerkitoBio/rehttp", newRehttp},
		{"go-github-ratelimit", "github.com/gofri/go-github-ratelimit/v2", newGitHub},
		{"a loop with backoff", "github.com/cenkalti/backoff/v4", newLoop},
		{"net/http alone", "", func(base http.RoundTripper, _ time.Duration) http.RoundTripper { return base }},
	}
}

// Settings says how peers are set that have no defaults of their own.
const Settings = `All are set to three attempts and 20 ms between them, and are otherwise as they come. rehttp has no defaults: it is given RetryTemporaryErr
and the statuses 429 and from 500. go-github-ratelimit sends again what is refused in GitHub's words, as it is here, and nothing else. The loop is
backoff.Retry around RoundTrip with the request as it is, which closes what it does not return. For the last answer there are PassthroughErrorHandler
(go-retryablehttp) and ReturnLastFailure (failsafe-go), for POST RetryHTTPMethods (rehttp).`

func newPacer(base http.RoundTripper, delay time.Duration) http.RoundTripper {
	return &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: backoff.Func(func(int, time.Duration) time.Duration { return delay })}}
}

func newRetryable(base http.RoundTripper, delay time.Duration) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient.Transport = base
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = attempts-1, delay, delay
	c.Logger = nil
	return c.StandardClient().Transport
}

func newFailsafe(base http.RoundTripper, delay time.Duration) http.RoundTripper {
	//nolint:bodyclose // a policy for responses, not one
	policy := failsafehttp.NewRetryPolicyBuilder().WithDelay(delay).WithMaxRetries(attempts - 1).Build()
	return failsafehttp.NewRoundTripper(base, policy)
}

func newRehttp(base http.RoundTripper, delay time.Duration) http.RoundTripper {
	return rehttp.NewTransport(base, rehttp.RetryAll(
		rehttp.RetryMaxRetries(attempts-1),
		rehttp.RetryAny(rehttp.RetryTemporaryErr(), rehttp.RetryStatuses(http.StatusTooManyRequests), rehttp.RetryStatusInterval(500, 600)),
	), rehttp.ConstDelay(delay))
}

// newGitHub sends again what GitHub's secondary limit refuses, which all servers here refuse in
// GitHub's words, and nothing else.
func newGitHub(base http.RoundTripper, _ time.Duration) http.RoundTripper {
	return github_ratelimit.New(base)
}

// loop is what is written where there is no library for HTTP.
type loop struct {
	base  http.RoundTripper
	delay time.Duration
}

func newLoop(base http.RoundTripper, delay time.Duration) http.RoundTripper { return loop{base, delay} }

// RoundTrip implements http.RoundTripper.
func (l loop) RoundTrip(req *http.Request) (*http.Response, error) {
	policy := cenkalti.WithMaxRetries(cenkalti.NewConstantBackOff(l.delay), attempts-1)
	return cenkalti.RetryWithData(func() (*http.Response, error) {
		resp, err := l.base.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
			resp.Body.Close()
			return nil, fmt.Errorf("status %s", resp.Status)
		}
		return resp, nil
	}, cenkalti.WithContext(policy, req.Context()))
}

// Versions returns the modules of peers, with their versions.
func Versions(peers []Peer) (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, p := range peers {
		for _, m := range info.Deps {
			if m.Path == p.Module {
				all = append(all, m.Path+" "+m.Version)
			}
		}
	}
	return all
}
