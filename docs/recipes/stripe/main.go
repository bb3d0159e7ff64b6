// The program takes payments with stripe-go. Stripe grants so many operations a second, and knows idempotency
// keys: a POST whose answer was lost is sent again with the same key, and nobody pays twice.
//
// As it stands, the program talks to a fake of Stripe; main says how to take that out. It prints
//
//	60 payments made
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/stripe/stripe-go/v85"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake() // for the real Stripe, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// docs.stripe.com/rate-limits: 25 operations a second in a sandbox, 100 with live data, if the account
		// has no others.
		Quotas: pacer.Table{"api.stripe.com/": quota.MustParse("25/s")},
		// An object that another request holds is a 429, too, with the code lock_timeout: that is a failure,
		// after which the request is sent again with a backoff, and no reason to hold all the others. The body
		// of the error says so.
		Learn: pacer.Learn{Bodies: pacer.ErrorBodies},
	}
	if err := transport.Validate(); err != nil {
		return err
	}
	client := stripe.NewClient("sk_test_123", stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient: &http.Client{Transport: transport}, // stripe-go's own has a Timeout of 80 s, with the time in line
		// pacer sends again. Two layers of retries would multiply. stripe-go gives each POST an
		// Idempotency-Key, with which pacer sends it again after a failure as it does a GET.
		MaxNetworkRetries: stripe.Int64(0),
	})))

	var group errgroup.Group
	for n := range 60 {
		group.Go(func() error {
			params := &stripe.PaymentIntentCreateParams{
				Amount:   stripe.Int64(int64(1000 + n)),
				Currency: stripe.String(stripe.CurrencyEUR),
			}
			// The key of stripe-go is as good as the process. A key that is made of the order holds even if
			// this program is killed and started again.
			params.SetIdempotencyKey(fmt.Sprintf("order-%d", n))
			_, err := client.V1PaymentIntents.Create(ctx, params)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "60 payments made")
	return err
}
