package main

import (
	"fmt"
	"io"
	"testing"

	"github.com/gopacer/pacer/bench"
)

// retries returns a row for each Retrier.
func retries() (rows []*row) {
	for _, r := range bench.Retriers() {
		runs := []func(*testing.B){r.Success, r.Failures}
		if r.Delays != nil {
			runs = append(runs, r.Delay)
		}
		rows = append(rows, &row{name: r.Name, runs: runs})
	}
	return rows
}

// printRetries prints what the call of a function through a retry loop costs.
func printRetries(w io.Writer, rows []*row) {
	fmt.Fprint(w, "\n| one call with at most 3 attempts | succeeds at once, ns | allocs | ÷ ours | the third time, without delays, ns | allocs | ÷ ours | one delay, ns | allocs | ÷ ours |\n")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	ours := find(rows, bench.Backoff)
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |", r.name)
		for column := range ours.runs {
			if column >= len(r.runs) {
				fmt.Fprint(w, " | | |")
				continue
			}
			ns := median(r.ns[column])
			fmt.Fprintf(w, " %.0f | %d | %.1f |", ns, r.mem[column], ns/median(ours.ns[column]))
		}
		fmt.Fprintln(w)
	}
}
