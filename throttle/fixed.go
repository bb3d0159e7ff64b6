package throttle

import "time"

// fixed is a counter: N in a window, one window after the other.
type fixed struct {
	n    int64
	per  time.Duration
	grid bool
	wall int64 // the wall clock at instant 0, in nanoseconds since 1970

	start  instant // of the window that ran last
	used   int64   // in it; if 0, it never was
	opened int64   // of that, at start
	last   instant // when something went last
	closed bool    // nothing more goes in it: when the server's ends is not known
}

// running reports whether a window runs at t.
func (f *fixed) running(t instant) bool { return f.used > 0 && t < f.start.add(f.per) }

// begin returns the start of a window in which t is the first to go.
func (f *fixed) begin(t instant) instant {
	if f.grid {
		return tick(t, f.per, f.wall)
	}
	return t
}

// when lets what is ahead go token by token, which packs the windows best.
func (f *fixed) when(t instant, ahead, n int) (instant, bool) {
	a, m := cost(ahead), cost(n)
	if m > f.n {
		return t, false
	}
	// What was due at t may go later, after others that went after t (see take).
	now := max(t, f.last)
	start, room := f.begin(now), f.n
	if f.running(now) {
		start, room = f.start, max(f.n-f.used, 0)
		if f.closed {
			room = 0
		}
	}
	if a+m <= room {
		return t, true
	}
	a = max(a-room, 0)
	full := a / f.n
	if a%f.n+m > f.n {
		full++
	}
	return start.add(f.per).add(times(full, f.per)), true
}

func (f *fixed) take(_, now instant, n int) {
	if !f.running(now) {
		f.start, f.used, f.opened, f.closed = f.begin(now), 0, 0, false
	}
	f.used += cost(n)
	if now == f.start {
		f.opened += cost(n)
	}
	f.last = now
}

func (f *fixed) give(t, went instant, n int) {
	if !f.running(t) || went < f.start {
		return
	}
	f.used = max(f.used-cost(n), 0)
	if went == f.start {
		f.opened = max(f.opened-cost(n), 0)
	}
	if !f.grid && f.opened == 0 && f.used > 0 {
		// At the server, the window started with one that went later, the latest of
		// all at the latest.
		f.start, f.opened, f.closed = f.last, f.used, true
	}
}

func (f *fixed) idle(t instant) bool { return !f.running(t) }

// set leaves what was charged in the window that runs at t, whatever its length
// becomes.
func (f *fixed) set(t instant, q Quota) bool {
	kind := FixedWindow
	if f.grid {
		kind = ClockWindow
	}
	if q.N == 0 || q.Kind != kind {
		return false
	}
	running := f.running(t)
	f.n, f.per = int64(q.N), q.per()
	switch {
	case !f.grid:
	case running:
		f.start = f.begin(t)
	default:
		f.used = 0
	}
	return true
}

func (f *fixed) cool(instant) {}

// tick returns the start of the window of the wall clock in which t is.
func tick(t instant, per time.Duration, wall int64) instant {
	in := (wall + int64(t)) % int64(per)
	if in < 0 {
		in += int64(per)
	}
	return t - instant(in)
}

// most bounds N and costs where they are counted, so that no sum of them can
// overflow.
const most = 1 << 50

func cost(n int) int64 { return min(int64(n), most) }

// times returns n times d, at most for ages.
func times(n int64, d time.Duration) time.Duration {
	if n > 0 && d > ages/time.Duration(n) {
		return ages
	}
	return time.Duration(n) * d
}
