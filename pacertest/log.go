package pacertest

import "time"

// SlidingLog admits Limit tokens in any window of the length Window. It remembers
// each request that it admitted, with its instant. Reset is the time until the oldest
// of these requests leaves the window, as DigitalOcean announces it, or zero if there
// is none.
//
// This is what a sorted set in Redis does, and with a Cell what ASP.NET Core's
// SlidingWindowRateLimiter does.
type SlidingLog struct {
	// Limit is how many tokens any window admits. If zero or negative, nothing is
	// admitted.
	Limit int

	// Window is the length of the window. If zero or negative, it is a second.
	Window time.Duration

	// Cell is the resolution of the log. The clock is divided into cells of this
	// length, and a request counts from the start of its cell, so that all requests of
	// a cell leave the window at once. Cell should divide Window. If zero or negative,
	// instants are exact. If it is Window, this is a ClockWindow.
	Cell time.Duration

	// CountRefused makes refused requests count like admitted ones, so that a client
	// that keeps asking is kept out. A Redis script that adds to the set before it
	// looks at its size does this.
	CountRefused bool

	entries []entry // oldest first
	used    int     // sum of the tokens of all entries
}

// entry is n tokens that were taken at an instant.
type entry struct {
	at time.Time
	n  int
}

// Fresh implements Algorithm.
func (s *SlidingLog) Fresh() Algorithm {
	return &SlidingLog{Limit: s.Limit, Window: s.Window, Cell: s.Cell, CountRefused: s.CountRefused}
}

// Take implements Algorithm.
func (s *SlidingLog) Take(now time.Time, n int) Verdict {
	checkCost(n)
	for len(s.entries) > 0 && s.leaves(s.entries[0], now) <= 0 {
		s.forget()
	}
	ok := s.wait(now, n) == 0
	if ok || s.CountRefused {
		s.remember(now, n)
	}
	v := Verdict{
		OK:         ok,
		Limit:      s.Limit,
		Remaining:  max(0, s.Limit-s.used),
		RetryAfter: s.wait(now, n),
		Window:     windowOrSecond(s.Window),
	}
	if len(s.entries) > 0 {
		v.Reset = s.leaves(s.entries[0], now)
	}
	return v
}

// remember adds n tokens at now. An entry does not matter if the entries after it use
// up the Limit. Such entries, which refused requests can make, are forgotten.
func (s *SlidingLog) remember(now time.Time, n int) {
	n = min(n, max(0, s.Limit))
	if n == 0 {
		return
	}
	at := now
	if s.Cell > 0 {
		at = now.Truncate(s.Cell)
	}
	s.used += n
	if last := len(s.entries) - 1; last >= 0 && s.entries[last].at.Equal(at) {
		s.entries[last].n += n
	} else {
		s.entries = append(s.entries, entry{at, n})
	}
	for s.used-s.entries[0].n >= s.Limit {
		s.forget()
	}
}

// forget removes the oldest entry.
func (s *SlidingLog) forget() {
	s.used -= s.entries[0].n
	s.entries = s.entries[1:]
}

// leaves returns the time until e leaves the window.
func (s *SlidingLog) leaves(e entry, now time.Time) time.Duration {
	return e.at.Add(windowOrSecond(s.Window)).Sub(now)
}

// wait returns the time until n tokens are admitted.
func (s *SlidingLog) wait(now time.Time, n int) time.Duration {
	if n == 0 {
		return 0
	}
	if n > s.Limit {
		return Never
	}
	excess := s.used + n - s.Limit
	var wait time.Duration
	for _, e := range s.entries {
		if excess <= 0 {
			break
		}
		excess -= e.n
		wait = s.leaves(e, now)
	}
	return wait
}
