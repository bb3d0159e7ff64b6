package pacer

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// The contract of http.RoundTripper (net/http/client.go), clause by clause, and
// what http.Client relies on beside it. Each test is named after its clause.

// "RoundTrip executes a single HTTP transaction, returning a Response": whatever
// it took, one request has one outcome, and the caller sees one response.
func TestContractOneOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			status(503, "one"), status(429, "two"), status(200, "three"),
		}}
		tr := &Transport{Base: base, Backoff: steady{}, Rand: zero}
		resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != http.StatusOK || read(t, resp) != "three" || len(base.got) != 3 {
			t.Errorf("got %v, %v after %q", resp, err, base.got)
		}
	})
}

// "should not attempt to interpret the response": bodies and headers come as the
// server sent them.
func TestContractResponseAsItCame(t *testing.T) {
	for _, code := range []int{101, 200, 204, 301, 400, 401, 404, 418, 501} {
		sent := answer(nil, code, "body", "X-Any", "thing", "Retry-After", "7")
		want := maps.Clone(sent.Header)
		tr := &Transport{Base: roundTripper(func(*http.Request) (*http.Response, error) { return sent, nil }), MaxRefusals: -1}
		resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil || resp != sent || !maps.EqualFunc(resp.Header, want, func(a, b []string) bool { return a[0] == b[0] }) || read(t, resp) != "body" {
			t.Errorf("%d: got %v, %v", code, resp, err)
		}
		if sent.Body.(*body).closed() {
			t.Errorf("%d: body is closed", code)
		}
	}
}

// "must return err == nil if it obtained a response, regardless of the response's
// HTTP status code": after the last attempt, that is the server's last answer,
// body unread.
func TestContractErrNilIfResponse(t *testing.T) {
	for _, code := range []int{429, 500, 502, 503, 504, 408} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{answers: []func(*http.Request) (*http.Response, error){status(code, "why")}}
			tr := &Transport{Base: base, Backoff: steady{}, Rand: zero, MaxRefusals: 2}
			resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
			if err != nil || resp.StatusCode != code {
				t.Fatalf("%d: got %v, %v", code, resp, err)
			}
			if len(base.got) != 3 {
				t.Errorf("%d: %d attempts, want 3", code, len(base.got))
			}
			if b := resp.Body.(*body); b.reads > 0 || b.closed() {
				t.Errorf("%d: body was read or closed", code)
			}
			if got := read(t, resp); got != "why" {
				t.Errorf("%d: body %q", code, got)
			}
		})
	}
}

// "A non-nil err should be reserved for failure to obtain a response": of the
// server, which is returned as it is, or pacer's own, which says so.
func TestContractErrorMeansNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){fails(errBroken)}}
		tr := &Transport{Base: base, Backoff: steady{}}
		resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		if resp != nil || err != errBroken || len(base.got) != 3 { //nolint:errorlint // as it is
			t.Errorf("got %v, %v after %d attempts", resp, err, len(base.got))
		}

		tr = &Transport{Base: base, Mode: Reject, Quotas: map[string]throttle.Quotas{"/": {{N: 1}}}}
		base.answers = []func(*http.Request) (*http.Response, error){status(200, "")}
		if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		_, err = tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		var local *throttle.Error
		if !errors.As(err, &local) || !errors.Is(err, throttle.ErrWait) {
			t.Fatalf("got %v", err)
		}
		if local.Bucket != "a.example" || local.Quota != "1/s" || local.Wait != time.Second || !strings.HasPrefix(err.Error(), "pacer/throttle: a.example: not sent") {
			t.Errorf("got %+v: %v", local, err)
		}
	})
}

// "should not attempt to handle higher-level protocol details such as redirects,
// authentication, or cookies": they reach the http.Client above.
func TestContractNoRedirectsOrCookies(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308, 401, 407} {
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			status(code, "", "Location", "http://b.example/", "Set-Cookie", "a=b"),
		}}
		resp, err := (&Transport{Base: base}).RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != code || len(base.got) != 1 {
			t.Errorf("%d: got %v, %v after %q", code, resp, err, base.got)
		}
	}
}

