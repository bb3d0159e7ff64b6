package pattern

import (
	"net/http"
	"net/url"
	"testing"
)

// What it costs to find the pattern of a request, and to find that there is none.
func BenchmarkMatch(b *testing.B) {
	s, mistakes := New(map[string]int{"GET a.example/v1/users/{id}/posts/{post}": 1, "a.example/files/{file...}": 2, "a.example/tree/": 3, "a.example/": 4})
	if len(mistakes) > 0 {
		b.Fatal(mistakes)
	}
	for _, test := range []struct{ name, method, host, path string }{
		{"two wildcards", "GET", "a.example", "/v1/users/7/posts/8"},
		{"rest", "GET", "a.example", "/files/a/b"},
		{"host", "GET", "a.example", "/other"},
		{"would be redirected", "GET", "a.example", "/tree"},
		{"no such host", "GET", "b.example", "/v1/users/7/posts/8"},
		{"no such method", "POST", "a.example", "/v1/users/7/posts/8"},
	} {
		b.Run(test.name, func(b *testing.B) {
			req := &http.Request{Method: test.method, URL: &url.URL{Scheme: "https", Host: test.host, Path: test.path}}
			b.ReportAllocs()
			for b.Loop() {
				s.Match(req)
			}
		})
	}
}
