package pacing

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// flows is a table for all hosts.
func flows(text string) pacer.Table { return pacer.Table{"/": quota.MustParse(text)} }

// sends is a server that reads all, says how much that was, and sends as many bytes as the query wants.
func sends(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	w.Header().Set("Got", fmt.Sprint(n, err, r.ContentLength))
	var want int
	fmt.Sscan(r.URL.Query().Get("n"), &want)
	w.Header().Set("Trailer", "Sum")
	io.Copy(w, bytes.NewReader(make([]byte, want)))
	w.Header().Set("Sum", fmt.Sprint(want))
}

// take sends n bytes, wants m back, and returns how long that took, in a bubble.
func take(t *testing.T, rt http.RoundTripper, n, m int) time.Duration {
	t.Helper()
	start := time.Now()
	req := lab.Request(t, "PUT", fmt.Sprintf("http://a.example/x?n=%d", m), "")
	if n > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(make([]byte, n))), int64(n) // an io.WriterTo
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.Copy(io.Discard, resp.Body)
	if want := fmt.Sprint(n, " <nil> ", n); err != nil || int(got) != m || resp.Header.Get("Got") != want || resp.Trailer.Get("Sum") != fmt.Sprint(m) {
		t.Errorf("got %d, %v; the server %q, want %q; trailers %v", got, err, resp.Header.Get("Got"), want, resp.Trailer)
	}
	resp.Body.Close()
	return time.Since(start)
}

// Bodies of both directions flow at the quota, to the nanosecond, over both protocols; lengths and trailers are
// as they were.
func TestStreamedBothBodies(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{Base: lab.Serve(t, two, sends), Quotas: flows("1MB/s streamed")}
		for _, test := range []struct{ sent, got int }{{0, 1_050_000}, {1_050_000, 0}, {500_000, 550_000}, {0, 50_000}, {30_000, 20_000}, {0, 0}} {
			want := time.Duration(max(test.sent+test.got-50_000, 0)) * time.Microsecond
			if d := take(t, tr, test.sent, test.got); d != want {
				t.Errorf("%+v took %v, want %v", test, d, want)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// What holds requests does not hold the bytes of answers under way; nor do these hold requests.
func TestStreamedBesideAHold(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{
			Base: lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/refused" {
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				sends(w, r)
			}),
			Quotas: flows("100kB/s streamed, 10 in flight, 1GB/s debt"),
			Retry:  pacer.Retry{MaxRefusals: -1},
		}
		resp := get(t, tr, "http://a.example/x?n=1005000")
		start := time.Now()
		refused := get(t, tr, "http://a.example/refused")
		refused.Body.Close()
		if refused.StatusCode != http.StatusTooManyRequests || time.Since(start) != 0 {
			t.Errorf("got %d after %v", refused.StatusCode, time.Since(start))
		}
		if held := lab.State(t, tr, "a.example").Held; held <= 0 {
			t.Errorf("held for %v", held)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if n != 1_005_000 || err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("%d, %v after %v", n, err, time.Since(start))
		}
		resp.Body.Close()
	})
}

