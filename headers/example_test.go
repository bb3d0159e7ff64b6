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

// An API that counts tokens, under names of its own and in milliseconds.
func ExampleReader() {
	reader := &headers.Reader{Dialects: []headers.Dialect{{
		Name: "acme", Unit: "tokens", Step: time.Millisecond,
		Limit: "X-Acme-Quota", Remaining: "X-Acme-Quota-Left", Reset: "X-Acme-Quota-Reset",
	}}}
	if err := reader.Validate(); err != nil {
		fmt.Println(err)
	}

	h := http.Header{}
	h.Set("X-Acme-Quota", "1000")
	h.Set("X-Acme-Quota-Left", "250")
	h.Set("X-Acme-Quota-Reset", "1500")

	l := reader.Parse(h, time.Time{}).Limits[0]
	fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, l.Unit, "until", l.Reset.In)
	// Output: acme 250 of 1000 tokens until 1.5s
}

// Binance states what was used, and its documentation how much there is.
func ExampleDialect() {
	reader := &headers.Reader{Dialects: []headers.Dialect{{
		Name: "weight", Unit: "weight", Total: 6000, Window: time.Minute, Used: "X-Mbx-Used-Weight-1m",
	}}}
	h := http.Header{}
	h.Set("X-Mbx-Used-Weight-1m", "45")

	l := reader.Parse(h, time.Time{}).Limits[0]
	fmt.Println(l.Remaining.N, "of", l.Limit.N, "per", l.Window)
	// Output: 5955 of 6000 per 1m0s
}

// What is wrong with a dialect is said before it is used.
func ExampleReader_Validate() {
	reader := &headers.Reader{Dialects: []headers.Dialect{
		{Name: "minute", Remaining: "X-Acme-Left"},
		{Name: "hour", Remaining: "X-Acme-Left"},
	}}
	fmt.Println(reader.Validate())
	// Output: headers: Dialects[1] ("hour").Remaining: X-Acme-Left is Dialects[0] ("minute").Remaining already
}

// A 429 that no waiting helps: the quota of the day is used up, whatever RetryInfo says.
func ExampleParseBody() {
	h := http.Header{}
	h.Set("Content-Type", "application/json; charset=UTF-8")
	body := []byte(`{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
		{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
			{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}]},
		{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}]}}`)

	facts := headers.ParseBody(h, body, time.Time{})
	l := facts.Limits[0]
	fmt.Println(l.Remaining.N, "of", l.Limit.N, l.Unit, "per", l.Window)
	fmt.Println(facts.Retry.After, facts.Retry.Refusal)
	// Output:
	// 0 of 250 requests per 24h0m0s
	// 22s Spent
}
