package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gopacer/pacer/bench"
)

// The aims: what pacer may add to the cost of a GET, in multiples of what ten lines
// around rate.Limiter add.
const (
	plainAim = 1.5 // if the server says nothing of limits, in few headers
	learnAim = 4.0 // if the server has many headers, or pacer learns from them
)

// printAims prints for each aim whether it is met, and reports whether all are met.
func printAims(w io.Writer, trips, grants []*row) bool {
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
		over, aim := trips[r.base], plainAim
		if over != trips[x.base] {
			aim = learnAim
		}
		say(r.mem[0] == over.mem[0], "%s: %d allocations, %d of them of the base", r.name, r.mem[0], over.mem[0])
		times := r.added(over, 0) / wait
		say(times <= aim, "%s: adds %.2f times what rate.Limiter adds, aim %.1f", r.name, times, aim)
	}
	for _, r := range grants {
		say(r.mem[0] == 0, "%s: %d allocations", r.name, r.mem[0])
	}
	return met
}
