package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
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

// What of the contract only shows over real connections and is not the same with and without a
// Transport.

// atFirst answers with a status until it has done so n times, and is like next then.
func atFirst(n, status int, next http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n--
		fails := n >= 0
		mu.Unlock()
		if fails {
			replies(status, "not now")(w, r)
		} else {
			next(w, r)
		}
	}
}

// "safe for concurrent use by multiple goroutines": each gets the answer to its own request,
// whatever befalls the others. Run with -race.
func TestContractHTTPConcurrentUse(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		var mu sync.Mutex
		asked := map[string]int{}
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked[r.URL.Path]++
			n := asked[r.URL.Path]
			mu.Unlock()
			switch {
			case n == 1 && strings.HasSuffix(r.URL.Path, "3"):
				w.WriteHeader(http.StatusServiceUnavailable)
			case n == 1 && strings.HasSuffix(r.URL.Path, "5"):
				replies(429, "", "Retry-After", "1")(w, r)
			case n == 1 && strings.HasSuffix(r.URL.Path, "7"):
				panic(http.ErrAbortHandler)
			case strings.HasSuffix(r.URL.Path, "9") && r.URL.RawQuery == "":
				http.Redirect(w, r, r.URL.Path+"?a=b", http.StatusTemporaryRedirect)
			default:
				b, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s %s", r.URL.Path, b)
			}
		})
		c := &http.Client{Transport: &pacer.Transport{Base: base, MaxWait: time.Hour, MaxStandstill: time.Hour, Retry: pacer.Retry{BudgetRatio: 1, Backoff: lab.Steady{}}, Quotas: lab.All(lab.InFlight(7), lab.Hoard())}}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				path := fmt.Sprint("/", i)
				req := lab.Request(t, "PUT", "http://a.example"+path, "text")
				if i%10 == 1 {
					ctx, cancel := context.WithTimeout(req.Context(), time.Duration(i)*time.Millisecond)
					defer cancel()
					req = req.WithContext(ctx)
				}
				resp, err := c.Do(req)
				if err != nil {
					if i%10 != 1 {
						t.Errorf("%s: %v", path, err)
					}
					return
				}
				defer resp.Body.Close()
				if got := lab.Read(t, resp); got != path+" text" {
					t.Errorf("%s: got %q", path, got)
				}
			})
		}
		wg.Wait()
	})
}

// What pacer does not send, the server does not see, and the caller can tell from what the
// server says.
func TestContractHTTPLocalRefusal(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		sent := 0
		base := lab.Serve(t, two, func(http.ResponseWriter, *http.Request) { sent++ })
		c := &http.Client{Transport: &pacer.Transport{Base: base, Mode: pacer.ModeReject, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}}
		if _, err := c.Get("http://a.example/"); err != nil {
			t.Fatal(err)
		}
		_, err := c.Post("http://a.example/", "text/plain", strings.NewReader("text"))
		var local *throttle.Error
		if !errors.As(err, &local) || !errors.Is(err, throttle.ErrWouldWait) || local.Wait != time.Minute || sent != 1 {
			t.Errorf("got %v, sent %d times", err, sent)
		}
	})
}

