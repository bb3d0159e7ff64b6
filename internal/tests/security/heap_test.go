package security

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// TestHeapOfAHost: what a Transport remembers of a host takes a few kilobytes, and forty where the server names
// as many limits, units and buckets as it may.
func TestHeapOfAHost(t *testing.T) {
	var policies, limits []string
	for i := range 16 {
		policies = append(policies, fmt.Sprintf(`"%040d";q=100;w=3600;qu="unit%036d"`, i, i))
		limits = append(limits, fmt.Sprintf(`"%040d";r=90;t=3000`, i))
	}
	for name, test := range map[string]struct {
		requests, most int
		header         func(i int) []string
	}{
		"one limit": {3, 8_000, func(int) []string {
			return []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "3000"}
		}},
		"16 policies": {3, 60_000, func(int) []string {
			return []string{"RateLimit-Policy", strings.Join(policies, ", "), "RateLimit", strings.Join(limits, ", ")}
		}},
		"64 buckets": {64, 60_000, func(i int) []string {
			return []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset-After", "3000", "X-RateLimit-Bucket", fmt.Sprintf("%060d", i)}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			const hosts = 100
			heap := func() int {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			i := 0
			tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				return lab.Answer(req, 200, "", test.header(i)...), nil
			})}
			before := heap()
			for host := range hosts {
				for i = range test.requests {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", fmt.Sprintf("http://host%d.example/path%d/x", host, i), ""))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					time.Sleep(time.Millisecond)
				}
			}
			n := (heap() - before) / hosts
			if t.Logf("%s: %d bytes for each host", name, n); n > test.most {
				t.Errorf("%s: %d bytes for each host, want %d at most", name, n, test.most)
			}
			runtime.KeepAlive(tr)
		})
	}
}
