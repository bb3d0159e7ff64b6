// The program asks Anthropic's API with anthropic-sdk-go. Anthropic grants requests, input tokens and output
// tokens, each by the minute. So a call has two costs beside itself: both are estimated before, and settled by
// the usage that the answer states.
//
// As it stands, the program talks to a fake of the API; main says how to take that out. It prints
//
//	40 answers: 8000 input tokens, 4000 output tokens
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"golang.org/x/sync/errgroup"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
)

func main() {
	api := newFake() // for the real API, leave out the fake: run gets http.DefaultTransport in place of api.Transport()
	if err := run(context.Background(), os.Stdout, api.Transport()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The units are words of this program: the same in limits and in Costs.
const (
	input, output = "input-tokens", "output-tokens"
	limits        = "50/m, 30000 input-tokens/m, 8000 output-tokens/m"
	maxAnswer     = 500
)

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// What console.anthropic.com/settings/limits says of the model, here of the first tier. Each class of
		// models has limits of its own: a program that uses several has a Key, or a Transport for each.
		Quotas: pacer.Table{"api.anthropic.com/": quota.MustParse(limits)},
		Cost:   func(*http.Request) quota.Costs { return nil }, // each Call says what it costs in tokens
		// An empty balance is a 400 or a 429, too, and not waited for: only the body of the error tells.
		Learn: pacer.Learn{Bodies: pacer.ErrorBodies},
	}
	if err := transport.Validate(); err != nil {
		return err
	}
	client := anthropic.NewClient(
		option.WithEnvironmentProduction(), // whatever the environment says
		option.WithAPIKey("a key"),
		option.WithHTTPClient(&http.Client{Transport: transport}), // no Timeout: it would count the time in line, too
		option.WithMaxRetries(0),                                  // pacer sends again: a 529, "overloaded", after a backoff, a 429 when its time has come
	)

	var in, answers atomic.Int64
	var group errgroup.Group
	for n := range 40 {
		group.Go(func() error {
			prompt := fmt.Sprintf("Summarize the %d. letter.", n+1)
			call := &pacer.Call{
				// Output is what Anthropic counts while it writes: claim the most that it may become.
				Costs:      quota.Costs{input: int64(250 + len(prompt)/4), output: maxAnswer},
				Idempotent: true, // this POST may be sent twice after a failure, and paid for twice
			}
			answer, err := client.Messages.New(pacer.WithCall(ctx, call), anthropic.MessageNewParams{
				Model:     anthropic.ModelClaudeHaiku4_5,
				MaxTokens: maxAnswer,
				Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
			})
			if err != nil {
				return err
			}
			usage := answer.Usage
			// The rest goes back at once. Of a stream, the last event of the kind message_delta says the usage.
			call.Settle(quota.Costs{
				// Tokens that were read from the cache do not count against the limit of most models.
				input:  usage.InputTokens + usage.CacheCreationInputTokens,
				output: usage.OutputTokens,
			})
			in.Add(usage.InputTokens)
			answers.Add(usage.OutputTokens)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "40 answers: %d input tokens, %d output tokens\n", in.Load(), answers.Load())
	return err
}
