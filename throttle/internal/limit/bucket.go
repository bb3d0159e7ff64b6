package limit

import (
	"math"
	"time"

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
	burst  int64 // of the ledger, which would lock to tell it
	debt   bool  // a cost above the burst needs no more than the burst
	peaks  Peaks[float64]

	// What is in the ledger, which locks, and reckons in time.Time: to ask it costs much of a grant.
	level float64       // at an instant, or more than the burst
	at    monotime.Time // that instant
	rate  float64       // tokens a second

	// So many went at that instant, and are not in the ledger yet; zero if all are. When the bucket is full
	// again, they make no difference any more, and need not be entered at all: that is most of what a grant of
	// takeNow costs.
	late int64
}

// dust is less than a rounding error in a number of tokens.
const dust = 1e-9

func newBucket(q quota.Quota) *bucket {
	perSecond, burst := perSecond(q), toInt(q.Burst)
	return &bucket{
		ledger: rate.NewLimiter(rate.Limit(perSecond), burst), burst: int64(burst), debt: q.Debt, level: float64(burst), rate: perSecond,
	}
}

// tokensAt is what the ledger would say: TokensAt, to the last bit.
func (b *bucket) tokensAt(t monotime.Time) float64 {
	return min(b.level+float64(max(t.Sub(b.at), 0).Seconds()*b.rate), float64(b.burst))
}

// enter brings the ledger up to date.
func (b *bucket) enter() {
	if b.late > 0 {
		b.ledger.AllowN(b.at.Std(), int(b.late)) // no more than the burst
		b.late = 0
	}
}

// changed asks the ledger for what is in it, after it was changed at an instant.
func (b *bucket) changed(at monotime.Time) { b.level, b.at = b.ledger.TokensAt(at.Std()), at }

// When implements Limit.
func (b *bucket) When(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
	if n > b.burst {
		if !b.debt {
			return t, false
		}
		n = b.burst
	}
	missing := float64(ahead) + float64(n) - b.tokensAt(t)
	if missing <= 0 {
		return t, true
	}
	return t.Add(seconds(missing, b.rate)), true
}

// Take implements Limit. It uses ReserveN, which charges even if rounding left the bucket a
// billionth of a token short of what When promised, and more than is there, but not more
// than the burst: so that is raised for as long as it takes.
func (b *bucket) Take(due, now monotime.Time, n int64) {
	b.enter()
	left := b.tokensAt(due)
	b.peaks.Note(now, float64(b.burst)-left, dust)
	n = min(n, mostCharged)
	b.level, b.at = left-float64(n), due
	at := due.Std()
	if n > b.burst {
		b.ledger.SetBurstAt(at, toInt(n))
		defer b.ledger.SetBurstAt(at, int(b.burst))
	}
	b.reserve(at, n)
}

// mostCharged is the largest cost that is charged: quota.MaxN. Where an int has 32 bits, it is what 1024 calls
// of the ledger charge, 2 TB: else a server could state a Content-Length of which the books keep a lock for
// half a second.
const mostCharged = int64(min(float64(quota.MaxN), 1024*math.MaxInt))

// reserve takes n out of the ledger, or puts it in if it is negative, and brings the ledger to an instant: by
// one call, but for what is beyond an int of 32 bits.
func (b *bucket) reserve(at time.Time, n int64) {
	for part := int64(math.MaxInt); part == math.MaxInt || part == -math.MaxInt; n -= part {
		part = min(max(n, -math.MaxInt), math.MaxInt)
		b.ledger.ReserveN(at, int(part))
	}
}

// takeNow is When and Take of n that go now, or not at all, by one call of the ledger at most. It reports
// whether they go.
func (b *bucket) takeNow(now monotime.Time, n int64) bool {
	left := b.tokensAt(now)
	if n > b.burst || left < float64(n) {
		return false
	}
	if missing := float64(b.burst) - left; missing > 0 {
		b.peaks.Note(now, missing, dust)
		b.enter()
	} else {
		b.peaks.NoteFull(now)
	}
	b.level, b.at, b.late = left-float64(n), now, n
	return true
}

// Give implements Limit. It credits what of n would not have spilled over since it went.
// ReserveN of a negative number does so (AllowN would not, to a bucket that stays in debt).
func (b *bucket) Give(now, went monotime.Time, n int64) {
	left := b.peaks.Refund(went, float64(min(n, mostCharged)), b.room(now))
	if left <= 0 {
		return
	}
	b.enter()
	whole := math.Floor(left)
	b.reserve(now.Std(), -int64(whole))
	if part := left - whole; part > 0 {
		// The ledger takes whole tokens only: for the rest, its time is put back by as long
		// as that takes to come in.
		now = now.Add(-seconds(part, b.rate))
		b.ledger.SetBurstAt(now.Std(), int(b.burst))
	}
	b.changed(now)
}

// room is how much is missing from a full bucket.
func (b *bucket) room(now monotime.Time) float64 {
	return float64(b.burst) - b.tokensAt(now)
}

// Idle implements Limit.
func (b *bucket) Idle(now monotime.Time) bool {
	return b.tokensAt(now) >= float64(b.burst)
}

// Set implements Limit.
func (b *bucket) Set(now monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != quota.TokenBucket || q.WarmUp > 0 {
		return false
	}
	b.peaks.Note(now, b.room(now), dust)
	b.enter()
	b.rate, b.burst = perSecond(q), int64(toInt(q.Burst))
	b.ledger.SetLimitAt(now.Std(), rate.Limit(b.rate))
	b.ledger.SetBurstAt(now.Std(), int(b.burst))
	b.changed(now)
	b.peaks.Note(now, b.room(now), dust) // what it can no longer hold is gone
	b.debt = q.Debt
	return true
}
