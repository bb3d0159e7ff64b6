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
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// attempts sends a request to a script and returns how often it was sent.
func attempts(t *testing.T, tr *pacer.Transport, req *http.Request, answers ...func(*http.Request) (*http.Response, error)) int {
	t.Helper()
	base := &lab.Script{Answers: answers}
	tr.Base = base
	if tr.Retry.Backoff == nil {
		tr.Retry.Backoff = lab.Steady{}
	}
	resp, err := tr.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return len(base.Got)
}

func TestRetryStatuses(t *testing.T) {
	for code, want := range map[int]int{
		200: 1, 204: 1, 301: 1, 304: 1, 400: 1, 401: 1, 403: 1, 404: 1, 409: 1, 410: 1, 413: 1, 418: 1, 422: 1, 501: 1,
		408: 3, 425: 3, 500: 3, 502: 3, 503: 3, 504: 3, 520: 3, 529: 3,
		429: 11, // a refusal: MaxRefusals more
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{MaxWait: time.Hour, MaxStandstill: time.Hour, Retry: pacer.Retry{MaxRefusals: 10}}
			if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(code, "")); got != want {
				t.Errorf("%d was sent %d times, want %d", code, got, want)
			}
		})
	}
}

func TestRetryMethods(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, test := range []struct {
		method, header              string
		failed, lost, unsent, early int
	}{
		{"GET", "", 3, 3, 3, 3},
		{"HEAD", "", 3, 3, 3, 3},
		{"OPTIONS", "", 3, 3, 3, 3},
		{"TRACE", "", 3, 3, 3, 3},
		{"PUT", "", 3, 3, 3, 3},
		{"DELETE", "", 3, 3, 3, 3},
		{"QUERY", "", 3, 3, 3, 3},
		{"POST", "", 1, 1, 3, 3},
		{"PATCH", "", 1, 1, 3, 3},
		{"FROB", "", 1, 1, 3, 3},
		{"POST", "Idempotency-Key", 3, 3, 3, 3},
		{"PATCH", "X-Idempotency-Key", 3, 3, 3, 3},
	} {
		for what, c := range map[string]struct {
			answer func(*http.Request) (*http.Response, error)
			want   int
		}{
			"a 503":                   {lab.Status(503, ""), test.failed},
			"a broken connection":     {lab.Fails(lab.ErrBroken), test.lost},
			"a connection never made": {lab.Fails(dial), test.unsent},
			"a 429":                   {lab.Status(429, ""), test.early},
			"a 503 with a hint":       {lab.Status(503, "", "Retry-After", "1"), test.early},
		} {
			synctest.Test(t, func(t *testing.T) {
				req := lab.Request(t, test.method, "http://a.example/", "data")
				if test.header != "" {
					req.Header[test.header] = nil // present is enough, as for net/http
				}
				if got := attempts(t, &pacer.Transport{Retry: pacer.Retry{MaxRefusals: 2}}, req, c.answer); got != c.want {
					t.Errorf("%s %s after %s was sent %d times, want %d", test.method, test.header, what, got, c.want)
				}
			})
		}
	}
}

func TestRetryErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{io.ErrUnexpectedEOF, 3},
		{lab.ErrBroken, 3},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, 3},
		{fmt.Errorf("wrapped: %w", &net.DNSError{IsTimeout: true}), 3},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, 1},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, 1},
		{errors.New("unsupported protocol scheme \"foo\""), 1},
		{errors.New("net/http: invalid header field name \"a b\""), 1},
		{&throttle.Error{Err: throttle.ErrQueueFull}, 1}, // a pacer below gave up
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := attempts(t, &pacer.Transport{}, lab.Request(t, "GET", "http://a.example/", ""), lab.Fails(test.err)); got != test.want {
				t.Errorf("after %q sent %d times, want %d", test.err, got, test.want)
			}
		})
	}
}

