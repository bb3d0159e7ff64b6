package quota

import (
	"fmt"
	"math"
	"time"
)

// Redundant finds the quotas of qs that never bind: they never delay or refuse what the other
// quotas grant, because one other quota of the same unit is at least as strict at every moment.
// Above are the quotas of the buckets above (see throttle.Limiter.Parent), on which every request
// draws too that draws on qs. An Overall quota counts as one above those that are not.
//
// Redundant returns nil if it finds none. Else why has one element for each quota of qs: empty if
// the quota may bind, else a sentence that says which other quota is as strict, and what that one
// admits. "5/s above" is a quota of above.
//
//	100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s
//
// Of two equal quotas, the later one is redundant. If all redundant quotas are removed, the rest
// admits exactly the same requests.
//
// Redundant proves this from what the Kind of a quota admits at most. It does not search: every
// quota that it finds is redundant, but it does not find every redundant quota. The proof holds
// for quotas that are in force from the start, without a throttle.Limiter.Reserve, and for grants
// that stay as they are: where a grant is canceled, or settled for another cost, a redundant quota
// may bind for once. A [Plain] quota counts as what it is while it delays requests, and not while
// the count of a server is believed in its place.
//
// Quotas that are invalid or no limit are passed over.
func (qs Quotas) Redundant(above ...Quota) (why []string) {
	explicit, explicitAbove := qs.Explicit(), Quotas(above).Explicit()
	reason := func(i int) string {
		for j := range qs {
			// Only a quota that is not redundant itself makes others redundant, so that one always stays.
			if j == i || why != nil && why[j] != "" {
				continue
			}
			if admits := covers(explicit[j], explicit[i], false); admits != "" {
				return qs[j:j+1].String() + " " + admits
			}
		}
		for j := range above {
			if admits := covers(explicitAbove[j], explicit[i], true); admits != "" {
				return Quotas(above[j:j+1]).String() + " above " + admits
			}
		}
		return ""
	}
	for i := len(qs) - 1; i >= 0; i-- {
		if by := reason(i); by != "" {
			if why == nil {
				why = make([]string, len(qs))
			}
			why[i] = qs[i:i+1].String() + " never binds: " + by
		}
	}
	return why
}

// covers returns what x admits, if y never binds where x is enforced, or an empty string if y may
// bind. Both are explicit. If x is above y, or Overall and y is not, x sees requests that y does not see.
func covers(x, y Quota, above bool) string {
	above = above || x.Overall != y.Overall
	switch {
	case !x.binds() || !y.binds() || !x.isLike(&y) || x.isNarrower(&y):
		return ""
	case y.Queue > 0 && (x.Queue == 0 || x.Queue > y.Queue):
		return "" // y refuses requests that have a place in the queue of x
	case !above && alike(x, y):
		return "admits the same"
	case x.WarmUp > 0 || y.WarmUp > 0 || x.Debt && !y.Debt:
		return "" // x grants a request of any cost, or y is too hard to foresee
	case x.Kind.Concurrent() || y.Kind.Concurrent():
		return coversConcurrent(x, y)
	case x.isCivil() || y.isCivil():
		return coversCivil(x, y)
	case y.Kind == TokenBucket:
		return coversBucket(x, y)
	}
	return coversWindow(x, y, above)
}

// isLike reports whether q and o count the same tokens, at the same instants.
func (q *Quota) isLike(o *Quota) bool { return q.Unit == o.Unit && q.Streamed == o.Streamed }

// isNarrower reports whether q is of each tenant, and o of all of them: then each may use as much as q admits.
func (q *Quota) isNarrower(o *Quota) bool { return o.Overall && !q.Overall }

// binds reports whether the quota is a limit and valid.
func (q *Quota) binds() bool { return q.N > 0 && q.check() == nil }

// alike reports whether two explicit quotas differ in their names alone.
func alike(x, y Quota) bool {
	x.Name, y.Name = "", ""
	return x == y
}

// coversConcurrent returns why y never binds: x admits no more requests at the same time. A request
// that waits for its answer is in flight, so that InFlight covers Unanswered too.
func coversConcurrent(x, y Quota) string {
	if y.Kind.Concurrent() && (x.Kind == InFlight || x.Kind == y.Kind) && x.N <= y.N {
		return "admits at most " + x.tokens(float64(x.N)) + " at a time"
	}
	return ""
}

// coversBucket returns why the bucket y never binds: at every moment y lacks at most as many tokens
// of its burst as x lacks of its own.
func coversBucket(x, y Quota) string {
	burst, rate := x.curve()
	if x.Kind != TokenBucket && x.Kind != Plain && x.Kind != SlidingWindow && x.Kind != SlidingLog {
		// A bucket counts a request from when it was due, a window from when it went, which may be
		// later. So a span of the bucket may see more of the windows: what they grant in late.
		burst += rate * late.Seconds()
	}
	if burst > float64(y.Burst) || rate > y.perSecond() {
		return ""
	}
	return fmt.Sprintf("admits at most %s at once, and no more than %s from then on",
		x.tokens(burst), Quota{N: x.N, Per: x.Per, Unit: x.Unit})
}

