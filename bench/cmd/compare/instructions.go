package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/gopacer/pacer/bench"
	"github.com/gopacer/pacer/bench/internal/callgrind"
)

// instructions has the instructions of paths counted, prints the table, and reports whether the goals are met.
func instructions(w io.Writer, paths []bench.Path, slack float64, count func([]bench.Path) (map[string]float64, error)) (bool, error) {
	counts, err := count(paths)
	if err != nil {
		return false, err
	}
	for range repeats {
		missed := slices.DeleteFunc(slices.Clone(paths), func(p bench.Path) bool { return meets(p, paths, counts) })
		again, err := count(missed)
		if err != nil {
			return false, err
		}
		for name, n := range again {
			counts[name] = min(counts[name], n)
		}
	}
	return printInstructions(w, paths, counts, slack), nil
}

// repeats is how often a path is counted again, at most, while it misses its goal: then the least counts.
// Counts differ by 1 % by chance, and one process in ten takes 2.5 % more, of which the reason is not known.
const repeats = 4

// counted counts the instructions of paths, each of which is gone so many times. It counts several at once: a
// process sleeps for most of its time.
func counted(paths []bench.Path, times int) (map[string]float64, error) {
	type result struct {
		name string
		n    float64
		err  error
	}
	results, slots := make(chan result, len(paths)), make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	for _, p := range paths {
		go func() {
			slots <- struct{}{}
			n, err := callgrind.Count(p.Name, times)
			<-slots
			results <- result{p.Name, n, err}
		}()
	}
	counts := map[string]float64{}
	var errs []error
	for range paths {
		r := <-results
		counts[r.name] = r.n
		errs = append(errs, r.err)
	}
	return counts, errors.Join(errs...)
}

// ratio returns what a path adds to the path over which it is measured, in multiples of what that adds with
// which it is compared.
func ratio(p bench.Path, paths []bench.Path, counts map[string]float64) float64 {
	over := func(name string) string {
		return paths[slices.IndexFunc(paths, func(p bench.Path) bool { return p.Name == name })].Over
	}
	return (counts[p.Name] - counts[p.Over]) / (counts[p.Per] - counts[over(p.Per)])
}

// meets reports whether a path meets its goal, or has none.
func meets(p bench.Path, paths []bench.Path, counts map[string]float64) bool {
	return p.Goal == 0 || ratio(p, paths, counts) <= p.Goal
}

// printInstructions prints a table, and reports whether each row meets its goal, or misses it by so many
// percent at most.
func printInstructions(w io.Writer, paths []bench.Path, counts map[string]float64, slack float64) bool {
	met := true
	fmt.Fprint(w, "| path | instructions | added | ÷ x/time | goal | |\n|---|---|---|---|---|---|\n")
	for _, p := range paths {
		fmt.Fprintf(w, "| %s | %.0f |", p.Name, counts[p.Name])
		if p.Per == "" {
			fmt.Fprintln(w, " | | | |")
			continue
		}
		fmt.Fprintf(w, " %.0f | %.2f |", counts[p.Name]-counts[p.Over], ratio(p, paths, counts))
		switch {
		case p.Goal == 0:
			fmt.Fprintln(w, " | |")
		case meets(p, paths, counts):
			fmt.Fprintf(w, " %.2f | met |\n", p.Goal)
		default:
			fmt.Fprintf(w, " %.2f | MISSED |\n", p.Goal)
			met = met && ratio(p, paths, counts) <= p.Goal*(1+slack/100)
		}
	}
	return met
}
