package pacer

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/throttle"
)

// router finds the bucket of a request.
type router struct {
	table atomic.Pointer[routes]

	mu      sync.Mutex // protects the fields below
	buckets map[string]*bucket
	sweepAt int // how many buckets there may be before idle ones are forgotten
	// What was loaded, of buckets that there are not yet.
	memories map[string]throttle.Memory

	era atomic.Int32 // counts sweeps
}

// routes are what a Table amounts to.
type routes struct {
	*patterns[throttle.Quotas]
	bytes bool // some quota is of bytes

	recent atomic.Pointer[recent] // what was looked up last; only hosts, where there is no Key
}

// recent is the bucket of a host as requests spell it.
type recent struct {
	scheme, host string
	bucket       *bucket
}

// key is what tells buckets apart.
type key struct {
	host    string
	tenant  string // what Transport.Key returned
	pattern string // empty for the bucket of a host
	values  string // of the pattern's wildcards
	name    string // what the server calls what it draws on, if it is one of several
}

// String is the key in the map of buckets. That of a host alone, which most are,
// is the host as it stands.
func (k key) String() string {
	if k.tenant == "" && k.pattern == "" && k.name == "" {
		return k.host
	}
	return strings.Join([]string{k.host, k.tenant, k.pattern, k.values, k.name}, "\x00")
}

// bucket is what requests draw on together.
type bucket struct {
	throttle.Limiter
	budget backoff.Budget // retries of failures

	hostname string // in lower case, without port
	key      key

	era  atomic.Int32 // when it was looked up last
	gone atomic.Bool  // it was forgotten: look it up again
	open atomic.Int32 // answers of which the end matters and has not come
	told atomic.Bool  // the latest answer spoke of limits, and so will the next

	spelled atomic.Pointer[recent] // as the latest request spelled its host

	names atomic.Pointer[names] // that answers gave to what its requests drew on; nil if none did

	parent   *bucket
	children int             // protected by router.mu
	quotas   throttle.Quotas // that it has now; protected by router.mu
}

// fewBuckets is how many buckets are kept without looking whether they are still
// of use. Above it, those that idle and have not been used for a while are
// forgotten whenever their number has doubled.
const fewBuckets = 1024

// newRoutes checks the patterns and quotas of a table. It copies what it keeps.
func newRoutes(quotas Table) (*routes, error) {
	copied := make(map[string]throttle.Quotas, len(quotas))
	rs := &routes{}
	if err := quotas.check(); err != nil {
		return nil, err
	}
	for pattern, qs := range quotas {
		copied[pattern] = slices.Clone(qs)
		rs.bytes = rs.bytes || slices.ContainsFunc(qs, func(q throttle.Quota) bool { return q.Unit == throttle.Bytes })
	}
	var err error
	if rs.patterns, err = newPatterns(copied); err != nil {
		return nil, fmt.Errorf("pacer: Quotas%w", err)
	}
	return rs, nil
}

// of returns the quotas of a bucket.
func (rs *routes) of(b *bucket) throttle.Quotas {
	switch {
	case b.key.name != "":
		return nil // its parent has them
	case b.key.pattern == "":
		return rs.host(b.hostname)
	}
	if target := rs.all[bare(b.key.pattern)]; target != nil {
		return target.value
	}
	return nil
}

// init checks the patterns and quotas of t.
func (r *router) init(t *Transport) error {
	rs, err := newRoutes(t.Quotas)
	if err != nil {
		return err
	}
	r.buckets, r.sweepAt = map[string]*bucket{}, fewBuckets
	r.table.Store(rs)
	return nil
}

