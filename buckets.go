package pacer

import (
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/internal/route"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// routes are what a Table amounts to.
type routes struct {
	*pattern.Set[quota.Quotas]
	hasBytes bool // some quota is of bytes
}

// newRoutes checks the patterns and quotas of a table. It copies what it keeps.
func newRoutes(quotas Table) (*routes, error) {
	copied := make(Table, len(quotas))
	rs := &routes{}
	for p, qs := range quotas {
		copied[p] = slices.Clone(qs)
		rs.hasBytes = rs.hasBytes || slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Unit == quota.Bytes })
	}
	var err error
	rs.Set, err = copied.validate(false)
	return rs, err
}

// quotasOf returns the quotas quotasOf a bucket.
func (rs *routes) quotasOf(b route.Bucket) quota.Quotas {
	if b.Pattern == "" {
		return rs.OfHost(b.Hostname())
	}
	return rs.Value(b.Pattern)
}

// bucket is what a Transport knows of a bucket beside its Limiter.
type bucket struct {
	budget     backoff.Budget // retries of failures
	limitsTold atomic.Bool    // the latest answer spoke of limits, and so will the next

	spelling atomic.Pointer[hostSpelling] // as the latest request spelled its host
}

// hostSpelling is the bucket of a host as requests spell it.
type hostSpelling struct {
	scheme, host string
	limiter      *throttle.Limiter
}

// matches reports whether a request matches for that host, and the bucket matches still good.
func (r *hostSpelling) matches(req *http.Request) bool {
	return r != nil && r.host == req.URL.Host && r.scheme == req.URL.Scheme && !r.limiter.Forgotten()
}

// bucketOf returns the bucket of a Limiter.
func bucketOf(l *throttle.Limiter) *bucket { return l.Value.(*bucket) }

// limiter returns the Limiter of the most specific bucket of the request; the others are its Parents.
func (t *Transport) limiter(req *http.Request) *throttle.Limiter {
	rs := t.routes.Load()
	if t.Key == nil && rs.HostsOnly() {
		return t.hostLimiter(req)
	}
	tenant := ""
	if t.Key != nil {
		tenant = t.Key(req)
	}
	host := route.Host(req.URL, tenant)
	if m := rs.Match(req); m.Pattern != "" {
		return t.buckets.Limiter(host, route.Pattern(m.Pattern, m.Values))
	}
	return t.buckets.Limiter(host)
}

// hostLimiter returns the Limiter of the request's host, which is often that of the request before.
func (t *Transport) hostLimiter(req *http.Request) *throttle.Limiter {
	if r := t.lastHost.Load(); r.matches(req) {
		return r.limiter
	}
	l := t.buckets.Limiter(route.Host(req.URL, ""))
	b := bucketOf(l)
	r := b.spelling.Load()
	if !r.matches(req) {
		r = &hostSpelling{req.URL.Scheme, req.URL.Host, l}
		b.spelling.Store(r)
	}
	t.lastHost.Store(r)
	return l
}

// newLimiter makes the Limiter of a bucket.
func (t *Transport) newLimiter(path []string) *throttle.Limiter {
	b := route.Parse(path)
	l := &throttle.Limiter{
		Name: b.Label(), Quotas: t.routes.Load().quotasOf(b), SlowStart: true, Rand: t.Rand,
		MaxWait: t.maxWait(), MaxQueue: t.MaxQueue, MaxHold: t.MaxHold, IdleAfter: t.IdleAfter,
		Ageing: t.Ageing, Reserve: t.Reserve, Spend: t.Spend,
		Value: &bucket{budget: backoff.Budget{Ratio: t.BudgetRatio}},
	}
	if t.Store != nil && len(l.Quotas) > 0 {
		l.Store, l.StoreName, l.Outage, l.Late = t.Store, b.Shared(), t.Outage, t.Late
	}
	return l
}

// SetQuotas replaces Quotas while requests are on their way. Those who wait are timed
// anew, and go to the line of the pattern that is theirs now, to the place that is
// theirs. A pattern that stays keeps what was charged to it. If something is wrong with the
// table, nothing is changed.
func (t *Transport) SetQuotas(quotas Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	rs, err := newRoutes(quotas)
	if err != nil {
		return err
	}
	return t.buckets.Update(func() (moved bool) { return !t.routes.Swap(rs).SamePatterns(rs.Set) })
}
