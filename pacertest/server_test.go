package pacertest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/pacertest"
)

// get sends a GET and returns the response with its body read.
func get(t *testing.T, rt http.RoundTripper, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// In a bubble the whole header is predictable, the Date included.
func TestServerHeadersInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: 10 * time.Second}, pacertest.RateLimitDraft6)
		defer server.Close()
		tr := server.Transport()

		// Bubbles start at midnight UTC 2000-01-01.
		resp, body := get(t, tr, "http://api.example.com/")
		want := fields{
			"Date": "Sat, 01 Jan 2000 00:00:00 GMT", "Content-Type": "text/plain; charset=utf-8", "Content-Length": "3",
			"RateLimit-Limit": "1", "RateLimit-Remaining": "0", "RateLimit-Reset": "10", "RateLimit-Policy": "1;w=10",
		}
		if diff := cmp.Diff(want.header(), resp.Header); resp.StatusCode != http.StatusOK || body != "ok\n" || diff != "" {
			t.Errorf("first: %d %q, header (-want +got):\n%s", resp.StatusCode, body, diff)
		}

		time.Sleep(3500 * time.Millisecond)
		resp, body = get(t, tr, "https://other.example.com/")
		want["Date"], want["RateLimit-Reset"], want["Retry-After"] = "Sat, 01 Jan 2000 00:00:03 GMT", "7", "7"
		want["Content-Length"] = "20"
		if diff := cmp.Diff(want.header(), resp.Header); resp.StatusCode != http.StatusTooManyRequests || body != "rate limit exceeded\n" || diff != "" {
			t.Errorf("second: %d %q, header (-want +got):\n%s", resp.StatusCode, body, diff)
		}

		time.Sleep(6500*time.Millisecond - time.Nanosecond)
		if resp, _ := get(t, tr, "http://api.example.com/"); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("1ns before the reset: %d", resp.StatusCode)
		}
		time.Sleep(time.Nanosecond)
		if resp, _ := get(t, tr, "http://api.example.com/"); resp.StatusCode != http.StatusOK {
			t.Errorf("at the reset: %d", resp.StatusCode)
		}
	})
}

// A client that obeys RetryAfter exactly takes exactly the least time.
func TestServerLeastIsReached(t *testing.T) {
	for _, m := range models() {
		t.Run(name(m.algorithm), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pacertest.NewServer(m.algorithm, pacertest.NoHeaders)
				defer server.Close()
				tr, start, n := server.Transport(), time.Now(), 20
				oracle := m.algorithm.Fresh()
				for range n {
					get(t, tr, "http://api.example.com/")
					time.Sleep(oracle.Take(time.Now(), 1).RetryAfter)
				}
				stats := server.Stats()
				if stats.Admitted != n || stats.Refused != 0 {
					t.Errorf("%d accepted and %d refused, want %d and 0", stats.Admitted, stats.Refused, n)
				}
				if got, want := stats.Last.Sub(start), pacertest.Least(m.algorithm, start, n); got != want {
					t.Errorf("took %v, want %v", got, want)
				}
			})
		})
	}
}

func TestServerLatencyAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.LeakyBucket{Rate: 1, Depth: 3, Queue: true}, pacertest.NoHeaders)
		server.Latency = 5 * time.Millisecond
		server.Status = http.StatusServiceUnavailable
		defer server.Close()
		tr, start := server.Transport(), time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[time.Duration]int{}
		for range 4 {
			wg.Go(func() {
				resp, _ := get(t, tr, "http://api.example.com/")
				mu.Lock()
				defer mu.Unlock()
				got[time.Since(start)] += resp.StatusCode
			})
		}
		wg.Wait()
		// The refused request and the first one are answered at the same instant.
		want := map[time.Duration]int{5 * time.Millisecond: 200 + 503, 1005 * time.Millisecond: 200, 2005 * time.Millisecond: 200}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statuses by time (-want +got):\n%s", diff)
		}
	})
}

// Neither a negative Latency nor a negative Delay makes an answer earlier.
func TestServerNegativeLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.LeakyBucket{Rate: 1, Depth: 2, Queue: true}, pacertest.NoHeaders)
		server.Latency = -time.Second
		server.Faults = func(n int, _ *http.Request) pacertest.Fault {
			return pacertest.Fault{Delay: []time.Duration{-time.Second, 0, 3 * time.Second}[n]}
		}
		defer server.Close()
		tr, start := server.Transport(), time.Now()
		for i, want := range []time.Duration{0, time.Second, 5 * time.Second} {
			get(t, tr, "http://api.example.com/")
			if got := time.Since(start); got != want {
				t.Errorf("answer %d after %v, want %v", i, got, want)
			}
		}
	})
}

