package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// mebi is 1 MiB.
const mebi = 1 << 20

// perSecond is "1MiB/s burst 1MiB".
var perSecond = quota.Quota{N: mebi, Unit: quota.Bytes, Burst: mebi}

// used is how many bytes have been charged.
func used(t *testing.T, tr *pacer.Transport, req *http.Request) int {
	t.Helper()
	synctest.Wait()
	return 10*mebi - left(t, tr, req, quota.Bytes, 10*mebi)
}

// upload is a request with n bytes, whose length is known or not.
func upload(t *testing.T, n int, known bool) *http.Request {
	t.Helper()
	req := lab.Request(t, "PUT", "http://a.example/", strings.Repeat("x", n))
	if !known {
		req.ContentLength = -1
	}
	return req
}

// download answers with n bytes, whose length is known or not.
func download(n int, known bool) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		resp := lab.Answer(req, 200, strings.Repeat("x", n))
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
				tr := &pacer.Transport{
					Base:   &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(test.received, test.receivedKnown)}},
					Quotas: lab.All(lab.Hoard()),
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
				if got := used(t, tr, req); got != known {
					t.Errorf("%d are charged when the answer has begun, want %d", got, known)
				}
				if n := len(lab.Read(t, resp)); n != test.received {
					t.Errorf("read %d bytes, want %d", n, test.received)
				}
				resp.Body.Close()
				if got := used(t, tr, req); got != test.sent+test.received {
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
					tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(2000, known)}}, Quotas: lab.All(lab.Hoard())}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					req := upload(t, 1000, true)
					resp, err := tr.RoundTrip(req.WithContext(ctx))
					if err != nil {
						t.Fatal(err)
					}
					test.end(resp, cancel)
					if got := used(t, tr, req); got != test.want {
						t.Errorf("%d are charged, want %d", got, test.want)
					}
					resp.Body.Close()
					if got := used(t, tr, req); got != test.want {
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
		tr := &pacer.Transport{Quotas: lab.All(lab.Hoard()), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "")
			resp.ContentLength = 5000
			return resp, nil
		})}
		req := lab.Request(t, "HEAD", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil || used(t, tr, req) != 0 {
			t.Errorf("%v, %d are charged, want none", err, used(t, tr, req))
		}
	})
}

// Each attempt sends its body, and pays for it and for its answer.
func TestBytesOfRetries(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, strings.Repeat("x", 200)), lab.Status(429, strings.Repeat("x", 300)), download(2000, known)}}
			tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero, Quotas: lab.All(lab.Hoard())}
			req := upload(t, 1000, known)
			resp, err := tr.RoundTrip(req)
			if err != nil || len(base.Got) != 3 {
				t.Fatalf("got %v after %d attempts", err, len(base.Got))
			}
			lab.Read(t, resp)
			resp.Body.Close()
			if got := used(t, tr, req); got != 5500 {
				t.Errorf("%d are charged, want 5500: three times 1000 sent, and 2500 received", got)
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
				tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(3*mebi, known)}}, Quotas: lab.All(perSecond), Learn: pacer.Learn{IdleAfter: -1}}
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

