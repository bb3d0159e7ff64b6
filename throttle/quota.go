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

	// Kind is how the provider counts. Zero is a TokenBucket. Burst, WarmUp and
	// ColdFactor are of token buckets only.
	Kind Kind

	// Burst is how many tokens may go at once after idling. Zero means 1:
	// evenly spaced, the only burst with which hardly any window of Per ever
	// sees more than N. A negative number is an error. A cost above Burst, or of
	// the other kinds above N, is refused with [ErrTooLarge], since no wait would
	// help.
	Burst int

	// Cells is in how many parts a SlidingWindow divides Per. Zero means 10. A
	// negative number, and any for another Kind, is an error.
	Cells int

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

// String writes the quotas as a person would: "5/s burst 10, 100000/h". If they
// are valid, ParseQuotas reads them as they were.
func (qs Quotas) String() string {
	texts := make([]string, len(qs))
	for i, q := range qs {
		texts[i] = q.String() + as(q.Name)
	}
	return strings.Join(texts, ", ")
}

// Validate reports what is wrong with the quota: which field, its value and
// what was expected.
func (q Quota) Validate() error {
	if err := q.check(); err != nil {
		return fmt.Errorf("throttle: %w", err)
	}
	return nil
}

func (q Quota) check() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("quota %q: %s is %v, want %s", q.label(), field, value, want)
	}
	switch {
	case q.Kind < 0 || q.Kind > EstimatedWindow:
		return bad("Kind", int(q.Kind), "one of the constants")
	case q.N < 0:
		return bad("N", q.N, "at least 0 (0 is no limit)")
	case q.Kind != TokenBucket && int64(q.N) > most:
		return bad("N", q.N, "at most 1<<50")
	case q.Per < 0:
		return bad("Per", q.Per, "a positive duration, or 0 for a second")
	case q.Kind != TokenBucket && q.Per > ages:
		return bad("Per", q.Per, "at most 50 years")
	case q.Burst < 0:
		return bad("Burst", q.Burst, "at least 0 (0 is a burst of 1)")
	case q.WarmUp < 0:
		return bad("WarmUp", q.WarmUp, "a positive duration, or 0 for none")
	case q.Kind != TokenBucket && q.Burst > 0:
		return bad("Burst", q.Burst, "0 for what is no token bucket: N may go at once")
	case q.Kind != TokenBucket && q.WarmUp > 0:
		return bad("WarmUp", q.WarmUp, "0 for what is no token bucket")
	case q.WarmUp > 0 && q.Burst > 0:
		return bad("Burst", q.Burst, "0 beside a WarmUp: what is stored while idling is coldness, not a burst")
	case q.ColdFactor != 0 && !(q.ColdFactor >= 1 && q.ColdFactor <= math.MaxInt32):
		return bad("ColdFactor", q.ColdFactor, "at least 1, or 0 for 3")
	case q.ColdFactor != 0 && q.WarmUp == 0:
		return bad("ColdFactor", q.ColdFactor, "0 without a WarmUp")
	case q.Cells < 0:
		return bad("Cells", q.Cells, "at least 0 (0 is 10)")
	case q.Cells > 0 && q.Kind != SlidingWindow:
		return bad("Cells", q.Cells, "0 for what is no SlidingWindow")
	case q.N == 0 && (q.Burst != 0 || q.WarmUp != 0):
		return bad("N", q.N, "a positive number beside a Burst or a WarmUp")
	case q.N == 0 && q.Kind != TokenBucket:
		return bad("N", q.N, "a positive number for a window")
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
	if q.Kind != TokenBucket {
		s += " " + q.Kind.String()
	}
	if q.Cells > 0 {
		s += " " + strconv.Itoa(q.Cells)
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

func (q Quota) cells() int {
	if q.Cells == 0 {
		return 10
	}
	return q.Cells
}

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
