// The program is a tool that is called again and again, by hand, by cron, by scripts, some of them at the same
// time. All its runs share one quota, and what they learn from the answers of servers, through a directory:
//
//	go run ./examples/cli -dir ~/.cache/tool -n 20 https://api.example.com/items
//
// Without a URL it shows what that is good for: it starts an API that grants 100 requests a second and 20 at
// once, and calls itself many times, first each run for itself, then sharing. That is offline, and takes half a
// minute. How well many runs use the quota:
//
//	go run ./examples/cli -sharing -runs 100 -parallel 10
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
	"os/signal"
	"syscall"
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
	api := flag.Bool("api", false, "be that API")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("cli: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch url := flag.Arg(0); {
	case *api:
		err = serve(os.Stdin, os.Stdout)
	case url != "":
		var t tally
		if t, err = tool(ctx, url, *dir, *n); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(t)
		}
	default:
		err = show(ctx, os.Stdout, *runs, *parallel, *n, *only)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// tally is what came of a run.
type tally struct {
	Answered int
	Begin    time.Duration // until the first request may go
	End      time.Duration // what is in hand is given back
}

// patience is how long a run waits for what others have learned, and to tell others. A process that is stopped
// may have a lock of the directory: the run does its work without that.
const patience = time.Second

// tool is one run: it sends requests, one after the other.
func tool(ctx context.Context, url, dir string, n int) (t tally, err error) {
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
			return t, err
		}
		transport.Shared = pacer.Shared{Store: shared}
		load(ctx, shared, transport)
		defer save(ctx, shared, transport) // also after a refusal and a signal: others are to know of it
	}
	defer func() {
		end := time.Now()
		if err := transport.Close(); err != nil { // others may have what is not used
			log.Print(err) // they have it half a second later; what the run was for is done
		}
		t.End = time.Since(end)
	}()
	client := &http.Client{Transport: transport}
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return t, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return t, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return t, err
		}
		if resp.StatusCode != http.StatusOK {
			return t, fmt.Errorf("the API says %s", resp.Status)
		}
		t.Answered++
	}
	return t, nil
}

// load has the Transport know what other runs have learned. Without it, that is learned again.
func load(ctx context.Context, shared *filequota.Store, transport *pacer.Transport) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := shared.Load(ctx, transport); err != nil {
		log.Print(err)
	}
}

// save tells other runs what this one has learned, also if a signal has ended its context.
func save(ctx context.Context, shared *filequota.Store, transport *pacer.Transport) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := shared.Save(ctx, transport); err != nil {
		log.Print(err)
	}
}
