package pattern

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Match is a pattern that a request matches, with what is kept under it. The zero Match means no pattern.
type Match[T any] struct {
	Pattern string
	Values  string // of its wildcards, in their order, each as escape returns it; a zero byte between each two
	Value   T
}

// Match returns the most specific pattern that the request matches. If that pattern is a host and nothing
// else, or if no pattern matches, the Match is zero; OfHost has the value then.
//
// The host of a request is that of its URL. A path is looked up as if it were clean.
func (s *Set[T]) Match(req *http.Request) (m Match[T]) {
	if s.mux == nil {
		return m
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	// The ServeMux is given a request of its own, since it writes to it, and a clean path, since it
	// redirects others.
	u, host := req.URL, Hostname(req.URL)
	if method == http.MethodConnect || !isClean(u) {
		u = cleanURL(u)
		u.Host = host // a ServeMux looks for it here if the method is CONNECT, and else in Request.Host
	}
	l := &lookup[T]{request: http.Request{Method: method, Host: host, URL: u}}
	if s.mux.ServeHTTP(l, &l.request); l.redirected {
		s.matchRedirected(l, u)
	}
	if l.entry != nil {
		m = Match[T]{l.entry.pattern, l.values, l.entry.value}
	}
	return m
}

// lookup is the request that a ServeMux is given, and the result that the handlers leave in it. A ServeMux
// passes its http.ResponseWriter to the handler, so lookup implements that interface; nothing is ever
// written.
type lookup[T any] struct {
	request    http.Request
	entry      *entry[T] // nil if no pattern matched, or only a host alone
	values     string    // of its wildcards
	redirected bool
}

// Header implements http.ResponseWriter.
func (l *lookup[T]) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (l *lookup[T]) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter. Only the ServeMux calls it, to redirect a request.
func (l *lookup[T]) WriteHeader(status int) { l.redirected = status/100 == 3 }

// ServeHTTP implements http.Handler. It notes in the lookup that the pattern of e matched.
func (e *entry[T]) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if e.hostOnly {
		return
	}
	l := w.(*lookup[T])
	l.entry = e
	switch len(e.wildcards) {
	case 0:
	case 1:
		l.values = escape(req.PathValue(e.wildcards[0]), e.tail)
	default:
		values := make([]string, len(e.wildcards))
		for i, name := range e.wildcards {
			values[i] = escape(req.PathValue(name), e.tail && i == len(values)-1)
		}
		l.values = strings.Join(values, "\x00")
	}
}

// escape returns the value of a wildcard with those characters escaped that have a meaning in Match.Values
// or in what Fill returns. Otherwise two lists of values could have the same text: "x\x00y" and "z" would
// look like "x" and "y\x00z". If slashes is set, slashes are kept: a wildcard "{x...}" is the last of its
// pattern, so they cannot be mistaken.
func escape(value string, slashes bool) string {
	for i := range len(value) { // strings.ContainsAny takes many times as long
		switch value[i] {
		case '%', '/', '{', ' ', 0:
			if slashes {
				return escapeTail.Replace(value)
			}
			return escapeSegment.Replace(value)
		}
	}
	return value
}

var (
	escapeTail    = strings.NewReplacer("%", "%25", "{", "%7B", " ", "%20", "\x00", "%00")
	escapeSegment = strings.NewReplacer("%", "%25", "{", "%7B", " ", "%20", "\x00", "%00", "/", "%2F")
)

// isClean reports whether cleanURL would certainly change nothing.
func isClean(u *url.URL) bool {
	clean := func(p string) bool {
		return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
	}
	return clean(u.Path) && (u.RawPath == "" || clean(u.RawPath))
}

// cleanURL returns u with its path as a ServeMux wants it: beginning with a slash, and without "//", "."
// and "..".
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

// matchRedirected is Match for a request that the ServeMux would redirect from "/a/tree" to "/a/tree/".
// Here, a request never stands for a request to another path, so the most specific pattern for "/a/tree"
// itself is wanted.
//
// A ServeMux redirects "/a/tree" only if no pattern matches it, or only trees: patterns for all paths below
// some path, such as "/a/" and "/{x...}". The trees that match "/a/tree" are the trees that match "/a/",
// since a tree matches all paths below its own. So matchRedirected looks up "/a/" among the trees, and for
// "/a/" no ServeMux redirects. The value of a wildcard "{x...}" then lacks the last segment, which is
// added.
func (s *Set[T]) matchRedirected(l *lookup[T], u *url.URL) {
	escaped := u.EscapedPath()
	end := strings.LastIndexByte(escaped, '/') + 1
	above := *u
	above.Path, above.RawPath = unescaped(escaped[:end]), escaped[:end]
	l.request.URL = &above
	s.trees.ServeHTTP(l, &l.request)
	if l.entry != nil && l.entry.tail {
		l.values += escape(unescaped(escaped[end:]), true)
	}
}

// unescaped returns a part of a path without its percent-escapes.
func unescaped(escaped string) string {
	if s, err := url.PathUnescape(escaped); err == nil {
		return s
	}
	return escaped
}
