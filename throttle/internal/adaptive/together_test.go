package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
)

// TestLimitsDelayTogether: those ahead draw on all limits at the same time, so that the one which lets them all
// go last says when a claim goes, and no limit counts them again from there.
func TestLimitsDelayTogether(t *testing.T) {
	of1, of2 := left(10, 10, 10*time.Second), left(100, 100, time.Minute)
	of1.Name, of2.Name = "short", "long"
	alone := func(names ...bool) *bucket {
		b := newBucket(t, Config{})
		a := Answer{}
		if names[0] {
			a.Statements = append(a.Statements, of1)
		}
		if names[1] {
			a.Statements = append(a.Statements, of2)
		}
		b.exchange(a)
		return b
	}
	due := func(b *bucket, ahead int) time.Duration {
		return b.DueFrom(limit.Due{At: b.now}, of(ahead), of(1), nil, 0, true).At.Sub(b.now)
	}
	short, long, both := alone(true, false), alone(false, true), alone(true, true)
	for _, ahead := range []int{0, 9, 10, 99, 100, 150, 250, 500} {
		one, other, got := due(short, ahead), due(long, ahead), due(both, ahead)
		if got != max(one, other) {
			t.Errorf("behind %d in %v, want the later of %v and %v", ahead, got, one, other)
		}
	}
}
