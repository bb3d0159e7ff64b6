package promises

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// A server that refills continuously gives itself away: waiting for the announced reset would
// waste up to half of the quota, so pace at the rate that was seen.
func TestPromiseRefillIsPaced(t *testing.T) {
	for _, algorithm := range []pacertest.Algorithm{
		&pacertest.GCRA{Rate: 1, Burst: 60}, &pacertest.TokenBucket{Rate: 1, Burst: 60}, &pacertest.EstimatedWindow{Limit: 60, Window: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			server := pacertest.NewServer(algorithm, pacertest.XRateLimitDelta)
			defer server.Close()
			client := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}}
			start := time.Now()
			for range 180 {
				lab.Get(t, client, "http://a.example/")
			}
			took, least := time.Since(start), pacertest.Least(algorithm, start, 180)
			if n := server.Stats().Refused; took > least*105/100 || n > 1 {
				t.Errorf("%T: took %v with %d refused, want at most 1.05 of %v and 1", algorithm, took, n, least)
			}
		})
	}
}

// A hint in whole seconds is an interval: before its upper end only where a window that is known proves that it
// is coarse. A server that wants requests 50 ms apart says "Retry-After: 1" to one that comes too early, and
// "in 1 s" to each that it serves. A second for each refusal would waste half of the quota.
func TestPromiseCoarseHintIsNoSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		algorithm := &pacertest.GCRA{Rate: 20, Burst: 1}
		server := pacertest.NewServer(algorithm, pacertest.XRateLimitDelta)
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}}
		start := time.Now()
		for range 600 {
			lab.Get(t, client, "http://a.example/")
		}
		took, least := time.Since(start), pacertest.Least(algorithm, start, 600)
		if n := server.Stats().Refused; took > least*115/100 || n > 6 {
			t.Errorf("took %v with %d refused, want at most 1.15 of %v and 6", took, n, least)
		}
	})
}

// Who configures what the documentation says is never slower, nor refused more: the spacing of requests need
// not be found out. Nor is it where quotas were replaced.
func TestPromiseSpacingIsTold(t *testing.T) {
	for _, before := range []string{"20/s even", "1/s even", "1/s burst 9"} {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			algorithm := &pacertest.GCRA{Rate: 20, Burst: 1}
			server := pacertest.NewServer(algorithm, pacertest.XRateLimitDelta)
			defer server.Close()
			transport := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero, Quotas: pacer.Table{"/": quota.MustParse(before)}}
			client := &http.Client{Transport: transport}
			lab.Get(t, client, "http://a.example/")
			if err := transport.SetQuotas(pacer.Table{"/": quota.MustParse("20/s even")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			start := time.Now()
			for range 200 {
				lab.Get(t, client, "http://a.example/")
			}
			took, least := time.Since(start), pacertest.Least(algorithm, start, 200)
			if n := server.Stats().Refused; took > least*105/100 || n > 0 {
				t.Errorf("%s: took %v with %d refused, want at most 1.05 of %v and none", before, took, n, least)
			}
		})
	}
}

// What is said about a reset is an interval: keep the intersection of all statements of a window,
// which is exact to milliseconds where each reply alone is up to a second off.
func TestPromiseResetIsTheIntersection(t *testing.T) {
	const reset = 12340 * time.Millisecond
	var g *guest
	visit(t, func(n int) *http.Response {
		seconds := int((reset - time.Since(g.start) + time.Second - 1) / time.Second)
		return reply(200, "X-RateLimit-Limit", "80", "X-RateLimit-Remaining", strconv.Itoa(max(79-n, 0)), "X-RateLimit-Reset", strconv.Itoa(seconds))
	}, func(it *guest) {
		g = it
		for range 80 {
			g.get()
			time.Sleep(10 * time.Millisecond)
		}
		g.get()
		g.wantWent(80, reset)
	})
}

// Where it stays wider than a probe is worth, probe inside it.
func TestPromiseProbesInsideAWideInterval(t *testing.T) {
	for _, test := range []struct {
		reset string // of 10, told 400 ms after a second
		want  time.Duration
	}{
		{"1", 600 * time.Millisecond},            // as soon as one of 10 is back, if all are within the 2 s that it may be
		{"60", 60400 * time.Millisecond},         // known well enough
		{"1795248061", 60400 * time.Millisecond}, // a second before 60600 ms; windows begin with a request and last whole seconds
	} {
		visit(t, always(200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", test.reset, "Date", "Sat, 21 Nov 2026 08:00:00 GMT"), func(g *guest) {
			time.Sleep(400 * time.Millisecond)
			g.get()
			g.get()
			g.wantWent(0, 400*time.Millisecond, test.want)
		})
	}
}
