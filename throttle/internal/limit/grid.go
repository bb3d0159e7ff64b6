package limit

import (
	"math/bits"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/civil"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Grid counts what goes in windows of the wall clock: N in each (quota.ClockWindow), or, as an
// estimate (quota.EstimatedWindow), N in the last Per, where what went in that time is taken to
// be what went in the running window and a share of what went in the window before it.
//
// Windows are of one length, or they are windows of the calendar, of which Per is the length at most. Of a
// quota.Plain, which has such windows, what is left may be spread: see sliding.
type Grid struct {
	steady
	Counts

	kind quota.Kind
	n    int64
	per  time.Duration
	wall int64 // the wall clock at instant 0, in nanoseconds since 1970

	calendar *civil.Windows // nil if all windows are of one length
	spread   Spread         // zero of a kind other than quota.Plain

	clock  *monotime.Clock // which may be set: see shift; nil if it never is
	phase  *monotime.Phase // of the clock, by which wall is
	lately lately          // what counts after the clock was set
}

// Counts are what went in two windows that follow one another.
type Counts struct {
	Start    monotime.Time // of the window in which something went last
	Current  int64         // went in that window
	Previous int64         // went in the window before it
	Last     monotime.Time // when something went last
}

// NewGrid returns the limit of a quota of one of the two kinds.
func NewGrid(q quota.Quota, wall int64) *Grid {
	g := &Grid{wall: wall}
	g.setQuota(q)
	return g
}

func (g *Grid) setQuota(q quota.Quota) {
	g.kind, g.n, g.per, g.calendar, g.spread = q.Kind, q.N, q.Per, nil, Spread{}
	if !onCalendar(&q) {
		return
	}
	zone, days := civil.Zone(q.Zone), int(q.Per/day)
	switch {
	case q.Months > 0:
		g.calendar = civil.Months(q.Months, q.From, zone)
	case q.From > 0:
		g.calendar = civil.Weeks(q.From, zone)
	default:
		g.calendar = civil.Days(days, 0, zone)
	}
	g.per += backward
}

const day = 24 * time.Hour

// backward is by how much clocks are put back at most: two hours in Antarctica, one elsewhere.
const backward = 2 * time.Hour

// onCalendar reports whether windows of the quota begin on days of the calendar.
func onCalendar(q *quota.Quota) bool { return q.Months > 0 || q.From > 0 || q.Zone != "" }

// onGrid reports whether the quota counts in windows of the wall clock.
func onGrid(q *quota.Quota) bool { return q.Kind.OnClock() || q.Months > 0 }

// window returns when the window of t begins and ends.
func (g *Grid) window(t monotime.Time) (start, end monotime.Time) {
	if g.calendar == nil {
		start = t.Tick(g.per, g.wall)
		return start, start.Add(g.per)
	}
	from, until := g.calendar.Of(g.wall + int64(t))
	return monotime.Time(from - g.wall), monotime.Time(until - g.wall)
}

// begins returns when the window begins that is so many windows after that of t; of windows that are further
// away than anybody waits, when one at most begins.
func (g *Grid) begins(t monotime.Time, windows int64) monotime.Time {
	if g.calendar == nil {
		return t.Tick(g.per, g.wall).Add(g.per).Add(monotime.Times(windows-1, g.per))
	}
	windows = min(windows, int64(monotime.Longest/g.per))
	return monotime.Time(g.calendar.After(g.wall+int64(t), windows) - g.wall)
}

// Estimates reports whether the window before the running one counts, too.
func (g *Grid) Estimates() bool { return g.kind == quota.EstimatedWindow }

// N returns how many tokens are granted in a window.
func (g *Grid) N() int64 { return g.n }

// SetN changes how many tokens are granted in a window, and nothing else.
func (g *Grid) SetN(n int64) { g.n = n }

// Follow has the windows lie as those of a clock do from now on. It was at the phase for which they
// were made.
func (g *Grid) Follow(c *monotime.Clock) {
	if g.clock == nil {
		g.clock, g.phase = c, c.Phase()
	}
}

// shift moves the windows after the wall clock was set. What went in the window that ran then, and in the one
// before it, counts in those that run by the new clock, so that no setting of the clock brings tokens back
// before a window begins.
func (g *Grid) shift(p *monotime.Phase) {
	t := max(p.Since, g.Last)
	g.advance(t)
	g.lately.set(t, g.Start, g.per)
	g.wall, g.phase, g.Last = p.Wall, p, t
	g.Start, _ = g.window(t)
}

// advance makes the window of t the one that runs.
func (g *Grid) advance(t monotime.Time) {
	start, current, previous := g.count(t)
	if start != g.Start || g.lately.over(t, g.per) {
		g.lately.next(t, g.Previous, g.per)
	}
	g.Start, g.Current, g.Previous = start, current, previous
}

// at is count, by the clock that the Grid follows.
func (g *Grid) at(t monotime.Time) (start monotime.Time, current, previous int64) {
	if g.clock != nil {
		if p := g.clock.Phase(); p != g.phase {
			g.shift(p)
		}
	}
	return g.count(t)
}

// count returns the window of t, what went in it, and in the one before it. Where each window is
// counted by itself, none begins before the latest one in which something went.
func (g *Grid) count(t monotime.Time) (start monotime.Time, current, previous int64) {
	start, _ = g.window(t)
	if !g.Estimates() && g.Current > 0 {
		start = max(start, g.Start)
	}
	if g.lately.over(t, g.per) {
		return start, 0, 0
	}
	switch {
	case start == g.Start:
		return start, g.Current, g.Previous
	case g.follows(start):
		return start, 0, g.Current
	}
	return start, 0, 0
}

// follows reports whether the window that begins at start is the one after that in which something went last.
func (g *Grid) follows(start monotime.Time) bool {
	if g.calendar == nil {
		return start.Sub(g.Start) == g.per
	}
	before, _ := g.window(start - 1)
	return before == g.Start
}

// When implements Limit. What is ahead goes token by token.
func (g *Grid) When(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
	if tokens(n) > g.n {
		return t, false
	}
	// What was due at t may go later, after others that went after t (see Take).
	now := max(t, g.Last)
	_, current, _ := g.at(now)
	var at monotime.Time
	switch {
	case g.lately.wasSet(now):
		at = g.afterSetting(now, tokens(n))
	case g.Estimates():
		at = g.estimate(now, tokens(ahead), tokens(n))
	default:
		at = g.packed(now, current, tokens(ahead), tokens(n))
	}
	if g.spread.Below > 0 {
		at = g.spreadFrom(at, tokens(ahead)+tokens(n))
	}
	if at == now {
		return t, true
	}
	return at, true
}

// packed returns when n may go after ahead others, not before t, if the window of t has seen so much.
func (g *Grid) packed(t monotime.Time, current, ahead, n int64) monotime.Time {
	windows := windowsUntil(max(g.n-current, 0), g.n, ahead, n)
	if windows == 0 {
		return t
	}
	return g.begins(t, windows)
}

// spreadFrom returns when n more may go, not before at, if what is left of the window of at is spread until its
// end.
func (g *Grid) spreadFrom(at monotime.Time, n int64) monotime.Time {
	_, current, _ := g.count(at)
	left := g.n - current
	if current == 0 || left <= 0 || left >= g.spread.Below {
		return at
	}
	_, end := g.window(at)
	gap := min(end.Sub(g.Last)/time.Duration(left+1), g.spread.Gap)
	return max(at, min(g.Last.Add(monotime.Times(n, gap)), end))
}

// isSpread implements spreading.
func (g *Grid) isSpread(t monotime.Time, ahead, n int64, at monotime.Time) bool {
	spread := g.spread
	g.spread = Spread{}
	unspread, _ := g.When(t, ahead, n)
	g.spread = spread
	return unspread < at
}

// setSpread implements spreading.
func (g *Grid) setSpread(spread func(int64, time.Duration) Spread) { g.spread = spread(g.n, g.per) }

// afterSetting is When after the clock was set, for a claim that nothing is ahead of: no more than 2N in any
// Per, and no wait for the end of a window for longer than Per after the last that went in it.
func (g *Grid) afterSetting(t monotime.Time, n int64) monotime.Time {
	for {
		at := g.alone(t, n)
		if g.lately.carried {
			at = min(at, max(t, g.lately.current.Add(g.per)))
		}
		if t = g.room(at, n); t == at {
			return at
		}
	}
}

// room returns when n more are no more than 2N in the last Per, not before t; or when the setting matters no
// more, where windows of the calendar may be shorter than Per.
func (g *Grid) room(t monotime.Time, n int64) monotime.Time {
	return min(max(t, g.lately.until), g.lately.room(t, g.per, g.Current, g.Previous, n, 2*g.n))
}

// alone is When by what the windows count, for a claim that nothing is ahead of.
func (g *Grid) alone(t monotime.Time, n int64) (at monotime.Time) {
	if g.Estimates() {
		return g.estimate(t, 0, n)
	}
	_, current, _ := g.count(t)
	return g.packed(t, current, 0, n)
}

// estimate takes what is ahead to go as fast as the estimate can fall: by the larger of N and
// the counts in Per.
func (g *Grid) estimate(now monotime.Time, ahead, n int64) (at monotime.Time) {
	start, current, previous := g.at(now)
	at = now
	for end, c, p := start.Add(g.per), current, previous; ; end, c, p = end.Add(g.per), 0, c {
		if d := within(g.per, p, g.n-n-c); d > 0 {
			at = max(at, end.Add(-d))
			break
		}
	}
	if ahead > 0 {
		left := start.Add(g.per).Sub(now).Seconds() / g.per.Seconds()
		room := float64(g.n) + 0.5 - float64(current) - float64(previous)*left
		speed := float64(max(g.n, current, previous)) / g.per.Seconds()
		missing := float64(ahead) + float64(n) - room
		at = max(at, now.Add(monotime.Seconds(missing/speed*(1-1e-9)))) // not later by rounding
	}
	return at
}

// within returns for how long, at the end of a window, the share of count by which the window
// before it overlaps the last per is rounded to room or less: the greatest whole number of
// nanoseconds below per·(room + 1/2)/count. It is reckoned in 128 bits, so that no instant is
// off by a rounding error.
func within(per time.Duration, count, room int64) time.Duration {
	switch {
	case room < 0:
		return 0
	case count <= room:
		return per
	}
	hi, lo := bits.Mul64(uint64(per), 2*uint64(room)+1)
	lo, borrow := bits.Sub64(lo, 1, 0)
	d, _ := bits.Div64(hi-borrow, lo, 2*uint64(count))
	return time.Duration(d)
}

// Take implements Limit.
func (g *Grid) Take(_, now monotime.Time, n int64) {
	g.at(now)
	g.advance(now)
	g.Current += tokens(n)
	g.Last, g.lately.current = now, now
}

// Give implements Limit.
func (g *Grid) Give(_, went monotime.Time, n int64) {
	start := g.Start
	if g.lately.carried {
		start = g.lately.from
	}
	switch {
	case went >= start:
		g.Current = max(g.Current-tokens(n), 0)
	case went >= g.before(start):
		g.Previous = max(g.Previous-tokens(n), 0)
	}
}

// before returns when the window before that of start began.
func (g *Grid) before(start monotime.Time) monotime.Time {
	if g.calendar == nil {
		return start.Add(-g.per)
	}
	start, _ = g.window(start - 1)
	return start
}

// Idle implements Limit.
func (g *Grid) Idle(now monotime.Time) bool {
	_, current, previous := g.at(now)
	return current == 0 && (previous == 0 || !g.Estimates()) && (!g.lately.wasSet(now) || g.room(now, 2*g.n) == now)
}

// Set implements Limit. It leaves what was charged in the window that runs and in the one
// before it, whatever their length becomes.
func (g *Grid) Set(now monotime.Time, q quota.Quota) bool {
	if q.N == 0 || !onGrid(&q) || (q.Kind == quota.EstimatedWindow) != g.Estimates() {
		return false
	}
	g.at(now)
	g.advance(now)
	g.setQuota(q)
	g.Start, _ = g.window(now)
	return true
}
