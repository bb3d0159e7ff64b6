package headers

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func BenchmarkAppend(b *testing.B) {
	received := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	plain := map[string]string{
		"Content-Type": "application/json", "Content-Length": "12", "Date": "Mon, 02 Mar 2026 12:00:00 GMT",
	}
	for _, c := range []struct {
		name   string
		fields map[string]string
	}{
		{"Nothing", nil},
		{"TrioEpoch", map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1772454600"}},
		{"TrioDelta", map[string]string{"RateLimit-Limit": "50", "RateLimit-Remaining": "49", "RateLimit-Reset": "2"}},
		{"TrioWithPolicy", map[string]string{"RateLimit-Limit": "50", "RateLimit-Remaining": "49", "RateLimit-Reset": "2", "RateLimit-Policy": "50;w=2"}},
		{"Structured", map[string]string{"RateLimit": `"50-in-2sec"; r=49; t=2`, "RateLimit-Policy": `"50-in-2sec"; q=50; w=2; pk=:MDJmODE5M2RjZTk3:`}},
		{"OpenAI", map[string]string{
			"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s",
			"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6m0s",
		}},
		{"ByRule", map[string]string{"X-Vendor-RateLimit-Things-Limit": "60", "X-Vendor-RateLimit-Things-Remaining": "59"}},
		{"Garbage10kB", map[string]string{
			"RateLimit": strings.Repeat(`"a";r=1;t=1,`, 850), "X-RateLimit-Limit": strings.Repeat("9", 10<<10),
			"Retry-After": strings.Repeat("1,", 5<<10),
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := http.Header{}
			for _, fields := range []map[string]string{plain, c.fields} {
				for k, v := range fields {
					h.Set(k, v)
				}
			}
			var buf [8]Limit
			b.ReportAllocs()
			for b.Loop() {
				Append(buf[:0], h, received)
			}
		})
	}
}

func BenchmarkRetryAfter(b *testing.B) {
	date := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, v := range []string{"120", "Mon, 02 Mar 2026 12:02:00 GMT"} {
		b.Run(v[:3], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				RetryAfter(v, date)
			}
		})
	}
}
