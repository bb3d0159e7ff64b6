package learning

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// With this, TestHonestAfterLies tries more plans, and prints how they went:
//
//	go test -run HonestAfterLies -v ./internal/tests/learning -args -lies 20 -seed 3000
var liePlans = flag.Int("lies", 0, "how many plans of each lie and dialect; the usual few if zero")

// lies are what a server that is broken, or hostile, makes of its answers for a while. What it says of a time
// in which nobody is to ask is obeyed, for MaxHold at most: so it takes longer until all is well again after a
// Date that has resets be hours away.
var lies = []struct {
	name  string
	after time.Duration // when all is to be well again
	says  string        // in which dialect, and of which seed, a plan is that once was served nothing then, or half
	seed  uint64
	tell  func(*http.Response, *rand.Rand)
}{
	{"tokens", 5 * time.Minute, "seconds", 3007, func(resp *http.Response, r *rand.Rand) {
		tell(resp, http.StatusOK,
			"X-RateLimit-Limit-Tokens", "1000",
			"X-RateLimit-Remaining-Tokens", strconv.Itoa(r.IntN(1001)*r.IntN(2)),
			"X-RateLimit-Reset-Tokens", strconv.Itoa(r.IntN(60)))
	}},
	{"tokens are scarce", 5 * time.Minute, "", 0, func(resp *http.Response, r *rand.Rand) {
		tell(resp, http.StatusOK,
			"X-RateLimit-Limit-Tokens", "1000",
			"X-RateLimit-Remaining-Tokens", "0",
			"X-RateLimit-Reset-Tokens", strconv.Itoa(1+r.IntN(60))+"s")
	}},
	{"remaining never falls", 5 * time.Minute, "seconds", 3008, func(resp *http.Response, r *rand.Rand) {
		tell(resp, halfRefused(r),
			"X-RateLimit-Limit", "10000", "X-RateLimit-Remaining", "9999", "X-RateLimit-Reset", "3600")
	}},
	{"remaining never falls, own words", 5 * time.Minute, "list", 3011, func(resp *http.Response, r *rand.Rand) {
		for name, value := range map[string]string{
			"X-RateLimit-Limit": "10000", "X-RateLimit-Remaining": "9999", "X-RateLimit-Reset": "3600",
			"X-RateLimit-Limit-Requests": "10000", "X-RateLimit-Remaining-Requests": "9999", "X-RateLimit-Reset-Requests": "1h0m0s",
			"Anthropic-RateLimit-Requests-Limit": "10000", "Anthropic-RateLimit-Requests-Remaining": "9999",
			"Anthropic-RateLimit-Requests-Reset": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			"RateLimit":                          `"default";r=9999;t=3600`, "RateLimit-Policy": `"default";q=10000`,
		} {
			if resp.Header.Get(name) != "" {
				resp.Header.Set(name, value)
			}
		}
		resp.Header.Del("Retry-After")
		resp.StatusCode = halfRefused(r)
	}},
	{"dates lie", 20 * time.Minute, "Anthropic", 3001, func(resp *http.Response, r *rand.Rand) {
		resp.Header.Set("Date", time.Now().Add(time.Duration((r.Float64()-0.5)*10*float64(time.Hour))).UTC().Format(http.TimeFormat))
	}},
	{"date is behind", 20 * time.Minute, "Anthropic", 3006, func(resp *http.Response, _ *rand.Rand) {
		resp.Header.Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
	}},
	{"date is ahead", 20 * time.Minute, "Anthropic", 3002, func(resp *http.Response, _ *rand.Rand) {
		resp.Header.Set("Date", time.Now().Add(3*time.Hour).UTC().Format(http.TimeFormat))
	}},
}

// halfRefused is the status of an answer that is a refusal or not, as chance has it.
func halfRefused(r *rand.Rand) int {
	return []int{http.StatusOK, http.StatusTooManyRequests}[r.IntN(2)]
}

// tell has an answer be something else.
func tell(resp *http.Response, status int, headers ...string) {
	resp.StatusCode = status
	clear(resp.Header)
	for i := 0; i < len(headers); i += 2 {
		resp.Header.Set(headers[i], headers[i+1])
	}
}

// honest are the dialects that the server speaks.
var honest = []struct {
	name    string
	dialect pacertest.Dialect
}{
	{"OpenAI", pacertest.OpenAI},
	{"Anthropic", pacertest.Anthropic},
	{"seconds", pacertest.XRateLimitDelta},
	{"list", pacertest.RateLimitDraft8},
	{"hint", pacertest.RetryAfterOnly},
	{"nothing", pacertest.NoHeaders},
}

// TestHonestAfterLies: a server lies for a while, or is broken, and is honest then. Later, as much is served as
// if it had always been honest.
func TestHonestAfterLies(t *testing.T) {
	var shares spread
	for k, l := range lies {
		for j, says := range honest {
			for i := range uint64(max(*liePlans, 1)) {
				seed := *from + i
				if *liePlans == 0 {
					if seed = l.seed; says.name != l.says {
						continue
					}
				}
				name := fmt.Sprintf("%s, %s, %d", l.name, says.name, seed)
				if *liePlans == 0 && !whole.Part(2, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, uint64(100*k+j)))
					c, rate := drawn(seed, r.IntN(len(courseKinds)), 10)
					c.latency, c.callers = min(c.latency, 100*time.Millisecond), 4
					c.dialect, c.lie = says.dialect, l.tell
					lying := time.Duration(5*math.Pow(120, r.Float64())) * time.Second
					share := func(lying time.Duration) float64 {
						c.lying, c.span = lying, lying+l.after+5*time.Minute
						return c.run(t).share(rate, c.span-5*time.Minute, c.span)
					}
					lied, control := share(lying), 1.0
					if lied < 0.95 {
						control = share(0)
					}
					shares = append(shares, lied/control)
					if lied < 0.8*control {
						t.Errorf("%.2f of the rate, without lies %.2f; %v/s, %T, lying for %v", lied, control, rate, c.algorithm, lying)
					}
				})
			}
		}
	}
	t.Log("shares of what is served without lies: ", shares)
}
