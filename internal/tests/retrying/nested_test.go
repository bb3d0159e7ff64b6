package retrying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

// TestNestedOnlyTheOutermostRetries: of two layers, only the upper one sends again, for
// failures and for refusals, also where something stands between them; each still
// holds its bucket.
func TestNestedOnlyTheOutermostRetries(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){statusOf(status)}}
				var gaveUp []pacer.Reason
				trace := &pacer.Trace{GaveUp: func(g pacer.GaveUp) { gaveUp = append(gaveUp, g.Reason) }}
				inner := &pacer.Transport{Base: base, Rand: lab.Zero, Trace: trace}
				outer := &pacer.Transport{Base: lab.Wrap(inner), Rand: lab.Zero, Retry: pacer.Retry{MaxRefusals: 2}, Trace: trace}
				req := lab.Request(t, "GET", "http://a.example/", "")
				var c pacer.Call
				resp, err := outer.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), &c)))
				if err != nil || resp.StatusCode != status {
					t.Fatal(resp, err)
				}
				if n := len(base.Got); n != 3 || c.Attempts() != 3 {
					t.Errorf("sent %d times, %d attempts, want 3", n, c.Attempts())
				}
				nested := slices.DeleteFunc(slices.Clone(gaveUp), func(r pacer.Reason) bool { return r != pacer.ReasonNested })
				if len(nested) != 3 || len(gaveUp) != 4 {
					t.Errorf("gave up: %v, want three times ReasonNested and once the outer's reason", gaveUp)
				}
				if why, _ := c.GaveUp(); why != gaveUp[3] || why == pacer.ReasonNested {
					t.Errorf("the Call gave up because of %v, want %v", why, gaveUp[3])
				}
			})
		})
	}
}

// Above a Transport that sends again, one that only paces gives up after it. The Call is told which bound ended
// the retries, and not that there are none above. An answer of 503 is final for the one below if its CheckRetry
// says so.
func TestNestedGaveUpBelow(t *testing.T) {
	never := func(context.Context, *http.Response, error) (bool, error) { return false, nil }
	for name, test := range map[string]struct {
		status  int
		below   pacer.Retry
		want    pacer.Reason
		because error
	}{
		"a failure":        {503, pacer.Retry{MaxElapsed: time.Second}, pacer.ReasonElapsed, nil},
		"a refusal":        {429, pacer.Retry{MaxElapsed: time.Second}, pacer.ReasonElapsed, throttle.ErrDeadline},
		"final, for below": {503, pacer.Retry{CheckRetry: never}, pacer.ReasonAttempts, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){statusOf(test.status)}}
				test.below.Backoff = lab.Steady{}
				inner := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: test.below}
				outer := &pacer.Transport{Base: inner, Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}}
				var call, own pacer.Call
				req := lab.Request(t, "GET", "http://a.example/", "")
				req = req.WithContext(pacer.WithCall(pacer.WithCall(req.Context(), &call), &own))
				if resp, err := outer.RoundTrip(req); err != nil || resp.StatusCode != test.status {
					t.Fatal(resp, err)
				}
				for _, c := range []*pacer.Call{&call, &own} {
					if why, because := c.GaveUp(); why != test.want || !errors.Is(because, test.because) {
						t.Errorf("gave up because of %v, %v, want %v, %v", why, because, test.want, test.because)
					}
				}
				time.Sleep(time.Hour) // a bucket may be held
				base.Answers[0] = statusOf(200)
				if _, err := outer.RoundTrip(req); err != nil {
					t.Fatal(err)
				}
				if why, because := call.GaveUp(); why != "" || because != nil {
					t.Errorf("after a success, gave up because of %v, %v, want nothing", why, because)
				}
			})
		})
	}
}

// A program may have a pacer for http.DefaultTransport, and a Transport without a Base above it.
func TestNestedAboveDefaultTransport(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){statusOf(500)}}
		http.DefaultTransport = &pacer.Transport{Base: base, Rand: lab.Zero}
		outer := &pacer.Transport{Rand: lab.Zero}
		if _, err := outer.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil || len(base.Got) != 3 {
			t.Errorf("%v, sent %d times, want 3", err, len(base.Got))
		}
	})
}

// statusOf is an answer of a status.
func statusOf(code int) func(*http.Request) (*http.Response, error) { return lab.Status(code, "") }

// An inner Transport that is used alone as well retries then.
func TestNestedInnerAloneRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(500, "")}}
		inner := &pacer.Transport{Base: base, Rand: lab.Zero}
		outer := &pacer.Transport{Base: inner, Rand: lab.Zero, Retry: pacer.Retry{MaxAttempts: -1, MaxRefusals: -1}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		for _, tr := range []*pacer.Transport{inner, outer} { // an outer one that does not retry leaves it to the inner
			base.Got = nil
			if _, err := tr.RoundTrip(req); err != nil || len(base.Got) != 3 {
				t.Errorf("%v, sent %d times, want 3", err, len(base.Got))
			}
		}
	})
}

func TestPrepareRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signed []string
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			signed = append(signed, r.Header.Get("Date")+" "+string(text))
			return lab.Answer(r, 503, ""), nil
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{PrepareRetry: func(r *http.Request) error {
			r.Header.Set("Date", fmt.Sprint(len(signed)))
			return nil
		}}}
		req := lab.Request(t, "PUT", "http://a.example/", "text")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if want := []string{" text", "1 text", "2 text"}; !slices.Equal(signed, want) {
			t.Errorf("sent %q, want %q", signed, want)
		}
		if req.Header.Get("Date") != "" {
			t.Error("the caller's request was modified")
		}
	})
}

// An error of PrepareRetry ends it with the answer at hand; the new body is closed, and what
// was granted goes back.
func TestPrepareRetryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var why error
		var reason pacer.Reason
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, "busy")}}
		tr := &pacer.Transport{
			Base: base, Rand: lab.Zero, Quotas: lab.All(lab.Budget(10)),
			Retry: pacer.Retry{PrepareRetry: func(*http.Request) error { return io.ErrNoProgress }},
			Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) { reason, why = g.Reason, g.Because }},
		}
		req := lab.Request(t, "PUT", "http://a.example/", "text")
		again := lab.NewBody("text")
		req.GetBody = func() (io.ReadCloser, error) { return again, nil }
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		text.ReadFrom(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || text.String() != "busy" || len(base.Got) != 1 || !again.Closed() || !errors.Is(why, io.ErrNoProgress) || reason != pacer.ReasonPrepare {
			t.Errorf("%d %q, sent %d times, closed %v, because %v", resp.StatusCode, text.String(), len(base.Got), again.Closed(), why)
		}
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 {
			t.Errorf("%d in flight", s.InFlight)
		}
	})
}
