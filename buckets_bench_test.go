package pacer

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// What it costs to find the pattern of a request among many.
func BenchmarkPatterns(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tr := &Transport{Quotas: Table{}}
			reqs := make([]*http.Request, n)
			for i := range n {
				tr.Quotas[fmt.Sprintf("GET a.example/v%d/users/{id}/posts", i)] = quota.Quotas{{N: 5, Burst: 10}}
				reqs[i] = &http.Request{Method: http.MethodGet, Header: http.Header{}, URL: &url.URL{Scheme: "https", Host: "a.example", Path: fmt.Sprintf("/v%d/users/7/posts", i)}}
			}
			if err := tr.Validate(); err != nil {
				b.Fatal(err)
			}
			for _, req := range reqs {
				tr.limiter(req)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tr.limiter(reqs[i%n])
			}
		})
	}
}

// Hosts that are visited once: what each costs, and how many stay.
func BenchmarkHostsOnce(b *testing.B) {
	for b.Loop() {
		tr := &Transport{Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		})}
		const n = 100_000
		start := time.Now()
		for i := range n {
			req := &http.Request{Method: http.MethodGet, Header: http.Header{}, URL: &url.URL{Scheme: "https", Host: fmt.Sprintf("h%d.example", i), Path: "/"}}
			if _, err := tr.RoundTrip(req); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "ns/host")
		b.ReportMetric(float64(len(tr.State())), "buckets")
	}
}
