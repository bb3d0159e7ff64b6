// Package definition has what the kinds of quotas mean, as a plain look at all that went: for
// tests of the arithmetic that remembers less, and is quicker.
package definition

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
)

// plainCells are those of a quota.Plain, whose N is above that.
const plainCells = 64

// Charge is what went at an instant, in any unit of time.
type Charge struct{ At, N int }

// History is a quota by its definition: all that went, looked through anew for
// each question.
type History struct {
	Quota quota.Quota
	Unit  time.Duration // of instants
	Wall  int           // the wall clock at 0
	Went  []Charge
}

// Per is the span of the quota, in units.
func (h *History) Per() int { return int(h.Quota.Per / h.Unit) }

// group is what leaves together.
type group struct{ first, last, n int }

// groups returns what counts together by the definition: the windows of a
// FixedWindow, the cells of a SlidingWindow.
func (h *History) groups() (gs []group) {
	for _, c := range h.Went {
		i := len(gs) - 1
		if i < 0 || !h.joins(c.At, gs[i].first) {
			gs = append(gs, group{first: c.At})
			i++
		}
		gs[i].last = c.At
		gs[i].n += c.N
	}
	return gs
}

func (h *History) joins(at, first int) bool {
	switch h.Quota.Kind {
	case quota.FixedWindow:
		return at < first+h.Per()
	case quota.SlidingWindow:
		return (at-first)*cmp.Or(h.Quota.Cells, 10) <= h.Per()
	case quota.Plain:
		return at == first || h.Quota.N > plainCells && (at-first)*plainCells <= h.Per()
	}
	return at == first
}

// Used returns what counts of what went, at now.
func (h *History) Used(now int) (used int) {
	per := h.Per()
	tick := func(t int) int { return (h.Wall + t) / per }
	switch h.Quota.Kind {
	case quota.Plain, quota.FixedWindow, quota.SlidingWindow, quota.SlidingLog:
		for _, g := range h.groups() {
			from := g.last
			if h.Quota.Kind == quota.FixedWindow {
				from = g.first
			}
			if now < from+per {
				used += g.n
			}
		}
	case quota.ClockWindow:
		for _, c := range h.Went {
			if tick(c.At) == tick(now) {
				used += c.N
			}
		}
	case quota.EstimatedWindow:
		previous := 0
		for _, c := range h.Went {
			switch tick(now) - tick(c.At) {
			case 0:
				used += c.N
			case 1:
				previous += c.N
			}
		}
		left := per - (h.Wall+now)%per
		used += (2*previous*left + per) / (2 * per) // rounded
	}
	return used
}

// Without returns the history as if c had never gone, and whether that leaves
// the others counted together as they were. Of the charge that started a window, or
// that was the newest of a cell, it does not.
func (h *History) Without(c Charge) (went []Charge, alike bool) {
	gs := h.groups()
	for i := range gs {
		if gs[i].first <= c.At && c.At <= gs[i].last {
			gs[i].n -= c.N
		}
	}
	gs = slices.DeleteFunc(gs, func(g group) bool { return g.n == 0 })
	i := slices.Index(h.Went, c)
	rest := History{h.Quota, h.Unit, h.Wall, slices.Delete(slices.Clone(h.Went), i, i+1)}
	return rest.Went, slices.Equal(gs, rest.groups())
}

// Windowed are quotas of all kinds but buckets.
func Windowed(r *rand.Rand) []quota.Quota {
	n := func() int64 { return 3 + r.Int64N(20) }
	const ms = time.Millisecond
	return []quota.Quota{
		{Kind: quota.Plain, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: quota.Plain, N: 62 + n(), Per: time.Duration(64*(1+r.IntN(6))) * ms},
		{Kind: quota.FixedWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: quota.ClockWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: quota.SlidingWindow, N: n(), Per: time.Duration(10*(1+r.IntN(6))) * ms},
		{Kind: quota.SlidingWindow, N: n(), Per: time.Duration(4*(5+r.IntN(12))) * ms, Cells: 4},
		{Kind: quota.SlidingLog, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
		{Kind: quota.EstimatedWindow, N: n(), Per: time.Duration(10+r.IntN(60)) * ms},
	}
}

// Forget drops what no longer counts, so that looking through it stays quick.
func (h *History) Forget(now int) {
	gs := h.groups()
	i := 0
	for i < len(gs)-1 && gs[i].last+2*h.Per() <= now {
		i++
	}
	h.Went = slices.DeleteFunc(h.Went, func(c Charge) bool { return c.At < gs[i].first })
}
