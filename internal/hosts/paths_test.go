package hosts

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	type table int
	var ps Paths[table, string]
	tables := [2]table{}
	of := func(method, text string) *http.Request {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{Method: method, URL: u}
	}
	what := "what"
	req := of("GET", "https://a.example/v1/x?q=1")
	for range 2 {
		if ps.Of(&tables[0], req) != nil {
			t.Error("remembers what came once, or never")
		}
		ps.Note(&tables[0], req, &what)
	}
	if ps.Of(&tables[0], of("GET", "https://a.example/v1/x?q=2")) != &what {
		t.Error("does not remember what came twice")
	}
	if ps.Of(&tables[1], req) != nil {
		t.Error("takes another table for the same")
	}
	for _, other := range []*http.Request{
		of("POST", "https://a.example/v1/x"), of("", "https://a.example/v1/x"), of("GET", "http://a.example/v1/x"), of("GET", "https://b.example/v1/x"),
		of("GET", "https://a.example:443/v1/x"), of("GET", "https://a.example/v1/x/"), of("GET", "https://a.example/v1%2Fx"),
	} {
		if ps.Of(&tables[0], other) != nil {
			t.Errorf("takes %s %v for %s %v", other.Method, other.URL, req.Method, req.URL)
		}
	}
	long := of("GET", "https://a.example/"+strings.Repeat("x", longest))
	for range 3 {
		ps.Note(&tables[0], long, &what)
	}
	if ps.Of(&tables[0], long) != nil {
		t.Error("remembers a path without a bound")
	}
	if n := testing.AllocsPerRun(100, func() { ps.Of(&tables[0], req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var paths []string
	for i := range 200 {
		paths = append(paths, fmt.Sprint("/ids/", i))
	}
	if n := testing.AllocsPerRun(len(paths)-1, func() { // which calls it once more
		req.URL.Path, paths = paths[0], paths[1:]
		ps.Note(&tables[0], req, &what)
	}); n != 0 {
		t.Errorf("%v allocations for paths that come once", n)
	}
}

// TestPathsOfMethods: requests of two methods to one path do not make it forget each other, unless by chance: 1
// of 256 does.
func TestPathsOfMethods(t *testing.T) {
	table, what, both := 0, "what", 0
	for i := range 100 {
		var ps Paths[int, string]
		get := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "a.example", Path: fmt.Sprint("/", i)}}
		put := &http.Request{Method: http.MethodPut, URL: get.URL}
		for range 2 {
			ps.Note(&table, get, &what)
			ps.Note(&table, put, &what)
		}
		if ps.Of(&table, get) != nil && ps.Of(&table, put) != nil {
			both++
		}
	}
	if both < 90 {
		t.Errorf("of 100 paths, both methods of %d are remembered, want nearly all", both)
	}
}

// TestMethodsDiffer: usual methods of one path have places of their own.
func TestMethodsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, m := range []string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH"} {
		n := ofMethod(m) % 256
		if other, ok := seen[n]; ok {
			t.Errorf("%q has the number of %q", m, other)
		}
		seen[n] = m
	}
}
