package learning

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// TestLooksAtABunch: four callers at a time for five minutes, at servers that state no reset: how many requests
// are served and refused. What was sent at once to a log comes back at once, and looks learn to come then.
func TestLooksAtABunch(t *testing.T) {
	unstated := pacertest.Dialect{Layout: pacertest.LayoutTrio, Prefix: "X-RateLimit-", Reset: pacertest.ResetOmitted}
	const window = 4 * time.Second
	for name, test := range map[string]struct {
		algorithm       pacertest.Algorithm
		served, refused int
	}{
		"log":              {&pacertest.SlidingLog{Limit: 20, Window: window}, 1504, 9},
		"log in cells":     {&pacertest.SlidingWindow{Limit: 20, Window: window}, 1484, 13},
		"window":           {&pacertest.FixedWindow{Limit: 20, Window: window}, 1484, 5},
		"estimated window": {&pacertest.EstimatedWindow{Limit: 20, Window: window}, 1340, 3},
		"bucket of one":    {&pacertest.TokenBucket{Rate: 5, Burst: 1}, 1448, 3},
		"bucket of eight":  {&pacertest.TokenBucket{Rate: 5, Burst: 8}, 1508, 0},
		"bucket of twenty": {&pacertest.TokenBucket{Rate: 5, Burst: 20}, 1520, 0},
	} {
		server := instances{Dialect: unstated, counters: []pacertest.Algorithm{test.algorithm.Fresh()}, random: rand.New(rand.NewPCG(1, 2))}
		if served, refused := shortRuns(t, &server, 4, time.Hour); served != test.served || refused != test.refused {
			t.Errorf("%s: %d served, %d refused, want %d and %d", name, served, refused, test.served, test.refused)
		}
	}
}
