package pacer

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/habit"
	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/internal/pattern"
	"github.com/gopacer/pacer/internal/repeats"
	"github.com/gopacer/pacer/internal/route"
	"github.com/gopacer/pacer/internal/table"
	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// SetQuotas replaces Quotas while requests are on their way. Each waiting request gets a new instant by the new
// quotas. If another pattern is the most specific one for it now, the request moves to the line of that
// pattern, to the place that its priority and arrival give it. A pattern that is in both tables keeps what was
// charged to it, quota by quota, if the new one counts in the same way; see [throttle.Limiter.SetQuotas]. A nil
// or empty table takes all Quotas away: a key of YAML with nothing behind it is read as such a table. A larger
// burst fills at the rate of its quota. If something is wrong with the table, SetQuotas returns an error, which
// is throttle.ErrInvalid, and changes nothing.
func (t *Transport) SetQuotas(quotas Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	rs, err := t.newRoutes(quotas)
	if err != nil {
		return err
	}
	err = ofThrottle.Update(&t.buckets, func() (moved bool) { return !t.routes.Swap(rs).SamePatterns(rs.Set) })
	return errors.Join(err, t.streams.Update(func() {}))
}

// Forecast returns how long a request would wait if it were sent now, and for what. It changes nothing, but the
// bucket of the request is remembered from then on. The error is that of Validate, or of a request that cannot
// be routed.
func (t *Transport) Forecast(req *http.Request) (throttle.Forecast, error) {
	if err := t.check(req, infoOf(req.Context())); err != nil {
		return throttle.Forecast{}, err
	}
	var trip trip
	t.terms(req, infoOf(req.Context()), &trip)
	return t.limiter(req).Forecast(trip.claim), nil
}

// routes are the quotas of a Table, ready to be looked up.
type routes struct {
	*pattern.Set[quota.Quotas]
	hasBytes     bool // at least one quota is of bytes that are not Streamed, so bodies are counted
	hasStreams   bool // at least one quota is Streamed
	boundsFlight bool // at least one quota bounds what is in flight
	byHost       bool // the host alone says to which bucket a request belongs, and no bodies are counted or flow
}

// newRoutes checks the patterns and quotas of a table. It copies the table, so that the caller may go on
// changing its own.
func (t *Transport) newRoutes(quotas Table) (*routes, error) {
	copied := make(Table, len(quotas))
	rs := &routes{}
	for p, qs := range quotas {
		copied[p] = slices.Clone(qs)
		rs.hasBytes = rs.hasBytes || slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Unit == quota.Bytes && !q.Streamed })
		rs.boundsFlight = rs.boundsFlight || slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Kind.Concurrent() })
		rs.hasStreams = rs.hasStreams || len(table.OfBodies(qs)) > 0
	}
	var err error
	rs.Set, err = table.Check(copied)
	rs.byHost = !rs.hasBytes && !rs.hasStreams && err == nil && rs.HostsOnly()
	if err == nil && t.Cost == nil && t.Spent == nil {
		err = table.CheckCosts(copied)
	}
	if err == nil && t.Shared.Store != nil {
		err = t.checkShared(copied)
	}
	return rs, err
}

// checkShared reports which quotas cannot live in the Store.
func (t *Transport) checkShared(quotas Table) error {
	var all []error
	for _, p := range slices.Sorted(maps.Keys(quotas)) {
		var l [2]*throttle.Limiter
		for _, level := range table.Levels(quotas, p, t.Key != nil) {
			for i, qs := range [...]quota.Quotas{table.OfRequests(level.Quotas), table.OfBodies(level.Quotas)} {
				l[i] = &throttle.Limiter{Name: level.Name, Shared: throttle.Shared{Store: t.Shared.Store, SlotLife: t.Shared.SlotLife}, Parent: l[i]}
				if err := l[i].SetQuotas(qs); err != nil && level.Own {
					all = append(all, fmt.Errorf("pacer: Quotas[%q]: %w", p, err))
				}
			}
		}
	}
	return errors.Join(all...)
}