// Whoever leaves while he waits, in line or between two attempts, leaves nothing behind: no
// body, no answer, no connection that is in use, no goroutine, and no place in line.
func TestContractHTTPCanceledWhileWaiting(t *testing.T) {
	cancels := map[string]func(r *http.Request) *http.Request{
		"context": func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancelCause(r.Context())
			time.AfterFunc(time.Second/2, func() { cancel(lab.ErrBroken) })
			return r.WithContext(ctx)
		},
		"Request.Cancel": func(r *http.Request) *http.Request {
			c := make(chan struct{})
			r.Cancel = c //nolint:staticcheck // what is tested
			time.AfterFunc(time.Second/2, func() { close(c) })
			return r
		},
	}
	for name, test := range map[string]struct {
		server http.HandlerFunc
		quotas quota.Quotas
		spends int // requests that go first
	}{
		"in line":    {replies(200, ""), quota.Quotas{{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}, 1},
		"in backoff": {replies(503, "why"), nil, 0},
		"in backoff, chunked": {func(w http.ResponseWriter, r *http.Request) {
			replies(503, "why")(w, r)
			http.NewResponseController(w).Flush()
		}, nil, 0},
		"in backoff, long":     {replies(503, strings.Repeat("x", 200_000)), nil, 0},
		"after a refusal":      {replies(429, "why", "Retry-After", "60"), nil, 0},
		"in line for another":  {replies(503, "why"), quota.Quotas{{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}, 0},
		"after a broken reply": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, 0},
	} {
		for how, cancels := range cancels {
			t.Run(name+" by "+how, func(t *testing.T) {
				lab.Protocols(t, func(t *testing.T, two bool) {
					t.Helper()
					base := lab.Serve(t, two, test.server)
					base.MaxConnsPerHost = 1
					tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: backoffOf(time.Second / 4)}, Quotas: lab.All(append(test.quotas, lab.InFlight(1))...)}
					if name != "in line for another" {
						tr.Retry.Backoff = lab.Steady{}
					}
					for range test.spends {
						if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
							t.Fatal(err)
						}
					}
					req := cancels(lab.Request(t, "PUT", "http://a.example/", ""))
					b := lab.NewBody("text")
					req.Body, req.ContentLength = b, 4
					req.GetBody = func() (io.ReadCloser, error) { return lab.NewBody("text"), nil }
					start := time.Now()
					resp, err := tr.RoundTrip(req)
					if resp != nil || !errors.Is(err, map[string]error{"context": lab.ErrBroken, "Request.Cancel": throttle.ErrCanceled}[how]) {
						t.Errorf("got %v, %v", resp, err)
					}
					synctest.Wait()
					if took := time.Since(start); took != time.Second/2 || b.Closes != 1 {
						t.Errorf("took %v, body closed %d times", took, b.Closes)
					}
					if s := lab.State(t, tr, "a.example"); s.Waiting != 0 || s.InFlight != 0 || s.Next.Cause == throttle.CauseInFlight {
						t.Errorf("state %+v", s)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if resp, err := base.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)); errors.Is(err, context.DeadlineExceeded) {
						t.Error("the connection is still in use")
					} else if err == nil {
						resp.Body.Close()
					}
				})
			})
		}
	}
}

// backoffOf is a backoff of one delay.
type backoffOf time.Duration

func (d backoffOf) Delay(int, time.Duration) time.Duration { return time.Duration(d) }

// 307 and 308 send the body again, also after an attempt that failed; the client's cookies and
// redirects see each hop once.
func TestContractHTTPRedirectAfterRetry(t *testing.T) {
	for _, code := range []int{307, 308} {
		lab.Protocols(t, func(t *testing.T, two bool) {
			t.Helper()
			var got []string
			onward := atFirst(1, 503, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://b.example/there", code) })
			there := atFirst(1, 429, echo)
			c := &http.Client{Transport: &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = append(got, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, b))
				r.Body = io.NopCloser(strings.NewReader(string(b)))
				if r.URL.Path == "/there" {
					there(w, r)
				} else {
					onward(w, r)
				}
			})}}
			req := lab.Request(t, "PUT", "http://a.example/here", "text")
			resp, err := c.Do(req)
			if err != nil || lab.Read(t, resp) != "text" || resp.Request.URL.Path != "/there" || resp.Request.Response.Request != req {
				t.Errorf("%d: got %v, %v", code, resp, err)
			}
			if want := []string{"PUT /here text", "PUT /here text", "PUT /there text", "PUT /there text"}; !slices.Equal(got, want) {
				t.Errorf("%d: the server sees %q, want %q", code, got, want)
			}
		})
	}
}

