package pace

import (
	"cmp"
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// burst is how many requests a server that states nothing serves at once when it has idled, beyond the rate at
// which it serves. A later run of a program may send so many before it keeps to the rate, if all has come back
// meanwhile.
//
// Nobody knows whether all comes back at once or token by token. So the burst is lent: the requests that follow
// go when they would have gone without it, the n-th after n/rate. That is right for buckets and for windows.
//
// In come grants (take), what was served (serve), refusals (refuse), and which part others leave (scale); out
// comes how much is to be saved (memory), and in a later run whether requests may go at once (allows), and
// whether little can have gathered while requests went more slowly (small). Requests that are granted while
// nothing is known are not counted, so that a large burst is found to be smaller than it is.
type burst struct {
	since   monotime.Time // the first request
	served  int           // from then to the first refusal
	late    int           // what was on its way then, and was served
	refused monotime.Time // the first refusal; zero before that

	lent int // what an earlier run has found; zero if a refusal has shown that it is wrong
	left int // so much of that has not gone

	part float64 // of all that, which others leave; zero is all
}

// take counts a grant.
func (b *burst) take(now monotime.Time, n int) {
	if b.since == 0 {
		b.since = now
	}
	b.left = max(b.left-n, 0)
}

// cancel takes a grant back. Where nothing is left, it may have gone when nothing was.
func (b *burst) cancel(n int) {
	if b.left > 0 {
		b.left = min(b.left+n, b.memory(0))
	}
}

// mostCounted bounds what is counted, so that no sum overflows.
const mostCounted = math.MaxInt / 32

// serve counts what was served. Late says that it was on its way when the latest refusal came, at that instant.
// After the first refusal, the server had admitted it before, and the refusal was the first to be heard of.
func (b *burst) serve(n int, late bool, refused monotime.Time) {
	switch {
	case b.refused == 0:
		b.served = min(b.served+n, mostCounted)
	case late && refused == b.refused:
		b.late = min(b.late+n, mostCounted)
	}
}

// refuse takes in a refusal.
func (b *burst) refuse(now monotime.Time) {
	if b.refused == 0 && b.since != 0 {
		b.refused = now
	}
	if b.left > 0 {
		b.lent, b.left = 0, 0
	}
}

// memory returns the burst, if the server serves at a rate.
func (b *burst) memory(rate float64) int {
	part, whole := cmp.Or(b.part, 1), float64(b.lent)
	if b.lent == 0 && b.refused != 0 {
		took := max(b.refused.Sub(b.since), 1) // one request that is served, and no more, is no burst
		whole = max(float64(b.served+b.late)-rate/part*took.Seconds(), 0)
	}
	return int(min(part*whole*(1+rounding), mostCounted))
}

// rounding bounds by what a number may be too small that was multiplied by several parts.
const rounding = 1e-9

// scale makes the burst such a part of itself: that of this process, when others come or go. What is still
// counted is that of this process anyway.
func (b *burst) scale(part float64) {
	if b.lent > 0 || b.refused != 0 {
		b.part = cmp.Or(b.part, 1) * part
		b.left = min(b.left, b.memory(0))
	}
}

// small reports whether the server serves few at once: before anything was refused, few were served, however
// fast they went.
func (b *burst) small() bool { return b.refused != 0 && max(b.served, b.lent) < provenServed }

// resume takes over what an earlier run has found, of a server that has idled for so long. It reports whether
// the burst may go at once.
func (b *burst) resume(size int, rate float64, idle time.Duration) bool {
	b.lent = min(max(size, 0), mostCounted)
	if idle > monotime.Seconds(float64(b.lent)/rate) {
		b.left = b.lent
	}
	return b.left > 0
}

// allows reports whether n requests may go at once.
func (b *burst) allows(n int) bool { return n <= b.left }
