package headers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/internal/tests/whole"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// builtin is a Reader that knows what the package knows.
var builtin *Reader

// retryAfter reads a value of Retry-After.
func retryAfter(value string, date time.Time) (time.Duration, bool) {
	r := Parse(http.Header{"Retry-After": {value}}, date).Retry
	return r.After, r.Known
}

// fields returns headers from pairs of a name and a value.
func fields(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// TestParseByRule reads dialects that no table knows.
func TestParseByRule(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   http.Header
		want string
	}{
		{"vendor prefix", fields("Acme-RateLimit-Limit", "10", "Acme-RateLimit-Remaining", "3", "Acme-RateLimit-Reset", "7"), `"" 3/10 in 7s`},
		{"name between", fields("X-RateLimit-Search-Limit", "10", "X-RateLimit-Search-Remaining", "3"), `"search" 3/10`},
		{"name after", fields("X-RateLimit-Limit-Search", "10", "X-RateLimit-Remaining-Search", "3"), `"search" 3/10`},
		{"fused name", fields("X-RateLimit-SearchLimit", "10", "X-RateLimit-SearchRemaining", "3"), `"search" 3/10`},
		{"fused marker", fields("X-SearchRateLimit-Limit", "10", "X-SearchRateLimit-Remaining", "3"), `"search" 3/10`},
		{"period", fields("X-RateLimit-Limit-Hour", "10", "X-RateLimit-Remaining-Hour", "3"), `"hour" 3/10 per 1h0m0s`},
		{"unit", fields("Acme-RateLimit-Output-Tokens-Limit", "10", "Acme-RateLimit-Output-Tokens-Remaining", "3"), `"output-tokens" 3/10 tokens`},
		{"no marker", fields("X-Search-Limit", "10", "X-Search-Remaining", "3"), `"search" 3/10`},
		{"no marker and no remainder", fields("X-Search-Limit", "10"), `nothing`},
		{"a page", fields("X-Limit", "10", "X-Total-Count", "300", "X-Page-Limit", "10"), `nothing`},
		{"words for limit", fields("X-RateLimit-Max", "10", "X-RateLimit-Available", "3"), `"" 3/10`},
		{"more remains than there is", fields("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "12"), `"" 10/10`},
		{"milliseconds by name", fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset-Ms", "1500"), `"" 0/? in 1.5s`},
		{"delay before instant", fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772460000", "X-RateLimit-Reset-After", "2.5"), `"" 0/? in 2.5s`},
		{"two families, the lower one", fields("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "3", "RateLimit-Limit", "10", "RateLimit-Remaining", "2"), `"" 2/10`},
		{"two families, the other one lower", fields("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "2", "RateLimit-Limit", "10", "RateLimit-Remaining", "3"), `"" 2/10`},
		{"two families that differ by two", fields("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "4", "RateLimit-Limit", "10", "RateLimit-Remaining", "2"), `"" 2/10, "" 4/10`},
		{"label", fields("X-RateLimit-Remaining", "0", "X-RateLimit-Scope", "user", "X-RateLimit-Bucket", "b1"), `"b1" 0/?`},
		{"pairs", fields("Acme-RateLimit-Search", "limit=10; remaining=3; reset=7"), `"search" 3/10 in 7s`},
		{"Auth0", fields("Auth0-Organization-Quota-Limit", "per_hour;q=200;r=100;t=3600"), `"organization:per_hour" 100/200 tokens in 1h0m0s per 1h0m0s`},
		{"Bybit", fields("X-Bapi-Limit", "100", "X-Bapi-Limit-Status", "0", "X-Bapi-Limit-Reset-Timestamp", "1772452801000"), `"" 0/100 in 1s`},
		{"Gate.io", fields("X-Gate-RateLimit-Limit", "200", "X-Gate-RateLimit-Requests-Remain", "198", "X-Gate-RateLimit-Reset-Timestamp", "1772452800"), `"" 198/200`},
		{"Etsy", fields("x-limit-per-second", "150", "x-remaining-this-second", "149", "x-limit-per-day", "10000", "x-remaining-today", "9998"), `"second" 149/150 per 1s, "day" 9998/10000 per 24h0m0s`},
		{"retry of a name", fields("Acme-Retry-After-Ms", "1500"), `retry 1.5s`},
		{"advisory retry", fields("Beta-Retry-After", "5"), `nothing`},
		{"milliseconds by window", fields("X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "45000", "X-RateLimit-Policy", "9;w=60"), `"" 0/9 in 45s per 1m0s`},
		{"no milliseconds in the fields of the IETF", fields("RateLimit-Limit", "9", "RateLimit-Remaining", "0", "RateLimit-Reset", "45000", "RateLimit-Policy", "9;w=60"), `"" 0/9 in 12h30m0s per 1m0s`},
		{"milliseconds by hint", fields("X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "600000", "Retry-After", "600"), `"" 0/? in 10m0s, retry 10m0s`},
		{"two windows", fields("RateLimit-Limit", "5", "RateLimit-Remaining", "4", "X-RateLimit-Limit-Second", "5", "X-RateLimit-Remaining-Second", "4",
			"X-RateLimit-Limit-Hour", "100", "X-RateLimit-Remaining-Hour", "90"), `"second" 4/5 per 1s, "hour" 90/100 per 1h0m0s`},
		{"Hugging Face", fields("RateLimit", `"api";r=489;t=83`, "RateLimit-Policy", `"fixed window";"api";q=500;w=300`), `"api" 489/500 in 1m23s per 5m0s`},
		{"Envoy", fields("x-ratelimit-limit", `10, 10;w=1;name="per-ip", 1000;w=3600`, "x-ratelimit-remaining", "3", "x-ratelimit-reset", "1"), `"per-ip" 3/10 in 1s per 1s, "" ?/1000 per 1h0m0s`},
		{"from a cache", fields("X-From-Cache", "1", "RateLimit-Remaining", "0", "Retry-After", "5"), `retry 5s`},
		{"fresh by Age", fields("Age", "0", "RateLimit-Remaining", "0"), `"" 0/?`},
		{"never", fields("X-Should-Retry", "false", "Retry-After", "5"), `retry 5s, never`},
		{"negative pushback", fields("Grpc-Retry-Pushback-Ms", "-1"), `never`},
		{"thousands", fields("X-RateLimit-Limit", "1,000", "X-RateLimit-Remaining", "999"), `"" 999/1000`},
		{"spelled anyhow", http.Header{"x-ratelimit-limit": {"10"}, "X-RateLimit-Remaining": {"3"}}, `"" 3/10`},
		{"no values", http.Header{"Ratelimit-Limit": {}, "Ratelimit-Remaining": nil, "Retry-After": {}}, `nothing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := Parse(tt.in, noon)
			checkBounds(t, facts)
			if got := summary(facts); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseReset(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  Reset
	}{
		{"60", Reset{true, time.Minute, time.Second, false, 0}},
		{"5.87", Reset{true, 5870 * time.Millisecond, 10 * time.Millisecond, false, 0}},
		{"1772452845", Reset{true, 45 * time.Second, time.Second, true, 0}},
		{"1772452845.25", Reset{true, 45250 * time.Millisecond, 10 * time.Millisecond, true, 0}},
		{"1772452845000", Reset{true, 45 * time.Second, time.Millisecond, true, 0}},
		{"6m0s", Reset{true, 6 * time.Minute, time.Second, false, 0}},
		{"120ms", Reset{true, 120 * time.Millisecond, time.Millisecond, false, 0}},
		{"1m30.5s", Reset{true, 90500 * time.Millisecond, 100 * time.Millisecond, false, 0}},
		{"2026-03-02T12:01Z", Reset{true, time.Minute, time.Minute, true, 0}},
		{"2026-03-02T13:01:00+01:00", Reset{true, time.Minute, time.Second, true, 0}},
		{"2026-03-02 12:01:00.1234567Z", Reset{true, time.Minute + 123456700, 100, true, 0}},
		{"Mon, 02 Mar 2026 12:01:00 UTC", Reset{true, time.Minute, time.Second, true, 0}},
		{`"60"`, Reset{true, time.Minute, time.Second, false, 0}},
		{"123456789", Reset{}}, // four years, or 1973
		{"+60", Reset{}},
		{"60 seconds", Reset{true, time.Minute, time.Second, false, 0}},
		{"1 minute 30 seconds", Reset{true, 90 * time.Second, time.Second, false, 0}},
		{"00:01:30", Reset{true, 90 * time.Second, time.Second, false, 0}},
		{"PT42S", Reset{true, 42 * time.Second, time.Second, false, 0}},
		{"PT2M", Reset{true, 2 * time.Minute, time.Minute, false, 0}},
		{"60 s", Reset{}}, // one letter may mean anything
		{"1:30", Reset{}}, // minutes or hours
		{"P1M", Reset{}},  // a month has no fixed length
		{"42 apples", Reset{}},
	} {
		t.Run(tt.value, func(t *testing.T) {
			got := Parse(fields("X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", tt.value), noon)
			if diff := cmp.Diff(tt.want, got.Limits[0].Reset); diff != "" {
				t.Errorf("Reset (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseNoClock(t *testing.T) {
	h := fields("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772452845", "Retry-After", "Mon, 02 Mar 2026 12:00:45 GMT")
	if got, want := summary(Parse(h, time.Time{})), `"" 0/?`; got != want {
		t.Errorf("without Date: %s, want %s", got, want)
	}
	h.Set("Date", "Mon, 02 Mar 2026 12:00:00 GMT")
	if got, want := summary(Parse(h, time.Time{})), `"" 0/? in 45s, retry 45s`; got != want {
		t.Errorf("with Date: %s, want %s", got, want)
	}
}

// TestHintsInAnyOrder: what several hints come to does not depend on the order of the map, which is another one
// each time.
func TestHintsInAnyOrder(t *testing.T) {
	left := []string{"X-RateLimit-Limit", "300", "X-RateLimit-Remaining", "299", "X-RateLimit-ToWait-Sec", "0"}
	for _, tt := range []struct {
		name string
		in   []string
		want Retry
	}{
		{"the other one says nothing", append(left, "X-Retry-In", "soon"), Retry{}},
		{"the other one says to come back now", append(left, "X-Retry-In", "0"), Retry{Known: true, Resolution: time.Second}},
		{"a delay, and an instant", []string{"Date", "Mon, 02 Mar 2026 12:00:00 GMT", "X-Retry-In", "5", "X-RateLimit-ToWait-Sec", "Mon, 02 Mar 2026 12:00:05 GMT"}, Retry{Known: true, After: 5 * time.Second, Resolution: time.Second}},
	} {
		for range 64 {
			if got := Parse(fields(tt.in...), noon).Retry; got != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
				break
			}
		}
	}
}

// TestRetryOfAnInstant: an instant is told apart from a delay, and how far the clocks were apart.
func TestRetryOfAnInstant(t *testing.T) {
	h := fields("Date", "Mon, 02 Mar 2026 12:00:00 GMT", "Retry-After", "Mon, 02 Mar 2026 12:00:45 GMT")
	want := Retry{Known: true, After: 45 * time.Second, Resolution: time.Second, Absolute: true, Skew: -300 * time.Millisecond}
	if got := Parse(h, noon.Add(-300*time.Millisecond)).Retry; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	h.Set("Retry-After", "45")
	want.Absolute, want.Skew = false, 0
	if got := Parse(h, noon.Add(-300*time.Millisecond)).Retry; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestParseTooManyFields(t *testing.T) {
	h := fields("Retry-After", "5")
	for i := range 10_000 {
		h.Set(fmt.Sprintf("X-RateLimit-Remaining-%d", i), "1")
	}
	if got, want := summary(Parse(h, noon)), "retry 5s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestParseHuge reads values as long as net/http lets pass. None of them may recurse as deep.
func TestParseHuge(t *testing.T) {
	whole.Alone(t)
	size := whole.Or(1<<20, 10<<20)
	for i, s := range []string{
		"-", "--5", "1,", `"`, "(", " ", "9", "1s",
		"000,", ",000", "a=1;", "a;1,", "a:1 ", "n=a,", "1/2,", "a ", "=", ":", "1 s ", "P", "PT1M", "1:", `{"a_pct":1,`, "{",
		"Mon, ", "60/min,", "http://", "a-b_c:1;",
	} {
		if i == 8 {
			size = 1 << 20
		}
		huge := strings.Repeat(s, size/len(s))
		h := fields("X-RateLimit-Limit", huge, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", huge, "Retry-After", huge,
			"RateLimit", huge, "RateLimit-Policy", huge, "X-App-Rate-Limit", huge, "X-Sentry-Rate-Limits", huge,
			"X-Acme-RateLimit-Search", huge, "X-Acme-RateLimit", huge, "X-RateLimit-Remaining-Resource", huge, "X-Ad-Account-Usage", huge,
			"X-RateLimit-Window", huge, "X-RateLimit-Used", huge, "X-RateLimit-Name", huge, "X-RateLimit-Api-Name", huge, "X-RateLimit-Api-Limit", huge,
			"X-RateLimit-Type", huge, "X-Acme-Quota-Time-Unit", huge, "X-Acme-Quota-Remaining", "1", "X-Acme-Quota-Used", huge, "X-RateLimit-TimeRemaining", huge)
		checkBounds(t, Parse(h, noon))
		h.Set("Retry-After", "5")
		checkBounds(t, Parse(h, noon))
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 120\t", 2 * time.Minute, true},
		{"2.357", 2357 * time.Millisecond, true},
		{"30s", 30 * time.Second, true},
		{"Mon, 02 Mar 2026 12:02:00 GMT", 2 * time.Minute, true},
		{"Mon, 02 Mar 2026 12:02:00 UTC", 2 * time.Minute, true},
		{"Mon, 2 Mar 2026 12:02:00 GMT", 2 * time.Minute, true},
		{"Mon, 02 Mar 2026 13:02:00 +0100", 2 * time.Minute, true},
		{"Monday, 02-Mar-26 12:02:00 GMT", 2 * time.Minute, true},
		{"Mon Mar  2 12:02:00 2026", 2 * time.Minute, true},
		{"2026-03-02T12:02:00Z", 2 * time.Minute, true},
		{"1772452920", 2 * time.Minute, true},
		{"1772452920000", 2 * time.Minute, true},
		{"10, 60, 5", time.Minute, true},
		{"Mon, 02 Mar 2026 11:59:00 GMT", 0, true},
		{"Sun, 01 Mar 2026 11:59:00 GMT", 0, false}, // over a day ago
		{"1000000", MaxRetryAfter, true},
		{"9999999999999999999999", MaxRetryAfter, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", MaxRetryAfter, true},
		{"Monday, 02-Mar-26 12:02:00 PST", 0, false},
		{"Mon, 31 Feb 2026 12:00:00 GMT", 0, false},
		{"-1", 0, false},
		{"1e3", 0, false},
		{"soon", 0, false},
		{"", 0, false},
	} {
		t.Run(tt.value, func(t *testing.T) {
			got, ok := retryAfter(tt.value, noon)
			if got != tt.want || ok != tt.ok {
				t.Errorf("Retry-After = %v, %v, want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestAppendAllocs checks that the common dialects cost no allocation.
func TestAppendAllocs(t *testing.T) {
	date := "Mon, 02 Mar 2026 12:00:00 GMT"
	for _, h := range []http.Header{
		fields("Date", date, "Content-Type", "text/plain"),
		fields("Date", date, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "3", "X-RateLimit-Reset", "1772452845"),
		fields("Date", date, "RateLimit-Limit", "10", "RateLimit-Remaining", "3", "RateLimit-Reset", "60", "Retry-After", date),
		fields("RateLimit-Limit", "10", "RateLimit-Remaining", "3", "RateLimit-Reset", "60", "RateLimit-Policy", `10;w=60;comment="a"`),
		fields("RateLimit", `"a";r=3;t=60, "b";r=5`, "RateLimit-Policy", `"a";q=10;w=60, "b";q=100;qu="tokens";pk=:MDJmODE5M2RjZTk3:`),
	} {
		var buf [4]Limit
		if n := testing.AllocsPerRun(100, func() { builtin.Append(Facts{Limits: buf[:0]}, h, noon) }); n != 0 {
			t.Errorf("%v allocations for %v", n, h)
		}
	}
}

// TestParseCounter reads which counter an answer is about, as a service writes it.
func TestParseCounter(t *testing.T) {
	trio := []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "3", "X-RateLimit-Reset", "1772452845"}
	for _, tt := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"GitHub", append([]string{"X-RateLimit-Resource", "search"}, trio...), "search"},
		{"Discord", append([]string{"X-RateLimit-Bucket", "abcd1234", "X-RateLimit-Scope", "user"}, trio...), "abcd1234"},
		{"GitLab", []string{"RateLimit-Limit", "60", "RateLimit-Name", "throttle_api", "RateLimit-Remaining", "0"}, "throttle_api"},
		{"a scope says for whom", append([]string{"X-RateLimit-Scope", "global"}, trio...), ""},
		{"none", trio, ""},
		{"partition", []string{"RateLimit", `"a";r=3;t=60;pk=:dXNlcjE=:`}, "dXNlcjE="},
		{"partition of the policy", []string{"RateLimit", `"a";r=3;t=60`, "RateLimit-Policy", `"a";q=10;w=60;pk=:dXNlcjI=:`}, "dXNlcjI="},
		{"partition in a list that the short way does not read", []string{"RateLimit", `"a\"b";r=3;t=60;pk=:dXNlcjE=:`}, "dXNlcjE="},
		{"policy", []string{"RateLimit", `"a";r=3;t=60`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := Parse(fields(tt.headers...), noon).Limits
			if len(limits) != 1 || limits[0].Counter != tt.want {
				t.Errorf("Limits = %+v, want one of the counter %q", limits, tt.want)
			}
		})
	}
}
