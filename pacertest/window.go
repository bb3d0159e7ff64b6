package pacertest

import (
	"math/bits"
	"time"
)

// FixedWindow admits Limit tokens in each window, and then nothing until the window
// ends. A window starts with the first request after the end of the last window. So up
// to twice the Limit can be admitted around the end of a window. Reset is the time until
// the end of the window; a refused request is admitted then.
//
// A quota.FixedWindow counts in the same way.
//
// This is what express-rate-limit, @fastify/rate-limit, ulule/limiter and GitHub do. For
// requests of cost 1 it makes no difference whether such a server counts refused
// requests, too.
type FixedWindow struct {
	// Limit is how many tokens a window admits. If zero or negative, nothing is
	// admitted.
	Limit int

	// Window is the length of a window. If zero or negative, it is a second.
	Window time.Duration

	running counter
}

// Fresh implements Algorithm.
func (f *FixedWindow) Fresh() Algorithm {
	return &FixedWindow{Limit: f.Limit, Window: f.Window}
}

// Take implements Algorithm.
func (f *FixedWindow) Take(now time.Time, n int) Verdict {
	checkCost(n)
	window := windowOrSecond(f.Window)
	if f.running.over(now, window) {
		f.running = counter{start: now}
	}
	return f.running.take(now, n, f.Limit, window)
}

// ClockWindow admits Limit tokens in each window of the clock, and then nothing until
// the window ends. So up to twice the Limit can be admitted around the end of a window.
// Reset is the time until the end of the window; a refused request is admitted then.
//
// A quota.ClockWindow counts in the same way, without a Phase.
//
// This is what many counters in Redis or memcached do, whose key contains the minute. For
// requests of cost 1 it makes no difference whether such a server counts refused
// requests, too.
type ClockWindow struct {
	// Limit is how many tokens a window admits. If zero or negative, nothing is
	// admitted.
	Limit int

	// Window is the length of a window. If zero or negative, it is a second. Windows
	// start at multiples of it since 1970 in UTC: those of a minute, an hour or a day
	// start as on the clock, and those of a week on Thursdays.
	Window time.Duration

	// Phase moves the windows later; a negative Phase moves them earlier. If zero, they
	// are not moved. Servers do so to spread the ends of the windows of their users
	// (django-ratelimit).
	Phase time.Duration

	running counter
}

// Fresh implements Algorithm.
func (c *ClockWindow) Fresh() Algorithm {
	return &ClockWindow{Limit: c.Limit, Window: c.Window, Phase: c.Phase}
}

// Take implements Algorithm.
func (c *ClockWindow) Take(now time.Time, n int) Verdict {
	checkCost(n)
	window := windowOrSecond(c.Window)
	if c.running.over(now, window) {
		c.running = counter{start: clockStart(now, window, c.Phase)}
	}
	return c.running.take(now, n, c.Limit, window)
}

// counter counts the tokens of one window.
type counter struct {
	start time.Time // when the window started, if used is not 0
	used  int       // tokens admitted in that window
}

// over reports whether the window has ended, or has admitted nothing yet.
func (c *counter) over(now time.Time, window time.Duration) bool {
	return c.used == 0 || now.Sub(c.start) >= window
}

// take takes n tokens of the window at now if so many are left of limit.
func (c *counter) take(now time.Time, n, limit int, window time.Duration) Verdict {
	reset := c.start.Add(window).Sub(now)
	ok := n == 0 || n <= limit-c.used
	if ok {
		c.used += n
	}
	v := Verdict{OK: ok, Limit: limit, Remaining: max(0, limit-c.used), Reset: reset, Window: window}
	switch {
	case n == 0 || n <= v.Remaining:
	case n > limit:
		v.RetryAfter = Never
	default:
		v.RetryAfter = reset
	}
	return v
}

