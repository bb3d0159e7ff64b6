package pacertest

import (
	"fmt"
	"math"
	"time"
)

// An Algorithm decides which requests are admitted. It is arithmetic alone: the
// instant is passed in, and nothing waits. A test may bring an Algorithm of its own.
// The ones of this package have these counterparts in package quota, with Limit as N and
// Window as Per:
//
//	TokenBucket      quota.TokenBucket      with N/Per as the Rate, and the same Burst
//	GCRA             quota.TokenBucket      the same
//	LeakyBucket      quota.TokenBucket      with Depth as the Burst; with a Queue, a Burst of 1
//	FixedWindow      quota.FixedWindow
//	ClockWindow      quota.ClockWindow      without a Phase
//	SlidingWindow    quota.SlidingWindow    with the same Cells; it is looser than the quota
//	SlidingLog       quota.SlidingLog
//	EstimatedWindow  quota.EstimatedWindow  without a Phase
//
// A client that is told the counterpart, and whose requests take equally long to arrive,
// is never refused.
//
// An Algorithm is not safe for concurrent use. A Server has a lock, and works with
// copies made by Fresh, so that one value can describe several servers. An Algorithm of today
// stays one: the interface gets no other methods.
type Algorithm interface {
	// Take asks for n tokens at the instant now. It charges n if it admits the
	// request. A request of 0 is always admitted and charges nothing, so that its
	// Verdict tells the state. Instants must not go back from one call to the next.
	// Take panics if n is negative.
	Take(now time.Time, n int) Verdict

	// Fresh returns an unused Algorithm with the same settings.
	Fresh() Algorithm
}

// Never is the RetryAfter of a request that can never be admitted, such as one for
// 11 tokens of a quota of 10. It is also the Reset and the Window of a bucket that is
// never refilled.
const Never time.Duration = math.MaxInt64

// A Verdict is an Algorithm's answer to one request. All durations are exact and
// count from the instant of the request. Only the Dialect rounds.
type Verdict struct {
	// OK reports whether the request was admitted.
	OK bool

	// Limit is the quota as a server announces it: the tokens of a window, or the
	// size of a bucket.
	Limit int

	// Remaining is how many more tokens would be admitted at the same instant.
	Remaining int

	// Reset is the time until the instant that servers of this kind announce as the
	// reset. A request may not always go then, or may go earlier: see each Algorithm.
	Reset time.Duration

	// RetryAfter is the time until the same request would be admitted, if no other
	// request takes tokens: once more if it was admitted, at last if it was refused.
	// It is zero if the request would be admitted at once.
	RetryAfter time.Duration

	// Window is the length of the window, or the time in which an empty bucket fills.
	Window time.Duration

	// Delay is how long the server holds an admitted request before it serves it. It
	// is zero except for a LeakyBucket with a Queue.
	Delay time.Duration
}

// Least returns the least time in which a can serve n requests of cost 1 that may be sent
// from start on. It counts from start to the instant at which the last request is
// admitted and no longer held. The time that a client takes for all its requests is to
// be compared with it. Least returns Never if a never admits n requests, and 0 if n is
// zero or negative.
//
// The start matters to an Algorithm that counts in windows of the clock: ClockWindow,
// SlidingWindow and EstimatedWindow. For the others it may be the zero Time.
//
// Least sends each request at the first instant at which a fresh copy of a admits it. No
// schedule is shorter for any Algorithm of this package, because an earlier request
// never leaves less of the quota for later ones: the share of the quota that a request
// still uses only falls with its age, and a window that starts with a request starts no
// later. (CountRefused changes nothing, since no request of this schedule is refused.)
// For an Algorithm that punishes early requests, by a longer ban for instance, there may
// be shorter schedules. If a is nil, Least is zero: a [Server] without an Algorithm admits all.
func Least(a Algorithm, start time.Time, n int) time.Duration {
	if a == nil {
		return 0
	}
	a = a.Fresh()
	var total, wait, end time.Duration
	for range n {
		if wait >= Never-total {
			return Never
		}
		total += wait
		v := a.Take(start.Add(total), 1)
		if !v.OK {
			return Never
		}
		wait, end = v.RetryAfter, max(end, total+v.Delay)
	}
	return end
}

// checkCost panics if n is negative.
func checkCost(n int) {
	if n < 0 {
		panic(fmt.Sprintf("pacertest: a cost of %d, want 0 or more", n))
	}
}

// windowOrSecond returns w, or a second if w is not positive.
func windowOrSecond(w time.Duration) time.Duration {
	if w <= 0 {
		return time.Second
	}
	return w
}
