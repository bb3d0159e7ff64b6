package pacing

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// stream is a body of which a test says when it goes on.
type stream struct {
	io.ReadCloser // a pipe's
	closes        atomic.Int32
}

func (s *stream) Close() error { s.closes.Add(1); return s.ReadCloser.Close() }

// streaming is a Base whose answers have bodies that the test writes.
func streaming() (base lab.RoundTripper, bodies chan *io.PipeWriter) {
	bodies = make(chan *io.PipeWriter, 10)
	return func(r *http.Request) (*http.Response, error) {
		pr, pw := io.Pipe()
		bodies <- pw
		resp := lab.Answer(r, 200, "")
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
			go w.CloseWithError(lab.ErrBroken)
			_, err := io.Copy(io.Discard, resp.Body)
			return err, lab.ErrBroken
		},
		"context ends": func(_ *http.Response, _ *io.PipeWriter, cancel func()) (got, want error) {
			cancel()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, bodies := streaming()
				tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(1))}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req := lab.Request(t, "GET", "http://a.example/", "")
				resp, err := tr.RoundTrip(req.WithContext(ctx))
				if err != nil {
					t.Fatal(err)
				}
				w := <-bodies
				time.Sleep(time.Minute)
				if lab.Free(t, tr, "a.example") {
					t.Error("the slot is free before the answer has ended")
				}
				go w.Write([]byte("part"))
				if n, err := resp.Body.Read(make([]byte, 10)); n != 4 || err != nil || lab.Free(t, tr, "a.example") {
					t.Errorf("read %d, %v; free: %v", n, err, lab.Free(t, tr, "a.example"))
				}
				if got, want := end(resp, w, cancel); got != want { //nolint:errorlint // as it is
					t.Errorf("got %v, want %v", got, want)
				}
				if !lab.Free(t, tr, "a.example") {
					t.Error("the slot is not free after the answer has ended")
				}
				// What comes later changes nothing.
				resp.Body.Close()
				resp.Body.Close()
				cancel()
				if s := lab.State(t, tr, "a.example"); !lab.Free(t, tr, "a.example") || s.InFlight != 0 {
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
		"HEAD": {"HEAD", lab.Status(200, "as long as that of GET"), false},
		"204":  {"GET", lab.Status(204, "bad server"), false},
		"304":  {"GET", lab.Status(304, "bad server"), false},
		"none": {"GET", lab.Status(200, ""), false},
		"NoBody": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "")
			resp.Body, resp.ContentLength = http.NoBody, -1
			return resp, nil
		}, false},
		"nil Body": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "")
			resp.Body, resp.ContentLength = nil, 5
			return resp, nil
		}, false},
		"an error":        {"POST", lab.Fails(lab.ErrBroken), false},
		"never connected": {"POST", lab.Fails(&net.OpError{Op: "dial", Err: lab.ErrBroken}), false},
		"failed":          {"POST", lab.Status(500, "why"), true},
		"gone":            {"POST", lab.Status(404, "why"), true},
		"CONNECT": {"CONNECT", func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "tunnel")
			resp.ContentLength = -1
			return resp, nil
		}, true},
		"unknown length": {"GET", func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "")
			resp.ContentLength = -1
			return resp, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{
					Base:  &lab.Script{Answers: []func(*http.Request) (*http.Response, error){test.answer}},
					Retry: pacer.Retry{MaxAttempts: -1}, Quotas: lab.All(lab.InFlight(1)),
				}
				req := lab.Request(t, test.method, "http://a.example/", "")
				resp, err := tr.RoundTrip(req)
				if lab.Free(t, tr, "a.example") == test.held {
					t.Errorf("slot held: %v, want %v", !test.held, test.held)
				}
				if err != nil {
					return
				}
				lab.Read(t, resp)
				resp.Body.Close()
				if s := lab.State(t, tr, "a.example"); !lab.Free(t, tr, "a.example") || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// An upgraded connection is still one that can be written to.
func TestInFlightUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.Serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
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
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(1))}
		req := lab.Request(t, "GET", "http://a.example/", "")
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
		if lab.Free(t, tr, "a.example") {
			t.Error("the slot is free while the connection is open")
		}
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Limits[0].Available != 0 { // only the quota counts what is still read
			t.Errorf("state %+v", s)
		}
		go io.WriteString(rwc, "hello\n")
		if got, err := bufio.NewReader(rwc).ReadString('\n'); got != "HELLO\n" || err != nil || lab.Free(t, tr, "a.example") {
			t.Errorf("got %q, %v; free: %v", got, err, lab.Free(t, tr, "a.example"))
		}
		rwc.Close()
		if !lab.Free(t, tr, "a.example") {
			t.Error("the slot is not free after it was closed")
		}
	})
}

// What is wrapped can write only if what it wraps can.
func TestInFlightBodyWritesOnlyIfItCould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "text")}}, Quotas: lab.All(lab.InFlight(1))}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, ok := resp.Body.(io.Writer); ok {
			t.Errorf("%T is an io.Writer", resp.Body)
		}
	})
}

// Without a quota of what is in flight nobody needs to know when an answer ends, unless it is not said what the
// request costs of a quota: the response is exactly what Base gave.
func TestNothingIsWrappedWithoutNeed(t *testing.T) {
	for name, qs := range map[string]quota.Quotas{
		"none": nil, "a rate": {{N: 5, Burst: 1}}, "tokens": {tokens(10)}, "unanswered": {{N: 1, Kind: quota.Unanswered}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var given *http.Response
				said := func(*http.Request) quota.Costs { return quota.Costs{"tokens": 1} }
				tr := &pacer.Transport{Cost: said, Quotas: lab.All(qs...), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					given = lab.Answer(r, 200, "text")
					return given, nil
				})}
				b := lab.NewBody("x")
				req := lab.Request(t, "POST", "http://a.example/", "")
				req.Body, req.ContentLength = b, -1
				base := tr.Base
				tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					if r != req {
						t.Error("Base was given a copy of the request")
					}
					return base.RoundTrip(r)
				})
				resp, err := tr.RoundTrip(req)
				if err != nil || resp != given || resp.Body != given.Body {
					t.Fatalf("got %v, %v", resp, err)
				}
				if _, ok := resp.Body.(*lab.Body); !ok {
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
		tr := &pacer.Transport{Quotas: lab.All(quota.Quota{N: 2, Kind: quota.Unanswered}), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			n := under.Add(1)
			defer under.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return lab.Answer(r, 200, "nobody reads this"), nil
		})}
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// One starts slowly: 1 goes first, the second a quarter of a second later, then 2 at a time.
		if took := time.Since(start); most.Load() != 2 || took != 5250*time.Millisecond {
			t.Errorf("%d at a time, 10 took %v; want 2 and 5.25s", most.Load(), took)
		}
	})
}

// A failure that the caller gets holds its slot while he reads it, and one that he does not get while it comes,
// for a second at most: then it is closed, since the next attempt may wait for that very slot.
func TestInFlightUntilAFailureEnds(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		attempts int
		body     time.Duration // from when the answer begins until its end
		want     []time.Duration
	}{
		"returned": {-1, time.Minute, []time.Duration{0, time.Minute + ms}},
		// The retry backs off for a second, from the first millisecond on, and comes after the second request.
		"made again":        {2, time.Second / 2, []time.Duration{0, time.Second/2 + ms, time.Second + ms}},
		"made again, stuck": {2, time.Hour, []time.Duration{0, time.Second + ms, time.Second + 2*ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var sent []time.Duration
				base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					sent = append(sent, time.Since(start))
					time.Sleep(ms)
					if len(sent) > 1 {
						return lab.Answer(r, 200, ""), nil
					}
					pr, pw := io.Pipe()
					time.AfterFunc(test.body, func() { pw.Close() })
					resp := lab.Answer(r, 503, "")
					resp.Body, resp.ContentLength = pr, -1
					return resp, nil
				})
				tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(1)), Retry: pacer.Retry{MaxAttempts: test.attempts, Backoff: lab.Steady{}}, Rand: lab.Zero, Learn: pacer.Learn{IdleAfter: -1}}
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() {
						resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
						if err != nil {
							t.Error(err)
							return
						}
						lab.Read(t, resp)
						resp.Body.Close()
					})
					synctest.Wait()
				}
				wg.Wait()
				if !slices.Equal(sent, test.want) {
					t.Errorf("sent at %v, want %v", sent, test.want)
				}
				time.Sleep(time.Hour) // until bodies have ended
			})
		})
	}
}

