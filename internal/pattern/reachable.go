package pattern

import (
	"net/http"
	"net/url"
	"strings"
)

// Reachable reports whether there is a request for which Match finds the pattern, which must be in s. If
// there is none, every request that matches the pattern has a more specific one.
//
// Reachable tries a few requests that match the pattern. Where the pattern has a wildcard or no method,
// these requests have a segment or a method that no pattern of s names. A more specific pattern that
// matches such a request has a wildcard in that place itself, so it also matches every request that differs
// in that place alone. So only the number of segments that follow the pattern has to be varied.
func (s *Set[T]) Reachable(pattern string) bool {
	if _, ok := HostOnly(pattern); ok {
		return true
	}
	method, host, p := Split(pattern)
	if method == "" {
		method = strings.Repeat("X", s.longest+1)
	}
	unnamed := "/" + strings.Repeat("x", s.longest+1)
	var begin strings.Builder
	more := false // segments may follow
	for _, segment := range strings.Split(p, "/")[1:] {
		switch {
		case segment == "" || strings.HasSuffix(segment, "...}"):
			more = true
		case segment == "{$}":
			begin.WriteString("/")
		case strings.HasPrefix(segment, "{"):
			begin.WriteString(unnamed)
		default:
			begin.WriteString("/" + escapedSegment(segment))
		}
	}
	matches := func(escaped string) bool {
		u := &url.URL{Scheme: "https", Host: host}
		var err error
		if u.Path, err = url.PathUnescape(escaped); err != nil {
			return false
		}
		u.RawPath = escaped
		return s.Match(&http.Request{Method: method, URL: u}).Pattern == pattern
	}
	if !more {
		return matches(begin.String())
	}
	for n := range s.deepest + 2 {
		rest := begin.String() + strings.Repeat(unnamed, n)
		if matches(rest+"/") || n > 0 && matches(rest) {
			return true
		}
	}
	return false
}

// escapedSegment returns a literal segment of a pattern as a request may write it.
func escapedSegment(segment string) string {
	if s, err := url.PathUnescape(segment); err == nil {
		segment = s
	}
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}
