package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestRateAtRandom: of a server that serves so many in each window, and whose hints are not true now and then,
// no window is seen that lasts longer than requests have gone, and none is put off for longer than the windows
// take that those before it need. Nothing panics, and no hold is negative.
func TestRateAtRandom(t *testing.T) {
	const longest = time.Minute // of a hold
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		limit, lasts := 1+random.IntN(60), time.Duration(1+random.IntN(8))*time.Second/2
		admits := fixed(&limit, &lasts)
		var r Rate
		refusals, now := 0, start
		for range 400 {
			n := 1 + random.IntN(3)
			at := r.Due(now, 0, n, 0, false)
			elapsed := now.Sub(start)
			if _, span, known := r.Window(); known && (span > elapsed+time.Second || at.Sub(now) > time.Duration(n+1)*(span+mostSlack)) {
				t.Fatalf("seed %d: after %v, a window of %v is known, and %d go in %v", seed, elapsed, span, n, at.Sub(now))
			}
			now = min(max(now, at), now.Add(longest)).Add(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
			r.Take(now, now, n)
			for range n {
				if admits(now) {
					r.Serve(now, 1, Went{BeforeRefusal: random.IntN(8) == 0, BeforeAlone: random.IntN(8) == 0})
					refusals = 0
					continue
				}
				refusals++
				r.Refuse(now, true)
				r.Hint(now, time.Duration(random.Int64N(int64(lasts))), time.Second)
				if random.IntN(4) == 0 {
					r.Hint(now, 50*365*24*time.Hour, time.Second)
				}
				hold, ok := r.Look(now, refusals, true, refusals%7)
				if hold < 0 || ok && hold == 0 {
					t.Fatalf("seed %d: the hold is %v", seed, hold)
				}
				now = now.Add(min(hold, longest))
			}
		}
	}
}
