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
	if s.paths == nil {
		return m
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	u, host := req.URL, Hostname(req.URL)
	if !isClean(u) {
		u = cleanURL(u)
	}
	escaped := u.EscapedPath()
	e := s.paths[host].find(method, escaped)
	if e == nil {
		e = s.paths[""].find(method, escaped)
	}
	if e != nil && !e.hostOnly {
		m = Match[T]{e.pattern, e.values(escaped), e.value}
	}
	return m
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

// unescaped returns a part of a path without its percent-escapes.
func unescaped(escaped string) string {
	if s, err := url.PathUnescape(escaped); err == nil {
		return s
	}
	return escaped
}
