package backoff

import (
	"math"
	"sync/atomic"
)

const (
	// defaultRatio is the share of retries that Google's SRE book allows a client ("Handling
	// Overload", https://sre.google/sre-book/handling-overload/), and the tokenRatio in gRPC's
	// proposal A6.
	defaultRatio = 0.1
	// defaultReserve is the maxTokens in gRPC's proposal A6,
	// https://github.com/grpc/proposal/blob/master/A6-client-retries.md#throttling-configuration
	defaultReserve = 10
	// maxReserve is the largest reserve of which nanoretries fit into an int64.
	maxReserve = 1_000_000_000
	// whole is one retry in nanoretries. Shares of a retry are integers, since ten times 0.1 must
	// be exactly one.
	whole = 1_000_000_000
)

// Budget bounds the retries of many operations against one server. Each retry withdraws one retry,
// and each success deposits Ratio of a retry. So a server that fails because it is overloaded gets,
// beyond a fixed reserve, at most the share Ratio more load than without retries. Without a budget,
// 3 attempts each are 3 times the load.
//
// A Budget is a token bucket without a clock, like gRPC's (proposal A6). There are two differences:
// retries withdraw and not failures, and all of the budget may be used, where gRPC stops at half.
// The zero value is a full budget of 10 retries, which gets one more per 10 successes. A nil
// *Budget is no limit.
//
// A Budget is safe for concurrent use. It must not be copied after the first use, and its fields
// must not be changed after that.
type Budget struct {
	// Ratio is how many retries one success pays for, to nine decimals. If zero or NaN, 0.1. If
	// negative, a success pays for none, and there is only the reserve.
	Ratio float64
	// Reserve is how many retries a full budget holds, as a new one does. If zero, 10. If negative,
	// none, and nothing is retried. If NoLimit, there is no limit, as with a nil *Budget. Any other
	// value above a billion counts as a billion.
	Reserve int

	spent atomic.Int64 // nanoretries that are missing from a full budget; the zero value is full
}

// Withdraw takes one retry out of the budget and reports whether there was one.
func (b *Budget) Withdraw() bool {
	if b.unlimited() {
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
	if b != nil && b.spent.Load() != 0 { // a full budget stays full, and one without limit is full
		b.deposit()
	}
}

func (b *Budget) deposit() { b.add(b.ratio()) } // so that Deposit is inlined

// Refund puts back a retry that was withdrawn and not made.
func (b *Budget) Refund() {
	if !b.unlimited() {
		b.add(whole)
	}
}

// Balance returns how many retries are left, with the fraction that is not yet a whole one. The
// balance of a budget without limit is infinite.
func (b *Budget) Balance() float64 {
	if b.unlimited() {
		return math.Inf(1)
	}
	return float64(b.reserve()-b.spent.Load()) / whole
}

// unlimited reports whether there is a retry for everybody.
func (b *Budget) unlimited() bool { return b == nil || b.Reserve == NoLimit }

// add puts nanoretries into the budget until it is full.
func (b *Budget) add(nano int64) {
	for {
		spent := b.spent.Load()
		// While the server is healthy the budget is full. Then nothing is written, so that
		// goroutines do not contend for the cache line.
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