// coversWindow returns why y never binds: no window of y ever sees more than N of y.
func coversWindow(x, y Quota, above bool) string {
	var n float64
	span, in, why := y.Per, " in ", ""
	switch {
	case x.Kind == y.Kind && x.Per == y.Per && (y.Kind.OnClock() || !above && x.Cells == y.Cells || y.Kind == Plain && x.Cells == 0 && y.Cells == 0):
		// Both count in the same windows.
		n, in = float64(x.N), " in each window of "
	case x.Kind.OnClock() && y.Kind == ClockWindow && y.Per%x.Per == 0:
		// Each window of y consists of whole windows of x.
		n, in = float64(x.N)*float64(y.Per/x.Per), " in each window of "
	case y.Kind == SlidingWindow:
		span, why = roundUp(span+y.Per/time.Duration(y.Cells)), counted
		n = x.admits(span)
	case y.Kind == Plain:
		span, why = roundUp(span+y.Per/plainCells), counted
		if n = x.admits(span); n > 0.8*float64(y.N) {
			return "" // the last fifth may be spread
		}
	case y.Kind == EstimatedWindow:
		// The estimate counts all of the running window, and of the window before it the share that
		// lies within the last Per, as if its requests had been spread evenly. Rounding may add half
		// a token. If burst + rate·t is the most that x admits in a span of t, and a share u of the
		// running window is over, the estimate is at most
		//
		//	u·(burst + rate·u·Per) + (1−u)·(burst + rate·(1+u)·Per) = burst + rate·Per
		burst, rate := x.curve()
		n = burst + rate*(span+late).Seconds() + 0.5
		if both := x.admits(2 * span); both < n {
			n, span = both, 2*span
		}
	default:
		n = x.admits(span)
	}
	if n = math.Floor(n + max(noise, n*noise*noise)); n > float64(y.N) {
		return ""
	}
	return "admits at most " + x.tokens(n) + in + span.String() + why
}

// counted says why a span is longer than that of a quota, which counts in cells.
const counted = ", for which one may count"

// roundUp returns a span for people to read, which is no shorter: what is admitted in it is no less.
func roundUp(d time.Duration) time.Duration {
	unit := time.Duration(1)
	switch {
	case d >= time.Minute:
		unit = time.Second
	case d >= time.Second:
		unit = 10 * time.Millisecond
	case d >= time.Millisecond:
		unit = 10 * time.Microsecond
	}
	return (d + unit - 1).Truncate(unit)
}

// late is how much longer than computed a span may be: a request goes up to 2 ms after it was due
// (limit.Lag of package throttle), and instants are rounded to nanoseconds.
const late = 2*time.Millisecond + time.Nanosecond

// noise is how much of a token is taken for a rounding error; of a large number n of tokens, it is
// n·noise².
const noise = 1e-6

// curve returns the most that q admits in a span of t seconds: burst + rate·t tokens.
func (q *Quota) curve() (burst, rate float64) {
	switch q.Kind {
	case TokenBucket:
		return float64(q.Burst), q.perSecond()
	case Plain, SlidingWindow, SlidingLog:
		return float64(q.N), q.perSecond()
	}
	return 2 * float64(q.N), q.perSecond() // one window at its end, the next one at its start
}

// admits returns the most tokens that q admits in a span of d, whose end is not part of it.
func (q *Quota) admits(d time.Duration) float64 {
	switch burst, rate := q.curve(); q.Kind {
	case TokenBucket:
		return burst + rate*(d+late).Seconds()
	case Plain, SlidingWindow, SlidingLog:
		return float64(q.N) * math.Ceil(float64(d)/float64(q.Per))
	}
	return float64(q.N) * (math.Ceil(float64(d)/float64(q.Per)) + 1)
}

// tokens writes a number of tokens with their unit.
func (q *Quota) tokens(n float64) string {
	s := amount(int64(n), q.Unit)
	if unit := q.unit(); unit != "" && unit != Bytes {
		s += " " + unit
	}
	return s
}

// coversCivil returns why y never binds, if x or y begins on days of the calendar: both count in the same
// windows.
func coversCivil(x, y Quota) string {
	n := float64(x.N)
	switch {
	case x.Months != y.Months || x.Per != y.Per || x.From != y.From || x.Zone != y.Zone:
		return ""
	case x.Kind == y.Kind && x.N <= y.N:
	case x.Kind != Plain && x.Kind != ClockWindow || y.Kind != ClockWindow && y.Kind != Plain:
		return ""
	case y.Kind == Plain && n > 0.8*float64(y.N): // the last fifth may be spread
		return ""
	case x.N > y.N:
		return ""
	}
	return "admits at most " + x.tokens(n) + " in each window of " + x.span()
}
