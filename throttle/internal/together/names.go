package together

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gopacer/pacer/quota"
)

// names finds out which requests of one bucket draw on which limit, if the server says so in its
// answers (quota.Statement.Counter): GitHub counts searches apart from the rest of its API, Discord
// groups its routes. Requests that draw on a limit of their own need a bucket of their own, so that
// other requests need not wait for that limit.
//
// In come answers, each with the verb and path of its request and the name of the limit (Note); out
// come the names that need buckets of their own, and the name on which a request is expected to
// draw (Of): that of the latest answer to the same verb and path, or to the nearest path that is
// known.
type names struct {
	first     string   // the name of the first answer
	candidate string   // the latest other name that was seen once, while there is one bucket for all
	separate  []string // the names that have buckets of their own; none while there is one bucket for all
	root      place
	places    int // how many there are below root

	before map[uint64]string // what an earlier run knew of places, by their digests: as root, but for those that were met since
}

// place is the verb or one part of a path, in a tree. All requests to places below it draw on name;
// or, if the place is mixed, only those whose own place is not in the tree.
type place struct {
	name  string
	mixed bool
	below map[string]*place
}

// These bound what a server can make a bucket remember.
const (
	maxNames  = 64
	maxPlaces = 1024
	maxDepth  = 8  // the verb and the first parts of the path
	maxPart   = 64 // bytes of a part
	overview  = 2  // places up to this depth are in the tree even if the place above is not mixed
)

// maxName is more than the 64 bytes that package headers reads of a name.
const maxName = 256

// Short returns what an answer states, and what it says that the request drew on, by names that can be saved,
// as text of maxName bytes at most: for another one a digest stands, which the server's next answers have as
// well.
func Short(statements []quota.Statement, name string) ([]quota.Statement, string) {
	if slices.ContainsFunc(statements, func(st quota.Statement) bool { return !saves(st.Name) || !saves(st.Counter) }) {
		statements = slices.Clone(statements) // they are the caller's
		for i := range statements {
			st := &statements[i]
			st.Name, st.Counter = short(st.Name), short(st.Counter)
		}
	}
	return statements, short(name)
}

// saves reports whether a name is the same when it was saved. What is no UTF-8 would not be, such as a header
// in Latin-1.
func saves(name string) bool { return len(name) <= maxName && utf8.ValidString(name) }

func short(name string) string {
	if saves(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// newNames returns the names of a bucket after one answer that says on which limit it drew.
func newNames(name string) *names {
	first := strings.Clone(name) // the text of an answer is not kept
	return &names{first: first, root: place{name: first}}
}

// First returns the name of the first answer.
func (n *names) First() string { return n.first }

// Note takes in that a request drew on name; usedUp says that nothing remains of that limit, or too
// little for the request. It returns the name under which such requests count from now on, and whether they
// need a bucket of their own:
//
//   - The first name does not, before there are others that do.
//   - The second name does when it is seen again, if no third was seen in between; or at once, if
//     its limit is used up.
//   - From then on, each new name does at once. If there are too many, the others count as the first.
func (n *names) Note(verb, path, name string, usedUp bool) (of string, own bool) {
	stored := n.stored(name)
	var buf [maxDepth]string
	all := parts(buf[:0], verb, path)
	n.forget(all)
	n.root.note(all, stored, &n.places)
	switch {
	case slices.Contains(n.separate, stored):
		return stored, true
	case stored == n.first || len(n.separate) >= maxNames:
		return n.first, false
	case len(n.separate) == 0 && !usedUp && n.candidate != stored:
		n.candidate = stored
		return stored, false
	}
	if len(n.separate) == 0 {
		n.separate = append(n.separate, n.first)
	}
	n.separate = append(n.separate, stored)
	return stored, true
}

// stored returns the name as a string that may be kept: one that is kept already, or a copy, because
// the name is a part of the answer's text.
func (n *names) stored(name string) string {
	if i := slices.Index(n.separate, name); i >= 0 {
		return n.separate[i]
	}
	switch name {
	case n.first:
		return n.first
	case n.candidate:
		return n.candidate
	}
	return strings.Clone(name)
}

// Of returns the name on which a request is expected to draw.
func (n *names) Of(verb, path string) string {
	var buf [maxDepth]string
	all := parts(buf[:0], verb, path)
	name, ok := n.recall(all)
	if !ok {
		name = n.root.of(all)
	}
	if slices.Contains(n.separate, name) {
		return name
	}
	return n.first
}

// parts appends the verb and the first parts of the path to all, which has none of them.
func parts(all []string, verb, path string) []string {
	all = append(all, verb)
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if len(all) == maxDepth {
			break
		}
		all = append(all, part)
	}
	return all
}

// note takes in that a request to a place below p drew on name. A place is divided further only
// where requests below it draw on different names.
func (p *place) note(parts []string, name string, places *int) {
	for depth, part := range parts {
		p.mixed = p.mixed || p.name != name
		if !p.mixed && depth >= overview {
			return
		}
		next := p.below[part]
		if next == nil {
			if *places >= maxPlaces || len(part) > maxPart {
				return
			}
			*places++
			if p.below == nil {
				p.below = map[string]*place{}
			}
			next = &place{name: name}
			p.below[strings.Clone(part)] = next
		}
		p = next
	}
	p.name = name // of the latest
}

// of returns the name on which requests to a place below p are expected to draw.
func (p *place) of(parts []string) string {
	for _, part := range parts {
		next := p.below[part]
		if next == nil {
			break
		}
		p = next
	}
	return p.name
}
