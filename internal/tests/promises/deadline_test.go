package promises

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// fate is what became of the requests of a crowd.
type fate struct {
	served []time.Duration // when they were
	told   []time.Duration // when the others were told
	errs   []error         // what they were told
}

// latency is for how long an answer is on its way.
const latency = 20 * time.Millisecond

var errAnswered = errors.New("refused by the server")

// ask has a hundred callers ask a server at once, each with a Client.Timeout. Zero means none.
func ask(t *testing.T, a pacertest.Algorithm, d pacertest.Dialect, timeout time.Duration) (f fate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(a, d)
		server.Latency = latency
		defer server.Close()
		tr := &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}
		if timeout == 0 {
			tr.MaxStandstill = throttle.Forever
		}
		client := &http.Client{Transport: tr, Timeout: timeout}
		start := time.Now()
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				resp, err := client.Get("http://a.example/")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					f.told, f.errs = append(f.told, time.Since(start)), append(f.errs, err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					f.told, f.errs = append(f.told, time.Since(start)), append(f.errs, errAnswered)
					return
				}
				f.served = append(f.served, time.Since(start))
			})
			synctest.Wait()
		}
		wg.Wait()
		client.CloseIdleConnections()
	})
	return f
}

// toldOf is a server, and how it is told of its limit who cannot make it.
type toldOf struct {
	name      string
	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
	cause     throttle.Cause
	half, all time.Duration // when half, and all, of those who cannot make it are told at the latest
}

// Who cannot make it within Client.Timeout is told as soon as that is known, and why; and nobody is refused who
// would have been served. What is stated is known after a round trip or two. A rate has to be measured first.
func TestPromiseTimeoutsAreToldWhenTheyAreKnown(t *testing.T) {
	const timeout, moment = 30 * time.Second, 100 * time.Millisecond
	window, pace := throttle.CauseWindowUsedUp, throttle.CausePace
	for _, test := range []toldOf{
		{"a minute", &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, pacertest.XRateLimit, window, moment, moment},
		{"a minute, in seconds", &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, pacertest.XRateLimitDelta, window, moment, moment},
		{"a minute of the clock", &pacertest.ClockWindow{Limit: 60, Window: time.Minute}, pacertest.RateLimitDraft7, window, moment, moment},
		{"ten seconds, stated", &pacertest.FixedWindow{Limit: 10, Window: 10 * time.Second}, pacertest.RateLimitDraft7, window, moment, 11 * time.Second},
		{"ten seconds, seen", &pacertest.FixedWindow{Limit: 10, Window: 10 * time.Second}, pacertest.XRateLimit, window, moment, 21 * time.Second},
		{"a log", &pacertest.SlidingLog{Limit: 10, Window: 10 * time.Second}, pacertest.XRateLimitDelta, window, moment, 21 * time.Second},
		{"a bucket", &pacertest.TokenBucket{Rate: 1, Burst: 10}, pacertest.XRateLimit, window, 10 * time.Second, timeout - 1},
		{"a bucket, stated", &pacertest.TokenBucket{Rate: 1, Burst: 10}, pacertest.RateLimitDraft7, window, moment, timeout - 1},
		{"one a second", &pacertest.GCRA{Rate: 1, Burst: 1}, pacertest.RateLimitDraft7, window, moment, timeout - 1},
		{"a leaky bucket", &pacertest.LeakyBucket{Rate: 1, Depth: 5}, pacertest.RateLimitDraft7, window, moment, timeout - 1},
		{"silent", &pacertest.LeakyBucket{Rate: 1, Depth: 5}, pacertest.NoHeaders, pace, timeout - 1, timeout - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			patient, hurried := ask(t, test.algorithm, test.dialect, 0), ask(t, test.algorithm, test.dialect, timeout)
			inTime := 0
			for _, at := range patient.served {
				if at < timeout {
					inTime++
				}
			}
			// Another one or so is served or not, since the instants differ.
			if n := len(hurried.served); n < inTime-1 {
				t.Errorf("%d were served, and %d would have been", n, inTime)
			}
			told := 0
			for i, at := range hurried.told {
				var e *throttle.Error
				switch err := hurried.errs[i]; {
				case errors.As(err, &e) && errors.Is(e, throttle.ErrDeadline) && e.Cause == test.cause && at+e.Wait+latency >= timeout:
					told++
				case errors.Is(err, errAnswered): // and could not be sent again in time
					told++
				case at < timeout:
					t.Errorf("told after %v: %v", at, hurried.errs[i])
				}
			}
			slices.Sort(hurried.told)
			n := len(hurried.told)
			if told < n-1 || hurried.told[n/2] > test.half || hurried.told[told-1] > test.all {
				t.Errorf("%d of %d were told: half of them after %v, want %v; all after %v, want %v", told, n, hurried.told[n/2], test.half, hurried.told[told-1], test.all)
			}
		})
	}
}

// TestPromiseNobodyIsToldWhoWouldMakeIt: the server states the reset of its windows of 2 s in whole seconds, so
// it may come up to a second before it is stated. Unbounded, a hundred requests take little more than 2 s.
func TestPromiseNobodyIsToldWhoWouldMakeIt(t *testing.T) {
	for _, text := range []string{"", "50/2s", "50/2s window"} {
		for _, maxWait := range []time.Duration{0, 2500 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(100 * time.Millisecond) // into the second
				s := &pacertest.Server{Algorithm: &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, Dialect: pacertest.XRateLimit, Latency: 20 * time.Millisecond}
				defer s.Close()
				tr := &pacer.Transport{Base: lab.Direct(s), MaxWait: maxWait, Rand: lab.Zero, Quotas: pacer.Table{"/": quota.MustParse(text)}}
				start := time.Now()
				var wait sync.WaitGroup
				for range 100 {
					wait.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "http://a.example/") })
				}
				wait.Wait()
				if took := time.Since(start); took > 2100*time.Millisecond {
					t.Errorf("%q, MaxWait %v: %v", text, maxWait, took)
				}
			})
		}
	}
}
