// The program asks OpenAI's API with openai-go. OpenAI grants requests and tokens, both by the minute. What a
// prompt costs in tokens is not known before its answer has come: the program claims an estimate, and settles
// it by the usage that the answer states. So an estimate that is too high wastes nothing.
//
// As it stands, the program talks to a fake of the API; main says how to take that out. It prints
//
//	60 answers, estimated at 60000 tokens, settled at 27000
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
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

func run(ctx context.Context, out io.Writer, base http.RoundTripper) error {
	transport := &pacer.Transport{
		Base: base,
		// What platform.openai.com/settings/organization/limits says of the model, here of a low tier. Each
		// model has limits of its own: a program that uses two of them has a Key, or a Transport for each.
		Quotas: pacer.Table{"api.openai.com/": quota.MustParse(limits)},
		Cost:   func(*http.Request) quota.Costs { return nil }, // each Call says what it costs in tokens
		// OpenAI says "You exceeded your current quota" with the same 429 as "too fast". Only the body of the
		// error tells one from the other, and money is not waited for.
		Learn: pacer.Learn{Bodies: pacer.ErrorBodies},
		Retry: pacer.Retry{
			// An answer that has not begun after a minute is asked for again. The time in line does not count.
			AttemptTimeout: time.Minute,
		},
	}
	if err := transport.Validate(); err != nil {
		return err
	}
	client := openai.NewClient(
		option.WithEnvironmentProduction(), // whatever the environment says
		option.WithAPIKey("a key"),
		option.WithHTTPClient(&http.Client{Transport: transport}), // no Timeout: it would count the time in line, too
		option.WithMaxRetries(0),                                  // pacer sends again. Two layers of retries would multiply
	)

	var estimated, settled atomic.Int64
	var group errgroup.Group
	for n := range 60 {
		group.Go(func() error {
			prompt := fmt.Sprintf("Translate the %d. page.", n+1)
			tokens := estimate(prompt)
			call := &pacer.Call{
				Costs:      quota.Costs{"tokens": tokens}, // what is claimed before the request goes
				Idempotent: true,                          // a POST that failed is sent again: it may be paid for twice
			}
			answer, err := client.Chat.Completions.New(pacer.WithCall(ctx, call), openai.ChatCompletionNewParams{
				Model:               openai.ChatModelGPT5_4Mini,
				Messages:            []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
				MaxCompletionTokens: openai.Int(maxAnswer),
			})
			if err != nil {
				return err
			}
			// The rest goes back at once. An answer that streams says its usage in the last chunk, if
			// StreamOptions of the request has IncludeUsage: then it is settled when that chunk has come.
			call.Settle(quota.Costs{"tokens": answer.Usage.TotalTokens})
			estimated.Add(tokens)
			settled.Add(answer.Usage.TotalTokens)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "60 answers, estimated at %d tokens, settled at %d\n", estimated.Load(), settled.Load())
	return err
}

const (
	limits    = "500/m, 30000 tokens/m"
	maxAnswer = 900
)

// estimate returns what a prompt may cost at most. In English, a token is some four bytes; a tokenizer would be
// exact. If OpenAI counts more than the usage in its answers, its headers say so, and the lower number holds.
func estimate(prompt string) int64 { return int64(95 + len(prompt)/4 + maxAnswer) }
