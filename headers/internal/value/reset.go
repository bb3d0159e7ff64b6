package value

import (
	"math"
	"time"
)

// Reset is when a limit is restored, as one value states it. The fields mean what those of
// headers.Reset mean, except that In is negative if the reset is past, and Longest at most:
// only the whole limit tells what to make of that.
type Reset struct {
	Known      bool
	In         time.Duration
	Resolution time.Duration
	Absolute   bool
	Skew       time.Duration
}

// ParseReset reads when a limit is restored. A number counts steps, or seconds if step is
// zero; one that is too large for a delay is an instant, unless neverInstant.
func ParseReset(s string, step time.Duration, neverInstant bool, c *Clock) (r Reset) {
	s = Trim(s)
	if len(s) > 4*MaxNumber || s == "" {
		return r // nothing that makes sense is that long, and each minus sign is gone into below
	}
	if n, ok := ParseNumber(s); ok {
		r.SetNumber(n, step, neverInstant, c)
	} else if d, resolution, ok := ParseDuration(s, Longest); ok {
		r.SetDelay(d, resolution)
	} else if t, resolution, ok := ParseInstant(s); ok {
		r.setInstant(t, resolution, c)
	} else if s[0] == '-' {
		if past := ParseReset(s[1:], step, neverInstant, c); past.Known && !past.Absolute {
			r.SetDelay(-1, past.Resolution)
		}
	}
	return r
}

// SetNumber sets a Reset that is not known to what a number says, see ParseReset. The
// Reset stays as it is if that makes no sense.
func (r *Reset) SetNumber(n Number, step time.Duration, neverInstant bool, c *Clock) {
	unit, most := time.Second, int64(maxDelay)
	if step > 0 {
		unit, most = step, int64(Longest/step)
	}
	switch {
	case !neverInstant && n.Whole >= most:
		if t, resolution, ok := epoch(n); ok {
			r.setInstant(t, resolution, c)
		}
		return
	case n.Whole > math.MaxInt64/10 || unit == time.Second && isDate(n.Whole):
		return
	}
	r.SetDelay(n.Duration(unit, Longest))
}

// isDate reports whether a number reads as a date of this century, 20260302: as a delay that is over seven
// months, and nobody documents more than one. Of which zone the date is, and when in the day, it does not say.
func isDate(n int64) bool {
	year, month, day := n/10_000, n/100%100, n%100
	return year >= 2000 && year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31
}

// SetDelay sets a Reset that is stated as a delay.
func (r *Reset) SetDelay(in, resolution time.Duration) {
	r.Known, r.In, r.Resolution = true, in, resolution
}

// setInstant sets a Reset that is stated as an instant, if the clock tells when the answer
// was written.
func (r *Reset) setInstant(t time.Time, resolution time.Duration, c *Clock) {
	if in, ok := c.Until(t); ok {
		r.SetDelay(min(max(in, -1), Longest), resolution)
		r.Absolute, r.Skew = true, c.Skew()
	}
}

// ResetIn returns a Reset that is stated as a delay.
func ResetIn(in, resolution time.Duration) (r Reset) {
	r.SetDelay(in, resolution)
	return r
}