// "should not modify the request, except for consuming and closing the Request's
// Body", however often it is sent.
func TestContractRequestNotModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := request(t, "PUT", "http://a.example/x?y=z", "data")
		req.Header.Set("X-Mine", "1")
		before, header, b := *req, req.Header.Clone(), req.Body
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) {
				if r != req {
					r.Header.Set("X-Other", "2") // a bad base
				}
				return answer(r, 503, ""), nil
			},
		}}
		tr := &Transport{Base: base, Backoff: steady{}}
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if req.Method != before.Method || req.URL != before.URL || req.Body != b || req.Host != before.Host || req.Context() != before.Context() || req.Pattern != "" {
			t.Errorf("request is %+v, was %+v", req, before)
		}
		if len(req.Header) != len(header) || req.Header.Get("X-Mine") != "1" {
			t.Errorf("header is %v, was %v", req.Header, header)
		}
	})
}

// "may read fields of the request in a separate goroutine": a late reader of one
// attempt shares neither body nor header map with the next.
func TestContractAttemptsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		var bodies []io.ReadCloser
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			bodies = append(bodies, r.Body)
			if len(bodies) > 1 {
				r.Header.Set("X-Mine", "changed") // the race detector sees it if it is shared
			}
			wg.Go(func() { // still writing while the next attempt runs
				for range 10 {
					time.Sleep(300 * time.Millisecond)
					_ = r.Header.Get("X-Mine")
					r.Body.Read(make([]byte, 1))
				}
				r.Body.Close()
			})
			return answer(r, 503, ""), nil
		})
		req := request(t, "PUT", "http://a.example/", strings.Repeat("x", 100))
		req.Header.Set("X-Mine", "1")
		if _, err := (&Transport{Base: base, Backoff: steady{}}).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if len(bodies) != 3 || bodies[0] == bodies[1] || bodies[1] == bodies[2] {
			t.Errorf("bodies %v", bodies)
		}
	})
}

// "Callers should not mutate or reuse the request until the Response's Body has
// been closed": we are such a caller of Base. Each answer is drained and closed
// before the next attempt.
func TestContractDiscardedResponsesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last *body
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if last != nil && (!last.closed() || last.reads == 0) {
				t.Error("the last answer is not drained and closed")
			}
			resp := answer(r, 503, strings.Repeat("x", 100))
			resp.ContentLength = -1
			last = resp.Body.(*body)
			return resp, nil
		})
		resp, err := (&Transport{Base: base, Backoff: steady{}}).RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil || last.closed() || resp.Body != io.ReadCloser(last) {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// A body that trickles does not hold the next attempt up.
func TestContractDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		var once sync.Once
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n > 1 {
				return answer(r, 200, ""), nil
			}
			resp := answer(r, 503, "")
			resp.ContentLength = -1
			resp.Body = trickle{closed, &once}
			return resp, nil
		})
		start := time.Now()
		resp, err := (&Transport{Base: base, Backoff: steady{}}).RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != http.StatusOK || time.Since(start) != time.Second+drainTime {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
		}
	})
}

// trickle is a body that never ends and whose reads block until it is closed.
type trickle struct {
	closed chan struct{}
	once   *sync.Once
}

func (b trickle) Read([]byte) (int, error) { <-b.closed; return 0, io.ErrClosedPipe }
func (b trickle) Close() error             { b.once.Do(func() { close(b.closed) }); return nil }

