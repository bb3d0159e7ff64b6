// Package learning tests what a Transport learns of servers that it is told nothing of: how near it
// comes to the whole quota against every kind of server, and what lies do (this file); whether what
// it expects is what unmodified servers were seen to do (truth_test.go); what it makes of the reason
// of a refusal (refusal_test.go) and of a server that counts several things apart (named_test.go);
// and what it saves for the next run of the program (memory_test.go). Package promises has a test
// for each sentence that is promised.
package learning

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/throttle"
)

// latency is how long servers take here: about a round trip.
const latency = 10 * time.Millisecond

// batch is a batch of work of a program that is told nothing of the server's limit:
// so many requests by 16 callers, begun at some phase of a second.
type batch struct {
	algorithm pacertest.Algorithm
	dialect   pacertest.Dialect
	requests  int
	phase     time.Duration
	maxWait   time.Duration
}

// outcome is how it went.
type outcome struct {
	makespan, least time.Duration
	refused         int
}

func (o outcome) String() string {
	return fmt.Sprintf("%v, %.3f of the least %v; %d refused", o.makespan, float64(o.makespan)/float64(o.least), o.least, o.refused)
}

// run does the batch in a bubble.
func (b batch) run(t *testing.T) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		time.Sleep(b.phase)
		server := pacertest.NewServer(b.algorithm, b.dialect)
		server.Latency = latency
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Rand: lab.Zero, MaxWait: b.maxWait}}
		var left atomic.Int64
		left.Store(int64(b.requests))
		var wg sync.WaitGroup
		start := time.Now()
		for range 16 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if code := lab.Get(t, client, "http://a.example/"); code != http.StatusOK {
						t.Errorf("got status %d after %v", code, time.Since(start))
					}
				}
			})
		}
		wg.Wait()
		stats := server.Stats()
		o.makespan, o.refused = time.Since(start), stats.Refused
		o.least = pacertest.Least(b.algorithm, stats.First, b.requests)
	})
	return o
}

// bound is how much more than the least a batch of 200 may take, and how often it
// may be refused.
type bound struct {
	ratio   float64
	refused int
}

// TestLearnMatrix holds the promise of the whole quota and no more, end to end: a
// zero Transport in an http.Client, against every kind of counting in every way of
// saying so, finishes within 5 % of the least time and a few round trips, and is
// refused at most twice per 100 requests.
//
// The exceptions are where whole seconds do not tell enough.
func TestLearnMatrix(t *testing.T) {
	promise := bound{1.05, 4}
	// The Retry-After of the one early look is obeyed. In whole seconds, it is up to
	// a second longer than it takes until a part of the quota is back.
	rounded := bound{1.09, 4}
	for _, alg := range []struct {
		name      string
		algorithm pacertest.Algorithm
		want      bound
		epoch     bound // for resets that are stated as an instant
	}{
		{"fixed window", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, promise, promise},
		{"estimated window", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second}, rounded, promise},
		{"token bucket", &pacertest.TokenBucket{Rate: 25, Burst: 25}, promise, promise},
	} {
		for _, d := range []struct {
			name    string
			dialect pacertest.Dialect
		}{
			{"XRateLimit", pacertest.XRateLimit},
			{"XRateLimitDelta", pacertest.XRateLimitDelta},
			{"RateLimitDraft6", pacertest.RateLimitDraft6},
			{"RateLimitDraft7", pacertest.RateLimitDraft7},
			{"RateLimitDraft8", pacertest.RateLimitDraft8},
			{"OpenAI", pacertest.OpenAI},
		} {
			want := alg.want
			switch d.name {
			case "XRateLimit":
				want = alg.epoch
			case "OpenAI": // to the millisecond
				want = promise
			}
			for _, phase := range []time.Duration{0, 370 * time.Millisecond, 900 * time.Millisecond} {
				name := fmt.Sprintf("%s/%s/%v", alg.name, d.name, phase)
				if !whole.Part(3, name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					o := batch{algorithm: alg.algorithm, dialect: d.dialect, requests: 200, phase: phase}.run(t)
					most := time.Duration(float64(o.least)*want.ratio) + 6*latency
					if o.makespan > most || o.refused > want.refused {
						t.Errorf("%v; want at most %v and %d", o, most, want.refused)
					}
				})
			}
		}
	}
}

