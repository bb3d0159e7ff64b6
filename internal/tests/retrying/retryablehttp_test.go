package retrying

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

// A CheckRetry gets errors as http.Client has them: the policies of go-retryablehttp take a bare
// error of a certificate for one that passes.
func TestCheckRetryGetsURLErrors(t *testing.T) {
	bare := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	if again, _ := retryablehttp.DefaultRetryPolicy(t.Context(), nil, bare); !again {
		t.Error("go-retryablehttp has learned to read bare errors: there is no need to wrap them any more")
	}
	synctest.Test(t, func(t *testing.T) {
		var got *url.Error
		tr := &pacer.Transport{Retry: pacer.Retry{CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			got = err.(*url.Error) //nolint:errorlint // as they do
			return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
		}}}
		if n := attempts(t, tr, lab.Request(t, "DELETE", "http://me:secret@a.example/", ""), lab.Fails(bare)); n != 1 {
			t.Errorf("sent %d times, want once", n)
		}
		if got.Op != "Delete" || got.URL != "http://me:xxxxx@a.example/" || !errors.Is(got.Err, bare) {
			t.Errorf("got %#v", got)
		}
	})
}

// What CheckRetry says of an answer counts, within what is safe and what the server says.
func TestCheckRetryDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes := func(context.Context, *http.Response, error) (bool, error) { return true, nil }
		no := func(context.Context, *http.Response, error) (bool, error) { return false, nil }
		with := func(context.Context, *http.Response, error) (bool, error) { return true, io.ErrNoProgress }
		marked := func(context.Context, *http.Response, error) (bool, error) {
			return true, fmt.Errorf("no: %w", backoff.Permanent(io.ErrNoProgress))
		}
		stop := func(context.Context, *http.Response, error) (bool, error) { return false, io.ErrNoProgress }
		dial := &net.OpError{Op: "dial", Err: lab.ErrBroken}
		for _, test := range []struct {
			method string
			check  retryablehttp.CheckRetry
			answer func(*http.Request) (*http.Response, error)
			want   int
		}{
			{"GET", yes, lab.Status(404, ""), 3},
			{"POST", yes, lab.Status(404, ""), 1},
			{"GET", yes, lab.Status(429, ""), 4},
			{"GET", yes, lab.Status(404, "", "X-Should-Retry", "false"), 1},
			{"GET", yes, lab.Fails(lab.ErrBroken), 3},
			{"POST", yes, lab.Fails(lab.ErrBroken), 1},
			{"POST", yes, lab.Fails(dial), 3},
			{"GET", yes, lab.Fails(backoff.Permanent(lab.ErrBroken)), 1},
			{"GET", yes, lab.Fails(&throttle.Error{Err: throttle.ErrQueueFull}), 1},
			{"GET", no, lab.Status(503, ""), 1},
			{"GET", no, lab.Status(429, ""), 1},
			{"POST", no, lab.Status(409, "", "X-Should-Retry", "true"), 1},
			{"POST", yes, lab.Status(409, "", "X-Should-Retry", "true"), 3},
			{"GET", no, lab.Fails(lab.ErrBroken), 1},
			{"GET", with, lab.Status(503, ""), 3},
			{"GET", with, lab.Fails(lab.ErrBroken), 3},
			{"GET", marked, lab.Status(503, ""), 1},
			{"GET", marked, lab.Fails(lab.ErrBroken), 1},
			{"GET", stop, lab.Status(503, ""), 1},
			{"GET", stop, lab.Fails(lab.ErrBroken), 1},
		} {
			tr := &pacer.Transport{Retry: pacer.Retry{CheckRetry: test.check, MaxRefusals: 3}}
			if got := attempts(t, tr, lab.Request(t, test.method, "http://a.example/", "text"), test.answer); got != test.want {
				t.Errorf("%+v: sent %d times", test, got)
			}
		}
	})
}

