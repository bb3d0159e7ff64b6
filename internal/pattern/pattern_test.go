package pattern

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, pattern := range []string{
		"/", "/v1/", "GET /v1/{id}", "api.example.com/", "GET api.example.com/search/", "GET\t api.example.com/a b/C",
		"M-SEARCH api.example.com/{$}", "under_score.example/", "xn--bcher-kva.example/", "10.0.0.1/x",
		"[::1]/", "GET [2001:db8::1]/x/{y...}", "localhost/100%/%2F/a:b@c", "CONNECT api.example.com/", "a.example/./../%2e%2e"[:10],
		"a.example/%2e%2e/x", "a.example/..a/b..", "GET a.example/a A:1/",
		"a.example/v1/%3Aid", "a.example/v1/x:batch", "a.example/a%7Cb", "get/", "GET /", "GET get/",
	} {
		if err := Check(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		ps, mistakes := New(map[string]bool{pattern: true})
		if len(mistakes) > 0 || !ps.Reachable(pattern) {
			t.Errorf("%q: no request matches, %v", pattern, mistakes)
		}
	}
	for pattern, want := range map[string]string{
		"https://api.example.com/":           `without a scheme, since it is for all of them: "api.example.com/"`,
		"GET http://api.example.com/x":       `without a scheme, since it is for all of them: "GET api.example.com/x"`,
		"GET  https://API.example.com.:8443": `without a scheme, since it is for all of them: "GET api.example.com/"`,
		"https://[::1]:8443/x":               `without a scheme, since it is for all of them: "[::1]/x"`,
		"https://*.example.com/":             "without a scheme, since it is for all of them",
		"api.example.com/p/http://x/":        "without a scheme",
		" api.example.com/":                  "without a blank before it",
		"\tapi.example.com/":                 "without a blank before it",
		"api.example.com/a\x00b":             "without a zero byte",
		"get api.example.com/":               `the method in upper case: "GET"`,
		"Post api.example.com/":              `the method in upper case: "POST"`,
		"api.example.com /x":                 `a blank between a method and a host alone, not behind "api.example.com" ("%20" is one that belongs to the path)`,
		"api.example.com/a b":                `not behind "api.example.com/a"`,
		"API.example.com/":                   `the host in lower case: "api.example.com/"`,
		"GET bÜcher.example/":                `the host in lower case: "GET xn--bcher-kva.example/"`,
		"GET bücher.example/x":               `the host in ASCII, as requests send it: "GET xn--bcher-kva.example/x"`,
		"http://bücher.example:80/x":         `without a scheme, since it is for all of them: "xn--bcher-kva.example/x"`,
		"bücher.example.:80/x":               `without a port, since a pattern is for all ports of a host: "xn--bcher-kva.example/x"`,
		"api.example.com:8080/":              `without a port, since a pattern is for all ports of a host: "api.example.com/"`,
		"GET api.example.com.:80/a/b":        `without a port, since a pattern is for all ports of a host: "GET api.example.com/a/b"`,
		"[::1]:80/":                          `without a port, since a pattern is for all ports of a host: "[::1]/"`,
		"api.example.com./":                  `without the dot behind it, which makes no difference: "api.example.com/"`,
		"POST api.example.com":               `want a path after the host: "POST api.example.com/" is all of it`,
		"api.example.com":                    `want a path after the host: "api.example.com/" is all of it`,
		"default":                            `want a path after the host: "default/" is all of a host of that name, and "/" is for each that is not named`,
		"* api.example.com/":                 "without a method, if it is for all of them",
		"api.example.com/users/*":            "want {name} for a part of the path, or {name...} for the rest, not '*'",
		"GET /v1/*/posts":                    "want {name} for a part of the path, or {name...} for the rest, not '*'",
		"api.example.com/v1/:id":             `want {id} for a part of the path, not ":id" ("%3A" is a ':' that belongs to the path)`,
		"GET /:user/repos":                   `want {user} for a part of the path, not ":user"`,
		"api.example.com/:":                  `want {name} for a part of the path, not ":"`,
		"api.example.com/:a-b/":              `want {name} for a part of the path, not ":a-b"`,
		"GET|POST api.example.com/":          `want a pattern for each method: "GET api.example.com/" and "POST api.example.com/"`,
		"get,post,put api.example.com/x":     `want a pattern for each method: "GET api.example.com/x" and "POST api.example.com/x" and "PUT api.example.com/x"`,
		"GET, POST api.example.com/":         `want a pattern for each method`,
		"GET | POST api.example.com/":        `want a pattern for each method`,
		"GET POST api.example.com/":          `want a pattern for each method: "GET api.example.com/" and "POST api.example.com/"`,
		"GET HEAD /x":                        `want a pattern for each method: "GET /x" and "HEAD /x"`,
		"GET api.example.com /x":             `no ' '`,
		"api.example.com/(search|users)":     `want a pattern for each path, since '|' has no meaning in one ("%7C" is a '|' that belongs to the path)`,
		"GET /search|/users":                 `want a pattern for each path, since '|' has no meaning in one`,
		"GET":                                `want a path after the method, such as "GET /"`,
		"DELETE ":                            `want a path after the method, such as "DELETE /"`,
		" PATCH":                             `want a path after the method, such as "PATCH /"`,
		":80/":                               "without a port",
		"::1/":                               `in brackets, and in its shortest form: "[::1]"`,
		"[0:0::1]/":                          `in brackets, and in its shortest form: "[::1]"`,
		"[2001:DB8::1]/":                     `in brackets, and in its shortest form: "[2001:db8::1]"`,
		"[fe80::1%25eth0]/":                  "without a zone",
		"[10.0.0.1]/":                        "want an IPv6 address in brackets",
		"[api.example.com]/":                 "want an IPv6 address in brackets",
		"*.example.com/":                     `no '*'`,
		"GET *.example.com/x":                `no '*'`,
		"user@api.example.com/":              `no '@'`,
		"api.example.com?x=1/":               `no '?'`,
		"a%62.example/":                      `no '%'`,
		"api.example.com,b.example/":         `no ','`,
		".example.com/":                      `want a host, not ".example.com"`,
		"api..example.com/":                  `want a host, not "api..example.com"`,
		"☃.example/":                         "no '☃'",
		"api.example.com/search?q=1":         "without a query or a fragment",
		"api.example.com/search#top":         "without a query or a fragment",
		"api.example.com/a//b":               `a clean path, as those of requests are made before they are looked up: "api.example.com/a/b"`,
		"api.example.com//":                  `: "api.example.com/"`,
		"//api.example.com/":                 `: "/api.example.com/"`,
		"api.example.com/a/../b/":            `: "api.example.com/b/"`,
		"api.example.com/a/.":                `: "api.example.com/a"`,
		"GET api.example.com/./a":            `: "GET api.example.com/a"`,
		"CONNECT api.example.com/{a}//":      `: "CONNECT api.example.com/{a}/"`,
		"api.example.com/ ":                  "without a blank behind it",
		"GET api.example.com/x\t":            "without a blank behind it",
		":8443/":                             "since a pattern is for all ports of a host",
	} {
		if err := Check(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", pattern, err, want)
		}
	}
}

