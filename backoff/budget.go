package backoff

import (
	"math"
	"sync/atomic"
)

const (
	// defaultRatio is the share of retries that Google's SRE book allows a client, "Handling Overload", and the tokenRatio in gRPC's
	// proposal A6. https://sre.google/sre-book/handling-overload/
	defaultRatio = 0.1
	// defaultReserve is the maxTokens in gRPC's proposal A6.
	// https://github.com/grpc/proposal/blob/master/A6-client-retries.md#throttling-configuration
	defaultReserve = 10
	// maxReserve keeps a reserve in nanoretries within an int64.
	maxReserve = 1_000_000_000
	// whole is one retry in nanoretries. Fixed point, since ten times 0.1 must be one.
	whole = 1_000_000_000
)

// Budget bounds the retries of many operations against one server. Each retry withdraws one; each success deposits Ratio of one.
// A server that fails because it is overloaded thus gets, beyond a fixed reserve, at most Ratio more load than without retries,
// where 3 attempts each are 3 times the load.
//
// It is a token bucket without a clock, as that of gRPC (proposal A6), but retries withdraw, not failures, and all of it may be used:
// gRPC stops at half.
// The zero value is a full budget of 10 retries, and one more per 10 successes. A nil *Budget is no limit.
//
// It is safe for concurrent use and must not be copied after the first use. The fields must not be changed after it.
type Budget struct {
	// Ratio is how many retries a success pays for. If zero or NaN, 0.1. If negative, none: there is only the reserve.
	// It is kept to nine decimals.
	Ratio float64
	// Reserve is the number of retries to begin with, and the most that successes can fill it up to. If zero, 10. If negative, none:
	// nothing is retried. At most a billion.
	Reserve int

	spent atomic.Int64 // nanoretries missing from a full reserve, so that zero is full
}

// Withdraw takes one retry out and reports whether there was one.
func (b *Budget) Withdraw() bool {
	if b == nil {
		return true
	}
	for {
		spent := b.spent.Load()
		if spent > b.reserve()-whole {
			return false
		}
		if b.spent.CompareAndSwap(spent, spent+whole) {
			return true
		}
	}
}

// Deposit pays in for one success.
func (b *Budget) Deposit() {
	if b != nil && b.spent.Load() != 0 { // a full one needs no sums
		b.add(b.ratio())
	}
}

// Refund puts back a retry that was withdrawn and not made.
func (b *Budget) Refund() {
	if b != nil {
		b.add(whole)
	}
}

// Balance returns how many retries there are, with the fraction that is not yet enough for one. Without a limit it is infinite.
func (b *Budget) Balance() float64 {
	if b == nil {
		return math.Inf(1)
	}
	return float64(b.reserve()-b.spent.Load()) / whole
}

func (b *Budget) add(nano int64) {
	for {
		spent := b.spent.Load()
		// A healthy server finds it full, and then nothing is written: goroutines do not contend for the cache line.
		if spent == 0 || b.spent.CompareAndSwap(spent, max(spent-nano, 0)) {
			return
		}
	}
}

// ratio returns Ratio in nanoretries.
func (b *Budget) ratio() int64 {
	r := b.Ratio
	if r == 0 || math.IsNaN(r) {
		r = defaultRatio
	}
	return int64(math.Round(min(max(r, 0), maxReserve) * whole))
}

// reserve returns Reserve in nanoretries.
func (b *Budget) reserve() int64 {
	r := b.Reserve
	if r == 0 {
		r = defaultReserve
	}
	return int64(min(max(r, 0), maxReserve)) * whole
}