// Whatever a request costs in bytes, its answer has some: it waits for one byte, and goes when that is there.
// None above the burst is ever sent.
func TestBytesOfUploads(t *testing.T) {
	const oneByte = time.Second/mebi + 1
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(perSecond)}
		start := time.Now()
		for i, n := range []int{mebi, mebi / 2, 0, mebi / 2} {
			if _, err := tr.RoundTrip(upload(t, n, true)); err != nil {
				t.Fatal(err)
			}
			if want := []time.Duration{0, time.Second / 2, time.Second/2 + oneByte, time.Second}[i]; time.Since(start) != want {
				t.Errorf("%d bytes went after %v, want %v", n, time.Since(start), want)
			}
		}
		if _, err := tr.RoundTrip(upload(t, mebi+1, true)); err == nil || !strings.Contains(err.Error(), `pace "1MiB/s burst 1MiB", cost 1048577 bytes; it grants at most 1048576 bytes at once`) {
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
				tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(mebi, test.known), lab.Status(200, "")}}, Quotas: lab.All(perSecond)}
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
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
	costs := quota.Costs{quota.Bytes: 500}
	for name, test := range map[string]struct {
		tr   *pacer.Transport
		call *pacer.Call
		want int
	}{
		"Cost":         {&pacer.Transport{Cost: func(*http.Request) quota.Costs { return costs }}, nil, 500},
		"Call":         {&pacer.Transport{}, &pacer.Call{Costs: costs}, 500},
		"Spent":        {&pacer.Transport{Spent: func(*http.Response) quota.Costs { return costs }}, nil, 500},
		"another unit": {&pacer.Transport{Cost: func(*http.Request) quota.Costs { return quota.Costs{"tokens": 7} }}, nil, 3000},
		"of another":   {&pacer.Transport{Spent: func(*http.Response) quota.Costs { return quota.Costs{"tokens": 7} }}, nil, 3000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := test.tr
				tr.Base, tr.Quotas = &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(2000, false)}}, lab.All(lab.Hoard())
				req := upload(t, 1000, true)
				if test.call != nil {
					req = of(req, test.call)
				}
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				lab.Read(t, resp)
				resp.Body.Close()
				if got := used(t, tr, req); got != test.want {
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
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.URL.Path == "/known" {
				w.Header().Set("Content-Length", fmt.Sprint(2*n))
			}
			w.Write(make([]byte, 2*n))
		})
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.Hoard())}
		want := 0
		for _, path := range []string{"/known", "/unknown"} {
			for _, known := range []bool{true, false} {
				req := upload(t, 50_000, known)
				req.URL.Path = path
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(lab.Read(t, resp)); n != 100_000 {
					t.Errorf("read %d", n)
				}
				resp.Body.Close()
				want += 150_000
				if got := used(t, tr, req); got != want {
					t.Errorf("%s, length of the request known: %v: %d are charged, want %d", path, known, got, want)
				}
			}
		}
	})
}

// Bytes and slots end together.
func TestBytesAndInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base:   &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(2000, false)}},
			Quotas: lab.All(lab.Hoard(), lab.InFlight(1)),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		for i := range 3 {
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := lab.State(t, tr, "a.example").Next.Cause; got != throttle.CauseInFlight {
				t.Errorf("the next one waits for %q", got)
			}
			lab.Read(t, resp)
			if got := used(t, tr, req); got != 2000*(i+1) || !lab.Free(t, tr, "a.example") {
				t.Errorf("%d are charged, want %d; free: %v", got, 2000*(i+1), lab.Free(t, tr, "a.example"))
			}
			resp.Body.Close()
		}
	})
}

// A body beside a ContentLength of 0 is one of unknown length, as http.NewRequest makes of
// any reader that it does not know.
func TestBytesOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Hoard())}
		r, w := io.Pipe()
		go func() { w.Write(make([]byte, 1000)); w.Close() }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://a.example/", r)
		if err != nil || req.ContentLength != 0 {
			t.Fatal(err, req.ContentLength)
		}
		if _, err := tr.RoundTrip(req); err != nil || used(t, tr, req) != 1000 {
			t.Errorf("%v, %d are charged, want 1000", err, used(t, tr, req))
		}
	})
}

// What is sent of a body after the answer has begun counts as well.
func TestBytesSentAfterTheAnswerHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.Serve(t, true, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).Flush()
			io.Copy(w, r.Body)
		})
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.Hoard())}
		r, w := io.Pipe()
		req := lab.Request(t, "PUT", "http://a.example/", "")
		req.Body, req.ContentLength = r, -1
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		go func() { w.Write(make([]byte, 1000)); w.Close() }()
		if n := len(lab.Read(t, resp)); n != 1000 {
			t.Errorf("read %d", n)
		}
		resp.Body.Close()
		if got := used(t, tr, req); got != 2000 {
			t.Errorf("%d are charged, want 2000: 1000 each way", got)
		}
	})
}

// Of an answer that nobody reads, the bytes come back.
func TestBytesOfAnAnswerThatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(2000, true)}}, Quotas: lab.All(lab.Hoard())}
		req := upload(t, 1000, true)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(5*time.Minute - time.Nanosecond)
		if got := used(t, tr, req); got != 3000 {
			t.Errorf("%d are charged, want 3000", got)
		}
		time.Sleep(time.Nanosecond)
		if got := used(t, tr, req); got != 1000 {
			t.Errorf("%d are charged, want 1000", got)
		}
	})
}

