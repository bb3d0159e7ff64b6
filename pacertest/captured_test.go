package pacertest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/pacertest"
)

// capture is an answer of a real server on loopback: the first or second answer to an
// admitted request since first_unix_ms, the last answer before a refusal, or the first
// refusal.
type capture struct {
	Server  string `json:"server"`
	Version string `json:"version"`
	Note    string `json:"note"`
	Status  int    `json:"status"`
	First   int64  `json:"first_unix_ms"`
	Sent    int64  `json:"sent_unix_ms"`
	Headers fields `json:"headers"`
}

// A Server reproduces the limit headers of real servers to the letter.
func TestDialectsAgainstCaptures(t *testing.T) {
	b, err := os.ReadFile("testdata/captured_headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var captures []capture
	if err := json.Unmarshal(b, &captures); err != nil {
		t.Fatal(err)
	}
	express, ulule, httprate, fastifyDraft := pacertest.XRateLimit, pacertest.XRateLimit, pacertest.XRateLimit, pacertest.RateLimitDraft6
	express.RetryAfter = pacertest.RetryAfterSeconds
	ulule.ResetFloor = true
	httprate.ResetFloor, httprate.RetryAfter = true, pacertest.RetryAfterWindow
	fastifyDraft.Policy = false
	httprateDraft := httprate
	httprateDraft.Prefix = "RateLimit-"

	// The first servers whose name starts with these words. The phases of httprate are
	// not known to the millisecond.
	servers := []struct {
		prefix    string
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
	}{
		{"httprate-", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second, Phase: 500 * time.Millisecond}, httprate},
		{"cap-httprate-draft-", &pacertest.EstimatedWindow{Limit: 5, Window: time.Minute, Phase: 10500 * time.Millisecond}, httprateDraft},
		{"cap-httprate-", &pacertest.EstimatedWindow{Limit: 5, Window: time.Minute, Phase: 10500 * time.Millisecond}, httprate},
		{"ulule-", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, ulule},
		{"cap-ulule-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, ulule},
		{"cap-throttled-", &pacertest.GCRA{Rate: 5. / 60, Burst: 5}, pacertest.XRateLimitDelta},
		{"express-legacy-", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, express},
		{"express-draft6-", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, pacertest.RateLimitDraft6},
		{"express-draft7-", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, pacertest.RateLimitDraft7},
		{"cap-express-legacy-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, express},
		{"cap-express-draft6-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, pacertest.RateLimitDraft6},
		{"cap-express-draft7-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, pacertest.RateLimitDraft7},
		{"fastify-", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, pacertest.XRateLimitDelta},
		{"cap-fastify-draft-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, fastifyDraft},
		{"cap-fastify-", &pacertest.FixedWindow{Limit: 5, Window: time.Minute}, pacertest.XRateLimitDelta},
		{"cap-nginx-", &pacertest.LeakyBucket{Rate: 1, Depth: 4}, pacertest.NoHeaders},
	}
	for _, c := range captures {
		t.Run(c.Server+" "+c.Note, func(t *testing.T) {
			for _, s := range servers {
				if !strings.HasPrefix(c.Server, s.prefix) {
					continue
				}
				got := http.Header{}
				v := replay(s.algorithm, c)
				s.dialect.Set(got, v, time.UnixMilli(c.Sent))
				if diff := cmp.Diff(c.Headers.header(), got); v.OK != (c.Status == http.StatusOK) || diff != "" {
					t.Errorf("%s: OK = %v, header (-want +got):\n%s", c.Version, v.OK, diff)
				}
				return
			}
			t.Error("no such server")
		})
	}
}

// replay sends the requests that were sent before c, at the time of the first request,
// and then the request of c.
func replay(a pacertest.Algorithm, c capture) pacertest.Verdict {
	a = a.Fresh()
	first := time.UnixMilli(c.First)
	before := 0
	switch c.Note {
	case "first admitted":
	case "second admitted":
		before = 1
	case "last admitted before the rejection":
		before = a.Take(first, 0).Limit - 1
	default:
		before = a.Take(first, 0).Limit
	}
	for range before {
		a.Take(first, 1)
	}
	return a.Take(time.UnixMilli(c.Sent), 1)
}
