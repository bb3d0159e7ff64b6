package adaptive

import (
	"slices"
	"strings"
)

// Names tells the requests of one bucket apart by what their answers say that they drew on
// (quota.Statement.Bucket): GitHub counts searches beside the rest of its API, Discord groups
// its routes. Requests that draw on a limit of their own need a bucket of their own, so that the
// others need not wait for that limit. Which limit a request will draw on is known from the
// latest answer to a request of the same verb to the same path, or to one near it.
type Names struct {
	first     string   // the first name
	candidate string   // another name that was seen once
	known     []string // those that have buckets of their own; nil while there is one bucket for all
	root      place
	places    int
}

// place is a part of a path, or the verb. All requests to places below it draw on name, or, if
// the place is mixed, those requests of which nothing is known further down.
type place struct {
	name  string
	mixed bool
	next  map[string]*place
}

// Bounds of what a server can make a bucket remember.
const (
	maxNames  = 64
	maxPlaces = 1024
	maxDepth  = 8  // parts of a path, with the verb
	maxPart   = 64 // bytes
	overview  = 2  // the depth to which places are known that are not mixed
)

// NewNames returns the names of a bucket of which one answer has spoken.
func NewNames(name string) *Names {
	first := strings.Clone(name) // the text of an answer is not kept
	return &Names{first: first, root: place{name: first}}
}

// First returns the first name.
func (n *Names) First() string { return n.first }

// Note takes in that a request drew on name, of which nothing remains if it is spent. It reports
// whether requests like it are to have a bucket of their own, and of which name: they are when a
// second name was seen twice, or is spent. Of too many names, all count as the first.
func (n *Names) Note(verb, path, name string, spent bool) (of string, own bool) {
	kept := n.own(name)
	n.root.note(parts(verb, path), kept, &n.places)
	switch {
	case slices.Contains(n.known, kept):
		return kept, true
	case kept == n.first || len(n.known) >= maxNames:
		return n.first, false
	case len(n.known) == 0 && !spent && n.candidate != kept:
		n.candidate = kept
		return kept, false
	}
	if len(n.known) == 0 {
		n.known = append(n.known, n.first)
	}
	n.known = append(n.known, kept)
	return kept, true
}

// own returns the same name as a text that may be kept.
func (n *Names) own(name string) string {
	if i := slices.Index(n.known, name); i >= 0 {
		return n.known[i]
	}
	switch name {
	case n.first:
		return n.first
	case n.candidate:
		return n.candidate
	}
	return strings.Clone(name)
}

// Of returns the name on which a request is thought to draw.
func (n *Names) Of(verb, path string) string {
	if name := n.root.of(parts(verb, path)); slices.Contains(n.known, name) {
		return name
	}
	return n.first
}

// parts returns the verb and the parts of the path.
func parts(verb, path string) []string {
	buf := make([]string, 1, maxDepth)
	buf[0] = verb
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if len(buf) == maxDepth {
			break
		}
		buf = append(buf, part)
	}
	return buf
}

// note takes in that a request to a place below p drew on name. Only where that is not the same
// for all requests, places are told apart further down.
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

// of returns the name on which requests to a place below p draw.
func (p *place) of(parts []string) string {
	for p.mixed && len(parts) > 0 && p.next[parts[0]] != nil {
		p, parts = p.next[parts[0]], parts[1:]
	}
	return p.name
}
