package pacer

import (
	"errors"
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
	hosts map[string]throttle.Quotas // of patterns that are a host and nothing else; "" for "/"
	mux   *http.ServeMux             // of all patterns; nil if there are only hosts

	mu      sync.Mutex // protects the fields below
	buckets map[string]*bucket
	sweepAt int // how many buckets there may be before idle ones are forgotten

	era    atomic.Int32           // counts sweeps
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
}

// String is the key in the map of buckets. That of a host alone, which most are,
// is the host as it stands.
func (k key) String() string {
	if k.tenant == "" && k.pattern == "" {
		return k.host
	}
	return strings.Join([]string{k.host, k.tenant, k.pattern, k.values}, "\x00")
}

// bucket is what requests draw on together.
type bucket struct {
	throttle.Limiter
	budget backoff.Budget // retries of failures

	era  atomic.Int32 // when it was looked up last
	gone atomic.Bool  // it was forgotten: look it up again

	spelled atomic.Pointer[recent] // as the latest request spelled its host

	parent   *bucket
	children int // protected by router.mu
}

// fewBuckets is how many buckets are kept without looking whether they are still
// of use. Above it, those that idle and have not been used for a while are
// forgotten whenever their number has doubled.
const fewBuckets = 1024

// init checks the patterns and quotas of t.
func (r *router) init(t *Transport) error {
	r.hosts, r.buckets, r.sweepAt = map[string]throttle.Quotas{}, map[string]*bucket{}, fewBuckets
	mux := http.NewServeMux()
	for _, pattern := range slices.Sorted(maps.Keys(t.Quotas)) {
		quotas := t.Quotas[pattern]
		if err := quotas.Validate(); err != nil {
			return fmt.Errorf("pacer: Quotas[%q]: %w", pattern, err)
		}
		if err := matchable(pattern); err != nil {
			return fmt.Errorf("pacer: Quotas[%q]: %w", pattern, err)
		}
		if err := register(mux, pattern, &route{pattern, wildcards(pattern), quotas}); err != nil {
			return fmt.Errorf("pacer: Quotas[%q]: want a pattern of http.ServeMux: %w", pattern, err)
		}
		if host, ok := hostOf(pattern); ok {
			r.hosts[host] = quotas
		} else {
			r.mux = mux
		}
	}
	return nil
}

// matchable finds mistakes that ServeMux lets pass, and with which no request would
// ever match.
func matchable(pattern string) error {
	host, _, _ := strings.Cut(pattern[strings.LastIndexAny(pattern, " \t")+1:], "/")
	switch {
	case strings.Contains(pattern, "://"):
		return errors.New(`want a pattern without a scheme, as "api.example.com/"`)
	case host != strings.ToLower(host):
		return fmt.Errorf("want the host in lower case: %q", strings.ToLower(host))
	case strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":"):
		return errors.New("want the host without a port: a pattern is for all ports of a host")
	}
	return nil
}

// register turns the panics of ServeMux, which name the mistake, into errors.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// hostOf returns the host of a pattern that is a host and nothing else: "host/".
// That of "/" is empty.
func hostOf(pattern string) (host string, ok bool) {
	host, path, _ := strings.Cut(pattern, "/")
	return host, path == "" && !strings.ContainsAny(host, " \t")
}

// wildcards returns the names in a pattern: those of "/{a}/{b...}" are a and b.
func wildcards(pattern string) (names []string) {
	for _, part := range strings.Split(pattern, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if name != "$" {
			names = append(names, strings.TrimSuffix(name, "..."))
		}
	}
	return names
}

// bucket returns the most specific bucket of the request; the others are its
// parents.
func (r *router) bucket(t *Transport, req *http.Request) *bucket {
	simple := t.Key == nil && r.mux == nil
	if simple {
		if c := r.recent.Load(); c != nil && c.host == req.URL.Host && c.scheme == req.URL.Scheme {
			c.bucket.use(r.era.Load())
			return c.bucket
		}
	}
	b := r.find(t, req)
	if simple {
		c := b.spelled.Load()
		if c == nil || c.host != req.URL.Host || c.scheme != req.URL.Scheme {
			c = &recent{req.URL.Scheme, req.URL.Host, b}
			b.spelled.Store(c)
		}
		r.recent.Store(c)
	}
	return b
}

// use notes that the bucket was looked up.
func (b *bucket) use(era int32) {
	if b.era.Load() != era {
		b.era.Store(era)
	}
}