func TestServerCostAndKey(t *testing.T) {
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 3, Window: time.Hour}, pacertest.XRateLimit)
	server.Key = func(r *http.Request) string { return r.Host }
	server.Cost = func(r *http.Request) int { return len(r.URL.Query()["x"]) }
	for _, tt := range []struct{ url, remaining string }{
		{"http://a/?x&x", "1"},
		{"http://b/?x", "2"},
		{"http://a/?x&x", "1"}, // refused
		{"http://a/?x", "0"},
		{"http://a/", "0"}, // free
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil))
		if got := w.Header().Get("X-RateLimit-Remaining"); got != tt.remaining {
			t.Errorf("%s: Remaining = %s, want %s", tt.url, got, tt.remaining)
		}
	}
	stats := server.Stats()
	if stats.Admitted != 4 || stats.Refused != 1 {
		t.Errorf("%d accepted and %d refused, want 4 and 1", stats.Admitted, stats.Refused)
	}
	if e := stats.Events[2]; e.Key != "a" || e.Status != http.StatusTooManyRequests {
		t.Errorf("third event = %+v", e)
	}

	server.Reset()
	if diff := cmp.Diff(pacertest.Stats{}, server.Stats()); diff != "" {
		t.Errorf("Stats after Reset:\n%s", diff)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/?x", nil))
	if got := w.Header().Get("X-RateLimit-Remaining"); got != "2" {
		t.Errorf("Remaining after Reset = %s, want 2", got)
	}
}

func TestServerZero(t *testing.T) {
	var server pacertest.Server
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	want := fields{"Content-Type": "text/plain; charset=utf-8"}.header()
	if diff := cmp.Diff(want, w.Header()); w.Code != http.StatusOK || diff != "" {
		t.Errorf("%d, header (-want +got):\n%s", w.Code, diff)
	}
	server.Close() // nothing was started
}

// Two layers of limits are two servers; each announces its own.
func TestServerStacked(t *testing.T) {
	inner := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Second}, pacertest.RateLimitDraft8)
	outer := pacertest.NewServer(&pacertest.FixedWindow{Limit: 100, Window: time.Hour}, pacertest.XRateLimit)
	outer.Handler = inner
	for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
		w := httptest.NewRecorder()
		outer.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		h := w.Header()
		if w.Code != status || h.Get("X-RateLimit-Limit") != "100" || !strings.HasPrefix(h.Get("RateLimit"), `"default";r=0;`) {
			t.Errorf("%d %v, want %d and both limits", w.Code, h, status)
		}
	}
}

func TestServerFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 10, Window: time.Minute}, pacertest.XRateLimit)
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			served++
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // more than net/http buffers
		})
		faults := []pacertest.Fault{
			{Status: http.StatusBadGateway, Delay: time.Second},
			{Drop: pacertest.DropBefore},
			{Drop: pacertest.DropAfter},
			{Status: http.StatusBadGateway, Drop: "never"}, // none of the constants
			{Header: http.Header{"x-ratelimit-remaining": {"9999"}, "Date": nil}},
			{},
		}
		server.Faults = func(n int, _ *http.Request) pacertest.Fault { return faults[n] }
		defer server.Close()
		tr, start := server.Transport(), time.Now()

		resp, body := get(t, tr, "http://api.example.com/")
		if resp.StatusCode != http.StatusBadGateway || body != "Bad Gateway\n" || resp.Header.Get("X-RateLimit-Limit") != "" || time.Since(start) != time.Second {
			t.Errorf("status: %d %q %v after %v", resp.StatusCode, body, resp.Header, time.Since(start))
		}
		for range 2 {
			// A POST, since http.Transport repeats a GET on a used connection.
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/", nil)
			if resp, err := tr.RoundTrip(req); err == nil {
				t.Errorf("dropped: %d, want an error", resp.StatusCode)
			}
		}
		if resp, body = get(t, tr, "http://api.example.com/"); resp.StatusCode != http.StatusBadGateway || body != "Bad Gateway\n" {
			t.Errorf("another text: %d %q, want the status", resp.StatusCode, body)
		}
		resp, _ = get(t, tr, "http://api.example.com/")
		if got := resp.Header; got.Get("X-RateLimit-Remaining") != "9999" || got.Get("X-RateLimit-Limit") != "10" || got.Get("Date") != "" {
			t.Errorf("lie: %v", got)
		}
		resp, _ = get(t, tr, "http://api.example.com/")
		if got := resp.Header.Get("X-RateLimit-Remaining"); got != "7" {
			t.Errorf("Remaining = %s, want 7: DropAfter and two answers", got)
		}
		now := start.Add(time.Second)
		want := pacertest.Stats{
			Admitted: 3, Faulted: 3, First: now, Last: now,
			Events: []pacertest.Event{
				{Time: start, Status: http.StatusBadGateway},
				{Time: now, Dropped: true},
				{Time: now, Status: http.StatusOK, Dropped: true},
				{Time: now, Status: http.StatusBadGateway},
				{Time: now, Status: http.StatusOK},
				{Time: now, Status: http.StatusOK},
			},
		}
		if diff := cmp.Diff(want, server.Stats()); served != 3 || diff != "" {
			t.Errorf("handler ran %d times, want 3; Stats (-want +got):\n%s", served, diff)
		}
	})
}

