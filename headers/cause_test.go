package headers

import (
	"net/http"
	"testing"

	"github.com/gopacer/pacer/headers/internal/cause"
)

func TestParseCause(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   http.Header
		want Cause
	}{
		{"no word", fields("Retry-After", "5", "RateLimit-Remaining", "0"), NoCause},

		// https://docs.stripe.com/rate-limits
		{"Stripe, rate", fields("Stripe-Rate-Limited-Reason", "endpoint-rate"), TooFast},
		{"Stripe, concurrency", fields("Stripe-Rate-Limited-Reason", "global-concurrency"), TooMany},
		{"Stripe, a word that says less", fields("Stripe-Rate-Limited-Reason", "resource-specific"), NoCause},

		// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
		{"AWS", fields("X-Amzn-Errortype", "ThrottlingException"), TooFast},
		{"AWS, with a URL", fields("X-Amzn-ErrorType", "TooManyRequestsException:http://internal.amazon.com/coral/com.amazon.coral.availability/"), TooFast},
		{"AWS, with a namespace", fields("X-Amzn-Errortype", "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"), TooFast},
		{"AWS, a rate or a quota", fields("X-Amzn-Errortype", "LimitExceededException"), NoCause},
		{"AWS, another error", fields("X-Amzn-Errortype", "ValidationException"), NoCause},

		// https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
		{"a day is used up", fields("X-HubSpot-RateLimit-Daily", "1000000", "X-HubSpot-RateLimit-Daily-Remaining", "0",
			"X-HubSpot-RateLimit-Max", "200", "X-HubSpot-RateLimit-Remaining", "198"), Spent},
		{"a day is not used up", fields("X-HubSpot-RateLimit-Daily", "1000000", "X-HubSpot-RateLimit-Daily-Remaining", "1",
			"X-HubSpot-RateLimit-Max", "200", "X-HubSpot-RateLimit-Remaining", "0"), NoCause},

		// https://developers.zoom.us/docs/api/rate-limits/
		{"Zoom, a day", fields("X-RateLimit-Category", "Heavy", "X-RateLimit-Type", "Daily-limit", "X-RateLimit-Limit", "60000", "X-RateLimit-Remaining", "0",
			"Retry-After", "2026-03-03T00:00:00Z"), Spent},
		{"Zoom, a second", fields("X-RateLimit-Category", "Light", "X-RateLimit-Type", "QPS", "X-RateLimit-Limit", "80", "X-RateLimit-Remaining", "0"), NoCause},

		{"a month", fields("X-RateLimit-Limit-Month", "1000", "X-RateLimit-Remaining-Month", "0"), Spent},
		{"a month of tokens", fields("X-RateLimitBySize-Limit-Month", "1000000000", "X-RateLimitBySize-Remaining-Month", "0"), Spent},
		{"a month, of a dialect", fields("X-Endpoint-Monthly-Call-Limit", "1000", "X-Endpoint-Monthly-Call-Remaining", "0"), Spent},
		{"a day by its policy", fields("RateLimit", `"daily";r=0;t=36400`, "RateLimit-Policy", `"daily";q=1000;w=86400`), Spent},
		{"a day that ends soon", fields("RateLimit", `"daily";r=0;t=3599`, "RateLimit-Policy", `"daily";q=1000;w=86400`), NoCause},
		{"an hour", fields("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"), NoCause},
		{"a reset in days, of no window", fields("X-RateLimit-Requests-Limit", "500", "X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", "1216000"), NoCause},
		{"nothing is counted", fields("X-RateLimit-Limit-Day", "0", "X-RateLimit-Remaining-Day", "0"), NoCause},
		{"not in force yet", fields("Beta-RateLimit", `"daily";r=0;t=36400`, "Beta-RateLimit-Policy", `"daily";q=1000;w=86400`), NoCause},
		{"from a cache", fields("Age", "5", "X-RateLimit-Limit-Month", "1000", "X-RateLimit-Remaining-Month", "0"), NoCause},
		{"the gravest", fields("X-RateLimit-Remaining-Month", "0", "X-RateLimit-Limit-Month", "1", "X-Amzn-Errortype", "ThrottlingException"), Spent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := Parse(tt.in, noon)
			checkBounds(t, facts)
			if got := facts.Retry.Cause; got != tt.want {
				t.Errorf("Cause = %v, want %v (%s)", got, tt.want, summary(facts))
			}
		})
	}
}

func TestCauseString(t *testing.T) {
	for c, want := range map[Cause]string{NoCause: "NoCause", TooFast: "TooFast", Busy: "Busy", TooMany: "TooMany", Spent: "Spent", 9: "Cause(9)", -1: "Cause(-1)"} {
		if got := c.String(); got != want {
			t.Errorf("Cause %d is %q, want %q", int(c), got, want)
		}
	}
}

// TestCauses checks that a Cause is that of the package that reads it.
func TestCauses(t *testing.T) {
	for c, want := range map[cause.Cause]Cause{cause.None: NoCause, cause.TooFast: TooFast, cause.Busy: Busy, cause.TooMany: TooMany, cause.Spent: Spent} {
		if got := Cause(c); got != want {
			t.Errorf("cause %d is %v, want %v", int(c), got, want)
		}
	}
}
