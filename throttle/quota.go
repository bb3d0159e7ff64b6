package throttle

import (
	"fmt"
	"math"
	"slices"
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

	// Unit is what a token is: "bytes", "tokens" of a language model, "points". A
	// request draws as many as its [Costs] say, none if they say nothing. Empty
	// means [Requests].
	Unit string

	// Per is the span in which N tokens are granted. Zero means one second, a
	// negative span is an error. It must be zero for quotas of what is in flight.
	Per time.Duration

	// Kind is how the provider counts. Zero is a TokenBucket. Burst, Debt, WarmUp
	// and ColdFactor are of token buckets only.
	Kind Kind

	// Burst is how many tokens may go at once after idling. Zero means 1:
	// evenly spaced, the only burst with which hardly any window of Per ever
	// sees more than N. But among Quotas only that of the shortest Per in its unit is
	// spaced so: of "5/s, 1000/h", zero means for the second what a provider means, 1000
	// in any hour as fast as the first lets them go (a SlidingWindow). A negative
	// number is an error. A cost above Burst, or of the other kinds above N, is refused
	// with [ErrTooLarge], since no wait would help.
	Burst int

	// Debt lets a cost above Burst go when the bucket is full. What is missing is
	// owed, and those who come next wait until it is paid, as in Guava's
	// RateLimiter: for transfers that cannot be divided. No span sees more than N
	// per Per, Burst, and one such cost.
	Debt bool

	// Queue is the depth of the queue of a leaky bucket: who finds tokens for
	// as much or more waiting for this quota is refused with [ErrQueueFull]. Zero
	// means no bound but MaxQueue and MaxWait, a negative number is an error. With
	// a Burst of 1 it is the bucket which lets drops out evenly and overflows
	// (nginx's limit_req with burst=Queue, uber-go/ratelimit); a bucket that only
	// measures is a TokenBucket with a Burst.
	Queue int

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

// canonical returns a copy in which the unit of requests is empty.
func (qs Quotas) canonical() Quotas {
	qs = slices.Clone(qs)
	for i := range qs {
		qs[i].Unit = qs[i].unit()
	}
	return qs
}

// meant returns the quotas as they are enforced together; see Quota.Burst.
func (qs Quotas) meant() Quotas {
	meant := qs
	for i, q := range qs {
		if q.N == 0 || q.Kind != TokenBucket || q.Burst > 0 || q.Debt || q.WarmUp > 0 {
			continue
		}
		if slices.ContainsFunc(qs, func(o Quota) bool {
			return o.N > 0 && !o.Kind.slots() && o.unit() == q.unit() && o.per() < q.per()
		}) {
			if &meant[0] == &qs[0] {
				meant = slices.Clone(qs)
			}
			meant[i].Kind = SlidingWindow
		}
	}
	return meant
}

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
	case q.Kind < 0 || q.Kind > Unanswered:
		return bad("Kind", int(q.Kind), "one of the constants")
	case q.N < 0:
		return bad("N", q.N, "at least 0 (0 is no limit)")
	case q.Unit != "" && !isUnit(q.Unit):
		return bad("Unit", strconv.Quote(q.Unit), "a word of letters, digits, '-', '_' and '.' that means nothing else in a quota")
	case q.Kind.slots() && q.Per != 0:
		return bad("Per", q.Per, "0 for what is in flight")
	case q.Kind != TokenBucket && int64(q.N) > most:
		return bad("N", q.N, "at most 1<<50")
	case q.Per < 0:
		return bad("Per", q.Per, "a positive duration, or 0 for a second")
	case q.Kind != TokenBucket && q.Per > ages:
		return bad("Per", q.Per, "at most 50 years")
	case q.Burst < 0:
		return bad("Burst", q.Burst, "at least 0 (0 is a burst of 1)")
	case q.Queue < 0:
		return bad("Queue", q.Queue, "at least 0 (0 is no bound)")
	case q.WarmUp < 0:
		return bad("WarmUp", q.WarmUp, "a positive duration, or 0 for none")
	case q.Kind != TokenBucket && q.Burst > 0:
		return bad("Burst", q.Burst, "0 for what is no token bucket: N may go at once")
	case q.Kind != TokenBucket && q.Debt:
		return bad("Debt", q.Debt, "false for what is no token bucket")
	case q.WarmUp > 0 && q.Debt:
		return bad("Debt", q.Debt, "false beside a WarmUp, with which whatever is asked for goes and the next one pays")
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
	case q.N == 0 && (q.Burst != 0 || q.WarmUp != 0 || q.Debt || q.Queue != 0):
		return bad("N", q.N, "a positive number beside a Burst, a Debt, a Queue or a WarmUp")
	case q.N == 0 && q.Kind != TokenBucket:
		return bad("N", q.N, "a positive number for what is no token bucket")
	}
	return nil
}

// String writes the quota as a person would: "5/s burst 10", "1MiB/s", "10 in flight".
func (q Quota) String() string {
	if q.N == 0 {
		return "no limit"
	}
	s := amount(q.N, q.Unit)
	if unit := canonical(q.Unit); unit != "" && unit != Bytes {
		s += " " + unit
	}
	if !q.Kind.slots() {
		s += "/" + span(q.per())
	}
	if q.Burst > 1 {
		s += " burst " + amount(q.Burst, q.Unit)
	}
	if q.Debt {
		s += " debt"
	}
	if q.Kind != TokenBucket {
		s += " " + q.Kind.String()
	}
	if q.Cells > 0 {
		s += " " + strconv.Itoa(q.Cells)
	}
	if q.Queue > 0 {
		s += " queue " + amount(q.Queue, q.Unit)
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

// unit is Unit, empty for requests.
func (q *Quota) unit() string { return canonical(q.Unit) }

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
