package pacer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// failing is a server that answers the first n requests with a status, and its URL.
func failing(n, status int) (server *pacertest.Server, url string) {
	server = pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(before int, _ *http.Request) pacertest.Fault {
		if before >= n {
			return pacertest.Fault{}
		}
		return pacertest.Fault{Status: status}
	}
	return server, server.Start()
}

// A Client of go-retryablehttp with its own settings becomes a Transport.
func ExampleTransport_fromRetryablehttp() {
	server, url := failing(4, http.StatusServiceUnavailable)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{Retry: pacer.Retry{
		MaxAttempts: 5, // the first included
		Backoff:     backoff.Exponential{Initial: 10 * time.Millisecond, Max: time.Second},
	}}}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// Functions that were written for go-retryablehttp are taken as they are.
func ExampleTransport_retryablehttpFunctions() {
	server, url := failing(2, http.StatusNotFound)
	defer server.Close()

	checkRetry := func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if resp != nil && resp.StatusCode == http.StatusNotFound {
			return true, nil // it will be there soon
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	sign := func(req *http.Request) error {
		req.Header.Set("X-Signed", "again")
		return nil
	}
	client := &http.Client{Transport: &pacer.Transport{Retry: pacer.Retry{
		CheckRetry:   checkRetry,
		Backoff:      pacer.RetryableBackoff(retryablehttp.LinearJitterBackoff, 10*time.Millisecond, 20*time.Millisecond),
		PrepareRetry: sign,
	}}}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// A Client of go-retryablehttp keeps sending again, by the rules of pacer, which paces below it.
func ExampleTransport_ShouldRetry() {
	server, url := failing(1, http.StatusTooEarly)
	defer server.Close()

	transport := &pacer.Transport{Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}} // it paces and learns
	c := retryablehttp.NewClient()
	c.HTTPClient.Transport = transport
	c.CheckRetry, c.Backoff = transport.ShouldRetry, transport.RetryDelay

	c.RetryWaitMin, c.RetryWaitMax, c.Logger = time.Millisecond, time.Second, nil
	resp, err := c.Post(url, "text/plain", strings.NewReader("text"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// Policies of cenkalti/backoff go on to be used.
func ExampleTransport_fromCenkalti() {
	server, url := failing(3, http.StatusBadGateway)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{Retry: pacer.Retry{
		MaxAttempts: 10,
		NewSequence: func() backoff.Sequence {
			return cenkalti.NewExponentialBackOff(cenkalti.WithInitialInterval(10 * time.Millisecond))
		},
	}}}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// The loop of cenkalti/backoff, for what is not HTTP.
func Example_retryFromCenkalti() {
	ctx, failures := context.Background(), 3
	ping := func(context.Context) error {
		if failures--; failures >= 0 {
			return errors.New("no answer")
		}
		return nil
	}
	err := backoff.Do(ctx, ping, &backoff.Options{MaxAttempts: 5, Backoff: backoff.Exponential{Initial: 10 * time.Millisecond}})
	fmt.Println(err)
	// Output: <nil>
}

// A rate that was waited for before each request becomes a quota.
func ExampleTransport_fromRate() {
	server, url := failing(0, 0)
	defer server.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}

	client := &http.Client{Transport: &pacer.Transport{
		Quotas: pacer.Table{"/": {{N: 10, Burst: 5}}}, // of every host, each for itself
	}}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// A limiter without HTTP.
func Example_limiterFromRate() {
	work := func(ctx context.Context) error {
		limiter := &throttle.Limiter{Quotas: quota.Quotas{{N: 10, Burst: 5}}}
		if err := limiter.Wait(ctx, 1); err != nil {
			return err
		}
		return nil
	}
	fmt.Println(work(context.Background()))
	// Output: <nil>
}

// A retry policy and a limiter of failsafe-go become one Transport.
func ExampleTransport_fromFailsafe() {
	server, url := failing(2, http.StatusServiceUnavailable)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Retry:   pacer.Retry{MaxAttempts: 5, Backoff: backoff.Exponential{Initial: 10 * time.Millisecond, Max: time.Second}},
		Quotas:  pacer.Table{"/": {{N: 10, Burst: 1}}}, // evenly spaced
		MaxWait: time.Minute,
	}}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}