// quotasOf returns the quotas of a bucket: of its requests, and of their bodies.
func (rs *routes) quotasOf(b route.Bucket) quota.Quotas {
	switch {
	case b.Pattern != "":
		return rs.Value(b.Pattern)
	case b.Scope == route.Overall:
		return table.Overall(rs.OfHost(b.Hostname()))
	case b.Scope == route.OfTenant:
		return table.OfTenant(rs.OfHost(b.Hostname()))
	}
	return rs.OfHost(b.Hostname())
}

// streams reports whether a quota of the request is Streamed.
func (rs *routes) streams(req *http.Request) bool {
	return rs.hasStreams && len(table.OfBodies(rs.OfHost(pattern.Hostname(req.URL))))+len(table.OfBodies(rs.Match(req).Value)) > 0
}

// limiter returns the Limiter of the most specific bucket of the request. The other buckets are its Parents.
func (t *Transport) limiter(req *http.Request) *throttle.Limiter {
	rs := t.routes.Load()
	var few [3]string
	switch {
	case t.Key != nil:
		return t.buckets.Limiter(t.path(few[:0], rs, req)...)
	case rs.HostsOnly():
		return t.hostLimiter(req)
	}
	l := t.paths.Of(rs, req)
	if l == nil || ofThrottle.Forgotten(l) {
		l = t.buckets.Limiter(t.path(few[:0], rs, req)...)
		t.paths.Note(rs, req, l)
	}
	return l
}

// path appends the keys of the most specific bucket of the request.
func (t *Transport) path(path []string, rs *routes, req *http.Request) []string {
	if t.Key == nil {
		path = append(path, route.Host(req.URL))
	} else {
		path = append(path, route.Tenants(req.URL), route.Tenant(t.Key(req)))
	}
	if m := rs.Match(req); m.Pattern != "" {
		path = append(path, route.Pattern(m.Pattern, m.Values))
	}
	return path
}

// KeyDigest returns the text by which errors, Trace and State call what Transport.Key has returned: 12
// hexadecimal digits, the first ones of its SHA-256. It is for recognizing a tenant on a page or in a metric.
// Equal keys have equal digests, in all processes. Different keys may have equal digests (some two of a million
// with a probability of 1 in 560), and buckets of their own all the same. A digest does not give a random
// credential away; but a key that is short, or one of a list, is found by trying. So do not publish it.
func KeyDigest(key string) string { return visible.Digest(key) }

// hostLimiter returns the Limiter of the request's host. Most often, that host is remembered.
func (t *Transport) hostLimiter(req *http.Request) *throttle.Limiter {
	l := t.hosts.Of(req.URL)
	if l == nil || ofThrottle.Forgotten(l) {
		l = t.buckets.Limiter(route.Host(req.URL))
		t.hosts.Note(req.URL, l)
	}
	return l
}

// newLimiter makes the Limiter of the bucket that has the keys in path; see route.Parse.
func (t *Transport) newLimiter(path []string) *throttle.Limiter {
	b := route.Parse(path)
	l := &throttle.Limiter{
		Name: b.Label(), Label: b.Public(), Quotas: table.OfRequests(t.routes.Load().quotasOf(b)), SlowStart: true, Rand: t.Rand,
		MaxWait: t.MaxWait, MaxStandstill: t.maxStandstill(), MaxQueue: t.Line.MaxQueue, MaxHold: t.Learn.MaxHold, IdleAfter: t.Learn.IdleAfter,
		Tenant: b.Scope == route.OfTenant && b.Pattern == "", Aging: t.Line.Aging, Reserve: t.Line.Reserve, Spend: t.Learn.Spend,
		Value: &bucket{budget: backoff.Budget{Ratio: t.Retry.BudgetRatio}},
	}
	return t.share(l, b.Shared())
}

