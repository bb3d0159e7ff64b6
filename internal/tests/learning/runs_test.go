package learning

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// TestManyShortRuns: four callers at a time for five minutes, in one run, and in runs of seven seconds of which
// each loads what the one before saved. The short runs learn what one run does: they serve a twentieth less at
// most, and two more of their requests are refused at most.
func TestManyShortRuns(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm pacertest.Algorithm
		dialect   pacertest.Dialect
	}{
		{"log, exact resets", &pacertest.SlidingLog{Limit: 20, Window: 4 * time.Second}, pacertest.OpenAI},
		{"window, resets in whole seconds since 1970", &pacertest.FixedWindow{Limit: 20, Window: 4 * time.Second}, pacertest.XRateLimit},
		{"bucket of one, hints", &pacertest.TokenBucket{Rate: 5, Burst: 1}, pacertest.RetryAfterOnly},
		{"bucket of one, silent", &pacertest.TokenBucket{Rate: 5, Burst: 1}, pacertest.NoHeaders},
		{"bucket of eight, hints", &pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.RetryAfterOnly},
		{"bucket of eight, silent", &pacertest.TokenBucket{Rate: 5, Burst: 8}, pacertest.NoHeaders},
	} {
		if !whole.Part(2, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			run := func(lasts time.Duration) (served, refused int) {
				server := instances{Dialect: test.dialect, counters: []pacertest.Algorithm{test.algorithm.Fresh()}, random: rand.New(rand.NewPCG(1, 2))}
				return shortRuns(t, &server, 4, lasts)
			}
			served, refused := run(time.Hour)
			got, gotRefused := run(7 * time.Second)
			if t.Logf("one run: %d served, %d refused; short ones: %d, %d", served, refused, got, gotRefused); got < served*19/20 || gotRefused > refused+2 {
				t.Errorf("short runs: %d served, %d refused; one run: %d, %d", got, gotRefused, served, refused)
			}
		})
	}
}

// TestBatchesAtALog: requests that go in batches, each when all of the one before are answered, meet a log
// whose oldest request is forgotten a moment after a look. That does not make it a bucket for ever, which is
// refused once in each window.
func TestBatchesAtALog(t *testing.T) {
	for _, test := range []struct {
		log                    pacertest.SlidingLog
		callers, least, refuse int // the least that are served; the most that are refused
	}{
		{pacertest.SlidingLog{Limit: 20, Window: 4 * time.Second}, 13, 1425, 200},
		{pacertest.SlidingLog{Limit: 7, Window: 3 * time.Second}, 2, 665, 60},
		{pacertest.SlidingLog{Limit: 7, Window: 3 * time.Second}, 3, 665, 60},
	} {
		server := instances{Dialect: pacertest.OpenAI, counters: []pacertest.Algorithm{&test.log}, random: rand.New(rand.NewPCG(1, 2))}
		served, refused := shortRuns(t, &server, test.callers, time.Hour)
		if t.Logf("%d in %v, %d at a time: %d served, %d refused", test.log.Limit, test.log.Window, test.callers, served, refused); served < test.least || refused > test.refuse {
			t.Errorf("%d in %v, %d at a time: %d served, %d refused, want %d at least, %d at most", test.log.Limit, test.log.Window, test.callers, served, refused, test.least, test.refuse)
		}
	}
}

// shortRuns has so many callers at a time send requests for five minutes, in runs that last so long. It returns
// how many were served and refused.
func shortRuns(t *testing.T, server http.RoundTripper, atOnce int, lasts time.Duration) (served, refused int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(15 * time.Millisecond)
			resp, err := server.RoundTrip(req)
			time.Sleep(15 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if resp.StatusCode == http.StatusOK {
				served++
			} else {
				refused++
			}
			return resp, err
		})
		lab.UntilToday()
		tr, begun := &pacer.Transport{Base: base, Rand: lab.Zero}, time.Now()
		for start := begun; time.Since(start) < 5*time.Minute; {
			var callers sync.WaitGroup
			for range atOnce {
				callers.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "http://a.example/") })
			}
			if callers.Wait(); time.Since(begun) < lasts {
				continue
			}
			var file bytes.Buffer
			if err := tr.Save(&file); err != nil {
				t.Fatal(err)
			}
			tr, begun = &pacer.Transport{Base: base, Rand: lab.Zero}, time.Now()
			if err := tr.Load(&file); err != nil {
				t.Fatal(err)
			}
		}
	})
	return served, refused
}

// TestRunsBetweenPauses: what came back between two runs is there for the next one. Of a bucket of two that is
// full again when each run begins, and of a window that is new, two requests go at once.
func TestRunsBetweenPauses(t *testing.T) {
	for name, algorithm := range map[string]pacertest.Algorithm{
		"bucket": &pacertest.TokenBucket{Rate: 0.5, Burst: 2},
		"window": &pacertest.FixedWindow{Limit: 2, Window: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				server := pacertest.NewServer(algorithm, pacertest.XRateLimit)
				server.Latency = 40 * time.Millisecond
				defer server.Close()
				var file bytes.Buffer
				for i := range 15 {
					begun := time.Now()
					run(t, &file, server.Transport(), "http://a.example/", "http://a.example/")
					if took := time.Since(begun); took != 80*time.Millisecond {
						t.Errorf("run %d took %v", i, took)
					}
					time.Sleep(4 * time.Second)
				}
				if n := server.Stats().Refused; n > 0 {
					t.Errorf("%d were refused", n)
				}
			})
		})
	}
}