// EstimatedWindow admits tokens up to Limit minus an estimate of the tokens of the last
// Window:
//
//	estimate = current + previous · left/Window, rounded to a whole number
//
// Current counts the tokens of the clock window that is running, previous those of the
// window before it; left is the time until the running window ends. After a burst,
// quota comes back token by token, at Limit/Window. A quota.EstimatedWindow counts in the same
// way, without a Phase.
//
// This is what go-chi/httprate and Cloudflare do (see Cloudflare's blog, "Counting
// things, a lot of different things"). Reset is the time until the running clock window
// ends, as httprate announces it. At that instant nothing in particular happens.
type EstimatedWindow struct {
	// Limit is the largest estimate. If zero or negative, nothing is admitted.
	Limit int

	// Window is the length of a window. If zero or negative, it is a second.
	Window time.Duration

	// Phase moves the windows later; a negative Phase moves them earlier. If zero, they
	// start at multiples of Window on the clock, as those of a ClockWindow. With counters
	// in memory, the windows of httprate start with the process; with counters in Redis,
	// they start at multiples.
	Phase time.Duration

	// CountRefused makes refused requests count like admitted ones, so that a client
	// that keeps asking is kept out.
	CountRefused bool

	start    time.Time // when the running window started
	previous int       // tokens of the window before it
	current  int       // tokens of the running window
}

// Fresh implements Algorithm.
func (e *EstimatedWindow) Fresh() Algorithm {
	return &EstimatedWindow{Limit: e.Limit, Window: e.Window, Phase: e.Phase, CountRefused: e.CountRefused}
}

// Take implements Algorithm.
func (e *EstimatedWindow) Take(now time.Time, n int) Verdict {
	checkCost(n)
	window := windowOrSecond(e.Window)
	switch start := clockStart(now, window, e.Phase); start.Sub(e.start) {
	case 0:
	case window:
		e.start, e.previous, e.current = start, e.current, 0
	default:
		e.start, e.previous, e.current = start, 0, 0
	}
	left := e.start.Add(window).Sub(now)
	ok := e.wait(left, n) == 0
	if ok || e.CountRefused {
		e.current += min(n, max(0, e.Limit)) // a refused n may be as large as an int
	}
	return Verdict{
		OK:         ok,
		Limit:      e.Limit,
		Remaining:  max(0, e.Limit-e.estimate(left)),
		Reset:      left,
		RetryAfter: e.wait(left, n),
		Window:     window,
	}
}

// estimate returns the estimate when the running window ends in left. It is computed
// with integers of 128 bits, so that no instant is off by a rounding error.
func (e *EstimatedWindow) estimate(left time.Duration) int {
	window := uint64(windowOrSecond(e.Window))
	hi, lo := bits.Mul64(2*uint64(e.previous), uint64(left))
	lo, carry := bits.Add64(lo, window, 0)
	share, _ := bits.Div64(hi+carry, lo, 2*window)
	return e.current + int(share)
}

// wait returns the time until n tokens are admitted, when the running window ends in
// left. It looks at that window and at the windows after it. Both counters are zero at
// the latest in the second of these.
func (e *EstimatedWindow) wait(left time.Duration, n int) time.Duration {
	if n == 0 {
		return 0
	}
	if n > e.Limit {
		return Never
	}
	window := windowOrSecond(e.Window)
	previous, current := e.previous, e.current
	for end := left; ; end += window {
		if share := admitting(window, previous, e.Limit-n-current); share > 0 {
			return max(0, end-share)
		}
		previous, current = current, 0
	}
}

// admitting returns how long before the end of a window previous · left/window, rounded,
// becomes room or less. That is the largest whole number of nanoseconds below
// window·(room + 1/2)/previous.
func admitting(window time.Duration, previous, room int) time.Duration {
	switch {
	case room < 0:
		return 0
	case previous <= room:
		return window
	}
	hi, lo := bits.Mul64(uint64(window), 2*uint64(room)+1)
	lo, borrow := bits.Sub64(lo, 1, 0)
	share, _ := bits.Div64(hi-borrow, lo, 2*uint64(previous))
	return time.Duration(share)
}

// clockStart returns the start of the clock window that contains now. Windows are counted
// from 1970 on, and not from the year 1 as by Truncate.
func clockStart(now time.Time, window, phase time.Duration) time.Time {
	first := time.Unix(0, 0)
	shift := first.Sub(first.Truncate(window))
	phase %= window // so that its opposite is a duration, too
	return now.Add(-shift).Add(-phase).Truncate(window).Add(phase).Add(shift)
}