// So does a failure where the server alone says how many may be in flight: the attempt that follows does not
// wait for it until it ends.
func TestStatedInFlightUntilAFailureEnds(t *testing.T) {
	for _, body := range []time.Duration{0, time.Second / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var sent []time.Duration
			base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, time.Since(start))
				time.Sleep(time.Nanosecond)
				resp := lab.Answer(r, 200, "", "X-Concurrency-Limit", "1", "X-Concurrency-Remaining", "0")
				if len(sent) == 2 {
					pr, pw := io.Pipe()
					time.AfterFunc(body, func() { pw.Close() })
					resp.StatusCode, resp.Body, resp.ContentLength = 503, pr, -1
				}
				return resp, nil
			})
			tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero}
			for range 2 {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("got %v, %v", resp, err)
				}
				lab.Read(t, resp)
				resp.Body.Close()
			}
			if want := []time.Duration{0, 1, time.Second + 2}; !slices.Equal(sent, want) { // the backoff is a second
				t.Errorf("a body of %v: sent at %v, want %v", body, sent, want)
			}
			time.Sleep(time.Hour) // until bodies have ended
		})
	}
}

// The answer of an attempt that is made again does not hold its slot for ever: with one in flight, the next
// attempt waits for it.
func TestInFlightOfOneRetries(t *testing.T) {
	for _, kind := range []quota.Kind{quota.InFlight, quota.Unanswered} {
		for name, test := range map[string]struct {
			answers []func(*http.Request) (*http.Response, error)
			status  int
		}{
			"refused": {[]func(*http.Request) (*http.Response, error){lab.Status(429, "no", "Retry-After", "3"), lab.Status(429, "no"), lab.Status(200, "yes")}, 200},
			"failed":  {[]func(*http.Request) (*http.Response, error){lab.Status(503, "no"), lab.Fails(lab.ErrBroken), lab.Status(200, "yes")}, 200},
			"given up": {
				[]func(*http.Request) (*http.Response, error){lab.Status(503, "no")},
				503,
			},
			"given up waiting": {
				[]func(*http.Request) (*http.Response, error){lab.Status(429, "no", "Retry-After", "600")},
				429,
			},
			"long": {
				[]func(*http.Request) (*http.Response, error){lab.Status(503, strings.Repeat("x", 10_000)), lab.Status(200, "yes")},
				200,
			},
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tr := &pacer.Transport{Base: &lab.Script{Answers: test.answers}, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 1, Kind: kind})}
					req := lab.Request(t, "GET", "http://a.example/", "")
					resp, err := tr.RoundTrip(req)
					if err != nil || resp.StatusCode != test.status {
						t.Fatalf("got %v, %v, want %d", resp, err, test.status)
					}
					lab.Read(t, resp)
					resp.Body.Close()
					if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Next.Cause == throttle.CauseInFlight {
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
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeDegrade, Quotas: lab.All(lab.InFlight(1)), Fallback: func(r *http.Request, _ *throttle.Error) (*http.Response, error) {
			return lab.Answer(r, 203, "a copy"), nil
		}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		first, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusNonAuthoritativeInfo {
			t.Fatalf("got %v, %v", resp, err)
		}
		if _, ok := resp.Body.(*lab.Body); !ok || lab.Free(t, tr, "a.example") {
			t.Errorf("the copy's body is a %T; free: %v", resp.Body, lab.Free(t, tr, "a.example"))
		}
		resp.Body.Close()
		(<-bodies).Close()
		first.Body.Close()
		if !lab.Free(t, tr, "a.example") {
			t.Error("not free")
		}
	})
}

