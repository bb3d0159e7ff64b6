package pacer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// inflight is "n in flight".
func inflight(n int) throttle.Quota { return throttle.Quota{N: n, Kind: throttle.InFlight} }

// free reports whether a request could go now.
func free(tr *Transport, req *http.Request) bool {
	synctest.Wait()
	return lookup(tr, req).Forecast(throttle.Claim{}).Cause == ""
}

// stream is a body of which a test says when it goes on.
type stream struct {
	io.ReadCloser // a pipe's
	closes        atomic.Int32
}

func (s *stream) Close() error { s.closes.Add(1); return s.ReadCloser.Close() }

// streaming is a Base whose answers have bodies that the test writes.
func streaming() (base roundTripper, bodies chan *io.PipeWriter) {
	bodies = make(chan *io.PipeWriter, 10)
	return func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		bodies <- pw
		resp := answer(r, 200, "")
		resp.Body, resp.ContentLength = &stream{ReadCloser: pr}, -1
		return resp, nil
	}, bodies
}

// A slot is held until the answer ends, in whatever way, and until then nobody else goes.
func TestInFlightUntilTheBodyEnds(t *testing.T) {
	for name, end := range map[string]func(resp *http.Response, w *io.PipeWriter, cancel func()) (got, want error){
		"read to its end": func(resp *http.Response, w *io.PipeWriter, _ func()) (got, want error) {
			go w.Close()
			_, err := io.Copy(io.Discard, resp.Body)
			return err, nil
		},
		"closed": func(resp *http.Response, w *io.PipeWriter, _ func()) (got, want error) {
			resp.Body.Close()
			_, err := w.Write([]byte("x"))
			return err, io.ErrClosedPipe // it was closed below, too
		},
		"fails": func(resp *http.Response, w *io.PipeWriter, _ func()) (got, want error) {
			go w.CloseWithError(errBroken)
			_, err := io.Copy(io.Discard, resp.Body)
			return err, errBroken
		},
		"context ends": func(_ *http.Response, _ *io.PipeWriter, cancel func()) (got, want error) {
			cancel()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, bodies := streaming()
				tr := &Transport{Base: base, Quotas: all(inflight(1))}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req := request(t, "GET", "http://a.example/", "")
				resp, err := tr.RoundTrip(req.WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				w := <-bodies
				time.Sleep(time.Minute)
				if free(tr, req) {
					t.Error("the slot is free before the answer has ended")
				}
				go w.Write([]byte("part"))
				if n, err := resp.Body.Read(make([]byte, 10)); n != 4 || err != nil || free(tr, req) {
					t.Errorf("read %d, %v; free: %v", n, err, free(tr, req))
				}
				if got, want := end(resp, w, cancel); got != want { //nolint:errorlint // as it is
					t.Errorf("got %v, want %v", got, want)
				}
				if !free(tr, req) {
					t.Error("the slot is not free after the answer has ended")
				}
				// What comes later changes nothing.
				resp.Body.Close()
				resp.Body.Close()
				cancel()
				if s := lookup(tr, req).State(); !free(tr, req) || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// What has no body has ended when it comes.
func TestInFlightWithoutBody(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		answer func(*http.Request) (*http.Response, error)
		held   bool
	}{
		"HEAD": {"HEAD", status(200, "as long as that of GET"), false},
		"204":  {"GET", status(204, "bad server"), false},
		"304":  {"GET", status(304, "bad server"), false},
		"none": {"GET", status(200, ""), false},
		"NoBody": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.Body, resp.ContentLength = http.NoBody, -1
			return resp, nil
		}, false},
		"nil Body": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.Body, resp.ContentLength = nil, 5
			return resp, nil
		}, false},
		"an error":        {"POST", fails(errBroken), false},
		"never connected": {"POST", fails(&net.OpError{Op: "dial", Err: errBroken}), false},
		"failed":          {"POST", status(500, "why"), true},
		"gone":            {"POST", status(404, "why"), true},
		"CONNECT": {"CONNECT", func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "tunnel")
			resp.ContentLength = -1
			return resp, nil
		}, true},
		"unknown length": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.ContentLength = -1
			return resp, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{
					Base:        &script{answers: []func(*http.Request) (*http.Response, error){test.answer}},
					MaxAttempts: -1, Quotas: all(inflight(1)),
				}
				req := request(t, test.method, "http://a.example/", "")
				resp, err := tr.RoundTrip(req)
				if free(tr, req) == test.held {
					t.Errorf("slot held: %v, want %v", !test.held, test.held)
				}
				if err != nil {
					return
				}
				read(t, resp)
				resp.Body.Close()
				if s := lookup(tr, req).State(); !free(tr, req) || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// An upgraded connection is still one that can be written to.
func TestInFlightUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			rw.Flush()
			line, _ := rw.ReadString('\n')
			rw.WriteString(strings.ToUpper(line))
			rw.Flush()
		})
		tr := &Transport{Base: base, Quotas: all(inflight(1))}
		req := request(t, "GET", "http://a.example/", "")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("got %v, %v", resp, err)
		}
		rwc, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("a %T is not an io.ReadWriteCloser", resp.Body)
		}
		if free(tr, req) {
			t.Error("the slot is free while the connection is open")
		}
		go io.WriteString(rwc, "hello\n")
		if got, err := bufio.NewReader(rwc).ReadString('\n'); got != "HELLO\n" || err != nil || free(tr, req) {
			t.Errorf("got %q, %v; free: %v", got, err, free(tr, req))
		}
		rwc.Close()
		if !free(tr, req) {
			t.Error("the slot is not free after it was closed")
		}
	})
}

// What is wrapped can write only if what it wraps can.
func TestInFlightBodyWritesOnlyIfItCould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){status(200, "text")}}, Quotas: all(inflight(1))}
		resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, ok := resp.Body.(io.Writer); ok {
			t.Errorf("%T is an io.Writer", resp.Body)
		}
	})
}

// Without a quota of what is in flight nobody needs to know when an answer ends: the
// response is exactly what Base gave.
func TestNothingIsWrappedWithoutNeed(t *testing.T) {
	for name, qs := range map[string]throttle.Quotas{
		"none": nil, "a rate": {{N: 5}}, "tokens": {tokens(10)}, "unanswered": {{N: 1, Kind: throttle.Unanswered}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var given *http.Response
				tr := &Transport{Quotas: all(qs...), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					given = answer(r, 200, "text")
					return given, nil
				})}
				b := newBody("x")
				req := request(t, "POST", "http://a.example/", "")
				req.Body, req.ContentLength = b, -1
				base := tr.Base
				tr.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
					if r != req {
						t.Error("Base was given a copy of the request")
					}
					return base.RoundTrip(r)
				})
				resp, err := tr.RoundTrip(req)
				if err != nil || resp != given || resp.Body != given.Body {
					t.Fatalf("got %v, %v", resp, err)
				}
				if _, ok := resp.Body.(*body); !ok {
					t.Errorf("the body is a %T", resp.Body)
				}
			})
		})
	}
}

// "Unanswered" ends when the answer begins.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int32
		tr := &Transport{Quotas: all(throttle.Quota{N: 2, Kind: throttle.Unanswered}), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			n := under.Add(1)
			defer under.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return answer(r, 200, "nobody reads this"), nil
		})}
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// One starts slowly: 1 goes first, then 2 at a time.
		if took := time.Since(start); most.Load() != 2 || took != 6*time.Second {
			t.Errorf("%d at a time, 10 took %v; want 2 and 6s", most.Load(), took)
		}
	})
}

// The answer of an attempt that is made again holds no slot: with one in flight the
// next attempt would wait for it for ever.
func TestInFlightOfOneRetries(t *testing.T) {
	for _, kind := range []throttle.Kind{throttle.InFlight, throttle.Unanswered} {
		for name, test := range map[string]struct {
			answers []func(*http.Request) (*http.Response, error)
			status  int
		}{
			"refused": {[]func(*http.Request) (*http.Response, error){status(429, "no", "Retry-After", "3"), status(429, "no"), status(200, "yes")}, 200},
			"failed":  {[]func(*http.Request) (*http.Response, error){status(503, "no"), fails(errBroken), status(200, "yes")}, 200},
			"given up": {
				[]func(*http.Request) (*http.Response, error){status(503, "no")},
				503,
			},
			"given up waiting": {
				[]func(*http.Request) (*http.Response, error){status(429, "no", "Retry-After", "600")},
				429,
			},
			"long": {
				[]func(*http.Request) (*http.Response, error){status(503, strings.Repeat("x", 10_000)), status(200, "yes")},
				200,
			},
		} {
			t.Run(kind.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tr := &Transport{Base: &script{answers: test.answers}, Backoff: steady{}, Rand: zero, Quotas: all(throttle.Quota{N: 1, Kind: kind})}
					req := request(t, "GET", "http://a.example/", "")
					resp, err := tr.RoundTrip(req)
					if err != nil || resp.StatusCode != test.status {
						t.Fatalf("got %v, %v, want %d", resp, err, test.status)
					}
					read(t, resp)
					resp.Body.Close()
					if s := lookup(tr, req).State(); s.InFlight != 0 || s.Next.Cause == throttle.CauseInFlight {
						t.Errorf("state %+v", s)
					}
				})
			})
		}
	}
}

// In mode Degrade who finds no slot gets the copy, and takes none.
func TestInFlightDegrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, bodies := streaming()
		tr := &Transport{Base: base, Mode: Degrade, Quotas: all(inflight(1)), Fallback: roundTripper(func(r *http.Request) (*http.Response, error) {
			return answer(r, 203, "a copy"), nil
		})}
		req := request(t, "GET", "http://a.example/", "")
		first, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusNonAuthoritativeInfo {
			t.Fatalf("got %v, %v", resp, err)
		}
		if _, ok := resp.Body.(*body); !ok || free(tr, req) {
			t.Errorf("the copy's body is a %T; free: %v", resp.Body, free(tr, req))
		}
		resp.Body.Close()
		(<-bodies).Close()
		first.Body.Close()
		if !free(tr, req) {
			t.Error("not free")
		}
	})
}

