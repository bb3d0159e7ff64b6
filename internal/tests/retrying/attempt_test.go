package retrying

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// deaf does not answer, and says nothing of why it gave up.
func deaf(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestAttemptTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		method  string
		answers []func(*http.Request) (*http.Response, error)
		want    []time.Duration
		err     bool
	}{
		"the second answers":    {"GET", list(hang, lab.Status(200, "")), []time.Duration{0, 6 * time.Second}, false},
		"a base that says less": {"GET", list(deaf, lab.Status(200, "")), []time.Duration{0, 6 * time.Second}, false},
		"none answers":          {"GET", list(hang), []time.Duration{0, 6 * time.Second, 13 * time.Second}, true},
		"a POST":                {"POST", list(hang), []time.Duration{0}, true},
		"a base that is late":   {"POST", list(late(7 * time.Second)), []time.Duration{0}, true},
		"in time":               {"POST", list(late(5*time.Second - 1)), []time.Duration{0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: test.answers}
				tr := &pacer.Transport{Base: base, Retry: pacer.Retry{AttemptTimeout: 5 * time.Second, Backoff: lab.Steady{}}}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, test.method, "http://a.example/", "text"))
				if got := base.Times(start); !slices.Equal(got, test.want) {
					t.Errorf("sent at %v, want %v", got, test.want)
				}
				if (err != nil) != test.err || (resp != nil) == test.err {
					t.Fatalf("got %v, %v", resp, err)
				}
				if err == nil {
					return
				}
				var timeout net.Error
				above := &url.Error{Op: "Get", Err: err}
				if !errors.Is(err, pacer.ErrAttemptTimeout) || errors.Is(err, context.DeadlineExceeded) || !errors.As(above, &timeout) || !timeout.Timeout() {
					t.Errorf("got %v: want an ErrAttemptTimeout that is a timeout, and not the caller's", err)
				}
				if want := "pacer: no answer within the AttemptTimeout of 5s"; err.Error() != want {
					t.Errorf("got %q, want %q", err, want)
				}
			})
		})
	}
}

func list(answers ...func(*http.Request) (*http.Response, error)) []func(*http.Request) (*http.Response, error) {
	return answers
}

// late answers after d, whatever its context says.
func late(d time.Duration) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(d)
		return lab.Answer(req, 200, "text"), nil
	}
}

// An answer that came too late is closed.
func TestAttemptTimeoutClosesTheLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var resp *http.Response
		tr := &pacer.Transport{Retry: pacer.Retry{AttemptTimeout: time.Second}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			var err error
			resp, err = late(2 * time.Second)(req)
			return resp, err
		})}
		if _, err := tr.RoundTrip(lab.Request(t, "POST", "http://a.example/", "")); !errors.Is(err, pacer.ErrAttemptTimeout) || !resp.Body.(*lab.Body).Closed() {
			t.Errorf("got %v, body closed: %v", err, resp.Body.(*lab.Body).Closed())
		}
	})
}

// The wait for a turn is not part of an attempt.
func TestAttemptTimeoutDoesNotCountTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: list(late(900 * time.Millisecond))}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{AttemptTimeout: time.Second}, Quotas: map[string]quota.Quotas{"/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}}
		start := time.Now()
		for range 2 {
			if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start); got != time.Minute+900*time.Millisecond {
			t.Errorf("took %v, want 1m0.9s", got)
		}
	})
}

// The context of an attempt lives until its answer was read, for as long as that takes, and
// ends then.
func TestAttemptTimeoutEndsWithTheBody(t *testing.T) {
	for name, test := range map[string]struct {
		method, text string
		end          func(*http.Response)
		atOnce       bool
	}{
		"read":    {"GET", "text", func(r *http.Response) { io.Copy(io.Discard, r.Body) }, false},
		"closed":  {"GET", "text", func(r *http.Response) { r.Body.Close() }, false},
		"no body": {"HEAD", "", func(*http.Response) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ctx context.Context
				tr := &pacer.Transport{Retry: pacer.Retry{AttemptTimeout: time.Second}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					ctx = req.Context()
					return lab.Answer(req, 200, test.text), nil
				})}
				req := lab.Request(t, test.method, "http://a.example/", "")
				resp, err := tr.RoundTrip(req)
				if err != nil || resp.Request != req {
					t.Fatal(resp, err)
				}
				time.Sleep(time.Hour)
				if ended := ctx.Err() != nil; ended != test.atOnce {
					t.Errorf("after an hour the context has ended: %v, want %v", ended, test.atOnce)
				}
				test.end(resp)
				if ctx.Err() == nil {
					t.Error("the context has not ended with the body")
				}
			})
		})
	}
}

