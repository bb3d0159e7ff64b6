// Package pattern keeps values under the patterns of [http.ServeMux], such as "GET
// api.example.com/v1/{id}", and finds the value of a request.
//
// In come patterns, and requests, of which only the method and the URL are read. Out come the mistakes in a
// pattern, and the most specific pattern of a request with the values of its wildcards. A [Set] is made
// once and never changed: it has no lock and no cache. The package does not know what the values mean, and
// imports nothing of this module.
package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split takes a pattern apart as ServeMux does. The path begins with a slash, or is empty if the pattern
// has none.
func Split(pattern string) (method, host, path string) {
	rest := pattern
	if i := strings.IndexAny(pattern, " \t"); i >= 0 {
		method, rest = pattern[:i], strings.TrimLeft(pattern[i:], " \t")
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return method, rest[:i], rest[i:]
	}
	return method, rest, ""
}

// Check finds mistakes in a pattern that ServeMux accepts although no request would ever match the pattern,
// and a zero byte, which separates the parts of keys made from patterns. The mistakes that ServeMux itself
// refuses are found by New.
func Check(pattern string) error {
	method, host, p := Split(pattern)
	switch alone := strings.TrimSpace(pattern); {
	case alone == "":
		return errors.New(`want a pattern: "api.example.com/" is a host, and "/" each that is not named`)
	case slices.Contains(Methods, alone):
		return fmt.Errorf("want a path after the method, such as %q", alone+" /")
	case strings.Contains(pattern, "://"):
		return errors.New("want a pattern without a scheme, since it is for all of them" + instead(pattern))
	case strings.HasPrefix(pattern, " "), strings.HasPrefix(pattern, "\t"):
		return errors.New("want a pattern without a blank before it")
	case strings.HasSuffix(pattern, " "), strings.HasSuffix(pattern, "\t"):
		return errors.New("want a pattern without a blank behind it")
	case strings.Contains(pattern, "\x00"):
		return errors.New(`want a pattern without a zero byte ("%00" is one that belongs to the path)`)
	case len(eachMethod(pattern)) > 0:
		return errors.New("want a pattern for each method: " + strings.Join(eachMethod(pattern), " and "))
	case strings.ContainsAny(method, "./"):
		return fmt.Errorf(`want a blank between a method and a host alone, not behind %q ("%%20" is one that belongs to the path)`, method)
	case method != strings.ToUpper(method):
		return fmt.Errorf("want the method in upper case: %q", strings.ToUpper(method))
	case method == "*":
		return errors.New("want a pattern without a method, if it is for all of them")
	}
	if err := checkHost(pattern, host); err != nil {
		return err
	}
	all := strings.TrimLeft(method+" "+host+"/", " ")
	switch {
	case host != "" && p == "" && !strings.ContainsAny(host, ".:"): // perhaps a word for all hosts
		return fmt.Errorf(`want a path after the host: %q is all of a host of that name, and "/" is for each that is not named`, all)
	case host != "" && p == "":
		return fmt.Errorf("want a path after the host: %q is all of it", all)
	}
	return checkPath(method, host, p)
}

// checkPath is Check for the path of the pattern.
func checkPath(method, host, p string) error {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	_, colon, isColon := strings.Cut(p, "/:")
	colon, _, _ = strings.Cut(colon, "/")
	switch {
	case strings.ContainsAny(p, "?#"):
		return errors.New(`want a path without a query or a fragment, which are not looked at ("%3F" and "%23" are a '?' and a '#' that belong to the path)`)
	case p != "" && p != clean:
		return fmt.Errorf("want a clean path, as those of requests are made before they are looked up: %q", strings.TrimLeft(method+" "+host+clean, " "))
	case strings.Contains(p, "*"):
		return errors.New(`want {name} for a part of the path, or {name...} for the rest, not '*' ("%2A" is a '*' that belongs to the path)`)
	case strings.Contains(p, "|"):
		return errors.New(`want a pattern for each path, since '|' has no meaning in one ("%7C" is a '|' that belongs to the path)`)
	case isColon:
		name := colon
		if register(http.NewServeMux(), "/{"+name+"}", http.NotFoundHandler()) != nil {
			name = "name" // what stands there can be none
		}
		return fmt.Errorf(`want {%s} for a part of the path, not %q ("%%3A" is a ':' that belongs to the path)`, name, ":"+colon)
	}
	return nil
}

