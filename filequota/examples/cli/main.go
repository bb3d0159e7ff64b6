// The program is a tool that is called again and again, by hand, by cron, by scripts, some of them at the same time. All its runs share
// one quota, and what they learn from the answers of servers, through a directory:
//
//	go run ./examples/cli -dir ~/.cache/tool -n 20 https://api.example.com/items
//
// Without a URL it shows what that is good for: it starts an API that grants 100 requests a second and 20 at once, and calls itself
// many times, first each run for itself, then sharing. That is offline, and takes half a minute. How well many runs use the quota:
//
//	go run ./examples/cli -sharing -runs 100
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/quota"
)

// granted is what the API grants, to all runs together.
var granted = quota.MustParse("100/s burst 20")

func main() {
	dir := flag.String("dir", "", "directory through which the runs share; empty for each by itself")
	n := flag.Int("n", 20, "how many requests a run sends")
	runs := flag.Int("runs", 30, "without a URL: how many runs")
	parallel := flag.Int("parallel", 1, "and how many of them at a time")
	only := flag.Bool("sharing", false, "and nothing but the runs that share")
	flag.Parse()
	log.SetFlags(0)
	var err error
	if url := flag.Arg(0); url != "" {
		err = tool(context.Background(), os.Stdout, url, *dir, *n)
	} else {
		err = show(context.Background(), os.Stdout, *runs, *parallel, *n, *only)
	}
	if err != nil {
		log.Fatal("cli: ", err)
	}
}

// tally is what came of a run.
type tally struct {
	Answered int
	Begin    time.Duration // until the first request may go
	End      time.Duration // what is in hand is given back
}

// tool is one run: it sends requests, one after the other.
func tool(ctx context.Context, out io.Writer, url, dir string, n int) (err error) {
	var t tally
	begin := time.Now()
	transport := &pacer.Transport{
		Quotas: pacer.Table{"/": granted},
		Trace: &pacer.Trace{
			Went: func(pacer.Went) {
				if t.Begin == 0 {
					t.Begin = time.Since(begin)
				}
			},
		},
	}
	if dir != "" {
		shared, err := filequota.Open(dir, nil)
		if err != nil {
			return err
		}
		transport.Shared = pacer.Shared{Store: shared}
		if err := shared.Load(ctx, transport); err != nil {
			log.Print(err) // what is not known is learned again
		}
		defer func() { err = errors.Join(err, shared.Save(ctx, transport), transport.Close()) }() // after a refusal, too: others are to know of it
	}
	client := &http.Client{Transport: transport}
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the API says %s", resp.Status)
		}
		t.Answered++
	}
	end := time.Now()
	err = transport.Close() // others may have what is not used
	t.End = time.Since(end)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(t)
}
