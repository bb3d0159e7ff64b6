package pacer

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/headers"
)

// names tells the requests of one bucket apart by what their answers say that they drew
// on (headers.Limit.Bucket): GitHub counts searches beside the rest of its API, Discord
// groups its routes. When a second one was named twice, or is used up, each gets a bucket
// of its own below that of all: the others need not wait for it. Which one a request
// belongs to is known from the latest answer to its like.
type names struct {
	first string
	split atomic.Bool // they have buckets

	mu     sync.Mutex // protects the fields below
	rumour string     // was named once
	known  []string   // have buckets
	root   place
	places int
}

// place is a part of a path, or the method. All requests below it draw on name, or, if it
// is mixed, those of which nothing is known further down.
type place struct {
	name  string
	mixed bool
	next  map[string]*place
}

// Bounds of what a server can make a Transport remember of one bucket.
const (
	maxNames  = 64
	maxPlaces = 1024
	maxDepth  = 8  // parts of a path, with the method
	maxPart   = 64 // bytes
	overview  = 2  // depth to which places are known that are not mixed
)

// drewOn returns what an answer says that the request drew on, empty if nothing or more
// than one.
func drewOn(limits []headers.Limit) (name string) {
	for i := range limits {
		switch b := limits[i].Bucket; {
		case b == "" || b == name:
		case name != "":
			return ""
		default:
			name = b
		}
	}
	return name
}

// parts are those of a path, the method first.
func parts(req *http.Request) []string {
	buf := make([]string, 1, maxDepth)
	buf[0] = req.Method
	for part := range strings.SplitSeq(strings.Trim(req.URL.Path, "/"), "/") {
		if len(buf) == maxDepth {
			break
		}
		buf = append(buf, part)
	}
	return buf
}

// note takes in that req drew on name, of which nothing remains if it is spent, and reports
// whether that is to have a bucket of its own.
func (ns *names) note(req *http.Request, name string, spent bool) bool {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.root.note(parts(req), name, &ns.places)
	switch {
	case slices.Contains(ns.known, name):
		return true
	case name == ns.first || len(ns.known) >= maxNames:
		return false
	case len(ns.known) == 0 && !spent && ns.rumour != name:
		ns.rumour = name
		return false
	}
	if len(ns.known) == 0 {
		ns.known = append(ns.known, ns.first)
	}
	ns.known = append(ns.known, name)
	return true
}

// of returns what req is thought to draw on.
func (ns *names) of(req *http.Request) string {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if name := ns.root.of(parts(req)); slices.Contains(ns.known, name) {
		return name
	}
	return ns.first
}

// note takes in that a request to a place below p drew on name. Only where that is not
// the same for all, it is looked at more closely.
func (p *place) note(parts []string, name string, places *int) {
	for depth, part := range parts {
		p.mixed = p.mixed || p.name != name
		if !p.mixed && depth >= overview {
			return
		}
		next := p.next[part]
		if next == nil {
			if *places >= maxPlaces || len(part) > maxPart {
				return
			}
			*places++
			if p.next == nil {
				p.next = map[string]*place{}
			}
			next = &place{name: name}
			p.next[strings.Clone(part)] = next
		}
		p = next
	}
	p.name = name // of the latest
}

// of returns what requests to a place below p draw on.
func (p *place) of(parts []string) string {
	for p.mixed && len(parts) > 0 && p.next[parts[0]] != nil {
		p, parts = p.next[parts[0]], parts[1:]
	}
	return p.name
}

// sort returns the bucket to which a request that was granted by b belongs, since it drew
// on name, of which nothing remains if it is spent.
func (r *router) sort(t *Transport, b *bucket, req *http.Request, name string, spent bool) *bucket {
	all := b.all()
	ns := all.names.Load()
	if ns == nil {
		ns = &names{first: name, root: place{name: name}}
		if !all.names.CompareAndSwap(nil, ns) {
			ns = all.names.Load()
		}
	}
	switch own := ns.note(req, name, spent); {
	case !own && ns.split.Load():
		name = ns.first // there are too many
	case !own:
		return all
	case !ns.split.Load():
		defer all.Freeze()()
	}
	own := r.named(t, all, name)
	if own == nil {
		return b // which was forgotten
	}
	if !ns.split.Swap(true) {
		r.named(t, all, ns.first)
		all.Dismiss() // who waits belongs elsewhere
	}
	return own
}

// named returns the bucket below b of requests that draw on name, nil if b was forgotten.
func (r *router) named(t *Transport, b *bucket, name string) *bucket {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.gone.Load() {
		return nil
	}
	k := b.key
	k.name = name
	own := r.buckets[k.String()]
	if own == nil {
		own = r.add(t, k, r.table.Load(), b.hostname, b)
		b.Part(name, &own.Limiter)
	}
	own.use(r.era.Load())
	return own
}

// all is the bucket of all names.
func (b *bucket) all() *bucket {
	if b.key.name != "" {
		return b.parent
	}
	return b
}

// host is the bucket of the whole host.
func (b *bucket) host() *bucket {
	for b.parent != nil {
		b = b.parent
	}
	return b
}
