package headers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// bodies are as documented, or as they were seen.
var bodies = []struct {
	name string
	body string
	want string
}{
	{
		// https://ai.google.dev/gemini-api/docs/rate-limits: the delay is for the quota of a
		// minute, and in vain for that of a day.
		"Gemini, a day", `{
  "error": {
    "code": 429,
    "message": "You exceeded your current quota, please check your plan and billing details.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [
          {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaDimensions": {"location": "global", "model": "gemini-2.5-flash"},
            "quotaValue": "250"
          }
        ]
      },
      {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]},
      {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22s"}
    ]
  }
}`,
		`"GenerateRequestsPerDayPerProjectPerModel-FreeTier" 0/250 per 24h0m0s, retry 22s, spent`,
	},
	{
		"Gemini, a minute, streamed", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[
				{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"15"},
				{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.074824224s"}]}}]`,
		`"GenerateRequestsPerMinutePerProjectPerModel-FreeTier" 0/15 per 1m0s, ` +
			`"GenerateContentInputTokensPerModelPerMinute-FreeTier" 0/250000 tokens per 1m0s, retry 34.074824224s`,
	},
	{
		// https://cloud.google.com/service-usage/docs/reference/rest/v1/services: ErrorInfo of an exceeded
		// quota
		"Google, ErrorInfo", `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{
			"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","domain":"googleapis.com","metadata":{
			"service":"drive.googleapis.com","quota_metric":"drive.googleapis.com/default","quota_limit":"defaultPerMinutePerProject",
			"quota_limit_value":"840000","quota_unit":"1/min/{project}","quota_location":"global","consumer":"projects/1"}}]}}`,
		`"defaultPerMinutePerProject" 0/840000 per 1m0s, too_fast`,
	},
	{
		"Google, a quota of zero", `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED",
			"metadata":{"quota_limit":"DefaultRequestsPerMinutePerProject","quota_unit":"1/min/{project}","quota_limit_value":"0"}}]}}`,
		`spent`,
	},
	{
		// https://developers.google.com/search/apis/indexing-api/v3/core-errors
		"Google, daily limit", `{"error":{"errors":[{"domain":"usageLimits","reason":"dailyLimitExceeded","message":"Daily Limit Exceeded"}],"code":403}}`,
		`spent`,
	},
	{
		"Google, user rate limit", `{"error":{"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}],"code":403}}`,
		`too_fast`,
	},
	{
		"Google, a word of two meanings", `{"error":{"errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}],"code":403,"status":"RESOURCE_EXHAUSTED"}}`,
		`nothing`,
	},
	{
		// https://github.com/googleapis/googleapis/blob/master/google/rpc/status.proto
		"grpc-gateway", `{"code":8,"message":"slow","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}`,
		`retry 3s`,
	},
	{
		// https://shopify.dev/docs/api/usage/limits
		"Shopify, throttled", `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED","documentation":"https://shopify.dev/api/usage/rate-limits"}}],
			"extensions":{"cost":{"requestedQueryCost":752,"actualQueryCost":null,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":666,"restoreRate":50.0}}}}`,
		// (1000 - 666) / 50 = 6.68; 1000 / 50 = 20; (752 - 666) / 50 = 1.72
		`"cost" 666/1000 points in 6.68s per 20s, retry 1.72s, too_fast`,
	},
	{
		"Shopify, answered", `{"data":{"shop":{"name":"a \"shop\" {","retry_after":5,"nested":[[[{"type":"x"}]]]}},
			"extensions":{"cost":{"requestedQueryCost":12,"actualQueryCost":8,"throttleStatus":{"maximumAvailable":2000.0,"currentlyAvailable":1992,"restoreRate":100.0}}}}`,
		`"cost" 1992/2000 points in 80ms per 20s`,
	},
	{"Discourse", `{"errors":["Please wait 15 seconds"],"error_type":"rate_limit","extras":{"wait_seconds":15,"time_left":"15 seconds"}}`, `retry 15s`},
	{"a list is not any object", `{"data":[{"wait_seconds":15}],"a":{"b":{"wait_seconds":15}}}`, `nothing`},
	{
		// docs.patreon.com, error 429
		"Patreon", `{"errors":[{"code_name":"RequestThrottled","retry_after_seconds":4,"status":"429"}]}`, `retry 4s`,
	},
	{
		// https://developer.monday.com/api-reference/docs/rate-limits, and any GraphQL API
		// (https://spec.graphql.org, 7.1.2)
		"monday.com", `{"data":{"retry_in_seconds":9},"errors":[{"message":"Complexity budget exhausted","extensions":{"code":"COMPLEXITY_BUDGET_EXHAUSTED","status_code":429,"retry_in_seconds":48}}]}`, `retry 48s`,
	},
	{"with a mark of the order of its bytes", "\ufeff" + `{"retry_after":5}`, `retry 5s`}, // RFC 8259, 8.1
	{"an instant by mistake", `{"error":{"retry_after":1772452805}}`, `retry 5s`},
	{"an instant in milliseconds by mistake", `{"error":{"retry_after":1772452805000}}`, `retry 5s`},
	{"an instant in writing", `{"error":{"retryAfter":"2026-03-02T12:00:05Z"}}`, `retry 5s`},
	{"an instant that is long past", `{"error":{"retryAfter":"2026-01-02T12:00:05Z"}}`, `nothing`},
	{"no delay", `{"error":{"retryAfter":"soon","retry_in":""}}`, `nothing`},
	{"Infura", `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"data":{"current_rps":13.333,"allowed_rps":10.0,"backoff_seconds":30.0}}}`, `retry 30s`},
	{"Zscaler", `{"message":"Rate Limit (1/SECOND) exceeded","Retry-After":"2 seconds"}`, `retry 2s`},
	{"a duration in words", `{"retry_after":"2 seconds"}`, `retry 2s`},
	{"words without a number", `{"retry_after":"two seconds","Retry-After":"soon"}`, `nothing`},
	{"Sportmonks", `{"rate_limit":{"resets_in_seconds":812,"remaining":0,"requested_entity":"Fixture"}}`, `retry 13m32s`},
	{"Sportmonks, something is left", `{"data":[],"rate_limit":{"resets_in_seconds":812,"remaining":7,"requested_entity":"Fixture"}}`, `nothing`},
	{"Bungie", `{"ErrorCode":51,"ThrottleSeconds":10,"ErrorStatus":"PerEndpointRequestThrottleExceeded"}`, `retry 10s`},
	{"Bungie, not throttled", `{"ErrorCode":1,"ThrottleSeconds":0,"ErrorStatus":"Success"}`, `nothing`},
	{"WSO2", `{"fault":{"code":900804,"nextAccessTime":"2026-03-02T14:00:00Z"}}`, `retry 2h0m0s`},
	{"WSO2, as Java prints it", `{"code":"900804","nextAccessTime":"2026-Mar-02 16:00:00+0000 UTC"}`, `retry 4h0m0s`},
	{"WSO2, no instant", `{"code":"900804","nextAccessTime":"5"}`, `nothing`},
	{
		// https://docs.discord.com/developers/topics/rate-limits
		"Discord", `{"message":"You are being rate limited.","retry_after":64.57,"global":false}`, `retry 1m4.57s`,
	},
	{
		"Discord, global", `{"message":"You are being rate limited.","retry_after":1.25,"global":true,"code":0}`, `"global" 0/? in 1.25s, retry 1.25s`,
	},
	{
		// https://core.telegram.org/bots/api#responseparameters
		"Telegram", `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 14","parameters":{"retry_after":14}}`, `retry 14s`,
	},
	{
		// https://www.dropbox.com/developers/documentation/http/documentation#error-handling
		"Dropbox", `{"error_summary": "too_many_requests/..", "error": {"reason": {".tag": "too_many_requests"}, "retry_after": 300}}`, `retry 5m0s, too_fast`,
	},
	{
		// https://api.stackexchange.com/docs/throttle
		"Stack Exchange", `{"items":[],"has_more":false,"backoff":10,"quota_max":300,"quota_remaining":0}`, `"quota" 0/300, retry 10s`,
	},
	{
		"Stack Exchange, something is left", `{"items":[],"has_more":false,"quota_max":300,"quota_remaining":299}`, `"quota" 299/300`,
	},
	{
		"a word in camel case", `{"error":{"message":"slow down","retryAfterSec":7}}`, `retry 7s`,
	},
	{
		"words with underscores", `{"retry_in_seconds":"12"}`, `retry 12s`,
	},
	{
		"milliseconds", `{"error":{"retry_after_ms":1500}}`, `retry 1.5s`,
	},
	{
		"a duration", `{"error":{"retryDelay":"34.5s"}}`, `retry 34.5s`,
	},
	{
		"a word in what was asked for", `{"data":{"backoff":10,"retryAfter":5},"backoff_policy":"x","retry":3}`, `nothing`,
	},
	{
		// draft-ietf-httpapi-ratelimit-headers-10, section 5.1
		"IETF, quota exceeded", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",
			"title":"Request cannot be satisfied as assigned quota has been exceeded","violated-policies":["daily","bandwidth"]}`,
		`"daily" 0/?, "bandwidth" 0/?, too_fast`,
	},
	{
		"IETF, reduced capacity", `{"violated-policies":["hourly"],"type":"https:\/\/iana.org\/assignments\/http-problem-types#temporary-reduced-capacity"}`,
		`"hourly" 0/?, busy`,
	},
	{
		"IETF, abnormal usage", `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","violated-policies":["hourly"]}`,
		`"hourly" 0/?`,
	},
	{
		"another problem", `{"type":"https://example.com/probs#quota-exceeded","violated-policies":["hourly"]}`, `nothing`,
	},
	{
		// https://docs.x.com/x-api/fundamentals/post-cap
		"X, monthly cap", `{"account_id":1,"product_name":"standard-basic","title":"UsageCapExceeded","period":"Monthly","scope":"Product",
			"detail":"Usage cap exceeded: Monthly product cap","type":"https://api.twitter.com/2/problems/usage-capped"}`,
		`spent`,
	},
	{
		// https://platform.openai.com/docs/guides/error-codes
		"OpenAI, no money", `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		`spent`,
	},
	{
		"OpenAI, too fast", `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		`too_fast`,
	},
	{
		// https://docs.anthropic.com/en/api/errors
		"Anthropic, overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, `busy`,
	},
	{
		"Anthropic, too fast", `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`, `too_fast`,
	},
	{
		// https://docs.stripe.com/error-codes
		"Stripe, a lock", `{"error":{"code":"lock_timeout","message":"This object cannot be accessed right now","type":"invalid_request_error"}}`, `busy`,
	},
	{
		// https://linear.app/developers/rate-limiting
		"Linear", `{"errors":[{"extensions":{"code":"RATELIMITED"}}]}`, `too_fast`,
	},
	{
		// https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
		"HubSpot", `{"status":"error","message":"You have reached your daily limit.","errorType":"RATE_LIMIT","correlationId":"c033cdaa","policyName":"DAILY","requestId":"3d3e35b7"}`,
		`spent`,
	},
	{
		// https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
		"AWS", `{"__type":"com.amazonaws.kms#ThrottlingException","message":"Rate exceeded"}`, `too_fast`,
	},
	{
		// https://docs.kraken.com/api/docs/guides/spot-errors
		"Kraken", `{"error":["EAPI:Rate limit exceeded"]}`, `too_fast`,
	},
	{
		// https://bybit-exchange.github.io/docs/v5/error
		"Bybit", `{"retCode":10006,"retMsg":"Too many visits!","result":{}}`, `too_fast`,
	},
	{
		// https://docs.slack.dev/apis/web-api/rate-limits
		"Slack", `{"ok":false,"error":"ratelimited"}`, `too_fast`,
	},
	{
		// https://developers.google.com/maps/documentation/geocoding/requests-geocoding#StatusCodes
		"Google Maps", `{"error_message":"You have exceeded your daily request quota","results":[],"status":"OVER_DAILY_LIMIT"}`, `spent`,
	},
	{"Google Maps, too fast", `{"results":[],"status":"OVER_QUERY_LIMIT"}`, `too_fast`},
	{"Google, too fast", `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}`, `too_fast`},
	{"Google, no key", `{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"dailyLimitExceededUnreg"}]}}`, `spent`},
	{"Dropbox, a lock", `{"error_summary":"too_many_write_operations/.","error":{"reason":{".tag":"too_many_write_operations"}}}`, `busy`},
	{"Bybit, of an address", `{"retCode":10018,"retMsg":"Exceeded the IP Rate Limit","result":{}}`, `too_fast`},
	{
		// https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code
		"Feishu", `{"code":99991400,"msg":"request trigger frequency limit"}`, `too_fast`,
	},
	{
		// https://docs.github.com/en/graphql
		"GitHub's GraphQL API", `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`, `too_fast`,
	},
	{
		// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit:
		// without a Retry-After, "wait for at least one minute before retrying".
		"GitHub's secondary limit", `{"documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api?apiVersion=2022-11-28#about-secondary-rate-limits",
			"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
		`retry 1m0s, too_fast`,
	},
	{"GitHub's secondary limit, of old", `{"documentation_url":"https://docs.github.com/en/free-pro-team@latest/rest/overview/resources-in-the-rest-api#secondary-rate-limits"}`, `retry 1m0s, too_fast`},
	{"GitHub's secondary limit, of a server of one's own", `{"documentation_url":"https://docs.github.com/enterprise-server@3.15/rest/overview/resources-in-the-rest-api#abuse-rate-limits"}`, `retry 1m0s, too_fast`},
	{"GitHub's primary limit", `{"documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`, `nothing`},
	{"GitHub, forbidden", `{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest/issues/comments#create-an-issue-comment","status":"403"}`, `nothing`},
	{"OpenAI, a balance", `{"error":{"code":"credit_balance_exhausted"}}`, `spent`},
	{"OpenAI, an organization that may not spend more", `{"error":{"code":"organization_spend_limit_exceeded"}}`, `spent`},
	{"OpenAI, a project that may not spend more", `{"error":{"code":"project_spend_limit_exceeded"}}`, `spent`},
	{"OpenAI, usage", `{"error":{"code":"organization_usage_limit_exceeded"}}`, `spent`},
	{"Anthropic, no money", `{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low"}}`, `spent`},

	{"no body", ``, `nothing`},
	{"no JSON", `<html>`, `nothing`},
	{"an answer", `{"items":[1,2,3],"code":"ok","type":"list"}`, `nothing`},
	{"a number", `429 `, `nothing`},
	{"a negative delay", `{"retry_after":-1}`, `nothing`},
	{"a delay with an exponent", `{"retry_after":1e3}`, `nothing`},
	{"a delay that is null", `{"retry_after":null}`, `nothing`},
	{"a delay that is a list", `{"retry_after":[5]}`, `nothing`},
	{"a huge delay", `{"retry_after":99999999999999999999}`, `retry 168h0m0s`},
	{"a cut number", `{"retry_after":64`, `nothing`},
	{"a cut string", `{"error":{"code":"insufficient_quota`, `nothing`},
	{"a path as a key", `{"error/code":"insufficient_quota","error":{"details/*/retryDelay":"5s"}}`, `nothing`},
	{"a star as a key", `{"*":{"retry_after":5},"error":{"details":{"*":{"retryDelay":"5s"}}}}`, `nothing`},
	{"escapes", `{"retry\u005fafter":5,"error":{"code":"insufficient\u005fquota"}}`, `retry 5s, spent`},
	{"points that are never restored", `{"extensions":{"cost":{"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":0,"restoreRate":0}}}}`, `"cost" 0/1000 points`},
	{"points that are restored in ages", `{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":99999999999999999999,
		"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":0,"restoreRate":0.000000001}}}}`, `"cost" 0/1000 points in 744h0m0s per 8784h0m0s, retry 168h0m0s, spent`},
	{"control characters in a name", "{\"error\":{\"details\":[{\"violations\":[{\"quotaId\":\"a\\u0000b\",\"quotaValue\":\"5\"}]}]}}", `nothing`},
}

// jsonHeader returns headers of a body of JSON.
func jsonHeader(pairs ...string) http.Header {
	return fields(append(pairs, "Content-Type", "application/json; charset=utf-8")...)
}

func TestParseBody(t *testing.T) {
	for _, tt := range bodies {
		t.Run(tt.name, func(t *testing.T) {
			facts := builtin.ParseBody(jsonHeader(), []byte(tt.body), noon)
			checkBounds(t, facts)
			if got := summary(facts); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestParseBodyCut checks that a body which is cut somewhere says less than the whole, and
// nothing else.
func TestParseBodyCut(t *testing.T) {
	for _, tt := range bodies {
		whole := builtin.ParseBody(jsonHeader(), []byte(tt.body), noon)
		for n := range tt.body {
			cut := builtin.ParseBody(jsonHeader(), []byte(tt.body[:n]), noon)
			checkBounds(t, cut)
			for _, l := range cut.Limits {
				same := func(o Limit) bool {
					return l.Name == o.Name && (!l.Limit.Known || l.Limit == o.Limit) && (!l.Remaining.Known || l.Remaining == o.Remaining) &&
						(!l.Reset.Known || l.Reset == o.Reset) && (l.Window == 0 || l.Window == o.Window)
				}
				zero := strings.Contains(tt.name, "quota of zero") // which is known by its value only
				if !slices.ContainsFunc(whole.Limits, same) && !zero {
					t.Fatalf("%s: cut after %d bytes: %s", tt.name, n, summary(cut))
				}
			}
			if cut.Retry.Known && cut.Retry.After != whole.Retry.After || slices.Index(refusals[:], cut.Retry.Refusal) > slices.Index(refusals[:], whole.Retry.Refusal) {
				t.Fatalf("%s: cut after %d bytes: %s", tt.name, n, summary(cut))
			}
		}
	}
}

// TestParseBodyAndHeaders reads both, and what they state together.
func TestParseBodyAndHeaders(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   http.Header
		body string
		want string
	}{
		{
			"Discord, a finer delay", jsonHeader("Retry-After", "65", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "64.57", "X-RateLimit-Bucket", "abcd1234"),
			`{"message":"You are being rate limited.","retry_after":64.57,"global":false}`, `"abcd1234" 0/10 in 1m4.57s, retry 1m4.57s`,
		},
		{
			"a delay that differs", jsonHeader("Retry-After", "120"), `{"retry_after":64.57}`, `retry 2m0s`,
		},
		{
			"a delay that is longer", jsonHeader("Retry-After", "0"), `{"retry_after":64.57}`, `retry 1m4.57s`,
		},
		{
			"GitHub's secondary limit, a shorter delay", jsonHeader("Retry-After", "5"),
			`{"documentation_url":"https://docs.github.com/rest#secondary-rate-limits"}`, `retry 5s, too_fast`,
		},
		{
			"GitHub's secondary limit, remaining", jsonHeader("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "14"),
			`{"documentation_url":"https://docs.github.com/rest#secondary-rate-limits"}`, `"" 14/30, retry 1m0s, too_fast`,
		},
		{
			"IETF", fields("Content-Type", "application/problem+json", "RateLimit", `"daily";r=0;t=5`, "RateLimit-Policy", `"daily";q=100;w=60`),
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["daily"]}`, `"daily" 0/100 in 5s per 1m0s, too_fast`,
		},
		{"no JSON", fields("Content-Type", "text/html", "Retry-After", "5"), `{"retry_after":64.57}`, `retry 5s`},
		{"no type", fields("Retry-After", "5"), `{"retry_after":64.57}`, `retry 5s`},
		{"compressed", jsonHeader("Content-Encoding", "gzip"), `{"retry_after":64.57}`, `nothing`},
		{"from a cache", jsonHeader("Age", "5"), `{"retry_after":64.57,"global":true}`, `retry 1m4.57s`},
		{"AWS", fields("Content-Type", "application/x-amz-json-1.1"), `{"__type":"ThrottlingException"}`, `too_fast`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := builtin.ParseBody(tt.in, []byte(tt.body), noon)
			checkBounds(t, facts)
			if got := summary(facts); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestReaderParseBody(t *testing.T) {
	r := &Reader{Dialects: []Dialect{{Name: "acme", Remaining: "X-Left"}}, Ignore: []string{"Retry-After"}}
	got := summary(r.ParseBody(jsonHeader("X-Left", "7", "Retry-After", "9"), []byte(`{"retry_after":5}`), noon))
	if want := `"acme" 7/?, retry 5s`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestParseBodyHostile checks that work and memory are bounded.
func TestParseBodyHostile(t *testing.T) {
	const mega = 1 << 20
	for name, body := range map[string]string{
		"deep arrays":     strings.Repeat("[", mega),
		"deep objects":    strings.Repeat(`{"error":`, mega),
		"deep details":    `{"error":{"details":` + strings.Repeat("[", mega),
		"a long string":   `{"error":{"code":"` + strings.Repeat("x", mega) + `"}}`,
		"escapes":         `{"error":{"code":"` + strings.Repeat(`\u0041`, mega/6) + `"}}`,
		"a long key":      `{"` + strings.Repeat("x", mega) + `":5}`,
		"a long number":   `{"retry_after":` + strings.Repeat("9", mega) + `}`,
		"many violations": `{"error":{"details":[{"violations":[` + strings.Repeat(`{"quotaId":"a"},`, mega/16) + `]}]}}`,
		"many policies":   `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":[` + strings.Repeat(`"a","b",`, mega/8),
		"many delays":     `{` + strings.Repeat(`"retry_after":5,`, mega/16) + `"x":1}`,
		"nul bytes":       strings.Repeat("\x00", mega),
		"closing":         strings.Repeat("]", mega),
	} {
		var facts Facts
		allocs := testing.AllocsPerRun(1, func() { facts = builtin.ParseBody(jsonHeader(), []byte(body), noon) })
		checkBounds(t, facts)
		if allocs > 20_000 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}

	// Names differ, so that none is dropped as a repetition.
	var b strings.Builder
	b.WriteString(`{"error":{"details":[{"violations":[`)
	for i := range 1000 {
		fmt.Fprintf(&b, `{"quotaId":"q%d"},`, i)
	}
	h := jsonHeader()
	for i := range 60 {
		h.Set(fmt.Sprintf("X-RateLimit-Remaining-%d", i), "1")
	}
	facts := builtin.ParseBody(h, []byte(b.String()), noon)
	checkBounds(t, facts)
	if len(facts.Limits) != maxLimits {
		t.Errorf("%d limits, want %d", len(facts.Limits), maxLimits)
	}
}

func TestReadsBody(t *testing.T) {
	for _, tt := range []struct {
		mediaType, encoding string
		want                bool
	}{
		{"application/json", "", true},
		{"application/json; charset=utf-8", "identity", true},
		{"application/problem+json", "", true},
		{"application/vnd.api+JSON", "", true},
		{"application/x-amz-json-1.0", "", true},
		{"application/json", "gzip", false},
		{"text/html; x=json", "", false},
		{"", "", false},
	} {
		if got := builtin.ReadsBody(fields("Content-Type", tt.mediaType, "Content-Encoding", tt.encoding)); got != tt.want {
			t.Errorf("ReadsBody(%q, %q) = %v, want %v", tt.mediaType, tt.encoding, got, tt.want)
		}
	}
}

// FuzzParseBody feeds bodies, and checks bounds, and that it is the body that counts and
// not what the memory behind it holds.
func FuzzParseBody(f *testing.F) {
	for _, b := range bodies {
		f.Add(b.body, uint16(len(b.body)))
		f.Add(b.body, uint16(len(b.body)/2))
	}
	f.Fuzz(func(t *testing.T, body string, n uint16) {
		whole := []byte(body)
		cut := whole[:min(int(n), len(whole))]
		facts := builtin.ParseBody(jsonHeader(), cut, time.Time{})
		checkBounds(t, facts)
		if again := builtin.ParseBody(jsonHeader(), []byte(string(cut)), time.Time{}); summary(again) != summary(facts) {
			t.Errorf("two readings of the same body\n%s\n%s", summary(facts), summary(again))
		}
	})
}