func TestRetryServersWord(t *testing.T) {
	for _, test := range []struct {
		method string
		answer func(*http.Request) (*http.Response, error)
		want   int
	}{
		{"GET", lab.Status(503, "", "X-Should-Retry", "false"), 1},
		{"GET", lab.Status(429, "", "X-Should-Retry", "false"), 1},
		{"POST", lab.Status(409, "", "X-Should-Retry", "true"), 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := attempts(t, &pacer.Transport{}, lab.Request(t, test.method, "http://a.example/", ""), test.answer); got != test.want {
				t.Errorf("sent %d times, want %d", got, test.want)
			}
		})
	}
}

func TestRetryDelays(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		want   []time.Duration // since the start
	}{
		"backoff":                  {lab.Status(500, ""), []time.Duration{0, time.Second, 3 * time.Second}},
		"a hint is a lower bound":  {lab.Status(500, "", "Retry-After", "5"), []time.Duration{0, 5500 * time.Millisecond, 11 * time.Second}}, // and up to a tenth
		"a short hint is no bound": {lab.Status(500, "", "Retry-After-Ms", "10"), []time.Duration{0, time.Second, 3 * time.Second}},
		"too long a hint":          {lab.Status(500, "", "Retry-After", "121"), []time.Duration{0}},
		"refusal":                  {lab.Status(503, "", "Retry-After", "7"), []time.Duration{0, 7 * time.Second, 14 * time.Second, 21 * time.Second}},
		"refusal, too long":        {lab.Status(429, "", "Retry-After", "121"), []time.Duration{0}},
		"refusal without a hint":   {lab.Status(429, ""), []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){test.answer}}
				tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 3}, Rand: lab.Zero}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				var got []time.Duration
				for _, at := range base.At {
					got = append(got, at.Sub(start))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("sent at %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestRetryBodyIsSentWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Fails(lab.ErrBroken), lab.Status(200, "")}}
		if _, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(lab.Request(t, "PUT", "http://a.example/", "data")); err != nil {
			t.Fatal(err)
		}
		if want := slices.Repeat([]string{"PUT http://a.example/ data"}, 3); !slices.Equal(base.Got, want) {
			t.Errorf("sent %q", base.Got)
		}
	})
}

func TestRetryDeadlineReturnsTheAnswerAtHand(t *testing.T) {
	for name, a := range map[string]func(*http.Request) (*http.Response, error){
		"failure": lab.Status(503, "why"), "refusal": lab.Status(429, "why", "Retry-After", "10"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
				defer cancel()
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){a}}
				tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
				if err != nil || lab.Read(t, resp) != "why" || time.Since(start) != 0 {
					t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
				}
			})
		})
	}
}

func TestRetryCanceledInBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(300*time.Millisecond, func() { cancel(why) })
		var last *lab.Body
		tr := &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 503, "why")
			last = resp.Body.(*lab.Body)
			return resp, nil
		})}
		start := time.Now()
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
		if resp != nil || !errors.Is(err, why) || time.Since(start) != 300*time.Millisecond || !last.Closed() {
			t.Errorf("got %v, %v after %v; body closed: %v", resp, err, time.Since(start), last.Closed())
		}
	})
}

func TestRetryErrorOfTheLastAttemptIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Fails(lab.ErrBroken)}}
		_, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}).RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
		if err != lab.ErrBroken || len(base.Got) != 2 { //nolint:errorlint // as it is
			t.Errorf("got %v after %d attempts, want 2: the second delay would miss the deadline", err, len(base.Got))
		}
	})
}

func TestRetryBudgetBoundsTheLoadOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		send := func(n int) int {
			before := len(base.Got)
			for range n {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			return len(base.Got) - before
		}
		send(1000)
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(500, "")}
		if got := send(1000); got != 1010 {
			t.Errorf("1000 requests in an outage were sent %d times, want 1010: the reserve and no more", got)
		}
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(200, "")}
		send(50)
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(500, "")}
		if got := send(100); got != 105 {
			t.Errorf("sent %d times, want 105: 50 successes pay for 5 retries", got)
		}
	})
}

