package lab

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
)

// All is Quotas for every host.
func All(qs ...quota.Quota) map[string]quota.Quotas { return map[string]quota.Quotas{"/": qs} }

// OnePerSecond is "1/s even".
func OnePerSecond() quota.Quota { return quota.Quota{N: 1, Kind: quota.TokenBucket} }

// InFlight is "n in flight".
func InFlight(n int) quota.Quota { return quota.Quota{N: int64(n), Kind: quota.InFlight} }

// Budget is a quota of requests that hardly comes back, so that what is left of it tells what was
// charged.
func Budget(burst int) quota.Quota {
	return quota.Quota{N: 1, Per: 1000 * time.Hour, Burst: int64(burst)}
}

// Hoard is a quota of 10 MiB that hardly comes back.
func Hoard() quota.Quota {
	return quota.Quota{N: 1, Per: 1000 * time.Hour, Unit: quota.Bytes, Burst: 10 << 20}
}

// Zero is a Rand that takes all jitter away: full jitter is then no delay at all.
func Zero() float64 { return 0 }

// Random is a Rand which draws the same numbers for the same seeds. Where each caller draws from its own, and
// begins at an instant of its own, a program does the same in each run: which of two goroutines draws first at
// one instant is chance.
func Random(seed, of uint64) func() float64 {
	var mu sync.Mutex // protects r
	r := rand.New(rand.NewPCG(seed, of))
	return func() float64 { mu.Lock(); defer mu.Unlock(); return r.Float64() }
}

// Steady is a backoff without jitter: 1 s, 2 s, 4 s.
type Steady struct{}

// Delay implements backoff.Backoff.
func (Steady) Delay(n int, _ time.Duration) time.Duration { return time.Second << (n - 1) }

// NoCost is a Cost of requests for which Calls say what they cost.
func NoCost(*http.Request) quota.Costs { return nil }
