package interop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/didip/tollbooth/v7"
	"github.com/go-chi/httprate"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
)

// goServers returns the limiters that are Go packages. They count in memory, each Fresh
// one anew.
func goServers(q Quotas) []Server {
	return append(each(q.Windows, goWindows), each(q.Buckets, goBuckets)...)
}

func goWindows(q quota.Quota) []Server {
	return []Server{
		{
			Name: "httprate", Package: "github.com/go-chi/httprate", Version: module("github.com/go-chi/httprate"), Says: "X-RateLimit, floored epoch; Retry-After: the window",
			Truth: Truth{Quota: counted(quota.EstimatedWindow, q)},
			Fresh: func() http.Handler {
				return httprate.LimitBy(int(q.N), q.Per, httprate.Key("*"))(ok)
			},
		},
		{
			Name: "ulule/limiter", Package: "github.com/ulule/limiter/v3", Version: module("github.com/ulule/limiter/v3"), Says: "X-RateLimit, floored epoch",
			Truth: Truth{Quota: counted(quota.FixedWindow, q)},
			Fresh: func() http.Handler { return ulule(q.Per, int(q.N)) },
		},
		{
			Name: "ulule/limiter, a limit per route", Package: "github.com/ulule/limiter/v3", Version: module("github.com/ulule/limiter/v3"), Says: "X-RateLimit, floored epoch",
			Truth: Truth{Quota: counted(quota.FixedWindow, q), Narrow: narrow(q)},
			Fresh: func() http.Handler {
				mux := http.NewServeMux()
				mux.Handle("/", ulule(q.Per, int(q.N)))
				mux.Handle(narrowPath, ulule(q.Per, narrow(q)))
				return mux
			},
		},
		{
			Name: "ulule/limiter, two instances", Package: "github.com/ulule/limiter/v3", Version: module("github.com/ulule/limiter/v3"), Says: "X-RateLimit, floored epoch, of one instance",
			Truth: Truth{Quota: counted(quota.FixedWindow, quota.Quota{N: 2 * q.N, Per: q.Per}), Instances: 2},
			Fresh: func() http.Handler { return newBalancer(ulule(q.Per, int(q.N)), ulule(q.Per, int(q.N))) },
		},
	}
}

func ulule(window time.Duration, n int) http.Handler {
	return stdlib.NewMiddleware(limiter.New(memory.NewStore(), limiter.Rate{Period: window, Limit: int64(n)})).Handler(ok)
}

// narrow is the limit of the narrow route where the wide one has the quota.
func narrow(q quota.Quota) int { return int(max(q.N/5, 1)) }

// balancer asks its instances in turn.
type balancer struct {
	instances []http.Handler
	asked     atomic.Int64
}

// newBalancer returns a balancer that has asked the second instance whether it lives. So the instances' windows
// do not begin together.
func newBalancer(instances ...http.Handler) *balancer {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "127.0.0.1:1" // limits are by address, and the clients have this one
	instances[1].ServeHTTP(httptest.NewRecorder(), r)
	return &balancer{instances: instances}
}

// ServeHTTP implements http.Handler.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := b.asked.Add(1) - 1
	b.instances[n%int64(len(b.instances))].ServeHTTP(w, r)
}

func goBuckets(q quota.Quota) []Server {
	truth, strict := Truth{Quota: q}, q
	strict.Burst = 1
	return []Server{
		{
			Name: "throttled, strict", Package: "github.com/throttled/throttled/v2", Version: module("github.com/throttled/throttled/v2"), Says: "X-RateLimit, delta to full; Retry-After", Truth: Truth{Quota: strict},
			Fresh: func() http.Handler { return gcra(strict) },
		},
		{
			Name: "throttled", Package: "github.com/throttled/throttled/v2", Version: module("github.com/throttled/throttled/v2"), Says: "X-RateLimit, delta to full; Retry-After", Truth: truth,
			Fresh: func() http.Handler { return gcra(q) },
		},
		{
			Name: "tollbooth", Package: "github.com/didip/tollbooth/v7", Version: module("github.com/didip/tollbooth/v7"), Says: "RateLimit, reset always 1; X-Rate-Limit", Truth: truth,
			Fresh: func() http.Handler {
				l := tollbooth.NewLimiter(perSecond(q), nil).SetBurst(int(q.Burst))
				return tollbooth.LimitHandler(l, ok)
			},
		},
		{
			Name: "x/time/rate", Package: "golang.org/x/time", Version: module("golang.org/x/time"), Says: nothing, Truth: truth,
			Fresh: func() http.Handler {
				l := rate.NewLimiter(rate.Limit(perSecond(q)), int(q.Burst))
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !l.Allow() {
						http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
						return
					}
					ok(w, r)
				})
			},
		},
	}
}

func gcra(q quota.Quota) http.Handler {
	store, err := memstore.NewCtx(0)
	if err != nil {
		panic(err) // of a size that does not bind
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(int(q.N), q.Per), MaxBurst: int(q.Burst - 1)})
	if err != nil {
		panic(err) // of a negative burst
	}
	limiter := throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{Path: true}}
	return limiter.RateLimit(ok)
}