// A server that answers nothing but failures pays for no retries: neither those of the table, nor those of
// CheckRetry, nor those of requests that may not be sent twice.
func TestRetryBudgetOfFailures(t *testing.T) {
	all := func(context.Context, *http.Response, error) (bool, error) { return true, nil }
	for name, test := range map[string]struct {
		status int
		check  func(context.Context, *http.Response, error) (bool, error)
		posts  int
		want   int
	}{
		"503":               {503, nil, 0, 210},
		"408":               {408, nil, 0, 210},
		"425":               {425, nil, 0, 210},
		"408 to a POST":     {408, nil, 200, 410},
		"404 to CheckRetry": {404, all, 0, 210},
		"404":               {404, nil, 0, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: list(lab.Status(test.status, ""))}
				tr := &pacer.Transport{Base: base, Retry: pacer.Retry{BudgetRatio: 1, CheckRetry: test.check}}
				for i := range 200 + test.posts {
					method := "GET"
					if i%2 == 1 && i < 2*test.posts {
						method = "POST"
					}
					resp, err := tr.RoundTrip(lab.Request(t, method, "http://a.example/", ""))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				if got := len(base.Got); got != test.want {
					t.Errorf("sent %d times, want %d", got, test.want)
				}
			})
		})
	}
}

func TestRetryRefusalsCostNeitherAttemptsNorBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []func(*http.Request) (*http.Response, error){lab.Status(429, ""), lab.Status(429, ""), lab.Status(429, ""), lab.Status(429, ""), lab.Status(503, ""), lab.Status(503, ""), lab.Status(200, "")}
		tr := &pacer.Transport{}
		if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), answers...); got != 7 {
			t.Errorf("sent %d times, want 7", got)
		}
	})
}

func TestRetryGoesToTheFrontAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			func(r *http.Request) (*http.Response, error) {
				time.Sleep(10 * time.Millisecond)
				return lab.Answer(r, 429, "", "Retry-After", "1"), nil
			},
			lab.Status(200, ""),
		}}
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Quotas: map[string]quota.Quotas{"/": {{N: 1, Kind: quota.TokenBucket}}}}
		done := make(chan string, 3)
		for _, path := range []string{"first", "second", "third"} {
			go func() {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/"+path, ""))
				if err == nil {
					resp.Body.Close()
				}
				done <- path
			}()
			synctest.Wait()
		}
		if got := []string{<-done, <-done, <-done}; !slices.Equal(got, []string{"first", "second", "third"}) {
			t.Errorf("done in the order %v", got)
		}
	})
}

// A failure is not what was refused before: the next attempt is a new claim, and stands at the end of the line.
func TestRetryGoesToTheEndAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		statuses := []int{429, 500}
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/first" || len(statuses) == 0 {
				return lab.Answer(r, 200, ""), nil
			}
			status := statuses[0]
			statuses = statuses[1:]
			return lab.Answer(r, status, "", "Retry-After", "1"), nil
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{Backoff: lab.Steady{}}, Quotas: pacer.Table{"/": {{N: 1, Burst: 1}}}}
		done := make(chan string, 4)
		for _, path := range []string{"first", "second", "third", "fourth"} {
			go func() {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/"+path, ""))
				if err == nil {
					resp.Body.Close()
				}
				done <- path
			}()
			synctest.Wait()
		}
		if got := []string{<-done, <-done, <-done, <-done}; !slices.Equal(got, []string{"second", "third", "fourth", "first"}) {
			t.Errorf("done in the order %v", got)
		}
	})
}

func TestRetryHoldsTheWholeBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, ""), lab.Status(429, "", "Retry-After", "30"), lab.Status(200, "")}}
		var held []pacer.Answered
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Trace: &pacer.Trace{Answered: func(a pacer.Answered) {
			if a.Refused && a.Held > 0 {
				held = append(held, a)
			}
		}}}
		start := time.Now()
		for range 2 {
			if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("took %v, want 30s", took)
		}
		if len(held) != 1 || held[0].Held != 30*time.Second || held[0].Status != 429 || held[0].Bucket != "a.example" {
			t.Errorf("held %+v", held)
		}
		// Another host is not concerned.
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://b.example/", "")); err != nil || time.Since(start) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestRetryNewSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		tr := &pacer.Transport{
			Retry: pacer.Retry{
				MaxAttempts: 10,
				NewSequence: func() backoff.Sequence {
					made++
					return cenkalti.WithMaxRetries(cenkalti.NewConstantBackOff(time.Second), 2)
				},
			},
		}
		start := time.Now()
		for range 2 {
			if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(503, "")); got != 3 {
				t.Errorf("sent %d times, want 3", got)
			}
		}
		if made != 2 || time.Since(start) != 4*time.Second {
			t.Errorf("%d made, took %v", made, time.Since(start))
		}
	})
}

func TestRetryCheckRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{CheckRetry: func(_ context.Context, resp *http.Response, err error) (bool, error) {
			return err == nil && resp.StatusCode == http.StatusNotFound, nil
		}}}
		for code, want := range map[int]int{404: 3, 503: 1} {
			if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(code, "")); got != want {
				t.Errorf("%d was sent %d times, want %d", code, got, want)
			}
		}
		if got := attempts(t, tr, lab.Request(t, "POST", "http://a.example/", ""), lab.Status(404, "")); got != 1 {
			t.Errorf("POST was sent %d times: CheckRetry does not make it safe", got)
		}
	})
}

func TestRetryTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		tr := &pacer.Transport{Rand: lab.Zero, Trace: &pacer.Trace{
			Retrying: func(r pacer.Retrying) {
				got = append(got, fmt.Sprintf("%d %s refusal=%v status=%d err=%v in %v", r.Attempt, r.Bucket, r.Refused, r.Status, r.Err, r.Delay))
			},
			Queued: func(q pacer.Queued) { got = append(got, fmt.Sprintf("queued %s %s %v", q.Bucket, q.Cause, q.Wait)) },
		}}
		attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Fails(lab.ErrBroken), lab.Status(429, "", "Retry-After", "2"), lab.Status(503, ""), lab.Status(200, ""))
		want := []string{
			"1 a.example refusal=false status=0 err=connection broken in 1s",
			"queued a.example hold 2s",
			"2 a.example refusal=true status=429 err=<nil> in 0s",
			"3 a.example refusal=false status=503 err=<nil> in 2s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	})
}

func TestAnEmptyTraceIsFine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Trace: &pacer.Trace{}, Mode: pacer.ModeWait, Retry: pacer.Retry{MaxRefusals: 1}}
		attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Fails(lab.ErrBroken), lab.Status(429, "", "X-RateLimit-Remaining", "0"), lab.Status(503, ""))
	})
}

func TestRetryGaveUp(t *testing.T) {
	for name, test := range map[string]struct {
		tr     *pacer.Transport
		answer func(*http.Request) (*http.Response, error)
		fails  int // requests that failed before, 2 retries each
		want   pacer.Reason
	}{
		"attempts": {answer: lab.Status(503, ""), want: pacer.ReasonAttempts, tr: &pacer.Transport{}},
		"refusals": {answer: lab.Status(429, ""), want: pacer.ReasonRefusals, tr: &pacer.Transport{Retry: pacer.Retry{MaxRefusals: 3}}},
		"hint":     {answer: lab.Status(500, "", "Retry-After", "200"), want: pacer.ReasonHint, tr: &pacer.Transport{}},
		"too long": {answer: lab.Status(429, "", "Retry-After", "200"), want: pacer.ReasonWait, tr: &pacer.Transport{}},
		"budget":   {answer: lab.Status(503, ""), fails: 5, want: pacer.ReasonBudget, tr: &pacer.Transport{}},
		"stopped": {answer: lab.Fails(lab.ErrBroken), want: pacer.ReasonBackoff, tr: &pacer.Transport{
			Retry: pacer.Retry{NewSequence: func() backoff.Sequence { return &cenkalti.StopBackOff{} }},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []pacer.GaveUp
				test.tr.Trace = &pacer.Trace{GaveUp: func(g pacer.GaveUp) { got = append(got, g) }}
				var call, own pacer.Call // of the caller, and of a middleware
				req := lab.Request(t, "GET", "http://a.example/", "")
				req = req.WithContext(pacer.WithCall(pacer.WithCall(req.Context(), &call), &own))
				for range test.fails {
					if sent := attempts(t, test.tr, req, test.answer); sent != 3 || len(got) != 1 || got[0].Reason != pacer.ReasonAttempts {
						t.Fatalf("gave up %+v after %d attempts: the budget was spent before", got, sent)
					}
					got = nil
				}
				sent := attempts(t, test.tr, req, test.answer)
				if len(got) != 1 || got[0].Reason != test.want || got[0].Attempts != sent {
					t.Fatalf("gave up %+v after %d attempts, want %v", got, sent, test.want)
				}
				for _, c := range []*pacer.Call{&call, &own} {
					if why, because := c.GaveUp(); why != test.want || !errors.Is(because, got[0].Because) {
						t.Errorf("a Call gave up because of %v, %v, want %v, %v, as Trace was told", why, because, test.want, got[0].Because)
					}
				}
				time.Sleep(time.Hour) // a bucket may be held
				attempts(t, test.tr, req, lab.Status(200, ""))
				if why, because := call.GaveUp(); why != "" || because != nil {
					t.Errorf("after a success, gave up because of %v, %v, want nothing", why, because)
				}
			})
		})
	}
}

