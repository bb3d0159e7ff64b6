package pacer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// mebi is 1 MiB.
const mebi = 1 << 20

// perSecond is "1MiB/s burst 1MiB".
var perSecond = throttle.Quota{N: mebi, Unit: throttle.Bytes, Burst: mebi}

// hoard is a quota of bytes that hardly comes back, of which left can be asked.
func hoard() throttle.Quota {
	return throttle.Quota{N: 1, Per: 1000 * time.Hour, Unit: throttle.Bytes, Burst: 10 * mebi}
}

// used is how many bytes have been charged.
func used(tr *Transport, req *http.Request) int {
	synctest.Wait()
	return 10*mebi - left(tr, req, throttle.Bytes, 10*mebi)
}

// upload is a request with n bytes, whose length is known or not.
func upload(t *testing.T, n int, known bool) *http.Request {
	t.Helper()
	req := request(t, "PUT", "http://a.example/", strings.Repeat("x", n))
	if !known {
		req.ContentLength = -1
	}
	return req
}

// download answers with n bytes, whose length is known or not.
func download(n int, known bool) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		resp := answer(req, 200, strings.Repeat("x", n))
		if !known {
			resp.ContentLength = -1
		}
		return resp, nil
	}
}

// What was sent and what was read counts, whoever knows its length and when.
func TestBytesOfBothBodies(t *testing.T) {
	for _, test := range []struct {
		sent          int
		sentKnown     bool
		received      int
		receivedKnown bool
	}{
		{0, true, 0, true},
		{1000, true, 0, true},
		{1000, false, 0, true},
		{0, true, 2000, true},
		{0, true, 2000, false},
		{1000, true, 2000, true},
		{1000, false, 2000, false},
		{1000, true, 2000, false},
		{1000, false, 2000, true},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{
					Base:   &script{answers: []func(*http.Request) (*http.Response, error){download(test.received, test.receivedKnown)}},
					Quotas: all(hoard()),
				}
				req := upload(t, test.sent, test.sentKnown)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				known := test.sent
				if test.receivedKnown {
					known += test.received
				}
				if got := used(tr, req); got != known {
					t.Errorf("%d are charged when the answer has begun, want %d", got, known)
				}
				if n := len(read(t, resp)); n != test.received {
					t.Errorf("read %d bytes, want %d", n, test.received)
				}
				resp.Body.Close()
				if got := used(tr, req); got != test.sent+test.received {
					t.Errorf("%d are charged in the end, want %d", got, test.sent+test.received)
				}
			})
		})
	}
}

// What was not read does not count, and comes back when the answer has ended.
func TestBytesOfWhatIsNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(resp *http.Response, cancel func())
		want int
	}{
		"closed unread": {func(resp *http.Response, _ func()) { resp.Body.Close() }, 1000},
		"closed early": {func(resp *http.Response, _ func()) {
			io.CopyN(io.Discard, resp.Body, 700)
			resp.Body.Close()
		}, 1700},
		"canceled": {func(resp *http.Response, cancel func()) {
			io.CopyN(io.Discard, resp.Body, 300)
			cancel()
		}, 1300},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(name, known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){download(2000, known)}}, Quotas: all(hoard())}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					req := upload(t, 1000, true)
					resp, err := tr.RoundTrip(req.WithContext(ctx))
					if err != nil {
						t.Fatal(err)
					}
					test.end(resp, cancel)
					if got := used(tr, req); got != test.want {
						t.Errorf("%d are charged, want %d", got, test.want)
					}
					resp.Body.Close()
					if got := used(tr, req); got != test.want {
						t.Errorf("%d are charged after it was closed again, want %d", got, test.want)
					}
				})
			})
		}
	}
}

// A HEAD names a length and sends nothing.
func TestBytesOfHEAD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Quotas: all(hoard()), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.ContentLength = 5000
			return resp, nil
		})}
		req := request(t, "HEAD", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil || used(tr, req) != 0 {
			t.Errorf("%v, %d are charged, want none", err, used(tr, req))
		}
	})
}

// Each attempt sends its body, and pays for it.
func TestBytesOfRetries(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{answers: []func(*http.Request) (*http.Response, error){status(503, ""), status(429, ""), download(2000, known)}}
			tr := &Transport{Base: base, Backoff: steady{}, Rand: zero, Quotas: all(hoard())}
			req := upload(t, 1000, known)
			resp, err := tr.RoundTrip(req)
			if err != nil || len(base.got) != 3 {
				t.Fatalf("got %v after %d attempts", err, len(base.got))
			}
			read(t, resp)
			resp.Body.Close()
			if got := used(tr, req); got != 5000 {
				t.Errorf("%d are charged, want 5000: three times 1000 sent, and 2000 received", got)
			}
		})
	}
}

// A request waits for its own bytes, and for those that others before it turned out to have
// received.
func TestBytesPaceDownloads(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint(known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){download(3*mebi, known)}}, Quotas: all(perSecond), IdleAfter: -1}
				start := time.Now()
				var at []time.Duration
				for range 4 {
					resp, err := tr.RoundTrip(upload(t, 1, true))
					if err != nil {
						t.Fatal(err)
					}
					at = append(at, time.Since(start).Round(time.Millisecond))
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				// 3 MiB are known when 1 has been saved: the next one waits for the other 2.
				if want := "[0s 2s 5s 8s]"; fmt.Sprint(at) != want {
					t.Errorf("went at %v, want %s", at, want)
				}
			})
		})
	}
}

