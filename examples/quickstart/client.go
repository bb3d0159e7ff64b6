package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
)

// client is one of the two clients.
type client struct {
	name  string
	short string // for the head of a narrow column
	http  *http.Client
}

// pacing returns a client that paces with pacer. There is nothing to configure: Base is set only
// so that this client keeps as many connections open as the other one.
func pacing(base http.RoundTripper) client {
	return client{"pacer", "pacer", &http.Client{Transport: &pacer.Transport{Base: base}}}
}

// The settings of the retrying client. They are those of users who have read "giving up after 5
// attempt(s)" in their logs: more attempts, since 4 retries are not enough for this batch, and
// shorter delays. The delay doubles from the shortest to the longest. After a Retry-After, the
// delay is the one that the server asks for.
const (
	retries      = 100
	shortestWait = 100 * time.Millisecond
	longestWait  = time.Second
)

// retrying returns a client that sends every request at once, and sends it again if it was refused.
func retrying(base http.RoundTripper) client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = retries, shortestWait, longestWait
	c.Logger = nil
	return client{"retryablehttp", "retrying", c.StandardClient()}
}

// connections returns a transport of the standard library that keeps a connection for each caller.
func connections(callers int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = callers
	return t
}

// get sends one request. It does not look at the answer: the server counts which requests it
// admitted.
func get(ctx context.Context, client *http.Client, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // read to its end, the connection can be used again
	resp.Body.Close()
}