// One's own CheckRetry may leave the rest to ShouldRetry, which knows the request then.
func TestCheckRetryFallsBackOnShouldRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{MaxRefusals: 2}}
		tr.Retry.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			if resp != nil && resp.StatusCode == http.StatusNotFound {
				return true, nil // it will be there soon
			}
			return tr.ShouldRetry(ctx, resp, err)
		}
		for _, test := range []struct {
			method, key string
			answer      func(*http.Request) (*http.Response, error)
			want        int
		}{
			{"GET", "", lab.Status(404, ""), 3},
			{"GET", "", lab.Status(503, ""), 3},
			{"GET", "", lab.Status(400, ""), 1},
			{"GET", "", lab.Status(403, "", "Retry-After", "1"), 3},
			{"GET", "", lab.Fails(lab.ErrBroken), 3},
			{"POST", "", lab.Fails(lab.ErrBroken), 1},
			{"POST", "key", lab.Fails(lab.ErrBroken), 3},
			{"POST", "key", lab.Status(503, ""), 3},
		} {
			req := lab.Request(t, test.method, "http://a.example/", "text")
			if test.key != "" {
				req.Header.Set("Idempotency-Key", test.key)
			}
			if got := attempts(t, tr, req, test.answer); got != test.want {
				t.Errorf("%+v: sent %d times", test, got)
			}
		}
	})
}

func TestRetryableBackoff(t *testing.T) {
	constant := func(d time.Duration) retryablehttp.Backoff {
		return func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return d }
	}
	for name, test := range map[string]struct {
		backoff backoff.Backoff
		answer  func(*http.Request) (*http.Response, error)
		want    []time.Duration
	}{
		"theirs":             {pacer.RetryableBackoff(nil, 0, 0), lab.Status(500, ""), []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}},
		"theirs, faster":     {pacer.RetryableBackoff(nil, time.Millisecond, 3*time.Millisecond), lab.Status(500, ""), []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 6 * time.Millisecond}},
		"linear":             {pacer.RetryableBackoff(retryablehttp.LinearJitterBackoff, time.Second, time.Second), lab.Fails(lab.ErrBroken), []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}},
		"negative":           {pacer.RetryableBackoff(constant(-1), 0, 0), lab.Status(500, ""), []time.Duration{0, 0, 0, 0}},
		"the server is slow": {pacer.RetryableBackoff(constant(time.Second), 0, 0), lab.Status(500, "", "Retry-After", "5"), []time.Duration{0, 5500 * time.Millisecond, 11 * time.Second, 16500 * time.Millisecond}},
		"over MaxWait":       {pacer.RetryableBackoff(constant(2*time.Minute+1), 0, 0), lab.Status(500, ""), []time.Duration{0}},
		"as MaxWait":         {pacer.RetryableBackoff(constant(2*time.Minute), 0, 0), lab.Status(500, ""), []time.Duration{0, 2 * time.Minute, 4 * time.Minute, 6 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: list(test.answer)}
				start := time.Now()
				(&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: test.backoff, MaxAttempts: 4}, Rand: lab.Zero}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if got := base.Times(start); !slices.Equal(got, test.want) {
					t.Errorf("sent at %v, want %v", got, test.want)
				}
			})
		})
	}
}

// Their Backoff is given the answer, and min and max.
func TestRetryableBackoffGetsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		tr := &pacer.Transport{Retry: pacer.Retry{Backoff: pacer.RetryableBackoff(func(low, high time.Duration, n int, resp *http.Response) time.Duration {
			got = append(got, fmt.Sprint(low, high, n, resp != nil))
			return 0
		}, 2*time.Second, 3*time.Second)}}
		attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(503, ""), lab.Fails(lab.ErrBroken), lab.Status(200, ""))
		if want := []string{"2s 3s 0 true", "2s 3s 1 false"}; !slices.Equal(got, want) {
			t.Errorf("called with %q, want %q", got, want)
		}
	})
}