// Events that trickle for hours are one answer in flight.
func TestInFlightStreams(t *testing.T) {
	protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			for i := range 24 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Hour):
				case <-r.Context().Done():
					return
				}
			}
		})
		tr := &Transport{Base: base, Quotas: all(inflight(2)), MaxWait: 100 * time.Hour}
		req := request(t, "GET", "http://a.example/", "")
		start := time.Now()
		var ends []time.Duration
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if n := strings.Count(read(t, resp), "data:"); n != 24 {
					t.Errorf("%d events, want 24", n)
				}
				mu.Lock()
				ends = append(ends, time.Since(start))
				mu.Unlock()
			})
		}
		wg.Wait()
		const d = 24 * time.Hour
		if fmt.Sprint(ends) != fmt.Sprint([]time.Duration{d, d, 2 * d, 2 * d}) {
			t.Errorf("ended after %v, want two at a time, a day each", ends)
		}
	})
}

// counter counts what is under way, and the most that ever was.
type counter struct {
	mu        sync.Mutex
	now, most int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

// Whatever clients do, the server never works on more than N, from the first byte of a
// request to the last one of its answer.
func TestInFlightNeverMore(t *testing.T) {
	protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		const most = 3
		var seen counter
		base := serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			seen.add(1)
			defer seen.add(-1)
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
			status := []int{200, 200, 200, 204, 404, 429, 503}[rand.IntN(7)]
			if r.Method == http.MethodHead || status == http.StatusNoContent || status == 429 || status == 503 {
				w.WriteHeader(status) // and it has ended
				return
			}
			for range rand.IntN(4) {
				w.Write(make([]byte, 1+rand.IntN(5000)))
				http.NewResponseController(w).Flush()
				time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
				if r.Context().Err() != nil {
					return
				}
			}
		})
		tr := &Transport{Base: base, Quotas: all(inflight(most)), MaxWait: 100 * time.Hour, Backoff: steady{}}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 10 {
					ctx, cancel := context.WithCancel(t.Context())
					method := []string{"GET", "GET", "HEAD", "POST", "DELETE"}[rand.IntN(5)]
					resp, err := tr.RoundTrip(request(t, method, "http://a.example/", "").WithContext(ctx))
					if err != nil {
						t.Error(err)
						cancel()
						continue
					}
					// All is read: when less is, the server learns of it later than the client.
					io.Copy(io.Discard, resp.Body)
					if rand.IntN(2) == 0 {
						resp.Body.Close()
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if s := lookup(tr, request(t, "GET", "http://a.example/", "")).State(); s.InFlight != 0 || s.Waiting != 0 || s.Next.Cause == throttle.CauseInFlight {
			t.Errorf("state %+v", s)
		}
		if seen.most > most || seen.most < 2 {
			t.Errorf("the server worked on %d at a time, want up to %d", seen.most, most)
		}
	})
}

// Buckets with an answer that is being read are not forgotten.
func TestInFlightIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, bodies := streaming()
		tr := &Transport{Base: base, MaxUnread: -1, Quotas: all(inflight(1))}
		req := request(t, "GET", "http://a.example/", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		<-bodies
		before := lookup(tr, req)
		time.Sleep(24 * time.Hour)
		tr.router.mu.Lock()
		tr.router.sweep()
		tr.router.sweep()
		tr.router.mu.Unlock()
		if lookup(tr, req) != before || free(tr, req) {
			t.Error("the bucket was forgotten, and its slot with it")
		}
		resp.Body.Close()
		tr.router.mu.Lock()
		tr.router.sweep()
		tr.router.sweep()
		tr.router.mu.Unlock()
		if lookup(tr, req) == before {
			t.Error("the bucket is not forgotten after it has ended")
		}
	})
}

// A Base that panics loses neither a slot nor what is known to be in flight.
func TestInFlightPanicInBase(t *testing.T) {
	for name, q := range map[string]throttle.Quota{"in flight": inflight(1), "unanswered": {N: 1, Kind: throttle.Unanswered}, "a rate": {N: 5}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{Quotas: all(q), Base: roundTripper(func(*http.Request) (*http.Response, error) { panic("oops") })}
				req := request(t, "GET", "http://a.example/", "")
				func() {
					defer func() {
						if got := recover(); got != "oops" {
							t.Errorf("recovered %v", got)
						}
					}()
					tr.RoundTrip(req)
				}()
				if s := lookup(tr, req).State(); s.InFlight != 0 || s.Next.Cause == throttle.CauseInFlight {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}
