package lease

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/store"
)

// TestStoreDelaysTogether: while something else delays a claim, the store lets those ahead go.
func TestStoreDelaysTogether(t *testing.T) {
	for _, c := range []struct {
		ahead int
		other time.Duration // delays the claim
	}{{0, 0}, {0, 5 * s}, {50, 0}, {50, 5 * s}, {50, 20 * s}} {
		l := newLease(t, "10/s even", 0)
		call(t, l, 0, queue(1), store.Reply{Slots: in(0), Next: 100 * ms})
		alone := l.DueFrom(at(ms), limit.Due{At: at(ms)}, requests(c.ahead), requests(1), false, true)
		got := l.DueFrom(at(ms), limit.Due{At: at(ms + c.other)}, requests(c.ahead), requests(1), false, true)
		equal(t, "due", got.At, max(alone.At, at(ms+c.other)))
	}
}
