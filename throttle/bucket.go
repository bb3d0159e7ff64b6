package throttle

import (
	"math"
	"slices"

	"golang.org/x/time/rate"
)

// bucket is a token bucket: Burst tokens at most, refilled evenly at N per Per.
// It suits servers that are one (GCRA, nginx limit_req, tollbooth), and is safe
// for all others when Burst is 1. x/time keeps the books; it never waits.
type bucket struct {
	ledger *rate.Limiter
	burst  int  // of the ledger, which would lock to tell it
	debt   bool // a cost above the burst needs no more than the burst
	peaks  []peak

	// What when has seen, for the take that follows: to ask the ledger costs much of a grant.
	asked  instant // zero if something changed since
	tokens float64
}

func (b *bucket) when(t instant, ahead, n int) (instant, bool) {
	if n > b.burst {
		if !b.debt {
			return t, false
		}
		n = b.burst
	}
	b.asked, b.tokens = t, b.ledger.TokensAt(t.time())
	missing := float64(ahead) + float64(n) - b.tokens
	if missing <= 0 {
		return t, true
	}
	return t.add(seconds(missing / float64(b.ledger.Limit()))), true
}

// take uses ReserveN, which charges even if rounding left the bucket a
// billionth of a token short of what when promised, and more than is there, but not
// more than the burst: so that is raised for as long as it takes.
func (b *bucket) take(due, now instant, n int) {
	if b.asked != due {
		b.tokens = b.ledger.TokensAt(due.time())
	}
	b.asked = 0
	b.peak(now, float64(b.burst)-b.tokens)
	if n > b.burst {
		b.ledger.SetBurstAt(due.time(), n)
		defer b.ledger.SetBurstAt(due.time(), b.burst)
	}
	b.ledger.ReserveN(due.time(), n)
}

// give credits what of n would not have spilled over since it went. ReserveN of a negative
// number does so (AllowN would not, to a bucket that stays in debt).
func (b *bucket) give(t, went instant, n int) {
	b.asked = 0
	left := min(float64(n), float64(b.burst)-b.ledger.TokensAt(t.time()))
	first := len(b.peaks)
	for first > 0 && b.peaks[first-1].at > went {
		first--
	}
	if first < len(b.peaks) {
		left = min(left, b.peaks[first].missing)
	}
	if left <= 0 {
		return
	}
	b.lower(first, left)
	whole := math.Floor(left)
	b.ledger.ReserveN(t.time(), -int(whole))
	if part := left - whole; part > 0 {
		// The ledger takes whole tokens only: for the rest, its time is put back by as long
		// as that takes to come in.
		b.ledger.SetBurstAt(t.add(-seconds(part/float64(b.ledger.Limit()))).time(), b.burst)
	}
}

// peak is how much was missing from a full bucket right before something was taken. Had
// an earlier grant not been, the bucket would have held so much more at most: what
// is given back beyond that would have spilled over. Only those matter after which none was
// smaller.
type peak struct {
	at      instant
	missing float64
}

// maxPeaks bounds how many are remembered.
const maxPeaks = 32

// peak remembers one.
func (b *bucket) peak(at instant, missing float64) {
	n := len(b.peaks)
	for n > 0 && b.peaks[n-1].missing >= missing {
		n--
	}
	b.peaks = append(b.peaks[:n], peak{at, missing})
	if len(b.peaks) <= maxPeaks {
		return
	}
	// The two that differ least, for their size, become one, by which of a heavy grant
	// rather too little comes back.
	least, ratio := 0, math.Inf(1)
	for i := range b.peaks[:maxPeaks] {
		if r := b.peaks[i+1].missing / max(b.peaks[i].missing, 1e-9); r < ratio {
			least, ratio = i, r
		}
	}
	b.peaks[least+1].missing = b.peaks[least].missing
	b.peaks = slices.Delete(b.peaks, least, least+1)
}

// lower notes that n more were there than was remembered, from the peak at i on.
func (b *bucket) lower(i int, n float64) {
	if i == len(b.peaks) {
		return
	}
	for j := i; j < len(b.peaks); j++ {
		b.peaks[j].missing -= n
	}
	before := i
	for before > 0 && b.peaks[before-1].missing >= b.peaks[i].missing {
		before--
	}
	b.peaks = slices.Delete(b.peaks, before, i)
}

func (b *bucket) idle(t instant) bool {
	return b.ledger.TokensAt(t.time()) >= float64(b.burst)
}

func (b *bucket) set(t instant, q Quota) bool {
	if q.N == 0 || q.Kind != TokenBucket || q.WarmUp > 0 {
		return false
	}
	b.asked = 0
	b.peak(t, float64(b.burst)-b.ledger.TokensAt(t.time()))
	b.ledger.SetLimitAt(t.time(), rate.Limit(q.perSecond()))
	b.burst = q.burst()
	b.ledger.SetBurstAt(t.time(), b.burst)
	b.peak(t, float64(b.burst)-b.ledger.TokensAt(t.time())) // what it can no longer hold is gone
	b.debt = q.Debt
	return true
}

func (b *bucket) cool(instant) {}
