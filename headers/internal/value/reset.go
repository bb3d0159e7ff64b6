package value

import (
	"math"
	"time"
)

// ParseReset reads when a limit is restored. A number counts steps, or seconds if step is
// zero; one that is too large for a delay is an instant, unless neverInstant.
func ParseReset(s string, step time.Duration, neverInstant bool, c *Clock) (d Delay) {
	s = Trim(s)
	if len(s) > 4*MaxNumber || s == "" {
		return d // nothing that makes sense is that long, and each minus sign is gone into below
	}
	if n, ok := ParseNumber(s); ok {
		d.SetNumber(n, step, neverInstant, c)
	} else if in, resolution, ok := ParseDuration(s, Longest); ok {
		d = DelayOf(in, resolution)
	} else if t, resolution, ok := ParseInstant(s); ok {
		d.setInstant(t, resolution, c)
	} else if s[0] == '-' {
		if past := ParseReset(s[1:], step, neverInstant, c); past.Known && !past.Absolute {
			d = DelayOf(-1, past.Resolution)
		}
	}
	return d
}

// SetNumber sets a Delay that is not known to what a number says of a reset, see ParseReset. It
// stays as it is if that makes no sense.
func (d *Delay) SetNumber(n Number, step time.Duration, neverInstant bool, c *Clock) {
	unit, most := time.Second, int64(maxDelay)
	if step > 0 {
		unit, most = step, int64(Longest/step)
	}
	switch {
	case !neverInstant && n.Whole >= most:
		if t, resolution, ok := epoch(n); ok {
			d.setInstant(t, resolution, c)
		}
		return
	case n.Whole > math.MaxInt64/10 || unit == time.Second && isDate(n.Whole):
		return
	}
	*d = DelayOf(n.Duration(unit, Longest))
}

// isDate reports whether a number reads as a date of this century, 20260302: as a delay that is over seven
// months, and nobody documents more than one. Of which zone the date is, and when in the day, it does not say.
func isDate(n int64) bool {
	year, month, day := n/10_000, n/100%100, n%100
	return year >= 2000 && year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31
}

// setInstant sets a Delay to a reset that is stated as an instant, if the clock tells when the answer
// was written.
func (d *Delay) setInstant(t time.Time, resolution time.Duration, c *Clock) {
	if in, ok := c.Until(t); ok {
		*d = Delay{true, min(max(in, -1), Longest), resolution, true, c.Skew()}
	}
}
