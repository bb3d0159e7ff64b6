package headers

import (
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

var rules = map[string][]ruleCase{
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
	"2 more words, also within a word": {
		{"Mashery", []string{"X-Plan-Qps-Allotted", "100", "X-Plan-Qps-Current", "1", "X-Plan-Quota-Allotted", "36000", "X-Plan-Quota-Current", "5"}, `"plan" 35995/36000, "plan-qps" 99/100 per 1s`},
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
		{"an hour", []string{"X-RateLimit-Remaining", "3", "X-RateLimit-Window", "3600"}, `"" 3/? per 1h0m0s`},
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
		{"Spoonacular", []string{"X-API-Quota-Used", "19.21", "X-API-Quota-Left", "130.79"}, `"api" 130/150`},
		{"used with a fraction", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Used", "2.5"}, `"" 57/60`},
	},
	"7 times": {
		{"beyond its window", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "45000"}, `"minute" 0/60 in 45s per 1m0s`},
		{"less than a second", []string{"X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "850"}, `"minute" 0/60 in 850ms per 1m0s`},
		{"few seconds beyond it", []string{"X-RateLimit-Limit-Second", "60", "X-RateLimit-Remaining-Second", "0", "X-RateLimit-Reset-Second", "3"}, `"second" 0/60 in 3s per 1s`},
		{"within it", []string{"X-RateLimit-Limit-Hour", "60", "X-RateLimit-Remaining-Hour", "0", "X-RateLimit-Reset-Hour", "3600"}, `"hour" 0/60 in 1h0m0s per 1h0m0s`},
		{"rounded", []string{"X-RateLimit-Limit-Hour", "60", "X-RateLimit-Remaining-Hour", "0", "X-RateLimit-Reset-Hour", "3601"}, `"hour" 0/60 in 1h0m1s per 1h0m0s`},
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
	"8 words in values": {
		{"Pingdom", []string{"Req-Limit-Short", "Remaining: 394 Time until reset: 3589"}, `"req-short" 394/? in 59m49s`},
		{"IBM API Connect", []string{"X-RateLimit-Limit", "name=rate-limit,10", "X-RateLimit-Remaining", "name=rate-limit,9", "X-RateLimit-Reset", "name=rate-limit,22"}, `"rate-limit" 9/10 in 22s`},
		{"Eventbrite", []string{"X-Rate-Limit", "token:AAAABBBB 22/2000 reset=3530s, key:FFFFGGGG 0/2000 reset=12s"}, `"token" 1978/2000 in 58m50s, "key" 2000/2000 in 12s`},
		{"limits of windows", []string{"X-RateLimit-Limit", "group=default; min=1800; sec=30", "X-RateLimit-Remaining", "group=default; min=1799; sec=29"}, `"default:min" 1799/1800 per 1m0s, "default:sec" 29/30 per 1s`},
		{"roles at the end", []string{"X-RateLimit", "user-hour-lim:3500;user-hour-rem:500;"}, `"user-hour" 500/3500 per 1h0m0s`},
		{"EVE Online", []string{"X-Ratelimit-Group", "fittings", "X-Ratelimit-Limit", "150/15m", "X-Ratelimit-Remaining", "148", "X-Ratelimit-Used", "2"}, `"fittings" 148/150 per 15m0s`},
		{"per minute", []string{"X-RateLimit-Limit", "60/min", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1m0s`},
		{"60 requests per hour", []string{"X-RateLimit-Limit", "60 requests per hour", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1h0m0s`},
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
		{"Zuora", []string{"RateLimit-Limit", "50000, 50000;window=60, 2250000;window=86400", "RateLimit-Remaining", "49990", "RateLimit-Reset", "29", "Concurrency-Limit-Type", "Default", "Concurrency-Limit-Limit", "40", "Concurrency-Limit-Remaining", "39"}, `"" 49990/50000 in 29s per 1m0s, "concurrency" 39/40 concurrent-requests, "" ?/2250000 per 24h0m0s`},
		{"Polar", []string{"RateLimit-Usage", "5, 100", "RateLimit-Limit", "500, 5000", "RateLimit-Reset", "800, 80000"}, `"" 495/500 in 13m20s, "" 4900/5000 in 22h13m20s`},
		{"of other lengths", []string{"X-RateLimit-Limit", "10", "X-RateLimit-Policy", "10;w=1, 2000;w=86400", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "1"}, `"" 9/10 in 1s per 1s, "" ?/2000 per 24h0m0s`},
		{"two policies of one quota", []string{"RateLimit", "limit=100, remaining=50, reset=30", "RateLimit-Policy", "100;w=60, 100;w=3600"}, `"" 50/100 in 30s, "" ?/100 per 1m0s, "" ?/100 per 1h0m0s`},
		{"two policies of one quota, and a reset that tells", []string{"RateLimit", "limit=100, remaining=50, reset=90", "RateLimit-Policy", "100;w=60, 100;w=3600"}, `"" 50/100 in 1m30s per 1h0m0s, "" ?/100 per 1m0s`},
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
		{"Meta, of an account", []string{"X-Ad-Account-Usage", `{"acc_id_util_pct":9.67,"reset_time_duration":100,"ads_api_access_tier":"standard_access"}`}, `"acc_id_util_pct" 90/100 percent`},
		{"Meta, insights", []string{"X-Fb-Ads-Insights-Throttle", `{"app_id_util_pct":100,"acc_id_util_pct":10}`}, `"acc_id_util_pct" 90/100 percent, "app_id_util_pct" 0/100 percent`},
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