// A window that is long beside a second: whole seconds hardly matter, and there is
// no excuse.
func TestLearnLongWindows(t *testing.T) {
	for _, b := range []batch{
		{algorithm: &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, dialect: pacertest.XRateLimit},
		{algorithm: &pacertest.FixedWindow{Limit: 60, Window: time.Minute}, dialect: pacertest.RateLimitDraft8},
		{algorithm: &pacertest.ClockWindow{Limit: 60, Window: time.Minute}, dialect: pacertest.XRateLimit},
		{algorithm: &pacertest.TokenBucket{Rate: 1, Burst: 60}, dialect: pacertest.XRateLimitDelta},
	} {
		for _, phase := range []time.Duration{0, 370 * time.Millisecond, 900 * time.Millisecond} {
			t.Run(fmt.Sprintf("%T/%v", b.algorithm, phase), func(t *testing.T) {
				b.requests, b.phase, b.maxWait = 150, phase, time.Hour
				if o := b.run(t); o.makespan > o.least*103/100 || o.refused > 1 {
					t.Errorf("%v; want at most 1.03 and 1", o)
				}
			})
		}
	}
}

// siege is what a server saw of four callers who never tire: each asks again a while
// after it was answered or told that it cannot go.
type siege struct {
	longest time.Duration // between two requests that reached the server
	hours   []int         // how many reached it in each hour
}

// besiege lets them ask a server that answers all in the same way.
func besiege(t *testing.T, span, pause time.Duration, status int, header http.Header) (s siege) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(nil, pacertest.NoHeaders)
		server.Faults = func(int, *http.Request) pacertest.Fault { return pacertest.Fault{Status: status, Header: header} }
		server.Latency = latency
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}}
		start := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for time.Since(start) < span {
					resp, err := client.Do(lab.Request(t, "GET", "http://a.example/", ""))
					var local *throttle.Error
					switch {
					case err == nil:
						resp.Body.Close()
					case !errors.As(err, &local):
						t.Error(err)
					}
					time.Sleep(pause)
				}
			})
		}
		wg.Wait()
		last := start
		s.hours = make([]int, span/time.Hour)
		for _, e := range server.Stats().Events {
			s.longest = max(s.longest, e.Time.Sub(last))
			last = e.Time
			if h := int(e.Time.Sub(start) / time.Hour); h < len(s.hours) {
				s.hours[h]++
			}
		}
	})
	return s
}

// lie is a header as name, value, name, value.
func lie(header ...string) http.Header { return lab.Answer(nil, 0, "", header...).Header }

