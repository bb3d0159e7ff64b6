package headers

import (
	"math"
	"time"
)

// Sizes that tell what a bare number stands for. No documented delay is above 30
// days, and 1e8 s are three years; no limit was reset before 2000.
const (
	maxDelay      = 1e8
	minEpoch      = 946_684_800 // the year 2000, in which the clocks of synctest bubbles begin
	minEpochMilli = 1e11
	minEpochMicro = 1e14
	minEpochNano  = 1e16
	maxEpochNano  = 9_200_000_000_000_000_000
)

// longest bounds a reset while it is not yet known whether it is in seconds or in
// milliseconds.
const longest = maxDelay * time.Second

// epoch returns the instant that a number of that size stands for.
func epoch(n number) (t time.Time, step time.Duration, ok bool) {
	switch {
	case n.whole < minEpoch || n.whole >= maxEpochNano:
		return t, 0, false
	case n.whole < minEpochMilli:
		_, step = number{digits: n.digits}.duration(time.Second, time.Second)
		return time.Unix(n.whole, n.nanos), step, true
	case n.whole < minEpochMicro:
		return time.UnixMilli(n.whole), time.Millisecond, true
	case n.whole < minEpochNano:
		return time.UnixMicro(n.whole), time.Microsecond, true
	}
	return time.Unix(0, n.whole), time.Nanosecond, true
}

// parseReset reads when a limit is restored. In is negative if that is past: only
// the whole limit tells what to make of it.
func parseReset(s string, f *field, c *clock) (r Reset) {
	s = trim(s)
	if s == "" {
		return r
	}
	if n, ok := parseNumber(s); ok {
		r.number(n, f, c)
	} else if d, step, ok := parseDuration(s, longest); ok {
		r.delay(d, step)
	} else if t, step, ok := parseInstant(s); ok {
		r.instant(t, step, c)
	} else if s[0] == '-' {
		if past := parseReset(s[1:], f, c); past.Known && !past.Absolute {
			r.delay(-1, past.Resolution)
		}
	}
	return r
}

// number fills in a reset that is stated as a number.
func (r *Reset) number(n number, f *field, c *clock) {
	unit, most := time.Second, int64(maxDelay)
	if f.step > 0 {
		unit, most = f.step, int64(longest/f.step)
	}
	switch {
	case f.form != seconds && n.whole >= most:
		if t, step, ok := epoch(n); ok {
			r.instant(t, step, c)
		}
		return
	case n.whole > math.MaxInt64/10:
		return
	}
	r.delay(n.duration(unit, longest))
}

// seconds fills in a reset that is stated as a delay by the IETF drafts.
func (r *Reset) seconds(in Count) {
	if in.Known {
		r.delay(number{whole: in.N}.duration(time.Second, longest))
	}
}

func (r *Reset) delay(in, step time.Duration) {
	r.Known, r.In, r.Resolution = true, in, step
}

func (r *Reset) instant(t time.Time, step time.Duration, c *clock) {
	if in, ok := c.until(t); ok {
		r.delay(min(max(in, -1), longest), step)
		r.Absolute, r.Skew = true, c.skew()
	}
}

// better returns the more telling of two statements about one reset: one that is
// still to come, a delay rather than an instant, the finer one.
func better(a, b Reset) Reset {
	switch {
	case !a.Known || b.Known && (b.In > 0) != (a.In > 0) && b.In > 0:
		return b
	case !b.Known || (b.In > 0) != (a.In > 0):
		return a
	case a.Absolute != b.Absolute:
		if a.Absolute {
			return b
		}
	case b.Resolution < a.Resolution:
		return b
	}
	return a
}
