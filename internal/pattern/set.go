package pattern

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Set is an immutable set of values, each under a pattern. Several goroutines may use it at the same time.
type Set[T any] struct {
	hosts   map[string]T         // values of patterns that are a host and nothing else; "/" is under ""
	entries map[string]*entry[T] // all entries, by pattern
	paths   map[string]paths[T]  // finds all entries, by host; those for all hosts are under ""; nil if each is a host and nothing else

	deepest, longest int // most slashes in a pattern, and most bytes
}

// entry is a pattern and its value.
type entry[T any] struct {
	pattern  string
	hostOnly bool  // the pattern is a host and nothing else
	tail     bool  // the pattern ends in "{x...}"
	places   []int // which segments of the path are wildcards
	value    T
}

// New returns the set of those values whose patterns are valid, and the mistake of each other pattern: what
// Check finds, what ServeMux refuses, or a conflict with a valid pattern that comes before it in the order
// of strings.
//
// Patterns of different hosts never conflict, so each host has a ServeMux of its own: it compares a new pattern
// with many that it has. A pattern that is alone at its host, and is nothing but the host, needs none.
func New[T any](values map[string]T) (s *Set[T], mistakes map[string]error) {
	s, mistakes = empty[T](), map[string]error{}
	atHost := map[string]int{} // how many patterns
	for pattern := range values {
		_, host, _ := Split(withoutBrackets(pattern))
		atHost[host]++
	}
	muxes := map[string]*http.ServeMux{} // of hosts
	for _, pattern := range slices.Sorted(maps.Keys(values)) {
		err := Check(pattern)
		_, host, _ := Split(withoutBrackets(pattern))
		_, alone := HostOnly(pattern)
		if accepted := alone && atHost[host] == 1 && !strings.Contains(host, "{"); err == nil && !accepted {
			if muxes[host] == nil {
				muxes[host] = http.NewServeMux()
			}
			if err = register(muxes[host], pattern, http.NotFoundHandler()); err != nil {
				err = fmt.Errorf("want a pattern of http.ServeMux: %w", err)
			}
		}
		if err != nil {
			mistakes[pattern] = err
			continue
		}
		s.add(pattern, values[pattern])
	}
	s.index()
	return s, mistakes
}

func empty[T any]() *Set[T] { return &Set[T]{hosts: map[string]T{}, entries: map[string]*entry[T]{}} }

// index makes the trees by which entries are found, when all are there.
func (s *Set[T]) index() {
	if len(s.entries) == len(s.hosts) {
		return
	}
	s.paths = map[string]paths[T]{}
	for _, e := range s.entries {
		_, host, _ := Split(withoutBrackets(e.pattern))
		if s.paths[host] == nil {
			s.paths[host] = paths[T]{}
		}
		s.paths[host].add(e)
	}
}

// add puts a value into a set that is being made.
func (s *Set[T]) add(pattern string, value T) {
	host, alone := HostOnly(pattern)
	s.entries[pattern] = &entry[T]{pattern: pattern, hostOnly: alone, tail: strings.HasSuffix(pattern, "...}"), value: value}
	s.deepest, s.longest = max(s.deepest, strings.Count(pattern, "/")), max(s.longest, len(pattern))
	if alone {
		s.hosts[host] = value
	}
}

// Value returns what is kept under a pattern. It returns the zero value if the set does not have the
// pattern.
func (s *Set[T]) Value(pattern string) (value T) {
	if e := s.entries[pattern]; e != nil {
		value = e.value
	}
	return value
}

// SamePatterns reports whether another set has the same patterns.
func (s *Set[T]) SamePatterns(other *Set[T]) bool {
	return maps.EqualFunc(s.entries, other.entries, func(_, _ *entry[T]) bool { return true })
}

// HostsOnly reports whether each pattern is a host and nothing else, so that Match never finds a pattern.
func (s *Set[T]) HostsOnly() bool { return s.paths == nil }

// OfHost returns what is kept for a host as a whole: under the pattern of hostname, or, if there is none,
// under "/". hostname must be in the form of Hostname.
func (s *Set[T]) OfHost(hostname string) T {
	if v, ok := s.hosts[hostname]; ok {
		return v
	}
	return s.hosts[""]
}
