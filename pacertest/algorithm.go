package pacertest

import (
	"math"
	"time"
)

// An Algorithm decides who is admitted. It is pure arithmetic: the time is
// passed in, and nothing waits. The types of this package that implement it
// are FixedWindow, SlidingWindow, SlidingLog, TokenBucket, GCRA and
// LeakyBucket; a test may bring its own.
//
// An Algorithm is not safe for concurrent use. A Server locks, and works on
// copies made by Fresh, so that one value may describe several servers.
type Algorithm interface {
	// Take asks for n at the instant now, and charges n if it is admitted.
	// Taking 0 is always admitted and charges nothing, so it reads the state.
	// Instants must not go back from one call to the next. Take panics if n
	// is negative.
	Take(now time.Time, n int) Verdict

	// Fresh returns an unused Algorithm with the same settings.
	Fresh() Algorithm
}

// Never is the RetryAfter of what can never be admitted, such as 11 out of a
// quota of 10, and the Reset of a quota that is never refilled.
const Never time.Duration = math.MaxInt64

// A Verdict is what an Algorithm made of one request. All durations are exact
// and count from the instant of the request; rounding and lying are left to
// the Dialect.
type Verdict struct {
	// OK reports whether the request was admitted.
	OK bool

	// Limit is the quota as a server announces it: the requests of a window,
	// or the size of a bucket.
	Limit int

	// Remaining is how many more would be admitted at the same instant.
	Remaining int

	// Reset is the time until the instant that servers of this kind announce
	// as the reset, which is not always when a request may go: see each
	// Algorithm.
	Reset time.Duration

	// RetryAfter is the time until as many as were asked for would be
	// admitted, if nobody else takes anything: again after an admission, at
	// last after a refusal. It is zero if they would be at once.
	RetryAfter time.Duration

	// Window is the length of the window, or the time in which an empty
	// bucket fills.
	Window time.Duration

	// Delay is for how long the server holds an admitted request before it
	// serves it. It is zero except for a LeakyBucket with a Queue.
	Delay time.Duration
}

// Least returns the least time in which a can serve n requests of cost 1, from
// the instant at which the first may be sent to the instant at which the last
// is admitted (and no longer held). It is LeastAt for a start at the beginning
// of a clock window.
func Least(a Algorithm, n int) time.Duration {
	return LeastAt(a, time.Time{}, n)
}

// LeastAt is Least for requests that may be sent from start on, which matters
// to an Algorithm that counts in windows of the clock. It is the measure for a
// client's makespan. It returns Never if a never admits n requests, and 0 if n
// is not positive.
//
// It sends each request at the first instant that a admits one, on a fresh
// copy. This greedy schedule is the best for every Algorithm of this package,
// because for all of them having sent earlier never leaves less for later: the
// share of the quota that a request still uses only falls with its age, and
// windows that start with a request start no later. (With CountRefused it is
// the best as well, as it is never refused.) An Algorithm that punishes
// earliness, by a longer ban for instance, may have better schedules.
func LeastAt(a Algorithm, start time.Time, n int) time.Duration {
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

// checkCost panics if n is no cost.
func checkCost(n int) {
	if n < 0 {
		panic("pacertest: negative cost")
	}
}

// windowOrSecond returns w, or a second if w is no window.
func windowOrSecond(w time.Duration) time.Duration {
	if w <= 0 {
		return time.Second
	}
	return w
}
