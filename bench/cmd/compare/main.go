// The program measures all subjects of package bench several times, in turns, and
// prints tables in Markdown with the medians: what a round trip costs, what of it
// the wrapper adds to the bare base, and how that compares with ten lines around
// rate.Limiter in the same run; what a decision costs; and what a call through a
// retry loop does. It exits with 1 if an aim is missed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/gopacer/pacer/bench"
)

func main() {
	testing.Init()
	rounds := flag.Int("rounds", 21, "how often each is measured")
	benchtime := flag.String("benchtime", "30ms", "for how long each time, as go test -benchtime")
	flag.Parse()
	if err := flag.Set("test.benchtime", *benchtime); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !compare(os.Stdout, max(*rounds, 1)) {
		os.Exit(1)
	}
}

// row is one line of a table, with one sample of each column per round.
type row struct {
	name string
	base int // the row that it is measured over
	runs []func(*testing.B)
	ns   [][]float64 // by column and round
	mem  []int64     // allocations, by column
}

// compare measures, prints, and reports whether the aims are met.
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
	return printAims(w, trips, grants)
}

func trips() (rows []*row) {
	bases := map[bench.Answer]int{}
	for i, s := range bench.Subjects() {
		if s.Name == bench.Bare {
			bases[s.Answer] = i
		}
		get := func(b *testing.B) { b.Helper(); bench.Get(b, s.New()) }
		post := func(b *testing.B) { b.Helper(); bench.Post(b, s.New()) }
		rows = append(rows, &row{name: s.Name, base: bases[s.Answer], runs: []func(*testing.B){get, post}})
	}
	return rows
}

func grants() (rows []*row) {
	for _, d := range bench.Decisions() {
		rows = append(rows, &row{name: d.Name, runs: []func(*testing.B){d.Run}})
	}
	return rows
}

// measure takes one sample of each row. Each round begins with another one, so
// that none always has the same neighbour.
func measure(rows []*row, round int) {
	for i := range rows {
		r := rows[(i+round)%len(rows)]
		r.ns = slices.Grow(r.ns, len(r.runs))[:len(r.runs)]
		r.mem = r.mem[:0]
		for column, run := range r.runs {
			result := testing.Benchmark(run)
			r.ns[column] = append(r.ns[column], float64(result.T.Nanoseconds())/float64(max(result.N, 1)))
			r.mem = append(r.mem, result.AllocsPerOp())
		}
	}
}

// added returns what r costs more than over, as the median of the differences
// within a round: what disturbs the machine disturbs both.
func (r *row) added(over *row, column int) float64 {
	diffs := make([]float64, len(r.ns[column]))
	for i, ns := range r.ns[column] {
		diffs[i] = ns - over.ns[column][i]
	}
	return median(diffs)
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[len(xs)/2] + xs[(len(xs)-1)/2]) / 2
}

// find returns the first row of that name.
func find(rows []*row, name string) *row {
	for _, r := range rows {
		if r.name == name {
			return r
		}
	}
	panic("compare: no row " + name)
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
