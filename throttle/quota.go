package throttle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Quota is what a provider grants: so many tokens per span of time.
//
// The zero Quota is no limit.
type Quota struct {
	// Name is what errors and State call the quota. If empty, its text is
	// used: "5/s burst 10".
	Name string

	// N is how many tokens are granted in Per. Zero means no limit, a negative
	// number is an error.
	N int

	// Per is the span in which N tokens are granted. Zero means one second, a
	// negative span is an error.
	Per time.Duration

	// Burst is how many tokens may go at once after idling. Zero means 1:
	// evenly spaced, the only burst with which hardly any window of Per ever
	// sees more than N. A negative number is an error. A cost above Burst is
	// refused with [ErrTooLarge], since no wait would help.
	Burst int

	// WarmUp, if positive, makes this a quota that starts slowly after idling
	// and after the server pushed back: Guava's SmoothWarmingUp (see package
	// warmup), in which a cold limiter grants at a ColdFactor-th of the rate
	// and reaches the full rate after WarmUp under load. Burst must then be
	// zero: stored tokens stand for coldness, not for a burst. Negative is an
	// error.
	WarmUp time.Duration

	// ColdFactor is how many times slower a cold limiter is. Zero means 3, the
	// value that is fixed in Guava. Below 1 is an error.
	ColdFactor float64
}

// Quotas are enforced together: a request goes when all of them grant it at
// the same instant, or none is charged.
type Quotas []Quota

// Validate reports what is wrong with the first bad quota, or nil.
func (qs Quotas) Validate() error {
	for _, q := range qs {
		if err := q.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// String writes the quotas as a person would: "5/s burst 10, 100000/h".
func (qs Quotas) String() string {
	texts := make([]string, len(qs))
	for i, q := range qs {
		texts[i] = q.String()
	}
	return strings.Join(texts, ", ")
}

// Validate reports what is wrong with the quota: which field, its value and
// what was expected.
func (q Quota) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("throttle: quota %q: %s is %v, want %s", q.label(), field, value, want)
	}
	switch {
	case q.N < 0:
		return bad("N", q.N, "at least 0 (0 is no limit)")
	case q.Per < 0:
		return bad("Per", q.Per, "a positive duration, or 0 for a second")
	case q.Burst < 0:
		return bad("Burst", q.Burst, "at least 0 (0 is a burst of 1)")
	case q.WarmUp < 0:
		return bad("WarmUp", q.WarmUp, "a positive duration, or 0 for none")
	case q.WarmUp > 0 && q.Burst > 0:
		return bad("Burst", q.Burst, "0 beside a WarmUp: what is stored while idling is coldness, not a burst")
	case q.ColdFactor != 0 && !(q.ColdFactor >= 1 && q.ColdFactor <= math.MaxInt32):
		return bad("ColdFactor", q.ColdFactor, "at least 1, or 0 for 3")
	case q.ColdFactor != 0 && q.WarmUp == 0:
		return bad("ColdFactor", q.ColdFactor, "0 without a WarmUp")
	case q.N == 0 && (q.Burst != 0 || q.WarmUp != 0):
		return bad("N", q.N, "a positive number beside a Burst or a WarmUp")
	}
	return nil
}

// String writes the quota as a person would: "5/s burst 10", "50/2s".
func (q Quota) String() string {
	if q.N == 0 {
		return "no limit"
	}
	s := strconv.Itoa(q.N) + "/" + span(q.per())
	if q.Burst > 1 {
		s += " burst " + strconv.Itoa(q.Burst)
	}
	if q.WarmUp > 0 {
		s += " warm-up " + q.WarmUp.String()
		if q.ColdFactor != 0 {
			s += " cold " + strconv.FormatFloat(q.ColdFactor, 'g', -1, 64)
		}
	}
	return s
}

// label is what errors call the quota.
func (q Quota) label() string {
	if q.Name != "" {
		return q.Name
	}
	return q.String()
}

func (q Quota) per() time.Duration {
	if q.Per == 0 {
		return time.Second
	}
	return q.Per
}

func (q Quota) burst() int { return max(q.Burst, 1) }

// perSecond is the rate in tokens per second.
func (q Quota) perSecond() float64 { return float64(q.N) / q.per().Seconds() }

// span writes a duration without its zero parts, and the common ones by their
// letter alone: "s", "2s", "m", "1h30m", "d".
func span(d time.Duration) string {
	switch d {
	case time.Millisecond:
		return "ms"
	case time.Second:
		return "s"
	case time.Minute:
		return "m"
	case time.Hour:
		return "h"
	case 24 * time.Hour:
		return "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
