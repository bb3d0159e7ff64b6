package headers

import (
	"regexp"
	"strings"
	"testing"
)

// ruleCase is what a service writes, and what is read of it.
type ruleCase struct {
	source string // who writes it: the service or the library, or "none" where nobody is known to
	in     []string
	want   string
}

// TestRules has, for each rule, answers which it is for, and answers that it must leave alone.
func TestRules(t *testing.T) {
	for rule, cases := range rules {
		for _, tt := range cases {
			t.Run(rule+"/"+tt.source, func(t *testing.T) {
				facts := Parse(fields(tt.in...), noon)
				checkBounds(t, facts)
				checkQuick(t, fields(tt.in...), noon)
				if got := summary(facts); got != tt.want {
					t.Errorf("%q\ngot  %s\nwant %s", tt.in, got, tt.want)
				}
			})
		}
	}
}

// TestBlanksAndEmptyLinesSayNothing: net/http does not take the whitespace around a value away that came over
// HTTP/2, and an empty line beside others is an empty member of their list.
func TestBlanksAndEmptyLinesSayNothing(t *testing.T) {
	for rule, cases := range rules {
		for _, tt := range cases {
			h := fields(tt.in...)
			for name, lines := range h {
				for i := range lines {
					lines[i] = " " + lines[i] + "\t "
				}
				h[name] = append(lines, " ", "")
			}
			if got := summary(Parse(h, noon)); got != tt.want {
				t.Errorf("%s, %s: %q\ngot  %s\nwant %s", rule, tt.source, h, got, tt.want)
			}
		}
	}
}

// TestListsOnSeveralLines: a list says the same on one line and on several (RFC 9110, 5.3). What is no list has
// commas in a number, a date, a string or an object.
func TestListsOnSeveralLines(t *testing.T) {
	none := regexp.MustCompile(`\d,\d\d\d|day,|Mon,|["{]`)
	lists := 0
	for rule, cases := range rules {
		for _, tt := range cases {
			h := fields(tt.in...)
			for name, lines := range h {
				if !none.MatchString(lines[0]) && strings.Contains(lines[0], ",") {
					h[name] = strings.Split(lines[0], ",")
					lists++
				}
			}
			if got := summary(Parse(h, noon)); got != tt.want {
				t.Errorf("%s, %s: %q\ngot  %s\nwant %s", rule, tt.source, h, got, tt.want)
			}
		}
	}
	if lists < 20 {
		t.Errorf("only %d lists were tried", lists)
	}
}

