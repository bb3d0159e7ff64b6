package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gopacer/pacer/bench"
)

// printGoals prints for each goal whether it is met, and reports whether all are met: what pacer adds to the
// cost of a GET, and what a decision costs, in multiples of x/time's; and that pacer does not allocate.
func printGoals(w io.Writer, trips, grants []*row) bool {
	met := true
	say := func(ok bool, format string, args ...any) {
		verdict := "met"
		if !ok {
			verdict, met = "MISSED", false
		}
		fmt.Fprintf(w, "- %s: %s\n", fmt.Sprintf(format, args...), verdict)
	}
	fmt.Fprintln(w)
	x := find(trips, bench.XTime)
	wait := x.added(trips[x.base], 0)
	for _, r := range trips {
		if !strings.HasPrefix(r.name, "pacer") {
			continue
		}
		over := trips[r.base]
		say(r.mem[0] == over.mem[0], "%s: %d allocations, %d of them of the base", r.name, r.mem[0], over.mem[0])
		if r.goal > 0 {
			times := r.added(over, 0) / wait
			say(times <= r.goal, "%s: adds %.2f times what rate.Limiter adds, goal %.2f", r.name, times, r.goal)
		}
	}
	allow := median(find(grants, bench.XTimeAllow).ns[0])
	for _, r := range grants {
		say(r.mem[0] == 0, "%s: %d allocations", r.name, r.mem[0])
		if r.goal > 0 {
			times := median(r.ns[0]) / allow
			say(times <= r.goal, "%s: costs %.2f times what Allow costs, goal %.2f", r.name, times, r.goal)
		}
	}
	return met
}