// share has a Limiter share its quotas under a name.
func (t *Transport) share(l *throttle.Limiter, name string) *throttle.Limiter {
	if t.Shared.Store != nil && len(l.Quotas) > 0 {
		l.Shared = throttle.Shared{Store: t.Shared.Store, Name: name, Outage: t.Shared.Outage, SlotLife: t.Shared.SlotLife, Fresh: t.Shared.Fresh, Event: t.trace().StoreEvent}
	}
	return l
}

// bodies tells the names of buckets of what flows from those of requests.
const bodies = " (bodies)"

// newStream makes the Limiter of the bodies of a bucket, in a tree of their own: what delays requests does not
// delay them.
func (t *Transport) newStream(path []string) *throttle.Limiter {
	b := route.Parse(path)
	return t.share(&throttle.Limiter{
		Name: b.Label() + bodies, Label: b.Public() + bodies, Quotas: table.OfBodies(t.routes.Load().quotasOf(b)), Aging: t.Line.Aging, Reserve: t.Line.Reserve, Rand: t.Rand,
	}, b.Shared()+bodies)
}

// bucket is what a Transport keeps for a bucket beside its Limiter.
type bucket struct {
	budget  backoff.Budget  // of retries of failures
	habit   habit.Habit     // which headers of its answers speak of limits
	repeats repeats.Answers // those that say what one before said
}

// ofThrottle has what package throttle keeps for this one.
var ofThrottle = throttle.Inside(inside.Key{})

// bucketOf returns the bucket that a Limiter made by newLimiter belongs to.
func bucketOf(l *throttle.Limiter) *bucket { return l.Value.(*bucket) }

// counts are what a Transport counts where requests wait, are refused or fail. What goes at once, and is
// served, costs nothing.
type counts struct{ waiting, waits, waited, notSent, refused, retried, gaveUp atomic.Int64 }

// Stats are numbers of a Transport, for package expvar, say. Those from WaitCount to GaveUp only grow.
type Stats struct {
	Buckets, Held     int // buckets that are remembered, and how many of them are held
	Waiting, InFlight int // requests in line, and those that were granted and have no answer yet: while it is read, see State().Limits of a quota of what is in flight

	WaitCount    int64         // waits in line: of a request, one for each attempt that had to wait
	WaitDuration time.Duration // how long, in total
	NotSent      int64         // requests that pacer did not send
	Refused      int64         // answers that were refusals
	Retried      int64         // attempts that were made again
	GaveUp       int64         // requests that were refused or failed, and not sent again, for a Reason
}

// Stats returns the numbers as they are now. It looks at each bucket.
//
//	expvar.Publish("pacer", expvar.Func(func() any { return transport.Stats() }))
func (t *Transport) Stats() Stats {
	t = t.shown()
	c := &t.counts
	s := Stats{
		Waiting: int(c.waiting.Load()), WaitCount: c.waits.Load(), WaitDuration: time.Duration(c.waited.Load()),
		NotSent: c.notSent.Load(), Refused: c.refused.Load(), Retried: c.retried.Load(), GaveUp: c.gaveUp.Load(),
	}
	ofThrottle.Buckets(&t.buckets, func(_ *throttle.Limiter, inFlight int, held time.Duration) {
		s.Buckets++
		s.InFlight += inFlight
		if held > 0 {
			s.Held++
		}
	})
	return s
}

// RetryBudgets returns how many retries of failures the retry budget of each bucket pays for now, by the Label
// of the bucket: the least, where several have one Label. Budgets that are full are left out. See
// Retry.BudgetRatio.
func (t *Transport) RetryBudgets() map[string]float64 {
	t = t.shown()
	budgets, full := map[string]float64{}, new(backoff.Budget).Balance()
	ofThrottle.Buckets(&t.buckets, func(l *throttle.Limiter, _ int, _ time.Duration) {
		if left := bucketOf(l).budget.Balance(); left < full {
			least, ok := budgets[l.Label]
			if !ok || left < least {
				budgets[l.Label] = left
			}
		}
	})
	return budgets
}