// A server that lies neither stops the client for longer than MaxHold, nor makes it
// hammer. The bounds per hour follow from the documentation:
//
//   - a hold of MaxHold, 15 minutes, lets 4 requests an hour go;
//   - refusals without a usable hint are met with holds of 100 ms, 200 ms and so on,
//     15 of which reach MaxHold in less than an hour, and so let 18 go in the first;
//   - a hint that is refused again and again is stretched to 30 seconds, and so lets 120 go;
//   - a limit that is used up until nobody says when is looked at once a second, for
//     as long as that is not refused.
func TestLearnLiesAboutTime(t *testing.T) {
	const nines = 10 << 10
	used := []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0"}
	reset := func(value string) http.Header { return lie(append(used[:4:4], "X-RateLimit-Reset", value)...) }
	for _, l := range []struct {
		name        string
		status      int
		header      http.Header
		span        time.Duration
		first, each int // most in the first hour, and in every other
	}{
		{"Reset in 2286", 200, reset("9999999999"), 24 * time.Hour, 4, 4},
		{"Reset in 2286, refused", 429, reset("9999999999"), 24 * time.Hour, 4, 4},
		{"Reset of 1e30", 429, reset("1" + strings.Repeat("0", 30)), 24 * time.Hour, 18, 4},
		// Whole seconds are taken to be rounded down, so the reset is looked for in up to
		// a second's time, and again: the holds do not grow.
		{"Reset in 1970, refused", 429, reset("0"), time.Hour, 3600, 0},
		{"Reset in 2001, refused", 429, reset("1000000000"), time.Hour, 3600, 0},
		{"Remaining 0 for ever", 200, lie(used...), time.Hour, 3600, 0},
		{"Remaining 0 for ever, refused", 429, lie(used...), 24 * time.Hour, 18, 4},
		{"Remaining 0 for ever, reset always in a minute", 429, reset("60"), 24 * time.Hour, 61, 61},
		// 60 a minute is what it says that it grants.
		{"Remaining 0 for ever, reset always in a minute, not refused", 200, reset("60"), time.Hour, 3600, 0},
		{"Retry-After of years", 429, lie("Retry-After", "999999999"), 24 * time.Hour, 4, 4},
		{"Retry-After in 2105", 503, lie("Retry-After", "Wed, 21 Oct 2105 07:28:00 GMT"), 24 * time.Hour, 4, 4},
		{"Retry-After negative", 429, lie("Retry-After", "-5"), 24 * time.Hour, 18, 4},
		{"Retry-After NaN", 429, lie("Retry-After", "NaN"), 24 * time.Hour, 18, 4},
		{"Retry-After of 10 kB", 429, lie("Retry-After", strings.Repeat("9", nines)), 24 * time.Hour, 18, 4},
		{"Retry-After in the past", 429, lie("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"), 24 * time.Hour, 18, 4},
		{"Retry-After 0 for ever", 429, lie("Retry-After", "0"), 24 * time.Hour, 18, 4},
		{"Retry-After 1 for ever", 503, lie("Retry-After", "1"), 24 * time.Hour, 132, 121},
		{"429 for ever", 429, nil, 24 * time.Hour, 18, 4},
	} {
		if !whole.Part(2, l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			pause := time.Second
			if l.span > time.Hour {
				pause, l.span = 30*time.Second, whole.Or(6*time.Hour, l.span)
			}
			s := besiege(t, l.span, pause, l.status, l.header)
			if most := 15*time.Minute + latency + pause; s.longest > most {
				t.Errorf("stopped for %v, want at most %v", s.longest, most)
			}
			for h, n := range s.hours {
				if most := max(l.each, l.first*max(1-h, 0)); n > most || n == 0 {
					t.Errorf("%d requests in hour %d, want 1 to %d", n, h, most)
				}
			}
		})
	}
}

// What is said by a server that does not count, or cannot count, slows nobody down
// who is not refused.
func TestLearnLiesThatDoNotSlowDown(t *testing.T) {
	for name, header := range map[string]func(n int) http.Header{
		"Limit 0, Remaining 0": func(int) http.Header { return lie("X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0") },
		"Limit 0, Remaining 0, Reset 0": func(int) http.Header {
			return lie("X-RateLimit-Limit", "0", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "0")
		},
		"Limit -1, Remaining -1": func(int) http.Header { return lie("X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "-1") },
		"Remaining grows": func(n int) http.Header {
			return lie("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", strconv.Itoa(16+n), "X-RateLimit-Reset", "60")
		},
		"Remaining grows, no Limit": func(n int) http.Header { return lie("X-RateLimit-Remaining", strconv.Itoa(16+n)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				server := pacertest.NewServer(nil, pacertest.NoHeaders)
				server.Faults = func(n int, _ *http.Request) pacertest.Fault {
					return pacertest.Fault{Status: 200, Header: header(n)}
				}
				server.Latency = latency
				defer server.Close()
				client := &http.Client{Transport: &pacer.Transport{Base: lab.Direct(server), Rand: lab.Zero}}
				start := time.Now()
				var wg sync.WaitGroup
				var sent atomic.Int64
				for range 8 {
					wg.Go(func() {
						for sent.Add(1) <= 400 { // a caller that comes late in the slow start has fewer of them
							lab.Get(t, client, "http://a.example/")
						}
					})
				}
				wg.Wait()
				// The slow start costs the eight some round trips.
				if took := time.Since(start); took > 56*latency {
					t.Errorf("400 requests by 8 took %v, want about %v", took, 50*latency)
				}
			})
		})
	}
}

