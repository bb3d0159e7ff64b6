package slot

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/varint"
)

// grid is the ledger of windows of the clock, quota.ClockWindow and quota.EstimatedWindow. There
// are no slots in the last slotLife of a window, so that what is sent late is sent in the same
// window.
type grid struct {
	near    *limit.Grid  // what was handed out in order: no slot that is handed out later is before its Last
	far     []farSlots   // the other slots, in their order
	assumed limit.Counts // what Assume has charged, and Own has not taken over

	wall          int64
	per, slotLife time.Duration
	ahead         time.Duration // slots of the running window that are no farther ahead are handed out in their order
}

// farSlots are a slot before which there may be others; or if there are too many of them, slots of one window
// that are no further apart than near ones. Nothing is handed out between these.
type farSlots struct {
	first, last monotime.Time
	n           int64
}

// mostApart bounds how many farSlots are remembered.
const mostApart = 32

// mostCost is the largest cost, and the most that goes in a window: what is more counts as this.
const mostCost = quota.MaxN

func newGrid(q quota.Quota, wall int64) *grid {
	g := &grid{near: limit.NewGrid(q, wall), wall: wall}
	g.near.Start = -monotime.Time(monotime.Longest) // the window that runs may have begun before instant 0
	return g
}

// Set implements Ledger.
func (g *grid) Set(_ monotime.Time, q quota.Quota, slotLife, horizon time.Duration) {
	g.per, g.slotLife, g.ahead = q.Per, slotLife, Near(horizon)
	g.near.SetN(q.N)
}

// Fall implements Ledger.
func (g *grid) Fall(monotime.Time, time.Duration) {}

// end returns when the window of t ends.
func (g *grid) end(t monotime.Time) monotime.Time { return t.Tick(g.per, g.wall).Add(g.per) }

// When implements Ledger.
func (g *grid) When(t monotime.Time, n int64) monotime.Time {
	before := *g.near
	for k := 0; ; k++ {
		s := g.first(&before, t, n)
		if k == len(g.far) {
			return s
		}
		if s <= g.far[k].first && g.bears(before, s, n, k) {
			return s
		}
		before.Take(0, g.far[k].last, g.far[k].n)
	}
}

// first returns when n may go after what was handed out before, not before t.
func (g *grid) first(before *limit.Grid, t monotime.Time, n int64) monotime.Time {
	for t = max(t, before.Last); ; {
		t, _ = before.When(t, 0, n)
		end := g.end(t)
		if t.Add(g.slotLife) < end {
			return t
		}
		t = end
	}
}

// bears reports whether the far slots from the k-th on remain right if n are handed out at s, before them.
func (g *grid) bears(before limit.Grid, s monotime.Time, n int64, k int) bool {
	before.Take(0, s, n)
	matters := g.end(s) // until when n matter
	if before.Estimates() {
		matters = matters.Add(g.per)
	}
	for _, f := range g.far[k:] {
		if f.first >= matters {
			return true
		}
		if at, ever := before.When(f.first, 0, f.n); !ever || at > f.first {
			return false
		}
		before.Take(0, f.last, f.n)
	}
	return true
}

// Take implements Ledger.
func (g *grid) Take(now, slot monotime.Time, n int64) {
	slot = max(slot, g.near.Last)
	soon := min(now.Add(g.ahead), g.end(now)-1)
	if slot > soon && g.remember(slot, n) {
		g.settle(soon)
		return
	}
	g.settle(slot)
	g.charge(slot, n)
	g.settle(soon)
}

// remember has a slot be one of the far ones, and reports whether it is.
func (g *grid) remember(slot monotime.Time, n int64) bool {
	if len(g.far) == mostApart {
		g.join()
	}
	n = min(n, mostCost)
	i := sort.Search(len(g.far), func(i int) bool { return g.far[i].first > slot })
	switch {
	case i > 0 && slot <= g.far[i-1].last:
		g.far[i-1].join(slot, n)
	case len(g.far) == mostApart:
		return false
	default:
		g.far = slices.Insert(g.far, i, farSlots{slot, slot, n})
	}
	return true
}

// join has far slots that are near together be remembered as one.
func (g *grid) join() {
	apart := g.far[:0]
	for _, f := range g.far {
		if k := len(apart) - 1; k >= 0 && f.last.Sub(apart[k].first) < g.ahead && f.last < g.end(apart[k].first) {
			apart[k].join(f.last, f.n)
			continue
		}
		apart = append(apart, f)
	}
	g.far = apart
}

func (f *farSlots) join(slot monotime.Time, n int64) {
	f.last, f.n = max(f.last, slot), min(f.n+n, mostCost)
}

// settle has the far slots up to t be near ones.
func (g *grid) settle(t monotime.Time) {
	n := 0
	for ; n < len(g.far) && g.far[n].first <= t; n++ {
		g.charge(g.far[n].last, g.far[n].n)
	}
	g.far = slices.Delete(g.far, 0, n)
}

// charge charges a near slot.
func (g *grid) charge(slot monotime.Time, n int64) {
	slot = max(slot, g.near.Last)
	g.near.Take(slot, slot, n)
	g.near.Current = min(g.near.Current, mostCost)
}