// An upgraded connection can still be written to.
func TestAttemptTimeoutUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		tr := &pacer.Transport{Retry: pacer.Retry{AttemptTimeout: time.Second}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp := lab.Answer(req, 101, "")
			resp.Body = here
			return resp, nil
		})}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		go func() { io.WriteString(there, "pong") }()
		go io.ReadFull(there, make([]byte, 4))
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("%T cannot be written to", resp.Body)
		}
		if _, err := io.WriteString(conn, "ping"); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Error(err)
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("CloseWrite: %v", err)
		}
		conn.Close()
		there.Close()
	})
}

// A server may answer before it has read the request, with no body or with one that ends: the rest is sent all
// the same.
func TestAttemptTimeoutEarlyAnswer(t *testing.T) {
	for _, status := range []int{http.StatusNoContent, http.StatusOK} {
		synctest.Test(t, func(t *testing.T) {
			var got string
			var gotErr error
			done := make(chan struct{})
			tr := &pacer.Transport{Retry: pacer.Retry{AttemptTimeout: time.Second}, Base: lab.Serve(t, true, func(w http.ResponseWriter, r *http.Request) {
				defer close(done)
				if status == http.StatusOK {
					w.Header().Set("Content-Length", "0")
				}
				w.WriteHeader(status)
				http.NewResponseController(w).Flush()
				b, err := io.ReadAll(r.Body)
				got, gotErr = string(b), err
			})}
			pr, pw := io.Pipe()
			req := lab.Request(t, "POST", "http://a.example/", "")
			req.Body, req.ContentLength = pr, -1
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				time.Sleep(time.Minute)
				io.WriteString(pw, "text ")
			}
			pw.Close()
			if <-done; got != "text text text " || gotErr != nil {
				t.Errorf("status %d: the server has read %q, %v", status, got, gotErr)
			}
			resp.Body.Close()
		})
	}
}

// When the server sends no more on an upgraded connection, what the caller writes still flows.
func TestAttemptTimeoutHalfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		conn := struct {
			io.Reader
			io.WriteCloser
		}{strings.NewReader("pong"), here}
		tr := &pacer.Transport{
			Retry: pacer.Retry{AttemptTimeout: time.Second}, Quotas: pacer.Table{"/": quota.MustParse("100kB/s streamed")},
			Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				resp := lab.Answer(req, 101, "")
				resp.Body = conn
				return resp, nil
			}),
		}
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); string(text) != "pong" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
		go io.ReadFull(there, make([]byte, 4))
		if _, err := io.WriteString(resp.Body.(io.Writer), "ping"); err != nil {
			t.Errorf("Write: %v", err)
		}
		resp.Body.Close()
		there.Close()
	})
}

// In mode Observe nothing is cut short.
func TestAttemptTimeoutObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{AttemptTimeout: time.Second}, Mode: pacer.ModeObserve, Base: lab.RoundTripper(late(time.Minute))}
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Error(err)
		}
	})
}

// The next attempt begins before MaxElapsed has passed, or the answer at hand is returned at once.
func TestMaxElapsed(t *testing.T) {
	once := map[string]quota.Quotas{"/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}
	for name, test := range map[string]struct {
		max    time.Duration
		quotas map[string]quota.Quotas
		answer func(*http.Request) (*http.Response, error)
		want   []time.Duration
		took   time.Duration
	}{
		"no bound":              {0, nil, lab.Status(503, "why"), []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, 7 * time.Second},
		"Forever":               {pacer.Forever, nil, lab.Status(503, "why"), []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, 7 * time.Second},
		"negative":              {-1, nil, lab.Status(503, "why"), []time.Duration{0}, 0},
		"negative, a refusal":   {-1, nil, lab.Status(429, "why", "Retry-After", "1"), []time.Duration{0}, 0},
		"the delay fits":        {3*time.Second + 1, nil, lab.Status(503, "why"), []time.Duration{0, time.Second, 3 * time.Second}, 3 * time.Second},
		"the delay just fits":   {3 * time.Second, nil, lab.Status(503, "why"), []time.Duration{0, time.Second, 3 * time.Second}, 3 * time.Second},
		"the delay does not":    {3*time.Second - 1, nil, lab.Status(503, "why"), []time.Duration{0, time.Second}, time.Second},
		"the place in line":     {time.Minute - 1, once, lab.Status(503, "why"), []time.Duration{0}, time.Second},
		"the hold of a refusal": {20 * time.Second, nil, lab.Status(429, "why", "Retry-After", "15"), []time.Duration{0, 15 * time.Second}, 15 * time.Second},
		"the first is too late": {time.Second, nil, lab.Status(503, "why", "Retry-After", "30"), []time.Duration{0}, 0},
		"what is answered slowly": {2 * time.Second, nil, func(r *http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			return lab.Answer(r, 503, "why"), nil
		}, []time.Duration{0}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var why pacer.Reason
				base := &lab.Script{Answers: list(test.answer)}
				tr := &pacer.Transport{
					Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxAttempts: 4, MaxElapsed: test.max}, Rand: lab.Zero, Quotas: test.quotas,
					Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { why = g.Reason }},
				}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				took := time.Since(start)
				if err != nil || lab.Read(t, resp) != "why" {
					t.Fatal(resp, err)
				}
				if got := base.Times(start); !slices.Equal(got, test.want) || took != test.took {
					t.Errorf("sent at %v, took %v; want %v and %v", got, took, test.want, test.took)
				}
				if elapsed := why == pacer.ReasonElapsed; elapsed != (test.max != 0 && test.max != pacer.Forever) {
					t.Errorf("gave up because of %v", why)
				}
			})
		})
	}
}