// An attempt that is still being written while the next one runs shares nothing with it.
func TestContractHTTPLateWriter(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		const size = 200_000
		var got []string
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Attempt") != "2" {
				w.WriteHeader(http.StatusServiceUnavailable) // it has not read the body, most of which is unwritten
				return
			}
			n, err := io.Copy(io.Discard, r.Body)
			got = append(got, fmt.Sprint(n, err, r.Header["Attempt"]))
		})
		req := lab.Request(t, "PUT", "http://a.example/", "")
		var bodies []*sluggish
		req.GetBody = func() (io.ReadCloser, error) {
			b := &sluggish{left: size}
			bodies = append(bodies, b)
			return b, nil
		}
		req.Body, _ = req.GetBody()
		req.ContentLength = size
		req.Header.Set("Attempt", "1")
		before := maps.Clone(req.Header)
		tr := &pacer.Transport{
			Base: base, Retry: pacer.Retry{
				Backoff:      lab.Steady{},
				PrepareRetry: func(r *http.Request) error { r.Header.Set("Attempt", "2"); return nil },
			},
		}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		time.Sleep(time.Hour) // the late one ends
		synctest.Wait()
		if want := []string{fmt.Sprint(size, " <nil> [2]")}; !slices.Equal(got, want) {
			t.Errorf("the server sees %q, want %q", got, want)
		}
		if len(bodies) != 2 || bodies[0].closes != 1 || bodies[1].closes != 1 || !maps.EqualFunc(req.Header, before, slices.Equal) {
			t.Errorf("%d bodies, header %v", len(bodies), req.Header)
		}
	})
}

// sluggish is a body of which each read takes a second.
type sluggish struct {
	left, closes int
}

func (b *sluggish) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	n := min(len(p), b.left, 10_000)
	if b.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *sluggish) Close() error { b.closes++; return nil }

// Whatever a Base between pacer and net/http does, one thing comes out, and nothing is lost of
// what is not its own.
func TestContractHTTPBadBase(t *testing.T) {
	for name, test := range map[string]struct {
		base func(below http.RoundTripper) lab.RoundTripper
		want string
	}{
		"response and error": {func(below http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) {
				resp, _ := below.RoundTrip(r)
				return resp, lab.ErrBroken
			}
		}, "connection broken"},
		"neither": {func(http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) { r.Body.Close(); return nil, nil }
		}, "neither a response nor an error"},
		"panic": {func(http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) { r.Body.Close(); panic("oops") }
		}, "oops"},
		"panic after the answer": {func(below http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) {
				resp, err := below.RoundTrip(r)
				if err == nil {
					resp.Body.Close()
				}
				panic("oops")
			}
		}, "oops"},
		"the body is not closed": {func(below http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) {
				next := r.Clone(r.Context())
				next.Body, next.ContentLength = nil, 0
				return below.RoundTrip(next)
			}
		}, "200 OK"},
		"the body is read later": {func(below http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) {
				next := r.Clone(r.Context())
				next.Body, next.ContentLength = nil, 0
				time.AfterFunc(time.Hour, func() { io.Copy(io.Discard, r.Body); r.Body.Close() })
				return below.RoundTrip(next)
			}
		}, "200 OK"},
		"another request's response": {func(below http.RoundTripper) lab.RoundTripper {
			return func(r *http.Request) (*http.Response, error) {
				resp, err := below.RoundTrip(r)
				if err == nil {
					resp.Request = nil
				}
				return resp, err
			}
		}, "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				below := lab.Serve(t, two, replies(200, "text"))
				tr := &pacer.Transport{Base: test.base(below), Retry: pacer.Retry{MaxAttempts: -1}, Quotas: lab.All(lab.InFlight(1))}
				for range 3 { // each of which needs the only slot
					req := lab.Request(t, "PUT", "http://a.example/", "")
					req.Body, req.ContentLength = lab.NewBody("text"), 4
					got := ""
					func() {
						defer func() {
							if p := recover(); p != nil {
								got = fmt.Sprint(p)
							}
						}()
						resp, err := tr.RoundTrip(req)
						if (resp == nil) == (err == nil) {
							t.Errorf("got %v and %v", resp, err)
						}
						if err != nil {
							got = err.Error()
							return
						}
						if *resp.Request.URL != *req.URL { // Base may have sent a copy
							t.Error("the response is not of this request")
						}
						lab.Read(t, resp)
						resp.Body.Close()
						got = resp.Status
					}()
					if !strings.Contains(got, test.want) || !lab.Free(t, tr, "a.example") {
						t.Errorf("got %q, want %q; the slot is free: %v", got, test.want, lab.Free(t, tr, "a.example"))
					}
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