// Downloads are paced by what came before, whoever asks: one after the other, with a length that is known or
// not, and whatever kind of quota it is; and all at once where the quota is a bucket: in a window, what was too
// much is forgotten at its end. How many of those at once go before the first one's bytes are known is for the
// scheduler to say; whoever comes after them waits for the bytes of all.
func TestBytesOfDownloadsHoldBackThoseThatFollow(t *testing.T) {
	const size = 150_000
	for _, text := range []string{"100kB/s debt", "100kB/s even debt", "100kB/s burst 100kB debt", "100kB/s", "100kB/s window", "100kB/s log"} {
		for _, known := range []bool{true, false} {
			for _, atOnce := range []bool{true, false} {
				if atOnce && !strings.Contains(text, "debt") {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){download(size, known)}}
					tr := &pacer.Transport{Base: base, Quotas: pacer.Table{"/": quota.MustParse(text)}}
					client := &http.Client{Transport: tr}
					start := time.Now()
					var wait sync.WaitGroup
					for range 20 {
						if wait.Go(func() { lab.Get(t, client, "http://a.example/") }); !atOnce {
							wait.Wait()
						}
					}
					wait.Wait()
					lab.Get(t, client, "http://a.example/")
					if took := time.Since(start); took < 20*time.Second || atOnce && took < 29*time.Second {
						t.Errorf("%s, length known %v, at once %v: 20 of 150 kB, and then one, took %v", text, known, atOnce, took)
					}
				})
			}
		}
	}
}

// Five files of 1 MB, one after the other, whose length is known when their answer begins, at 50 kB/s:
// docs/quotas.md, Larger than the quota. Windows forget what is beyond N, and a bucket of tokens owes it.
func TestBytesOfFilesBeyondTheQuota(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		quota string
		took  time.Duration // until all are read
	}{
		{"50kB/s", 4 * s},
		{"50kB/s window", 4 * s},
		{"50kB/s window grid", 4 * s},
		{"50kB/s sliding", 4 * s},
		{"50kB/s log", 4 * s},
		{"50kB/s burst 100kB", 78*s + 20*time.Microsecond}, // 900 kB are owed after the first, 1 MB after the others; and a byte must be there
		{"50kB/s debt", 79*s + 20*time.Microsecond},
		{"50kB/s streamed", 99950 * time.Millisecond}, // all but the twentieth of a second that it holds
	} {
		t.Run(test.quota, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := download(1e6, true)
				tr := &pacer.Transport{
					Base:   &lab.Script{Answers: []func(*http.Request) (*http.Response, error){file, file, file, file, file}},
					Quotas: lab.All(quota.MustParse(test.quota)...),
				}
				begin := time.Now()
				for range 5 {
					resp, err := tr.RoundTrip(upload(t, 0, true))
					if err != nil {
						t.Fatal(err)
					}
					lab.Read(t, resp)
				}
				if took := time.Since(begin); took != test.took {
					t.Errorf("all five are read after %v, want %v", took, test.took)
				}
			})
		})
	}
	// What is known before it goes, as of an upload, never fits into a window, and is owed to a debt.
	for text, want := range map[string]error{"50kB/s": throttle.ErrTooLarge, "50kB/s log": throttle.ErrTooLarge, "50kB/s burst 100kB": throttle.ErrTooLarge, "50kB/s debt": nil} {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(quota.MustParse(text)...)}
		if _, err := tr.RoundTrip(upload(t, 1e6, true)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// A length that a server states is charged until it is known what is read of the answer, also where it is so
// large that the length of the request cannot be added to it: such an answer once cost nothing.
func TestBytesOfAHugeAnswer(t *testing.T) {
	for _, length := range []int64{1 << 32, math.MaxInt64 - 9, math.MaxInt64} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{Quotas: lab.All(perSecond), Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				resp := lab.Answer(req, 200, "x")
				resp.ContentLength = length
				return resp, nil
			})}
			resp, err := tr.RoundTrip(upload(t, 10, true))
			if err != nil {
				t.Fatal(err)
			}
			available := func() int { return int(tr.State()[0].Limits[0].Available) }
			if got := available(); got != 0 {
				t.Errorf("%d bytes are announced, and %d may go beside them, want none", length, got)
			}
			lab.Read(t, resp)
			if got := available(); got != mebi-11 {
				t.Errorf("%d bytes are left after 11, want %d", got, mebi-11)
			}
		})
	}
}