// get sends a request without a body.
func get(t *testing.T, rt http.RoundTripper, url string) *http.Response {
	t.Helper()
	resp, err := rt.RoundTrip(lab.Request(t, "GET", url, ""))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A body that ends before its time has cost what has flown, and nothing waits any more.
func TestStreamedEndsEarly(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(resp *http.Response, cancel func())
		want []error
	}{
		"closed":   {func(resp *http.Response, _ func()) { resp.Body.Close() }, []error{http.ErrBodyReadAfterClose}},
		"canceled": {func(_ *http.Response, cancel func()) { cancel() }, []error{context.Canceled, throttle.ErrCanceled}},
		"deadline": {func(*http.Response, func()) {}, []error{context.DeadlineExceeded, throttle.ErrDeadline}},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				tr := &pacer.Transport{Base: lab.Serve(t, two, sends), Quotas: flows("100kB/s streamed")}
				ctx, cancel := context.WithTimeout(t.Context(), 2001*time.Millisecond)
				if name != "deadline" {
					ctx, cancel = context.WithCancel(t.Context())
				}
				defer cancel()
				req := lab.Request(t, "GET", "http://a.example/x?n=1000000", "").WithContext(ctx)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(2001*time.Millisecond, func() { test.end(resp, cancel) })
				n, err := io.Copy(io.Discard, resp.Body)
				if n < 200_000 || n > 205_100 {
					t.Errorf("%d bytes in 2 s", n)
				}
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				}
				var e *throttle.Error
				if errors.As(err, &e) && (e.Bucket != "a.example (bodies)" || e.Quota != "100kB/s streamed" || e.Cause != throttle.CausePace) {
					t.Errorf("got %#v", e)
				}
				resp.Body.Close()
				time.Sleep(50 * time.Millisecond)
				s := lab.State(t, tr, "a.example (bodies)")
				if s.Waiting != 0 || s.InFlight != 0 || s.Limits[0].Available != 5000 {
					t.Errorf("%+v is left", s)
				}
			})
		})
	}
}

// An upload whose body waits ends with the attempt, and is charged again when it is sent again.
func TestStreamedUploads(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tries := 0
		tr := &pacer.Transport{
			Base: lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
				if tries++; tries == 1 {
					io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				sends(w, r)
			}),
			Quotas: flows("100kB/s streamed"), Retry: pacer.Retry{Backoff: lab.Steady{}},
		}
		start := time.Now()
		req := lab.Request(t, "PUT", "http://a.example/x?n=0", strings.Repeat("x", 105_000))
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		// 1 s for the first time; a second of backoff; and as the bucket is full again, 1 s.
		if d := time.Since(start); d != 3*time.Second || tries != 2 {
			t.Errorf("%d tries took %v", tries, d)
		}
	})
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{
			Base: lab.Serve(t, two, sends), Quotas: flows("100kB/s streamed"), Retry: pacer.Retry{AttemptTimeout: time.Second, MaxAttempts: -1},
		}
		start := time.Now()
		_, err := tr.RoundTrip(lab.Request(t, "POST", "http://a.example/x?n=0", strings.Repeat("x", 1_000_000)))
		if !errors.Is(err, pacer.ErrAttemptTimeout) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		time.Sleep(time.Second)
		if s := lab.State(t, tr, "a.example (bodies)"); s.Waiting != 0 {
			t.Errorf("%d wait", s.Waiting)
		}
	})
}

// An upload that cannot make it before its deadline says so, and is not sent again.
func TestStreamedUploadDeadline(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tries := 0
		base := lab.Serve(t, two, sends)
		tr := &pacer.Transport{
			Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				tries++
				return base.RoundTrip(req)
			}),
			Quotas: flows("100kB/s streamed"), Retry: pacer.Retry{Backoff: lab.Steady{}},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2001*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := tr.RoundTrip(lab.Request(t, "PUT", "http://a.example/x?n=0", strings.Repeat("x", 1_000_000)).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || tries != 1 || time.Since(start) > 2001*time.Millisecond {
			t.Errorf("got %v after %v and %d tries", err, time.Since(start), tries)
		}
		time.Sleep(time.Second)
		if s := lab.State(t, tr, "a.example (bodies)"); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("%+v is left", s)
		}
	})
}

// http.Client.Timeout ends a body that waits.
func TestStreamedClientTimeout(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		c := &http.Client{Transport: &pacer.Transport{Base: lab.Serve(t, two, sends), Quotas: flows("100kB/s streamed")}, Timeout: 3 * time.Second}
		start := time.Now()
		resp, err := c.Get("http://a.example/x?n=1000000")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		var timeout interface{ Timeout() bool }
		if n < 300_000 || n > 305_000 || !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) > 3*time.Second {
			t.Errorf("%d, %v after %v", n, err, time.Since(start))
		}
		resp.Body.Close()
	})
}