// http.Transport sends a GET again by itself when a used connection is dropped, so that
// the fault shows in Stats only.
func TestServerDropRepeatedByTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(nil, pacertest.NoHeaders)
		server.Faults = func(n int, _ *http.Request) pacertest.Fault {
			if n == 1 {
				return pacertest.Fault{Drop: pacertest.DropBefore}
			}
			return pacertest.Fault{}
		}
		defer server.Close()
		tr := server.Transport()
		for range 2 {
			get(t, tr, "http://api.example.com/")
		}
		if got := server.Stats(); got.Admitted != 2 || got.Faulted != 1 {
			t.Errorf("%d accepted and %d faulted, want 2 and 1", got.Admitted, got.Faulted)
		}
	})
}

// A client that goes away ends its wait at the server.
func TestServerLatencyEndsWithClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(nil, pacertest.NoHeaders)
		server.Latency = time.Hour
		tr, start := server.Transport(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example.com/", nil)
		if _, err := tr.RoundTrip(req); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		server.Close()
		if got := time.Since(start); got >= time.Minute {
			t.Errorf("Close after %v, want at once", got)
		}
	})
}

// net/http does not see that a client is gone while the body of its request is not read.
func TestServerCloseEndsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(nil, pacertest.NoHeaders)
		server.Latency = time.Hour
		tr, start := server.Transport(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.example.com/", strings.NewReader("order"))
		if _, err := tr.RoundTrip(req); err == nil {
			t.Error("no error")
		}
		server.Close()
		if got, want := time.Since(start), 6*time.Second; got != want {
			t.Errorf("Close after %v, want %v", got, want)
		}
	})
}

func TestServerCloseInBubble(t *testing.T) {
	post := func(t *testing.T, rt http.RoundTripper, size int) *http.Response {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/", bytes.NewReader(make([]byte, size)))
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	tests := []struct {
		name   string
		use    func(t *testing.T, s *pacertest.Server)
		within time.Duration // Close takes less
	}{
		{"unused", func(*testing.T, *pacertest.Server) {}, 1},
		{"never dialed", func(_ *testing.T, s *pacertest.Server) { s.Transport() }, time.Millisecond},
		{"keep-alive", func(t *testing.T, s *pacertest.Server) {
			t.Helper()
			tr := s.Transport()
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { get(t, tr, "http://api.example.com/") })
			}
			wg.Wait()
			get(t, s.Transport(), "http://other.example.com/")
		}, 10 * time.Millisecond},
		{"connected only", func(t *testing.T, s *pacertest.Server) {
			t.Helper()
			if _, err := s.Transport().DialContext(t.Context(), "tcp", "api.example.com:80"); err != nil {
				t.Fatal(err)
			}
		}, 10 * time.Millisecond},
		// net/http lingers for 500ms before it closes such a connection.
		{"refused with unread body", func(t *testing.T, s *pacertest.Server) {
			t.Helper()
			tr := s.Transport()
			post(t, tr, 10).Body.Close()
			resp := post(t, tr, 1<<20)
			if resp.StatusCode != http.StatusTooManyRequests {
				t.Errorf("second: %d", resp.StatusCode)
			}
			resp.Body.Close()
		}, time.Second},
		{"response never read", func(t *testing.T, s *pacertest.Server) {
			t.Helper()
			s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			})
			resp := post(t, s.Transport(), 0)
			t.Cleanup(func() { resp.Body.Close() })
		}, 5*time.Second + time.Millisecond},
		{"closed twice", func(_ *testing.T, s *pacertest.Server) { s.Transport(); s.Close() }, time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1}, pacertest.NoHeaders)
				tt.use(t, server)
				start := time.Now()
				server.Close() // a goroutine that is left now fails the bubble
				if got := time.Since(start); got >= tt.within {
					t.Errorf("Close took %v, want less than %v", got, tt.within)
				}
			})
		})
	}
}