// "must always close the body, including on errors": on every path that does not
// reach Base, and those of GetBody too.
func TestContractBodyClosedOnEveryPath(t *testing.T) {
	ok := &script{answers: []func(*http.Request) (*http.Response, error){status(200, "")}}
	quota := map[string]throttle.Quotas{"/": {{N: 1, Per: time.Hour}}}
	for name, test := range map[string]struct {
		tr  *Transport
		mod func(*http.Request) *http.Request
	}{
		"nil URL":          {&Transport{Base: ok}, func(r *http.Request) *http.Request { r.URL = nil; return r }},
		"nil Header":       {&Transport{Base: ok}, func(r *http.Request) *http.Request { r.Header = nil; return r }},
		"bad quota":        {&Transport{Base: ok, Quotas: map[string]throttle.Quotas{"/": {{N: -1}}}}, nil},
		"rejected":         {&Transport{Base: ok, Quotas: quota, Mode: Reject}, nil},
		"over MaxWait":     {&Transport{Base: ok, Quotas: quota}, nil},
		"queue full":       {&Transport{Base: ok, Quotas: quota, MaxWait: 2 * time.Hour, MaxQueue: -1}, nil},
		"cost above burst": {&Transport{Base: ok, Quotas: quota, Cost: func(*http.Request) throttle.Costs { return throttle.Costs{throttle.Requests: 2} }}, nil},
		"past its deadline": {&Transport{Base: ok, Quotas: quota, MaxWait: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			t.Cleanup(cancel)
			return r.WithContext(ctx)
		}},
		"canceled before": {&Transport{Base: ok, Quotas: quota, MaxWait: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			return r.WithContext(ctx)
		}},
		"canceled in line": {&Transport{Base: ok, Quotas: quota, MaxWait: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(r.Context())
			time.AfterFunc(time.Second, cancel)
			return r.WithContext(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.tr.Validate() == nil && test.tr.Cost == nil {
					if _, err := test.tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
						t.Fatal(err)
					}
				}
				b := newBody("data")
				req := request(t, "POST", "http://a.example/", "")
				req.Body = b
				if test.mod != nil {
					req = test.mod(req)
				}
				resp, err := test.tr.RoundTrip(req)
				if err == nil || resp != nil {
					t.Errorf("got %v, %v, want an error", resp, err)
				}
				if !b.closed() || b.reads > 0 {
					t.Errorf("body closed: %v, read: %d", b.closed(), b.reads)
				}
			})
		})
	}
}

// The body of an attempt that is prepared and then not sent is closed too; one
// that cannot be prepared leaves the answer at hand.
func TestContractGetBodyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(503, "why")}}
		req := request(t, "PUT", "http://a.example/", "data")
		req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		tr := &Transport{Base: base, Backoff: steady{}}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || read(t, resp) != "why" || len(base.got) != 1 {
			t.Errorf("got %v, %v", resp, err)
		}
		if s := lookup(tr, req).State(); s.InFlight != 0 {
			t.Errorf("%d in flight", s.InFlight)
		}
	})
}

// "callers wanting to reuse the body for subsequent requests must arrange to wait
// for the Close call": a body without GetBody is sent once, as it came.
func TestContractBodyWithoutGetBodyIsSentOnce(t *testing.T) {
	for _, a := range []func(*http.Request) (*http.Response, error){status(503, ""), status(429, ""), fails(errBroken)} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{answers: []func(*http.Request) (*http.Response, error){a}}
			req := request(t, "PUT", "http://a.example/", "")
			b := newBody("data")
			req.Body = b
			(&Transport{Base: base, Backoff: steady{}, Rand: zero}).RoundTrip(req)
			if len(base.got) != 1 || base.got[0] != "PUT http://a.example/ data" || b.closes != 1 {
				t.Errorf("sent %q, closed %d times", base.got, b.closes)
			}
		})
	}
}

// "The Request's URL and Header fields must be initialized": else an error, not a
// panic in a Key or Cost function.
func TestContractURLAndHeader(t *testing.T) {
	tr := &Transport{Key: func(r *http.Request) string { return r.URL.Path + r.Header.Get("A") }}
	if _, err := tr.RoundTrip(&http.Request{Header: http.Header{}}); err == nil || err.Error() != "pacer: nil Request.URL" {
		t.Errorf("got %v", err)
	}
	if _, err := tr.RoundTrip(&http.Request{URL: &url.URL{Host: "a.example"}}); err == nil || err.Error() != "pacer: nil Request.Header" {
		t.Errorf("got %v", err)
	}
}