// Each body draws on the quotas of its host, its tenant and its pattern, and on what is overall, of which each
// has its turn.
func TestStreamedBuckets(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{
			Base: lab.Serve(t, two, sends),
			Quotas: pacer.Table{
				"a.example/":     quota.MustParse("100kB/s streamed, 150kB/s streamed overall"),
				"a.example/slow": quota.MustParse("10kB/s streamed"),
			},
			Key: func(r *http.Request) string { return r.Header.Get("Tenant") },
		}
		var mu sync.Mutex
		got, all := map[string]int{}, 0
		for _, c := range []string{"a x", "a x", "b x", "c slow"} {
			tenant, path, _ := strings.Cut(c, " ")
			req := lab.Request(t, "GET", "http://a.example/"+path+"?n=9000000", "")
			req.Header.Set("Tenant", tenant)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			go func() {
				buf := make([]byte, 32<<10)
				for n, err := resp.Body.Read(buf); err == nil; n, err = resp.Body.Read(buf) {
					mu.Lock()
					got[tenant], all = got[tenant]+n, all+n
					mu.Unlock()
				}
			}()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		const burst, piece = 7500, 2500 // of what is overall, and of a tenant
		if a, b, c := got["a"], got["b"], got["c"]; a-2*b > 2*piece || 2*b-a > 2*piece || c-b/10 > 250 || b/10-c > 250 || all > 1_500_000+burst || all < 1_500_000+burst-piece {
			t.Errorf("got %v, %d in all", got, all)
		}
		for _, s := range tr.State() {
			if s.Bucket == "a.example overall (bodies)" && s.Next.Cause != throttle.CausePace {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A quota that is set while a body flows counts from then on.
func TestStreamedSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.Serve(t, false, sends), Quotas: flows("100kB/s streamed")}
		resp := get(t, tr, "http://a.example/x?n=1000000")
		start := time.Now()
		set := func(text string, after int) {
			t.Helper()
			if _, err := io.CopyN(io.Discard, resp.Body, int64(after)); err != nil {
				t.Fatal(err)
			}
			if err := tr.SetQuotas(flows(text)); err != nil {
				t.Fatal(err)
			}
		}
		set("500kB/s streamed", 205_000) // after 2 s
		set("5/s", 500_000)              // after 3 s
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("after %v", d)
		}
		set("5/s", 295_000)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("after %v", d)
		}
		resp.Body.Close()
	})
}

// What is written to a connection after a 101 flows as what is read of it.
func TestStreamedUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: lab.Serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
				c, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				defer c.Close()
				rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				rw.Flush()
				io.Copy(rw, io.LimitReader(rw, 100_000))
				rw.Flush()
			}),
			Quotas: flows("100kB/s streamed"),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		go resp.Body.(io.Writer).Write(make([]byte, 100_000))
		n, err := io.Copy(io.Discard, bufio.NewReader(resp.Body))
		if d := time.Since(start); n != 100_000 || err != nil || d != 1950*time.Millisecond {
			t.Errorf("%d, %v after %v", n, err, d)
		}
		resp.Body.Close()
	})
}

// A body that nobody reads costs nothing, whatever the mode a body waits in ModeReject too, and ModeObserve
// delays nothing.
func TestStreamedModes(t *testing.T) {
	for mode, want := range map[pacer.Mode]time.Duration{pacer.ModeWait: time.Second, pacer.ModeReject: time.Second, pacer.ModeObserve: 0} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{Base: lab.Serve(t, false, sends), Quotas: flows("100kB/s streamed"), Mode: mode}
			get(t, tr, "http://a.example/x?n=1000000").Body.Close()
			time.Sleep(time.Second) // the connection lingers
			if d := take(t, tr, 0, 105_000); d != want {
				t.Errorf("%v: took %v, want %v", mode, d, want)
			}
		})
	}
}

