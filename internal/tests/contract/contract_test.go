// Package contract tests that a Transport keeps the contract of http.RoundTripper
// (net/http/client.go), and what http.Client relies on beside it:
//
//   - contract_test.go goes through it clause by clause, over scripted Bases; each test is named
//     after its clause. clause_test.go has what only shows over real connections;
//   - same_test.go plays scenes with and without a Transport, and compares what caller and server
//     see: of an exchange (exchange_test.go), of streams and upgrades (stream_test.go), of an
//     http.Client (client_test.go), and of what is sent again (again_test.go);
//   - wire_test.go has servers that do what no net/http server does;
//   - kept_test.go is about answers that are kept while their request waits to be sent again;
//   - trap_test.go has traps into which libraries of this kind have been seen to fall.
package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
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

// drainTime is how long an answer that nobody wants may hold the next attempt up (internal/body).
const drainTime = 100 * time.Millisecond

// "RoundTrip executes a single HTTP transaction, returning a Response": whatever
// it took, one request has one outcome, and the caller sees one response.
func TestContractOneOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(503, "one"), lab.Status(429, "two"), lab.Status(200, "three"),
		}}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != http.StatusOK || lab.Read(t, resp) != "three" || len(base.Got) != 3 {
			t.Errorf("got %v, %v after %q", resp, err, base.Got)
		}
	})
}

// "should not attempt to interpret the response": bodies and headers come as the
// server sent them.
func TestContractResponseAsItCame(t *testing.T) {
	for _, code := range []int{101, 200, 204, 301, 400, 401, 404, 418, 501} {
		sent := lab.Answer(nil, code, "body", "X-Any", "thing", "Retry-After", "7")
		want := maps.Clone(sent.Header)
		tr := &pacer.Transport{Base: lab.RoundTripper(func(*http.Request) (*http.Response, error) { return sent, nil }), Retry: pacer.Retry{MaxRefusals: -1}}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || resp != sent || !maps.EqualFunc(resp.Header, want, func(a, b []string) bool { return a[0] == b[0] }) || lab.Read(t, resp) != "body" {
			t.Errorf("%d: got %v, %v", code, resp, err)
		}
		if sent.Body.(*lab.Body).Closed() {
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
			base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(code, "why")}}
			tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}, Rand: lab.Zero}
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil || resp.StatusCode != code {
				t.Fatalf("%d: got %v, %v", code, resp, err)
			}
			if len(base.Got) != 3 {
				t.Errorf("%d: %d attempts, want 3", code, len(base.Got))
			}
			if b := resp.Body.(*lab.Body); b.Reads > 0 || b.Closed() {
				t.Errorf("%d: body was read or closed", code)
			}
			if got := lab.Read(t, resp); got != "why" {
				t.Errorf("%d: body %q", code, got)
			}
		})
	}
}

// "A non-nil err should be reserved for failure to obtain a response": of the
// server, which is returned as it is, or pacer's own, which says so.
func TestContractErrorMeansNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Fails(lab.ErrBroken)}}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if resp != nil || err != lab.ErrBroken || len(base.Got) != 3 { //nolint:errorlint // as it is
			t.Errorf("got %v, %v after %d attempts", resp, err, len(base.Got))
		}

		tr = &pacer.Transport{Base: base, Mode: pacer.ModeReject, Quotas: map[string]quota.Quotas{"/": {{N: 1, Kind: quota.TokenBucket}}}}
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(200, "")}
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		_, err = tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		var local *throttle.Error
		if !errors.As(err, &local) || !errors.Is(err, throttle.ErrWouldWait) {
			t.Fatalf("got %v", err)
		}
		if local.Bucket != "a.example" || local.Quota != "1/s even" || local.Wait != time.Second || !strings.HasPrefix(err.Error(), "throttle: a.example: not sent") {
			t.Errorf("got %+v: %v", local, err)
		}
	})
}

// "should not attempt to handle higher-level protocol details such as redirects,
// authentication, or cookies": they reach the http.Client above.
func TestContractNoRedirectsOrCookies(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308, 401, 407} {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(code, "", "Location", "http://b.example/", "Set-Cookie", "a=b"),
		}}
		resp, err := (&pacer.Transport{Base: base}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != code || len(base.Got) != 1 {
			t.Errorf("%d: got %v, %v after %q", code, resp, err, base.Got)
		}
	}
}

