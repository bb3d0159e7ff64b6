//go:build unix

// Command soak shows what a fleet of processes that share quotas through a directory sends while things go
// wrong: it starts several processes of itself, has one fault after the other happen to them, merges what all
// say that they sent, and checks that with arithmetic of its own.
//
//	go run ./internal/soak                               # all faults, some two minutes
//	go run ./internal/soak -faults list
//	go run ./internal/soak -faults kill -kills 10000     # until so many were killed
//	go run ./internal/soak -faults remove -modes share -kinds "100/s burst 20"
//
// For each fault and each Outage it prints, of all quotas the worst:
//
//   - over: how many tokens went beyond what the quota grants, in any span;
//   - rate: what went from two seconds after the fault on, as a part of what goes if all is sent as soon as the
//     quota allows it;
//   - standstill: the longest time without a sending after the fault began, less a window;
//   - cpu: which part of a core all processes took.
//
// What processes cost that send as fast as a quota lets them, and what they cost when they send nothing:
//
//	go run ./internal/soak -faults none -members 20 -quota "1000/s burst 20" -claims 5
//	go run ./internal/soak -faults none -members 20 -quota "1000/s burst 20" -idle
//
// A process that is killed takes along the slots that its claims wait for, one for each claim at most where
// they are far ahead. So while more processes are killed in a second than a quota grants slots, hardly anything
// goes of it, and what is handed out reaches further and further ahead: after 10 000 kills, 50 a second, what
// 60/2s grants in minutes has nobody any more. That is not a fault of the Store, which cannot tell a process
// that waits from one that is gone. The soak waits until these slots have passed, prints how many there were
// for each process, and measures the rate from then on, when all live.
//
// With -want it fails if anything is over but what a removal may cost, 3 each, and what a copy or a flipped bit
// may; or if more slots go unused than that. To fill a disk, or to make it read-only, it has to be root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

var (
	only    = flag.String("faults", "", "which faults, by name, with commas between; -faults list prints all; all if empty")
	modes   = flag.String("modes", "closed", "which Outages: closed, share, open")
	kinds   = flag.String("kinds", "", "which quotas, with commas between; all if empty")
	claims  = flag.Int("claims", 3, "how many claims of a process wait for each quota")
	members = flag.Int("members", 5, "how many processes")
	kills   = flag.Int("kills", 0, "how many processes are killed by the fault that does that; those of four seconds if zero")
	quotaOf = flag.String("quota", "", "a quota to use instead")
	idle    = flag.Bool("idle", false, "send one request each, and then nothing")
	length  = flag.Duration("for", 6*time.Second, "how long a fleet runs after a fault")
	slack   = flag.Duration("slack", 40*time.Millisecond, "how late a busy machine may note a sending")
	want    = flag.Bool("want", false, "fail if too much is over")
)

func main() {
	flag.Parse()
	if dir := os.Getenv(workerEnv); dir != "" {
		work(dir)
		return
	}
	if *only == "list" {
		for _, f := range faults {
			fmt.Fprintf(os.Stdout, "%-10s %s\n", f.name, f.what)
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
	after = *length
	names := split(*only)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\toutage\tover\trate\tstandstill\tcpu\tall that is over")
	var wrong error
	for _, f := range faults {
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		for _, mode := range split(*modes) {
			c := &cell{fault: f, mode: mode}
			if err := c.run(ctx); err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("%s, %s: %w", f.name, mode, err))
				continue
			}
			v := c.worst()
			fmt.Fprintf(w, "%s\t%s\t%d\t%.2f (%s)\t%.2fs (%s)\t%.4f\t%s%s\n", f.name, mode, v.over, v.rate, v.rateOf, v.still.Seconds(), v.stillOf, c.cpu.Seconds()/c.lived.Seconds(), c.did, strings.Join(v.notes, ", "))
			if *want && c.lost > float64(*claims) {
				wrong = errors.Join(wrong, fmt.Errorf("%s, %s: %.1f slots went unused for each process that was killed, want %d at most, one for each claim", f.name, mode, c.lost, *claims))
			}
			if *want && v.over > 3*c.removals && !f.loose {
				wrong = errors.Join(wrong, fmt.Errorf("%s, %s: %d over", f.name, mode, v.over))
			}
		}
	}
	return errors.Join(w.Flush(), wrong)
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
