package interop

import (
	"math"
	"slices"
	"time"
)

// Result is what became of a cell.
type Result struct {
	Cell Cell

	Wanted   int           // requests that were measured
	Admitted int           // of them
	Refused  int           // by the limiter
	Took     time.Duration // from the start to the last that was admitted
	Least    time.Duration // in which the server's algorithm admits as many
	Longest  time.Duration // that a request took, from being wanted to being admitted
	GaveUp   int           // how often the client gave up a request
	Done     bool          // all requests were admitted, in time
	Stall    time.Duration // by which the machine was late at worst
	Tries    int           // runs that it took, since the machine was too late in others
}

// newResult counts what the limiter answered after the measured requests had begun.
func newResult(c Cell, truth Truth, start time.Time, events []event, reports []report) Result {
	r := Result{Cell: c, Wanted: c.Workload.Requests, Done: true}
	var begun time.Time
	for _, p := range reports {
		r.Done = r.Done && !p.Start.IsZero()
		if begun.IsZero() || p.Start.Before(begun) {
			begun = p.Start
		}
		r.Longest, r.GaveUp = max(r.Longest, p.Longest), r.GaveUp+p.GaveUp
	}
	if !r.Done {
		begun = start
	}
	var before []time.Time
	for _, e := range events {
		switch {
		case e.at.Before(begun):
			if e.admitted() {
				before = append(before, e.at)
			}
		case e.admitted():
			r.Admitted++
			r.Took = e.at.Sub(begun)
		default:
			r.Refused++
		}
	}
	r.Done = r.Done && r.Admitted >= r.Wanted
	r.Least = truth.least(before, begun, r.Wanted)
	return r
}

// Ratio is the makespan over the least possible one, infinite if the client failed.
func (r Result) Ratio() float64 {
	if !r.Done {
		return math.Inf(1)
	}
	return float64(r.Took) / float64(r.Least)
}

// RefusedPer100 is the number of refusals for every 100 that were admitted.
func (r Result) RefusedPer100() float64 {
	return 100 * float64(r.Refused) / float64(max(r.Admitted, 1))
}

// Summary is the median of a cell's runs.
type Summary struct {
	Cell          Cell
	Runs          int
	Ratio         float64 // infinite if the client failed in most
	RefusedPer100 float64
	Longest       time.Duration
	GaveUp        float64
}

// Summarize returns the medians, cell by cell, in the order in which cells come first.
func Summarize(results []Result) (all []Summary) {
	runs := map[string][]Result{}
	var names []string
	for _, r := range results {
		name := r.Cell.String()
		if runs[name] == nil {
			names = append(names, name)
		}
		runs[name] = append(runs[name], r)
	}
	for _, name := range names {
		rs := runs[name]
		all = append(all, Summary{
			Cell: rs[0].Cell, Runs: len(rs),
			Ratio:         median(rs, Result.Ratio),
			RefusedPer100: median(rs, Result.RefusedPer100),
			Longest:       time.Duration(median(rs, func(r Result) float64 { return float64(r.Longest) })),
			GaveUp:        median(rs, func(r Result) float64 { return float64(r.GaveUp) }),
		})
	}
	return all
}

// median returns the median of what of says, of an even number of results the greater
// of the two in the middle.
func median[T any](of []T, says func(T) float64) float64 {
	xs := make([]float64, len(of))
	for i, x := range of {
		xs[i] = says(x)
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}
