package pattern

import (
	"net/http"
	"strings"
)

// paths are the patterns of one host: a tree of the segments of their paths for each method, and for no method
// under "". Requests are looked up as [http.ServeMux] does it.
type paths[T any] map[string]*node[T]

// node is where the segments of some patterns have led so far.
type node[T any] struct {
	entry    *entry[T]           // of the pattern that ends here; nil if none does
	literals map[string]*node[T] // by the next segment, unescaped; "/" if only a slash follows
	wild     *node[T]            // any next segment: "{x}"
	below    *entry[T]           // of the pattern for all that follows, that ends in "/" or "{x...}"; nil if there is none
}

// add puts in an entry. ServeMux must accept its pattern.
func (ps paths[T]) add(e *entry[T]) {
	method, _, p := Split(withoutBrackets(e.pattern))
	n := ps[method]
	if n == nil {
		n = &node[T]{}
		ps[method] = n
	}
	for i, segment := range strings.Split(p, "/")[1:] {
		switch name, wild := strings.CutPrefix(segment, "{"); {
		case segment == "":
			n.below = e
			return
		case !wild:
			n = n.literal(unescaped(segment))
		case name == "$}":
			n = n.literal("/")
		case e.tail && strings.HasSuffix(name, "...}"):
			e.places, n.below = append(e.places, i), e
			return
		default:
			e.places = append(e.places, i)
			if n.wild == nil {
				n.wild = &node[T]{}
			}
			n = n.wild
		}
	}
	n.entry = e
}

// literal returns the node that a literal segment leads to, and makes it if there is none.
func (n *node[T]) literal(segment string) *node[T] {
	next := n.literals[segment]
	if next == nil {
		if n.literals == nil {
			n.literals = map[string]*node[T]{}
		}
		next = &node[T]{}
		n.literals[segment] = next
	}
	return next
}

// find returns the entry of the most specific pattern for a method and an escaped path that begins with a
// slash; nil if there is none.
func (ps paths[T]) find(method, escaped string) *entry[T] {
	if ps == nil {
		return nil
	}
	e := ps[method].find(escaped)
	if e == nil && method == http.MethodHead {
		e = ps[http.MethodGet].find(escaped)
	}
	if e == nil && method != "" {
		e = ps[""].find(escaped)
	}
	return e
}

// find is paths.find for the rest of a path. No node is looked at twice: each has one way that leads to it.
func (n *node[T]) find(rest string) *entry[T] {
	switch {
	case n == nil:
		return nil
	case rest == "":
		return n.entry
	}
	segment, behind := firstSegment(rest)
	if n.literals != nil {
		if e := n.literals[unescaped(segment)].find(behind); e != nil {
			return e
		}
	}
	if n.wild != nil && segment != "/" && segment != "%2F" && segment != "%2f" { // those ServeMux takes for no segment
		if e := n.wild.find(behind); e != nil {
			return e
		}
	}
	return n.below
}

// firstSegment splits a path into its first segment, without the slash before it, and the rest. The segment of
// "/" is "/".
func firstSegment(path string) (segment, rest string) {
	if path == "/" {
		return "/", ""
	}
	segment = path[1:]
	if i := strings.IndexByte(segment, '/'); i >= 0 {
		return segment[:i], segment[i:]
	}
	return segment, ""
}

// values returns what the wildcards of e stand for in an escaped path that it matches, as Match has it.
func (e *entry[T]) values(escaped string) string {
	switch len(e.places) {
	case 0:
		return ""
	case 1:
		return e.valueAt(0, 0, escaped)
	}
	var all strings.Builder
	all.Grow(len(escaped))
	at, rest := 0, escaped
	for i, place := range e.places {
		for ; at < place; at++ {
			_, rest = firstSegment(rest)
		}
		if i > 0 {
			all.WriteByte(0)
		}
		all.WriteString(e.valueAt(i, at, rest))
	}
	return all.String()
}

// valueAt returns what a wildcard stands for. So many segments are not in the rest of the path.
func (e *entry[T]) valueAt(i, at int, rest string) string {
	for ; at < e.places[i]; at++ {
		_, rest = firstSegment(rest)
	}
	if e.tail && i == len(e.places)-1 {
		return escape(unescaped(rest[1:]), true)
	}
	segment, _ := firstSegment(rest)
	return escape(unescaped(segment), false)
}
