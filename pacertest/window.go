package pacertest

import (
	"math/bits"
	"time"
)

// FixedWindow admits Limit in each window and nothing more until it ends, by
// which up to twice the Limit can pass around the end. Reset is the end of the
// window, and a refused request is admitted then.
//
// This is what express-rate-limit, @fastify/rate-limit, ulule/limiter and
// GitHub do (windows that start with a request), and many counters in Redis or
// memcached whose key contains the minute (windows of the clock). Whether such
// a server counts refused requests too makes no difference to requests of
// cost 1.
type FixedWindow struct {
	// Limit is how much a window admits. If it is not positive, nothing is
	// admitted.
	Limit int

	// Window is the length of a window. If it is not positive, it is a second.
	Window time.Duration

	// Grid makes windows start at multiples of Window on the clock, as
	// time.Time.Truncate counts them. Otherwise a window starts with the first
	// request after the end of the last one.
	Grid bool

	// Phase moves the grid later, as servers do that spread the ends of their
	// users' windows (django-ratelimit).
	Phase time.Duration

	start time.Time // of the running window, if used is not 0
	used  int
}

// Fresh implements Algorithm.
func (f *FixedWindow) Fresh() Algorithm {
	return &FixedWindow{Limit: f.Limit, Window: f.Window, Grid: f.Grid, Phase: f.Phase}
}

// Take implements Algorithm.
func (f *FixedWindow) Take(now time.Time, n int) Verdict {
	checkCost(n)
	window := windowOrSecond(f.Window)
	if f.used == 0 || now.Sub(f.start) >= window {
		f.start, f.used = now, 0
		if f.Grid {
			f.start = gridStart(now, window, f.Phase)
		}
	}
	reset := f.start.Add(window).Sub(now)
	ok := n == 0 || n <= f.Limit-f.used
	if ok {
		f.used += n
	}
	v := Verdict{OK: ok, Limit: f.Limit, Remaining: max(0, f.Limit-f.used), Reset: reset, Window: window}
	switch {
	case n == 0 || n <= v.Remaining:
	case n > f.Limit:
		v.RetryAfter = Never
	default:
		v.RetryAfter = reset
	}
	return v
}

// SlidingWindow estimates the requests of the last Window from two counters:
// those of the clock window that is running, and a share of the previous
// one's that shrinks to nothing as the running one ends. The estimate is
// rounded to a whole number. After a burst, quota trickles back at
// Limit/Window.
//
// This is what go-chi/httprate and Cloudflare do (see Cloudflare's blog,
// "Counting things, a lot of different things"). Reset is the end of the
// running clock window, as httprate announces it, at which nothing in
// particular happens.
type SlidingWindow struct {
	// Limit is how much the estimate may reach. If it is not positive, nothing
	// is admitted.
	Limit int

	// Window is the length of a window. If it is not positive, it is a second.
	Window time.Duration

	// Phase moves the windows, which are multiples of Window on the clock,
	// later. In memory, httprate counts from the start of the process, with
	// Redis on the clock.
	Phase time.Duration

	// CountRefused makes refused requests count like admitted ones, so that a
	// client which keeps asking is kept out.
	CountRefused bool

	start             time.Time
	previous, current int
}

// Fresh implements Algorithm.
func (s *SlidingWindow) Fresh() Algorithm {
	return &SlidingWindow{Limit: s.Limit, Window: s.Window, Phase: s.Phase, CountRefused: s.CountRefused}
}

// Take implements Algorithm.
func (s *SlidingWindow) Take(now time.Time, n int) Verdict {
	checkCost(n)
	window := windowOrSecond(s.Window)
	switch start := gridStart(now, window, s.Phase); start.Sub(s.start) {
	case 0:
	case window:
		s.start, s.previous, s.current = start, s.current, 0
	default:
		s.start, s.previous, s.current = start, 0, 0
	}
	left := s.start.Add(window).Sub(now)
	ok := s.wait(left, n) == 0
	if ok || s.CountRefused {
		s.current += min(n, max(0, s.Limit)) // a refused n is larger at will
	}
	return Verdict{
		OK:         ok,
		Limit:      s.Limit,
		Remaining:  max(0, s.Limit-s.estimate(left)),
		Reset:      left,
		RetryAfter: s.wait(left, n),
		Window:     window,
	}
}

// estimate returns the rounded estimate at the instant at which left remains
// of the running window. It is computed in 128-bit integers, so that an
// instant is never off by a rounding error.
func (s *SlidingWindow) estimate(left time.Duration) int {
	window := uint64(windowOrSecond(s.Window))
	hi, lo := bits.Mul64(2*uint64(s.previous), uint64(left))
	lo, carry := bits.Add64(lo, window, 0)
	share, _ := bits.Div64(hi+carry, lo, 2*window)
	return s.current + int(share)
}

// wait returns the time until n are admitted, when left remains of the running
// window. It looks at that window and the following ones, in the second of
// which at the latest both counters are zero.
func (s *SlidingWindow) wait(left time.Duration, n int) time.Duration {
	if n == 0 {
		return 0
	}
	if n > s.Limit {
		return Never
	}
	window := windowOrSecond(s.Window)
	previous, current := s.previous, s.current
	for end := left; ; end += window {
		if share := admitting(window, previous, s.Limit-n-current); share > 0 {
			return max(0, end-share)
		}
		previous, current = current, 0
	}
}

// admitting returns for how long, at the end of a window, the share of the
// previous one's count is rounded to room or less. That is the greatest whole
// number of nanoseconds below window·(room + 1/2)/previous.
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

// gridStart returns the start of the window of the clock in which now is.
func gridStart(now time.Time, window, phase time.Duration) time.Time {
	return now.Add(-phase).Truncate(window).Add(phase)
}
