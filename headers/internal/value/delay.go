package value

import (
	"strings"
	"time"
)

// Delay is how long to wait, or when a limit is restored, as one value states it. The fields mean what those of
// headers.Reset mean, except that In is negative if a reset is past, and Longest at most: only the whole limit
// tells what to make of that.
type Delay struct {
	Known      bool
	In         time.Duration
	Resolution time.Duration
	Absolute   bool
	Skew       time.Duration
}

// DelayOf returns what is stated as a delay, and not as an instant.
func DelayOf(in, resolution time.Duration) Delay {
	return Delay{Known: true, In: in, Resolution: resolution}
}

// Longer returns the longer of two delays, of two of the same length the finer one, and of two that are as fine
// the one that is no instant: it needs no Date. So the order of the two does not matter.
func (d Delay) Longer(e Delay) Delay {
	switch {
	case !e.Known || d.Known && e.In < d.In:
		return d
	case !d.Known || e.In > d.In:
		return e
	case e.Resolution < d.Resolution || e.Resolution == d.Resolution && d.Absolute:
		return e
	}
	return d
}

// Finer reports whether d is e before e was rounded.
func (d Delay) Finer(e Delay) bool {
	return d.Known && d.Resolution < e.Resolution && (d.In-e.In).Abs() <= e.Resolution
}

// ParseDelay reads how long to wait, saturating at most: a number of units, a duration, an
// instant in writing or as a number, or a list of which the longest counts. An instant that
// is past means no delay, and one that is past by more than maxSkew makes no sense.
func ParseDelay(s string, unit, most time.Duration, c *Clock) Delay {
	s = Trim(s)
	if len(s) > 4*MaxNumber || s == "" {
		return Delay{}
	}
	if n, ok := ParseNumber(s); ok {
		return delayOf(n, unit, most, c)
	}
	if t, resolution, ok := ParseInstant(s); ok {
		return delayUntil(t, resolution, most, c)
	}
	if d, resolution, ok := ParseDuration(s, most); ok {
		return DelayOf(d, resolution)
	}
	var longest Delay
	if IsDigit(s[0]) && strings.IndexByte(s, ',') > 0 { // a list, and no date
		for s != "" {
			var member string
			member, s, _ = strings.Cut(s, ",")
			longest = longest.Longer(ParseDelay(member, unit, most, c))
		}
	}
	return longest
}

// delayOf is ParseDelay for a number.
func delayOf(n Number, unit, most time.Duration, c *Clock) Delay {
	// An instant by mistake, and those are of today.
	if n.Whole >= max(1e9, int64(Longest/unit)) && n.Whole < maxEpochNano {
		if t, resolution, ok := epoch(n); ok {
			return delayUntil(t, resolution, most, c)
		}
	}
	return DelayOf(n.Duration(unit, most))
}

// delayUntil is ParseDelay for an instant.
func delayUntil(t time.Time, resolution, most time.Duration, c *Clock) Delay {
	in, ok := c.Until(t)
	if !ok || in < -maxSkew {
		return Delay{}
	}
	return Delay{In: min(max(in, 0), most), Resolution: resolution, Known: true, Absolute: true, Skew: c.Skew()}
}