// A request that costs no bytes as far as anybody knows does not wait for them, and none
// above the burst is ever sent.
func TestBytesOfUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), Quotas: all(perSecond)}
		start := time.Now()
		for i, n := range []int{mebi, mebi / 2, 0, mebi / 2} {
			if _, err := tr.RoundTrip(upload(t, n, true)); err != nil {
				t.Fatal(err)
			}
			if want := []time.Duration{0, time.Second / 2, time.Second / 2, time.Second}[i]; time.Since(start) != want {
				t.Errorf("%d bytes went after %v, want %v", n, time.Since(start), want)
			}
		}
		if _, err := tr.RoundTrip(upload(t, mebi+1, true)); err == nil || !strings.Contains(err.Error(), `pace "1MiB/s burst 1MiB", cost 1048577`) {
			t.Errorf("got %v", err)
		}
	})
}

// Those who wait are timed anew when it turns out how much was received.
func TestBytesRetimeThoseWhoWait(t *testing.T) {
	for name, test := range map[string]struct {
		known bool
		reads int
		want  time.Duration
	}{
		"closed early, and the rest comes back": {true, mebi / 2, 500 * time.Millisecond},
		"read whole":                            {true, mebi, time.Second},
		"more than anybody knew":                {false, mebi, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){download(mebi, test.known), status(200, "")}}, Quotas: all(perSecond)}
				resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				if !test.known { // charge it before the other asks
					io.Copy(io.Discard, resp.Body)
				}
				start := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := tr.RoundTrip(upload(t, mebi, true)); err != nil {
						t.Error(err)
					}
					if took := time.Since(start); took != test.want {
						t.Errorf("went after %v, want %v", took, test.want)
					}
				})
				time.Sleep(100 * time.Millisecond)
				if test.known {
					io.CopyN(io.Discard, resp.Body, int64(test.reads))
				}
				resp.Body.Close()
				wg.Wait()
			})
		})
	}
}

// Who knows better says so, and nothing is counted.
func TestBytesThatSomebodyKnows(t *testing.T) {
	costs := throttle.Costs{throttle.Bytes: 500}
	for name, test := range map[string]struct {
		tr   *Transport
		call *Call
		want int
	}{
		"Cost":         {&Transport{Cost: func(*http.Request) throttle.Costs { return costs }}, nil, 500},
		"Call":         {&Transport{}, &Call{Costs: costs}, 500},
		"Spent":        {&Transport{Spent: func(*http.Response) throttle.Costs { return costs }}, nil, 500},
		"another unit": {&Transport{Cost: func(*http.Request) throttle.Costs { return throttle.Costs{"tokens": 7} }}, nil, 3000},
		"of another":   {&Transport{Spent: func(*http.Response) throttle.Costs { return throttle.Costs{"tokens": 7} }}, nil, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := test.tr
				tr.Base, tr.Quotas = &script{answers: []func(*http.Request) (*http.Response, error){download(2000, false)}}, all(hoard())
				req := upload(t, 1000, true)
				if test.call != nil {
					req = of(req, test.call)
				}
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				resp.Body.Close()
				if got := used(tr, req); got != test.want {
					t.Errorf("%d are charged, want %d", got, test.want)
				}
			})
		})
	}
	if len(costs) != 1 {
		t.Errorf("the costs were changed: %v", costs)
	}
}

// Over a real connection, in both directions, with and without lengths.
func TestBytesOverHTTP(t *testing.T) {
	protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.URL.Path == "/known" {
				w.Header().Set("Content-Length", fmt.Sprint(2*n))
			}
			w.Write(make([]byte, 2*n))
		})
		tr := &Transport{Base: base, Quotas: all(hoard())}
		want := 0
		for _, path := range []string{"/known", "/unknown"} {
			for _, known := range []bool{true, false} {
				req := upload(t, 50_000, known)
				req.URL.Path = path
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(read(t, resp)); n != 100_000 {
					t.Errorf("read %d", n)
				}
				resp.Body.Close()
				want += 150_000
				if got := used(tr, req); got != want {
					t.Errorf("%s, length of the request known: %v: %d are charged, want %d", path, known, got, want)
				}
			}
		}
	})
}

// Bytes and slots end together.
func TestBytesAndInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Base:   &script{answers: []func(*http.Request) (*http.Response, error){download(2000, false)}},
			Quotas: all(hoard(), inflight(1)),
		}
		req := request(t, "GET", "http://a.example/", "")
		for i := range 3 {
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := lookup(tr, req).Forecast(throttle.Claim{}).Cause; got != throttle.CauseInFlight {
				t.Errorf("the next one waits for %q", got)
			}
			read(t, resp)
			if got := used(tr, req); got != 2000*(i+1) || !free(tr, req) {
				t.Errorf("%d are charged, want %d; free: %v", got, 2000*(i+1), free(tr, req))
			}
			resp.Body.Close()
		}
	})
}
