package simulation

import (
	"container/heap"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// TestCellBound shows what is left to learn and what nothing that is learned helps: how often processes are refused that know all
// but what the others do. Each is told how the server counts and how many processes there are, and keeps to its part of the
// limit; it knows neither when the others send nor how long a request is on its way. Half of them are next to never refused; but
// where fewer tokens are there at once than processes, one of three requests is, and more.
func TestCellBound(t *testing.T) {
	for _, column := range []string{"1-long", "3-long", "10-long"} {
		var all, few []float64
		for seed := range uint64(2) {
			for i := range 48 {
				c, err := drawCell(100+seed, fmt.Sprintf("%s/%s/%d", classExact, column, i))
				if err != nil {
					t.Fatal(err)
				}
				refused := 100 * float64(c.shared()) / float64(c.requests)
				if all = append(all, refused); c.free < c.processes {
					few = append(few, refused)
				}
			}
		}
		half, three := middle(all)
		t.Logf("%s: %.1f/%.1f refused per 100 that are served, in half and in three of four of the cells", column, half, three)
		if half > 1 {
			t.Errorf("%s: %.1f refused per 100 in half of the cells, want 1 at most", column, half)
		}
		if len(few) == 0 {
			continue
		}
		half, three = middle(few)
		t.Logf("%s: %.1f/%.1f where fewer tokens are there at once than processes", column, half, three)
		if half < 30 {
			t.Errorf("%s: %.1f refused per 100 where there are few tokens, want 30 at least", column, half)
		}
	}
}

// middle returns the value of the middle one, and of the one at three quarters.
func middle(values []float64) (half, three float64) {
	slices.Sort(values)
	return values[len(values)/2], values[3*len(values)/4]
}

// part is the algorithm of which a process keeps its part, one of so many.
func part(a pacertest.Algorithm, of int) pacertest.Algorithm {
	each := func(n int) int { return max(1, n/of) }
	switch a := a.Fresh().(type) {
	case *pacertest.TokenBucket:
		return &pacertest.TokenBucket{Rate: a.Rate / float64(of), Burst: each(a.Burst)}
	case *pacertest.GCRA:
		return &pacertest.GCRA{Rate: a.Rate / float64(of), Burst: each(a.Burst)}
	case *pacertest.LeakyBucket:
		return &pacertest.LeakyBucket{Rate: a.Rate / float64(of), Depth: each(a.Depth)}
	case *pacertest.FixedWindow:
		a.Limit = each(a.Limit)
		return a
	case *pacertest.ClockWindow:
		a.Limit = each(a.Limit)
		return a
	case *pacertest.SlidingLog:
		a.Limit = each(a.Limit)
		return a
	case *pacertest.SlidingWindow:
		a.Limit = each(a.Limit)
		return a
	case *pacertest.EstimatedWindow:
		a.Limit = each(a.Limit)
		return a
	}
	panic("an algorithm that has no parts")
}

// shared plays a cell with processes that keep to their parts, and returns how many requests are refused until all are served.
func (c *cell) shared() (refused int) {
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	server, parts := c.algorithm(), make([]pacertest.Algorithm, c.processes)
	for p := range parts {
		parts[p] = part(c.layers[0].algorithm, c.processes)
	}
	sent, next, attempts := make([]time.Duration, c.processes), make([]int, c.processes), map[int]int{}
	var q oracle
	// send lets a process send a request at t, or when its part of the limit admits it.
	send := func(process, id int, t time.Duration) {
		t = max(t, sent[process])
		for v := parts[process].Take(start.Add(t), 1); !v.OK; v = parts[process].Take(start.Add(t), 1) {
			t += max(v.RetryAfter, 1)
		}
		sent[process] = t
		attempts[id]++
		heap.Push(&q, asked{id, process, t + c.way(id, attempts[id], "there")})
	}
	ask := func(process int, t time.Duration) {
		if id := next[process]*c.processes + process; id < c.requests {
			next[process]++
			send(process, id, t)
		}
	}
	for range c.callers {
		for p := range c.processes {
			ask(p, 0)
		}
	}
	for len(q) > 0 {
		a := heap.Pop(&q).(asked)
		v := server.Take(start.Add(a.at), 1)
		back := a.at + v.Delay + c.way(a.id, attempts[a.id], "back")
		if v.OK {
			ask(a.process, back)
			continue
		}
		refused++
		send(a.process, a.id, back+v.RetryAfter)
	}
	return refused
}