// replace puts a table in the place of the one in force, and gives all buckets the quotas
// that they have in it. If patterns have come or gone, all who wait look up their bucket
// again, and line up there in the order of their places, before anybody goes.
func (r *router) replace(t *Transport, rs *routes) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.buckets {
		if b.parent == nil {
			defer b.Freeze()()
		}
	}
	old := r.table.Swap(rs)
	if !maps.EqualFunc(old.all, rs.all, func(a, b *target[throttle.Quotas]) bool { return a.pattern == b.pattern }) {
		for _, b := range r.buckets {
			b.Dismiss()
		}
	}
	for _, b := range r.buckets {
		qs := rs.of(b)
		switch {
		case slices.Equal(qs, b.quotas):
			continue
		case t.Store != nil && b.Store == nil:
			r.abandon(b.host()) // it is made anew, with the store
			continue
		}
		b.quotas = qs
		if err := b.SetQuotas(qs); err != nil {
			return err
		}
	}
	return nil
}

// abandon has nobody look up host, and those below it, any more. Who waits looks up its bucket
// again; who is under way ends there.
func (r *router) abandon(host *bucket) {
	for k, b := range r.buckets {
		if b.host() == host {
			b.gone.Store(true)
			delete(r.buckets, k)
			b.Dismiss()
			if b.Store != nil {
				go b.Close() // it takes a round trip; what it cannot give back is lost for a moment
			}
		}
	}
}

// bucket returns the most specific bucket of the request, the others are its
// parents, and the routes by which it was found.
func (r *router) bucket(t *Transport, req *http.Request) (*bucket, *routes) {
	for {
		rs := r.table.Load()
		b := r.lookup(t, rs, req)
		if b == nil {
			continue // the table was replaced meanwhile
		}
		if ns := b.names.Load(); ns != nil && ns.split.Load() {
			if b = r.named(t, b, ns.of(req)); b == nil {
				continue // it was forgotten
			}
		}
		return b, rs
	}
}

// lookup returns the bucket of the request's host or pattern, nil if rs is not in force
// any more.
func (r *router) lookup(t *Transport, rs *routes, req *http.Request) *bucket {
	if t.Key != nil || rs.mux != nil {
		return r.find(t, rs, req)
	}
	c := rs.recent.Load()
	if c != nil && c.host == req.URL.Host && c.scheme == req.URL.Scheme && !c.bucket.gone.Load() {
		c.bucket.use(r.era.Load())
		return c.bucket
	}
	b := r.find(t, rs, req)
	if b == nil {
		return nil
	}
	c = b.spelled.Load()
	if c == nil || c.host != req.URL.Host || c.scheme != req.URL.Scheme {
		c = &recent{req.URL.Scheme, req.URL.Host, b}
		b.spelled.Store(c)
	}
	rs.recent.Store(c)
	return b
}

// use notes that the bucket was looked up.
func (b *bucket) use(era int32) {
	if b.era.Load() != era {
		b.era.Store(era)
	}
}