func TestLearnNothingFromACache(t *testing.T) {
	for name, header := range map[string][]string{
		"Age":          {"Age", "10"},
		"X-From-Cache": {"X-From-Cache", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header = append(header, "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "50")
				tr := &pacer.Transport{
					Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "", header...)}}, Rand: lab.Zero,
					Trace: &pacer.Trace{Learned: func(l pacer.Learned) { t.Errorf("learned %+v", l.Limits) }},
				}
				start := time.Now()
				for range 5 {
					if code := lab.Get(t, &http.Client{Transport: tr}, "http://a.example/"); code != 200 || time.Since(start) != 0 {
						t.Errorf("got %d after %v", code, time.Since(start))
					}
				}
			})
		})
	}
}

// GitHub refuses with a 403 that says that nothing remains, and without Retry-After.
func TestLearnFrom403(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 2, Window: 40 * time.Second}, pacertest.XRateLimit)
		server.Status = http.StatusForbidden
		defer server.Close()
		start := time.Now()
		for range 2 { // another program uses the quota up
			lab.Get(t, &http.Client{Transport: server.Transport()}, "http://a.example/")
		}
		client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Rand: lab.Zero}}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if code := lab.Get(t, client, "http://a.example/"); code != 200 || time.Since(start) != 40*time.Second {
					t.Errorf("got %d after %v, want 200 after 40s", code, time.Since(start))
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if n := server.Stats().Refused; n != 1 {
			t.Errorf("%d refused, want 1: the second waits", n)
		}
	})
}

// A 403 that has nothing to do with limits is an answer like any other.
func TestLearnFrom403WithQuotaLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(403, "forbidden", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "59", "X-RateLimit-Reset", "50"),
		}}
		client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero}}
		if code := lab.Get(t, client, "http://a.example/"); code != 403 || len(base.Got) != 1 {
			t.Errorf("got %d after %d attempts", code, len(base.Got))
		}
	})
}

func TestLearnFrom404(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 3, Window: 30 * time.Second}, pacertest.RateLimitDraft7)
		server.Handler = http.NotFoundHandler()
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Rand: lab.Zero}}
		start := time.Now()
		for i := range 4 {
			if code := lab.Get(t, client, "http://a.example/"); code != 404 {
				t.Errorf("%d: got %d", i, code)
			}
		}
		if took, n := time.Since(start), server.Stats().Refused; took != 30*time.Second || n != 0 {
			t.Errorf("took %v with %d refused, want 30s and none", took, n)
		}
	})
}

func TestLearnHostsDoNotDisturbEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 5, Window: 30 * time.Second}, pacertest.RateLimitDraft7)
		server.Key = func(r *http.Request) string { return r.Host }
		defer server.Close()
		client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Rand: lab.Zero}}
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 20 {
			url := fmt.Sprintf("http://h%d.example/", i)
			// Host i is asked for i requests: from the sixth on they wait, at that host.
			wg.Go(func() {
				for range i {
					lab.Get(t, client, url)
				}
				if took, want := time.Since(start), time.Duration(max(i-1, 0)/5)*30*time.Second; took != want {
					t.Errorf("%d requests to %s took %v, want %v", i, url, took, want)
				}
			})
		}
		wg.Wait()
		if n := server.Stats().Refused; n != 0 {
			t.Errorf("%d refused", n)
		}
	})
}

// After a minute without a request, what is known of a server is old: one goes first.
func TestLearnIdleRestart(t *testing.T) {
	for _, test := range []struct {
		idle time.Duration
		want int32 // in flight at once
	}{
		{time.Minute - time.Second, 10},
		{time.Minute, 1},
		{time.Hour, 1},
	} {
		t.Run(test.idle.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inFlight atomic.Int32
				server := pacertest.NewServer(nil, pacertest.NoHeaders)
				server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					inFlight.Add(1)
					time.Sleep(latency)
					inFlight.Add(-1)
				})
				defer server.Close()
				client := &http.Client{Transport: &pacer.Transport{Base: server.Transport(), Rand: lab.Zero}}
				ten := func() *sync.WaitGroup {
					var wg sync.WaitGroup
					for range 10 {
						wg.Go(func() { lab.Get(t, client, "http://a.example/") })
					}
					synctest.Wait()
					return &wg
				}
				for range 4 { // enough answers to end the first slow start
					ten().Wait()
				}
				time.Sleep(test.idle)
				wg := ten()
				if n := inFlight.Load(); n != test.want {
					t.Errorf("%d in flight at once, want %d", n, test.want)
				}
				time.Sleep(latency)
				synctest.Wait()
				if n := inFlight.Load(); test.want == 1 && n != 2 {
					t.Errorf("%d in flight after the first answer, want 2", n)
				}
				wg.Wait()
			})
		})
	}
}

