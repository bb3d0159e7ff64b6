package pacertest

import "time"

// SlidingLog admits Limit tokens in any window of the length Window, exactly. It
// remembers each request that it admitted, with its instant. Reset is the time until the
// oldest of these requests leaves the window, as DigitalOcean announces it, or zero if
// there is none. A quota.SlidingLog counts in the same way.
//
// This is what a sorted set in Redis does.
type SlidingLog struct {
	// Limit is how many tokens any window admits. If zero or negative, nothing is
	// admitted.
	Limit int

	// Window is the length of the window. If zero or negative, it is a second.
	Window time.Duration

	// CountRefused makes refused requests count like admitted ones, so that a client
	// that keeps asking is kept out. A Redis script that adds to the set before it
	// looks at its size does this.
	CountRefused bool

	log log
}

// Fresh implements Algorithm.
func (s *SlidingLog) Fresh() Algorithm {
	return &SlidingLog{Limit: s.Limit, Window: s.Window, CountRefused: s.CountRefused}
}

// Take implements Algorithm.
func (s *SlidingLog) Take(now time.Time, n int) Verdict {
	return s.log.take(now, n, now, span{s.Limit, windowOrSecond(s.Window), s.CountRefused})
}

// SlidingWindow admits Limit tokens in a window that moves on cell by cell. The clock is
// divided into cells, Window/Cells long, and each token counts for Window from the start
// of its cell. So all tokens of a cell come back together. Reset is the time until the
// oldest tokens come back, or zero if there are none.
//
// A token of the end of a cell counts for one cell less than Window. So any span of that
// length sees at most Limit, and a span of Window up to twice as many. With one cell, a
// SlidingWindow admits the same as a ClockWindow.
//
// A quota.SlidingWindow is the counterpart for a client, and stricter: its cells start with
// a request, and their tokens come back Window after the last of them. It grants no more
// than Limit in any span of Window, so that it fits, wherever the server's cells start.
//
// This is what ASP.NET Core's SlidingWindowRateLimiter does.
type SlidingWindow struct {
	// Limit is how many tokens the window admits. If zero or negative, nothing is
	// admitted.
	Limit int

	// Window is the length of the window. If zero or negative, it is a second.
	Window time.Duration

	// Cells is the number of equal parts into which Window is divided. If zero or
	// negative, it is 10. A part is a whole number of nanoseconds, rounded down.
	Cells int

	// CountRefused makes refused requests count like admitted ones, so that a client
	// that keeps asking is kept out.
	CountRefused bool

	log log
}

// Fresh implements Algorithm.
func (s *SlidingWindow) Fresh() Algorithm {
	return &SlidingWindow{Limit: s.Limit, Window: s.Window, Cells: s.Cells, CountRefused: s.CountRefused}
}

// Take implements Algorithm.
func (s *SlidingWindow) Take(now time.Time, n int) Verdict {
	window, cells := windowOrSecond(s.Window), s.Cells
	if cells <= 0 {
		cells = 10
	}
	cell := max(1, window/time.Duration(cells))
	return s.log.take(now, n, clockStart(now, cell, 0), span{s.Limit, window, s.CountRefused})
}

// span is what a log admits: limit tokens in window.
type span struct {
	limit        int
	window       time.Duration
	countRefused bool
}

// log remembers the tokens of the last window.
type log struct {
	entries []entry // oldest first
	used    int     // sum of the tokens of all entries
}

// entry is n tokens that count from an instant.
type entry struct {
	at time.Time
	n  int
}

// take takes n tokens at now, which count from the instant at, if s admits them.
func (l *log) take(now time.Time, n int, at time.Time, s span) Verdict {
	checkCost(n)
	for len(l.entries) > 0 && s.leaves(l.entries[0], now) <= 0 {
		l.forget()
	}
	ok := l.wait(now, n, s) == 0
	if ok || s.countRefused {
		l.remember(at, n, s.limit)
	}
	v := Verdict{
		OK:         ok,
		Limit:      s.limit,
		Remaining:  max(0, s.limit-l.used),
		RetryAfter: l.wait(now, n, s),
		Window:     s.window,
	}
	if len(l.entries) > 0 {
		v.Reset = s.leaves(l.entries[0], now)
	}
	return v
}

// remember adds n tokens that count from at. An entry does not matter if the entries
// after it use up the limit. Such entries, which refused requests can make, are
// forgotten.
func (l *log) remember(at time.Time, n, limit int) {
	n = min(n, max(0, limit))
	if n == 0 {
		return
	}
	l.used += n
	if last := len(l.entries) - 1; last >= 0 && l.entries[last].at.Equal(at) {
		l.entries[last].n += n
	} else {
		l.entries = append(l.entries, entry{at, n})
	}
	for l.used-l.entries[0].n >= limit {
		l.forget()
	}
}

// forget removes the oldest entry.
func (l *log) forget() {
	l.used -= l.entries[0].n
	l.entries = l.entries[1:]
}

// wait returns the time until n tokens are admitted.
func (l *log) wait(now time.Time, n int, s span) time.Duration {
	if n == 0 {
		return 0
	}
	if n > s.limit {
		return Never
	}
	excess := l.used + n - s.limit
	var wait time.Duration
	for _, e := range l.entries {
		if excess <= 0 {
			break
		}
		excess -= e.n
		wait = s.leaves(e, now)
	}
	return wait
}

// leaves returns the time until e leaves the window.
func (s span) leaves(e entry, now time.Time) time.Duration {
	return e.at.Add(s.window).Sub(now)
}
