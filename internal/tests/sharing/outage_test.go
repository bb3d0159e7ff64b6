package sharing

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// few random histories are tried unless told otherwise. With more, other tests take longer spans, too.
const few = 2

var outages = flag.Uint64("outages", few, "how many random histories have an outage, of each list of quotas")

// outage has a few processes send at random, and all of them lose the store at once, for some seconds. It returns by how much they are over.
func outage(t *testing.T, text string, seed uint64) (most int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		qs := quota.MustParse(text).Explicit()
		longest, largest := time.Duration(0), 3
		for i := range qs {
			longest = max(longest, qs[i].Per)
			if qs[i].Kind == quota.TokenBucket {
				largest = min(largest, qs[i].Burst)
			}
		}
		f := &fleet{}
		from := 2*time.Second + time.Duration(r.Int64N(int64(2*longest)))
		to := from + time.Second + time.Duration(r.Int64N(int64(2*longest+2*time.Second)))
		f.end = to + 2*longest + time.Second
		f.start = time.Now()
		s := &away{Memory: new(store.Memory), down: func() bool { d := time.Since(f.start); return d >= from && d < to }}
		ctx, cancel := context.WithTimeout(t.Context(), f.end)
		defer cancel()
		for by := range 2 + r.IntN(3) {
			l := &throttle.Limiter{Name: "api", Quotas: quota.MustParse(text), Store: s, MaxStandstill: throttle.Forever}
			t.Cleanup(func() { _ = l.Close() })
			busy := r.IntN(3) // 0: bursts with long pauses, 1: now and then, 2: always
			for range 1 + r.IntN(12) {
				r := rand.New(rand.NewPCG(r.Uint64(), 2))
				f.wait.Go(func() {
					for ctx.Err() == nil {
						switch busy {
						case 0:
							if r.IntN(8) == 0 {
								time.Sleep(time.Duration(r.Int64N(int64(longest))))
							}
						case 1:
							time.Sleep(time.Duration(r.Int64N(int64(longest / 4))))
						}
						n := 1
						if r.IntN(4) == 0 {
							n += r.IntN(largest)
						}
						if f.send(ctx, l, by, n) != nil {
							return
						}
					}
				})
			}
		}
		f.wait.Wait()
		most = over(text, f.sends)
	})
	return most
}

// TestSharesOfAnOutage: whatever processes send when all of them lose the store at once, together they stay within their quotas, but for what some
// used at once after the last reply to others, and in a way that these had not seen. That is no more than a part of two, and seldom anything: with -v it
// prints how often, and with -outages 150 that takes two minutes.
func TestSharesOfAnOutage(t *testing.T) {
	for _, text := range []string{
		"50/s log", "30/3s", "100/5s sliding", "60/2s window", "100/10s log", "40/2s estimate", "50/2s window grid",
		"50/s burst 10, 100/3s log", "20/s even, 100/5s sliding", "50/s log, 200/10s log", "30/s burst 30, 100/10s sliding", "20/s log, 50/4s window grid", "100/10s log, 40/2s estimate",
		"50/s burst 20, 100/10s log", "100/30s log", "100/10s log, 300/m sliding", "100/10s window grid",
	} {
		worst, count := 0, uint64(0)
		for seed := range *outages {
			if n := outage(t, text, seed); n > 0 {
				count++
				worst = max(worst, n)
			}
		}
		t.Logf("%s: %d over at most, in %d of %d", text, worst, count, *outages)
		if n := quota.MustParse(text).Explicit()[0].N; worst > n*45/100 || count > 1+*outages/20 {
			t.Errorf("%s: %d over, in %d of %d", text, worst, count, *outages)
		}
	}
}