// Methods are those of net/http.
var Methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodOptions,
	http.MethodTrace,
}

// eachMethod returns what is meant by a pattern with several methods, "GET|POST /" or "GET POST /": a pattern
// for each, quoted.
func eachMethod(pattern string) (patterns []string) {
	head, p, _ := strings.Cut(pattern, "/")
	words := strings.FieldsFunc(head, func(c rune) bool { return strings.ContainsRune("|, \t", c) })
	isMethod := func(word string) bool { return slices.Contains(Methods, strings.ToUpper(word)) }
	_, host, _ := Split(pattern)
	blanks := len(words) > 1 && isMethod(words[0]) && isMethod(words[1]) && strings.ContainsAny(host, " \t") // "GET get/" has a host
	if !blanks && (!strings.ContainsAny(head, "|,") || !slices.ContainsFunc(words, isMethod)) {
		return nil
	}
	host = ""
	if last := len(words) - 1; !isMethod(words[last]) {
		host, words = words[last], words[:last]
	}
	for _, method := range words {
		patterns = append(patterns, fmt.Sprintf("%q", strings.ToUpper(method)+" "+host+"/"+p))
	}
	return patterns
}

// instead returns the pattern that was meant, as the end of an error: without its scheme, its port and the dot
// behind its host, in lower case and ASCII. It returns nothing if that is no pattern either.
func instead(pattern string) string {
	if scheme, rest, ok := strings.Cut(pattern, "://"); ok {
		method := ""
		if i := strings.LastIndexAny(scheme, " \t"); i >= 0 {
			method = scheme[:i+1]
		}
		pattern = method + rest
	}
	method, host, p := Split(pattern)
	meant := (&url.URL{Host: host}).Hostname()
	if strings.Contains(meant, ":") {
		meant = "[" + meant + "]"
	}
	meant = strings.TrimSuffix(ASCII(meant), ".")
	if p == "" {
		p = "/"
	}
	if method != "" {
		method += " "
	}
	whole := method + meant + p
	if meant == "" || Check(whole) != nil {
		return ""
	}
	return fmt.Sprintf(": %q", whole)
}

// checkHost is Check for the host of the pattern. A request is looked up by the [Hostname] of its URL.
func checkHost(pattern, host string) error {
	inner, bracket := strings.CutPrefix(host, "[")
	address, closed := strings.CutSuffix(inner, "]")
	ip, err := netip.ParseAddr(address)
	switch {
	case err == nil && ip.Is6():
		return checkIPv6(host, ip)
	case bracket && closed:
		return fmt.Errorf("want an IPv6 address in brackets, not %q", host)
	}
	return checkName(pattern, host)
}

// checkIPv6 is checkHost for an address.
func checkIPv6(host string, ip netip.Addr) error {
	switch {
	case ip.Zone() != "":
		return errors.New("want an IPv6 address without a zone, which means something on one machine only")
	case host != "["+ip.String()+"]":
		return fmt.Errorf("want an IPv6 address in brackets, and in its shortest form: %q", "["+ip.String()+"]")
	}
	return nil
}

