package throttle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestStackMeansWhatProvidersMean: of several quotas without a burst, only the one of the
// shortest span spaces requests; of the others N go in any span.
func TestStackMeansWhatProvidersMean(t *testing.T) {
	const s = time.Second
	for text, want := range map[string][]time.Duration{ // when each of 7 goes that come at once
		"2/s even":                                      {0, s / 2, s, 3 * s / 2, 2 * s, 5 * s / 2, 3 * s},
		"2/s even, 4/m sliding":                         {0, s / 2, s, 3 * s / 2, 61500 * s / 1000, 62 * s, 62500 * s / 1000},
		"4/m sliding, 2/s burst 3":                      {0, 0, 0, s / 2, 60500 * s / 1000, 60500 * s / 1000, 60500 * s / 1000},
		"2/s burst 9, 4/m burst 2":                      {0, 0, 15 * s, 30 * s, 45 * s, 60 * s, 75 * s},
		"2/s even, 4/m window":                          {0, s / 2, s, 3 * s / 2, 60 * s, 60*s + s/2, 61 * s},
		"2/s even, 4/m sliding, 5/h sliding":            {0, s / 2, s, 3 * s / 2, 61500 * s / 1000, 3661500 * s / 1000, 3662 * s},
		"2/s even, 4 tokens/m":                          {0, s / 2, s, 3 * s / 2, 2 * s, 5 * s / 2, 3 * s},
		"2/s even, 4/m sliding, 10 in flight, no limit": {0, s / 2, s, 3 * s / 2, 61500 * s / 1000, 62 * s, 62500 * s / 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			qs, err := quota.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			l, start := &Limiter{Quotas: qs}, time.Now()
			for i, at := range want {
				g, err := l.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{})
				if got := time.Since(start); got != at {
					t.Errorf("%s: number %d went at %v, want %v", text, i, got, at)
				}
			}
		})
	}
}

// TestLimiterInvalidQuotas: a Limiter grants nothing by quotas of which one is invalid.
func TestLimiterInvalidQuotas(t *testing.T) {
	for _, bad := range []quota.Quota{
		{N: -1, Burst: 1},
		{N: 1, Per: -time.Second, Kind: quota.TokenBucket},
		{N: 1, Burst: -2},
		{N: 1, WarmUp: -time.Second},
		{N: 1, Kind: quota.TokenBucket, ColdFactor: 3},
		{Burst: 5},
		{Queue: 1},
		{N: 1, Kind: quota.TokenBucket, Queue: -1},
		{N: 1, Debt: true, WarmUp: time.Second},
		{N: 1, Kind: quota.TokenBucket, Unit: "a b"},
		{N: 1, Kind: quota.TokenBucket, Unit: "unanswered"},
		{Name: "daily", N: -5, Burst: 1},
		{N: 1, Kind: "fast"},
		{N: 5, Kind: quota.InFlight, Per: 1},
		{N: 5, Kind: quota.SlidingLog, Burst: 1},
	} {
		qs := quota.Quotas{{N: 5, Burst: 1}, bad, {N: -7, Burst: 1}}
		all := qs.Validate()
		l := Limiter{Quotas: qs}
		if err := l.Wait(t.Context(), 1); err == nil || err.Error() != all.Error() {
			t.Errorf("Wait returned %v, want %v", err, all)
		}
	}
}
