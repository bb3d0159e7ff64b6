// The program calls GitHub with go-github. Nothing need be configured for the limits that GitHub states: 5000
// requests an hour, 30 searches a minute. A token that others use too is no problem, since every answer says
// how much is left of it.
//
// GitHub's documentation asks for three more things, which no header says; they are the Quotas below. What has
// not changed since it was read is answered with a 304, which GitHub does not count: Spent gives such requests
// back, whether the cache is above pacer or below. As it stands, the program talks to a fake of GitHub; main
// says how to take that out. It prints
//
//	100 issues read, 4 changes made, 3 searches made, 100 issues read again for nothing
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/google/go-github/v88/github"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake(2 * time.Second) // for the real GitHub, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, api.Transport(), above); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// place is where a cache is.
type place string

// Above pacer, a cache waits in line before it asks whether its answer is still good. Below, in Base, the
// request has waited already when it is found that the cache has the answer: that is right for a cache which
// others use, too.
const (
	above place = "above"
	below place = "below"
)

// newTransport returns a Transport that keeps to what GitHub's documentation asks for, and what a client is to
// use: that, or the cache above it.
func newTransport(base http.RoundTripper, cache place) (*pacer.Transport, http.RoundTripper) {
	if cache == below {
		base = &etags{next: base}
	}
	write := quota.Costs{"writes": 1}
	transport := &pacer.Transport{
		Base: base,
		// docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, "About secondary rate limits".
		Quotas: pacer.Table{
			// "No more than 100 concurrent requests are allowed." And "wait at least one second between each"
			// request that changes something, whatever its method and path: so that is one quota, in a unit of
			// its own. The 5000 are also stated by each answer.
			"api.github.com/": quota.MustParse("100 in flight, 1 writes/s, 5000/h"),
			// Searches have a limit of their own. Without this line they would wait for the 5000 an hour until
			// the first of them was answered.
			"GET api.github.com/search/": quota.MustParse("30/m"),
		},
		// Cost says which requests are writes. Queries in GraphQL are POSTs, and none: Call.Costs may say so of
		// a mutation.
		Cost: func(req *http.Request) quota.Costs {
			switch req.Method {
			case http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete:
				if req.URL.Path != "/graphql" {
					return write
				}
			}
			return nil
		},
		// "Making a conditional request does not count against your primary rate limit if a 304 response is
		// returned." A cache above shows that as the 304, a cache below as an answer of its own.
		Spent: func(resp *http.Response) quota.Costs {
			if resp.StatusCode == http.StatusNotModified || resp.Header.Get("X-From-Cache") != "" {
				return quota.Costs{quota.Requests: 0}
			}
			return nil
		},
		// A secondary limit that was met all the same is said in the body alone if there is no Retry-After.
		// Then GitHub wants to be left alone for a minute, and so it is.
		Learn: pacer.Learn{Bodies: pacer.ErrorBodies},
		// When the 5000 are used up, wait for the end of the hour, and a little longer, as its clock may differ
		// from ours. With the default of two minutes, all calls would fail until then.
		MaxStandstill: 61 * time.Minute,
	}
	if cache == above {
		return transport, &etags{next: transport}
	}
	return transport, transport
}

// newClient returns a client of GitHub.
func newClient(base http.RoundTripper, cache place) (*github.Client, error) {
	transport, top := newTransport(base, cache)
	if err := transport.Validate(); err != nil { // finds typing errors in the patterns
		return nil, err
	}
	return github.NewClient(
		github.WithTransport(top),       // no WithTimeout: it would count the time in line, too. Contexts bound calls
		github.WithAuthToken("a token"), // go-github adds it above pacer, which is fine for a token that does not expire
		// go-github remembers that a limit is used up, and then fails at once with a RateLimitError, without
		// asking pacer, which would wait. So that is turned off.
		github.WithDisableRateLimitCheck(),
	)
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper, cache place) error {
	client, err := newClient(base, cache)
	if err != nil {
		return err
	}

	var group errgroup.Group
	readAll := func() {
		for n := range 100 { // no worker pool is needed: pacer decides when each request goes
			group.Go(func() error {
				_, _, err := client.Issues.Get(ctx, "gopacer", "pacer", n+1)
				return err
			})
		}
	}
	readAll()
	for _, change := range []func() error{
		func() error {
			_, _, err := client.Issues.CreateComment(ctx, "gopacer", "pacer", 1, &github.IssueComment{Body: github.Ptr("Thanks!")})
			return err
		},
		func() error {
			_, _, err := client.Issues.Edit(ctx, "gopacer", "pacer", 2, &github.IssueRequest{Title: github.Ptr("A better title")})
			return err
		},
		func() error {
			_, err := client.Activity.Star(ctx, "gopacer", "pacer")
			return err
		},
		func() error {
			_, err := client.Issues.RemoveLabelForIssue(ctx, "gopacer", "pacer", 3, "stale")
			return err
		},
	} {
		group.Go(change)
	}
	for n := range 3 {
		group.Go(func() error {
			_, _, err := client.Search.Repositories(ctx, fmt.Sprintf("pacer page:%d", n), nil)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	readAll()
	if err := group.Wait(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "100 issues read, 4 changes made, 3 searches made, 100 issues read again for nothing")
	return err
}