// TestCheckIsRight compares, for patterns of random parts, with requests of
// random parts: what is refused matches none, and what is not matches the one that
// Reachable makes. What is refused as a mistake, although a request could be written
// in that way, is not among the parts.
func TestCheckIsRight(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 1))
	hosts := []string{"", "a.example", "A.example", "a.example:80", "[::1]", "::1", "[::1]:80", "[0::1]"}
	segments := []string{"", "", "a", "b%2Fc", "..", ".", "%2e%2e", "%", "x y", "A", "{x}", "{y}", "{z...}", "{$}"}
	some := func(from []string) string { return from[r.IntN(len(from))] }
	path := func() (p string) {
		for range 1 + r.IntN(3) {
			p += "/" + some(segments)
		}
		return p
	}
	var requests []*http.Request
	for _, host := range []string{"a.example", "A.Example", "a.example:80", "[::1]", "[::1]:80", "[0::1]", "b.example"} {
		for range 40 {
			escaped := strings.NewReplacer("x y", "x%20y", "{", "%7B", "}", "%7D", "%/", "%25/").Replace(path() + "/")
			if r.IntN(2) == 0 {
				escaped = strings.TrimSuffix(escaped, "/")
			}
			u, err := url.Parse("https://" + host + escaped)
			if err != nil || strings.Contains(escaped, "%2e") {
				continue // ".." is matched by it, but nobody means that
			}
			requests = append(requests, &http.Request{Method: some([]string{"", "GET", "POST", "CONNECT"}), URL: u})
		}
	}
	refused, accepted := 0, 0
	for range 2000 {
		pattern := some(hosts) + path()
		if method := some([]string{"", "GET", "POST", "CONNECT"}); method != "" {
			pattern = method + " " + pattern
		}
		if register(http.NewServeMux(), pattern, answers) != nil {
			continue // ServeMux says it
		}
		ps := empty[bool]()
		ps.add(pattern, true)
		ps.index()
		if Check(pattern) == nil {
			accepted++
			if !ps.Reachable(pattern) {
				t.Errorf("%q: no request matches, want it refused", pattern)
			}
			continue
		}
		if strings.Contains(pattern, "//") || strings.Contains(pattern, "::1/") && !strings.Contains(pattern, "[") {
			continue // an empty segment is taken for a wildcard, and an address is matched without brackets
		}
		refused++
		for _, req := range requests {
			if m := ps.Match(req); m.Pattern != "" {
				t.Errorf("%q is refused (%v), and matched by %q", pattern, Check(pattern), req.URL)
			}
		}
	}
	if refused < 100 || accepted < 100 {
		t.Errorf("%d were refused, %d accepted, want more", refused, accepted)
	}
}

