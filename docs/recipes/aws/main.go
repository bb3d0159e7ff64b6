// The program calls an AWS service, here KMS, with aws-sdk-go-v2. AWS limits each operation of a service by
// itself. All operations have the same URL: which one it is stands in the header X-Amz-Target, so that Key and
// Cost tell them apart.
//
// As it stands, the program talks to a fake of KMS; main says how to take that out. It prints
//
//	50 keys described, 30 keys tagged
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake() // for the real KMS, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// docs.aws.amazon.com/kms/latest/developerguide/requests-per-second.html. An operation is a unit: a
		// request for TagResource costs 1 of that unit, and none of any other.
		Quotas: pacer.Table{"kms.eu-central-1.amazonaws.com/": quota.MustParse("10 TagResource/s, 2000 DescribeKey/s")},
		Cost:   func(req *http.Request) quota.Costs { return quota.Costs{operation(req): 1} },
		// Each operation has a bucket of its own: when one of them is refused, the others go on.
		Key: operation,
		// KMS refuses with a 400. Only the body says that it is a ThrottlingException.
		Learn: pacer.Learn{Bodies: pacer.ErrorBodies},
		// The SDK's requests have no GetBody, so that nothing could be sent again. Bodies up to this size are
		// kept for that.
		Retry: pacer.Retry{BufferBody: 64 << 10},
		// A request is signed above pacer, and AWS takes a signature for five minutes. Who would wait for
		// longer is told so at once, with a *throttle.Error. This also is the time within which a refusal is
		// sent again.
		MaxWait: 4 * time.Minute,
	}
	if err := transport.Validate(); err != nil {
		return err
	}
	// With config.LoadDefaultConfig, these two are config.WithHTTPClient and config.WithRetryer.
	client := kms.New(kms.Options{
		HTTPClient: &http.Client{Transport: transport}, // no Timeout: it would count the time in line, too
		Retryer:    aws.NopRetryer{},                   // pacer sends again. Two layers of retries would multiply
		Region:     "eu-central-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "an ID", SecretAccessKey: "a secret"}, nil
		}),
	})

	var group errgroup.Group
	for n := range 50 {
		group.Go(func() error {
			_, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: aws.String(fmt.Sprint(n))})
			return err
		})
	}
	for n := range 30 {
		group.Go(func() error {
			// Calls of AWS are POSTs. Of this one, a second does no harm; DescribeKey above changes nothing at
			// all.
			again := pacer.WithCall(ctx, &pacer.Call{Idempotent: true})
			_, err := client.TagResource(again, &kms.TagResourceInput{
				KeyId: aws.String(fmt.Sprint(n)),
				Tags:  []types.Tag{{TagKey: aws.String("team"), TagValue: aws.String("blue")}},
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "50 keys described, 30 keys tagged")
	return err
}

// operation returns TagResource for the target TrentService.TagResource.
func operation(req *http.Request) string {
	target := req.Header.Get("X-Amz-Target")
	return target[strings.LastIndexByte(target, '.')+1:]
}
