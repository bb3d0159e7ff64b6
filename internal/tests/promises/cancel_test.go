package promises

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// A grant that is given back at once leaves nothing behind: the program is served as soon as one that asks for
// no other grant. A trial of a former rate, which comes after the first 40 requests at one a second, begins
// with a grant.
func TestUnusedGrantCostsNothing(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"gcra":   &pacertest.GCRA{Rate: 1, Burst: 1},
		"bucket": &pacertest.TokenBucket{Rate: 5, Burst: 8},
		"window": &pacertest.FixedWindow{Limit: 20, Window: 4 * time.Second},
	} {
		for told, dialect := range map[string]pacertest.Dialect{
			"nothing": pacertest.NoHeaders, "hint": pacertest.RetryAfterOnly, "instant": pacertest.XRateLimit,
			"seconds": pacertest.RateLimitDraft7, "duration": pacertest.OpenAI,
		} {
			t.Run(name+"/"+told, func(t *testing.T) {
				n := 150
				if name == "gcra" {
					n = 40
				}
				least, refused := visitAlone(t, algorithm, dialect, n, beside{})
				if took, again := visitAlone(t, algorithm, dialect, n, beside{twice: true}); took != least || again != refused {
					t.Errorf("%d requests took %v and %d refusals beside grants that were not used, and %v and %d without",
						n, took, again, least, refused)
				}
			})
		}
	}
}

// A grant that is held unsent costs one token of each window, and what is left for it is not taken for what
// others use: the rest is served as by a server that allows so much less.
func TestHeldGrantCostsItsTokens(t *testing.T) {
	for told, dialect := range map[string]pacertest.Dialect{"seconds": pacertest.RateLimitDraft7, "duration": pacertest.OpenAI} {
		for held := 1; held <= 8; held++ {
			allows := func(n int) pacertest.Algorithm { return &pacertest.FixedWindow{Limit: n, Window: 4 * time.Second} }
			least, _ := visitAlone(t, allows(20-held), dialect, 100, beside{})
			if took, refused := visitAlone(t, allows(20), dialect, 100, beside{held: held}); took != least || refused != 0 {
				t.Errorf("%s: 100 requests took %v and %d refusals beside %d grants that were held, want %v", told, took, refused, held, least)
			}
		}
	}
}

// What Line.Reserve keeps for urgent requests is not used: the others are served as by a server that allows so
// much less. That nothing else remains is seen, although what remains is never zero.
func TestReserveCostsItsTokens(t *testing.T) {
	for told, dialect := range map[string]pacertest.Dialect{
		"instant": pacertest.XRateLimit, "seconds": pacertest.RateLimitDraft7, "duration": pacertest.OpenAI,
	} {
		for _, kept := range []int{2, 6, 10} {
			for name, allows := range map[string]func(n int) pacertest.Algorithm{
				"window": func(n int) pacertest.Algorithm { return &pacertest.FixedWindow{Limit: n, Window: 4 * time.Second} },
				"bucket": func(n int) pacertest.Algorithm { return &pacertest.TokenBucket{Rate: 5, Burst: n} },
			} {
				least, _ := visitAlone(t, allows(20-kept), dialect, 100, beside{})
				took, refused := visitAlone(t, allows(20), dialect, 100, beside{reserve: float64(kept) / 20})
				if took > least+least/50 || refused != 0 {
					t.Errorf("%s, %s: 100 requests took %v and %d refusals with %d of 20 reserved, want %v", name, told, took, refused, kept, least)
				}
			}
		}
	}
}

// beside is what a program does beside its requests: how many grants it holds, and whether each request is
// preceded by a grant that is given back unused. Reserve is its Line.Reserve.
type beside struct {
	held    int
	twice   bool
	reserve float64
}

// visitAlone returns how long n requests take, one after the other, and how many are refused.
func visitAlone(t *testing.T, a pacertest.Algorithm, d pacertest.Dialect, n int, b beside) (took time.Duration, refused int) {
	t.Helper()
	a = a.Fresh()
	serve := func(int) *http.Response {
		time.Sleep(5 * time.Millisecond)
		resp, now := lab.Answer(nil, http.StatusOK, ""), time.Now()
		v := a.Take(now, 1)
		d.Set(resp.Header, v, now)
		if !v.OK {
			refused++
			resp.StatusCode = http.StatusTooManyRequests
		}
		time.Sleep(5 * time.Millisecond)
		return resp
	}
	visit(t, serve, func(g *guest) {
		g.Line.Reserve = b.reserve
		grant := func() (cancel func()) {
			_, cancel, err := g.Acquire(context.Background(), lab.Request(g.t, "GET", "http://a.example/", ""))
			if err != nil {
				g.t.Fatal(err)
			}
			return cancel
		}
		for i := range n {
			if i == 1 { // with the first request, the slow start has ended
				for range b.held {
					defer grant()()
				}
			}
			if b.twice {
				grant()()
			}
			if status := g.get(); status != http.StatusOK {
				g.t.Fatalf("status %d", status)
			}
		}
		took = time.Since(g.start)
	})
	return took, refused
}
