package pacer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// wrapper is a RoundTripper around another, as oauth2.Transport and many more are.
type wrapper struct {
	name string
	rt   http.RoundTripper
}

func (w wrapper) RoundTrip(req *http.Request) (*http.Response, error) { return w.rt.RoundTrip(req) }

func TestNests(t *testing.T) {
	inner := &Transport{}
	loop := &wrapper{}
	loop.rt = loop
	for name, test := range map[string]struct {
		base http.RoundTripper
		want bool
	}{
		"nothing":           {nil, false},
		"net/http":          {http.DefaultTransport, false},
		"pacer":             {inner, true},
		"nil pacer":         {(*Transport)(nil), false},
		"wrapped":           {wrapper{"a", inner}, true},
		"wrapped twice":     {&wrapper{"a", &wrapper{"b", inner}}, true},
		"a wrapper of none": {wrapper{"a", http.DefaultTransport}, false},
		"nil inside":        {wrapper{}, false},
		"around itself":     {loop, false},
		"a client":          {struct{ wrapper }{wrapper{"a", inner}}, true},
		"a function":        {roundTripper(inner.RoundTrip), false},
	} {
		if got := nests(test.base); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestNestedOnlyTheOutermostRetries: of two layers, only the upper one sends again, for
// failures and for refusals, also where something stands between them; each still
// holds its bucket.
func TestNestedOnlyTheOutermostRetries(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &script{answers: []func(*http.Request) (*http.Response, error){statusOf(status)}}
				var gaveUp []error
				trace := &Trace{GaveUp: func(g GaveUp) { gaveUp = append(gaveUp, g.Why) }}
				inner := &Transport{Base: base, Rand: zero, Trace: trace}
				outer := &Transport{Base: wrapper{"x", inner}, Rand: zero, MaxRefusals: 2, Trace: trace}
				req := request(t, "GET", "http://a.example/", "")
				var c Call
				resp, err := outer.RoundTrip(of(req, &c))
				if err != nil || resp.StatusCode != status {
					t.Fatal(resp, err)
				}
				if n := len(base.got); n != 3 || c.Attempts() != 3 {
					t.Errorf("sent %d times, %d attempts, want 3", n, c.Attempts())
				}
				nested := slices.DeleteFunc(slices.Clone(gaveUp), func(err error) bool { return !errors.Is(err, ErrNested) })
				if len(nested) != 3 || len(gaveUp) != 4 {
					t.Errorf("gave up: %v, want three times ErrNested and once the outer's reason", gaveUp)
				}
			})
		})
	}
}

// statusOf is an answer of a status.
func statusOf(code int) func(*http.Request) (*http.Response, error) { return status(code, "") }

// An inner Transport that is used alone as well retries then.
func TestNestedInnerAloneRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(500, "")}}
		inner := &Transport{Base: base, Rand: zero}
		outer := &Transport{Base: inner, Rand: zero, MaxAttempts: -1, MaxRefusals: -1}
		req := request(t, "GET", "http://a.example/", "")
		for _, tr := range []*Transport{inner, outer} { // an outer one that does not retry leaves it to the inner
			base.got = nil
			if _, err := tr.RoundTrip(req); err != nil || len(base.got) != 3 {
				t.Errorf("%v, sent %d times, want 3", err, len(base.got))
			}
		}
	})
}

func TestPrepareRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signed []string
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			signed = append(signed, r.Header.Get("Date")+" "+string(text))
			return answer(r, 503, ""), nil
		})
		tr := &Transport{Base: base, Rand: zero, PrepareRetry: func(r *http.Request) error {
			r.Header.Set("Date", fmt.Sprint(len(signed)))
			return nil
		}}
		req := request(t, "PUT", "http://a.example/", "text")
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
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(503, "busy")}}
		tr := &Transport{
			Base: base, Rand: zero, Quotas: all(budget(10)),
			PrepareRetry: func(*http.Request) error { return io.ErrNoProgress },
			Trace:        &Trace{GaveUp: func(g GaveUp) { why = g.Why }},
		}
		req := request(t, "PUT", "http://a.example/", "text")
		again := newBody("text")
		req.GetBody = func() (io.ReadCloser, error) { return again, nil }
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		text.ReadFrom(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || text.String() != "busy" || len(base.got) != 1 || !again.closed() || !errors.Is(why, io.ErrNoProgress) {
			t.Errorf("%d %q, sent %d times, closed %v, because %v", resp.StatusCode, text.String(), len(base.got), again.closed(), why)
		}
		if s := lookup(tr, req).State(); s.InFlight != 0 {
			t.Errorf("%d in flight", s.InFlight)
		}
	})
}
