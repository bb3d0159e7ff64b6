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
	mux     *http.ServeMux       // finds all entries; nil if each is a host and nothing else
	trees   *http.ServeMux       // finds only patterns that end in "/" or "{x...}"; nil if mux is nil
}

// entry is a pattern and its value. It is also the http.Handler of the pattern.
type entry[T any] struct {
	pattern   string
	hostOnly  bool     // the pattern is a host and nothing else
	tail      bool     // the pattern ends in "{x...}"
	wildcards []string // their names
	value     T
}

// New returns the set of those values whose patterns are valid, and the mistake of each other pattern: what
// Check finds, what ServeMux refuses, or a conflict with a valid pattern that comes before it in the order
// of strings.
func New[T any](values map[string]T) (s *Set[T], mistakes map[string]error) {
	s, mistakes = empty[T](), map[string]error{}
	for _, pattern := range slices.Sorted(maps.Keys(values)) {
		err := Check(pattern)
		if err == nil {
			err = s.add(pattern, values[pattern])
		}
		if err != nil {
			mistakes[pattern] = err
		}
	}
	if len(s.entries) == len(s.hosts) {
		s.mux, s.trees = nil, nil
		return s, mistakes
	}
	// A request that no pattern matches gets a handler as well. Otherwise the ServeMux would write an
	// error, for which it collects the methods of all patterns. If "/" or "/{x...}" is a pattern already,
	// register fails, and that is fine.
	none := &entry[T]{hostOnly: true}
	for _, mux := range []*http.ServeMux{s.mux, s.trees} {
		_ = register(mux, "/", none)
	}
	return s, mistakes
}

func empty[T any]() *Set[T] {
	return &Set[T]{hosts: map[string]T{}, entries: map[string]*entry[T]{}, mux: http.NewServeMux(), trees: http.NewServeMux()}
}

// add puts a value into a set that is being made.
func (s *Set[T]) add(pattern string, value T) error {
	host, alone := HostOnly(pattern)
	e := &entry[T]{pattern, alone, strings.HasSuffix(pattern, "...}"), wildcards(pattern), value}
	err := register(s.mux, pattern, e)
	if err == nil && (strings.HasSuffix(pattern, "/") || e.tail) {
		err = register(s.trees, pattern, e)
	}
	if err != nil {
		return fmt.Errorf("want a pattern of http.ServeMux: %w", err)
	}
	s.entries[pattern] = e
	if alone {
		s.hosts[host] = value
	}
	return nil
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
func (s *Set[T]) HostsOnly() bool { return s.mux == nil }

// OfHost returns what is kept for a host as a whole: under the pattern of hostname, or, if there is none,
// under "/". hostname must be in the form of Hostname.
func (s *Set[T]) OfHost(hostname string) T {
	if v, ok := s.hosts[hostname]; ok {
		return v
	}
	return s.hosts[""]
}
