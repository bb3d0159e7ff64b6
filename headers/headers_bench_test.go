package headers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// few are headers that most responses have, many those of a response that came through a
// proxy or two.
var (
	few  = []string{"Content-Type", "application/json", "Content-Length", "12", "Date", "Mon, 02 Mar 2026 12:00:00 GMT"}
	many = append([]string{
		"Server", "cloudflare", "Cache-Control", "no-store", "Vary", "Accept-Encoding", "Strict-Transport-Security", "max-age=31536000",
		"X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer", "Etag", `W/"abc"`, "X-Request-Id", "7b1c",
		"Cf-Ray", "8a1f", "X-Vendor-Version", "2026-01-01", "X-Vendor-Region", "eu",
	}, few...)
)

func BenchmarkAppend(b *testing.B) {
	lines200 := []string{"RateLimit-Limit", "50", "RateLimit-Remaining", "49", "RateLimit-Reset", "2"}
	for i := range 197 {
		lines200 = append(lines200, fmt.Sprintf("X-Vendor-Attribute-%d", i), "value")
	}
	for _, c := range []struct {
		name   string
		before []string
		fields []string
	}{
		{"Nothing", few, nil},
		{"NothingUsual", many, nil},
		{"TrioEpoch", few, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", "1772454600"}},
		{"TrioDelta", few, []string{"RateLimit-Limit", "50", "RateLimit-Remaining", "49", "RateLimit-Reset", "2"}},
		{"TrioUsual", many, []string{"RateLimit-Limit", "50", "RateLimit-Remaining", "49", "RateLimit-Reset", "2"}},
		{"GitHub", few, []string{
			"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", "1772454600",
			"X-RateLimit-Used", "1", "X-RateLimit-Resource", "core",
		}},
		{"TrioWithPolicy", few, []string{"RateLimit-Limit", "50", "RateLimit-Remaining", "49", "RateLimit-Reset", "2", "RateLimit-Policy", "50;w=2"}},
		{"Structured", few, []string{"RateLimit", `"50-in-2sec"; r=49; t=2`, "RateLimit-Policy", `"50-in-2sec"; q=50; w=2; pk=:MDJmODE5M2RjZTk3:`}},
		{"StructuredRare", few, []string{"RateLimit", `burst;r=49;t=2, "da\"ily";r=900;t=3600`, "RateLimit-Policy", `burst;q=50;w=2, "da\"ily";q=1000;w=86400`}},
		{"OpenAI", few, []string{
			"x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "1s",
			"x-ratelimit-limit-tokens", "150000", "x-ratelimit-remaining-tokens", "149984", "x-ratelimit-reset-tokens", "6m0s",
		}},
		{"ByRule", few, []string{"X-Vendor-RateLimit-Things-Limit", "60", "X-Vendor-RateLimit-Things-Remaining", "59"}},
		{"Garbage10kB", few, []string{
			"RateLimit", strings.Repeat(`"a";r=1;t=1,`, 850), "X-RateLimit-Limit", strings.Repeat("9", 10<<10), "Retry-After", strings.Repeat("1,", 5<<10),
		}},
		{"Lines200", few, lines200},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := fields(append(c.before[:len(c.before):len(c.before)], c.fields...)...)
			var buf [8]Limit
			b.ReportAllocs()
			for b.Loop() {
				builtin.Append(Facts{Limits: buf[:0]}, h, noon)
			}
		})
	}
}

func BenchmarkTells(b *testing.B) {
	for _, c := range []struct {
		name string
		h    http.Header
	}{{"Few", fields(few...)}, {"Many", fields(many...)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				builtin.Reads(c.h)
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	r := &Reader{Dialects: []Dialect{{
		Name: "acme", Unit: "tokens", Step: time.Millisecond, Limit: "X-Acme-Quota", Remaining: "X-Acme-Quota-Left", Reset: "X-Acme-Quota-Reset",
	}}}
	for _, c := range []struct {
		name string
		h    http.Header
	}{
		{"Nothing", fields(few...)},
		{"Own", fields(append([]string{"X-Acme-Quota", "50", "X-Acme-Quota-Left", "49", "X-Acme-Quota-Reset", "2000"}, few...)...)},
		{"TrioDelta", fields(append([]string{"RateLimit-Limit", "50", "RateLimit-Remaining", "49", "RateLimit-Reset", "2"}, few...)...)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var buf [8]Limit
			b.ReportAllocs()
			for b.Loop() {
				r.Append(Facts{Limits: buf[:0]}, c.h, noon)
			}
		})
	}
}

func BenchmarkParseBody(b *testing.B) {
	body := func(name string) string {
		for _, x := range bodies {
			if x.name == name {
				return x.body
			}
		}
		b.Fatalf("no body %q", name)
		return ""
	}
	for _, c := range []struct{ name, body string }{
		{"OpenAI", body("OpenAI, no money")},
		{"Gemini", body("Gemini, a day")},
		{"Shopify", body("Shopify, throttled")},
		{"Data64kB", `{"data":[` + strings.Repeat(`{"id":"gid://shopify/Product/1","title":"a title","price":19.99},`, 1000) + `{}]}`},
		{"Garbage10kB", strings.Repeat(`{"error":[`, 1<<10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := jsonHeader("Date", "Mon, 02 Mar 2026 12:00:00 GMT", "Retry-After", "30")
			prefix := []byte(c.body)
			b.SetBytes(int64(min(len(prefix), MaxBody)))
			b.ReportAllocs()
			for b.Loop() {
				builtin.ParseBody(h, prefix, noon)
			}
		})
	}
}

func BenchmarkRetryAfter(b *testing.B) {
	for _, v := range []string{"120", "Mon, 02 Mar 2026 12:02:00 GMT"} {
		b.Run(v[:3], func(b *testing.B) {
			h := http.Header{"Retry-After": {v}}
			b.ReportAllocs()
			for b.Loop() {
				builtin.Append(Facts{}, h, noon)
			}
		})
	}
}