// "should not modify the request, except for consuming and closing the Request's
// Body", however often it is sent.
func TestContractRequestNotModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := lab.Request(t, "PUT", "http://a.example/x?y=z", "data")
		req.Header.Set("X-Mine", "1")
		before, header, b := *req, req.Header.Clone(), req.Body
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) {
				if r != req {
					r.Header.Set("X-Other", "2") // a bad base
				}
				return lab.Answer(r, 503, ""), nil
			},
		}}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
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
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
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
			return lab.Answer(r, 503, ""), nil
		})
		req := lab.Request(t, "PUT", "http://a.example/", strings.Repeat("x", 100))
		req.Header.Set("X-Mine", "1")
		if _, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(req); err != nil {
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
		var last *lab.Body
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if last != nil && (!last.Closed() || last.Reads == 0) {
				t.Error("the last answer is not drained and closed")
			}
			resp := lab.Answer(r, 503, strings.Repeat("x", 100))
			resp.ContentLength = -1
			last = resp.Body.(*lab.Body)
			return resp, nil
		})
		resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || last.Closed() || resp.Body != io.ReadCloser(last) {
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
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n > 1 {
				return lab.Answer(r, 200, ""), nil
			}
			resp := lab.Answer(r, 503, "")
			resp.ContentLength = -1
			resp.Body = trickle{closed, &once}
			return resp, nil
		})
		start := time.Now()
		resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
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
	ok := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}
	hourly := map[string]quota.Quotas{"/": {{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
	for name, test := range map[string]struct {
		tr  *pacer.Transport
		mod func(*http.Request) *http.Request
	}{
		"nil URL":          {&pacer.Transport{Base: ok}, func(r *http.Request) *http.Request { r.URL = nil; return r }},
		"nil Header":       {&pacer.Transport{Base: ok}, func(r *http.Request) *http.Request { r.Header = nil; return r }},
		"bad quota":        {&pacer.Transport{Base: ok, Quotas: map[string]quota.Quotas{"/": {{N: -1, Burst: 1}}}}, nil},
		"rejected":         {&pacer.Transport{Base: ok, Quotas: hourly, Mode: pacer.ModeReject}, nil},
		"over MaxWait":     {&pacer.Transport{Base: ok, Quotas: hourly}, nil},
		"queue full":       {&pacer.Transport{Base: ok, Quotas: hourly, MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour, Line: pacer.Line{MaxQueue: -1}}, nil},
		"cost above burst": {&pacer.Transport{Base: ok, Quotas: hourly, Cost: func(*http.Request) quota.Costs { return quota.Costs{quota.Requests: 2} }}, nil},
		"past its deadline": {&pacer.Transport{Base: ok, Quotas: hourly, MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			t.Cleanup(cancel)
			return r.WithContext(ctx)
		}},
		"canceled before": {&pacer.Transport{Base: ok, Quotas: hourly, MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			return r.WithContext(ctx)
		}},
		"canceled in line": {&pacer.Transport{Base: ok, Quotas: hourly, MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour}, func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(r.Context())
			time.AfterFunc(time.Second, cancel)
			return r.WithContext(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.tr.Validate() == nil && test.tr.Cost == nil {
					if _, err := test.tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
						t.Fatal(err)
					}
				}
				b := lab.NewBody("data")
				req := lab.Request(t, "POST", "http://a.example/", "")
				req.Body = b
				if test.mod != nil {
					req = test.mod(req)
				}
				resp, err := test.tr.RoundTrip(req)
				if err == nil || resp != nil {
					t.Errorf("got %v, %v, want an error", resp, err)
				}
				if !b.Closed() || b.Reads > 0 {
					t.Errorf("body closed: %v, read: %d", b.Closed(), b.Reads)
				}
			})
		})
	}
}

// The body of an attempt that is prepared and then not sent is closed too; one
// that cannot be prepared leaves the answer at hand.
func TestContractGetBodyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, "why")}}
		req := lab.Request(t, "PUT", "http://a.example/", "data")
		req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || lab.Read(t, resp) != "why" || len(base.Got) != 1 {
			t.Errorf("got %v, %v", resp, err)
		}
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 {
			t.Errorf("%d in flight", s.InFlight)
		}
	})
}

// "callers wanting to reuse the body for subsequent requests must arrange to wait
// for the Close call": a body without GetBody is sent once, as it came.
func TestContractBodyWithoutGetBodyIsSentOnce(t *testing.T) {
	for _, a := range []func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Status(429, ""), lab.Fails(lab.ErrBroken)} {
		synctest.Test(t, func(t *testing.T) {
			base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){a}}
			req := lab.Request(t, "PUT", "http://a.example/", "")
			b := lab.NewBody("data")
			req.Body = b
			(&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero}).RoundTrip(req)
			if len(base.Got) != 1 || base.Got[0] != "PUT http://a.example/ data" || b.Closes != 1 {
				t.Errorf("sent %q, closed %d times", base.Got, b.Closes)
			}
		})
	}
}

