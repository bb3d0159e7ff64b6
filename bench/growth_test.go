package bench

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// Every figure is one of something that was done, and is told for ascending sizes.
func TestGrowths(t *testing.T) {
	for _, g := range Growths() {
		if got := g.Measure(20); math.IsNaN(got) || math.IsInf(got, 0) || got <= 0 && g.Unit != "B" {
			t.Errorf("%s: %v %s", g.Name, got, g.Unit)
		}
		if !slices.IsSorted(g.Sizes) || len(g.Sizes) < 3 {
			t.Errorf("%s: sizes %v, want at least three that ascend", g.Name, g.Sizes)
		}
	}
}

// What is linear is told from what is flat, and what is quadratic from what is linear.
func TestMost(t *testing.T) {
	for _, linear := range []bool{false, true} {
		sizes := []int{10, 100, 1000}
		degree := 0.0
		if linear {
			degree = 1
		}
		most := Growth{Sizes: sizes, Linear: linear}.Most()
		if as, more := math.Pow(100, degree), math.Pow(100, degree+1); most <= 2*as || most >= more/2 {
			t.Errorf("linear %v: may grow by %v, want more than %v, and less than %v", linear, most, 2*as, more/2)
		}
	}
}

// A goroutine that waits, and is canceled, gets along with 4 KiB of stack: what needs more doubles the stack of each that waits, and copies
// it when many leave at once.
func TestStackOfAWait(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("frames are of other sizes")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which makes stacks smaller
	const n = 1000
	stacks := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.StackInuse)
	}
	l := usedUp()
	ctx, cancel := context.WithCancel(t.Context())
	gone, measured := make(chan bool), make(chan bool)
	var all sync.WaitGroup
	before := stacks()
	for range n {
		all.Go(func() {
			gone <- l.Wait(ctx, 1) != nil
			<-measured
		})
	}
	for l.State().Waiting < n {
		runtime.Gosched()
	}
	waiting := (stacks() - before) / n
	cancel()
	for range n {
		<-gone
	}
	left := (stacks() - before) / n
	close(measured)
	all.Wait()
	if most := 4.5 * 1024; waiting > most || left > most {
		t.Errorf("a stack of %.0f bytes where a claim waits, and of %.0f when it was canceled, want 4096 and few for others", waiting, left)
	}
}
