// Matrix shows how well pacer learns what nobody told it: it plays cells of a matrix, programs and servers in
// virtual time that are drawn from a seed, and prints how long they take and how often they are refused beside
// what is wanted.
//
//	go run ./internal/tests/matrix                              # 48 cells of each class and column
//	go run ./internal/tests/matrix -json before.json            # and keep how each went
//	go run ./internal/tests/matrix -against before.json         # before beside after
//	go run ./internal/tests/matrix -bound careful               # beside processes that search for their shares
//	go run ./internal/tests/matrix -cell hint/1-long/0          # one of them, traced
//
// The cells, and what is measured, are in internal/tests/simulation, of which this builds the test: virtual
// time is to be had in tests only. Each cell is played by a process with one thread, and so goes the same way
// each time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.cells, "cells", 48, "how many cells of each class and column")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the cells")
	flag.StringVar(&o.only, "only", "", "only cells whose class/column/number matches this `regexp`")
	flag.StringVar(&o.json, "json", "", "`file` to which how each cell went is written")
	flag.StringVar(&o.against, "against", "", "`file` that -json wrote, of another build: before beside after")
	flag.IntVar(&o.worst, "worst", 5, "how many of the worst cells of each class are printed")
	flag.StringVar(&o.bound, "bound", "parts", "processes that the bound is of: parts (told how many they are), careful, even or swift (told all but that: they search, or read what remains), or untold (told how the server counts: they read its numbers or, of hints and silence and alone, guess them; untold-careful and untold-swift with another weight, untold-window and untold-burst told one more, untold-any and its like told nothing)")
	flag.IntVar(&o.jobs, "j", runtime.GOMAXPROCS(0), "how many cells are played at once")
	cell := flag.String("cell", "", "play the cell of this `name` alone, and trace it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, *cell); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // the signal need not be released any more
	}
}

// options are what is asked for.
type options struct {
	cells   int
	seed    uint64
	only    string
	json    string
	against string
	worst   int
	bound   string
	jobs    int
}

// run does what the command line asks for.
func run(ctx context.Context, o options, cell string) error {
	begin := time.Now()
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	if !slices.Contains(bounds, o.bound) {
		return fmt.Errorf("-bound %q, want one of %v", o.bound, bounds)
	}
	var old *matrix
	if o.against != "" {
		if old, err = readMatrix(o.against); err != nil {
			return err
		}
		if old.Seed != o.seed {
			return fmt.Errorf("%s is of seed %d, which has other cells", o.against, old.Seed)
		}
	}
	scratch, err := os.MkdirTemp("", "matrix")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	p, err := build(ctx, filepath.Join(scratch, "simulation.test"))
	if err != nil {
		return err
	}
	p.seed, p.bound = o.seed, o.bound
	if cell != "" {
		return p.trace(ctx, cell, os.Stdout)
	}
	names := namesOf(o.cells, only)
	if len(names) == 0 {
		return errors.New("no such cell")
	}
	m := &matrix{Build: p.version, Seed: o.seed, Bound: o.bound}
	if m.Outcomes, err = p.playAll(ctx, names, max(o.jobs, 1)); err != nil {
		return err
	}
	if o.json != "" {
		if err := m.write(o.json); err != nil {
			return err
		}
	}
	if old != nil {
		old.keep(m)
	}
	report(os.Stdout, m, old, o.worst)
	fmt.Fprintf(os.Stdout, "\n%d cells in %v.\n", len(names), time.Since(begin).Round(time.Second))
	return m.problems()
}
