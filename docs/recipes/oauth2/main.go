// The program calls an API whose access tokens expire, with golang.org/x/oauth2. pacer is above oauth2: a
// request waits in line first, and gets its token when it goes. So a token that expired meanwhile is not sent,
// and each retry gets a fresh one. With oauth2 above pacer, a request would wait with the token of the moment
// at which it came.
//
// The tokens come from another host, with a quota of its own, through a Transport of their own: a request for a
// token must not wait in the line in which requests wait for tokens.
//
// As it stands, the program talks to a fake; main says how to take that out. It prints
//
//	30 orders read
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake(2*time.Second, time.Hour) // for a real API, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	err := run(context.Background(), os.Stdout, api.Transport())
	api.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	// Below all: how tokens are got.
	tokens := &pacer.Transport{
		Base:   base,
		Quotas: pacer.Table{"auth.example.com/": quota.MustParse("10/m")},
	}
	config := clientcredentials.Config{ClientID: "an ID", ClientSecret: "a secret", TokenURL: "https://auth.example.com/token"}
	source := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: tokens}))

	transport := &pacer.Transport{
		// In the middle: oauth2 adds the token, to each attempt anew.
		Base: &oauth2.Transport{Source: source, Base: base},
	}
	// An error of the token's host looks to pacer like a connection that broke. But if that host says no, it
	// says so again.
	transport.Retry.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if no := (*oauth2.RetrieveError)(nil); errors.As(err, &no) {
			return false, nil
		}
		return transport.ShouldRetry(ctx, resp, err)
	}
	if err := errors.Join(tokens.Validate(), transport.Validate()); err != nil {
		return err
	}
	client := &http.Client{Transport: transport} // on top: the line. config.Client would put oauth2 there

	group, ctx := errgroup.WithContext(ctx) // after an error, nobody waits in line any more
	for n := range 30 {
		group.Go(func() error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://api.example.com/orders/%d", n), nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return errors.New(resp.Status)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "30 orders read")
	return err
}
