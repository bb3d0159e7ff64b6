package limit

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestBucketAgainstDefinition asks buckets of 4, 10 and 50 tokens per second at random instants, and
// charges and gives back: when is the first instant at which a count of tokens by the definition
// suffices. An interval is a whole number of steps, so that both count exactly.
func TestBucketAgainstDefinition(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		q := quota.Quota{N: []int{4, 10, 50}[r.IntN(3)], Per: time.Second, Burst: 1 + r.IntN(20), Debt: r.IntN(2) == 0}
		l := New(explicit(q), 0)
		interval := q.Per / time.Duration(q.N)
		now := monotime.Time(1)
		full := now // when the bucket is full
		for range 100 {
			now = now.Add(time.Duration(r.IntN(3*q.Burst)) * interval / 2)
			ahead, n := r.IntN(3), 1+r.IntN(q.Burst+2)
			at, ok := l.When(now, ahead, n)
			if ok != (n <= q.Burst || q.Debt) {
				t.Fatalf("%v: of %d, when says %v", q, n, ok)
			}
			if !ok {
				continue
			}
			// So many tokens may be missing from a full bucket then, as time.
			spare := time.Duration(q.Burst-min(n, q.Burst)-ahead) * interval
			if want := max(now, max(full, now).Add(-spare)); at != want {
				t.Fatalf("seed %d, %v: at %d, %d behind %d may go at %d, want %d", seed, q, now, n, ahead, at, want)
			}
			if r.IntN(3) == 0 {
				continue
			}
			now, _ = l.When(now, 0, n)
			if now = max(now, full.Add(-time.Duration(q.Burst-min(n, q.Burst))*interval)); r.IntN(4) == 0 {
				l.Take(now, now, n)
				l.Give(now, now, n) // at once: as if it had never gone
				continue
			}
			l.Take(now, now, n)
			full = max(full, now).Add(time.Duration(n) * interval)
		}
		for _, at := range []monotime.Time{now, max(now, full.Add(-interval)), max(now, full)} {
			if l.Idle(at) != (at >= full) {
				t.Fatalf("seed %d, %v: at %d idle %v, full at %d", seed, q, at, l.Idle(at), full)
			}
		}
	}
}
