package headers

import "testing"

// TestParseInvented reads dialects that nobody has seen: they were made up to see how far
// the rules go, which know none of these names as a whole.
func TestParseInvented(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want string
	}{
		{"vendor before the marker", []string{"Zephyr-RateLimit-Limit", "60", "Zephyr-RateLimit-Remaining", "12", "Zephyr-RateLimit-Reset", "30"}, `"" 12/60 in 30s`},
		{"two words of vendor", []string{"X-Zephyr-Cloud-Rate-Limit-Limit", "60", "X-Zephyr-Cloud-Rate-Limit-Remaining", "12", "X-Zephyr-Cloud-Rate-Limit-Reset", "30"}, `"" 12/60 in 30s`},
		{"reset after", []string{"RateLimit-Limit", "60", "RateLimit-Remaining", "12", "RateLimit-Reset-After", "2.5"}, `"" 12/60 in 2.5s`},
		{"reset in", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset-In", "30"}, `"" 12/60 in 30s`},
		{"reset at", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Reset-At", "2026-03-02T12:00:30Z"}, `"" 12/60 in 30s`},
		{"reset in milliseconds", []string{"Zephyr-RateLimit-Max", "60", "Zephyr-RateLimit-Left", "12", "Zephyr-RateLimit-Reset-Millis", "30000"}, `"" 12/60 in 30s`},
		{"reset in minutes", []string{"Zephyr-RateLimit-Limit", "60", "Zephyr-RateLimit-Remaining", "12", "Zephyr-RateLimit-Reset-Minutes", "5"}, `"" 12/60 in 5m0s`},
		{"quota", []string{"X-Quota-Limit", "1000", "X-Quota-Remaining", "750", "X-Quota-Reset", "1772454600"}, `"quota" 750/1000 in 30m0s`},
		{"quota of a vendor", []string{"X-Zephyr-Quota-Limit", "1000", "X-Zephyr-Quota-Left", "750"}, `"zephyr" 750/1000`},
		{"quota and used", []string{"X-Quota-Limit", "1000", "X-Quota-Used", "250"}, `"quota" 750/1000`},
		{"quota of a month", []string{"X-Monthly-Quota-Limit", "1000", "X-Monthly-Quota-Remaining", "0"}, `"monthly" 0/1000, spent`},
		{"limit before the role", []string{"X-Api-Limit-Max", "60", "X-Api-Limit-Remaining", "12", "X-Api-Limit-Reset", "30"}, `"api" 12/60 in 30s`},
		{"limit of a day", []string{"X-App-Limit-24Hour-Limit", "60", "X-App-Limit-24Hour-Remaining", "12", "X-App-Limit-24Hour-Reset", "3600"}, `"app-24hour" 12/60 in 1h0m0s per 24h0m0s`},
		{"throttle", []string{"X-Throttle-Limit", "60", "X-Throttle-Remaining", "12", "X-Throttle-Reset", "30"}, `"throttle" 12/60 in 30s`},
		{"throttling", []string{"Zephyr-Throttling-Limit", "60", "Zephyr-Throttling-Remaining", "12"}, `"zephyr-throttling" 12/60`},
		{"calls", []string{"X-Calls-Limit", "60", "X-Calls-Remaining", "12", "X-Calls-Reset", "30"}, `"calls" 12/60 in 30s`},
		{"requests and no marker", []string{"X-Requests-Limit", "60", "X-Requests-Remaining", "12"}, `"requests" 12/60`},
		{"credits", []string{"X-Credits-Limit", "60", "X-Credits-Remaining", "12"}, `"credits" 12/60 credits`},
		{"lower case run together", []string{"x-ratelimitlimit", "60", "x-ratelimitremaining", "12", "x-ratelimitreset", "30"}, `"" 12/60 in 30s`},
		{"name, unit and role", []string{"X-RateLimit-Limit-Input-Tokens", "60", "X-RateLimit-Remaining-Input-Tokens", "12", "X-RateLimit-Reset-Input-Tokens", "6m0s"}, `"input-tokens" 12/60 tokens in 6m0s`},
		{"number of minutes", []string{"X-RateLimit-Limit-15min", "60", "X-RateLimit-Remaining-15min", "12"}, `"15min" 12/60 per 15m0s`},
		{"seconds in the name", []string{"Zephyr-RateLimit-10s-Limit", "60", "Zephyr-RateLimit-10s-Remaining", "12"}, `"10s" 12/60 per 10s`},
		{"per minute", []string{"X-RateLimit-Limit-Per-Minute", "60", "X-RateLimit-Remaining-Per-Minute", "12"}, `"minute" 12/60 per 1m0s`},
		{"user and day", []string{"X-RateLimit-Limit-User-Day", "60", "X-RateLimit-Remaining-User-Day", "12"}, `"user-day" 12/60 per 24h0m0s`},
		{"sign in", []string{"X-RateLimit-Limit-Sign-In", "60", "X-RateLimit-Remaining-Sign-In", "12"}, `"sign-in" 12/60`},
		{"real time", []string{"X-RateLimit-Limit-Real-Time", "60", "X-RateLimit-Remaining-Real-Time", "12"}, `"real-time" 12/60`},
		{"percent", []string{"X-RateLimit-Remaining-Percent", "12"}, `"percent" 12/? percent`},
		{"a period beside", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Period", "60"}, `"" 12/60 per 1m0s`},
		{"a type that is a window", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Type", "Daily-limit"}, `"Daily-limit" 0/60 per 24h0m0s, spent`},
		{"draft names with a prefix", []string{"Zephyr-RateLimit", `"api";r=12;t=30`, "Zephyr-RateLimit-Policy", `"api";q=60;w=60`}, `"api" 12/60 in 30s per 1m0s`},
		{"draft 7 with a prefix", []string{"X-RateLimit", "limit=60, remaining=12, reset=30"}, `"" 12/60 in 30s`},
		{"a date without a zone", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20260303"}, `"" 0/60`},
		{"what is no date", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "20261303"}, `"" 0/60 in 5h37m41.303s`},
		{"a date in milliseconds", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-Ms", "20260303"}, `"" 0/60 in 5h37m40.303s`},
		{"days of Python's timedelta", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1 day, 2:03:04"}, `"" 0/60 in 24h0m0s`},
		{"hours of Python's timedelta", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "2:03:04"}, `"" 0/60 in 2h3m4s`},
		{"retry of a vendor", []string{"Zephyr-Retry-After-Seconds", "30"}, `retry 30s`},
		{"retry in", []string{"X-Retry-In", "30s"}, `retry 30s`},

		{"a vendor of two words", []string{"Nimbus-Api-RateLimit-Limit", "60", "Nimbus-Api-RateLimit-Remaining", "12", "Nimbus-Api-RateLimit-Reset", "1772452830"}, `"" 12/60 in 30s`},
		{"available and resets in", []string{"X-Nimbus-RateLimit-Quota", "60", "X-Nimbus-RateLimit-Available", "12", "X-Nimbus-RateLimit-Resets-In", "30"}, `"" 12/60 in 30s`},
		{"capacity and left", []string{"X-RateLimit-Capacity", "60", "X-RateLimit-Left", "12", "X-RateLimit-Reset-Timestamp", "1772452830123"}, `"" 12/60 in 30.123s`},
		{"a day before the role", []string{"X-Rate-Limit-Daily-Limit", "60", "X-Rate-Limit-Daily-Remaining", "12", "X-Rate-Limit-Daily-Reset", "3600"}, `"daily" 12/60 in 1h0m0s per 24h0m0s`},
		{"a minute before the role", []string{"Nimbus-Rate-Limit-Minute-Limit", "60", "Nimbus-Rate-Limit-Minute-Remaining", "12"}, `"minute" 12/60 per 1m0s`},
		{"two limits", []string{"X-RateLimit-Search-Limit", "60", "X-RateLimit-Search-Remaining", "12", "X-RateLimit-Search-Reset", "30", "X-RateLimit-Upload-Limit", "5", "X-RateLimit-Upload-Remaining", "4"}, `"search" 12/60 in 30s, "upload" 4/5`},
		{"consumed", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Consumed", "48"}, `"" 12/60`},
		{"a unit before the marker", []string{"X-Token-RateLimit-Limit", "1000", "X-Token-RateLimit-Remaining", "12"}, `"token" 12/1000 tokens`},
		{"tokens per minute", []string{"X-RateLimit-Tokens-Per-Minute-Limit", "1000", "X-RateLimit-Tokens-Per-Minute-Remaining", "12"}, `"tokens-minute" 12/1000 tokens per 1m0s`},
		{"bytes", []string{"X-RateLimit-Bandwidth-Bytes-Limit", "1000", "X-RateLimit-Bandwidth-Bytes-Remaining", "12"}, `"bandwidth-bytes" 12/1000 content-bytes`},
		{"a quota of a day", []string{"X-Quota-Daily-Limit", "60", "X-Quota-Daily-Remaining", "12"}, `"daily" 12/60 per 24h0m0s`},
		{"quota, max and used", []string{"X-Nimbus-Quota-Max", "60", "X-Nimbus-Quota-Used", "48", "X-Nimbus-Quota-Reset", "30"}, `"nimbus" 12/60 in 30s`},
		{"no limit", []string{"X-Calls-Remaining", "12", "X-Calls-Reset", "30"}, `"calls" 12/? in 30s`},
		{"no x", []string{"Rate-Limit-Limit", "60", "Rate-Limit-Remaining", "12", "Rate-Limit-Reset", "30"}, `"" 12/60 in 30s`},
		{"a parameter after the limit", []string{"X-RateLimit-Limit", "60;window=60", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1m0s`},
		{"a limit with its window", []string{"X-RateLimit-Limit", "60/min", "X-RateLimit-Remaining", "12"}, `"" 12/60 per 1m0s`},
		{"a window", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Window", "1m"}, `"" 12/60 per 1m0s`},
		{"a window in milliseconds", []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "12", "X-RateLimit-Window-Ms", "60000", "X-RateLimit-Reset-Ms", "1772452830000"}, `"" 12/60 in 30s per 1m0s`},
		{"draft 7 and a policy", []string{"RateLimit", "limit=60, remaining=12, reset=30", "RateLimit-Policy", "60;w=60"}, `"" 12/60 in 30s per 1m0s`},
		{"draft 7 with semicolons", []string{"X-Nimbus-RateLimit", "limit=60;remaining=12;reset=30"}, `"" 12/60 in 30s`},
		{"retry of a throttle", []string{"Nimbus-Throttle-Retry-After", "30"}, `retry 30s`},
		{"retry in milliseconds", []string{"X-RateLimit-Retry-After-Milliseconds", "1500"}, `retry 1.5s`},
		{"concurrency", []string{"X-Concurrency-Limit", "10", "X-Concurrency-Remaining", "3"}, `"concurrency" 3/10 concurrent-requests`},
		{"a limit in words", []string{"X-RateLimit-Limit", "60 requests", "X-RateLimit-Remaining", "12"}, `"" 12/60`},
		{"a burst and what is sustained", []string{"X-RateLimit-Burst-Limit", "20", "X-RateLimit-Burst-Remaining", "3", "X-RateLimit-Sustained-Limit", "1000", "X-RateLimit-Sustained-Remaining", "900"}, `"burst" 3/20, "sustained" 900/1000`},
		{"whose it is", []string{"X-RateLimit-Org-Limit", "20", "X-RateLimit-Org-Remaining", "3", "X-RateLimit-User-Limit", "10", "X-RateLimit-User-Remaining", "9"}, `"org" 3/20, "user" 9/10`},

		// And what is none.
		{"a page", []string{"X-Page-Limit", "60", "X-Page-Remaining-Items", "12"}, `nothing`},
		{"an upload", []string{"X-Upload-Max-Bytes", "60", "X-Max-Age", "12"}, `nothing`},
		{"a disk", []string{"X-Disk-Quota", "1000"}, `nothing`},
		{"a password", []string{"X-Password-Reset", "30", "X-Reset-Token", "12"}, `nothing`},
		{"underscores", []string{"X_RateLimit_Limit", "60", "X_RateLimit_Remaining", "12", "X_RateLimit_Reset", "30"}, `nothing`},
		{"a time", []string{"X-RateLimit-Remaining-Seconds", "12", "X-RateLimit-Time-Remaining", "12"}, `nothing`},
		{"a disk in bytes", []string{"X-Quota-Limit-Bytes", "1000", "X-Quota-Remaining-Bytes", "0"}, `nothing`},
		{"a count", []string{"X-Total-Count", "60", "X-Limit", "12"}, `nothing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := Parse(fields(tt.in...), noon)
			checkBounds(t, facts)
			if got := summary(facts); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
