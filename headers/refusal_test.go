package headers

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gopacer/pacer/headers/internal/refusal"
)

func TestParseRefusal(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   http.Header
		want Refusal
	}{
		{"no word", fields("Retry-After", "5", "RateLimit-Remaining", "0"), ""},

		// https://docs.stripe.com/rate-limits
		{"Stripe, rate", fields("Stripe-Rate-Limited-Reason", "endpoint-rate"), RefusalTooFast},
		{"Stripe, concurrency", fields("Stripe-Rate-Limited-Reason", "global-concurrency"), RefusalTooMany},
		{"Stripe, a word that says less", fields("Stripe-Rate-Limited-Reason", "resource-specific"), ""},

		// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
		{"AWS", fields("X-Amzn-Errortype", "ThrottlingException"), RefusalTooFast},
		{"AWS, with a URL", fields("X-Amzn-ErrorType", "TooManyRequestsException:http://internal.amazon.com/coral/com.amazon.coral.availability/"), RefusalTooFast},
		{"AWS, with a namespace", fields("X-Amzn-Errortype", "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"), RefusalTooFast},
		{"AWS, a rate or a quota", fields("X-Amzn-Errortype", "LimitExceededException"), ""},
		{"AWS, another error", fields("X-Amzn-Errortype", "ValidationException"), ""},

		// https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
		{"a day is used up", fields("X-HubSpot-RateLimit-Daily", "1000000", "X-HubSpot-RateLimit-Daily-Remaining", "0",
			"X-HubSpot-RateLimit-Max", "200", "X-HubSpot-RateLimit-Remaining", "198"), RefusalSpent},
		{"a day is not used up", fields("X-HubSpot-RateLimit-Daily", "1000000", "X-HubSpot-RateLimit-Daily-Remaining", "1",
			"X-HubSpot-RateLimit-Max", "200", "X-HubSpot-RateLimit-Remaining", "0"), ""},

		// https://developers.zoom.us/docs/api/rate-limits/
		{"Zoom, a day", fields("X-RateLimit-Category", "Heavy", "X-RateLimit-Type", "Daily-limit", "X-RateLimit-Limit", "60000", "X-RateLimit-Remaining", "0",
			"Retry-After", "2026-03-03T00:00:00Z"), RefusalSpent},
		{"Zoom, a second", fields("X-RateLimit-Category", "Light", "X-RateLimit-Type", "QPS", "X-RateLimit-Limit", "80", "X-RateLimit-Remaining", "0"), ""},

		{"a month", fields("X-RateLimit-Limit-Month", "1000", "X-RateLimit-Remaining-Month", "0"), RefusalSpent},
		{"a month of tokens", fields("X-RateLimitBySize-Limit-Month", "1000000000", "X-RateLimitBySize-Remaining-Month", "0"), RefusalSpent},
		{"a month, of a dialect", fields("X-Endpoint-Monthly-Call-Limit", "1000", "X-Endpoint-Monthly-Call-Remaining", "0"), RefusalSpent},
		{"a day by its policy", fields("RateLimit", `"daily";r=0;t=36400`, "RateLimit-Policy", `"daily";q=1000;w=86400`), RefusalSpent},
		{"a day that ends soon", fields("RateLimit", `"daily";r=0;t=3599`, "RateLimit-Policy", `"daily";q=1000;w=86400`), ""},
		{"an hour", fields("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"), ""},
		{"a reset in days, of no window", fields("X-RateLimit-Requests-Limit", "500", "X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", "1216000"), ""},
		{"nothing is counted", fields("X-RateLimit-Limit-Day", "0", "X-RateLimit-Remaining-Day", "0"), ""},
		{"not in force yet", fields("Beta-RateLimit", `"daily";r=0;t=36400`, "Beta-RateLimit-Policy", `"daily";q=1000;w=86400`), ""},
		{"from a cache", fields("Age", "5", "X-RateLimit-Limit-Month", "1000", "X-RateLimit-Remaining-Month", "0"), ""},
		{"the gravest", fields("X-RateLimit-Remaining-Month", "0", "X-RateLimit-Limit-Month", "1", "X-Amzn-Errortype", "ThrottlingException"), RefusalSpent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := Parse(tt.in, noon)
			checkBounds(t, facts)
			if got := facts.Retry.Refusal; got != tt.want {
				t.Errorf("Refusal = %v, want %v (%s)", got, tt.want, summary(facts))
			}
		})
	}
}

// TestTexts: what is a choice is text, for logs, metrics and JSON.
func TestTexts(t *testing.T) {
	for retry, want := range map[Retry]string{
		{}: `"Advice":"","Refusal":""`, {Refusal: RefusalSpent}: `"Advice":"","Refusal":"spent"`,
		{Advice: AdviceRetry, Refusal: RefusalTooFast}: `"Advice":"retry","Refusal":"too_fast"`,
		{Advice: AdviceNever, Refusal: RefusalBusy}:    `"Advice":"never","Refusal":"busy"`, {Refusal: RefusalTooMany}: `"Advice":"","Refusal":"too_many"`,
	} {
		got, err := json.Marshal(retry)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%+v is %s, %v, want %s", retry, got, err, want)
		}
		var back Retry
		if err := json.Unmarshal(got, &back); err != nil || back != retry {
			t.Errorf("%s is %+v, %v, want %+v", got, back, err, retry)
		}
	}
}

// TestRefusals checks that each Refusal of package refusal is one of this package.
func TestRefusals(t *testing.T) {
	for r, want := range map[refusal.Refusal]Refusal{
		refusal.Unknown: "", refusal.TooFast: RefusalTooFast, refusal.Busy: RefusalBusy, refusal.TooMany: RefusalTooMany, refusal.Spent: RefusalSpent,
	} {
		if got := refusals[r]; got != want {
			t.Errorf("refusal %d is %q, want %q", int(r), got, want)
		}
	}
	if n := int(refusal.Spent) + 1; len(refusals) != n {
		t.Errorf("%d refusals, want %d", len(refusals), n)
	}
}
