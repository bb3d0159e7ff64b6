package interop

import (
	"net/http"

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
				return httprate.LimitBy(q.N, q.Per, httprate.Key("*"))(ok)
			},
		},
		{
			Name: "ulule/limiter", Package: "github.com/ulule/limiter/v3", Version: module("github.com/ulule/limiter/v3"), Says: "X-RateLimit, floored epoch",
			Truth: Truth{Quota: counted(quota.FixedWindow, q)},
			Fresh: func() http.Handler {
				l := limiter.New(memory.NewStore(), limiter.Rate{Period: q.Per, Limit: int64(q.N)})
				return stdlib.NewMiddleware(l).Handler(ok)
			},
		},
	}
}

func goBuckets(q quota.Quota) []Server {
	truth := Truth{Quota: q}
	return []Server{
		{
			Name: "throttled", Package: "github.com/throttled/throttled/v2", Version: module("github.com/throttled/throttled/v2"), Says: "X-RateLimit, delta to full; Retry-After", Truth: truth,
			Fresh: func() http.Handler { return gcra(q) },
		},
		{
			Name: "tollbooth", Package: "github.com/didip/tollbooth/v7", Version: module("github.com/didip/tollbooth/v7"), Says: "RateLimit, reset always 1; X-Rate-Limit", Truth: truth,
			Fresh: func() http.Handler {
				l := tollbooth.NewLimiter(perSecond(q), nil).SetBurst(q.Burst)
				return tollbooth.LimitHandler(l, ok)
			},
		},
		{
			Name: "x/time/rate", Package: "golang.org/x/time", Version: module("golang.org/x/time"), Says: nothing, Truth: truth,
			Fresh: func() http.Handler {
				l := rate.NewLimiter(rate.Limit(perSecond(q)), q.Burst)
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
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(q.N, q.Per), MaxBurst: q.Burst - 1})
	if err != nil {
		panic(err) // of a negative burst
	}
	limiter := throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{Path: true}}
	return limiter.RateLimit(ok)
}