// checkName is checkHost for what is no address, or one of IPv4.
func checkName(pattern, host string) error {
	switch {
	case host != strings.ToLower(host):
		return errors.New("want the host in lower case" + instead(pattern))
	case strings.Contains(host, ":"):
		return errors.New("want the host without a port, since a pattern is for all ports of a host" + instead(pattern))
	case strings.HasSuffix(host, "."):
		return errors.New("want the host without the dot behind it, which makes no difference" + instead(pattern))
	case strings.HasPrefix(host, "."), strings.Contains(host, ".."):
		return fmt.Errorf(`want a host, not %q: a pattern is for one, and "/" for each that is not named`, host)
	}
	for _, c := range host {
		if c < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-._{", c) || c >= 0x80 && !unicode.In(c, unicode.L, unicode.M, unicode.N) {
			return fmt.Errorf(`want a host, in which there can be no %q: a pattern is for one, and "/" for each that is not named`, c)
		}
	}
	if host != ASCII(host) {
		return errors.New("want the host in ASCII, as requests send it" + instead(pattern))
	}
	return nil // ServeMux itself refuses '{'
}

// withoutBrackets returns the pattern as it is registered: without the brackets around an IPv6 address,
// since requests are looked up by Hostname, which has none.
func withoutBrackets(pattern string) string {
	if _, host, _ := Split(pattern); strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return strings.Replace(pattern, host, host[1:len(host)-1], 1)
	}
	return pattern
}

// register registers the pattern with mux. Where ServeMux panics, register returns an error of one line.
// The text of the panic also names the source lines that registered the pattern; register leaves these out.
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
	mux.Handle(withoutBrackets(pattern), h)
	return nil
}

// HostOnly reports whether a pattern is a host and nothing else, as "api.example.com/" is, and returns that
// host in the form of [Hostname]. The pattern "/" stands for all hosts: its host is empty.
func HostOnly(pattern string) (host string, ok bool) {
	host, path, _ := strings.Cut(withoutBrackets(pattern), "/")
	return host, path == "" && !strings.ContainsAny(host, " \t")
}

// Hostname returns the host of u by which a request is looked up: as of ASCII, without a port, without the dot
// behind it that makes a name absolute, and without the brackets around an IPv6 address, which is in its
// shortest form.
func Hostname(u *url.URL) string {
	if IsPlain(u.Host) {
		return u.Host
	}
	host := strings.TrimSuffix((&url.URL{Host: ASCII(u.Host)}).Hostname(), ".")
	if strings.Contains(host, ":") {
		if ip, err := netip.ParseAddr(host); err == nil {
			return ip.String()
		}
	}
	return host
}

// ASCII returns the host of a URL, possibly with a port, as the header of a request tells it the server: in
// lower case, and in Punycode (RFC 3492) where it is not ASCII, so that "bücher.example" and
// "xn--bcher-kva.example" are one host. A host that cannot be sent is returned in lower case.
func ASCII(host string) string {
	host = strings.ToLower(host)
	if strings.HasPrefix(host, "[") || !strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return host
	}
	var header strings.Builder // net/http has the table, and exports nothing else that uses it
	if (&http.Request{URL: &url.URL{Host: host}}).Write(&header) != nil {
		return host
	}
	_, sent, _ := strings.Cut(header.String(), "\r\nHost: ")
	sent, _, _ = strings.Cut(sent, "\r\n")
	return cmp.Or(sent, host)
}

// IsPlain reports whether the host of a URL is its Hostname already, as nearly each is: it has no character in
// upper case, no port, no bracket, no dot behind it, and is ASCII.
func IsPlain(host string) bool {
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' || c == ':' || c == '[' || c >= utf8.RuneSelf {
			return false
		}
	}
	return !strings.HasSuffix(host, ".")
}

// wildcards returns the names of the wildcards in a pattern: for "/{a}/{b...}", a and b.
func wildcards(pattern string) (names []string) {
	for _, part := range strings.Split(pattern, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		if name != "$" {
			names = append(names, strings.TrimSuffix(name, "..."))
		}
	}
	return names
}

// Fill returns the pattern with each wildcard replaced by its value. values must be those of [Set.Match]
// for this pattern.
func Fill(pattern, values string) string {
	filled, each := pattern, strings.Split(values, "\x00")
	for i, name := range wildcards(pattern) {
		filled = strings.Replace(strings.Replace(filled, "{"+name+"}", each[i], 1), "{"+name+"...}", each[i], 1)
	}
	return filled
}