// "The Request's URL and Header fields must be initialized": else an error, not a
// panic in a Key or Cost function.
func TestContractURLAndHeader(t *testing.T) {
	tr := &pacer.Transport{Key: func(r *http.Request) string { return r.URL.Path + r.Header.Get("A") }}
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
		b := lab.NewBody("lost")
		both := &pacer.Transport{Retry: pacer.Retry{MaxAttempts: 1}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 200, "")
			resp.Body = b
			return resp, lab.ErrBroken
		})}
		if resp, err := both.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); resp != nil || err != lab.ErrBroken || !b.Closed() { //nolint:errorlint // as it is
			t.Errorf("got %v, %v", resp, err)
		}
		bare := &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: lab.RoundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
		})}
		if resp, err := bare.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil || resp.Body == nil {
			t.Errorf("got %v, %v", resp, err)
		}
		neither := &pacer.Transport{Retry: pacer.Retry{MaxAttempts: 1}, Base: lab.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })}
		if resp, err := neither.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); resp != nil || err == nil {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// Request.Cancel, which http.Client still sets, ends every wait.
func TestContractRequestCancel(t *testing.T) {
	for name, base := range map[string]http.RoundTripper{
		"in line":    &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}},
		"in backoff": &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, ""), lab.Fails(lab.ErrBroken)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Base: base, MaxWait: time.Hour, MaxStandstill: time.Hour, Retry: pacer.Retry{Backoff: lab.Steady{}}}
				if name == "in line" {
					tr.Quotas = map[string]quota.Quotas{"/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}
				}
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
					t.Fatal(err)
				}
				req := lab.Request(t, "GET", "http://a.example/", "")
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

// A request whose Request.Cancel is closed already is neither sent nor charged, and one whose Request.Cancel is
// open is, also where nothing delays them.
func TestContractRequestCancelClosed(t *testing.T) {
	open, closed := make(chan struct{}), make(chan struct{})
	close(closed)
	for _, tr := range []*pacer.Transport{{}, {Trace: &pacer.Trace{}}} { // of the first one, all but one request go the short way
		sent := 0
		tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			sent++
			return lab.Answer(req, 200, "", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", strconv.Itoa(100-sent), "X-RateLimit-Reset", "3600"), nil
		})
		for i := range 40 {
			body := lab.NewBody("x")
			req := lab.Request(t, "POST", "http://a.example/", "")
			req.Body, req.Cancel = body, closed //nolint:staticcheck // what is tested
			if _, err := tr.RoundTrip(req); !errors.Is(err, throttle.ErrCanceled) || sent != i || !body.Closed() {
				t.Fatalf("after %d answers: %v, %d sent, the body was closed: %v", i, err, sent, body.Closed())
			}
			req = lab.Request(t, "GET", "http://a.example/", "")
			req.Cancel = open //nolint:staticcheck // what is tested
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if s := tr.State(); s[0].InFlight != 0 || s[0].Limits[0].Available != 60 {
			t.Errorf("%+v, want 60 available and none in flight", s[0])
		}
	}
}

// http.Client.Timeout covers the wait in line, is seen to be missed on entry, and
// is a timeout.
func TestContractClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}
		tr := &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{"/": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}}}
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
		c := &http.Client{Transport: &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}}
		if _, err := c.Get("http://a.example/"); err == nil || base.closed != 0 {
			t.Errorf("got %v, closed %d times", err, base.closed)
		}
		c.CloseIdleConnections()
		if base.closed != 1 {
			t.Errorf("closed %d times, want 1", base.closed)
		}
		(&pacer.Transport{Base: lab.RoundTripper(nil)}).CloseIdleConnections() // has no such method
	})
}

// A Transport below itself is an error of each request. CloseIdleConnections has none, and comes back.
func TestContractCloseIdleConnectionsBelowItself(t *testing.T) {
	tr := &pacer.Transport{}
	tr.Base = tr
	c := &http.Client{Transport: tr}
	if _, err := c.Get("http://a.example/"); !errors.Is(err, throttle.ErrInvalid) {
		t.Errorf("got %v, want an invalid configuration", err)
	}
	c.CloseIdleConnections()
	defer func(rt http.RoundTripper) { http.DefaultTransport = rt }(http.DefaultTransport)
	http.DefaultTransport = &pacer.Transport{}
	http.DefaultClient.CloseIdleConnections() // as httptest.Server.Close does
}

