package throttle

import (
	"fmt"
	"math"
	"time"
)

// Pointless is a quota that never binds, and why.
type Pointless struct {
	Index int    // of the quota that never binds
	Quota Quota  // that one
	By    Quota  // the one which is at least as strict at every moment
	Above bool   // whether By is one of those above
	Why   string // what By admits: "admits at most 18010 in 1h0m0s"
}

// String is a sentence: "100000/h window never binds: 5/s burst 10 admits at most 18010
// in 1h0m0s".
func (p Pointless) String() string {
	return fmt.Sprintf("%s never binds: %s %s", Quotas{p.Quota}, Quotas{p.By}, p.Why)
}

// Pointless returns the quotas that never delay or refuse what the others grant, because
// one of those, of the same unit, is at least as strict at every moment. Above are the
// quotas of the Limiters above (see Limiter.Parent), which all that these quotas see
// draws on as well. Of two that are equal, the later is pointless. Without all
// that are returned, the others admit exactly the same.
//
// It is a proof, from what the Kind of a quota admits at most, and not a search: what
// is returned is pointless, but not all that is pointless is found. It holds for
// quotas that are in force from the start, without a Limiter.Reserve, and for what is
// granted and kept as it was: where a grant is canceled, or settled for another cost,
// a pointless quota may bind for once.
//
// What is not valid, and "no limit", is passed over.
func (qs Quotas) Pointless(above ...Quota) (found []Pointless) {
	pointless, meant, wide := make([]bool, len(qs)), qs.meant(), Quotas(above).meant()
	// Only what stands can make others pointless, so that something always stands.
	for i := len(qs) - 1; i >= 0; i-- {
		p := Pointless{Index: i, Quota: qs[i]}
		for j := 0; j < len(qs) && p.Why == ""; j++ {
			if j != i && !pointless[j] {
				p.By, p.Why = qs[j], covers(meant[j], meant[i], false)
			}
		}
		for j := 0; j < len(above) && p.Why == ""; j++ {
			p.By, p.Above, p.Why = above[j], true, covers(wide[j], meant[i], true)
		}
		if p.Why != "" {
			pointless[i] = true
			found = append([]Pointless{p}, found...)
		}
	}
	return found
}

// covers reports why y never binds where x is enforced: empty if it may. If x is above,
// it sees more than y does.
func covers(x, y Quota, above bool) string {
	switch {
	case x.N == 0 || y.N == 0 || x.check() != nil || y.check() != nil || x.unit() != y.unit():
		return ""
	case y.Queue > 0 && (x.Queue == 0 || x.Queue > y.Queue):
		return "" // y refuses those for whom x has a place in the queue
	case !above && alike(x, y):
		return "admits the same"
	case y.WarmUp > 0 || x.Debt && !y.Debt || x.WarmUp > 0:
		return "" // x grants whatever is asked for, or y is too hard to foresee
	case x.Kind.slots() || y.Kind.slots():
		// Whoever waits for an answer is in flight.
		if y.Kind.slots() && (x.Kind == InFlight || x.Kind == y.Kind) && x.N <= y.N {
			return "admits at most " + x.tokens(float64(x.N)) + " at a time"
		}
		return ""
	case y.Kind == TokenBucket:
		return coversBucket(x, y)
	}
	return coversWindow(x, y, above)
}

// alike reports whether two quotas do the same, whatever they are called.
func alike(x, y Quota) bool {
	for _, q := range []*Quota{&x, &y} {
		q.Name, q.Unit, q.Burst = "", q.unit(), q.burst()
		if !q.Kind.slots() {
			q.Per = q.per()
		}
		if q.Kind == SlidingWindow {
			q.Cells = q.cells()
		}
		if q.WarmUp > 0 && q.ColdFactor == 0 {
			q.ColdFactor = 3
		}
	}
	return x == y
}

// coversBucket: what y misses of its burst is never more than x misses of its own.
func coversBucket(x, y Quota) string {
	burst, rate := x.curve()
	if x.Kind != TokenBucket && x.Kind != SlidingWindow && x.Kind != SlidingLog {
		// A bucket counts from when something was due, a window from when it went, which
		// may be later: more of its windows are seen in a span.
		burst += rate * late.Seconds()
	}
	if burst > float64(y.burst()) || rate > y.perSecond() {
		return ""
	}
	return fmt.Sprintf("admits at most %s at once, and no more than %s from then on",
		x.tokens(burst), Quota{N: x.N, Per: x.Per, Unit: x.Unit})
}

// coversWindow: no window of y ever sees more than its N.
func coversWindow(x, y Quota, above bool) string {
	var n float64
	span, in := y.per(), " in "
	switch {
	case x.Kind == y.Kind && x.per() == y.per() && (y.onClock() || !above && x.cells() == y.cells()):
		n, in = float64(x.N), " in each window of " // which are the same
	case x.onClock() && y.Kind == ClockWindow && y.per()%x.per() == 0:
		// Each window of y consists of whole ones of x.
		n, in = float64(x.N)*float64(y.per()/x.per()), " in each window of "
	case y.Kind == SlidingWindow:
		span += y.per() / time.Duration(y.cells()) // for as long something may count
		n = x.admits(span)
	case y.Kind == EstimatedWindow:
		// What went in the running window and in the one before it, each as far as it
		// is within the last Per, were it sent evenly: half a token may be added by
		// rounding. If burst + rate·t is the most that goes in a span of t, and a share u of the
		// running window is over, that is at most
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
	if n = math.Floor(n + max(dust, n*dust*dust)); n > float64(y.N) {
		return ""
	}
	return "admits at most " + x.tokens(n) + in + span.String()
}

// late is by how much longer than reckoned a span may be: what was due goes late,
// and instants are rounded.
const late = lagCredit + time.Nanosecond

// dust is what is taken for a rounding error in a number of tokens, and its square
// relative to the number.
const dust = 1e-6

// onClock reports whether q has windows of the wall clock, in each of which no more than
// N goes.
func (q *Quota) onClock() bool { return q.Kind == ClockWindow || q.Kind == EstimatedWindow }

// curve returns what q admits in any span, at most: burst tokens, and rate for each
// second of it.
func (q *Quota) curve() (burst, rate float64) {
	switch q.Kind {
	case TokenBucket:
		return float64(q.burst()), q.perSecond()
	case SlidingWindow, SlidingLog:
		return float64(q.N), q.perSecond()
	}
	return 2 * float64(q.N), q.perSecond() // one window at its end, the next at its start
}

// admits returns how much q admits at most in any span of d, the end of which is not
// in it.
func (q *Quota) admits(d time.Duration) float64 {
	switch burst, rate := q.curve(); q.Kind {
	case TokenBucket:
		return burst + rate*(d+late).Seconds()
	case SlidingWindow, SlidingLog:
		return float64(q.N) * math.Ceil(float64(d)/float64(q.per()))
	}
	return float64(q.N) * (math.Ceil(float64(d)/float64(q.per())) + 1)
}

// tokens writes a number of them with their unit.
func (q *Quota) tokens(n float64) string {
	s := amount(int(n), q.Unit)
	if unit := q.unit(); unit != "" && unit != Bytes {
		s += " " + unit
	}
	return s
}
