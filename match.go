package pacer

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// patterns finds what is kept under the patterns of http.ServeMux for a request: under
// that of its host alone, and under the most specific other one.
type patterns[T any] struct {
	hosts map[string]T          // of patterns that are a host and nothing else; "" for "/"
	all   map[string]*target[T] // all, under what is registered
	mux   *http.ServeMux        // of all; nil if there are only hosts

	mu   sync.Mutex // protects less
	less map[string]*http.ServeMux
}

// target is the handler of a pattern: it tells which pattern matched, and the
// values of its wildcards.
type target[T any] struct {
	pattern string
	names   []string
	value   T
}

// match receives what a target tells. It is a ResponseWriter so that ServeMux can
// pass it on; nothing is ever written.
type match[T any] struct {
	target     *target[T] // nil if none but that of the host matched
	values     string     // of its wildcards
	redirected bool
}

func (m *match[T]) Header() http.Header         { return http.Header{} }
func (m *match[T]) Write(p []byte) (int, error) { return len(p), nil }
func (m *match[T]) WriteHeader(status int)      { m.redirected = status/100 == 3 }

// ServeHTTP implements http.Handler.
func (p *target[T]) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	m := w.(*match[T])
	if _, ok := hostOf(p.pattern); ok {
		return
	}
	values := make([]string, len(p.names))
	for i, name := range p.names {
		values[i] = req.PathValue(name)
	}
	m.target, m.values = p, strings.Join(values, "\x00")
}

// newPatterns registers values under their patterns. The error says which is none.
func newPatterns[T any](values map[string]T) (*patterns[T], error) {
	ps := &patterns[T]{hosts: map[string]T{}, all: map[string]*target[T]{}}
	for pattern, value := range values {
		ps.all[bare(pattern)] = &target[T]{pattern, wildcards(pattern), value}
		if host, ok := hostOf(pattern); ok {
			ps.hosts[host] = value
		}
	}
	mux, err := ps.without(nil)
	if err == nil && len(ps.all) > len(ps.hosts) {
		ps.mux = mux
	}
	return ps, err
}

// without returns a ServeMux of all patterns but some.
func (ps *patterns[T]) without(some []string) (*http.ServeMux, error) {
	mux := http.NewServeMux()
	for _, pattern := range slices.Sorted(maps.Keys(ps.all)) {
		if slices.Contains(some, pattern) {
			continue
		}
		if err := register(mux, pattern, ps.all[pattern]); err != nil {
			return nil, fmt.Errorf("[%q]: want a pattern of http.ServeMux: %w", pattern, err)
		}
	}
	return mux, nil
}

// host returns what is kept under the pattern of the host of u.
func (ps *patterns[T]) host(hostname string) T {
	if v, ok := ps.hosts[hostname]; ok {
		return v
	}
	return ps.hosts[""]
}

// match asks the ServeMux, which there must be. It is given a request of its own, since it writes to
// what it is given, and one with a clean path, since it redirects others.
//
// Where "/tree/" is a pattern and "/tree" is asked for, a ServeMux redirects to
// "/tree/", whatever else matches. Here the request is not one to "/tree/": it is
// looked up once more among the other patterns.
func (ps *patterns[T]) match(req *http.Request) (m match[T]) {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	u, host := req.URL, hostname(req.URL)
	if method == http.MethodConnect || !isClean(u) {
		u = cleanURL(u)
		u.Host = host // a CONNECT is looked up under it, and others under Host
	}
	var skipped []string
	for mux := ps.mux; ; mux = ps.lessOf(skipped) {
		m = match[T]{}
		mux.ServeHTTP(&m, &http.Request{Method: method, Host: host, URL: u})
		if !m.redirected {
			return m
		}
		// Of a CONNECT the ServeMux does not say which pattern it is that redirects; it is
		// that of what it redirects to.
		_, pattern := mux.Handler(&http.Request{Method: method, Host: host, URL: u.JoinPath("/")})
		if ps.all[pattern] == nil || slices.Contains(skipped, pattern) {
			return match[T]{}
		}
		skipped = append(skipped, pattern)
	}
}

// lessOf is without, remembered: there are no more of them than patterns that end
// in a slash lie within one another.
func (ps *patterns[T]) lessOf(some []string) *http.ServeMux {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	key := strings.Join(some, "\x00")
	mux := ps.less[key]
	if mux == nil {
		mux, _ = ps.without(some) // there was no conflict with all of them
		if ps.less == nil {
			ps.less = map[string]*http.ServeMux{}
		}
		ps.less[key] = mux
	}
	return mux
}

// isClean reports whether cleanURL would surely change nothing.
func isClean(u *url.URL) bool {
	clean := func(p string) bool {
		return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
	}
	return clean(u.Path) && (u.RawPath == "" || clean(u.RawPath))
}

// cleanURL returns u with its path as a ServeMux wants it: rooted, and without "//",
// "." and "..".
func cleanURL(u *url.URL) *url.URL {
	c := *u
	escaped := u.EscapedPath()
	clean := path.Clean("/" + escaped)
	if strings.HasSuffix(escaped, "/") && clean != "/" {
		clean += "/"
	}
	if clean != escaped {
		if p, err := url.PathUnescape(clean); err == nil {
			c.Path, c.RawPath = p, clean
		}
	}
	return &c
}