type closer struct{ closed int }

func (c *closer) RoundTrip(*http.Request) (*http.Response, error) { return nil, lab.ErrBroken }
func (c *closer) CloseIdleConnections()                           { c.closed++ }

// 307 and 308 need GetBody to survive: it is on what Base is given.
func TestContractGetBodySurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.GetBody == nil {
				t.Error("no GetBody")
			}
			r.Body.Close()
			return lab.Answer(r, 503, ""), nil
		})
		(&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(lab.Request(t, "PUT", "http://a.example/", "data"))
	})
}

// Response.Request is the caller's, not a copy that an attempt was made with.
func TestContractResponseRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Status(200, "")}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(req)
		if err != nil || resp.Request != req {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// Response.Request is what Base says if Base sends another request than it is given, as x/oauth2 does to add a
// token: whoever looks at what was sent finds it there. The context is the caller's, and not that of an
// attempt.
func TestContractResponseRequestOfBase(t *testing.T) {
	type key struct{}
	for name, change := range map[string]func(*pacer.Transport){
		"plain":          func(*pacer.Transport) {},
		"sent again":     func(tr *pacer.Transport) { tr.Retry.ResendHeader = "Resent" },
		"AttemptTimeout": func(tr *pacer.Transport) { tr.Retry.AttemptTimeout = time.Minute },
		"IdempotencyKey": func(tr *pacer.Transport) { tr.Retry.IdempotencyKey = pacer.RandomIdempotencyKey },
		"BufferBody":     func(tr *pacer.Transport) { tr.Retry.BufferBody = 100 },
		"bytes":          func(tr *pacer.Transport) { tr.Quotas = pacer.Table{"/": {quota.MustParse("1000000 bytes/s")[0]}} },
		"two of them":    func(tr *pacer.Transport) { tr.Base = &pacer.Transport{Base: tr.Base} },
		"all": func(tr *pacer.Transport) {
			tr.Base = &pacer.Transport{Base: tr.Base}
			tr.Retry = pacer.Retry{ResendHeader: "Resent", AttemptTimeout: time.Minute, IdempotencyKey: pacer.RandomIdempotencyKey, BufferBody: 100}
		},
	} {
		for _, statuses := range [][]int{{200}, {429, 200}} {
			for _, clones := range []bool{false, true} {
				t.Run(fmt.Sprint(name, statuses, clones), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						n := 0
						tr := &pacer.Transport{Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
							io.Copy(io.Discard, r.Body)
							r.Body.Close()
							if clones {
								r = r.Clone(r.Context())
								r.Header.Set("Authorization", "Bearer token")
							}
							n++
							resp := lab.Answer(r, statuses[n-1], "text")
							resp.Request = r
							return resp, nil
						})}
						change(tr)
						req := lab.Request(t, "POST", "http://a.example/", "")
						req = req.WithContext(context.WithValue(t.Context(), key{}, "caller's"))
						req.Body, req.ContentLength = lab.NewBody("data"), -1
						if len(statuses) > 1 {
							req.GetBody = func() (io.ReadCloser, error) { return lab.NewBody("data"), nil }
						}
						resp, err := tr.RoundTrip(req)
						if err != nil {
							t.Fatal(err)
						}
						lab.Read(t, resp)
						resp.Body.Close()
						got := resp.Request
						if clones != (got.Header.Get("Authorization") != "") || !clones && got != req {
							t.Errorf("got the request %+v", got)
						}
						if ctx := got.Context(); ctx.Err() != nil || ctx.Value(key{}) != "caller's" {
							t.Errorf("its context is %v, %v", ctx, ctx.Err())
						}
						n = 0
						again := got.Clone(got.Context()) // no part of the exchange that is over
						again.Body, again.GetBody, again.ContentLength = http.NoBody, nil, 0
						if _, err := tr.RoundTrip(again); err != nil {
							t.Errorf("the same request once more: %v", err)
						}
					})
				})
			}
		}
	}
}

// "must be safe for concurrent use by multiple goroutines": run with -race.
func TestContractConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return lab.Answer(r, []int{200, 200, 429, 503}[rand.IntN(4)], "", "Retry-After", "1", "X-RateLimit-Remaining", "5", "X-RateLimit-Limit", "10"), nil
		})
		tr := &pacer.Transport{Base: base, MaxWait: time.Hour, MaxStandstill: time.Hour}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 20 {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
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
