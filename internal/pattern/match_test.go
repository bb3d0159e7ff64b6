package pattern

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// named are patterns that are kept under their own text.
func named(t *testing.T, all ...string) *Set[string] {
	t.Helper()
	values := map[string]string{}
	for _, p := range all {
		values[p] = p
	}
	ps, mistakes := New(values)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return ps
}

func request(t *testing.T, method, url, text string) *http.Request {
	t.Helper()
	var r io.Reader
	if text != "" {
		r = strings.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// matched returns the pattern of a request, and the values of its wildcards; that of the
// host if there is no other.
func matched(t *testing.T, ps *Set[string], method, url string) string {
	t.Helper()
	req := request(t, method, url, "")
	got := ps.OfHost(Hostname(req.URL))
	if !ps.HostsOnly() {
		if m := ps.Match(req); m.Pattern != "" {
			got = strings.TrimSpace(m.Value + " " + strings.ReplaceAll(m.Values, "\x00", " "))
		}
	}
	return got
}

func TestMatch(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	ps := named(
		t, "/", "h/", "GET m/", "h/{$}", "h/{x}/", "h/exact/path", "h/files/{file...}", "GET other/{a}/{b}", "h/users/{id}/posts/{post}",
		"only/x/",
	)
	for _, test := range []struct{ method, url, want string }{
		{"GET", "http://h/", "h/{$}"},
		{"GET", "http://h", "h/{$}"},
		{"POST", "http://h/", "h/{$}"},
		{"GET", "http://h/anything", "h/"},
		{"GET", "http://m/anything", "GET m/"},
		{"HEAD", "http://m/anything", "GET m/"},
		{"", "http://m/anything", "GET m/"},
		{"POST", "http://m/anything", "/"},
		{"get", "http://m/anything", "/"}, // methods are case-sensitive
		{"GET", "http://h/tree/", "h/{x}/ tree"},
		{"GET", "http://h/tree/deep", "h/{x}/ tree"},
		{"GET", "http://h/tree", "h/"}, // "/tree" is not "/tree/"
		{"POST", "http://h/tree", "h/"},
		{"GET", "http://h/exact/path", "h/exact/path"},
		{"GET", "http://h/exact/path/", "h/{x}/ exact"},
		{"GET", "http://h/files/a/b.txt", "h/files/{file...} a/b.txt"},
		{"PUT", "http://h/files/", "h/files/{file...}"},
		{"PUT", "http://h/files", "h/"},
		{"GET", "http://h/users/7/posts/8", "h/users/{id}/posts/{post} 7 8"},
		{"GET", "http://other/1/2", "GET other/{a}/{b} 1 2"},
		{"POST", "http://other/1/2", "/"},
		{"GET", "http://elsewhere/x", "/"},
		{"GET", "http://only/x/y", "only/x/"},
		{"GET", "http://only/x", "/"},
		{"GET", "http://only/", "/"},

		// Hosts in any case, with any port.
		{"GET", "http://H/tree/", "h/{x}/ tree"},
		{"GET", "https://h:8443/tree/", "h/{x}/ tree"},
		{"GET", "http://H:80/x", "h/"},
		{"GET", "http://h:/tree/", "h/{x}/ tree"},
		{"GET", "http://user:pass@h/tree/", "h/{x}/ tree"},
		{"GET", "http://h@elsewhere/tree/", "/"},
		{"GET", "http:///tree/", "/"},
		{"GET", "http://[::1]:81/tree/", "/"},
		{"GET", "http://h/" + long + "/", "h/{x}/ " + long},
		{"GET", "http://h/" + strings.Repeat("x/", 1<<15), "h/{x}/ x"},

		// Paths that a ServeMux would redirect are those of what they mean.
		{"GET", "http://h//tree//deep", "h/{x}/ tree"},
		{"GET", "http://h/a/../tree/./x", "h/{x}/ tree"},
		{"GET", "http://h/../../exact/path", "h/exact/path"},
		{"GET", "http://h/exact/./path", "h/exact/path"},
		{"GET", "http://h/files//", "h/files/{file...}"},
		{"POST", "http://h/users/7//posts/8", "h/users/{id}/posts/{post} 7 8"},
		{"GET", "http://h/tree/..", "h/{$}"},
		{"GET", "http://h/tree/.", "h/"},

		// What is escaped is a part of its segment.
		{"GET", "http://h/a%2Fb", "h/"},
		{"GET", "http://h/a%2Fb/", "h/{x}/ a%2Fb"},
		{"GET", "http://h/users/a%2Fb/posts/c%20d", "h/users/{id}/posts/{post} a%2Fb c%20d"},
		{"GET", "http://h/users/x%00y/posts/z", "h/users/{id}/posts/{post} x%00y z"},
		{"GET", "http://h/users/x/posts/y%00z", "h/users/{id}/posts/{post} x y%00z"},
		{"GET", "http://h/users/x%2500y/posts/%7Bid%7D", "h/users/{id}/posts/{post} x%2500y %7Bid}"},
		{"GET", "http://h/files/a%2Fb/%2500/%00", "h/files/{file...} a/b/%2500/%00"},
		{"GET", "http://h/%65xact/path", "h/exact/path"},
		{"GET", "http://h/users/%2e%2e/posts/1", "h/users/{id}/posts/{post} .. 1"},
		{"GET", "http://h/files/%C3%A9", "h/files/{file...} é"},
		{"GET", "http://h/exact/path?q=/other#f", "h/exact/path"},

		// CONNECT to a host and port names no path.
		{"CONNECT", "http://h:443", "h/{$}"},
		{"CONNECT", "http://H:443/x", "h/"},
		{"CONNECT", "http://elsewhere:443", "/"},
		{"OPTIONS", "http://h/*", "h/"},
	} {
		if got := matched(t, ps, test.method, test.url); got != test.want {
			t.Errorf("%s %s is %q, want %q", test.method, test.url, got, test.want)
		}
	}
}

// Where "/tree/" is a pattern, ServeMux redirects "/tree" to it, whatever else matches. That
// must not lead out of the quotas of what does.
func TestMatchTreeDoesNotEscape(t *testing.T) {
	for _, test := range []struct {
		patterns          []string
		method, url, want string
	}{
		{[]string{"GET /tree/", "GET h/"}, "GET", "http://h/tree", "GET h/"},
		{[]string{"h/tree/", "GET h/{x}"}, "POST", "http://h/tree", ""},
		{[]string{"GET h/tree/", "GET h/"}, "GET", "http://h/tree", "GET h/"},
		{[]string{"GET h/tree/", "GET h/{x}/", "GET h/"}, "GET", "http://h/tree", "GET h/"},
		{[]string{"GET h/tree/", "h/{x}/"}, "GET", "http://h/tree", ""},
		{[]string{"GET h/tree/", "h/tree/", "h/{x}/", "h/{x}"}, "GET", "http://h/tree", "h/{x} tree"},
		{[]string{"GET h/a/b/", "GET h/a/{x}/", "GET h/a/", "GET h/"}, "GET", "http://h/a/b", "GET h/a/"},
		{[]string{"GET h/a/b/", "GET h/a/{x}/", "GET h/{y}/{x}/", "GET h/"}, "GET", "http://h/a/b", "GET h/"},
		{[]string{"h/tree/", "h/{x}"}, "GET", "http://h/tree", "h/{x} tree"},
		{[]string{"h/{x}/", "/tree/", "/"}, "GET", "http://h/tree", "/"},
		{[]string{"h/{x}/", "h/"}, "GET", "http://h/tree", "h/"},
		{[]string{"GET h/tree/", "GET /"}, "GET", "http://h/tree", "GET /"},
		{[]string{"h/{rest...}", "h/tree/"}, "GET", "http://h/tree", "h/{rest...} tree"},
	} {
		ps := named(t, test.patterns...)
		if got := matched(t, ps, test.method, test.url); got != test.want {
			t.Errorf("%q: %s %s is %q, want %q", test.patterns, test.method, test.url, got, test.want)
		}
	}
}

// answers is a handler that says that it was reached.
var answers = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// muxOf is a ServeMux of those patterns which do not redirect the request.
func muxOf(all []string, req *http.Request) (mux *http.ServeMux, redirected bool) {
	mux = http.NewServeMux()
	for _, p := range all {
		one := http.NewServeMux()
		one.Handle(p, answers)
		w := httptest.NewRecorder()
		if one.ServeHTTP(w, req.Clone(req.Context())); w.Code/100 == 3 {
			redirected = true
		} else {
			mux.Handle(p, answers)
		}
	}
	return mux, redirected
}

// Of random patterns and requests, what is found is what a ServeMux serves at the clean path,
// where those that are for what is below it, and would redirect there, are left out.
func TestMatchIsThatOfServeMux(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	pattern := func() string {
		p := pick("", "", "GET ", "POST ") + pick("", "h", "h", "i") + "/"
		for i := range rnd.IntN(4) {
			p += pick("a", "b", "c", fmt.Sprintf("{x%d}", i)) + pick("/", "/", "")
			if !strings.HasSuffix(p, "/") {
				return p
			}
		}
		return p + pick("", "", "{$}", "{rest...}")
	}
	found, redirects, none := 0, 0, 0
	for range 400 {
		var all []string
		mux := http.NewServeMux()
		for range 1 + rnd.IntN(8) {
			if p := pattern(); register(mux, p, answers) == nil {
				all = append(all, p)
			}
		}
		ps := named(t, all...)
		for range 10 {
			p := ""
			for range rnd.IntN(4) {
				p += "/" + pick("a", "b", "c", "d", "%61", "a%2Fb", ".", "..", "")
			}
			req := request(t, pick("GET", "POST", "HEAD", "PUT"), "http://"+pick("h", "i", "j")+p+pick("", "/"), "")
			got := ps.OfHost(Hostname(req.URL)) // those of a host alone are found by OfHost, and not by Match
			if !ps.HostsOnly() {
				if m := ps.Match(req); m.Pattern != "" {
					got = m.Value
				}
			}
			clean := path.Clean("/" + req.URL.EscapedPath())
			if strings.HasSuffix(req.URL.EscapedPath(), "/") && clean != "/" {
				clean += "/"
			}
			asked := request(t, req.Method, "http://"+req.URL.Host+clean, "")
			mux, redirected := muxOf(all, asked)
			_, want := mux.Handler(asked)
			switch {
			case redirected:
				redirects++
			case want == "":
				none++
			default:
				found++
			}
			// That of a host is for all methods, and for paths that no other pattern is for.
			if _, host := HostOnly(want); host || want == "" {
				want = ps.OfHost(Hostname(req.URL))
			}
			if got != want {
				t.Fatalf("%q: %s %s is %q, of ServeMux %q", all, req.Method, req.URL, got, want)
			}
		}
	}
	if found < 400 || redirects < 40 || none < 400 {
		t.Errorf("%d found, %d redirected, %d not found: too few to tell", found, redirects, none)
	}
}

// plainly reports whether a pattern matches a request to a clean path, how specific it is (the lower, the
// more), and what its wildcards stand for. It is the documentation of ServeMux, without trees of nodes.
func plainly(pattern, method, host, escaped string) (rank, values string, ok bool) {
	asked, of, p := Split(pattern)
	switch of {
	case host:
		rank = "0"
	case "":
		rank = "1"
	default:
		return "", "", false
	}
	switch {
	case asked == method:
		rank += "0"
	case asked == http.MethodGet && method == http.MethodHead:
		rank += "1"
	case asked == "":
		rank += "2"
	default:
		return "", "", false
	}
	segments := strings.Split(escaped, "/")[1:] // the last is empty if the path ends in a slash
	var stand []string
	for i, want := range strings.Split(p, "/")[1:] {
		if i >= len(segments) {
			return "", "", false
		}
		name, wild := strings.CutPrefix(strings.TrimSuffix(want, "}"), "{")
		switch {
		case want == "":
			return rank + "2", strings.Join(stand, "\x00"), true
		case strings.HasSuffix(name, "..."):
			return rank + "2", strings.Join(append(stand, strings.ReplaceAll(unescaped(strings.Join(segments[i:], "/")), " ", "%20")), "\x00"), true
		case name == "$" && segments[i] == "", !wild && unescaped(want) == unescaped(segments[i]):
			rank += "0"
		case wild && name != "$" && segments[i] != "":
			rank += "1"
			stand = append(stand, strings.NewReplacer("/", "%2F", " ", "%20").Replace(unescaped(segments[i])))
		default:
			return "", "", false
		}
		if i == len(segments)-1 && i == strings.Count(p, "/")-1 {
			return rank, strings.Join(stand, "\x00"), true
		}
	}
	return "", "", false
}

// Of random patterns and requests, what is found is the most specific of all that match, and its values
// are those in the path, of requests that a ServeMux would redirect as of all others.
func TestMatchIsTheMostSpecific(t *testing.T) {
	whole.Alone(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	pattern := func() string {
		p := pick("", "", "GET ", "POST ", "HEAD ", "CONNECT ") + pick("", "h", "h", "i")
		for i := range rnd.IntN(4) {
			p += "/" + pick("a", "b", "a%2Fb", "%61", "c d", fmt.Sprintf("{x%d}", i), fmt.Sprintf("{x%d}", i))
		}
		if strings.HasSuffix(p, "}") && rnd.IntN(3) == 0 || rnd.IntN(2) == 0 || !strings.Contains(p, "/") {
			p += "/" + pick("", "", "{$}", "{rest...}")
		}
		return p
	}
	found, none, values, redirected := 0, 0, 0, 0
	for range 4000 {
		var all []string
		mux := http.NewServeMux()
		for range 1 + rnd.IntN(8) {
			if p := pattern(); register(mux, p, answers) == nil {
				all = append(all, p)
			}
		}
		ps := named(t, all...)
		for range 20 {
			p := ""
			for range rnd.IntN(5) {
				p += "/" + pick("a", "b", "a", "a%2Fb", "%61", "c%20d", "z")
			}
			p += pick("", "/")
			req := request(t, pick("GET", "POST", "HEAD", "CONNECT", "PUT"), "http://"+pick("h", "i", "j")+p, "")
			if p == "" {
				p = "/"
			}
			want, rank, stand := "", "", ""
			for _, pattern := range all {
				if r, s, ok := plainly(pattern, req.Method, req.URL.Host, p); ok && (rank == "" || r < rank) {
					want, rank, stand = pattern, r, s
				}
			}
			if _, host := HostOnly(want); host {
				want, stand = "", "" // that of a host is found by OfHost, and not by Match
			}
			if got := ps.Match(req); got.Pattern != want || got.Value != want || got.Values != stand {
				t.Fatalf("%q: %s %s is %+v, want %q with %q", all, req.Method, req.URL, got, want, stand)
			}
			if want == "" {
				none++
			} else {
				found++
			}
			if stand != "" {
				values++
			}
			w := httptest.NewRecorder()
			if mux.ServeHTTP(w, req.Clone(t.Context())); w.Code/100 == 3 {
				redirected++
			}
		}
	}
	if found < 5000 || none < 5000 || values < 5000 || redirected < 5000 {
		t.Errorf("%d found, %d not found, %d with values, %d redirected: too few to tell", found, none, values, redirected)
	}
}

// Neither the request nor its URL is written to.
func TestMatchLeavesTheRequest(t *testing.T) {
	ps := named(t, "h/{x}/", "GET h/{x}/y")
	for _, u := range []string{"http://H//a/../b/", "http://h/tree", "http://h"} {
		req := request(t, "", u, "")
		req.Method = ""
		before, beforeURL := *req, *req.URL
		ps.Match(req)
		if req.URL.String() != u || *req.URL != beforeURL || req.Host != before.Host || req.Method != "" || req.PathValue("x") != "" || req.Pattern != "" {
			t.Errorf("%s: the request is %+v", u, req)
		}
	}
}

// A host alone needs no ServeMux, which is the fast way.
func TestMatchOfHostsOnly(t *testing.T) {
	ps := named(t, "/", "a.example/", "b.example/")
	if !ps.HostsOnly() {
		t.Error("there is a ServeMux")
	}
	for url, want := range map[string]string{"http://a.example/x": "a.example/", "http://B.Example:80": "b.example/", "http://c.example/": "/"} {
		if got := matched(t, ps, "GET", url); got != want {
			t.Errorf("%s is %q, want %q", url, got, want)
		}
	}
}

// What a path means is found without escaping it anew.
func TestCleanURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h":              "http://h/",
		"http://h/":             "http://h/",
		"http://h//":            "http://h/",
		"http://h/a//b/":        "http://h/a/b/",
		"http://h/a%2Fb/../c":   "http://h/c",
		"http://h/a%2F../c":     "http://h/a%2F../c",
		"http://h/%2e%2e/x":     "http://h/%2e%2e/x",
		"http://h/a/./b?q=../x": "http://h/a/b?q=../x",
		"http://h/..":           "http://h/",
		"http://h/a/..":         "http://h/",
		"http://h/a;b=c/":       "http://h/a;b=c/",
		"http://h/%zz":          "",
	} {
		u, err := url.Parse(in)
		if err != nil {
			if want != "" {
				t.Error(err)
			}
			continue
		}
		if got := cleanURL(u).String(); got != want || u.String() != in {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}