// theirClient is a Client of go-retryablehttp with rules of pacer, above a script.
func theirClient(tr *pacer.Transport, rt http.RoundTripper) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger, c.HTTPClient = nil, &http.Client{Transport: rt}
	c.CheckRetry, c.Backoff, c.RetryMax = tr.ShouldRetry, tr.RetryDelay, 2
	return c
}

// The rules of pacer in their Client: delays that begin at RetryWaitMin, hints as lower bounds,
// and what is safe to repeat.
func TestRulesInTheirClient(t *testing.T) {
	delays := []time.Duration{0, time.Second, 2 * time.Second}
	for name, test := range map[string]struct {
		method string
		answer func(*http.Request) (*http.Response, error)
		want   []time.Duration
		ok     bool // the answer is returned
	}{
		"GET, 503":               {"GET", lab.Status(503, ""), delays, false},
		"POST, 503":              {"POST", lab.Status(503, ""), []time.Duration{0}, true},
		"POST, 503, Retry-After": {"POST", lab.Status(503, "", "Retry-After", "7"), []time.Duration{0, 7 * time.Second, 14 * time.Second}, false},
		"POST, 429":              {"POST", lab.Status(429, ""), delays, false},
		"POST, 429, in ms":       {"POST", lab.Status(429, "", "Retry-After-Ms", "2500"), []time.Duration{0, 2500 * time.Millisecond, 5 * time.Second}, false},
		"POST, 425":              {"POST", lab.Status(425, ""), delays, false},
		"GET, 429, a short hint": {"GET", lab.Status(429, "", "Retry-After-Ms", "10"), delays, false},
		"GET, 429, a long hint":  {"GET", lab.Status(429, "", "Retry-After", "121"), []time.Duration{0}, true},
		"GET, 403, remaining 0":  {"GET", lab.Status(403, "", "X-RateLimit-Remaining", "0"), delays, false},
		"GET, 404":               {"GET", lab.Status(404, ""), []time.Duration{0}, true},
		"GET, 500, never":        {"GET", lab.Status(500, "", "X-Should-Retry", "false"), []time.Duration{0}, true},
		"GET, broken":            {"GET", lab.Fails(lab.ErrBroken), delays, false},
		"POST, broken":           {"POST", lab.Fails(lab.ErrBroken), []time.Duration{0}, false},
		"POST, never sent":       {"POST", lab.Fails(lab.ErrDial), delays, false},
		"GET, certificate":       {"GET", lab.Fails(fmt.Errorf("wrapped: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})), []time.Duration{0}, false},
		"GET, a pacer below":     {"GET", lab.Fails(&throttle.Error{Err: throttle.ErrQueueFull}), []time.Duration{0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: list(test.answer)}
				req, err := retryablehttp.FromRequest(lab.Request(t, test.method, "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				resp, err := theirClient(&pacer.Transport{Rand: lab.Zero}, base).Do(req)
				if got := base.Times(start); !slices.Equal(got, test.want) || (err == nil) != test.ok {
					t.Errorf("sent at %v, want %v; %v, %v", got, test.want, resp, err)
				}
			})
		})
	}
}

func TestRetryDelay(t *testing.T) {
	half := func() float64 { return 0.5 }
	for _, test := range []struct {
		tr       *pacer.Transport
		min, max time.Duration
		n        int
		header   string
		want     time.Duration
	}{
		{&pacer.Transport{Rand: half}, time.Second, 30 * time.Second, 0, "", 1500 * time.Millisecond},
		{&pacer.Transport{Rand: half}, time.Second, 30 * time.Second, 2, "", 3 * time.Second},
		{&pacer.Transport{Rand: half}, time.Second, 30 * time.Second, 1000, "", 15500 * time.Millisecond},
		{&pacer.Transport{Rand: half}, time.Second, time.Second, 3, "", time.Second},
		{&pacer.Transport{Rand: half}, time.Second, 30 * time.Second, 0, "1.4", 1500 * time.Millisecond},
		{&pacer.Transport{Rand: half}, time.Second, 30 * time.Second, 0, "1.6", 1600 * time.Millisecond},
		{&pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}}, time.Minute, time.Hour, 2, "", 4 * time.Second},
	} {
		resp := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}}
		if test.header != "" {
			resp.Header.Set("Retry-After", test.header)
		}
		if got := test.tr.RetryDelay(test.min, test.max, test.n, resp); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

