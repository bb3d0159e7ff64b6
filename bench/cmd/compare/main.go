// The program measures all subjects of package bench several times, in turns, and
// prints tables in Markdown with the medians. The first table has the cost of a
// round trip, the part of it that the wrapper adds to the bare base, and that part
// beside what ten lines around rate.Limiter add in the same run. The others have the
// cost of a decision, and of a call through a retry loop. The program exits with 1 if
// a goal is missed, or if pacer allocates on one of these paths. With -instructions it
// prints one table of instructions instead, which do not depend on what else the
// machine does.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/gopacer/pacer/bench"
	"github.com/gopacer/pacer/bench/internal/callgrind"
)

func main() {
	callgrind.Main()
	testing.Init()
	rounds := flag.Int("rounds", 21, "how often each subject is measured")
	benchtime := flag.String("benchtime", "30ms", "for how long each time, as go test -benchtime")
	counts := flag.Bool("instructions", false, "count instructions by valgrind, which are not noisy, instead of time")
	times := flag.Int("times", 20_000, "how often each path is gone whose instructions are counted")
	slack := flag.Float64("slack", 0, "with -instructions, by how many percent a row may miss its goal without an exit status of 1")
	flag.Parse()
	if *counts {
		met, err := instructions(os.Stdout, bench.Paths(), *slack, func(paths []bench.Path) (map[string]float64, error) { return counted(paths, *times) })
		if err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
			os.Exit(2)
		}
		if !met {
			os.Exit(1)
		}
		return
	}
	if err := flag.Set("test.benchtime", *benchtime); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !compare(os.Stdout, max(*rounds, 1)) {
		os.Exit(1)
	}
}

// compare measures all subjects, prints the tables, and reports whether the goals are met.
func compare(w io.Writer, rounds int) bool {
	trips, grants, retries := trips(), grants(), retries()
	for round := range rounds {
		measure(trips, round)
		measure(grants, round)
		measure(retries, round)
	}
	printTrips(w, trips)
	printGrants(w, grants)
	printRetries(w, retries)
	return printGoals(w, trips, grants)
}

// trips returns a row for each Subject.
func trips() (rows []*row) {
	bases := map[bench.Answer]int{}
	for i, s := range bench.Subjects() {
		if s.Name == bench.Bare {
			bases[s.Answer] = i
		}
		get := func(b *testing.B) { b.Helper(); bench.Get(b, s.New()) }
		post := func(b *testing.B) { b.Helper(); bench.Post(b, s.New()) }
		rows = append(rows, &row{name: s.Name, base: bases[s.Answer], goal: s.Goal, runs: []func(*testing.B){get, post}})
	}
	return rows
}

// grants returns a row for each Decision.
func grants() (rows []*row) {
	for _, d := range bench.Decisions() {
		rows = append(rows, &row{name: d.Name, goal: d.Goal, runs: []func(*testing.B){d.Run}})
	}
	return rows
}

func printTrips(w io.Writer, rows []*row) {
	fmt.Fprintln(w, "| one RoundTrip | GET ns | allocs | added ns | ÷ rate.Limiter | POST 1 KiB ns | allocs | added ns | ÷ rate.Limiter |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	x := find(rows, bench.XTime)
	for i, r := range rows {
		fmt.Fprintf(w, "| %s |", r.name)
		for column := range r.runs {
			fmt.Fprintf(w, " %.0f | %d |", median(r.ns[column]), r.mem[column])
			if r.base == i {
				fmt.Fprint(w, " | |")
				continue
			}
			added := r.added(rows[r.base], column)
			fmt.Fprintf(w, " %.0f | %.2f |", added, added/x.added(rows[x.base], column))
		}
		fmt.Fprintln(w)
	}
}

func printGrants(w io.Writer, rows []*row) {
	fmt.Fprint(w, "\n| one decision, granted at once | ns | allocs | ÷ Allow |\n|---|---|---|---|\n")
	allow := median(find(rows, bench.XTimeAllow).ns[0])
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %.0f | %d | %.2f |\n", r.name, median(r.ns[0]), r.mem[0], median(r.ns[0])/allow)
	}
}
