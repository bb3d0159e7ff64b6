package bench

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
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

// A goroutine that waits, and is canceled, gets along with 4 KiB of stack: what needs more doubles the stack of
// each that waits, and copies it when many leave at once.
func TestStackOfAWait(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("frames are of other sizes")
	}
	for name, l := range map[string]*throttle.Limiter{
		"used up":           usedUp(),
		"a bucket":          {Quotas: quota.Quotas{{N: 1}}},
		"a child of others": {Quotas: quota.Quotas{{N: 1}}, Parent: &throttle.Limiter{Quotas: quota.Quotas{{N: 1}}}},
	} {
		if waiting, left := stacksOf(t.Context(), 1000, l); max(waiting, left) > 4.5*1024 {
			t.Errorf("%s: a stack of %.0f bytes where a claim waits, and of %.0f when it was canceled, want 4096 and few for others", name, waiting, left)
		}
	}
}

// stacksOf returns how large the stacks are, on average, of n goroutines that wait, and when they were
// canceled.
func stacksOf(ctx context.Context, n int, l *throttle.Limiter) (waiting, left float64) {
	runtime.GC()                                     // goroutines begin with a stack as large as those were that the latest collection saw
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which makes stacks smaller
	each := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.StackInuse) / float64(n)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended, measured := make(chan error), make(chan bool)
	var all sync.WaitGroup
	before := each()
	for range n {
		all.Go(func() {
			ended <- l.Wait(ctx, 1)
			<-measured
		})
	}
	for l.State().Waiting < n*9/10 { // some may go
		runtime.Gosched()
	}
	waiting = each() - before
	cancel()
	for range n {
		<-ended
	}
	left = each() - before
	close(measured)
	all.Wait()
	return waiting, left
}
