package interop

import (
	"context"
	"io"
	"net/http"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

// Client is something that a program would call a rate-limited server with.
type Client struct {
	Name    string
	Package string // that it is of; empty if it is of this module
	Version string // of the package

	// wrap returns the client over base. What it knows of the server is what its user
	// would have told it.
	wrap func(base http.RoundTripper, j job) http.RoundTripper
}

// Names of clients that others are compared with.
const (
	Pacer   = "pacer"
	Oracle  = "oracle"
	HandSet = "x/time/rate, hand-set"
)

// Clients returns all clients.
func Clients() []Client {
	return []Client{
		{Name: Oracle, wrap: newOracle},
		{Name: Pacer, wrap: newPacer},
		{Name: "pacer, told the quota", wrap: newToldPacer},
		of("golang.org/x/time", HandSet, newHandSet),
		of("github.com/hashicorp/go-retryablehttp", "go-retryablehttp", newRetryable),
		of("github.com/failsafe-go/failsafe-go", "failsafehttp", newFailsafe),
		of("github.com/aws/aws-sdk-go-v2", "aws adaptive", newAdaptive),
		{Name: "naive, 50 ms", wrap: newNaive},
	}
}

// of returns a client of a module.
func of(path, name string, wrap func(http.RoundTripper, job) http.RoundTripper) Client {
	return Client{Name: name, Package: path, Version: module(path), wrap: wrap}
}

func newPacer(base http.RoundTripper, j job) http.RoundTripper {
	return &pacer.Transport{Base: base, Trace: j.trace()}
}

func newToldPacer(base http.RoundTripper, j job) http.RoundTripper {
	quotas := map[string]quota.Quotas{"127.0.0.1/": append(quota.Quotas{j.Truth.told()}, j.Truth.Also...)}
	if n := j.Truth.Narrow; n > 0 {
		quotas = map[string]quota.Quotas{"127.0.0.1/{$}": {j.Truth.told()}, "127.0.0.1/narrow": {{N: int64(n), Per: j.Truth.Quota.Per}}}
	}
	return &pacer.Transport{Base: base, Trace: j.trace(), Quotas: quotas}
}

// told is the quota in the words of the server's documentation, which do not say how a window is
// counted: "50/2s", "20/s burst 10". Of a server that queues what is over the rate, nothing is gained
// by sending earlier.
func (t Truth) told() quota.Quota {
	switch q := t.Quota; {
	case t.Queue:
		q.Burst = 1
		return q
	case q.Kind == quota.TokenBucket:
		return q
	default:
		return quota.Quota{N: q.N, Per: q.Per}
	}
}

// again sends the request until it is admitted, and waits before each further time. It is
// the loop of the clients that have none of their own.
func again(base http.RoundTripper, req *http.Request, wait func(context.Context) error) (*http.Response, error) {
	for {
		resp, err := base.RoundTrip(req)
		if err != nil || resp.StatusCode/100 == 2 {
			return resp, err
		}
		discard(resp)
		if err := wait(req.Context()); err != nil {
			return nil, err
		}
	}
}

// discard reads a body to its end, so that the connection can be used again.
func discard(resp *http.Response) {
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // another connection is made then
	resp.Body.Close()
}