// What is never sent again, and what was not sent, has no reason not to be sent again.
func TestCallGaveUpOfNothing(t *testing.T) {
	never := func(context.Context, *http.Response, error) (bool, error) { return false, nil }
	for name, test := range map[string]struct {
		method string
		tr     *pacer.Transport
		answer func(*http.Request) (*http.Response, error)
	}{
		"a final answer":   {"GET", &pacer.Transport{}, lab.Status(404, "")},
		"that of a POST":   {"POST", &pacer.Transport{}, lab.Status(404, "")},
		"the last word":    {"POST", &pacer.Transport{}, lab.Status(503, "", "X-Should-Retry", "false")},
		"only observed":    {"POST", &pacer.Transport{Mode: pacer.ModeObserve}, lab.Status(503, "")},
		"CheckRetry is no": {"POST", &pacer.Transport{Retry: pacer.Retry{CheckRetry: never}}, lab.Status(503, "")},
		"nor of an error":  {"POST", &pacer.Transport{Retry: pacer.Retry{CheckRetry: never}}, lab.Fails(lab.ErrBroken)},
		"not sent": {"GET", &pacer.Transport{
			Quotas: pacer.Table{"/": {{N: 1, Per: time.Hour, Burst: 1}}}, Cost: func(*http.Request) quota.Costs { return quota.Costs{quota.Requests: 2} },
		}, lab.Status(503, "")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var call pacer.Call
				req := lab.Request(t, test.method, "http://a.example/", "")
				attempts(t, test.tr, req.WithContext(pacer.WithCall(req.Context(), &call)), test.answer)
				if why, because := call.GaveUp(); why != "" || because != nil || call.Attempts() > 1 {
					t.Errorf("gave up because of %v, %v, after %d attempts", why, because, call.Attempts())
				}
			})
		})
	}
}

