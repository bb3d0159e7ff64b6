package interop

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// made returns what a limiter answered: statuses at milliseconds after noon.
func made(events ...[2]int) (all []event) {
	for _, e := range events {
		all = append(all, event{at: after(e[0])[0], status: e[1]})
	}
	return all
}

var pair = Truth{Quota: quota.Quota{N: 2, Per: time.Second, Kind: quota.FixedWindow}}

func cell(client string, n int) Cell {
	return Cell{
		Server:   Server{Name: "pairs", Truth: pair, Says: "X-RateLimit"},
		Client:   Client{Name: client},
		Workload: Workload{Name: "one process", Processes: 1, Requests: n, Callers: 2},
	}
}

func TestResult(t *testing.T) {
	events := made([2]int{0, 200}, [2]int{10, 200}, [2]int{20, 429}, [2]int{600, 429}, [2]int{1100, 200}, [2]int{1150, 200}, [2]int{2200, 200})
	reports := []report{{Start: after(500)[0], Longest: 3 * time.Second, GaveUp: 1}, {Start: after(510)[0], Longest: 2 * time.Second, GaveUp: 2}}
	r := newResult(cell("x", 3), pair, noon, events, reports)
	if !r.Done || r.Admitted != 3 || r.Refused != 1 || r.GaveUp != 3 || r.Longest != 3*time.Second {
		t.Errorf("got %+v, want 3 admitted, 1 refused, 3 given up, 3 s", r)
	}
	// From 0.5 s on, with two used since 0: the next two at 1 s, the third at 2 s.
	if got, want := r.Least, 1500*time.Millisecond; got != want {
		t.Errorf("least is %v, want %v", got, want)
	}
	if got, want := r.Took, 1700*time.Millisecond; got != want {
		t.Errorf("took %v, want %v", got, want)
	}
	if got, want := r.Ratio(), 1.7/1.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("ratio is %v, want %v", got, want)
	}
	if got, want := r.RefusedPer100(), 100./3; math.Abs(got-want) > 1e-9 {
		t.Errorf("refused %v per 100, want %v", got, want)
	}
}

func TestResultFails(t *testing.T) {
	events := made([2]int{10, 200}, [2]int{20, 429}, [2]int{30, 429})
	for name, r := range map[string]Result{
		"no report":    newResult(cell("x", 1), pair, noon, events, []report{{Start: noon}, {}}),
		"one too few":  newResult(cell("x", 2), pair, noon, events, []report{{Start: noon}}),
		"none started": newResult(cell("x", 2), pair, noon, nil, []report{{}}),
	} {
		if r.Done || !math.IsInf(r.Ratio(), 1) {
			t.Errorf("%s: ratio is %v, want infinity", name, r.Ratio())
		}
	}
}

func TestSummarize(t *testing.T) {
	run := func(client string, took time.Duration, refused int, done bool) Result {
		return Result{Cell: cell(client, 10), Wanted: 10, Admitted: 10, Refused: refused, Took: took, Least: time.Second, Longest: took, Done: done}
	}
	got := Summarize([]Result{
		run("a", 3*time.Second, 0, true), run("b", time.Second, 0, true),
		run("a", time.Second, 5, true), run("b", time.Second, 0, false),
		run("a", 2*time.Second, 1, true), run("b", time.Second, 0, false),
	})
	if len(got) != 2 || got[0].Cell.Client.Name != "a" || got[0].Runs != 3 {
		t.Fatalf("got %+v, want a with three runs, and b", got)
	}
	if a := got[0]; a.Ratio != 2 || a.RefusedPer100 != 10 || a.Longest != 2*time.Second {
		t.Errorf("a: got %v, %v, %v, want 2, 10, 2s", a.Ratio, a.RefusedPer100, a.Longest)
	}
	if b := got[1]; !math.IsInf(b.Ratio, 1) {
		t.Errorf("b: ratio is %v, want infinity, as two of three failed", b.Ratio)
	}
}
