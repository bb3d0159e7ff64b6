// Package backoff calls an operation again after it has failed, waits between two attempts, and bounds
// how many retries are spent. It can be used alone: it knows nothing of HTTP and of rate limits. It imports
// the standard library without net/http, and github.com/cenkalti/backoff/v4 (whose marks of permanent errors it
// knows).
//
//	answer, err := backoff.Retry(ctx, ask, nil) // func ask(context.Context) (Answer, error)
//	err = backoff.Do(ctx, write, nil)           // func write(context.Context) error
//	err = backoff.Do(ctx, write, &backoff.Options{MaxAttempts: 5, MaxElapsed: time.Minute})
//
// # Retrying
//
// [Retry] and [Do] make 3 attempts, unless [Options] say otherwise. [Permanent] marks an error that
// another attempt cannot cure, and [Options].RetryIf tells other errors apart. [After] attaches the
// time for which a server asked not to come back.
//
// A delay that would end after the context's deadline, or later than MaxElapsed allows, is not
// begun: Retry returns at once. An [Error] says why Retry gave up, and has the last error.
//
// Only the operation can bound one attempt, by a context that it derives from its own. The end of
// the derived context does not end the retries.
//
// # Delays
//
// A [Backoff] computes the delay before retry n from n. It is a value without state, so that any
// number of goroutines can use one. The table has the delays of zero values, and of Exponential with
// other jitter. A range is what a delay is drawn from:
//
//	retry                      1           2           3           4           5           6           8           10
//	Exponential{}              0–100ms     0–200ms     0–400ms     0–800ms     0–1.6s      0–3.2s      0–12.8s     0–20s
//	  Jitter: EqualJitter      50–100ms    100–200ms   200–400ms   400–800ms   0.8–1.6s    1.6–3.2s    6.4–12.8s   10–20s
//	  Jitter: NoJitter         100ms       200ms       400ms       800ms       1.6s        3.2s        12.8s       20s
//	Linear{}                   0–100ms     0–200ms     0–300ms     0–400ms     0–500ms     0–600ms     0–800ms     0–1s
//	Constant{}                 0–1s        0–1s        0–1s        0–1s        0–1s        0–1s        0–1s        0–1s
//	Decorrelated{}             100–300ms   100–900ms   0.1–2.7s    0.1–8.1s    0.1–20s     0.1–20s     0.1–20s     0.1–20s
//
// No delay is negative or above its cap, whatever the fields and n are. Any other way to compute
// delays is a [Func].
//
// # Bounds
//
// The zero value of each field is a default. A negative bound is a bound of zero. [NoLimit] and
// [Forever] are unbounded.
//
// Fields are not checked, since each value means something. A number without a unit is in nanoseconds: with
// Initial: 100, retries follow at once. Only pacer.Transport.Validate tells, of a Retry.Backoff; it also tells
// of an unknown [Jitter].
//
// Three attempts of each operation would treble the load on a server that fails because of its load.
// A [Budget] that all operations against one server share bounds their retries to a share of their
// successes.
//
// In a bubble of testing/synctest the delays of a test take no time, and are exact.
package backoff

import (
	"math"
	"math/rand/v2"
	"time"
)

// NoLimit is a number that bounds nothing: of [Options].MaxAttempts and [Budget].Reserve.
const NoLimit int = math.MaxInt

// Forever is a duration that bounds nothing: of MaxElapsed and MaxHint of [Options], and of the Max
// of a [Backoff].
const Forever time.Duration = math.MaxInt64

// Backoff computes delays. An implementation has no state and is safe for concurrent use.
type Backoff interface {
	// Delay returns how long to wait before retry n. Retry 1 follows the first failed attempt; an n
	// below 1 counts as 1. Prev is the delay that Delay returned for the retry before, or zero if
	// there was none; only [Decorrelated] uses it. A negative result means that there is no retry;
	// the Stop of cenkalti/backoff is such a result.
	Delay(n int, prev time.Duration) time.Duration
}

// Func is a function that is a Backoff. It must not be nil. Like every [Backoff] it has no state and
// is safe for concurrent use.
type Func func(n int, prev time.Duration) time.Duration

// Delay calls f.
func (f Func) Delay(n int, prev time.Duration) time.Duration { return f(n, prev) }

// Jitter is how a delay is spread, so that callers that failed together do not come back together.
// A value that is none of the constants counts as FullJitter, the empty one too.
//
// The names and formulas are from "Exponential Backoff And Jitter", AWS Architecture Blog, 2015,
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. It simulates a hundred
// clients that get into each other's way. There full jitter needs the fewest calls.
type Jitter string

const (
	// FullJitter draws uniformly between zero and the computed delay.
	FullJitter Jitter = "full"
	// EqualJitter draws uniformly between half of the computed delay and all of it.
	EqualJitter Jitter = "equal"
	// NoJitter is the computed delay itself.
	NoJitter Jitter = "none"
)

// spread applies the jitter to d, which is not negative. The result is between 0 and d.
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
	// float64(d) is the float nearest to d. If it lies above d, the next smaller float lies below d:
	// so a product below float64(d) is never above d. For any other product, the result is d.
	if f := uniform(random) * float64(d); f < float64(d) {
		return time.Duration(f)
	}
	return d
}

// uniform returns what random returns, but nothing below 0 and nothing above 1, and 1 for NaN. If random is
// nil, it uses the source of math/rand/v2.
func uniform(random func() float64) float64 {
	if random == nil {
		return rand.Float64()
	}
	if u := random(); u <= 1 {
		return max(u, 0)
	}
	return 1
}

// orElse returns what a field for a delay means: d itself, the default if d is zero, and no delay if
// d is negative.
func orElse(d, byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return max(d, 0)
}

// defaultMax is the cap of delays, as in the retry behavior of the AWS SDKs,
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html.
const defaultMax = 20 * time.Second

// ceiling returns what a field Max means: d itself, the default if d is zero, no delay if d is
// negative, and no cap but that of time.Duration if d is Forever.
func ceiling(d time.Duration) time.Duration { return orElse(d, defaultMax) }