// Their Client around a Transport: only one of the two should send again, and either can.
func TestTransportInTheirClient(t *testing.T) {
	for name, test := range map[string]struct {
		tr       *pacer.Transport
		retryMax int
		want     int
	}{
		"they send again":      {&pacer.Transport{Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}}, 2, 3},
		"pacer sends again":    {&pacer.Transport{}, 0, 3},
		"both, which is a lot": {&pacer.Transport{}, 2, 9},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: list(lab.Status(503, ""))}
				test.tr.Base, test.tr.Rand = base, lab.Zero
				c := theirClient(test.tr, test.tr)
				c.RetryMax = test.retryMax
				resp, err := c.Get("http://a.example/")
				if err == nil {
					resp.Body.Close()
				}
				if len(base.Got) != test.want {
					t.Errorf("sent %d times, want %d", len(base.Got), test.want)
				}
			})
		})
	}
}

// In their Client a Transport paces all the same: what the server says holds everybody.
func TestTransportInTheirClientHoldsTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: list(lab.Status(429, "", "Retry-After", "10"), lab.Status(200, ""))}
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}}
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := theirClient(tr, tr).Get("http://a.example/"); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/other", "")); err != nil {
			t.Error(err)
		}
		<-done
		if got := base.Times(start); len(got) != 3 || got[0] != 0 || got[1] != 10*time.Second || got[2] != 10*time.Second {
			t.Errorf("sent at %v, want nothing before 10s", got)
		}
	})
}

// Once stands above what a CheckRetry says, and their Client is told no.
func TestOnceIsTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := func(context.Context, *http.Response, error) (bool, error) { return true, nil }
		for _, answer := range []func(*http.Request) (*http.Response, error){lab.Status(404, ""), lab.Status(429, ""), lab.Status(503, ""), lab.Fails(lab.ErrBroken)} {
			req := lab.Request(t, "GET", "http://a.example/", "")
			req = req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Once: true}))
			if got := attempts(t, &pacer.Transport{Retry: pacer.Retry{CheckRetry: always}}, req, answer); got != 1 {
				t.Errorf("sent %d times, whatever CheckRetry says, want once", got)
			}
			resp, err := answer(req)
			if again, why := (&pacer.Transport{}).ShouldRetry(req.Context(), resp, err); again || why != nil {
				t.Errorf("%v, %v: ShouldRetry says %v, %v, want no", resp, err, again, why)
			}
		}
	})
}

// Headers of one's own are read for their Client, too.
func TestShouldRetryReadsOwnHeaders(t *testing.T) {
	tr := &pacer.Transport{Learn: pacer.Learn{Headers: &headers.Reader{Dialects: []headers.Dialect{{RetryAfter: "X-Come-Back"}}}}}
	resp := lab.Answer(lab.Request(t, "POST", "http://a.example/", ""), 503, "", "X-Come-Back", "3")
	if again, err := tr.ShouldRetry(t.Context(), resp, nil); !again || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if got := tr.RetryDelay(time.Second, time.Minute, 0, resp); got != 3*time.Second {
		t.Errorf("delay %v, want 3s", got)
	}
}

// They are told when the context has ended, as by their own policies.
func TestShouldRetryContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err := (&pacer.Transport{}).ShouldRetry(ctx, nil, lab.ErrBroken); again || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", again, err)
	}
	if again, err := (&pacer.Transport{}).ShouldRetry(t.Context(), nil, nil); again || err != nil {
		t.Errorf("%v, %v", again, err)
	}
}
