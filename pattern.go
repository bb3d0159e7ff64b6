package pacer

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// split takes a pattern apart as ServeMux does. The path begins with a slash, or is empty
// where there is none.
func split(pattern string) (method, host, path string) {
	rest := pattern
	if i := strings.IndexAny(pattern, " \t"); i >= 0 {
		method, rest = pattern[:i], strings.TrimLeft(pattern[i:], " \t")
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return method, rest[:i], rest[i:]
	}
	return method, rest, ""
}

// matchable finds mistakes that ServeMux lets pass, and with which no request would
// ever match.
func matchable(pattern string) error {
	method, host, p := split(pattern)
	switch {
	case strings.Contains(pattern, "://"):
		return errors.New(`want a pattern without a scheme, as "api.example.com/"`)
	case strings.HasPrefix(pattern, " "), strings.HasPrefix(pattern, "\t"):
		return errors.New("want a pattern without a blank before it")
	case method != strings.ToUpper(method):
		return fmt.Errorf("want the method in upper case: %q", strings.ToUpper(method))
	}
	if err := matchableHost(host); err != nil {
		return err
	}
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	switch {
	case strings.ContainsAny(p, "?#"):
		return errors.New(`want a path without a query or a fragment, which are not looked at ("%3F" and "%23" are a '?' and a '#' that belong to the path)`)
	case p != "" && p != clean:
		return fmt.Errorf("want a clean path, as those of requests are made before they are looked up: %q", clean)
	}
	return nil
}

// matchableHost is matchable for the host of a pattern. Requests are looked up by
// url.URL.Hostname in lower case.
func matchableHost(host string) error {
	inner, bracket := strings.CutPrefix(host, "[")
	address, closed := strings.CutSuffix(inner, "]")
	ip, notIP := netip.ParseAddr(address)
	switch {
	case bracket && closed && (notIP != nil || !ip.Is6()):
		return fmt.Errorf("want an IPv6 address in brackets, not %q", host)
	case notIP == nil && ip.Is6() && host != "["+ip.String()+"]":
		return fmt.Errorf("want an IPv6 address in brackets, and in its shortest form: %q", "["+ip.String()+"]")
	case notIP == nil && ip.Is6():
		return nil
	case host != strings.ToLower(host):
		return fmt.Errorf("want the host in lower case: %q", strings.ToLower(host))
	case strings.Contains(host, ":"):
		return errors.New("want the host without a port: a pattern is for all ports of a host")
	case strings.HasPrefix(host, "."), strings.Contains(host, ".."):
		return fmt.Errorf(`want a host, not %q: a pattern is for one, and "/" for each that is not named`, host)
	}
	for _, c := range host {
		if c < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-._{", c) || c >= 0x80 && !unicode.In(c, unicode.L, unicode.M, unicode.N) {
			return fmt.Errorf(`want a host, in which there can be no %q: a pattern is for one, and "/" for each that is not named`, c)
		}
	}
	return nil // ServeMux itself finds '{'
}

// bare returns the pattern as requests are looked up: url.URL.Hostname has no brackets.
func bare(pattern string) string {
	if _, host, _ := split(pattern); strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return strings.Replace(pattern, host, host[1:len(host)-1], 1)
	}
	return pattern
}

// register turns the panics of ServeMux, which name the mistake, into errors of one
// line, which do not name the lines of this package.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprint(p)
			for {
				before, rest, found := strings.Cut(text, " (registered at ")
				_, after, closed := strings.Cut(rest, ")")
				if !found || !closed {
					break
				}
				text = before + after
			}
			err = errors.New(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' }), " "))
		}
	}()
	mux.Handle(bare(pattern), h)
	return nil
}

// hostOf returns the host of a pattern that is a host and nothing else, as
// url.URL.Hostname has it: "host/". That of "/" is empty.
func hostOf(pattern string) (host string, ok bool) {
	host, path, _ := strings.Cut(bare(pattern), "/")
	return host, path == "" && !strings.ContainsAny(host, " \t")
}

// wildcards returns the names in a pattern: those of "/{a}/{b...}" are a and b.
func wildcards(pattern string) (names []string) {
	for _, part := range strings.Split(pattern, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if name != "$" {
			names = append(names, strings.TrimSuffix(name, "..."))
		}
	}
	return names
}

// reachable reports whether any request is looked up under the pattern, one of ps.
//
// A request with a method and segments that no pattern names, where this one has none or
// a wildcard, is one of those that most easily match it: what is more specific and
// matches that one matches all of them. How many segments there are beyond those of the
// pattern is all that is left to try.
func reachable[T any](ps *patterns[T], pattern string) bool {
	if _, ok := hostOf(pattern); ok {
		return true
	}
	deepest, longest := 0, 0
	for other := range ps.all {
		deepest, longest = max(deepest, strings.Count(other, "/")), max(longest, len(other))
	}
	method, host, p := split(pattern)
	if method == "" {
		method = strings.Repeat("X", longest+1)
	}
	unnamed := "/" + strings.Repeat("x", longest+1)
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
			begin.WriteString("/" + spelled(segment))
		}
	}
	matches := func(escaped string) bool {
		u := &url.URL{Scheme: "https", Host: host}
		var err error
		if u.Path, err = url.PathUnescape(escaped); err != nil {
			return false
		}
		u.RawPath = escaped
		target := ps.match(&http.Request{Method: method, URL: u}).target
		return target != nil && target.pattern == pattern
	}
	if !more {
		return matches(begin.String())
	}
	for n := range deepest + 2 {
		rest := begin.String() + strings.Repeat(unnamed, n)
		if matches(rest+"/") || n > 0 && matches(rest) {
			return true
		}
	}
	return false
}

// spelled returns a literal segment of a pattern as a request may spell it.
func spelled(segment string) string {
	if s, err := url.PathUnescape(segment); err == nil {
		segment = s
	}
	if segment == "." || segment == ".." {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}
