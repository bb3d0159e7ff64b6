package throttle

import (
	"math/bits"
	"time"
)

// estimated counts what goes in windows of the wall clock, and takes what went in
// the last Per to be what went in the running window and a share of what went in
// the one before it.
type estimated struct {
	n    int64
	per  time.Duration
	wall int64 // the wall clock at instant 0, in nanoseconds since 1970

	start             instant // of the window in which something went last
	current, previous int64   // what went in it, and in the one before it
	last              instant // when something went last
}

// at returns the window of t, what went in it, and in the one before it.
func (e *estimated) at(t instant) (start instant, current, previous int64) {
	start = tick(t, e.per, e.wall)
	switch start.sub(e.start) {
	case 0:
		return start, e.current, e.previous
	case e.per:
		return start, 0, e.current
	}
	return start, 0, 0
}

// when takes what is ahead to go as fast as the estimate can fall: by the larger
// of N and the counts in Per.
func (e *estimated) when(t instant, ahead, n int) (instant, bool) {
	if cost(n) > e.n {
		return t, false
	}
	// What was due at t may go later, after others that went after t (see take).
	now := max(t, e.last)
	start, current, previous := e.at(now)
	at := now
	for end, c, p := start.add(e.per), current, previous; ; end, c, p = end.add(e.per), 0, c {
		if d := within(e.per, p, e.n-cost(n)-c); d > 0 {
			at = max(at, end.add(-d))
			break
		}
	}
	if ahead > 0 {
		left := start.add(e.per).sub(now).Seconds() / e.per.Seconds()
		room := float64(e.n) + 0.5 - float64(current) - float64(previous)*left
		speed := float64(max(e.n, current, previous)) / e.per.Seconds()
		missing := float64(cost(ahead)) + float64(cost(n)) - room
		at = max(at, now.add(seconds(missing/speed*(1-1e-9)))) // not later by rounding
	}
	if at == now {
		return t, true
	}
	return at, true
}

// within returns for how long, at the end of a window, the share of count by which the
// window before it overlaps the last per is rounded to room or less: the greatest
// whole number of nanoseconds below per·(room + 1/2)/count. It is reckoned
// in 128 bits, so that no instant is off by a rounding error.
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

func (e *estimated) take(_, now instant, n int) {
	e.start, e.current, e.previous = e.at(now)
	e.current += cost(n)
	e.last = now
}

func (e *estimated) give(_, went instant, n int) {
	switch {
	case went >= e.start:
		e.current = max(e.current-cost(n), 0)
	case went >= e.start.add(-e.per):
		e.previous = max(e.previous-cost(n), 0)
	}
}

func (e *estimated) idle(t instant) bool {
	_, current, previous := e.at(t)
	return current == 0 && previous == 0
}

// set leaves what was charged in the window that runs at t and in the one before
// it, whatever their length becomes.
func (e *estimated) set(t instant, q Quota) bool {
	if q.N == 0 || q.Kind != EstimatedWindow {
		return false
	}
	_, current, previous := e.at(t)
	e.n, e.per = int64(q.N), q.per()
	e.start, e.current, e.previous = tick(t, e.per, e.wall), current, previous
	return true
}

func (e *estimated) cool(instant) {}