// Close waits for a connection that lingers for longer than 5 seconds. Otherwise time
// would stop for that connection at the end of the bubble.
func TestServerCloseLingering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(&pacertest.FixedWindow{}, pacertest.NoHeaders) // refuses all
		server.Latency = 4900 * time.Millisecond
		tr, start := server.Transport(), time.Now()
		go func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/", bytes.NewReader(make([]byte, 1<<20)))
			if resp, err := tr.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		server.Close()
		if got, want := time.Since(start), 5400*time.Millisecond; got != want {
			t.Errorf("Close took %v, want %v", got, want)
		}
	})
}

func TestServerTransportAfterClose(t *testing.T) {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	tr := server.Transport()
	server.Close()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example.com/", nil)
	if _, err := tr.RoundTrip(req); err == nil {
		t.Error("no error")
	}
}

func TestServerLoopback(t *testing.T) {
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 2, Window: time.Hour}, pacertest.RateLimitDraft7)
	url := server.Start()
	if again := server.Start(); again != url {
		t.Errorf("Start = %s, then %s", url, again)
	}
	tr := &http.Transport{}
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if resp, _ := get(t, tr, url); resp.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, resp.StatusCode, want)
		}
	}
	server.Close() // with tr's connection idle
	if got := server.Stats(); got.Admitted != 2 || got.Refused != 1 {
		t.Errorf("Stats = %+v", got)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if _, err := tr.RoundTrip(req); err == nil {
		t.Error("request after Close succeeded")
	}
}

// Under contention, no more than the quota is admitted. The race detector watches.
func TestServerConcurrent(t *testing.T) {
	server := pacertest.NewServer(&pacertest.SlidingLog{Limit: 100, Window: time.Hour}, pacertest.RateLimitDraft8)
	defer server.Close()
	tr := server.Transport()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				get(t, tr, "http://api.example.com/")
			}
		})
	}
	wg.Wait()
	if got := server.Stats(); got.Admitted != 100 || got.Refused != 220 {
		t.Errorf("%d accepted and %d refused, want 100 and 220", got.Admitted, got.Refused)
	}
}

// A server's clock that is an hour ahead shows in the Date and in resets that are
// instants, and nowhere else.
func TestServerSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now() // midnight
		server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Minute}, pacertest.XRateLimit)
		server.Dialect.RetryAfter = pacertest.RetryAfterSeconds
		server.Latency = 3 * time.Second
		server.Faults = func(int, *http.Request) pacertest.Fault { return pacertest.Fault{Skew: time.Hour} }
		defer server.Close()
		tr := server.Transport()
		for i, want := range []fields{
			{"X-Ratelimit-Limit": "1", "X-Ratelimit-Remaining": "0", "Date": "Sat, 01 Jan 2000 01:00:03 GMT"},
			{"X-Ratelimit-Limit": "1", "X-Ratelimit-Remaining": "0", "Retry-After": "57", "Date": "Sat, 01 Jan 2000 01:00:06 GMT"},
		} {
			resp, _ := get(t, tr, "https://api.example.com/")
			want["X-Ratelimit-Reset"] = strconv.FormatInt(start.Add(time.Hour+time.Minute).Unix(), 10)
			for name, value := range want {
				if got := resp.Header.Get(name); got != value {
					t.Errorf("answer %d: %s = %q, want %q", i, name, got, value)
				}
			}
		}
	})
}
