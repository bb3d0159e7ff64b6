package main

import (
	"fmt"
	"io"

	"github.com/gopacer/pacer/bench"
	"github.com/gopacer/pacer/bench/internal/callgrind"
)

// instructions counts the instructions of all paths, prints the table, and reports whether the goals are met.
func instructions(w io.Writer, times int) (bool, error) {
	paths := bench.Paths()
	counts := map[string]float64{}
	for _, p := range paths {
		n, err := callgrind.Count(p.Name, times)
		if err != nil {
			return false, err
		}
		counts[p.Name] = n
	}
	return printInstructions(w, paths, counts), nil
}

func printInstructions(w io.Writer, paths []bench.Path, counts map[string]float64) bool {
	over := map[string]string{}
	for _, p := range paths {
		over[p.Name] = p.Over
	}
	added := func(name string) float64 { return counts[name] - counts[over[name]] }
	met := true
	fmt.Fprint(w, "| path | instructions | added | ÷ x/time | goal | |\n|---|---|---|---|---|---|\n")
	for _, p := range paths {
		fmt.Fprintf(w, "| %s | %.0f |", p.Name, counts[p.Name])
		if p.Per == "" {
			fmt.Fprintln(w, " | | | |")
			continue
		}
		ratio := added(p.Name) / added(p.Per)
		fmt.Fprintf(w, " %.0f | %.2f |", added(p.Name), ratio)
		switch {
		case p.Goal == 0:
			fmt.Fprintln(w, " | |")
		case ratio <= p.Goal:
			fmt.Fprintf(w, " %.2f | met |\n", p.Goal)
		default:
			fmt.Fprintf(w, " %.2f | MISSED |\n", p.Goal)
			met = false
		}
	}
	return met
}
