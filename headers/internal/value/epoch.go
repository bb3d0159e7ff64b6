package value

import "time"

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

// Longest bounds a delay while it is not yet known whether it is in seconds or in
// milliseconds.
const Longest = maxDelay * time.Second

// epoch returns the instant that a number of that size stands for, and the resolution of
// that statement.
func epoch(n Number) (t time.Time, resolution time.Duration, ok bool) {
	switch {
	case n.Whole < minEpoch || n.Whole >= maxEpochNano:
		return t, 0, false
	case n.Whole < minEpochMilli:
		_, resolution = Number{Digits: n.Digits}.Duration(time.Second, time.Second)
		return time.Unix(n.Whole, n.Nanos), resolution, true
	case n.Whole < minEpochMicro:
		return time.UnixMilli(n.Whole), time.Millisecond, true
	case n.Whole < minEpochNano:
		return time.UnixMicro(n.Whole), time.Microsecond, true
	}
	return time.Unix(0, n.Whole), time.Nanosecond, true
}