// A response and an error, or neither: what a bad Base returns does not get out.
func TestContractBadBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBody("lost")
		both := &Transport{MaxAttempts: 1, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.Body = b
			return resp, errBroken
		})}
		if resp, err := both.RoundTrip(request(t, "GET", "http://a.example/", "")); resp != nil || err != errBroken || !b.closed() { //nolint:errorlint // as it is
			t.Errorf("got %v, %v", resp, err)
		}
		bare := &Transport{Backoff: steady{}, Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
		})}
		if resp, err := bare.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil || resp.Body == nil {
			t.Errorf("got %v, %v", resp, err)
		}
		neither := &Transport{MaxAttempts: 1, Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })}
		if resp, err := neither.RoundTrip(request(t, "GET", "http://a.example/", "")); resp != nil || err == nil {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// Request.Cancel, which http.Client still sets, ends every wait.
func TestContractRequestCancel(t *testing.T) {
	for name, base := range map[string]http.RoundTripper{
		"in line":    &script{answers: []func(*http.Request) (*http.Response, error){status(200, "")}},
		"in backoff": &script{answers: []func(*http.Request) (*http.Response, error){status(200, ""), fails(errBroken)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Transport{Base: base, MaxWait: time.Hour, Backoff: steady{}}
				if name == "in line" {
					tr.Quotas = map[string]throttle.Quotas{"/": {{N: 1, Per: time.Minute}}}
				}
				if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
					t.Fatal(err)
				}
				req := request(t, "GET", "http://a.example/", "")
				cancel := make(chan struct{})
				req.Cancel = cancel //nolint:staticcheck // what is tested
				time.AfterFunc(500*time.Millisecond, func() { close(cancel) })
				start := time.Now()
				if _, err := tr.RoundTrip(req); !errors.Is(err, throttle.ErrCanceled) || time.Since(start) != 500*time.Millisecond {
					t.Errorf("got %v after %v", err, time.Since(start))
				}
			})
		})
	}
}

// http.Client.Timeout covers the wait in line, is seen to be missed on entry, and
// is a timeout.
func TestContractClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(200, "")}}
		tr := &Transport{Base: base, Quotas: map[string]throttle.Quotas{"/": {{N: 1, Per: 10 * time.Second}}}}
		c := &http.Client{Transport: tr, Timeout: 5 * time.Second}
		resp, err := c.Get("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		start := time.Now()
		_, err = c.Get("http://a.example/")
		var ue *url.Error
		if !errors.As(err, &ue) || !ue.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, throttle.ErrDeadline) {
			t.Errorf("got %v", err)
		}
		if time.Since(start) != 0 {
			t.Errorf("took %v, want none", time.Since(start))
		}
		var nested *url.Error
		if errors.As(ue.Err, &nested) {
			t.Error("url.Error in a url.Error")
		}
	})
}

// http.Client.CloseIdleConnections reaches Base, and a failure does not call it.
func TestContractCloseIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &closer{}
		c := &http.Client{Transport: &Transport{Base: base, Backoff: steady{}}}
		if _, err := c.Get("http://a.example/"); err == nil || base.closed != 0 {
			t.Errorf("got %v, closed %d times", err, base.closed)
		}
		c.CloseIdleConnections()
		if base.closed != 1 {
			t.Errorf("closed %d times, want 1", base.closed)
		}
		(&Transport{Base: roundTripper(nil)}).CloseIdleConnections() // has no such method
	})
}

type closer struct{ closed int }

func (c *closer) RoundTrip(*http.Request) (*http.Response, error) { return nil, errBroken }
func (c *closer) CloseIdleConnections()                           { c.closed++ }

// 307 and 308 need GetBody to survive: it is on what Base is given.
func TestContractGetBodySurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.GetBody == nil {
				t.Error("no GetBody")
			}
			r.Body.Close()
			return answer(r, 503, ""), nil
		})
		(&Transport{Base: base, Backoff: steady{}}).RoundTrip(request(t, "PUT", "http://a.example/", "data"))
	})
}

// Response.Request is the caller's, not a copy that an attempt was made with.
func TestContractResponseRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(503, ""), status(200, "")}}
		req := request(t, "GET", "http://a.example/", "")
		resp, err := (&Transport{Base: base, Backoff: steady{}}).RoundTrip(req)
		if err != nil || resp.Request != req {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// "must be safe for concurrent use by multiple goroutines": run with -race.
func TestContractConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return answer(r, []int{200, 200, 429, 503}[rand.IntN(4)], "", "Retry-After", "1", "X-RateLimit-Remaining", "5", "X-RateLimit-Limit", "10"), nil
		})
		tr := &Transport{Base: base, MaxWait: time.Hour}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 20 {
					resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
					if err != nil {
						t.Error(err)
						continue
					}
					resp.Body.Close()
				}
			})
		}
		wg.Wait()
	})
}
