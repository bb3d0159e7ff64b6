package slot

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// grid is the ledger of windows of the clock, quota.ClockWindow and quota.EstimatedWindow. There
// are no slots in the last late of a window, so that what is sent late is sent in the same
// window.
type grid struct {
	latest *limit.Grid
	early  *limit.Grid   // what was before the slots of a later window; nil before there were any
	until  monotime.Time // the end of the window of early

	assumed limit.Counts // what Assume has charged, and Own has not taken over

	wall      int64
	per, late time.Duration
	veryFar   time.Duration // so far ahead there are few windows with slots
}

func newGrid(q quota.Quota, wall int64) *grid {
	g := &grid{latest: limit.NewGrid(q, wall), wall: wall}
	g.latest.Start = -monotime.Time(monotime.Longest) // the window that runs may have begun before instant 0
	return g
}

// Set implements Ledger.
func (g *grid) Set(q quota.Quota, late, horizon time.Duration) {
	g.per, g.late, g.veryFar = q.Per, late, 2*horizon
	g.latest.SetN(q.N)
	if g.early != nil {
		g.early.SetN(q.N)
	}
}

// When implements Ledger.
func (g *grid) When(t monotime.Time, n int) monotime.Time {
	if t < g.until {
		s, _ := g.early.When(t, 0, n)
		if s = max(s, g.early.Last); s.Add(g.late) < g.until && g.bears(n) {
			return s
		}
	}
	for t = max(t, g.latest.Last); ; {
		t, _ = g.latest.When(t, 0, n)
		end := t.Tick(g.per, g.wall).Add(g.per)
		if t.Add(g.late) < end {
			return t
		}
		t = end
	}
}

// bears reports whether what was handed out after until remains right if n are added before it:
// for an estimate, surely if what is in both windows is no more than N.
func (g *grid) bears(n int) bool {
	if !g.latest.Estimates() {
		return true
	}
	next := g.latest.Current // of the window that begins at until
	switch g.latest.Start {
	case g.until:
	case g.until.Add(g.per):
		next = g.latest.Previous
	default:
		return false // it is not known
	}
	return g.early.Current+next+min(int64(n), quota.MaxN) <= g.latest.N()
}

// Take implements Ledger.
func (g *grid) Take(now, slot monotime.Time, n int) {
	if slot < g.until {
		g.early.Take(slot, slot, n)
		if g.latest.Start == g.until {
			g.latest.Previous += min(int64(n), quota.MaxN)
		}
		return
	}
	if end := now.Tick(g.per, g.wall).Add(g.per); slot >= end && g.until <= now {
		early := *g.latest
		g.early, g.until = &early, end
	}
	g.latest.Take(slot, slot, n)
}

// Overdraw implements Ledger.
func (g *grid) Overdraw(now monotime.Time, n int) {
	last := g.latest.Last
	if now < g.until {
		last = g.early.Last
	}
	g.Take(now, max(now, last), n)
}

// Give implements Ledger.
func (g *grid) Give(now, slot monotime.Time, n int) {
	if slot < g.until {
		g.early.Give(now, slot, n)
	}
	g.latest.Give(now, slot, n)
}

// Passed implements Ledger. None is handed out in a window between the one that runs and the last that has slots, nor before
// another one of the same window.
func (g *grid) Passed(now, slot monotime.Time) bool {
	if slot.Sub(now) > g.veryFar {
		return false
	}
	if slot < g.until {
		return slot < g.early.Last
	}
	return slot < g.latest.Last
}

// Assume implements Ledger. The part of N is used up that is over of the window, and all of
// N in the window before it; but one, if it would come too late, and of an estimate, in which it counts longer, two.
func (g *grid) Assume(t monotime.Time, first time.Duration) {
	start, n := t.Tick(g.per, g.wall), g.latest.N()
	used := int64(monotime.Scale(time.Duration(n), int64(t.Sub(start)), int64(g.per)))
	before := n
	switch {
	case g.latest.Estimates() && first < monotime.Scale(g.per, 3, 2*n):
		before -= min(max(2-used, 0), n)
		used = max(used-2, 0)
	case !g.latest.Estimates() && used == n && first < start.Add(g.per).Sub(t):
		used--
	}
	g.latest.Counts = limit.Counts{Start: start, Current: used, Previous: before, Last: t}
	g.assumed = g.latest.Counts
}

// Own implements Ledger.
func (g *grid) Own(now, at monotime.Time, n int) {
	start, left := at.Tick(g.per, g.wall), min(int64(n), quota.MaxN)
	assumed := new(int64)
	switch start {
	case g.assumed.Start:
		assumed = &g.assumed.Current
	case g.assumed.Start.Add(-g.per):
		assumed = &g.assumed.Previous
	}
	part := min(*assumed, left)
	*assumed -= part
	if left -= part; left == 0 {
		return
	}
	if start > g.latest.Start {
		g.Take(now, max(at, g.latest.Last), int(left))
		return
	}
	g.own(g.latest, start, left)
	if g.early != nil {
		g.own(g.early, start, left)
	}
}

// own adds n to what is counted of the window that begins at start.
func (g *grid) own(l *limit.Grid, start monotime.Time, n int64) {
	switch start {
	case l.Start:
		l.Current += n
	case l.Start.Add(-g.per):
		l.Previous += n
	}
}

// Release implements Ledger.
func (g *grid) Release(monotime.Time) {
	for _, l := range [2]*limit.Grid{g.latest, g.early} {
		if l == nil {
			continue
		}
		switch g.assumed.Start {
		case l.Start:
			l.Current -= g.assumed.Current
			l.Previous -= g.assumed.Previous
		case l.Start.Add(-g.per):
			l.Previous -= g.assumed.Current
		}
		l.Current, l.Previous = min(max(l.Current, 0), l.N()), min(max(l.Previous, 0), l.N())
	}
	g.assumed = limit.Counts{}
}

// Left implements Ledger. If there are slots in a later window, nothing is.
func (g *grid) Left(now monotime.Time) int {
	start, l := now.Tick(g.per, g.wall), g.latest
	used := int64(0)
	switch {
	case l.Start > start:
		return 0
	case l.Start == start && l.Estimates():
		used = l.Current + l.Previous
	case l.Start == start, l.Estimates() && l.Start == start.Add(-g.per):
		used = l.Current
	}
	return int(max(l.N()-used, 0))
}

// Append implements Ledger.
func (g *grid) Append(to []byte) []byte {
	to = appendCounts(varint.Append(to, g.until), &g.latest.Counts)
	to = appendCounts(to, &g.assumed)
	to = varint.AppendBool(to, g.early != nil)
	if g.early != nil {
		to = appendCounts(to, &g.early.Counts)
	}
	return to
}

func appendCounts(to []byte, c *limit.Counts) []byte {
	to = varint.Append(varint.Append(to, c.Start), c.Last)
	return varint.Append(varint.Append(to, c.Current), c.Previous)
}

// Restore implements Ledger.
func (g *grid) Restore(r *varint.Reader) {
	g.until = r.Time()
	readCounts(r, &g.latest.Counts)
	readCounts(r, &g.assumed)
	if r.Bool() {
		early := *g.latest
		readCounts(r, &early.Counts)
		g.early = &early
	} else if g.until != 0 {
		r.Fail()
	}
}

func readCounts(r *varint.Reader, c *limit.Counts) {
	c.Start, c.Last = r.Time(), r.Time()
	c.Current, c.Previous = r.Int(0, math.MaxInt64/4), r.Int(0, math.MaxInt64/4)
}
