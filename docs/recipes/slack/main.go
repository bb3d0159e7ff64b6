// The program calls Slack's Web API with slack-go. Slack limits each method of its API by itself, in four tiers
// of so many calls a minute, and states no numbers in headers: a program knows them from the documentation, or
// is told by a 429.
//
// As it stands, the program talks to a fake of Slack; main says how to take that out. It prints
//
//	60 users looked up, 2 channels read, 3 messages posted
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake() // for the real Slack, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// docs.slack.dev/apis/web-api/rate-limits has the tiers, and the page of each method its tier. A
		// pattern without an HTTP method holds for GET and POST. Slack tolerates a burst, but does not say how
		// long: it is, which never sends more than that in any minute.
		Quotas: pacer.Table{
			"slack.com/api/users.list":            quota.MustParse("20/m"),  // tier 2
			"slack.com/api/conversations.history": quota.MustParse("50/m"),  // tier 3
			"slack.com/api/users.info":            quota.MustParse("100/m"), // tier 4
			"slack.com/api/chat.postMessage":      quota.MustParse("1/s"),   // for each channel; see Key
		},
		// Slack counts for each workspace, and messages for each channel. The channel stands in the body, which
		// pacer does not read; so who calls says it in the context. Each key has buckets of its own.
		Key: func(req *http.Request) string {
			key, _ := req.Context().Value(bucket{}).(string)
			return key
		},
	}
	// Nothing need be said of the 429: it holds the bucket of its method for as long as Retry-After says.
	// Others go on.
	if err := transport.Validate(); err != nil {
		return err
	}
	client := slack.New("xoxb-a-token",
		slack.OptionHTTPClient(&http.Client{Transport: transport}), // no Timeout: it would count the time in line, too
		slack.OptionRetry(0), // pacer sends again. Two layers of retries would multiply
	)

	var group errgroup.Group
	for n := range 60 {
		group.Go(func() error {
			_, err := client.GetUserInfoContext(ctx, fmt.Sprintf("U%d", n))
			return err
		})
	}
	for n := range 2 {
		group.Go(func() error {
			channel := &slack.GetConversationHistoryParameters{ChannelID: fmt.Sprintf("C%d", n)}
			_, err := client.GetConversationHistoryContext(ctx, channel)
			return err
		})
	}
	for _, channel := range []string{"C1", "C1", "C2"} { // the second one to C1 waits for a second
		group.Go(func() error {
			_, _, err := client.PostMessageContext(context.WithValue(ctx, bucket{}, channel), channel, slack.MsgOptionText("Hello", false))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "60 users looked up, 2 channels read, 3 messages posted")
	return err
}

// bucket is the key of a context under which the channel of a message is found.
type bucket struct{}
