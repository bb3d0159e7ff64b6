package headers_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
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
	fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, "requests until", l.Reset.In)
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

// The forms of Retry-After, and what some SDKs are told beside it.
func ExampleRetry() {
	received := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"120", "2.5", "Mon, 02 Mar 2026 12:02:00 GMT", "1772452920", "later"} {
		r := headers.Parse(http.Header{"Retry-After": {value}}, received).Retry
		fmt.Println(r.After, r.Known)
	}
	h := http.Header{}
	h.Set("Retry-After", "3")
	h.Set("Retry-After-Ms", "2357") // the same delay before it was rounded
	h.Set("X-Should-Retry", "true")
	r := headers.Parse(h, received).Retry
	fmt.Println(r.After, r.Advice)
	// Output:
	// 2m0s true
	// 2.5s true
	// 2m0s true
	// 2m0s true
	// 0s false
	// 2.357s retry
}

// A quota that is spent is told from requests that come too fast.
func ExampleRefusal() {
	spent, tooFast := http.Header{}, http.Header{}
	spent.Set("X-RateLimit-Limit-Day", "1000")
	spent.Set("X-RateLimit-Remaining-Day", "0")
	tooFast.Set("X-Amzn-ErrorType", "ThrottlingException")
	for _, h := range []http.Header{spent, tooFast, {}} {
		retry := headers.Parse(h, time.Time{}).Retry
		fmt.Printf("%q %v\n", retry.Refusal, retry.Refusal == headers.RefusalSpent)
	}
	// Output:
	// "spent" true
	// "too_fast" false
	// "" false
}

// How far the truth may be from what is stated: whole seconds were rounded, nobody says how.
func ExampleReset() {
	received := time.Date(2026, time.March, 2, 12, 0, 0, 700_000_000, time.UTC)
	for _, value := range []string{"30", "29.61", "1772452830"} {
		h := http.Header{}
		h.Set("Date", "Mon, 02 Mar 2026 12:00:00 GMT")
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset", value)
		reset := headers.Parse(h, received).Limits[0].Reset
		fmt.Println(reset.In, "in steps of", reset.Resolution, reset.Absolute, reset.Skew)
	}
	// Output:
	// 30s in steps of 1s false 0s
	// 29.61s in steps of 10ms false 0s
	// 30s in steps of 1s true 700ms
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
		Name: "weight", Unit: "weight", FixedLimit: 6000, FixedWindow: time.Minute, Used: "X-Mbx-Used-Weight-1m",
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

// Headers that are not to be believed are ignored.
func ExampleReader_ignore() {
	reader := &headers.Reader{Ignore: []string{"X-RateLimit-Reset"}}
	h := http.Header{}
	h.Set("X-RateLimit-Remaining", "0")
	h.Set("X-RateLimit-Reset", "86400")
	fmt.Println(reader.Parse(h, time.Time{}).Limits[0].Reset.Known)
	// Output: false
}

// A client that reads many responses allocates nothing for most of them.
func ExampleReader_Append() {
	var reader headers.Reader // knows the dialects of the package
	quiet, telling := http.Header{}, http.Header{}
	quiet.Set("Content-Type", "text/plain")
	telling.Set("RateLimit-Limit", "50")
	telling.Set("RateLimit-Remaining", "49")

	var facts headers.Facts
	for _, h := range []http.Header{quiet, telling} {
		if !reader.Reads(h) {
			fmt.Println("nothing")
			continue
		}
		facts.Limits = facts.Limits[:0] // to be filled again
		facts = reader.Append(facts, h, time.Now())
		fmt.Println(facts.Limits[0].Remaining.N, "of", facts.Limits[0].Limit.N, facts.Retry.Known)
	}
	// Output:
	// nothing
	// 49 of 50 false
}

// A 429 that no waiting helps: the quota of the day is used up, whatever RetryInfo says.
func ExampleReader_ParseBody() {
	resp := &http.Response{
		StatusCode: http.StatusTooManyRequests,
		Header:     http.Header{"Content-Type": {"application/json; charset=UTF-8"}},
		Body: io.NopCloser(strings.NewReader(`{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
			{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
				{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}]},
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}]}}`)),
	}
	defer resp.Body.Close()

	var reader headers.Reader // knows the dialects of the package
	if resp.StatusCode < 400 || !reader.ReadsBody(resp.Header) {
		return
	}
	prefix, err := io.ReadAll(io.LimitReader(resp.Body, headers.MaxBody))
	if err != nil {
		fmt.Println(err)
	}
	facts := reader.ParseBody(resp.Header, prefix, time.Now())
	l := facts.Limits[0]
	fmt.Println(l.Remaining.N, "of", l.Limit.N, "requests per", l.Window)
	fmt.Println(facts.Retry.After, facts.Retry.Refusal)
	// Output:
	// 0 of 250 requests per 24h0m0s
	// 22s spent
}