// Overdraw implements Ledger.
func (g *grid) Overdraw(now monotime.Time, n int64) {
	g.settle(now)
	g.charge(now, n)
}

// Give implements Ledger.
func (g *grid) Give(now, slot monotime.Time, n int64) {
	for i := range g.far {
		if f := &g.far[i]; f.first <= slot && slot <= f.last {
			if f.n -= min(n, f.n); f.n == 0 {
				g.far = slices.Delete(g.far, i, i+1)
			}
			return
		}
	}
	g.near.Give(now, slot, n)
}

// Passed implements Ledger. Whether far slots that are remembered as one remain right with what comes back of
// one of them, or in an estimate of one before them, is not known.
func (g *grid) Passed(_, slot monotime.Time) bool {
	for _, f := range g.far {
		if f.first < f.last && slot <= f.last && (slot >= f.first || g.near.Estimates()) {
			return true
		}
	}
	return slot < g.near.Last
}

// Assume implements Ledger. The part of N is used up that is over of the window, and all of
// N in the window before it; but one, if it would come too late, and of an estimate, in which it counts longer,
// two.
func (g *grid) Assume(t monotime.Time, first time.Duration) {
	start, n := t.Tick(g.per, g.wall), g.near.N()
	used := int64(monotime.Scale(time.Duration(n), int64(t.Sub(start)), int64(g.per)))
	before := n
	switch {
	case g.near.Estimates() && first < monotime.Scale(g.per, 3, 2*n):
		before -= min(max(2-used, 0), n)
		used = max(used-2, 0)
	case !g.near.Estimates() && used == n && first < start.Add(g.per).Sub(t):
		used--
	}
	g.near.Counts = limit.Counts{Start: start, Current: used, Previous: before, Last: t}
	g.assumed = g.near.Counts
}

// Own implements Ledger.
func (g *grid) Own(now, at, _ monotime.Time, n int64) {
	start, left := at.Tick(g.per, g.wall), min(n, quota.MaxN)
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
	switch {
	case start > g.near.Start:
		g.Take(now, at, left)
	case start == g.near.Start:
		g.near.Current = min(g.near.Current+left, mostCost)
	case start == g.near.Start.Add(-g.per):
		g.near.Previous = min(g.near.Previous+left, mostCost)
	}
}

// Trust implements Ledger.
func (g *grid) Trust(now, assumed monotime.Time) {
	g.forgetAssumed()
	if l := g.near; l.Last == assumed { // nothing came after that
		l.Last = min(l.Last, max(now, l.Start))
	}
}

// forgetAssumed has what Assume has charged, and Own has not taken over, not count. Some of that may have come
// back as what went.
func (g *grid) forgetAssumed() {
	l := g.near
	switch g.assumed.Start {
	case l.Start:
		l.Current = max(l.Current-g.assumed.Current, 0)
		l.Previous = max(l.Previous-g.assumed.Previous, 0)
	case l.Start.Add(-g.per):
		l.Previous = max(l.Previous-g.assumed.Current, 0)
	}
	g.assumed = limit.Counts{}
}

// Release implements Ledger.
func (g *grid) Release(_ monotime.Time, most int64) {
	g.forgetAssumed()
	g.near.Current, g.near.Previous = min(g.near.Current, most), min(g.near.Previous, most)
}

// Left implements Ledger. If there are slots in a later window, nothing is.
func (g *grid) Left(now monotime.Time) int64 {
	start, l := now.Tick(g.per, g.wall), g.near
	used := int64(0)
	switch {
	case l.Start > start:
		return 0
	case l.Start == start && l.Estimates():
		used = l.Current + l.Previous
	case l.Start == start, l.Estimates() && l.Start == start.Add(-g.per):
		used = l.Current
	}
	for _, f := range g.far {
		if f.first >= start.Add(g.per) {
			return 0
		}
		used += f.n
	}
	return max(l.N()-used, 0)
}

// Append implements Ledger.
func (g *grid) Append(to []byte) []byte {
	to = appendCounts(appendCounts(to, &g.near.Counts), &g.assumed)
	to = varint.Append(to, len(g.far))
	for _, f := range g.far {
		to = varint.Append(to, int64(f.first), int64(f.last.Sub(f.first)), f.n)
	}
	return to
}

func appendCounts(to []byte, c *limit.Counts) []byte {
	to = varint.Append(to, c.Start, c.Last)
	return varint.Append(to, c.Current, c.Previous)
}

// Restore implements Ledger.
func (g *grid) Restore(r *varint.Reader) {
	readCounts(r, &g.near.Counts)
	readCounts(r, &g.assumed)
	for range r.Len() {
		f := farSlots{first: r.Time()}
		f.last = f.first.Add(time.Duration(r.Int(0, int64(monotime.Longest))))
		f.n = r.Int(1, mostCost)
		if n := len(g.far); n > 0 && f.first <= g.far[n-1].last {
			r.Fail()
		}
		g.far = append(g.far, f)
	}
}

func readCounts(r *varint.Reader, c *limit.Counts) {
	c.Start, c.Last = r.Time(), r.Time()
	c.Current, c.Previous = r.Int(0, math.MaxInt64/4), r.Int(0, math.MaxInt64/4)
}