// Where nothing is streamed, bodies are those of Base.
func TestStreamedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := lab.NewBody("x")
		tr := &pacer.Transport{
			Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				resp := lab.Answer(req, 200, "")
				resp.Body, resp.ContentLength = b, 1
				return resp, nil
			}),
			Quotas: pacer.Table{"b.example/": quota.MustParse("1kB/s streamed"), "/": quota.MustParse("100/s")},
		}
		if resp := get(t, tr, "http://a.example/"); resp.Body != io.ReadCloser(b) {
			t.Errorf("the body is a %T", resp.Body)
		}
		if resp := get(t, tr, "http://b.example/"); resp.Body == io.ReadCloser(b) {
			t.Error("the body does not flow as its quota says")
		}
	})
}

// What an error says is read before the pieces of the bodies under way, 300 of which wait for longer than
// anybody reads ahead of an error. It is charged as they are; and what is beyond 64 KiB of a page has its turn.
func TestStreamedErrorsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: lab.Serve(t, false, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/refused":
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusTooManyRequests)
					io.WriteString(w, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20s"}]}}`)
				case "/page":
					w.WriteHeader(http.StatusNotFound)
					w.Write(make([]byte, 100_000))
				default:
					sends(w, r)
				}
			}),
			Quotas: flows("1MB/s streamed"),
			Learn:  pacer.Learn{Bodies: func(*http.Response) bool { return true }}, Retry: pacer.Retry{MaxRefusals: -1},
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 300 {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/x?n=1000000", "").WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}()
		}
		time.Sleep(time.Second)
		start := time.Now()
		page := get(t, tr, "http://a.example/page")
		for _, size := range []int{64 << 10, 100_000 - 64<<10} {
			n, err := io.CopyN(io.Discard, page.Body, int64(size))
			if d := time.Since(start); err != nil || (d < 200*time.Millisecond) != (size == 64<<10) {
				t.Errorf("%d bytes of a page, %v after %v", n, err, d)
			}
		}
		page.Body.Close()
		start = time.Now()
		resp := get(t, tr, "http://a.example/refused")
		resp.Body.Close()
		if d, held := time.Since(start), lab.State(t, tr, "a.example").Held; d > 50*time.Millisecond || held < 20*time.Second {
			t.Errorf("refused after %v, held for %v", d, held)
		}
		cancel()
		synctest.Wait()
	})
}

// Bytes count as the caller reads them: what net/http unpacks counts unpacked, what comes packed as it is.
func TestBytesCountUnpacked(t *testing.T) {
	const size = 3_050_000
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, size))
	z.Close()
	if packed.Len() > 5000 {
		t.Fatalf("packed to %d bytes", packed.Len())
	}
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("the request accepts %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		})
		for _, test := range []struct {
			quota string
			raw   bool
			took  time.Duration
		}{
			{"1MB/s streamed", false, 3 * time.Second},
			{"1MB/s streamed", true, 0},
			{"1MB/s debt", false, 2050001 * time.Microsecond}, // until a byte is left for the next request
			{"1MB/s debt", true, 0},
		} {
			base.DisableCompression = test.raw
			tr := &pacer.Transport{Base: base, Quotas: flows(test.quota)}
			start := time.Now()
			for range 2 {
				req, want := lab.Request(t, "GET", "http://a.example/", ""), size
				if test.raw {
					req.Header.Set("Accept-Encoding", "gzip")
					want = packed.Len()
				}
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || int(n) != want {
					t.Errorf("%+v: %d bytes, %v, want %d", test, n, err, want)
				}
				resp.Body.Close()
				if strings.HasSuffix(test.quota, "streamed") {
					break
				}
			}
			if took := time.Since(start); took != test.took {
				t.Errorf("%+v: took %v", test, took)
			}
			tr.CloseIdleConnections()
		}
	})
}
