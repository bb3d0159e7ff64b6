package pacertest

import (
	"math"
	"time"
)

// TokenBucket holds up to Burst tokens and is refilled evenly at Rate. A request
// takes its cost. Reset is the time until the bucket is full again, as Twitch, OpenAI
// and Groq announce it: a request may go much earlier.
//
// This is golang.org/x/time/rate, didip/tollbooth, AWS and Stripe. A quota.TokenBucket is
// the same.
type TokenBucket struct {
	// Rate is in tokens per second. If zero, negative or NaN, the bucket is never
	// refilled; if +Inf, it is always full.
	Rate float64

	// Burst is the size of the bucket in tokens. If zero or negative, it is 1.
	Burst int

	bucket bucket
}

// Fresh implements Algorithm.
func (t *TokenBucket) Fresh() Algorithm {
	return &TokenBucket{Rate: t.Rate, Burst: t.Burst}
}

// Take implements Algorithm.
func (t *TokenBucket) Take(now time.Time, n int) Verdict {
	return t.bucket.take(now, n, refill{size: max(1, t.Burst), tokens: t.Rate, per: 1e9})
}

// GCRA is the generic cell rate algorithm: a token bucket that stores one instant,
// the theoretical arrival time, in whole nanoseconds. It admits a token every 1/Rate
// seconds, and up to Burst tokens ahead of that. Reset is the time until all of Burst
// may go again.
//
// This is throttled/throttled, go-redis/redis_rate and redis-cell. Its counterpart is a
// quota.TokenBucket.
type GCRA struct {
	// Rate is in tokens per second. If zero, negative or NaN, tokens never come back;
	// if more than 1e9, +Inf included, they come back at once.
	Rate float64

	// Burst is how many tokens may go at once; throttled calls it MaxBurst+1. If zero
	// or negative, it is 1.
	Burst int

	bucket bucket
}

// Fresh implements Algorithm.
func (g *GCRA) Fresh() Algorithm {
	return &GCRA{Rate: g.Rate, Burst: g.Burst}
}

// Take implements Algorithm.
func (g *GCRA) Take(now time.Time, n int) Verdict {
	interval := math.Inf(1)
	if g.Rate > 0 {
		interval = math.Floor(1e9 / g.Rate * (1 + rounding)) // throttled divides integers
	}
	return g.bucket.take(now, n, refill{size: max(1, g.Burst), tokens: 1, per: interval})
}

// LeakyBucket is filled by requests and leaks at Rate. A request that would make it
// overflow is refused. Reset is the time until the bucket is empty.
//
// Without a Queue the bucket only measures, and admits the same as a TokenBucket:
// this is nginx's limit_req with nodelay, whose burst=10 is a Depth of 11, and
// Shopify's REST API. With a Queue it is limit_req without nodelay. The counterpart of
// either is a quota.TokenBucket.
type LeakyBucket struct {
	// Rate is in tokens per second. If zero, negative or NaN, nothing leaks; if +Inf,
	// the bucket is always empty.
	Rate float64

	// Depth is the size of the bucket in tokens. If zero or negative, it is 1.
	Depth int

	// Queue makes the server hold each admitted request until the requests before it
	// have leaked out, so that requests are served evenly at Rate. Until the bucket is
	// full, a client sees latency and no refusals. (The Queue of a quota.Quota is the
	// client's own line.)
	Queue bool

	bucket bucket
}

// Fresh implements Algorithm.
func (l *LeakyBucket) Fresh() Algorithm {
	return &LeakyBucket{Rate: l.Rate, Depth: l.Depth, Queue: l.Queue}
}

// Take implements Algorithm.
func (l *LeakyBucket) Take(now time.Time, n int) Verdict {
	r := refill{size: max(1, l.Depth), tokens: l.Rate, per: 1e9}
	before := l.bucket.reset(now, r)
	v := l.bucket.take(now, n, r)
	if l.Queue && v.OK {
		v.Delay = before
	}
	return v
}

// refill says how a bucket is refilled.
type refill struct {
	size   int     // tokens in a full bucket
	tokens float64 // how many tokens flow into the bucket
	per    float64 // in so many nanoseconds
}

// rounding is the relative error of a rate such as 5./60 and of a division by it. A
// time that is so close to a whole nanosecond is taken to be that nanosecond.
const rounding = 0x1p-51

// after returns the time in which n tokens flow into the bucket, or Never. What is missing is let pass if it
// comes within a nanosecond, as x/time/rate does.
func (r refill) after(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	d := float64(n) * r.per / r.tokens
	d = math.Floor(d + min(d*rounding, 0.25))
	if r.tokens > 0 && d < math.MaxInt64 {
		return time.Duration(d)
	}
	return Never
}

// bucket is the state of a bucket of tokens. It keeps the number of tokens that were
// taken since the bucket was last full, and not a level, so that rounding errors do
// not add up: the time in which these tokens flow back is rounded once, however many
// requests took them.
type bucket struct {
	full  time.Time // when the bucket was last seen full; zero if it is new
	taken int       // tokens taken since then
}

// take takes n tokens at now if there are so many.
func (b *bucket) take(now time.Time, n int, r refill) Verdict {
	checkCost(n)
	if b.reset(now, r) == 0 {
		b.full, b.taken = now, 0
	}
	ok := b.wait(now, n, r) == 0
	if ok {
		b.taken += n
	}
	return Verdict{
		OK:         ok,
		Limit:      r.size,
		Remaining:  b.remaining(now, r),
		Reset:      b.reset(now, r),
		RetryAfter: b.wait(now, n, r),
		Window:     r.after(r.size),
	}
}

// wait returns the time until there are n tokens in the bucket.
func (b *bucket) wait(now time.Time, n int, r refill) time.Duration {
	if n == 0 {
		return 0
	}
	if n > r.size {
		return Never
	}
	return b.until(now, n-(r.size-b.taken), r)
}

// reset returns the time until the bucket is full.
func (b *bucket) reset(now time.Time, r refill) time.Duration {
	return b.until(now, b.taken, r)
}

// until returns the time until n tokens have flowed into the bucket since it was full.
func (b *bucket) until(now time.Time, n int, r refill) time.Duration {
	after := r.after(n)
	if after == Never {
		return Never
	}
	return max(0, after-now.Sub(b.full))
}

// remaining returns how many tokens there are in the bucket. Wait decides which
// requests are admitted; where the rounding of the division here disagrees with it,
// the result is corrected.
func (b *bucket) remaining(now time.Time, r refill) int {
	if b.reset(now, r) == 0 {
		return r.size
	}
	n := r.size - b.taken
	if r.tokens > 0 {
		n += int(min(float64(b.taken), float64(now.Sub(b.full))/r.per*r.tokens))
	}
	for n < r.size && b.wait(now, n+1, r) == 0 {
		n++
	}
	for n > 0 && b.wait(now, n, r) > 0 {
		n--
	}
	return max(0, n)
}