// The deadline of the context is told from MaxElapsed, whichever is earlier.
func TestMaxElapsedIsNotTheDeadline(t *testing.T) {
	for most, want := range map[time.Duration]pacer.Reason{29 * time.Second: pacer.ReasonElapsed, 31 * time.Second: pacer.ReasonDeadline} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var why pacer.GaveUp
			tr := &pacer.Transport{
				Base: &lab.Script{Answers: list(lab.Status(503, ""))}, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxElapsed: most},
				Quotas: map[string]quota.Quotas{"/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}},
				Trace:  &pacer.Trace{GaveUp: func(g pacer.GaveUp) { why = g }},
			}
			if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)); err != nil {
				t.Error(err)
			}
			if why.Reason != want || !errors.Is(why.Because, throttle.ErrDeadline) {
				t.Errorf("MaxElapsed %v: gave up because of %+v, want %v", most, why, want)
			}
		})
	}
}

// The time in line before the first attempt does not count.
func TestMaxElapsedBeginsWithTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: list(lab.Status(200, ""), lab.Status(200, ""), lab.Status(503, ""), lab.Status(200, ""))}
		tr := &pacer.Transport{
			Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxElapsed: 2 * time.Second},
			Quotas: map[string]quota.Quotas{"/": {{N: 2, Per: time.Minute, Kind: quota.FixedWindow}}},
		}
		start := time.Now()
		for range 3 {
			if resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil || resp.StatusCode != http.StatusOK {
				t.Error(resp, err)
			}
		}
		if got, want := base.Times(start), []time.Duration{0, 0, time.Minute, 61 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
	})
}

// A server that wants to know is told how often a request was sent before.
func TestResendHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		answers := &lab.Script{Answers: list(lab.Status(429, ""), lab.Status(503, ""), lab.Status(200, ""))}
		tr := &pacer.Transport{Rand: lab.Zero, Retry: pacer.Retry{ResendHeader: "X-Resend-Count"}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Header.Get("X-Resend-Count"))
			return answers.RoundTrip(r)
		})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil || !slices.Equal(got, []string{"", "1", "2"}) || len(req.Header) > 0 {
			t.Errorf("%v, sent with %q, left %v", err, got, req.Header)
		}
	})
	if err := (&pacer.Transport{Retry: pacer.Retry{ResendHeader: "Resend Count"}}).Validate(); err == nil || err.Error() != `pacer: Retry.ResendHeader is "Resend Count", want the name of a header` {
		t.Errorf("got %v", err)
	}
}

// No attempt could be answered within a time below zero: that is an error from the start, nothing is sent, and
// the body is closed.
func TestAttemptTimeoutNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{AttemptTimeout: -1, MaxAttempts: -1}}
		b := lab.NewBody("data")
		req := lab.Request(t, "PUT", "http://a.example/", "")
		req.Body = b
		if _, err := tr.RoundTrip(req); !errors.Is(err, throttle.ErrInvalid) || err.Error() != "pacer: Retry.AttemptTimeout is -1ns, want the time of an attempt, or 0 for no bound" || len(base.Got) != 0 || !b.Closed() {
			t.Errorf("got %v, sent %q, body closed: %v", err, base.Got, b.Closed())
		}
	})
}