var rules = map[string][]ruleCase{
	"1 a number without a role beside what is left": {
		{"a platform of renders", []string{"X-RateLimit-Concurrent-Jobs", "5", "X-RateLimit-Concurrent-Jobs-Remaining", "2"}, `"concurrent-jobs" 2/5 concurrent-requests`},
		{"a runner of capsules", []string{"X-RateLimit-Requests-Per-Hour", "1000", "X-RateLimit-Requests-Per-Hour-Remaining", "983", "X-RateLimit-Requests-Per-Hour-Reset", "60"}, `"requests-hour" 983/1000 in 1m0s per 1h0m0s`},
		{"none, less than is left", []string{"X-RateLimit-Acme-Tier", "3", "X-RateLimit-Acme-Tier-Remaining", "42"}, `"acme-tier" 42/?`},
		{"none, nothing is left of it", []string{"X-RateLimit-Acme-Tier", "3", "X-RateLimit-Remaining", "2"}, `"" 2/?`},
		{"none, alone", []string{"X-RateLimit-Requests-Per-Minute", "60"}, `nothing`},
		{"none, beside a reset alone", []string{"X-RateLimit-Acme-Tier", "3", "X-RateLimit-Acme-Tier-Reset", "42"}, `nothing`},
		{"none, a fraction", []string{"X-RateLimit-Acme-Load", "0.75", "X-RateLimit-Acme-Load-Remaining", "0"}, `"acme-load" 0/?`},
		{"Zendesk, words", []string{"Zendesk-RateLimit-Tickets-Index", "total=100; remaining=99; resets=41"}, `"tickets-index" 99/100 in 41s`},
	},
	"1 values with keys are no words": {
		{"a name behind its numbers", []string{"X-RateLimit-Search", "q=100;r=99;b=per_hour, q=300;r=299;b=per_day"}, `"search:per_hour" 99/100 per 1h0m0s, "search:per_day" 299/300 per 24h0m0s`},
		{"a name in front, as Auth0", []string{"X-RateLimit-Search", "b=per_hour;q=100;r=99, b=per_day;q=300;r=299"}, `"search:per_hour" 99/100 per 1h0m0s, "search:per_day" 299/300 per 24h0m0s`},
		{"no names", []string{"X-RateLimit-Search", "total=100; remaining=99, total=1000; remaining=999"}, `"search" 99/100, "search" 999/1000`},
	},
	"2 queries that are left": {
		{"World Weather Online", []string{"X-WWO-Qpd-Left", "488"}, `"wwo-qpd" 488/? per 24h0m0s`},
		{"none, queries", []string{"X-Acme-Queries-Left", "7"}, `"acme-queries" 7/?`},
		{"none, whatever else is left", []string{"X-Acme-Left", "7", "X-Zip-Left", "7", "X-Map-Left", "7", "X-Upd-Left", "7", "Left", "7", "-Left", "7"}, `nothing`},
	},
	"3 the length of a window is the window": {
		{"JTL", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Interval-Length-Seconds", "45", "X-RateLimit-Remaining", "5"}, `"" 5/10 per 45s`},
		{"Composio", []string{"X-RateLimit", "20000", "X-RateLimit-Remaining", "19997", "X-RateLimit-Window-Size", "600s"}, `"" 19997/20000 per 10m0s`},
		{"none, of a queue", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Queue-Length", "45", "X-Window-Size", "45"}, `"" 5/10`},
		{"none, another word between", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Window-Queue-Length", "45"}, `"" 5/10`},
	},
	"4 ai is a unit before the marker": {
		{"Apache APISIX", []string{"X-AI-RateLimit-Limit", "500", "X-AI-RateLimit-Remaining", "0"}, `"" 0/500 tokens`},
		{"a student's question", []string{"X-AI-Quota-Limit", "1", "X-AI-Quota-Remaining", "0", "X-AI-Quota-Reset", "60"}, `"ai" 0/1 in 1m0s`},
		{"an assistant of two caps", []string{"X-AI-Calls-Remaining", "0", "X-AI-Calls-Remaining-Month", "0"}, `"ai-calls" 0/?, "ai-calls-month" 0/?, spent`},
		{"none, behind it", []string{"X-RateLimit-AI-Limit", "10", "X-RateLimit-AI-Remaining", "3"}, `"ai" 3/10`},
	},
	"1 the last word for a role is the role": {
		{"RapidAPI", []string{"X-RateLimit-Rapid-Free-Plans-Hard-Limit-Limit", "500000", "X-RateLimit-Rapid-Free-Plans-Hard-Limit-Remaining", "0", "X-RateLimit-Rapid-Free-Plans-Hard-Limit-Reset", "2591999"}, `"rapid-free-plans-hard" 0/500000 in 719h59m59s`},
		{"Dropbox Sign", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Limit-Remaining", "99", "X-RateLimit-Reset", "30"}, `"" 99/100 in 30s`},
		{"a quota", []string{"X-RateLimit-Quota-Limit", "100", "X-RateLimit-Quota-Remaining", "7"}, `"quota" 7/100`},
		{"a quota beside another limit", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-Quota-Limit", "100", "X-Quota-Remaining", "7"}, `"" 9/10, "quota" 7/100`},
		{"remain-limit", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remain-Limit", "7"}, `"" 7/100`},
		{"remaining quota", []string{"X-Acme-Remaining-Quota", "7", "X-Acme-Quota", "10"}, `"acme" 7/10`},
		{"X, of an app", []string{"X-Rate-Limit-Limit", "900", "X-Rate-Limit-Remaining", "899", "X-App-Rate-Limit-Limit", "100000", "X-App-Rate-Limit-Remaining", "99999"}, `"app" 99999/100000, "" 899/900`},
		{"Nutanix", []string{"X-Api-RateLimit-Limit", "3", "X-Api-RateLimit-Refresh-Period-Seconds", "1", "X-Api-RateLimit-Remaining", "2", "X-RateLimit-Limit", "80", "X-RateLimit-Remaining", "79"}, `"api" 2/3 per 1s, "" 79/80`},
		{"X-Limit alone is of a page", []string{"X-Limit", "10", "X-Remaining", "3"}, `nothing`},
		{"OpenAI, usage is a name", []string{"X-RateLimit-Limit-Tokens_usage_based", "40000", "X-RateLimit-Remaining-Tokens_usage_based", "39880"}, `"tokens_usage_based" 39880/40000 tokens`},
		{"Leadron, of usage", []string{"X-API-Usage-Used", "12450", "X-API-Usage-Limit", "50000", "X-API-Usage-Remaining", "37550"}, `"api-usage" 37550/50000`},
		{"Imgur, of posts", []string{"X-Post-Rate-Limit-Limit", "1250", "X-Post-Rate-Limit-Remaining", "1249", "X-Post-Rate-Limit-Reset", "3600"}, `"post" 1249/1250 in 1h0m0s`},
	},
	"1 what is not of now, and no time": {
		{"none, of another time", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Previous-Limit", "5", "X-RateLimit-Last-Reset", "1772452740", "X-RateLimit-Next-Limit", "20"}, `"" 0/10`},
		{"Akamai, next is when it is restored", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Next", "2026-03-02T12:00:30Z"}, `"" 0/10 in 30s`},
		{"none, a state and a count", []string{"X-Retry-In-Progress", "1", "X-Retry-After-Count", "3", "X-Retry-After-Enabled", "1", "X-RateLimit-Wait-Queue-Length", "5"}, `nothing`},
		{"none, bounds of hints", []string{"X-Max-Retry-After", "300", "X-Min-Retry-After", "1", "X-Default-Retry-After", "60", "X-Last-Retry-After", "30", "X-RateLimit-Max-Wait", "9"}, `nothing`},
		{"none, a maximum behind", []string{"X-Retry-After-Max", "300"}, `nothing`},
		{"none, in the last minute", []string{"X-RateLimit-Used-Last-Minute", "5", "X-RateLimit-Limit-Last-Minute", "50"}, `"last-minute" 45/50 per 1m0s`},
		{"none, when it is available", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Available-At", "1772452830"}, `"" 0/? in 30s`},
		{"none, in which time it is available", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Available-In", "30"}, `"" 0/? in 30s`},
		{"none, next available", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Next-Available", "30"}, `"" 0/? in 30s`},
		{"none, the next reset", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Next-Reset", "30"}, `"" 0/? in 30s`},
		{"football-data, what is available in a minute", []string{"X-RateLimit-Limit-Minute", "10", "X-RateLimit-Available-Minute", "9"}, `"minute" 9/10 per 1m0s`},
		{"none, instants beside counts", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "5", "X-RateLimit-Used-At", "1772452740", "X-RateLimit-Limit-Since", "1772452740", "X-RateLimit-Remaining-Sizes", "3"}, `"" 5/100, "sizes" 3/?`},
		{"none, retries that remain", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "5", "X-RateLimit-Retries-Remaining", "0"}, `"" 5/100`},
		{"NestJS, a name", []string{"Retry-After-Short", "30"}, `retry 30s`},
		{"Bucket4j", []string{"X-Rate-Limit-Retry-After-Seconds", "12"}, `retry 12s`},
		{"none, how large a request may be", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5", "X-RateLimit-Max-Body-Size", "1048576", "X-RateLimit-Max-Retries", "3", "X-RateLimit-Max-Page-Size", "100"}, `"" 5/10`},
		{"Mistral, by size", []string{"X-RateLimitBySize-Limit-Minute", "500000", "X-RateLimitBySize-Remaining-Minute", "5"}, `"minute" 5/500000 tokens per 1m0s`},
	},
	"2 more words, also within a word": {
		{"CoinAPI", []string{"X-RateLimit-Quota-Allocated", "1000", "X-RateLimit-Quota-Remaining", "990"}, `"quota" 990/1000`},
		{"Apigee, counts", []string{"RateLimit-Quota-Allowed-Count", "100", "RateLimit-Quota-Used-Count", "3", "RateLimit-Quota-Available-Count", "97"}, `"quota" 97/100`},
		{"Genesys, a count alone is used", []string{"Inin-RateLimit-Count", "1", "Inin-RateLimit-Allowed", "300", "Inin-RateLimit-Reset", "59"}, `"" 299/300 in 59s`},
		{"Zotero", []string{"Backoff", "30"}, `retry 30s`},
		{"none, in milliseconds", []string{"X-Backoff-Ms", "1500"}, `retry 1.5s`},
		{"none, settings of a backoff", []string{"X-Backoff-Factor", "2", "X-Max-Backoff", "60", "X-RateLimit-Backoff-Limit", "7"}, `"backoff" ?/7`},
		{"Lightspeed Retail, how full a bucket is", []string{"X-LS-API-Bucket-Level", "15/60", "X-LS-API-Drip-Rate", "1"}, `"ls-api-bucket" 45/60`},
		{"none, other levels", []string{"X-Battery-Level", "15/60", "X-Log-Level", "3", "X-Bucket-Level", "high"}, `nothing`},
		{"Crossref, at the same time", []string{"X-Concurrency-Limit", "3"}, `"concurrency" ?/3 concurrent-requests`},
		{"none, of other things at the same time", []string{"X-Max-Concurrent-Streams", "100", "X-Concurrent-User-Limit", "5", "X-Concurrency", "4"}, `nothing`},
		{"Axway, in one word", []string{"X-CallLimit-Remaining", "5", "X-CallLimit-Limit", "10", "X-CallLimit-TimeToReset-Milliseconds", "4500"}, `"call" 5/10 in 4.5s`},
		{"Mashery", []string{"X-Plan-Qps-Allotted", "100", "X-Plan-Qps-Current", "1", "X-Plan-Quota-Allotted", "36000", "X-Plan-Quota-Current", "5"}, `"plan" 35995/36000, "plan-qps" 99/100 per 1s`},
		{"a renderer of pages, active", []string{"X-Concurrent-Limit", "5", "X-Concurrent-Active", "5"}, `"concurrent" 0/5 concurrent-requests`},
		{"none, active things", []string{"X-Active", "5", "X-Plan-Active", "1", "X-Workers-Running", "5"}, `nothing`},
		{"a throttle of ASGI, a window without a marker", []string{"X-Throttle-Limit", "10", "X-Throttle-Remaining", "7", "X-Throttle-Window", "60"}, `"throttle" 7/10 per 1m0s`},
		{"none, another window", []string{"X-Throttle-Limit", "10", "X-Throttle-Remaining", "7", "X-Window", "60", "X-Maintenance-Window", "60"}, `"throttle" 7/10`},
		{"Qualys", []string{"X-Concurrency-Limit-Limit", "2", "X-Concurrency-Limit-Running", "1"}, `"concurrency" 1/2 concurrent-requests`},
		{"Toggl", []string{"X-Toggl-Quota-Remaining", "0", "X-Toggl-Quota-Resets-In", "90"}, `"toggl" 0/? in 1m30s`},
		{"Keap", []string{"X-Keap-Product-Quota-Limit", "150000", "X-Keap-Product-Quota-Time-Unit", "day", "X-Keap-Product-Quota-Interval", "1", "X-Keap-Product-Quota-Available", "149990", "X-Keap-Product-Quota-Used", "10", "X-Keap-Product-Quota-Expiry-Time", "1772456400000"}, `"keap-product" 149990/150000 in 1h0m0s per 24h0m0s`},
		{"Companies House", []string{"X-Ratelimit-Limit", "600", "X-Ratelimit-Remain", "599", "X-Ratelimit-Window", "5m"}, `"" 599/600 per 5m0s`},
		{"DNS Made Easy", []string{"X-Dnsme-RequestsRemaining", "149", "X-Dnsme-RequestLimit", "150"}, `"dnsme-request" 149/150`},
		{"AppDay", []string{"X-RateLimit-AppDay-Limit", "1000", "X-RateLimit-AppDay-Remaining", "9"}, `"appday" 9/1000 per 24h0m0s`},
		{"GoCardless, variables of CGI", []string{"http_x_ratelimit_account_success_limit", "4", "http_x_ratelimit_account_success_remaining", "0", "http_x_ratelimit_account_success_reset", "86307"}, `"account_success" 0/4 in 23h58m27s`},
		{"The Odds API", []string{"X-Requests-Remaining", "480", "X-Requests-Used", "20"}, `"requests" 480/500`},
		{"football-data.org", []string{"X-Requests-Available-Minute", "9", "X-RequestCounter-Reset", "60"}, `"requests-minute" 9/? per 1m0s`},
		{"Genesys", []string{"Inin-Ratelimit-Count", "1", "Inin-Ratelimit-Allowed", "300", "Inin-Ratelimit-Reset", "60"}, `"" 299/300 in 1m0s`},
		{"Tradier", []string{"X-Ratelimit-Allowed", "120", "X-Ratelimit-Used", "3", "X-Ratelimit-Available", "117", "X-Ratelimit-Expiry", "1772452830001"}, `"" 117/120 in 30.001s`},
		{"CORE", []string{"X-RateLimitRemaining", "9", "X-RateLimit-Limit", "10"}, `"" 9/10`},
		{"Split", []string{"X-RateLimit-Remaining-Org", "99", "X-RateLimit-Reset-Seconds-Org", "5"}, `"org" 99/? in 5s`},
		{"Zoho", []string{"X-API-CREDITS-REMAINING", "4999"}, `"api-credits" 4999/? credits`},
		{"Egnyte", []string{"X-Accesstoken-Qps-Allotted", "2", "X-Accesstoken-Qps-Current", "1"}, `"accesstoken-qps" 1/2 per 1s`},
		{"Aircall", []string{"X-AircallApi-Limit", "60", "X-AircallApi-Remaining", "59", "X-AircallApi-Reset", "1772452830"}, `"aircallapi" 59/60 in 30s`},
		{"a label names groups", []string{"X-RateLimit-Api-Name", "search", "X-RateLimit-Api-Minute-Limit", "10", "X-RateLimit-Api-Minute-Remaining", "3", "X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "40"}, `"" 40/50, "search:minute" 3/10 per 1m0s`},
		{"GitHub Models, a time", []string{"X-RateLimit-TimeRemaining", "55", "X-RateLimit-Type", "UserByMinute", "Retry-After", "55"}, `"UserByMinute" ?/? in 55s per 1m0s, retry 55s`},
		{"a time until nobody knows what", []string{"X-RateLimit-TimeRemaining", "55"}, `nothing`},
		{"another time", []string{"X-RateLimit-TimeRemaining", "900", "Retry-After", "5"}, `retry 5s`},
		{"a flag", []string{"X-RateLimit-AbusePenalty-Active", "False", "X-RateLimit-Remaining", "3"}, `"" 3/?`},
		{"Bitbucket, costs", []string{"X-Usage-User-Time", "0.02", "X-Used-Mesh", "False", "X-Request-Count", "1014"}, `nothing`},
		{"words that end as a role does", []string{"X-Asset", "5", "X-Unused", "7", "X-Preset", "3", "X-Delimited", "4", "X-Climax", "9"}, `nothing`},
	},
	"3 windows": {
		{"Mistral", []string{"X-RateLimit-Limit-Req-10-Second", "60", "X-RateLimit-Remaining-Req-10-Second", "59"}, `"req-10-second" 59/60 per 10s`},
		{"Azure Resource Manager", []string{"X-Ms-RateLimit-Remaining-Resource", "Microsoft.Compute/HighCostGet3Min;159,Microsoft.Compute/HighCostGet30Min;0"}, `"Microsoft.Compute/HighCostGet3Min" 159/? per 3m0s, "Microsoft.Compute/HighCostGet30Min" 0/? per 30m0s`},
		{"Apollo", []string{"X-Rate-Limit-24-Hour", "6000", "X-24-Hour-Usage", "1", "X-24-Hour-Requests-Left", "5999", "X-Rate-Limit-Minute", "200", "X-Minute-Requests-Left", "199"}, `"24-hour" 5999/6000 per 24h0m0s, "minute" 199/200 per 1m0s`},
		{"CamelCase in the name", []string{"X-RateLimit-Remaining-HighCostGet3Min", "159"}, `"highcostget3min" 159/? per 3m0s`},
		{"SurveyMonkey", []string{"X-Ratelimit-App-Global-Minute-Limit", "120", "X-Ratelimit-App-Global-Minute-Remaining", "119", "X-Ratelimit-App-Global-Minute-Reset", "33"}, `"app-global-minute" 119/120 in 33s per 1m0s`},
		{"Azure OpenAI", []string{"X-RateLimit-Limit-Tokens", "250000", "X-RateLimit-Remaining-Tokens", "249988", "X-RateLimit-RenewalPeriod-Tokens", "60"}, `"tokens" 249988/250000 tokens per 1m0s`},
		{"Opsgenie", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Period-In-Sec", "60"}, `"" 3/? per 1m0s`},
		{"HTX, milliseconds", []string{"Ratelimit-Limit", "10", "Ratelimit-Remaining", "9", "Ratelimit-Interval", "2000", "Ratelimit-Reset", "1772452801500"}, `"" 9/10 in 1.5s per 2s`},
		{"none, a range", []string{"X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "3", "X-RateLimit-Range", "60"}, `"" 3/9 per 1m0s`},
		{"none, a range of bytes", []string{"Content-Range", "bytes 0-99/1000", "X-Range-Limit", "60", "X-RateLimit-Limit", "9"}, `"" ?/9`},
		{"an hour", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "3600"}, `"" 3/? per 1h0m0s`},
		{"30 days", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "2592000"}, `"" 3/? per 720h0m0s`},
		{"a minute without its unit", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "60000"}, `"" 3/? per 1m0s`},
		{"half a day without its unit", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "43200000"}, `"" 3/? per 12h0m0s`},
		{"36 minutes, or 25 days", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "2160000"}, `"" 3/? per 36m0s`},
		{"a year", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "31536000"}, `"" 3/? per 8760h0m0s`},
		{"Kubernetes is no window", []string{"X-RateLimit-K8s-Remaining", "3", "X-RateLimit-P2P-Remaining", "4"}, `"k8s" 3/?, "p2p" 4/?`},
		{"a version is no window", []string{"X-RateLimit-Remaining-V2", "3"}, `"v2" 3/?`},
		{"Confluence, of what is added", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "98", "X-RateLimit-Interval-Seconds", "60", "X-RateLimit-FillRate", "20"}, `"" 98/100`},
	},
	"4 units": {
		{"Mistral, requests", []string{"X-RateLimit-Limit-Req-Minute", "60", "X-RateLimit-Remaining-Req-Minute", "59"}, `"req-minute" 59/60 per 1m0s`},
		{"an abbreviation", []string{"X-RateLimit-Limit-Xrm-Minute", "60", "X-RateLimit-Remaining-Xrm-Minute", "59"}, `"xrm-minute" 59/60 per 1m0s`},
		{"Kong, videos", []string{"X-RateLimit-Limit-Videos-Minute", "10", "X-RateLimit-Remaining-Videos-Minute", "9"}, `"videos-minute" 9/10 videos per 1m0s`},
		{"Groq, seconds of audio", []string{"X-RateLimit-Limit-Audio-Seconds", "7200", "X-RateLimit-Remaining-Audio-Seconds", "7100"}, `"audio-seconds" 7100/7200 audio-seconds`},
		{"OpenAI, images", []string{"X-RateLimit-Limit-Input-Images", "50", "X-RateLimit-Remaining-Input-Images", "49"}, `"input-images" 49/50 images`},
		{"none, characters", []string{"X-RateLimit-Limit-Characters", "10000", "X-RateLimit-Remaining-Characters", "900"}, `"characters" 900/10000 characters`},
		{"Trello, a credential", []string{"X-RateLimit-Limit-Access-Token", "100", "X-RateLimit-Remaining-Access-Token", "99"}, `"access-token" 99/100`},
		{"tokens", []string{"X-RateLimit-Limit-Token", "100", "X-RateLimit-Remaining-Token", "99"}, `"token" 99/100 tokens`},
		{"Dataverse", []string{"X-Ms-RateLimit-Time-Remaining-Xrm-Requests", "1,199.97", "X-Ms-RateLimit-Burst-Remaining-Xrm-Requests", "5999"}, `"burst-xrm-requests" 5999/?`},
		{"Dataverse, refused", []string{"X-Ms-RateLimit-Time-Remaining-Xrm-Requests", "1,199.97", "X-Ms-RateLimit-Burst-Remaining-Xrm-Requests", "0", "Retry-After", "2"}, `"burst-xrm-requests" 0/?, retry 2s`},
		{"real time is a name", []string{"X-RateLimit-Remaining-Real-Time", "5"}, `"real-time" 5/?`},
		{"Jira, bursts", []string{"X-RateLimit-Limit", "350", "X-RateLimit-Remaining", "0", "RateLimit-Reason", "jira-burst-based"}, `"jira-burst-based" 0/350`},
		{"Jira, points", []string{"X-RateLimit-Limit", "65000", "X-RateLimit-Remaining", "0", "RateLimit-Reason", "jira-quota-global-based"}, `"jira-quota-global-based" 0/65000 points`},
	},
	"5 what is no rate": {
		{"a page", []string{"X-Page-Limit", "10", "X-Page-Remaining", "0", "X-Pagination-Limit", "10", "X-Pagination-Remaining", "0"}, `nothing`},
		{"results", []string{"X-Results-Limit", "10", "X-Results-Remaining", "0"}, `nothing`},
		{"storage", []string{"X-Storage-Quota-Limit", "1000", "X-Storage-Quota-Remaining", "0"}, `nothing`},
		{"seats", []string{"X-Seats-Limit", "5", "X-Seats-Remaining", "0"}, `nothing`},
		{"an upload", []string{"X-Upload-Limit", "5", "X-Upload-Remaining", "0", "X-Upload-Reset", "5"}, `nothing`},
		{"a body", []string{"X-Request-Bytes-Limit", "1000", "X-Request-Bytes-Remaining", "0"}, `nothing`},
		{"a session", []string{"X-Session-Limit", "5", "X-Session-Remaining", "0"}, `nothing`},
		{"Mistral, pages of a minute", []string{"X-RateLimit-Limit-Ocr-Pages-Minute", "60", "X-RateLimit-Remaining-Ocr-Pages-Minute", "0"}, `"ocr-pages-minute" 0/60 pages per 1m0s`},
		{"a window", []string{"X-Upload-Limit-Day", "60", "X-Upload-Remaining-Day", "1"}, `"upload-day" 1/60 per 24h0m0s`},
		{"a root", []string{"X-Upload-RateLimit-Limit", "60", "X-Upload-RateLimit-Remaining", "0"}, `"" 0/60`},
		{"an answer that says when to try again", []string{"X-Upload-Limit", "5", "X-Upload-Remaining", "0", "Retry-After", "5"}, `"upload" 0/5, retry 5s`},
	},
	"6 numbers": {
		{"a thousand", []string{"X-RateLimit-Limit", "1,000", "X-RateLimit-Remaining", "1,000"}, `"" 1000/1000`},
		{"alone", []string{"X-RateLimit-Remaining", "12,034"}, `"" 12034/?`},
		{"more than a thousand, beside a number", []string{"X-RateLimit-Limit", "1,500", "X-RateLimit-Remaining", "999"}, `"" 999/1500`},
		{"a million", []string{"X-RateLimit-Limit", "1,000,000", "X-RateLimit-Remaining", "999,999"}, `"" 999999/1000000`},
		{"nobody knows", []string{"X-RateLimit-Limit", "1,500", "X-RateLimit-Remaining", "1,499"}, `nothing`},
		{"Strava", []string{"X-RateLimit-Limit", "200,2000", "X-RateLimit-Usage", "100,150"}, `"overall-15min" 100/200 per 15m0s, "overall-daily" 1850/2000 per 24h0m0s`},
		{"a proxy that folds lines", []string{"X-RateLimit-Limit", "100, 100", "X-RateLimit-Remaining", "42, 42"}, `"" 42/100`},
		{"twice the same", []string{"X-RateLimit-Limit", "100,100", "X-RateLimit-Remaining", "100,100"}, `"" 100/100`},
		{"a fraction below one", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0.5"}, `"" ?/10`},
		{"Reddit, none", []string{"X-Ratelimit-Remaining", "0.0", "X-Ratelimit-Reset", "13"}, `"" 0/? in 13s`},
		{"money", []string{"X-RateLimit-Remaining-Usd", "0.00", "X-RateLimit-Limit-Usd", "5"}, `"usd" ?/5 usd`},
		{"a proxy with budgets, the reset is not that of money", []string{"X-RateLimit-Requests-Limit", "60", "X-RateLimit-Requests-Remaining", "42", "X-RateLimit-Budget-Remaining-USD", "38.42", "X-RateLimit-Reset", "24"}, `"requests" 42/60 in 24s`},
		{"none, money has a reset of its own", []string{"X-RateLimit-Limit-Usd", "5", "X-RateLimit-Remaining-Usd", "3", "X-RateLimit-Reset-Usd", "24"}, `"usd" ?/5 usd in 24s`},
		{"a store of images, a quota of a disk", []string{"X-Quota-Used", "52428800", "X-Quota-Total", "1073741824"}, `nothing`},
		{"none, as many requests as a round number", []string{"X-Quota-Used", "52428800", "X-Quota-Total", "1000000000"}, `"quota" 947571200/1000000000`},
		{"none, a rate of MiB", []string{"X-RateLimit-Limit", "1048576", "X-RateLimit-Remaining", "1048575"}, `"" 1048575/1048576`},
		{"none, digits grouped by points", []string{"X-RateLimit-Limit", "1.000", "X-RateLimit-Remaining", "999"}, `"" 999/?`},
		{"none, both", []string{"X-RateLimit-Limit", "5.000", "X-RateLimit-Remaining", "4.998"}, `nothing`},
		{"tollbooth", []string{"X-Rate-Limit-Limit", "5.00", "X-Rate-Limit-Remaining", "4"}, `"" 4/5`},
		{"none, three decimals", []string{"X-RateLimit-Limit", "600.000", "X-RateLimit-Remaining", "599"}, `"" 599/600`},
		{"none, percent of another number", []string{"X-RateLimit-Percent-Used", "30", "X-RateLimit-Limit", "200"}, `"" ?/200`},
		{"Spoonacular", []string{"X-API-Quota-Used", "19.21", "X-API-Quota-Left", "130.79"}, `"api" 130/150`},
		{"used with a fraction", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Used", "2.5"}, `"" 57/60`},
	},
	"3 numbers in words": {
		{"Beds24", []string{"X-Five-Min-Limit-Remaining", "96.8", "X-Five-Min-Limit-Resets-In", "299"}, `"five-min" 96/? in 4m59s per 5m0s`},
		{"none, ten minutes", []string{"X-RateLimit-Ten-Minute-Limit", "100", "X-RateLimit-Ten-Minute-Remaining", "0", "X-RateLimit-Ten-Minute-Reset", "580"}, `"ten-minute" 0/100 in 9m40s per 10m0s`},
		{"none, half an hour", []string{"X-RateLimit-Limit-Half-Hour", "100", "X-RateLimit-Remaining-Half-Hour", "3"}, `"half-hour" 3/100 per 30m0s`},
		{"none, a quarter of an hour", []string{"X-RateLimit-Quarter-Hour-Limit", "100", "X-RateLimit-Quarter-Hour-Remaining", "4"}, `"quarter-hour" 4/100 per 15m0s`},
		{"none, two words for a number", []string{"X-RateLimit-Forty-Eight-Hour-Limit", "100", "X-RateLimit-Forty-Eight-Hour-Remaining", "4"}, `"forty-eight-hour" 4/100 per 48h0m0s`},
		{"none, in the plural", []string{"X-RateLimit-Limit-Thirty-Seconds", "100", "X-RateLimit-Remaining-Thirty-Seconds", "4"}, `"thirty-seconds" 4/100 per 30s`},
		{"none, in one word", []string{"X-RateLimit-FiveMin-Limit", "100", "X-RateLimit-FiveMin-Remaining", "4"}, `"fivemin" 4/100 per 5m0s`},
		{"none, in a value", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "4", "X-RateLimit-Window", "five minutes"}, `"" 4/100 per 5m0s`},
		{"none, of no fixed length", []string{"X-RateLimit-Half-Month-Limit", "100", "X-RateLimit-Half-Month-Remaining", "4"}, `"half-month" 4/100`},
		{"none, of which nobody knows", []string{"X-RateLimit-Semi-Hourly-Limit", "100", "X-RateLimit-Semi-Hourly-Remaining", "4", "X-RateLimit-Two-Half-Day-Limit", "9", "X-RateLimit-Several-Days-Limit", "9"}, `"semi-hourly" 4/100, "several-days" ?/9, "two-half-day" ?/9`},
		{"none, what the number belongs to", []string{"X-RateLimit-Tier-Two-Minute-Limit", "10"}, `"tier-two-minute" ?/10`},
		{"none, before another word", []string{"X-RateLimit-Tier-Two-Limit", "100", "X-RateLimit-Tier-Two-Remaining", "4", "X-RateLimit-Tier-Two-Daily-Limit", "9"}, `"tier-two" 4/100, "tier-two-daily" ?/9 per 24h0m0s`},
	},
	"3 windows that prose states": {
		{"LaunchDarkly", []string{"X-RateLimit-Global-Remaining", "98", "X-RateLimit-Route-Remaining", "0", "X-RateLimit-Reset", "1772452805000"}, `"global" 98/? in 5s per 10s, "route" 0/? in 5s per 10s`},
		{"a public demo, a day", []string{"Retry-After", "86400", "X-RateLimit-IP-Remaining", "3", "X-RateLimit-Global-Remaining", "0"}, `"global" 0/?, "ip" 3/?, retry 24h0m0s`},
		{"Yandex.Market", []string{"X-RateLimit-Daily-Limit", "10000", "X-RateLimit-Daily-Remaining", "9990", "X-RateLimit-Global-Limit", "50", "X-RateLimit-Global-Remaining", "49", "X-RateLimit-Method-Limit", "10", "X-RateLimit-Method-Remaining", "8"}, `"daily" 9990/10000 per 24h0m0s, "global" 49/50, "method" 8/10`},
		{"none, global with an hour", []string{"X-RateLimit-Global-Limit", "50", "X-RateLimit-Global-Remaining", "0", "X-RateLimit-Global-Reset", "3600"}, `"global" 0/50 in 1h0m0s`},
		{"none, a route", []string{"X-RateLimit-Route-Limit", "5", "X-RateLimit-Route-Remaining", "4", "X-RateLimit-Route-Reset", "60"}, `"route" 4/5 in 1m0s`},
		{"none, both with limits", []string{"X-RateLimit-Route-Limit", "5", "X-RateLimit-Route-Remaining", "4", "X-RateLimit-Global-Remaining", "40"}, `"global" 40/?, "route" 4/5`},
	},
	"4 units, in the singular and glued": {
		{"Clover", []string{"x-ratelimit-tokenlimit", "16", "x-ratelimit-crosstokenlimit", "50", "x-ratelimit-tokenconcurrentlimit", "5", "x-ratelimit-crosstokenconcurrentlimit", "10"}, `"crosstoken" ?/50, "crosstokenconcurrent" ?/10 concurrent-requests, "token" ?/16, "tokenconcurrent" ?/5 concurrent-requests`},
		{"none, two kinds of tokens", []string{"X-RateLimit-Token-Limit", "16", "X-RateLimit-Input-Token-Limit", "50"}, `"input-token" ?/50 tokens, "token" ?/16 tokens`},
		{"none, tokens beside requests", []string{"X-RateLimit-Token-Limit", "16", "X-RateLimit-Request-Limit", "50"}, `"request" ?/50, "token" ?/16 tokens`},
		{"Scrapfly", []string{"X-Scrapfly-Remaining-Api-Credit", "988", "X-Scrapfly-Account-Concurrent-Usage", "1", "X-Scrapfly-Account-Remaining-Concurrent-Usage", "4"}, `"scrapfly-account-concurrent" 4/5 concurrent-requests, "scrapfly-api-credit" 988/? credits`},
		{"none, a point", []string{"X-RateLimit-Point-Limit", "100", "X-RateLimit-Point-Remaining", "9"}, `"point" 9/100 points`},
		{"none, requests for an image", []string{"X-RateLimit-Limit-Image-Generation-Requests", "100", "X-RateLimit-Remaining-Image-Generation-Requests", "9", "X-RateLimit-Image-Limit", "5"}, `"image-generation-requests" 9/100, "image" ?/5 images`},
		{"none, an endpoint is no point", []string{"X-RateLimit-Endpoint-Limit", "100", "X-RateLimit-Endpoint-Remaining", "9"}, `"endpoint" 9/100`},
		{"a proxy of RPM and TPM", []string{"X-RateLimit-Limit-RPM", "60", "X-RateLimit-Limit-TPM", "100000"}, `"rpm" ?/60 per 1m0s, "tpm" ?/100000 tokens per 1m0s`},
		{"Solana", []string{"X-RateLimit-Rps-Limit", "250", "X-RateLimit-Rps-Remaining", "249"}, `"rps" 249/250 per 1s`},
		{"none, a day, and queries", []string{"X-RateLimit-RPD-Limit", "250", "X-RateLimit-QPM-Limit", "20"}, `"qpm" ?/20 per 1m0s, "rpd" ?/250 per 24h0m0s`},
		{"none, transactions", []string{"X-RateLimit-TPS-Limit", "25"}, `"tps" ?/25 per 1s`},
		{"none, a number before is no multiple", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "5", "X-RateLimit-Window", "60rpm"}, `"" 5/60`},
		{"Ollama, a queue", []string{"X-RateLimit-Max-Concurrent", "4", "X-RateLimit-Queue-Limit", "15", "X-RateLimit-Queue-Length", "3"}, `"concurrent" ?/4 concurrent-requests`},
		{"none, a queue by the minute", []string{"X-RateLimit-Queue-Limit-Minute", "15", "X-RateLimit-Queue-Remaining-Minute", "3"}, `"queue-minute" 3/15 per 1m0s`},
	},
	"4 what is left of a time": {
		{"Outbrain", []string{"Rate-Limit-Msec-Left", "1750"}, `"" ?/? in 1.75s`},
		{"none, seconds beside what is left", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Remaining-Sec", "17"}, `"" 0/? in 17s`},
		{"none, in full", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Remaining-Seconds", "17"}, `"" 0/? in 17s`},
		{"a gateway of Spring", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Remaining-Time-In-Seconds", "30"}, `"" 3/? in 30s`},
		{"Rollbar, beside a reset", []string{"X-Rate-Limit-Limit", "5000", "X-Rate-Limit-Remaining", "4999", "X-Rate-Limit-Reset", "1772456400", "X-Rate-Limit-Remaining-Seconds", "7"}, `"" 4999/5000 in 1h0m0s`},
		{"none, alone", []string{"X-RateLimit-Remaining-Seconds", "17"}, `nothing`},
		{"none, of a second", []string{"X-RateLimit-Remaining", "900", "X-RateLimit-Limit-Sec", "10", "X-RateLimit-Remaining-Sec", "7"}, `"" 900/?, "sec" 7/10 per 1s`},
		{"none, of a second beside a day", []string{"X-RateLimit-Remaining", "900", "X-RateLimit-Remaining-Day", "10", "X-RateLimit-Remaining-Sec", "7"}, `"" 900/?, "day" 10/? per 24h0m0s, "sec" 7/? per 1s`},
		{"none, of audio", []string{"X-RateLimit-Remaining", "900", "X-RateLimit-Remaining-Audio-Seconds", "70", "X-RateLimit-Video-Seconds-Remaining", "7"}, `"" 900/?, "audio-seconds" 70/? audio-seconds`},
		{"none, minutes of calls", []string{"X-RateLimit-Remaining", "900", "X-RateLimit-Remaining-Minutes", "70"}, `"" 900/?`},
	},
	"7 hints of a delay": {
		{"Airbrake", []string{"X-RateLimit-Delay", "10"}, `retry 10s`},
		{"an ERP of products", []string{"X-RateLimit-Delay-Sec", "2"}, `retry 2s`},
		{"none, in milliseconds", []string{"X-RateLimit-Delay-Ms", "150"}, `retry 150ms`},
		{"Django REST framework 2", []string{"X-Throttle-Wait-Seconds", "38"}, `retry 38s`},
		{"Azure DevOps, a delay that was served", []string{"X-RateLimit-Resource", "Core", "X-RateLimit-Delay", "1.342", "X-RateLimit-Limit", "200", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772453100"}, `"Core" 0/200 in 5m0s`},
		{"none, other delays", []string{"X-Delay", "5", "X-Queue-Delay", "5", "X-RateLimit-Replication-Delay", "5", "X-RateLimit-Delay-After", "5", "X-RateLimit-Max-Delay", "9", "X-Wait-Seconds", "7"}, `nothing`},
	},
	"7 times": {
		{"beyond its window", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "45000"}, `"minute" 0/60 in 45s per 1m0s`},
		{"three digits are nothing", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "850"}, `"minute" 0/60 per 1m0s`},
		{"none, a window in a value, seconds", []string{"X-RateLimit-Limit", "60/min", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "900"}, `"" 0/60 in 15m0s per 1m0s`},
		{"none, a window in a value, milliseconds", []string{"X-RateLimit-Limit", "60/min", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9000"}, `"" 0/60 in 9s per 1m0s`},
		{"none, beyond its window by little", []string{"X-RateLimit-Limit-Hour", "60", "X-RateLimit-Remaining-Hour", "0", "X-RateLimit-Reset-Hour", "4500"}, `"hour" 0/60 per 1h0m0s`},
		{"DocuSign, a window that prose states", []string{"X-BurstLimit-Limit", "500", "X-BurstLimit-Remaining", "0", "X-RateLimit-Reset", "3600"}, `"burst" 0/500 per 30s`},
		{"none, the fields of the IETF are in seconds", []string{"RateLimit", `"a";r=0;t=299`, "RateLimit-Policy", `"a";q=100;w=60`}, `"a" 0/100 in 4m59s per 1m0s`},
		{"none, and their first drafts", []string{"RateLimit-Limit", "10", "RateLimit-Remaining", "0", "RateLimit-Policy", "10;w=1", "RateLimit-Reset", "3000"}, `"" 0/10 in 50m0s per 1s`},
		{"none, a lone reset beyond the window of a name", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "7", "X-RateLimit-Reset", "3000"}, `"minute" 7/60 per 1m0s`},
		{"none, a lone reset beyond a window by three digits", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "7", "X-RateLimit-Reset", "300"}, `"minute" 7/60 per 1m0s`},
		{"none, of which nothing else is known", []string{"X-RateLimit-Reset-Minute", "300"}, `nothing`},
		{"Knack, beyond any reset", []string{"X-PlanLimit-Limit", "75000", "X-PlanLimit-Remaining", "37501", "X-PlanLimit-Reset", "57413141"}, `"plan" 37501/75000 in 15h56m53.141s`},
		{"none, half a year", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "15768000"}, `"" 0/? in 744h0m0s`},
		{"none, of a year", []string{"X-RateLimit-Yearly-Remaining", "1", "X-RateLimit-Yearly-Reset", "15768001"}, `"yearly" 1/? in 744h0m0s`},
		{"few seconds beyond it", []string{"X-RateLimit-Limit-Second", "60", "X-RateLimit-Remaining-Second", "0", "X-RateLimit-Reset-Second", "3"}, `"second" 0/60 in 3s per 1s`},
		{"within it", []string{"X-RateLimit-Limit-Hour", "60", "X-RateLimit-Remaining-Hour", "0", "X-RateLimit-Reset-Hour", "3600"}, `"hour" 0/60 in 1h0m0s per 1h0m0s`},
		{"rounded", []string{"X-RateLimit-Limit-Hour", "60", "X-RateLimit-Remaining-Hour", "0", "X-RateLimit-Reset-Hour", "3601"}, `"hour" 0/60 in 1h0m1s per 1h0m0s`},
		{"none, an instant where the draft has seconds", []string{"RateLimit", "limit=100, remaining=0, reset=1772452830"}, `"" 0/100 in 30s`},
		{"none, the same in draft 08", []string{"RateLimit", `"a";r=0;t=1772452830`}, `"a" 0/? in 30s`},
		{"the draft, however long", []string{"RateLimit", "limit=100, remaining=0, reset=9999999"}, `"" 0/100 in 744h0m0s`},
		{"Mashery", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Monday, March 2, 2026 12:00:30 PM GMT"}, `"" 0/? in 30s`},
		{"Unix", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Mon Mar  2 12:00:30 UTC 2026"}, `"" 0/? in 30s`},
		{"none, of another zone", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Monday, March 2, 2026 12:00:30 PM PST"}, `"" 0/?`},
		{"hh:mm:ss", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "00:01:30"}, `"" 0/? in 1m30s`},
		{"words", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "42 seconds"}, `"" 0/? in 42s`},
		{"ISO 8601", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "PT42S", "Retry-After", "PT2M"}, `"" 0/? in 42s, retry 2m0s`},
		{"Netlify, as Go prints it", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "2026-03-02 12:01:30 +0000 UTC"}, `"" 0/? in 1m30s`},
		{"Azure, 0 ms", []string{"Retry-After-Ms", "0", "Retry-After", "1"}, `retry 1s`},
		{"0 ms and nothing else", []string{"Retry-After-Ms", "0"}, `retry 0s`},
		{"Contentful, something is left", []string{"X-Contentful-RateLimit-Second-Limit", "50", "X-Contentful-RateLimit-Second-Remaining", "49", "X-Contentful-RateLimit-Reset", "0"}, `"second" 49/50 per 1s`},
		{"Qualys, something is left", []string{"X-RateLimit-Limit", "300", "X-RateLimit-Remaining", "299", "X-RateLimit-ToWait-Sec", "0"}, `"" 299/300`},
		{"Qualys, nothing is left", []string{"X-RateLimit-Limit", "300", "X-RateLimit-Remaining", "0", "X-RateLimit-ToWait-Sec", "181"}, `"" 0/300, retry 3m1s`},
		{"Moralis, time to live", []string{"X-Rate-Limit-Limit", "1500", "X-Rate-Limit-Remaining", "1490", "X-Rate-Limit-Remaining-Ttl", "60"}, `"" 1490/1500 in 1m0s`},
	},
	"8 numbers with words, ratios and signs": {
		{"Gorgias", []string{"X-Gorgias-Account-Api-Call-Limit", "3/40"}, `"gorgias-account-api-call" 37/40`},
		{"Gorgias, nothing left", []string{"X-Gorgias-Account-Api-Call-Limit", "40/40", "Retry-After", "12"}, `"gorgias-account-api-call" 0/40, retry 12s`},
		{"YNAB", []string{"X-Rate-Limit", "36/200"}, `"" ?/200`},
		{"none, the limit first", []string{"X-Rate-Limit", "200/36"}, `"" ?/200`},
		{"none, in a minute", []string{"X-Rate-Limit", "10/60"}, `nothing`},
		{"none, words", []string{"X-RateLimit-Limit", "100 requests", "X-RateLimit-Remaining", "99 requests"}, `"" 99/100`},
		{"none, other words", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99 bottles"}, `"" ?/100`},
		{"none, a rate is nothing that is left", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99 requests per minute"}, `"" ?/100`},
		{"Marketstack", []string{"X-Quota-Limit", "10000", "X-Quota-Remaining", "-688"}, `"quota" 0/10000`},
		{"none, minus one is unlimited", []string{"X-RateLimit-Limit", "10000", "X-RateLimit-Remaining", "-1"}, `"" ?/10000`},
		{"none, no limit, nothing remains of it", []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "0"}, `nothing`},
		{"none, no limit, in a word", []string{"X-RateLimit-Limit", "Unlimited", "X-RateLimit-Remaining", "0"}, `nothing`},
		{"none, no limit, something remains", []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "5"}, `"" 5/?`},
		{"none, a limit that is not understood", []string{"X-RateLimit-Limit", "many", "X-RateLimit-Remaining", "0"}, `"" 0/?`},
		{"none, no limit is told from another one", []string{"X-RateLimit-Limit-Day", "-1", "X-RateLimit-Remaining-Day", "0", "X-RateLimit-Limit-Minute", "10", "X-RateLimit-Remaining-Minute", "0"}, `"minute" 0/10 per 1m0s`},
		{"none, less than nothing of what nobody knows", []string{"X-RateLimit-Remaining", "-688"}, `nothing`},
		{"none, minus signs elsewhere", []string{"X-RateLimit-Limit", "-5", "X-RateLimit-Remaining", "-6"}, `nothing`},
		{"none, in the plural", []string{"X-RateLimit-Limits-Reset", "30", "X-RateLimit-Remaining", "3"}, `"" 3/? in 30s`},
		{"Azure Resource Graph", []string{"X-Ms-User-Quota-Remaining", "10", "X-Ms-User-Quota-Resets-After", "00:00:03"}, `"ms-user" 10/? in 3s`},
		{"none, milliseconds are a last word", []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset-Ms", "1500", "X-Quota-Ms-Remaining", "5"}, `"" 0/? in 1.5s`},
		{"Hybrid Analysis", []string{"Api-Limits", `{"limits":{"minute":5,"hour":200},"used":{"minute":1,"hour":3},"limit_reached":false}`}, `"api:hour" 197/200 per 1h0m0s, "api:minute" 4/5 per 1m0s`},
		{"none, objects of other things", []string{"Api-Limits", `{"limits":{"minute":{"a":5},"names":["b"]},"plans":{"minute":1}}`}, `nothing`},
		{"a monitor of streams", []string{"X-Daily-Quota-Remaining", "48"}, `"daily" 48/? per 24h0m0s`},
		{"none, quotas without a window", []string{"X-Acme-Quota-Remaining", "48", "X-Daily-Remaining", "5", "X-Daily-Storage-Quota-Remaining-Bytes", "5"}, `nothing`},
		{"an S3 gateway of HAProxy", []string{"X-RateLimit-Limit-Per-Minute", "2000", "X-RateLimit-Current-Per-Minute", "15"}, `"minute" 1985/2000 per 1m0s`},
		{"Zendesk, in two spellings", []string{"X-Rate-Limit", "400", "RateLimit-Remaining", "384", "RateLimit-Reset", "50"}, `"" 384/400 in 50s`},
		{"none, less than what is left", []string{"X-Rate-Limit", "400", "RateLimit-Remaining", "484"}, `"" 484/?`},
		{"none, of a limit with a name", []string{"X-Rate-Limit", "400", "RateLimit-Search-Remaining", "84"}, `"search" 84/?`},
		{"none, beside a limit", []string{"X-Rate-Limit", "400", "RateLimit-Limit", "90", "RateLimit-Remaining", "84"}, `"" 84/90`},
	},
	"8 words in values": {
		{"Qomon, a bucket and what is added to it", []string{"X-Ratelimit-Limit", "burst:100;rate:10", "X-Ratelimit-Remaining", "97", "X-Ratelimit-ResetTime", "1"}, `"" 97/? in 1s`},
		{"none, a bucket without a rate", []string{"X-Ratelimit-Limit", "burst:100;minute:10"}, `"burst" ?/100, "minute" ?/10 per 1m0s`},
		{"none, a rate beside what is left", []string{"X-Ratelimit", `{"limit":100,"remaining":97,"rate":"10/s"}`}, `"" 97/100`},
		{"Microsoft dev tunnels, names before all numbers", []string{"RateLimit-Limit", "HttpRequestRatePerPort:1500/m", "RateLimit-Remaining", "HttpRequestRatePerPort:1499", "RateLimit-Reset", "HttpRequestRatePerPort:14s"}, `"httprequestrateperport" 1499/1500 in 14s per 1m0s`},
		{"none, a name before what is no time", []string{"RateLimit-Limit", "port:1500/m", "RateLimit-Remaining", "port:1499", "RateLimit-Reset", "port:soon"}, `"port" 1499/1500 per 1m0s`},
		{"Pingdom", []string{"Req-Limit-Short", "Remaining: 394 Time until reset: 3589"}, `"req-short" 394/? in 59m49s`},
		{"IBM API Connect", []string{"X-RateLimit-Limit", "name=rate-limit,10", "X-RateLimit-Remaining", "name=rate-limit,9", "X-RateLimit-Reset", "name=rate-limit,22"}, `"rate-limit" 9/10 in 22s`},
		{"Eventbrite", []string{"X-Rate-Limit", "token:AAAABBBB 22/2000 reset=3530s, key:FFFFGGGG 0/2000 reset=12s"}, `"token" 1978/2000 in 58m50s, "key" 2000/2000 in 12s`},
		{"limits of windows", []string{"X-RateLimit-Limit", "group=default; min=1800; sec=30", "X-RateLimit-Remaining", "group=default; min=1799; sec=29"}, `"default:min" 1799/1800 per 1m0s, "default:sec" 29/30 per 1s`},
		{"roles at the end", []string{"X-RateLimit", "user-hour-lim:3500;user-hour-rem:500;"}, `"user-hour" 500/3500 per 1h0m0s`},
		{"EVE Online", []string{"X-Ratelimit-Group", "fittings", "X-Ratelimit-Limit", "150/15m", "X-Ratelimit-Remaining", "148", "X-Ratelimit-Used", "2"}, `"fittings" 148/150 per 15m0s`},
		{"per minute", []string{"X-RateLimit-Limit", "60/min", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1m0s`},
		{"60 requests per hour", []string{"X-RateLimit-Limit", "60 requests per hour", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1h0m0s`},
		{"in capitals", []string{"X-RateLimit-Limit", "5000 PER HOUR", "X-RateLimit-Remaining", "12"}, `"" 12/5000 per 1h0m0s`},
		{"in capitals, of requests", []string{"X-RateLimit-Limit", "60 Requests Per Minute", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1m0s`},
		{"none, 12 of 60", []string{"X-RateLimit-Remaining", "12 of 60"}, `"" 12/60`},
		{"none, 12 OF 60", []string{"X-RateLimit-Remaining", "12 OF 60"}, `"" 12/60`},
		{"none, 12 OF 60 with a key", []string{"X-RateLimit", "Remaining: 12 OF 60"}, `"" 12/60`},
		{"none, 12 / 60", []string{"X-RateLimit-Remaining", "12 / 60"}, `"" 12/60`},
		{"none, 12/ 60", []string{"X-RateLimit-Remaining", "12/ 60"}, `"" 12/60`},
		{"none, used 12 /60", []string{"X-RateLimit-Used", "12 /60"}, `"" 48/60`},
		{"none, 12 / 60 beside the limit", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12 / 60"}, `"" 12/60`},
		{"none, with a key", []string{"X-RateLimit", "remaining: 12 / 60; reset: 30"}, `"" 12/60 in 30s`},
		{"none, of nothing", []string{"X-RateLimit-Limit", "12 of your plan"}, `nothing`},
		{"none, a window in the field of draft 07", []string{"RateLimit", "limit=60, remaining=12, window=60"}, `"" 12/60 per 1m0s`},
		{"none, a window that is none", []string{"RateLimit", `limit=60, remaining=12, window="1m"`}, `"" 12/60`},
		{"Path of Exile", []string{"X-Rate-Limit-Policy", "ladder-view", "X-Rate-Limit-Rules", "Ip", "X-Rate-Limit-Ip", "8:10:60,15:60:120", "X-Rate-Limit-Ip-State", "1:10:0,2:60:0"}, `"ip:10" 7/8 per 10s, "ip:60" 13/15 per 1m0s`},
		{"Path of Exile, barred", []string{"X-Rate-Limit-Ip", "8:10:60", "X-Rate-Limit-Ip-State", "9:10:60", "Retry-After", "60"}, `"ip:10" 0/8 in 1m0s per 10s, retry 1m0s`},
		{"remaining of all", []string{"X-RateLimit-Remaining", "12/60"}, `"" 12/60`},
		{"empty members", []string{"X-RateLimit", "limit=60,, remaining=12,;reset=30,"}, `"" 12/60 in 30s`},
		{"Discogs", []string{"X-Discogs-Ratelimit", "60", "X-Discogs-Ratelimit-Remaining", "0", "X-Discogs-Ratelimit-Used", "60"}, `"" 0/60`},
		{"a date", []string{"X-RateLimit", "remaining=12; reset=Mon, 02 Mar 2026 12:00:30 GMT"}, `"" 12/? in 30s`},
		{"nobody knows which is which", []string{"X-RateLimit", "12/60"}, `nothing`},
		{"Hotstuff", []string{"X-RateLimit-1m", "150/5000", "X-RateLimit-1h", "3200/200000"}, `"1h" 196800/200000 per 1h0m0s, "1m" 4850/5000 per 1m0s`},
		{"a limit, or a window", []string{"X-RateLimit-Limit", "10/60", "X-RateLimit-Remaining", "3"}, `"" 3/?`},
		{"PubChem, colours", []string{"X-Throttling-Control", "Request Count status: Green (0%), Request Time status: Green (0%)"}, `nothing`},
		{"a key of an API", []string{"X-RateLimit-Key", "gpt-5.2_2025-12-11"}, `nothing`},
		{"Fireworks, a flag", []string{"X-RateLimit-Over-Limit", "no"}, `nothing`},
		{"Trakt", []string{"X-Ratelimit", `{"name":"UNAUTHED_API_GET_LIMIT","period":300,"limit":1000,"remaining":999,"until":"2026-03-02T12:05:00Z"}`}, `"UNAUTHED_API_GET_LIMIT" 999/1000 in 5m0s per 5m0s`},
		{"People Data Labs", []string{"X-RateLimit-Limit", `{"minute":100}`, "X-RateLimit-Remaining", `{"minute":99}`}, `"minute" 99/100 per 1m0s`},
		{"other objects", []string{"X-RateLimit", `{"a":{"limit":5},"b":[1],"c":null,"d":true,"e":7}`, "X-RateLimit-Info", `{"limit":`}, `nothing`},
		{"a URL", []string{"X-RateLimit-Docs", "https://example.com/limits?limit=5&remaining=0"}, `nothing`},
	},
	"9 lists": {
		{"Brave", []string{"X-RateLimit-Limit", "1, 2000", "X-RateLimit-Policy", "1;w=1, 2000;w=2592000", "X-RateLimit-Remaining", "0, 1543", "X-RateLimit-Reset", "1, 1419704"}, `"second" 0/1 in 1s per 1s, "month" 1543/2000 in 394h21m44s per 720h0m0s`},
		{"CryptoCompare", []string{"X-RateLimit-Limit", "1000, 20;window=1, 300;window=60", "X-RateLimit-Remaining", "900, 19;window=1, 299;window=60"}, `"" 900/1000, "second" 19/20 per 1s, "minute" 299/300 per 1m0s`},
		{"more left than there is", []string{"X-RateLimit-Limit", `50, "b";q=20;w=2`, "X-RateLimit-Remaining", "10, 1000"}, `"" 10/50, "b" 20/20 per 2s`},
		{"Zuora", []string{"RateLimit-Limit", "50000, 50000;window=60, 2250000;window=86400", "RateLimit-Remaining", "49990", "RateLimit-Reset", "29", "Concurrency-Limit-Type", "Default", "Concurrency-Limit-Limit", "40", "Concurrency-Limit-Remaining", "39"}, `"" 49990/50000 in 29s per 1m0s, "concurrency" 39/40 concurrent-requests, "" ?/2250000 per 24h0m0s`},
		{"Polar", []string{"RateLimit-Usage", "5, 100", "RateLimit-Limit", "500, 5000", "RateLimit-Reset", "800, 80000"}, `"" 495/500 in 13m20s, "" 4900/5000 in 22h13m20s`},
		{"of other lengths", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Policy", "10;w=1, 2000;w=86400", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "1"}, `"" 9/10 in 1s per 1s, "" ?/2000 per 24h0m0s`},
		{"two policies of one quota", []string{"RateLimit", "limit=100, remaining=50, reset=30", "RateLimit-Policy", "100;w=60, 100;w=3600"}, `"" 50/100 in 30s, "" ?/100 per 1m0s, "" ?/100 per 1h0m0s`},
		{"two policies of one quota, and a reset that tells", []string{"RateLimit", "limit=100, remaining=50, reset=90", "RateLimit-Policy", "100;w=60, 100;w=3600"}, `"" 50/100 in 1m30s per 1h0m0s, "" ?/100 per 1m0s`},
		{"two hops, each of which counts", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7, 5", "X-RateLimit-Reset", "30"}, `"" 5/100 in 30s`},
		{"two hops, the first of which has less left", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "5, 7"}, `"" 5/100`},
		{"two hops, one of which states no number", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7, soon"}, `"" 7/100`},
		{"two hops, the first of which states no number", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "soon", "X-RateLimit-Remaining", "7"}, `"" 7/100`},
		{"two hops that count requests in words", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7 requests, 5 requests"}, `"" 5/100`},
		{"two hops, the second of which is overdrawn", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Remaining", "-5"}, `"" 0/100`},
		{"two hops that say what is gone", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Used", "20, 70"}, `"" 30/100`},
		{"what is gone, twice", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Used", "70", "X-RateLimit-Used", "20"}, `"" 30/100`},
		{"what is gone, one of which is no number", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Used", "x", "X-RateLimit-Used", "20"}, `"" 80/100`},
		{"resets beside what is gone", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Used", "20, 70", "X-RateLimit-Reset", "40, 30"}, `"" 30/100 in 30s`},
		{"two hops with limits", []string{"X-RateLimit-Limit", "100, 60", "X-RateLimit-Remaining", "50"}, `"" 50/60`},
		{"two hops, one without a limit", []string{"X-RateLimit-Limit", "0, 60", "X-RateLimit-Remaining", "50"}, `"" 50/60`},
		{"two resets of one count", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "30", "X-RateLimit-Reset", "40"}, `"" 7/100 in 40s`},
		{"two resets, one of which is no time", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "soon", "X-RateLimit-Reset", "40"}, `"" 7/100 in 40s`},
		{"two windows", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Window", "60, 120"}, `"" 7/100 per 2m0s`},
		{"two hops, one of which leaves a part of a request", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7, 0.5"}, `"" 7/100`},
		{"two hops, each of which has its reset", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7, 5", "X-RateLimit-Reset", "30, 60"}, `"" 5/100 in 1m0s`},
		{"two hops, each of which has its reset, on lines", []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "7", "X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "30", "X-RateLimit-Reset", "60"}, `"" 5/100 in 1m0s`},
		{"two hops, of which the limits are known", []string{"X-RateLimit-Limit", "100, 50", "X-RateLimit-Remaining", "7, 5"}, `"" 7/100, "" 5/50`},
		{"names and numbers", []string{"X-RateLimit-Limit", "minute;60, day;1000", "X-RateLimit-Remaining", "minute;59, day;990"}, `"minute" 59/60 per 1m0s, "day" 990/1000 per 24h0m0s`},
		{"window is w", []string{"RateLimit-Limit", "100", "RateLimit-Remaining", "9", "RateLimit-Policy", "100;window=60"}, `"" 9/100 per 1m0s`},
		{"no window", []string{"RateLimit-Limit", "100", "RateLimit-Remaining", "9", "RateLimit-Policy", "100;w=0"}, `"" 9/100`},
	},
	"10 used": {
		{"Twelve Data, refused", []string{"Api-Credits-Used", "9", "Api-Credits-Left", "0"}, `"api-credits" 0/? credits`},
		{"Twelve Data", []string{"Api-Credits-Used", "1", "Api-Credits-Left", "7"}, `"api-credits" 7/8 credits`},
		{"EVE Online, of one request", []string{"X-Ratelimit-Limit", "soon", "X-Ratelimit-Remaining", "148", "X-Ratelimit-Used", "2"}, `"" 148/?`},
		{"ElevenLabs", []string{"Current-Concurrent-Requests", "1", "Maximum-Concurrent-Requests", "5"}, `"concurrent-requests" 4/5 concurrent-requests`},
		{"current and maximum", []string{"X-RateLimit-Current", "1", "X-RateLimit-Maximum", "5"}, `"" 4/5 concurrent-requests`},
		{"current and limit", []string{"X-RateLimit-Current", "1", "X-RateLimit-Limit", "5"}, `"" 4/5`},
		{"Meta, of an account", []string{"X-Ad-Account-Usage", `{"acc_id_util_pct":9.67,"reset_time_duration":100,"ads_api_access_tier":"standard_access"}`}, `"acc_id_util_pct" 90/100 percent in 1m40s`},
		{"Meta, of an account that has nothing left", []string{"X-Ad-Account-Usage", `{"acc_id_util_pct":100,"reset_time_duration":240}`}, `"acc_id_util_pct" 0/100 percent in 4m0s`},
		{"Meta, of an account that did nothing", []string{"X-Ad-Account-Usage", `{"acc_id_util_pct":0,"reset_time_duration":0}`}, `"acc_id_util_pct" 100/100 percent`},
		{"Meta, insights", []string{"X-Fb-Ads-Insights-Throttle", `{"app_id_util_pct":100,"acc_id_util_pct":10}`}, `"acc_id_util_pct" 90/100 percent, "app_id_util_pct" 0/100 percent`},
		{"Meta, a use case that has nothing left", []string{"X-Business-Use-Case-Usage", `{"1":[{"type":"ads","call_count":100,"total_time":20,"estimated_time_to_regain_access":19}]}`}, `"1/ads/call_count" 0/100 percent in 19m0s, "1/ads/total_time" 80/100 percent, retry 19m0s`},
		{"as Meta writes it, by another", []string{"X-Acme-Usage", `{"call_count":95,"total_time":20,"estimated_time_to_regain_access":19}`}, `"call_count" 5/100 percent, "total_time" 80/100 percent, retry 19m0s`},
		{"the load of a server", []string{"X-Acme-Usage", `{"cpu_pct":40}`}, `nothing`},
		{"Codex", []string{"X-Codex-Primary-Used-Percent", "50", "X-Codex-Primary-Reset-After-Seconds", "14845", "X-Codex-Primary-Window-Minutes", "300"}, `"codex-primary" 50/100 percent in 4h7m25s per 5h0m0s`},
		{"Binance, used alone", []string{"X-Mbx-Used-Weight", "4", "X-Mbx-Used-Weight-1m", "4"}, `nothing`},
	},
	"11 pushback": {
		{"gRPC A6, too large", []string{"Grpc-Retry-Pushback-Ms", "2147483648"}, `never`},
		{"gRPC A6", []string{"Grpc-Retry-Pushback-Ms", "250"}, `retry 250ms`},
	},
}