func TestReachable(t *testing.T) {
	for _, test := range []struct{ patterns, never string }{
		{"h/a/ GET", ""},
		{"h/a/{x} h/a/b h/a/{$} h/a/", ""},
		{"h/a/{$} h/a/{x} h/a/{x}/ h/a/", "h/a/"}, // one of them for whatever there is below
		{"h/a/{$} h/a/{x} h/a/{x}/{$} h/a/{x}/{y...}", ""},
		{"h/a/{$} h/a/{x} h/a/{x}/{$} h/a/{x}/{y} h/a/", ""},
		{"h/a/{$} h/a/{x} h/a/{x}/{$} h/a/{x}/{y} h/a/{x}/{y}/ h/a/", "h/a/"},
		{"h/{$} h/{x} h/{x}/ h/", ""}, // that of the host is for all
		{"/{$} /{x} /{x}/ /", ""},
		{"h/%2e%2e/a%2Fb/%/{x}", ""},
		{"[::1]/x [::1]/", ""},
	} {
		values := map[string]bool{}
		for _, pattern := range strings.Fields(test.patterns) {
			if strings.Contains(pattern, "/") {
				values[pattern] = true
			}
		}
		ps, mistakes := New(values)
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		for pattern := range values {
			if got, want := ps.Reachable(pattern), pattern != test.never; got != want {
				t.Errorf("%q of %q is reachable: %v, want %v", pattern, test.patterns, got, want)
			}
		}
	}
}

func TestHostOnly(t *testing.T) {
	for pattern, want := range map[string]string{
		"/": "", "a.example/": "a.example", "[::1]/": "::1",
		"GET a.example/": "no", "a.example/x": "no", "/x": "no", "a.example/{$}": "no", "[::1]/x": "no", "GET /": "no",
	} {
		host, ok := HostOnly(pattern)
		if !ok {
			host = "no"
		}
		if host != want {
			t.Errorf("%q: got %q, want %q", pattern, host, want)
		}
	}
}

// TestMatchIPv6: a URL has the brackets, and its Hostname has not.
func TestMatchIPv6(t *testing.T) {
	ps, mistakes := New(map[string]string{"[::1]/": "host", "GET [::1]/a/{x}": "route", "/": "all"})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	u, err := url.Parse("http://[::1]:8080/a/b")
	if err != nil {
		t.Fatal(err)
	}
	m := ps.Match(&http.Request{URL: u})
	if got := ps.OfHost(Hostname(u)); got != "host" || m.Pattern == "" || m.Value != "route" || m.Values != "b" {
		t.Errorf("got %q and %+v", got, m)
	}
}

// TestASCII: hosts as net/http writes them into the header of a request; what it would not send remains.
func TestASCII(t *testing.T) {
	for host, want := range map[string]string{
		"API.example:443":          "api.example:443",
		"bücher.example":           "xn--bcher-kva.example",
		"BÜCHER.example.:8443":     "xn--bcher-kva.example.:8443",
		"xn--BCHER-kva.example":    "xn--bcher-kva.example",
		"[FE80::1%25Ü]:80":         "[fe80::1%25ü]:80",
		"ü/x":                      "ü/x",
		"ü\r\nHost: b.example\r\n": "ü\r\nhost: b.example\r\n",
		"":                         "",
	} {
		if got := ASCII(host); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}
