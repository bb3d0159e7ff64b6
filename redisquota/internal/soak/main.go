//go:build unix

// Command soak shows what a fleet of processes that share quotas through a real server sends while things go
// wrong: it starts a server and several processes of itself, has one fault after the other happen to them,
// merges what all processes say that they sent, and checks that with arithmetic of its own.
//
//	go run ./internal/soak                            # a minute: the faults that cost most
//	go run ./internal/soak -long                      # some ten minutes: all faults, with Closed and with Share
//	go run ./internal/soak -faults killing -members 8 -random 4 -seed 7   # lists of quotas and costs that are drawn
//	go run ./internal/soak -faults flushall,restart -modes share -kinds "100/s burst 300"
//
// For each fault and each Outage it prints, of all quotas the worst:
//
//   - over: how many tokens went beyond what the quota grants, in any span;
//   - rate: what went from two seconds after the fault on, as a part of what goes if all is sent as soon as the
//     quota allows it;
//   - back: after how long the rate, from then on, is 0.98;
//   - standstill: the longest time without a sending after the fault began, less the outage;
//   - share: by how much a process got more or less than the average, in the same time as rate.
//
// With -want it fails if anything is over. To set the clock of the server it needs a C compiler.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

var (
	long    = flag.Bool("long", false, "all faults, with Closed and with Share")
	only    = flag.String("faults", "", "which faults, by name, with commas between; -faults list prints all")
	modes   = flag.String("modes", "", "which Outages: closed, share, open")
	kinds   = flag.String("kinds", "", "which quotas; all if empty")
	members = flag.Int("members", 5, "how many processes")
	slack   = flag.Duration("slack", 40*time.Millisecond, "how late a busy machine may note a sending")
	cells   = flag.Int("parallel", 2, "how many fleets at a time")
	drawn   = flag.Int("random", 0, "so many lists of quotas that are drawn, instead of -kinds")
	seed    = flag.Uint64("seed", 1, "of -random")
	want    = flag.Bool("want", false, "fail if anything is over")
)

// sharedQuotas are those of the fleet, each a bucket of its own.
var sharedQuotas = []load{
	{text: "100/s even"},
	{text: "100/s burst 20"},
	{text: "100/s burst 300", costs: []int{200, 200, 50, 1}, uneven: true},
	{text: "60/m burst 4", uneven: true},
	{text: "60/2s log"},
	{text: "100/5s log", costs: []int{1, 1, 10}, uneven: true},
	{text: "60/2s sliding"},
	{text: "60/2s window"},
	{text: "60/2s window grid"},
	{text: "60/2s estimate"},
}

// load is what one quota is used for.
type load struct {
	text   string
	name   string // of the bucket, if not the text
	costs  []int  // of the claims of each process, in turns; 1 if empty
	uneven bool   // too few or too large for what goes in some seconds to mean anything
}

// short are the faults of the short form.
const short = "none,flushall,restart,sigstop,kill"

func main() {
	flag.Parse()
	if addr := os.Getenv(workerEnv); addr != "" {
		work(addr)
		return
	}
	if *only == "list" {
		for _, f := range faults {
			fmt.Fprintf(os.Stdout, "%-14s %s\n", f.name, f.what)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := known(); err != nil {
		return err
	}
	names, modes := split(*only), split(*modes)
	if len(names) == 0 && !*long {
		names = split(short)
	}
	if len(modes) == 0 {
		modes = []string{"closed", "share"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var all []*cell
	for _, f := range faults {
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		for _, mode := range modes {
			all = append(all, &cell{fault: f, mode: mode})
		}
	}
	places := make(chan struct{}, *cells)
	var wait sync.WaitGroup
	for _, c := range all {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			c.err = c.run(ctx)
		})
	}
	wait.Wait()
	return report(all)
}

// known reports what a flag names and there is not: a run without it would end well.
func known() error {
	var names, texts []string
	for _, f := range faults {
		names = append(names, f.name)
	}
	for _, l := range sharedQuotas {
		texts = append(texts, l.text)
	}
	for _, given := range []struct {
		name, value string
		valid       []string
	}{{"faults", *only, names}, {"modes", *modes, slices.Sorted(maps.Keys(outages))}, {"kinds", *kinds, texts}} {
		for _, word := range split(given.value) {
			if !slices.Contains(given.valid, word) {
				return fmt.Errorf("-%s has %q, want of %q", given.name, word, given.valid)
			}
		}
	}
	return nil
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func report(all []*cell) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\toutage\tover\trate\tback\tstandstill\tshare\tall that is over")
	over, failed := 0, error(nil)
	for _, c := range all {
		if c.err != nil {
			failed = fmt.Errorf("%s, %s: %w", c.fault.name, c.mode, c.err)
			fmt.Fprintf(w, "%s\t%s\t%v\n", c.fault.name, c.mode, c.err)
			continue
		}
		v := c.worst()
		over = max(over, v.over)
		fmt.Fprintf(w, "%s\t%s\t%d\t%.3f (%s)\t%.1fs (%s)\t%.2fs (%s)\t%.0f%%\t%s\n", c.fault.name, c.mode, v.over, v.rate, v.rateOf, v.back.Seconds(), v.backOf, v.still.Seconds(), v.stillOf, 100*v.share, strings.Join(v.notes, ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed == nil && *want && over > 0 {
		return fmt.Errorf("%d over", over)
	}
	return failed
}
