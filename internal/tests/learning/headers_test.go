package learning

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// TestRefusalAfterAHabit: the headers of a server that answers fast are not all looked at, but those of a
// refusal are, although it has as many as the answers before.
func TestRefusalAfterAHabit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		start := time.Now()
		client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if n++; n == 100 {
				return lab.Answer(req, 429, "", "Retry-After", "7"), nil
			}
			return lab.Answer(req, 200, "", "X-Something", "1"), nil
		})}}
		for range 100 {
			if status := lab.Get(t, client, "http://a.example/"); status != 200 {
				t.Fatal(status)
			}
		}
		if d := time.Since(start); n != 101 || d != 7*time.Second {
			t.Errorf("%d requests in %v, want 101 in 7s", n, d)
		}
	})
}

// TestHeadersEffect sends requests one after the other, and compares when each of them goes: what
// an answer says must hold the next request for as long as it says, and no longer.
func TestHeadersEffect(t *testing.T) {
	type answer struct {
		status  int
		headers []string
	}
	ok := func(headers ...string) answer { return answer{200, headers} }
	for _, tt := range []struct {
		name    string
		answers []answer // the last one for ever
		want    string
	}{
		{"1, the last role word: RapidAPI's limit is used up", []answer{
			ok("X-RateLimit-Rapid-Free-Plans-Hard-Limit-Limit", "5", "X-RateLimit-Rapid-Free-Plans-Hard-Limit-Remaining", "0", "X-RateLimit-Rapid-Free-Plans-Hard-Limit-Reset", "60"),
			ok(),
		}, "[0s 1m0s 1m0s]"},
		{"1, a limit that is left: Dropbox Sign", []answer{
			ok("X-RateLimit-Limit", "100", "X-RateLimit-Limit-Remaining", "0", "X-RateLimit-Reset", "30"),
			ok("X-RateLimit-Limit", "100", "X-RateLimit-Limit-Remaining", "99", "X-RateLimit-Reset", "30"),
		}, "[0s 30s 30s]"},
		{"1, an app's limit does not hide a user's: X", []answer{
			ok("X-Rate-Limit-Limit", "900", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset-After", "90",
				"X-App-Rate-Limit-Limit", "100000", "X-App-Rate-Limit-Remaining", "99999", "X-App-Rate-Limit-Reset-After", "86400"),
			ok("X-Rate-Limit-Limit", "900", "X-Rate-Limit-Remaining", "899", "X-Rate-Limit-Reset-After", "900",
				"X-App-Rate-Limit-Limit", "100000", "X-App-Rate-Limit-Remaining", "99998", "X-App-Rate-Limit-Reset-After", "86310"),
		}, "[0s 1m30s 1m30s]"},
		{"1, two limits without a name", []answer{
			ok("X-RateLimit-Limit", "5, 1000", "X-RateLimit-Remaining", "4, 0", "X-RateLimit-Reset", "1, 40"),
			ok("X-RateLimit-Limit", "5, 1000", "X-RateLimit-Remaining", "4, 999", "X-RateLimit-Reset", "1, 60"),
		}, "[0s 40s 40s]"},
		{"3, a window of 10 seconds, in which a reset is in milliseconds: Mistral", []answer{
			ok("X-RateLimit-Limit-Req-10-Second", "3", "X-RateLimit-Remaining-Req-10-Second", "0", "X-RateLimit-Reset-Req-10-Second", "9000"),
			ok("X-RateLimit-Limit-Req-10-Second", "3", "X-RateLimit-Remaining-Req-10-Second", "2"),
		}, "[0s 9s 9s]"},
		{"4, the time that requests may take: Dataverse", []answer{
			ok("X-Ms-RateLimit-Time-Remaining-Xrm-Requests", "0,000.00", "X-Ms-RateLimit-Burst-Remaining-Xrm-Requests", "5999"),
		}, "[0s 0s 0s]"},
		{"4, bursts are requests: Jira", []answer{
			ok("X-RateLimit-Limit", "350", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5", "RateLimit-Reason", "jira-burst-based"),
			ok("X-RateLimit-Limit", "350", "X-RateLimit-Remaining", "349", "RateLimit-Reason", "jira-burst-based"),
		}, "[0s 5s 5s]"},
		{"5, the last page", []answer{
			ok("X-Page-Limit", "10", "X-Page-Remaining", "0", "X-Pagination-Limit", "3", "X-Pagination-Remaining", "0"),
		}, "[0s 0s 0s]"},
		{"5, pages of a minute: Mistral", []answer{
			ok("X-RateLimit-Limit-Ocr-Pages-Minute", "60", "X-RateLimit-Remaining-Ocr-Pages-Minute", "59", "X-RateLimit-Limit-Minute", "5", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "30"),
			ok("X-RateLimit-Limit-Minute", "5", "X-RateLimit-Remaining-Minute", "4"),
		}, "[0s 30s 30s]"},
		{"6, a thousand", []answer{
			ok("X-RateLimit-Limit", "1,000", "X-RateLimit-Remaining", "1,000", "X-RateLimit-Reset", "60"),
		}, "[0s 0s 0s]"},
		{"6, a fraction below one", []answer{
			ok("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0.5", "X-RateLimit-Reset", "60"),
		}, "[0s 0s 0s]"},
		{"7, milliseconds beyond the window", []answer{
			ok("X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "1850"),
			ok("X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "59", "X-RateLimit-Reset-Minute", "60000"),
		}, "[0s 1.85s 1.85s]"},
		{"7, a clock", []answer{
			ok("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "00:01:30"), ok(),
		}, "[0s 1m30s 1m30s]"},
		{"7, words", []answer{
			ok("X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "42 seconds"), ok(),
		}, "[0s 42s 42s]"},
		{"7, ISO 8601", []answer{
			{429, []string{"Retry-After", "PT2M"}}, ok(),
		}, "[0s 2m0s 2m0s 2m0s]"},
		{"7, 0 milliseconds beside a second: Azure", []answer{
			{429, []string{"Retry-After-Ms", "0", "Retry-After", "1"}}, ok(),
		}, "[0s 1s 1s 1s]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &lab.Script{}
				for _, a := range tt.answers {
					script.Answers = append(script.Answers, lab.Status(a.status, "", a.headers...))
				}
				c := &http.Client{Transport: &pacer.Transport{Base: script, Rand: lab.Zero}}
				for range 3 {
					lab.Get(t, c, "http://api.test/")
				}
				if got := fmt.Sprint(script.Times(lab.Epoch)); got != tt.want {
					t.Errorf("requests at %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestHeadersEffectTime sends requests at the same time to an API that says how much time they may take,
// besides how many there may be: 4 are under way together, and take a second each.
func TestHeadersEffectTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return lab.Answer(r, 200, "", "X-Ms-RateLimit-Time-Remaining-Xrm-Requests", "1,199.97", "X-Ms-RateLimit-Burst-Remaining-Xrm-Requests", "5999"), nil
		})
		c := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero}}
		lab.Get(t, c, "http://api.test/")
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() { lab.Get(t, c, "http://api.test/") })
		}
		all.Wait()
		if got, want := time.Since(lab.Epoch), 2*time.Second; got != want {
			t.Errorf("33 requests took %v, want %v", got, want)
		}
	})
}

// TestHeadersEffectWindow configures what the documentation says, a quota in 10 seconds. The server states the
// same and is believed, whose window ends after 4 seconds: were it read as one of a second, the quota would
// hold the fourth request for 10.
func TestHeadersEffectWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &lab.Script{}
		for _, a := range []struct{ left, reset string }{{"2", "4"}, {"1", "4"}, {"0", "4"}, {"2", "10"}, {"1", "10"}} {
			script.Answers = append(script.Answers, lab.Status(200, "", "X-RateLimit-Limit-Req-10-Second", "3",
				"X-RateLimit-Remaining-Req-10-Second", a.left, "X-RateLimit-Reset-Req-10-Second", a.reset))
		}
		c := &http.Client{Transport: &pacer.Transport{Base: script, Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 3, Per: 10 * time.Second})}}
		for range 5 {
			lab.Get(t, c, "http://api.test/")
		}
		if got, want := fmt.Sprint(script.Times(lab.Epoch)), "[0s 0s 0s 4s 4s]"; got != want {
			t.Errorf("requests at %s, want %s", got, want)
		}
	})
}