func (r *router) find(t *Transport, req *http.Request) *bucket {
	k := key{host: authority(req.URL)}
	if t.Key != nil {
		k.tenant = t.Key(req)
	}
	var m match
	if r.mux != nil {
		m = r.match(req)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[k.String()]
	if b == nil {
		b = r.add(t, k, r.quotas(req.URL), nil)
	}
	if m.route != nil {
		k.pattern, k.values = m.route.pattern, m.values
		host := b
		if b = r.buckets[k.String()]; b == nil {
			b = r.add(t, k, m.route.quotas, host)
			host.children++
		}
		host.use(r.era.Load())
	}
	b.use(r.era.Load())
	return b
}

// quotas returns those of the host's own pattern.
func (r *router) quotas(u *url.URL) throttle.Quotas {
	if qs, ok := r.hosts[strings.ToLower(u.Hostname())]; ok {
		return qs
	}
	return r.hosts[""]
}

// name is what errors and hooks call the bucket: the host, or the pattern with
// the values of its wildcards.
func (k key) name() string {
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
	if k.tenant != "" {
		name += " for " + k.tenant
	}
	return name
}

// add makes a bucket, and forgets idle ones if there are too many.
func (r *router) add(t *Transport, k key, quotas throttle.Quotas, parent *bucket) *bucket {
	b := &bucket{parent: parent}
	b.Name, b.Quotas, b.SlowStart, b.Rand = k.name(), quotas, true, t.Rand
	b.MaxWait, b.MaxQueue, b.MaxHold, b.IdleAfter = t.maxWait(), t.MaxQueue, t.MaxHold, t.IdleAfter
	b.budget.Ratio = t.BudgetRatio
	if parent != nil {
		b.Parent = &parent.Limiter
	}
	r.buckets[k.String()] = b
	b.use(r.era.Load())
	if len(r.buckets) > r.sweepAt {
		r.sweep()
	}
	return b
}

// State returns what the buckets look like now, in no particular order. Idle ones are
// forgotten sooner or later, and are not among them then.
func (t *Transport) State() []throttle.State {
	t.router.mu.Lock()
	buckets := slices.Collect(maps.Values(t.router.buckets))
	t.router.mu.Unlock()
	states := make([]throttle.State, len(buckets))
	for i, b := range buckets {
		states[i] = b.State()
	}
	return states
}

// sweep forgets the buckets that were not looked up since the last sweep and that
// forgetting loses nothing of: nobody waits, nothing is in flight, no hold or
// limit is in force. Twice as many as remain are then allowed, so that a look-up
// costs a constant number of steps on average.
func (r *router) sweep() {
	era := r.era.Load()
	for k, b := range r.buckets {
		if b.era.Load() == era || b.children > 0 {
			continue
		}
		// Whoever has looked it up and not joined yet will see, after joining, that
		// it is gone; whoever has joined before keeps it from being idle.
		b.gone.Store(true)
		if !b.Idle() {
			b.gone.Store(false)
			continue
		}
		delete(r.buckets, k)
		if b.parent != nil {
			b.parent.children--
		}
	}
	r.recent.Store(nil)
	r.era.Add(1)
	r.sweepAt = max(fewBuckets, 2*len(r.buckets))
}

// route is the handler of a pattern: it tells which pattern matched, and the
// values of its wildcards.
type route struct {
	pattern string
	names   []string
	quotas  throttle.Quotas
}

// match receives what a route tells. It is a ResponseWriter so that ServeMux can
// pass it on; nothing is ever written.
type match struct {
	http.ResponseWriter
	route  *route
	values string
}

func (m *match) Header() http.Header         { return http.Header{} }
func (m *match) Write(p []byte) (int, error) { return len(p), nil }
func (m *match) WriteHeader(int)             {}

// ServeHTTP implements http.Handler.
func (p *route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	m := w.(*match)
	if _, ok := hostOf(p.pattern); ok {
		return
	}
	values := make([]string, len(p.names))
	for i, name := range p.names {
		values[i] = req.PathValue(name)
	}
	m.route, m.values = p, strings.Join(values, "\x00")
}

// match asks the ServeMux. It is given a request of its own, since it writes to
// what it is given.
func (r *router) match(req *http.Request) match {
	var m match
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	u := *req.URL
	if u.Path == "" {
		u.Path = "/"
	}
	r.mux.ServeHTTP(&m, &http.Request{Method: method, Host: strings.ToLower(u.Hostname()), URL: &u})
	return m
}

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
