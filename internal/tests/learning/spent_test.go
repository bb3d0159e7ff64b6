package learning

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestSpentForLong: nothing was left of a limit for long, while many of its resets came. When more is left at
// last, a window is not taken to last for as long as that.
func TestSpentForLong(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
		spent     time.Duration
		then      func(pacertest.Algorithm)
		others    func(since time.Duration) int // how many tokens others take at the beginning of each window
	}{
		{
			"a limit of one rises", &pacertest.EstimatedWindow{Limit: 1, Window: time.Second}, pacertest.OpenAI, 10 * time.Minute,
			func(a pacertest.Algorithm) { a.(*pacertest.EstimatedWindow).Limit = 2 }, nil,
		},
		{
			"others take all, and then two of three", &pacertest.FixedWindow{Limit: 3, Window: time.Second}, pacertest.XRateLimit, 2 * time.Minute, nil,
			func(since time.Duration) int {
				if since < 2*time.Minute {
					return 3
				}
				return 2
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				start := time.Now()
				a := test.algorithm.Fresh()
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					time.Sleep(5 * time.Millisecond)
					now := time.Now()
					if f := a.Take(now, 0); test.others != nil && f.Remaining == f.Limit {
						a.Take(now, test.others(now.Sub(start)))
					}
					resp := lab.Answer(r, http.StatusOK, "")
					v := a.Take(now, 1)
					test.dialect.Set(resp.Header, v, now)
					resp.Header.Set("Date", now.UTC().Format(http.TimeFormat))
					if !v.OK {
						resp.StatusCode = http.StatusTooManyRequests
					}
					time.Sleep(5 * time.Millisecond)
					return resp, nil
				})}
				then := test.then
				for time.Since(start) < test.spent+time.Minute {
					if then != nil && time.Since(start) >= test.spent {
						then(a)
						then = nil
					}
					begun := time.Now()
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
					if err == nil {
						resp.Body.Close()
					} else {
						time.Sleep(time.Second)
					}
					if waited := time.Since(begun); time.Since(start) > test.spent+5*time.Second && (err != nil || waited > 3*time.Second) {
						t.Fatalf("after %v: waited %v (%v), with %q", time.Since(start), waited, err, tr.State()[0].Beliefs)
					}
				}
			})
		})
	}
}