// A request that may not be sent twice is not sent again after a failure, whatever went before and whatever
// else would stand in its way, and its Call is told so; but not by the pacer below, whose word does not count.
func TestGaveUpBecauseOfTheMethod(t *testing.T) {
	always := func(context.Context, *http.Response, error) (bool, error) { return true, nil }
	for name, test := range map[string]struct {
		retry   pacer.Retry
		answers []func(*http.Request) (*http.Response, error)
		nested  bool
		told    int
	}{
		"a failure":             {told: 1, answers: list(lab.Status(503, ""))},
		"no answer":             {told: 1, answers: list(lab.Fails(lab.ErrBroken))},
		"after a refusal":       {told: 1, answers: list(lab.Status(429, "", "Retry-After", "1"), lab.Status(500, ""))},
		"never sent, then lost": {told: 1, answers: list(lab.Fails(&net.OpError{Op: "dial", Err: lab.ErrBroken}), lab.Fails(lab.ErrBroken))},
		"asked for":             {told: 1, retry: pacer.Retry{CheckRetry: always}, answers: list(lab.Status(404, ""))},
		"asked for, no answer":  {told: 1, retry: pacer.Retry{CheckRetry: always}, answers: list(lab.Fails(lab.ErrBroken))},
		"sent once at most":     {told: 1, retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}, answers: list(lab.Status(503, ""))},
		"of two Transports":     {told: 2, nested: true, answers: list(lab.Status(503, ""))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []pacer.GaveUp
				base := &lab.Script{Answers: test.answers}
				tr := &pacer.Transport{Base: base, Retry: test.retry, Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { got = append(got, g) }}}
				if test.nested {
					tr = &pacer.Transport{Base: tr, Trace: tr.Trace}
				}
				var call pacer.Call
				req := lab.Request(t, "POST", "http://a.example/", "")
				req.Body, req.ContentLength = http.NoBody, 0
				resp, err := tr.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), &call)))
				if err == nil {
					resp.Body.Close()
				}
				if len(got) != test.told || len(base.Got) != len(test.answers) {
					t.Fatalf("gave up %+v, sent %d times", got, len(base.Got))
				}
				for _, g := range got {
					if g.Reason != pacer.ReasonMethod || g.Attempts != len(test.answers) || g.Because != nil || g.Wait != 0 || g.Delay != 0 || !errors.Is(g.Err, err) && !test.nested {
						t.Errorf("gave up %+v", g)
					}
				}
				if why, because := call.GaveUp(); why != pacer.ReasonMethod || because != nil {
					t.Errorf("the Call gave up because of %q, %v", why, because)
				}
			})
		})
	}
}

// A request whose context ends while it is answered is not sent again because of that, whichever status it is
// answered with: the Call and the hook hear of it, and the caller gets the error of the context.
func TestGaveUpBecauseOfTheEndOfTheContext(t *testing.T) {
	gone := errors.New("gone")
	for name, test := range map[string]struct {
		method string
		status int
		want   pacer.Reason
	}{
		"408":           {"GET", 408, pacer.ReasonCanceled},
		"425":           {"GET", 425, pacer.ReasonCanceled},
		"429":           {"GET", 429, pacer.ReasonCanceled},
		"500":           {"GET", 500, pacer.ReasonCanceled},
		"503":           {"GET", 503, pacer.ReasonCanceled},
		"500 of a POST": {"POST", 500, pacer.ReasonMethod},
		"404":           {"GET", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var told pacer.Reason
				tr := &pacer.Transport{
					Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
						cancel(gone)
						return lab.Answer(r, test.status, "why"), nil
					}),
					Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { told = g.Reason }},
				}
				var call pacer.Call
				resp, err := tr.RoundTrip(lab.Request(t, test.method, "http://a.example/", "").WithContext(pacer.WithCall(ctx, &call)))
				if err == nil {
					resp.Body.Close()
				}
				if canceled := test.want == pacer.ReasonCanceled; canceled != errors.Is(err, gone) || !canceled && err != nil {
					t.Errorf("returned %v", err)
				}
				if why, _ := call.GaveUp(); why != test.want || told != test.want {
					t.Errorf("the Call gave up because of %q, and the hook was told %q; want %q", why, told, test.want)
				}
			})
		})
	}
}

func TestRetryCanceledGivesTheBudgetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		time.AfterFunc(500*time.Millisecond, cancel)
		tr := &pacer.Transport{}
		req := lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)
		attempts(t, tr, req, lab.Status(503, ""))
		sent := 0
		for range 6 { // the last of which finds nothing left
			sent += attempts(t, tr, req.WithContext(t.Context()), lab.Status(503, ""))
		}
		if sent != 6+10 {
			t.Errorf("%d attempts of 6 requests, want 10 retries: the one before was not made", sent)
		}
	})
}