// find looks the bucket up, and makes it if there is none. It returns nil if rs is not
// in force any more.
func (r *router) find(t *Transport, rs *routes, req *http.Request) *bucket {
	k := key{host: authority(req.URL)}
	if t.Key != nil {
		k.tenant = t.Key(req)
	}
	var m match[throttle.Quotas]
	if rs.mux != nil {
		m = rs.match(req)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.table.Load() != rs {
		return nil
	}
	b := r.buckets[k.String()]
	if b == nil {
		b = r.add(t, k, rs, hostname(req.URL), nil)
	}
	b.use(r.era.Load()) // before another is added, for which idle ones may be forgotten
	if m.target != nil {
		k.pattern, k.values = m.target.pattern, m.values
		host := b
		if b = r.buckets[k.String()]; b == nil {
			b = r.add(t, k, rs, host.hostname, host)
		}
		b.use(r.era.Load())
	}
	return b
}

// label is what errors and hooks call the bucket: the host, or the pattern with
// the values of its wildcards.
func (k key) label() string {
	name := k.host
	if k.pattern != "" {
		name = k.pattern
		values := strings.Split(k.values, "\x00")
		for i, w := range wildcards(k.pattern) {
			name = strings.Replace(strings.Replace(name, "{"+w+"}", values[i], 1), "{"+w+"...}", values[i], 1)
		}
		if !strings.Contains(name, k.host) {
			name += " at " + k.host
		}
	}
	if k.name != "" {
		name += " (" + k.name + ")"
	}
	if k.tenant != "" {
		name += " for " + k.tenant
	}
	return name
}

// shared is the label by which processes share the bucket, without what may be a credential.
func (k key) shared() string {
	if k.tenant != "" {
		k.tenant = digest(k.tenant)
	}
	return k.label()
}

// add adds a bucket, and forgets idle ones if there are too many.
func (r *router) add(t *Transport, k key, rs *routes, hostname string, parent *bucket) *bucket {
	b := &bucket{key: k, hostname: hostname, parent: parent}
	b.quotas = rs.of(b)
	b.Name, b.Quotas, b.SlowStart, b.Rand = k.label(), b.quotas, true, t.Rand
	b.MaxWait, b.MaxQueue, b.MaxHold, b.IdleAfter = t.maxWait(), t.MaxQueue, t.MaxHold, t.IdleAfter
	b.Ageing, b.Reserve, b.Spend = t.Ageing, t.Reserve, t.Spend
	b.budget.Ratio = t.BudgetRatio
	if t.Store != nil && len(b.quotas) > 0 {
		b.Store, b.StoreName, b.Outage, b.Late = t.Store, k.shared(), t.Outage, t.Late
	}
	if parent != nil {
		b.Parent = &parent.Limiter
		parent.children++
	}
	r.buckets[k.String()] = b
	r.remind(b)
	b.use(r.era.Load())
	if len(r.buckets) > r.sweepAt {
		r.sweep()
	}
	return b
}

// State returns what the buckets look like now, in no particular order. Idle ones are
// forgotten sooner or later, and are not among them then.
func (t *Transport) State() []throttle.State {
	buckets := t.router.all()
	states := make([]throttle.State, len(buckets))
	for i, b := range buckets {
		states[i] = b.State()
	}
	return states
}

// all returns all buckets.
func (r *router) all() []*bucket {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.buckets))
}

// sweep forgets the buckets that were not looked up since the last sweep and that
// forgetting loses nothing of: nobody waits, nothing is in flight, no hold or
// limit is in force. Twice as many as remain are then allowed, so that a look-up
// costs a constant number of steps on average.
func (r *router) sweep() {
	for depth := range 3 { // children first, which keep their parents
		for k, b := range r.buckets {
			if b.depth() == 2-depth && r.forget(b) {
				delete(r.buckets, k)
			}
		}
	}
	r.table.Load().recent.Store(nil)
	r.era.Add(1)
	r.sweepAt = max(fewBuckets, 2*len(r.buckets))
}

// forget reports whether b may be forgotten, and marks it as gone then.
func (r *router) forget(b *bucket) bool {
	if b.era.Load() == r.era.Load() || b.children > 0 || b.open.Load() > 0 {
		return false
	}
	// Whoever has looked it up and not joined yet will see, after joining, that
	// it is gone; whoever has joined before keeps it from being idle.
	b.gone.Store(true)
	if !b.Idle() {
		b.gone.Store(false)
		return false
	}
	b.Release()
	if b.Store != nil {
		go b.Close() // it takes a round trip
	}
	if b.parent != nil {
		b.parent.children--
	}
	return true
}

// depth is how many buckets b lies in: a host none, its patterns one, and what the server
// names one more.
func (b *bucket) depth() (n int) {
	for p := b.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

// hostname returns that of u in lower case.
func hostname(u *url.URL) string { return strings.ToLower(u.Hostname()) }

// authority returns the host and port of u in lower case, without the port that
// its scheme implies.
func authority(u *url.URL) string {
	host := u.Host
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' {
			host = strings.ToLower(host)
			break
		}
	}
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return host
}
