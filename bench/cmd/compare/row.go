package main

import (
	"slices"
	"testing"
)

// row is one line of a table.
type row struct {
	name string
	base int                // index of the row whose cost is subtracted
	goal float64            // what it is to cost at most, in multiples of what it is compared with; zero if there is no goal
	runs []func(*testing.B) // by column
	ns   [][]float64        // one sample per round, by column and round
	mem  []int64            // allocations, by column
}

// measure takes one sample of each row. Each round begins with another row, so that
// no row always follows the same one.
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

// added returns what r costs more than over: the median of the differences within a
// round, since what disturbs the machine disturbs both.
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

// find returns the first row of a name.
func find(rows []*row, name string) *row {
	for _, r := range rows {
		if r.name == name {
			return r
		}
	}
	panic("compare: no row " + name)
}