// Events that trickle for hours are one answer in flight.
func TestInFlightStreams(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
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
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(2)), MaxWait: 100 * time.Hour, MaxStandstill: 100 * time.Hour}
		req := lab.Request(t, "GET", "http://a.example/", "")
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
				if n := strings.Count(lab.Read(t, resp), "data:"); n != 24 {
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
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		const most = 3
		var seen counter
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			seen.add(1)
			defer seen.add(-1)
			time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
			status := []int{200, 200, 200, 204, 404, 429, 503}[rand.IntN(7)]
			w.WriteHeader(status)
			if r.Method == http.MethodHead || status == http.StatusNoContent {
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
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(most)), MaxWait: 100 * time.Hour, MaxStandstill: 100 * time.Hour, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 10 {
					ctx, cancel := context.WithCancel(t.Context())
					method := []string{"GET", "GET", "HEAD", "POST", "DELETE"}[rand.IntN(5)]
					resp, err := tr.RoundTrip(lab.Request(t, method, "http://a.example/", "").WithContext(ctx))
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
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Waiting != 0 || s.Next.Cause == throttle.CauseInFlight {
			t.Errorf("state %+v", s)
		}
		if seen.most > most || seen.most < 2 {
			t.Errorf("the server worked on %d at a time, want up to %d", seen.most, most)
		}
	})
}

// A Base that panics loses neither a slot nor what is known to be in flight.
func TestInFlightPanicInBase(t *testing.T) {
	for name, q := range map[string]quota.Quota{"in flight": lab.InFlight(1), "unanswered": {N: 1, Kind: quota.Unanswered}, "a rate": {N: 5, Burst: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Quotas: lab.All(q), Base: lab.RoundTripper(func(*http.Request) (*http.Response, error) { panic("oops") })}
				req := lab.Request(t, "GET", "http://a.example/", "")
				func() {
					defer func() {
						if got := recover(); got != "oops" {
							t.Errorf("recovered %v", got)
						}
					}()
					tr.RoundTrip(req)
				}()
				if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Next.Cause == throttle.CauseInFlight {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// A context that ends while the answer is on its way ends the reading, too.
func TestInFlightContextEndedBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 3000 {
			ctx, cancel := context.WithCancel(t.Context())
			tr := &pacer.Transport{Quotas: lab.All(lab.InFlight(1)), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				cancel()
				return lab.Answer(r, 200, "text"), nil
			})}
			req := lab.Request(t, "GET", "http://a.example/", "")
			resp, err := tr.RoundTrip(req.WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			resp.Body.Close()
			if s := lab.State(t, tr, "a.example"); s.Next.Cause == throttle.CauseInFlight {
				t.Fatalf("the slot is lost, in run %d", i)
			}
		}
	})
}

// As TestInFlightNeverMore, with callers who close early, or cancel, as seen from the client.
func TestInFlightNeverMoreOfRudeCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		var seen counter
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			seen.add(1)
			select {
			case <-time.After(time.Duration(rand.IntN(50)) * time.Millisecond):
			case <-r.Context().Done():
				seen.add(-1)
				return nil, r.Context().Err()
			}
			if rand.IntN(10) == 0 {
				seen.add(-1)
				return nil, lab.ErrBroken
			}
			resp := lab.Answer(r, []int{200, 404, 503, 429}[rand.IntN(4)], "some text")
			b := &countedEnd{ReadCloser: resp.Body, end: sync.OnceFunc(func() { seen.add(-1) })}
			resp.Body, resp.ContentLength = b, -1
			return resp, nil
		})
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(most)), MaxWait: 100 * time.Hour, MaxStandstill: 100 * time.Hour, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(10_000))*time.Millisecond)
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
					if err == nil {
						switch rand.IntN(3) {
						case 0:
							resp.Body.Close()
						case 1:
							io.Copy(io.Discard, resp.Body)
						case 2:
							resp.Body.Read(make([]byte, 3))
							resp.Body.Close()
						}
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Waiting != 0 || s.Next.Cause == throttle.CauseInFlight {
			t.Errorf("state %+v", s)
		}
		if seen.most > most {
			t.Errorf("%d at a time, want %d", seen.most, most)
		}
	})
}

// countedEnd is a body that tells when it ends.
type countedEnd struct {
	io.ReadCloser
	end func()
}

func (b *countedEnd) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *countedEnd) Close() error { b.end(); return b.ReadCloser.Close() }

