// The program shows what sharing a quota is good for: no call is wasted on a refusal, and nobody is banned.
// Three processes call one API that grants 20 requests a second to all of them together, and bans them for two
// seconds after 20 refusals: first each with a limiter of its own, which knows the quota and not the others,
// then with limiters that share it through Redis. All of them obey a Retry-After. The program needs nothing
// installed: Redis is miniredis, in this process, unless one is given with -redis. It takes some ten seconds.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/redisquota/internal/server"
)

const (
	processes = 3
	workers   = 4 // of each
	perSecond = 20
	span      = 5 * time.Second

	bannedAfter = 20 // refusals
	bannedFor   = 2 * time.Second
)

func main() {
	addr := flag.String("redis", "", "address of a Redis or Valkey; empty for one in this process")
	url := flag.String("api", "", "be one of the processes, and call this")
	flag.Parse()
	ctx := context.Background()
	var err error
	if *url != "" {
		err = call(ctx, *url, *addr)
	} else {
		err = run(ctx, *addr)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// tally is what became of the requests of a process.
type tally struct {
	Answered, Refused int
}

func run(ctx context.Context, addr string) error {
	if addr == "" {
		s, err := server.Mini()
		if err != nil {
			return err
		}
		defer s.Stop()
		addr = s.Addr
	}
	fmt.Printf(`%d processes call an API for %v. It grants %d requests a second to
all of them together. After %d refusals it bans them for %v.

`, processes, span, perSecond, bannedAfter, bannedFor)
	alone, alonesBans, err := fleet(ctx, "")
	if err != nil {
		return err
	}
	shared, sharedBans, err := fleet(ctx, addr)
	if err != nil {
		return err
	}
	const columns = "%-18s %20s %20s\n"
	fmt.Printf(columns, "", "each for itself", "sharing")
	row := func(what string, of func(t tally) int) {
		fmt.Printf(columns, what, sum(alone, of), sum(shared, of))
	}
	row("requests", func(t tally) int { return t.Answered + t.Refused })
	row("answered", func(t tally) int { return t.Answered })
	row("refused with 429", func(t tally) int { return t.Refused })
	fmt.Printf(columns, "bans", fmt.Sprint(alonesBans), fmt.Sprint(sharedBans))
	fmt.Print(`
In brackets: of each process. Each for itself, a process knows the quota and
not the others: three of them ask for three times as much as there is, and
calls are wasted until all are banned. Sharing, they ask for what there is.
A quota that Redis does not know yet starts as one that is used up.
`)
	return nil
}

// sum writes a number for all, and for each.
func sum(all []tally, of func(tally) int) string {
	n, each := 0, make([]string, len(all))
	for i, t := range all {
		n += of(t)
		each[i] = fmt.Sprint(of(t))
	}
	return fmt.Sprintf("%d (%s)", n, strings.Join(each, "+"))
}

// fleet starts an API and the processes that call it, which share the quota if there is a Redis to share it
// through. It returns what became of their requests, and how often they were banned.
func fleet(ctx context.Context, redis string) ([]tally, int, error) {
	limit := &banning{Algorithm: &pacertest.SlidingLog{Limit: perSecond, Window: time.Second}, after: bannedAfter, ban: bannedFor}
	api := pacertest.NewServer(limit, pacertest.RetryAfterOnly)
	url := api.Start()
	defer api.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	all, errs := make([]tally, processes), make([]error, processes)
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			cmd := exec.CommandContext(ctx, self, "-api", url, "-redis", redis)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if errs[i] = err; err == nil {
				errs[i] = json.Unmarshal(out, &all[i])
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, 0, err
		}
	}
	return all, limit.bans, nil
}
