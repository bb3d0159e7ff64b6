// Package backoff says how long to wait between the attempts of something that may fail, and how many retries may be spent on it.
//
//	v, err := backoff.Retry(ctx, func(ctx context.Context) (Answer, error) {
//		return ask(ctx)
//	}, nil)
//	err = backoff.Do(ctx, write, &backoff.Options{MaxAttempts: 5, MaxElapsed: time.Minute}) // no answer but an error
//
// It stands alone: nothing here knows HTTP, and no other package of pacer is needed.
//
// # Delays
//
// A [Backoff] is a value without state: it computes the delay before retry n from n, so that one value serves any number of goroutines.
// These are the delays of the zero values, and of other jitter; a range is what they are drawn from:
//
//	retry                      1           2           3           4           5           6           8           10
//	Exponential{}              0–100ms     0–200ms     0–400ms     0–800ms     0–1.6s      0–3.2s      0–12.8s     0–20s
//	  Jitter: EqualJitter      50–100ms    100–200ms   200–400ms   400–800ms   0.8–1.6s    1.6–3.2s    6.4–12.8s   10–20s
//	  Jitter: NoJitter         100ms       200ms       400ms       800ms       1.6s        3.2s        12.8s       20s
//	Linear{}                   0–100ms     0–200ms     0–300ms     0–400ms     0–500ms     0–600ms     0–800ms     0–1s
//	Constant{}                 0–1s        0–1s        0–1s        0–1s        0–1s        0–1s        0–1s        0–1s
//	Decorrelated{}             100–300ms   100–900ms   0.1–2.7s    0.1–8.1s    0.1–20s     0.1–20s     0.1–20s     0.1–20s
//
// [FullJitter], the zero [Jitter], spreads a delay uniformly from zero up; [EqualJitter] leaves one half and spreads the other.
// The range of Decorrelated, whose jitter is its own, depends on the delay before, and is given as it is after the longest ones. For the others
// the cap is applied before the jitter, so that capped delays stay spread. No delay is negative or above its cap, whatever the
// fields and n are. Any other policy is a [Func].
//
// # Retrying
//
// [Retry] and [Do] make 3 attempts unless told otherwise. [Permanent] marks an error that another attempt cannot cure, [Options].RetryIf
// tells such errors of others. [After] attaches what a server said about when to come back. A delay that would end too late, for the
// context's deadline or for MaxElapsed, is not begun: they return at once. [RetryError] says why, and holds the last error
// of the operation: those before it are told to Notify, since there may be many.
//
// An attempt is bounded by the context that the operation makes for it, since only the operation knows when what it
// returns, such as an HTTP response, is done with. The deadline of that context does not end the retries.
//
// In a bubble of testing/synctest the delays of a test take no time, and are exact.
//
// # Budgets
//
// Three attempts for everything treble the load on a server that is failing because of its load. A [Budget] shared by all
// operations against one server bounds their retries to a share of their successes.
//
// # With cenkalti/backoff
//
// [Cenkalti] makes a BackOff of github.com/cenkalti/backoff/v4 out of a Backoff, and [Options].NewBackOff accepts theirs.
// Their Permanent and ours are the same.
package backoff

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Backoff computes delays. Implementations have no state and are safe for concurrent use.
type Backoff interface {
	// Delay returns how long to wait before retry n. Retry 1 follows the first failed attempt; n below 1 counts as 1.
	// The delay before the previous retry, as Delay returned it, is prev; zero if there was none. Only [Decorrelated] looks at it.
	// A negative result means that there is no retry: nobody can wait for it, and it is what a BackOff of cenkalti/backoff stops with.
	Delay(n int, prev time.Duration) time.Duration
}

// Func is a function as a Backoff. It must not be nil, and keeps the promises of [Backoff]: it has no state.
type Func func(n int, prev time.Duration) time.Duration

// Delay calls f.
func (f Func) Delay(n int, prev time.Duration) time.Duration { return f(n, prev) }

// Jitter is how a delay is spread, so that callers which failed together do not come back together. Any other value counts as FullJitter.
//
// The names and formulas are those of "Exponential Backoff And Jitter", AWS Architecture Blog, 2015,
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. In its simulation of a hundred clients that get into each other's
// way, full jitter needs the fewest calls.
type Jitter int

const (
	// FullJitter waits uniformly between zero and the delay.
	FullJitter Jitter = iota
	// EqualJitter waits half of the delay, and uniformly up to the other half.
	EqualJitter
	// NoJitter waits for the delay itself.
	NoJitter
)

// String returns the name of the constant.
func (j Jitter) String() string {
	switch j {
	case FullJitter:
		return "FullJitter"
	case EqualJitter:
		return "EqualJitter"
	case NoJitter:
		return "NoJitter"
	default:
		return "Jitter(" + strconv.Itoa(int(j)) + ")"
	}
}

// spread applies the jitter to d, which is not negative. The result is within 0 and d.
func (j Jitter) spread(d time.Duration, random func() float64) time.Duration {
	switch j {
	case NoJitter:
		return d
	case EqualJitter:
		half := d / 2
		return d - half + fraction(half, random)
	default:
		return fraction(d, random)
	}
}

// fraction returns a random part of d, which is not negative.
func fraction(d time.Duration, random func() float64) time.Duration {
	// float64(d) is the float nearest to d. If it lies above d, then the one below it lies below d: a product that is smaller than
	// float64(d) is never more than d. What is not smaller, NaN included, is d.
	if f := uniform(random) * float64(d); f < float64(d) {
		return time.Duration(f)
	}
	return d
}

// uniform calls random, by default that of math/rand/v2, and keeps what it returns from being negative.
func uniform(random func() float64) float64 {
	if random == nil {
		return rand.Float64()
	}
	return max(random(), 0)
}

// orElse resolves a field for a delay: zero is the default, negative is none.
func orElse(d, zero time.Duration) time.Duration {
	if d == 0 {
		return zero
	}
	return max(d, 0)
}

// defaultMax is where delays stop growing: the cap in the retry behavior of the AWS SDKs,
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html.
const defaultMax = 20 * time.Second

// ceiling resolves a Max field: zero is the default, negative is no cap but that of the type.
func ceiling(d time.Duration) time.Duration {
	switch {
	case d == 0:
		return defaultMax
	case d < 0:
		return math.MaxInt64
	default:
		return d
	}
}
