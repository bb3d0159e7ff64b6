// The program calls GitHub with go-github. Nothing need be configured for the limits that GitHub states: 5000 requests
// an hour, 30 searches a minute. A token that others use too is no problem, since every answer says how much is left of it.
//
// GitHub's documentation asks for three more things, which no header says; they are the Quotas below. As it stands, the
// program talks to a fake of GitHub; main says how to take that out. It prints
//
//	100 issues read, 4 changes made, 3 searches made
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
	if err := run(context.Background(), os.Stdout, api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newClient returns a client of GitHub that keeps to what its documentation asks for.
func newClient(base http.RoundTripper) (*github.Client, error) {
	write := quota.Costs{"writes": 1}
	transport := &pacer.Transport{
		Base: base,
		// docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api, "About secondary rate limits".
		Quotas: pacer.Table{
			// "No more than 100 concurrent requests are allowed." And "wait at least one second between each" request that
			// changes something, whatever its method and path: so that is one quota, in a unit of its own.
			"api.github.com/": quota.MustParse("100 in flight, 1 writes/s"),
			// Searches have a limit of their own. Without this line they would wait for the 5000 an hour until the first
			// of them was answered.
			"GET api.github.com/search/": quota.MustParse("30/m"),
		},
		// Cost says which requests are writes. Queries in GraphQL are POSTs, and none: Call.Costs may say so of a mutation.
		Cost: func(req *http.Request) quota.Costs {
			switch req.Method {
			case http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete:
				if req.URL.Path != "/graphql" {
					return write
				}
			}
			return nil
		},
		// When the 5000 are used up, wait for the end of the hour, and a little longer, as its clock may differ from ours.
		// With the default of two minutes, all calls would fail until then.
		MaxStandstill: 61 * time.Minute,
	}
	if err := transport.Validate(); err != nil { // finds typing errors in the patterns
		return nil, err
	}
	return github.NewClient(
		github.WithTransport(transport), // no WithTimeout: it would count the time in line, too. Contexts bound calls
		github.WithAuthToken("a token"), // go-github adds it above pacer, which is fine for a token that does not expire
		// go-github remembers that a limit is used up, and then fails at once with a RateLimitError, without asking
		// pacer, which would wait. So that is turned off.
		github.WithDisableRateLimitCheck(),
	)
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	client, err := newClient(base)
	if err != nil {
		return err
	}

	var group errgroup.Group
	for n := range 100 { // no worker pool is needed: pacer decides when each request goes
		group.Go(func() error {
			_, _, err := client.Issues.Get(ctx, "gopacer", "pacer", n+1)
			return err
		})
	}
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
	_, err = fmt.Fprintln(out, "100 issues read, 4 changes made, 3 searches made")
	return err
}