// A retry that is not made in the end costs nothing, whatever it is that keeps it from being made.
func TestRetryNotMadeGivesTheBudgetBack(t *testing.T) {
	for name, test := range map[string]struct {
		tr   *pacer.Transport
		want pacer.Reason
	}{
		"no turn": {&pacer.Transport{Quotas: pacer.Table{"/": {{N: 1, Per: time.Minute, Burst: 1}}}, MaxWait: time.Millisecond}, pacer.ReasonWait},
		"not prepared": {&pacer.Transport{
			Retry: pacer.Retry{PrepareRetry: func(*http.Request) error { return io.ErrNoProgress }},
		}, pacer.ReasonPrepare},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []pacer.Reason
				test.tr.Trace = &pacer.Trace{GaveUp: func(g pacer.GaveUp) { got = append(got, g.Reason) }}
				test.tr.Rand = func() float64 { return 0.5 }
				for range 12 { // the reserve is 10 retries
					if sent := attempts(t, test.tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(503, "")); sent != 1 {
						t.Fatalf("sent %d times, want once", sent)
					}
					time.Sleep(time.Minute)
				}
				if want := slices.Repeat([]pacer.Reason{test.want}, 12); !slices.Equal(got, want) {
					t.Errorf("gave up because of %v, want %v", got, want)
				}
			})
		})
	}
}

// A GetBody that returns nothing has no request sent without its body: the answer at hand is returned.
func TestRetryGetBodyOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got pacer.GaveUp
		base := &lab.Script{Answers: list(lab.Status(503, "why"))}
		tr := &pacer.Transport{Base: base, Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { got = g }}}
		req := lab.Request(t, "PUT", "http://a.example/", "text")
		req.GetBody = func() (io.ReadCloser, error) { return nil, nil }
		resp, err := tr.RoundTrip(req)
		if err != nil || lab.Read(t, resp) != "why" || len(base.Got) != 1 {
			t.Fatalf("got %v, %v, and sent %d times", resp, err, len(base.Got))
		}
		if want := "pacer: GetBody for another attempt returned neither a body nor an error"; got.Reason != pacer.ReasonPrepare || got.Because == nil || got.Because.Error() != want {
			t.Errorf("gave up because of %v, %v", got.Reason, got.Because)
		}
	})
}

// A body that does not come does not hold the next attempt up, and is not lost if there is none.
func TestRetryKeepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		go io.WriteString(pw, "wh")
		tr := &pacer.Transport{Retry: pacer.Retry{MaxAttempts: 2, Backoff: lab.Steady{}, PrepareRetry: func(*http.Request) error { return io.ErrNoProgress }}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp := lab.Answer(r, 503, "")
			resp.Body, resp.ContentLength = pr, 3
			return resp, nil
		})}
		start := time.Now()
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || time.Since(start) != time.Second {
			t.Fatalf("%v, %v after %v, want 1s", resp, err, time.Since(start))
		}
		go func() { io.WriteString(pw, "y"); pw.Close() }()
		text, err := io.ReadAll(resp.Body)
		if string(text) != "why" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
	})
}

// The factory of BackOffs may leave it to Backoff, and what it returns begins anew.
func TestRetryNewSequenceNilAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{NewSequence: func() backoff.Sequence { return nil }}}
		start := time.Now()
		if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(503, "")); got != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("sent %d times in %v, want 3 in 3s", got, time.Since(start))
		}
		used := cenkalti.WithMaxRetries(cenkalti.NewConstantBackOff(time.Second), 1)
		used.NextBackOff()
		tr = &pacer.Transport{Retry: pacer.Retry{NewSequence: func() backoff.Sequence { return used }}}
		if got := attempts(t, tr, lab.Request(t, "GET", "http://a.example/", ""), lab.Status(503, "")); got != 2 {
			t.Errorf("sent %d times, want 2", got)
		}
	})
}

// The delay that follows one which the server asked for is that of the backoff.
func TestRetryDelayAfterAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: list(lab.Status(500, "", "Retry-After", "5"), lab.Status(500, ""), lab.Status(200, ""))}
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: backoff.Decorrelated{Rand: func() float64 { return 1 }}}}
		start := time.Now()
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		if got, want := base.Times(start), []time.Duration{0, 5300 * time.Millisecond, 6200 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v: 300 ms after the hint, and 3 times that after it", got, want)
		}
	})
}
