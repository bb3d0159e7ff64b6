package headers_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gopacer/pacer/headers"
)

// GitHub states its reset as an instant, which is measured against Date.
func ExampleParse() {
	h := http.Header{}
	h.Set("Date", "Mon, 02 Mar 2026 12:00:00 GMT")
	h.Set("X-RateLimit-Limit", "5000")
	h.Set("X-RateLimit-Remaining", "4910")
	h.Set("X-RateLimit-Reset", "1772454600")
	h.Set("X-RateLimit-Resource", "core")

	// The local clock is five minutes late, which does not matter.
	received := time.Date(2026, time.March, 2, 11, 55, 0, 0, time.UTC)
	l := headers.Parse(h, received).Limits[0]
	fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, l.Unit, "until", l.Reset.In)
	// Output: core 4910 of 5000 requests until 30m0s
}

// The structured fields of the IETF draft state several limits at once.
func ExampleParse_structured() {
	h := http.Header{}
	h.Set("RateLimit-Policy", `"burst";q=100;w=60, "daily";q=1000;w=86400`)
	h.Set("RateLimit", `"burst";r=50;t=30, "daily";r=900;t=36400`)

	for _, l := range headers.Parse(h, time.Time{}).Limits {
		fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, "per", l.Window, "until", l.Reset.In)
	}
	// Output:
	// burst 50 of 100 per 1m0s until 30s
	// daily 900 of 1000 per 24h0m0s until 10h6m40s
}

func ExampleRetryAfter() {
	date := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"120", "2.5", "Mon, 02 Mar 2026 12:02:00 GMT", "1772452920", "later"} {
		d, ok := headers.RetryAfter(value, date)
		fmt.Println(d, ok)
	}
	// Output:
	// 2m0s true
	// 2.5s true
	// 2m0s true
	// 2m0s true
	// 0s false
}
