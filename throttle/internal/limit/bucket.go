package limit

import (
	"math"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// bucket is a token bucket: Burst tokens at most, refilled evenly at N per Per. It suits
// servers that are one (GCRA, nginx limit_req, tollbooth), and is safe for all others when
// Burst is 1. x/time keeps the books; it never waits.
type bucket struct {
	steady
	ledger *rate.Limiter
	burst  int  // of the ledger, which would lock to tell it
	debt   bool // a cost above the burst needs no more than the burst
	peaks  Peaks[float64]

	// What When has seen, for the Take that follows: to ask the ledger costs much of a grant.
	asked  monotime.Time // zero if something changed since
	tokens float64
}

// dust is less than a rounding error in a number of tokens.
const dust = 1e-9

func newBucket(q quota.Quota) *bucket {
	return &bucket{ledger: rate.NewLimiter(rate.Limit(perSecond(q)), q.Burst), burst: q.Burst, debt: q.Debt}
}

// When implements Limit.
func (b *bucket) When(t monotime.Time, ahead, n int) (monotime.Time, bool) {
	if n > b.burst {
		if !b.debt {
			return t, false
		}
		n = b.burst
	}
	b.asked, b.tokens = t, b.ledger.TokensAt(t.Std())
	missing := float64(ahead) + float64(n) - b.tokens
	if missing <= 0 {
		return t, true
	}
	return t.Add(seconds(missing, float64(b.ledger.Limit()))), true
}

// Take implements Limit. It uses ReserveN, which charges even if rounding left the bucket a
// billionth of a token short of what When promised, and more than is there, but not more
// than the burst: so that is raised for as long as it takes.
func (b *bucket) Take(due, now monotime.Time, n int) {
	if b.asked != due {
		b.tokens = b.ledger.TokensAt(due.Std())
	}
	b.asked = 0
	b.peaks.Note(now, float64(b.burst)-b.tokens, dust)
	if n = int(tokens(n)); n > b.burst {
		b.ledger.SetBurstAt(due.Std(), n)
		defer b.ledger.SetBurstAt(due.Std(), b.burst)
	}
	b.ledger.ReserveN(due.Std(), n)
}

// Give implements Limit. It credits what of n would not have spilled over since it went.
// ReserveN of a negative number does so (AllowN would not, to a bucket that stays in debt).
func (b *bucket) Give(now, went monotime.Time, n int) {
	b.asked = 0
	left := b.peaks.Refund(went, float64(n), b.room(now))
	if left <= 0 {
		return
	}
	whole := math.Floor(left)
	b.ledger.ReserveN(now.Std(), -int(whole))
	if part := left - whole; part > 0 {
		// The ledger takes whole tokens only: for the rest, its time is put back by as long
		// as that takes to come in.
		b.ledger.SetBurstAt(now.Add(-seconds(part, float64(b.ledger.Limit()))).Std(), b.burst)
	}
}

// room is how much is missing from a full bucket.
func (b *bucket) room(now monotime.Time) float64 {
	return float64(b.burst) - b.ledger.TokensAt(now.Std())
}

// Idle implements Limit.
func (b *bucket) Idle(now monotime.Time) bool {
	return b.ledger.TokensAt(now.Std()) >= float64(b.burst)
}

// Set implements Limit.
func (b *bucket) Set(now monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != quota.TokenBucket || q.WarmUp > 0 {
		return false
	}
	b.asked = 0
	b.peaks.Note(now, b.room(now), dust)
	b.ledger.SetLimitAt(now.Std(), rate.Limit(perSecond(q)))
	b.burst = q.Burst
	b.ledger.SetBurstAt(now.Std(), b.burst)
	b.peaks.Note(now, b.room(now), dust) // what it can no longer hold is gone
	b.debt = q.Debt
	return true
}
