package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
)

// pacing returns a client with pacer in it. There is nothing to configure: Base is set only to keep as many connections open as for the
// other client.
func pacing() *http.Client {
	return &http.Client{Transport: &pacer.Transport{Base: connections()}}
}

// The settings of the retrying client. It has those which its users have after reading "giving up after 5 attempt(s)" in their logs: more
// attempts (4 retries are not enough for this batch), and shorter delays. The delay doubles from the least to the greatest, and is that of
// a Retry-After where the server sends one.
const (
	retries      = 100
	shortestWait = 100 * time.Millisecond
	longestWait  = time.Second
)

// retrying returns a client which sends at once, and sends again what was refused.
func retrying() *http.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: connections()}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = retries, shortestWait, longestWait
	c.Logger = nil
	return c.StandardClient()
}

// connections returns a transport of the standard library that keeps a connection for each caller.
func connections() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = callers
	return t
}

// get sends one request. Whether it was admitted is for the server to say.
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
