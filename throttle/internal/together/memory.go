package together

import (
	"slices"
	"strconv"
)

// memory returns what is known of places, by their digests: which of the names requests to them draw on.
func (n *names) memory(of []string) map[string]int {
	m := map[string]int{}
	add := func(digest uint64, name string) {
		if i := slices.Index(of, name); i >= 0 {
			m[strconv.FormatUint(digest, 36)] = i
		}
	}
	for digest, name := range n.before {
		add(digest, name)
	}
	for part, p := range n.root.below {
		p.each(digestOf(digestStart, part), add)
	}
	return m
}

// each calls f for p, which has a digest, and all places below it.
func (p *place) each(digest uint64, f func(digest uint64, name string)) {
	f(digest, p.name)
	for part, b := range p.below {
		b.each(digestOf(digest, part), f)
	}
}

// restore takes over what an earlier run knew of places.
func (n *names) restore(places map[string]int, of []string) {
	for text, i := range places {
		digest, err := strconv.ParseUint(text, 36, 64)
		if err == nil && i >= 0 && i < len(of) && len(n.before) < maxPlaces {
			if n.before == nil {
				n.before = map[uint64]string{}
			}
			n.before[digest] = of[i]
		}
	}
}

// recall returns the name on which an earlier run expected a request to draw, if it knew more of its place than
// this run does: what it knew of places that were met since is forgotten.
func (n *names) recall(parts []string) (name string, ok bool) {
	if len(n.before) == 0 {
		return "", false
	}
	digest := digestStart
	for _, part := range parts {
		digest = digestOf(digest, part)
		if before, known := n.before[digest]; known {
			name, ok = before, true
		}
	}
	return name, ok
}

// forget forgets what an earlier run knew of a place, and of those above it, since it is met now.
func (n *names) forget(parts []string) {
	if len(n.before) == 0 {
		return
	}
	digest := digestStart
	for _, part := range parts {
		digest = digestOf(digest, part)
		delete(n.before, digest)
	}
}

// digestStart and the number in digestOf are those of FNV-1a.
const digestStart uint64 = 14695981039346656037

// digestOf returns the digest of a place below one that has a digest. It names the place without saying it.
func digestOf(above uint64, part string) uint64 {
	for i := range len(part) {
		above = (above ^ uint64(part[i])) * 1099511628211
	}
	return (above ^ '/') * 1099511628211
}