// TestLearnBegunTogether: three processes that begin one after the other, each within a round trip of the one
// before, hear that 37, 36 and 35 of 38 are left. The first one does not know yet whether it is alone, and
// sends 12; those after it see that others have begun as well, and send 4 and 3, and not 36 and 35.
func TestLearnBegunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, refused [3]int
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 38, Window: time.Minute}, pacertest.XRateLimit)
		server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(latency) })
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context()) // a deadline would let nobody be kept back
		time.AfterFunc(latency+5*time.Millisecond, stop)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for p := range asked {
			tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				asked[p]++
				mu.Unlock()
				resp, err := server.Transport().RoundTrip(req)
				if err == nil && resp.StatusCode == http.StatusTooManyRequests {
					mu.Lock()
					refused[p]++
					mu.Unlock()
				}
				return resp, err
			})}
			for range 44 {
				wg.Go(func() {
					time.Sleep(time.Duration(p) * time.Millisecond)
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
					if err != nil {
						t.Error(err)
						return
					}
					if resp, err := tr.RoundTrip(req); err == nil {
						_ = resp.Body.Close()
					}
				})
			}
		}
		wg.Wait()
		if want := [3]int{13, 5, 4}; asked != want {
			t.Errorf("%v requests, want %v", asked, want)
		}
		if want := [3]int{0, 0, 0}; refused != want {
			t.Errorf("%v refused, want %v", refused, want)
		}
	})
}

// TestUnseenKeepsNobodyBackWhoCannotWait: that others may begin just after us is no reason to refuse a request
// where the server says that enough remains. A program asks once, and when that is answered, 300 ms later, 25
// times at once. Who waits goes when most of the first third is answered, or of the first ninth where others
// have taken tokens before.
func TestUnseenKeepsNobodyBackWhoCannotWait(t *testing.T) {
	const trip = 300 * time.Millisecond
	for _, test := range []struct {
		mode   pacer.Mode
		most   time.Duration // MaxWait
		ends   time.Duration // http.Client.Timeout
		taken  int64         // by others before
		atOnce int
	}{
		{"", 0, 0, 0, 19}, // 19 + 2·19 = 57 of 59
		{"", time.Second, 0, 0, 19},
		{"", 999 * time.Millisecond, 0, 0, 25},
		{"", -1, 0, 0, 25},
		{"", 0, time.Second + trip, 0, 19}, // as long as the answer took is kept for it
		{"", 0, time.Second + trip - 1, 0, 25},
		{pacer.ModeReject, 0, 0, 0, 25},
		{"", 0, 0, 10, 5}, // 5 + 8·5 = 45 of 49
		{"", 999 * time.Millisecond, 0, 10, 25},
		{pacer.ModeReject, 0, 0, 10, 25},
	} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			tr := &pacer.Transport{Mode: test.mode, MaxWait: test.most, Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				left := 60 - test.taken - n.Add(1)
				time.Sleep(trip)
				return lab.Answer(r, 200, "", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", strconv.FormatInt(left, 10), "X-RateLimit-Reset", "60"), nil
			})}
			client := &http.Client{Transport: tr, Timeout: test.ends}
			lab.Get(t, client, "http://a.example/")
			var wg sync.WaitGroup
			for range 25 {
				wg.Go(func() { lab.Get(t, client, "http://a.example/") })
			}
			synctest.Wait()
			if got := int(n.Load()) - 1; got != test.atOnce {
				t.Errorf("mode %q, MaxWait %v, Timeout %v, %d taken: %d go at once, want %d", test.mode, test.most, test.ends, test.taken, got, test.atOnce)
			}
			wg.Wait()
		})
	}
}
