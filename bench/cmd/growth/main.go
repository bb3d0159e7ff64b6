// The program measures what could grow with size, at several sizes each, and prints a table in Markdown: the
// figures, and how much they grow from the smallest size to the greatest. Each figure is the least of some
// runs. The program exits with 1 if a figure that is to stay the same grows nearly as the size does, or if one
// that grows as the size does grows much more.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/gopacer/pacer/bench"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each figure is measured")
	only := flag.String("run", "", "a regular expression: only rows whose names match")
	flag.Parse()
	matches, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(2)
	}
	if !slices.ContainsFunc(bench.Growths(), func(g bench.Growth) bool { return matches.MatchString(g.Name) }) {
		fmt.Fprintf(os.Stderr, "growth: no row has a name that matches %q\n", *only)
		os.Exit(2)
	}
	if !table(os.Stdout, bench.Growths(), matches, max(*rounds, 1)) {
		os.Exit(1)
	}
}

// table prints a row for each Growth whose name matches, and reports whether none grows by more than it may.
func table(w io.Writer, growths []bench.Growth, matches *regexp.Regexp, rounds int) bool {
	met := true
	fmt.Fprint(w, "| what | n | figures | grows by | at most | |\n|---|---|---|---|---|---|\n")
	for _, g := range growths {
		if !matches.MatchString(g.Name) {
			continue
		}
		var sizes, texts []string
		var figures []float64
		for _, n := range g.Sizes {
			least := g.Measure(n)
			for range rounds - 1 {
				runtime.GC()
				least = min(least, g.Measure(n))
			}
			figures = append(figures, least)
			sizes = append(sizes, fmt.Sprint(n))
			texts = append(texts, fmt.Sprintf("%.4g", least))
		}
		by, verdict := figures[len(figures)-1]/figures[0], "met"
		if by > g.Most() {
			verdict, met = "MISSED", false
		}
		fmt.Fprintf(w, "| %s | %s | %s %s | %.1f | %.1f | %s |\n", g.Name, strings.Join(sizes, ", "), strings.Join(texts, ", "), g.Unit, by, g.Most(), verdict)
	}
	return met
}
