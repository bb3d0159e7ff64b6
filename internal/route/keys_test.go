package route

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/pattern"
)

// patterns have wildcards of each kind, and literals that a value of a wildcard may look like.
var patterns = []string{
	"/{a}/{b}", "/{rest...}", "/{a}/{b}/{c}/{rest...}", "/{a}/x/{b}", "/{a}/{b}/{$}", "/x", "/x/y",
	"GET a.example/{a}", "GET a.example/{a}/{b}", "GET a.example/{rest...}", "GET a.example/%7Bb%7D/{b}",
}

// drawn returns the bucket that a request draws on, and what decides about that: the host with its port, the
// tenant, the pattern, and the segments that its wildcards stand for, as a ServeMux has them.
func drawn(t *testing.T, set *pattern.Set[bool], host, escaped, tenant string) (b Bucket, facts []string) {
	t.Helper()
	u := &url.URL{Scheme: "http", Host: host, RawPath: escaped}
	var err error
	if u.Path, err = url.PathUnescape(escaped); err != nil {
		t.Skip("not a path")
	}
	if p := u.EscapedPath(); path.Clean(p) != p {
		t.Skip("a path that a ServeMux cleans")
	}
	req := &http.Request{URL: u}
	m := set.Match(req)
	keys := []string{Tenants(u), Tenant(tenant)}
	facts = []string{host, tenant, m.Pattern}
	if m.Pattern == "" {
		return Parse(keys), facts
	}
	keys = append(keys, Pattern(m.Pattern, m.Values))
	mux := http.NewServeMux()
	mux.HandleFunc(m.Pattern, func(_ http.ResponseWriter, req *http.Request) {
		for _, name := range []string{"a", "b", "c", "rest"} {
			facts = append(facts, req.PathValue(name))
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: http.MethodGet, Host: u.Hostname(), URL: u})
	return Parse(keys), facts
}

// Two requests have the same keys and the same shared label only if host, tenant, pattern and the values of
// all wildcards are the same.
//
// Known to collide are hosts with a zero byte, which only a URL that was not parsed can have, and which no
// server answers; and tenants of which 128 bits of SHA-256 are equal, in the shared label.
func FuzzKeys(f *testing.F) {
	f.Add("/x%00y/z", "", "/x/y%00z", "")
	f.Add("/x%2Fy/z", "", "/x/y%2Fz", "")
	f.Add("/%7Bb%7D/x/", "", "/x/%7Bb%7D/", "")
	f.Add("/%2500/z", "me", "/%00/z", "me")
	f.Add("/x%20at%20b.example", "", "/x", "\x00/x")
	f.Add("/x/a%2Fb", "a\x00b", "/x/a/b", "a")
	f.Add("/a%2Fb", "", "/a/b", "")
	f.Add("/%7Ba%7D", "", "/x", "")
	f.Add("/7%25", "", "/7%2525", "")
	f.Add("/%0A", "", "/%250A", "")
	f.Add("/ /%2F0", "", "/ /0", "")
	f.Add("/\xff%1b", "", "/%FF%251B", "")
	f.Add("/a/b", "x for y", "/a/b%20for%20x", "y")
	f.Add("/"+strings.Repeat("a", 1<<16), "", "/"+strings.Repeat("a", 1<<16)+"%00", "")
	values := map[string]bool{}
	for _, p := range patterns {
		values[p] = true
	}
	set, mistakes := pattern.New(values)
	if len(mistakes) > 0 {
		f.Fatal(mistakes)
	}
	f.Fuzz(func(t *testing.T, path1, tenant1, path2, tenant2 string) {
		for _, hosts := range [][2]string{{"a.example", "a.example"}, {"a.example", "b.example"}, {"a.example", "a.example:81"}, {"[::1]", "[::1]:81"}, {"", "a"}} {
			b1, facts1 := drawn(t, set, hosts[0], "/"+strings.Trim(path1, "/"), tenant1)
			b2, facts2 := drawn(t, set, hosts[1], "/"+strings.Trim(path2, "/"), tenant2)
			same := slices.Equal(facts1, facts2)
			if (b1 == b2) != same {
				t.Errorf("%q and %q are the buckets %+v and %+v", facts1, facts2, b1, b2)
			}
			if (b1.Shared() == b2.Shared()) != same {
				t.Errorf("%q and %q are shared as %q and %q", facts1, facts2, b1.Shared(), b2.Shared())
			}
		}
	})
}
