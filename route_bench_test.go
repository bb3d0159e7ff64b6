package pacer

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// keepsAll is a Transport that forgets no bucket.
func keepsAll(b *testing.B, patterns ...string) *Transport {
	b.Helper()
	tr := &Transport{Quotas: map[string]throttle.Quotas{}}
	for _, p := range patterns {
		tr.Quotas[p] = throttle.Quotas{{N: 5, Burst: 10}}
	}
	if err := tr.Validate(); err != nil {
		b.Fatal(err)
	}
	tr.router.sweepAt = math.MaxInt
	return tr
}

// asked is a request for the bucket number i.
type asked func(i int) (host, path string)

// populate makes n buckets, and returns requests for up to 1024 of them.
func populate(tr *Transport, n int, of asked) []*http.Request {
	var reqs []*http.Request
	for i := range n {
		host, path := of(i)
		req := &http.Request{Method: http.MethodGet, Header: http.Header{}, URL: &url.URL{Scheme: "https", Host: host, Path: path}}
		lookup(tr, req)
		if i%max(n/1024, 1) == 0 {
			reqs = append(reqs, req)
		}
	}
	runtime.GC() // what was made is not to be marked while it is measured
	return reqs
}

// What it costs to find the bucket of a request among many, of hosts, of values of a
// wildcard, and under a Key.
func BenchmarkRoute(b *testing.B) {
	for _, kind := range []struct {
		name     string
		patterns []string
		most     int
		of       asked
	}{
		{"hosts", []string{"/"}, 1_000_000, func(i int) (string, string) { return fmt.Sprintf("h%d.example", i), "/" }},
		{"values", []string{"a.example/c/{id}/"}, 100_000, func(i int) (string, string) { return "a.example", fmt.Sprintf("/c/%d/m", i) }},
	} {
		for _, n := range []int{1, 1000, kind.most} {
			b.Run(fmt.Sprintf("%s=%d", kind.name, n), func(b *testing.B) {
				tr := keepsAll(b, kind.patterns...)
				reqs := populate(tr, n, kind.of)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					lookup(tr, reqs[i%len(reqs)])
				}
			})
		}
	}
}

// What it costs to find the pattern of a request among many.
func BenchmarkPatterns(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			patterns := make([]string, n)
			for i := range patterns {
				patterns[i] = fmt.Sprintf("GET a.example/v%d/users/{id}/posts", i)
			}
			tr := keepsAll(b, patterns...)
			reqs := populate(tr, n, func(i int) (string, string) { return "a.example", fmt.Sprintf("/v%d/users/7/posts", i) })
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				lookup(tr, reqs[i%len(reqs)])
			}
		})
	}
}

// What a bucket weighs, in bytes: a new one, and one that was used.
func BenchmarkBucketMemory(b *testing.B) {
	const n = 10_000
	for _, used := range []bool{false, true} {
		b.Run(fmt.Sprintf("used=%v", used), func(b *testing.B) {
			for b.Loop() {
				tr := keepsAll(b, "/")
				before := heap()
				for i := range n {
					bucket := lookup(tr, &http.Request{URL: &url.URL{Scheme: "https", Host: fmt.Sprintf("h%d.example", i), Path: "/"}})
					if used {
						g, _, err := bucket.Join(b.Context(), throttle.Claim{})
						if err != nil {
							b.Fatal(err)
						}
						g.Done(throttle.Answer{})
					}
				}
				b.ReportMetric(float64(heap()-before)/n, "B/bucket")
				runtime.KeepAlive(tr)
			}
		})
	}
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// What it costs to replace the table under which n buckets have quotas.
func BenchmarkSetQuotas(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("buckets=%d", n), func(b *testing.B) {
			tr := keepsAll(b, "/")
			populate(tr, n, func(i int) (string, string) { return fmt.Sprintf("h%d.example", i), "/" })
			tables := [2]map[string]throttle.Quotas{{"/": {{N: 5}}}, {"/": {{N: 7}}}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := tr.SetQuotas(tables[i%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Hosts that are visited once: what each costs, and how many stay.
func BenchmarkHostsOnce(b *testing.B) {
	for b.Loop() {
		tr := &Transport{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
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
		b.ReportMetric(float64(len(tr.router.buckets)), "buckets")
	}
}