// Half of a connection that was upgraded can be closed, where Base can.
func TestInFlightUpgradeCloseWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &halfClosed{ReadCloser: http.NoBody}
		tr := &pacer.Transport{Quotas: lab.All(lab.InFlight(1)), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 101, "")
			resp.Body = c
			return resp, nil
		})}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		cw, ok := resp.Body.(interface{ CloseWrite() error })
		if !ok {
			t.Fatalf("a %T has no CloseWrite", resp.Body)
		}
		if err := cw.CloseWrite(); err != nil || !c.closed {
			t.Errorf("%v, closed: %v", err, c.closed)
		}
	})
}

// halfClosed is a connection as the body of an answer.
type halfClosed struct {
	io.ReadCloser
	io.Writer
	closed bool
}

func (c *halfClosed) CloseWrite() error { c.closed = true; return nil }

// An answer that nobody reads is given up, as far as the slot goes.
func TestInFlightUnread(t *testing.T) {
	for name, test := range map[string]struct {
		maxUnread time.Duration
		reads     []time.Duration // when there is something to read
		freed     time.Duration   // zero if never
	}{
		"five minutes by default": {0, nil, 5 * time.Minute},
		"as set":                  {time.Second, nil, time.Second},
		"never":                   {pacer.Forever, nil, 0},
		"counts from the last read": {
			time.Minute,
			[]time.Duration{30 * time.Second, 80 * time.Second},
			140 * time.Second,
		},
		"waiting in Read is reading": {
			time.Minute,
			[]time.Duration{time.Hour},
			time.Hour + time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, bodies := streaming()
				tr := &pacer.Transport{Base: base, Line: pacer.Line{MaxUnread: test.maxUnread}, Quotas: lab.All(lab.InFlight(1))}
				req := lab.Request(t, "GET", "http://a.example/", "")
				start := time.Now()
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				w := <-bodies
				for _, at := range test.reads {
					if d := at - time.Since(start); d < time.Minute {
						time.Sleep(d) // and only then asks
					} else {
						time.AfterFunc(d, func() { w.Write([]byte("x")) })
						resp.Body.Read(make([]byte, 1))
						continue
					}
					go w.Write([]byte("x"))
					resp.Body.Read(make([]byte, 1))
				}
				if test.freed == 0 {
					time.Sleep(1000 * time.Hour)
					if lab.Free(t, tr, "a.example") {
						t.Error("the slot is free")
					}
					resp.Body.Close()
					return
				}
				time.Sleep(test.freed - time.Since(start) - 1)
				if lab.Free(t, tr, "a.example") {
					t.Errorf("free a nanosecond before %v", test.freed)
				}
				time.Sleep(time.Nanosecond)
				if !lab.Free(t, tr, "a.example") {
					t.Errorf("not free after %v", test.freed)
				}
				// It can still be read.
				go func() { w.Write([]byte("late")); w.Close() }()
				if got := lab.Read(t, resp); got != "late" {
					t.Errorf("read %q", got)
				}
				resp.Body.Close()
				if s := lab.State(t, tr, "a.example"); !lab.Free(t, tr, "a.example") || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// With a negative MaxUnread, an answer counts only until it is returned.
func TestInFlightUnreadNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, _ := streaming()
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeReject, Line: pacer.Line{MaxUnread: -1}, Quotas: lab.All(lab.InFlight(1)), Learn: pacer.Learn{IdleAfter: -1}}
		for range 3 {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() // nobody reads it before
		}
	})
}

// An answer that nobody closes is the mistake of the caller: the error and the log ask for it.
func TestInFlightAsksForForgottenAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		base, bodies := streaming()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(1)), MaxWait: 2 * time.Second, Trace: pacer.Log(lines(&log))}
		forgotten, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		want := `throttle: a.example: not sent: wait over MaxWait (2s, after waiting for 2s): in flight "1 in flight": are all answers read and closed, all grants Done?`
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		const advice = `advice="a bound of what is in flight, configured or stated by the server: are all answers read and closed?"`
		if !strings.Contains(log.String(), advice) {
			t.Errorf("log:\n%s\nwant %s", &log, advice)
		}
		forgotten.Body.Close()
		(<-bodies).Close()
	})
}
