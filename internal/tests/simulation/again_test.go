package simulation

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/whole"
)

var (
	againCells  = flag.Int("again", whole.Or(5, 12), "cells of each class of which the second run is watched")
	againSeed   = flag.Uint64("againseed", 31, "seed of these cells")
	againTraced = flag.String("againtrace", "", "name of a cell to trace")
)

// again is how the second run of a program went.
type again struct {
	cell  cell
	pause time.Duration // between the runs
	last  int           // refused of the last hundred answers of the first run
	first int           // refused of the first hundred answers of the second one
	took  time.Duration // the second run
	anew  int           // refused of these in a run that knows nothing; only if the test is verbose
	alone time.Duration // how long that took
}

// playAgain runs a cell, saves what was learned, and after a pause has a new process send a hundred requests.
func (c cell) playAgain(t *testing.T, pause time.Duration, load bool, trace func(string, ...any)) (last, first int, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, c.rnd(-1, 0, "start").IntN(1e9), time.UTC)))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w := newWorld(c.simulation, func() { cancel(errHammers) })
		court := &court{cell: &c, world: w, algorithm: c.algorithm()}
		w.handler = court
		run := func(tr *pacer.Transport, from, to int) []answer {
			court.answers = nil
			b := batchOf{world: w, ctx: ctx, transports: []*pacer.Transport{tr}}
			b.run(from, to)
			slices.SortFunc(court.answers, func(a, b answer) int { return int(a.at - b.at) })
			return court.answers
		}
		tr := &pacer.Transport{Base: network{w}, Rand: c.jitter(0)}
		answers := run(tr, 0, c.requests)
		last = refused(answers[len(answers)-100:])
		var saved bytes.Buffer
		if err := tr.Save(&saved); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		tr = &pacer.Transport{Base: network{w}, Rand: c.jitter(1)}
		if trace != nil {
			trace("%v: saved %s; %v later", c, &saved, pause)
			w.trace = func(format string, args ...any) {
				trace(format+" %s", append(args, believed([]*pacer.Transport{tr}))...)
			}
		}
		if load {
			if err := tr.Load(&saved); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		answers = run(tr, c.requests, c.requests+100)
		first, took = refused(answers[:100]), time.Since(start)
		if err := context.Cause(ctx); err != nil {
			t.Errorf("%s: ended: %v", c.name, err)
		}
	})
	return last, first, took
}

// refused counts refusals.
func refused(answers []answer) (n int) {
	for _, a := range answers {
		if !a.ok {
			n++
		}
	}
	return n
}

// TestAgain: a run of a program that was saved, and a second one after a pause of 100 ms to 10 minutes. The
// second one begins as the first one ended: in each class at most one of its first hundred requests is refused
// in three of four cells, and in the mean of all cells.
func TestAgain(t *testing.T) {
	for _, class := range append([]string{classUnstated, classBehind}, classes...) {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			var all []again
			sum, anew := 0, 0
			for i := range *againCells {
				c, err := drawCell(*againSeed, fmt.Sprintf("%s/1-long/%d", class, i))
				if err != nil {
					t.Fatal(err)
				}
				a := again{cell: c, pause: time.Duration(between(c.rnd(-1, 0, "pause").Float64(), float64(100*time.Millisecond), float64(10*time.Minute)))}
				var trace func(string, ...any)
				if *againTraced == c.name {
					trace = t.Logf
				}
				a.last, a.first, a.took = c.playAgain(t, a.pause, true, trace)
				if testing.Verbose() {
					_, a.anew, a.alone = c.playAgain(t, a.pause, false, nil)
				}
				all = append(all, a)
				sum, anew = sum+a.first, anew+a.anew
			}
			slices.SortFunc(all, func(a, b again) int { return b.first - a.first })
			for _, a := range all {
				t.Logf("%d refused in %.2f s (%d in %.2f s if nothing is loaded; %d of the last hundred before), %v later: %s: %s",
					a.first, a.took.Seconds(), a.anew, a.alone.Seconds(), a.last, a.pause.Round(time.Millisecond), a.cell.name, a.cell)
			}
			n := float64(len(all))
			t.Logf("%s: mean %.2f refused of the first hundred, %.2f if nothing is loaded; three of four %d, worst %d", class, float64(sum)/n, float64(anew)/n, all[len(all)/4].first, all[0].first)
			if mean := float64(sum) / n; mean > 1 || all[len(all)/4].first > 1 {
				t.Errorf("%s: %.2f of the first hundred are refused in the mean, and %d in three of four cells; want at most 1", class, mean, all[len(all)/4].first)
			}
		})
	}
}
