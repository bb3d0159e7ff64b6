package counter

import (
	"maps"
	"slices"
	"strings"

	"github.com/gopacer/pacer/throttle/internal/alike"
)

// leaf is a kind of request that the server may count on its own: a verb and a path, in which ids are stars.
type leaf struct {
	at      *node
	counter *counter

	limit       int64 // that it states; zero if it is not known
	limitBefore int64 // that it stated before
	limitHeard  uint64
	flips       int // how often it stated a limit that it had stated before

	chain        chain  // of its own answers: instances of a server contradict each other here, too
	compared     int    // how often that could be compared
	contradicted int    // and how often it could not be of one counter
	points       int    // for belonging to its counter
	against      uint64 // the answer that counted against it last
	latest       said
	mark         said // see unit
	used         used
}

// node is a place in the tree of leaves: a verb, or a part of a path.
type node struct {
	parent *node
	key    string
	below  map[string]*node
	star   *node // for all that looks like an id, and for what is not in below if the place is full
	full   bool
	leaf   *leaf
}

// star is the key of a node for ids.
const star = alike.Star

// leafOf returns the leaf of a request, a new one if there is none; nil if there are too many.
func (r *Router) leafOf(verb, path string) *leaf {
	n := &r.root
	for depth, part := range parts(verb, path) {
		if n = r.below(n, part, depth); n == nil {
			return nil
		}
	}
	if n.leaf == nil {
		if len(r.leaves) >= maxLeaves {
			return nil
		}
		l := &leaf{at: n}
		n.leaf = l
		l.counter = r.expected(l)
		r.leaves = append(r.leaves, l)
	}
	return n.leaf
}

// known returns the leaf of a request, nil if there is none; and the keys of the place where it is, or would
// be.
func (r *Router) known(verb, path string) (l *leaf, keys []string) {
	n := &r.root
	for depth, part := range parts(verb, path) {
		if isStar(part, depth) || n != nil && n.below[part] == nil && (n.full || len(n.below) >= maxChildren) {
			part = star
		}
		keys = append(keys, part)
		switch {
		case n == nil:
		case part == star:
			n = n.star
		default:
			n = n.below[part]
		}
	}
	if n == nil {
		return nil, keys
	}
	return n.leaf, keys
}

// isStar reports whether a part is not a place of its own, wherever it is.
func isStar(part string, depth int) bool {
	return depth == 0 && len(part) > maxPart || depth > 0 && alike.LooksLikeID(part)
}

// below returns the place of a part below n, and makes it if there is none. It returns nil if there are too
// many leaves.
func (r *Router) below(n *node, part string, depth int) *node {
	if isStar(part, depth) {
		return r.starOf(n)
	}
	if next := n.below[part]; next != nil {
		return next
	}
	if !n.full && len(n.below) >= maxChildren {
		r.collapse(n)
	}
	if n.full {
		return r.starOf(n)
	}
	if len(r.leaves) >= maxLeaves {
		return nil // each new place has a new leaf
	}
	if n.below == nil {
		n.below = map[string]*node{}
	}
	next := &node{parent: n, key: strings.Clone(part)}
	next.full = len(r.fullBefore) > 0 && r.fullBefore[next.digest()]
	n.below[next.key] = next
	return next
}

func (r *Router) starOf(n *node) *node {
	if n.star == nil && len(r.leaves) < maxLeaves {
		n.star = &node{parent: n, key: star}
		n.star.full = len(r.fullBefore) > 0 && r.fullBefore[n.star.digest()]
	}
	return n.star
}

// collapse makes one star of the places below n: they are names of users, or the like. Only those stay that are
// known to be counted elsewhere than most of them.
func (r *Router) collapse(n *node) {
	n.full = true
	r.starOf(n)
	counts := map[*counter]int{}
	for _, b := range n.below {
		counts[b.counter()]++
	}
	var most *counter
	for _, c := range r.counters {
		if counts[c] > counts[most] || most == nil {
			most = c
		}
	}
	if n.star == nil || most == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.below)) {
		if b := n.below[key]; b.counter() == most && (n.star.leaf == nil || n.star.leaf.counter == most) {
			delete(n.below, key)
			r.graft(n.star, b)
		}
	}
}

// counter is the counter of all leaves at n and below it; nil if there are several.
func (n *node) counter() (c *counter) {
	differ := false
	n.each(func(l *leaf) {
		differ = differ || c != nil && c != l.counter
		c = l.counter
	})
	if differ {
		return nil
	}
	return c
}

// each calls f for all leaves at n and below it.
func (n *node) each(f func(*leaf)) {
	if n.leaf != nil {
		f(n.leaf)
	}
	for _, b := range n.below {
		b.each(f)
	}
	if n.star != nil {
		n.star.each(f)
	}
}

// graft adds all that is at from and below it to n.
func (r *Router) graft(n, from *node) {
	switch l := from.leaf; {
	case l == nil:
	case n.leaf == nil:
		n.leaf, l.at = l, n
	default:
		r.leaves = slices.DeleteFunc(r.leaves, func(o *leaf) bool { return o == l })
	}
	if from.star != nil {
		if n.star == nil {
			n.star = &node{parent: n, key: star}
		}
		r.graft(n.star, from.star)
	}
	n.full = n.full || from.full
	for _, key := range slices.Sorted(maps.Keys(from.below)) {
		next := n.below[key]
		if next == nil {
			if n.below == nil {
				n.below = map[string]*node{}
			}
			next = &node{parent: n, key: key}
			n.below[key] = next
		}
		r.graft(next, from.below[key])
	}
}

// expected returns the counter to which a new leaf is taken to belong: the one for all, while there is no
// other; that of all leaves that are as long and have its verb, its first and its last part, if they have one
// in common, since a part between these may be the name of a user; else a new one.
func (r *Router) expected(l *leaf) (c *counter) {
	if c = r.recall(l); c != nil {
		return c
	}
	if len(r.counters) == 0 && !r.split {
		return r.add(false)
	}
	if !r.split || len(r.counters) >= maxCounters {
		return r.counters[0]
	}
	if c = r.alike(l.at.parts()); c == nil {
		c = r.add(false)
		c.name = r.nameFor(l, c)
	}
	return c
}

// alike returns the counter of all leaves that resemble a place of these keys; nil if there are several, or
// none.
func (r *Router) alike(mine []string) (c *counter) {
	for _, o := range r.leaves {
		if p := o.at.parts(); len(p) == len(mine) && p[0] == mine[0] && p[1] == mine[1] && p[len(p)-1] == mine[len(p)-1] {
			if c != nil && c != o.counter {
				return nil
			}
			c = o.counter
		}
	}
	return c
}

// parts are the keys from the verb to n.
func (n *node) parts() (keys []string) {
	for ; n.parent != nil; n = n.parent {
		keys = append(keys, n.key)
	}
	slices.Reverse(keys)
	return keys
}

// text is what people call n: "GET /users/*".
func (n *node) text() string {
	p := n.parts()
	return strings.TrimSpace(p[0] + " /" + strings.Join(p[1:], "/"))
}

// parts returns the verb and the first parts of a path. There is at least one part, which may be empty.
func parts(verb, path string) []string {
	buf := make([]string, 1, maxDepth)
	buf[0] = verb
	path, _, _ = strings.Cut(path, "?")
	part, rest, more := alike.Cut(strings.Trim(path, "/"))
	for buf = append(buf, part); more && len(buf) < maxDepth; buf = append(buf, part) {
		part, rest, more = alike.Cut(rest)
	}
	return buf
}
