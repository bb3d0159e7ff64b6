package learning

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// TestLimitStatedNoMore: a limit that came back token by token is stated no more, since the server now states
// another one, far wider, or nothing. It is forgotten after sixteen answers.
func TestLimitStatedNoMore(t *testing.T) {
	for _, then := range []string{"another name", "nothing"} {
		t.Run(then, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				start := time.Now()
				var late atomic.Int64
				narrow, wide := &pacertest.TokenBucket{Rate: 0.1, Burst: 2}, &pacertest.TokenBucket{Rate: 10, Burst: 60}
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					now := time.Now()
					resp := lab.Answer(r, 200, "")
					if now.Sub(start) < 2*time.Minute {
						v := narrow.Take(now, 1)
						if !v.OK {
							resp = lab.Answer(r, 429, "")
						}
						resp.Header.Set("X-RateLimit-Limit", strconv.Itoa(v.Limit))
						resp.Header.Set("X-RateLimit-Remaining", strconv.Itoa(v.Remaining))
						resp.Header.Set("X-RateLimit-Reset", strconv.FormatFloat(v.Reset.Seconds(), 'f', 3, 64))
						return resp, nil
					}
					v := wide.Take(now, 1)
					if then == "another name" {
						resp.Header.Set("RateLimit-Policy", `"new";q=60`)
						resp.Header.Set("RateLimit", `"new";r=`+strconv.Itoa(v.Remaining)+`;t=`+strconv.Itoa(int(v.Reset.Seconds()+1)))
					}
					if now.Sub(start) > 8*time.Minute {
						late.Add(1)
					}
					return resp, nil
				})}
				for time.Since(start) < 9*time.Minute {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
					if err == nil {
						resp.Body.Close()
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := late.Load(); n < 300 {
					t.Errorf("%d served in the ninth minute, where 600 are possible; %q", n, tr.State()[0].Beliefs)
				}
			})
		})
	}
}
