package adaptive

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestStockAtRandom: whatever answers say, our part is between crowdLeast and all, nothing is infinite or no
// number, an optimist waits no longer, and whoever waits waits no longer than our least part and MaxHold say,
// also for answers that do not come.
func TestStockAtRandom(t *testing.T) {
	limits := []int{1, 2, 3, 4, 20, 1000, 1e6, math.MaxInt32, maxTokens}
	speeds := []float64{1e-9, 1e-3, 0.5, 1, 7, 1000, 1e6, 1e9, math.MaxInt32}
	holds := []time.Duration{0, time.Second, 15 * time.Minute, monotime.Longest}
	spans := []time.Duration{0, 1, 20, time.Microsecond, time.Millisecond, 80 * time.Millisecond, time.Second, time.Minute, time.Hour, 365 * 24 * time.Hour, 2 * monotime.Longest}
	for seed := range whole.Or[uint64](300, 3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		span := func() time.Duration {
			d := spans[random.IntN(len(spans))]
			return d/2 + time.Duration(random.Int64N(int64(d/2)+1))
		}
		limit, speed, maxHold := limits[random.IntN(len(limits))], speeds[random.IntN(len(speeds))], holds[random.IntN(len(holds))]
		least, most := speed, min(speed*(1+random.Float64()/2), math.MaxInt32)
		var k stock
		now, inFlight := start, 0
		for range 200 {
			if now = now.Add(min(span(), time.Hour)); random.IntN(50) == 0 {
				limit = limits[random.IntN(len(limits))]
			}
			if random.IntN(50) == 0 {
				least, most = 0, math.Inf(1)
			} else if random.IntN(50) == 0 {
				least, most = speed, speed
			}
			if k.even && random.IntN(2) == 0 {
				inFlight++
				k.take(now, limit, inFlight-1)
			} else {
				n := 1
				if random.IntN(8) == 0 {
					n = limits[random.IntN(len(limits))]
				}
				o := &outcome{
					sent: now.Add(-min(span(), time.Hour)), now: now, n: n, flight: inFlight + n, limit: limit, remaining: random.IntN(limit + 2),
					refused: random.IntN(4) == 0, newest: random.IntN(4) > 0,
				}
				if random.IntN(3) > 0 {
					o.resetLate = now.Add(span())
					o.resetEarly = o.resetLate.Add(-time.Millisecond)
					o.inMost = span()
					o.inLeast = o.inMost - span()
				}
				inFlight = max(inFlight-random.IntN(2), 0)
				if k.note(o, least, most) && !k.on {
					k.begin(start)
				}
			}
			if k.even {
				checkStock(t, seed, &k, now, limit, inFlight, random.IntN(3), random.IntN(3), maxHold)
			}
		}
	}
}

func checkStock(t *testing.T, seed uint64, k *stock, now monotime.Time, limit, inFlight, ahead, reserve int, maxHold time.Duration) {
	t.Helper()
	if !(k.part >= crowdLeast && k.part <= 1) || !(k.level >= 0 && k.level <= 2*maxTokens) || !(k.credit <= 1) || math.IsInf(k.credit, 0) {
		t.Fatalf("seed %d: %+v", seed, *k)
	}
	at := k.due(now, limit, maxHold, &want{1, ahead, reserve, inFlight, false})
	hopes := k.due(now, limit, maxHold, &want{1, ahead, reserve, inFlight, true})
	longest := max(now, k.credited.Add(min(monotime.Seconds(float64(ahead+1)/(crowdLeast*k.rate())), maxHold)))
	if at < now || at > longest || hopes > at {
		t.Fatalf("seed %d: due in %v, an optimist in %v, in %v at the latest; %d in flight, %+v", seed, at.Sub(now), hopes.Sub(now), longest.Sub(now), inFlight, *k)
	}
	if last := k.due(longest, limit, maxHold, &want{1, ahead, reserve, inFlight, false}); last != longest {
		t.Fatalf("seed %d: when our least part says, due in %v; %d in flight, %+v", seed, last.Sub(longest), inFlight, *k)
	}
}
