package pacing

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// modeUsed sends two requests of which only one may go now, and returns which mode the
// second one met.
func modeUsed(t *testing.T, tr *pacer.Transport, call *pacer.Call, method, url string) pacer.Mode {
	t.Helper()
	var used pacer.Mode
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{
			Base: base, Mode: tr.Mode, Modes: tr.Modes, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket}), Rand: lab.Zero,
			Fallback: func(r *http.Request, _ *throttle.Error) (*http.Response, error) { return lab.Answer(r, 203, ""), nil },
		}
		start := time.Now()
		for range 2 {
			req := lab.Request(t, method, url, "")
			if call != nil {
				req = req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: call.Mode}))
			}
			resp, err := tr.RoundTrip(req)
			switch {
			case errors.Is(err, throttle.ErrWouldWait):
				used = pacer.ModeReject
			case err != nil:
				t.Fatal(err)
			case resp.StatusCode == http.StatusNonAuthoritativeInfo:
				used = pacer.ModeDegrade
			case time.Since(start) == time.Minute:
				used = pacer.ModeWait
			default:
				used = pacer.ModeObserve
			}
		}
	})
	return used
}

// What is more specific counts: a Call, then the pattern, then the Transport.
func TestModesMostSpecificWins(t *testing.T) {
	modes := map[string]pacer.Mode{
		"/":                       pacer.ModeDegrade,
		"a.example/":              pacer.ModeReject,
		"a.example/b/":            pacer.ModeWait,
		"GET a.example/b/":        pacer.ModeObserve,
		"POST a.example/b/{id}/c": pacer.ModeDegrade,
		"zero.example/":           "",
		"zero.example/x":          "",
		"POST other.example/":     pacer.ModeReject,
	}
	for _, test := range []struct {
		tr          *pacer.Transport
		call        *pacer.Call
		method, url string
		want        pacer.Mode
	}{
		{&pacer.Transport{}, nil, "GET", "http://a.example/", pacer.ModeWait},
		{&pacer.Transport{Mode: pacer.ModeReject}, nil, "GET", "http://a.example/", pacer.ModeReject},
		{&pacer.Transport{Modes: modes}, nil, "GET", "http://a.example/", pacer.ModeReject},
		{&pacer.Transport{Modes: modes}, nil, "GET", "http://A.Example:80/", pacer.ModeReject},
		{&pacer.Transport{Modes: modes}, nil, "POST", "http://a.example/b/", pacer.ModeWait},
		{&pacer.Transport{Modes: modes}, nil, "GET", "http://a.example/b/", pacer.ModeObserve},
		{&pacer.Transport{Modes: modes}, nil, "HEAD", "http://a.example/b/x", pacer.ModeObserve},
		{&pacer.Transport{Modes: modes}, nil, "POST", "http://a.example/b/7/c", pacer.ModeDegrade},
		{&pacer.Transport{Modes: modes}, nil, "GET", "http://other.example/", pacer.ModeDegrade},
		{&pacer.Transport{Modes: modes}, nil, "POST", "http://other.example/", pacer.ModeReject},
		{&pacer.Transport{Modes: modes, Mode: pacer.ModeObserve}, nil, "GET", "http://zero.example/", pacer.ModeObserve}, // zero is the Transport's
		{&pacer.Transport{Modes: modes, Mode: pacer.ModeObserve}, nil, "GET", "http://zero.example/x", pacer.ModeObserve},
		{&pacer.Transport{Modes: modes}, nil, "GET", "http://zero.example/", pacer.ModeWait},
		{&pacer.Transport{Modes: modes, Mode: pacer.ModeObserve}, &pacer.Call{}, "GET", "http://a.example/", pacer.ModeReject},
		{&pacer.Transport{Modes: modes, Mode: pacer.ModeObserve}, &pacer.Call{Mode: pacer.ModeWait}, "GET", "http://a.example/", pacer.ModeWait},
		{&pacer.Transport{Mode: pacer.ModeWait}, &pacer.Call{Mode: pacer.ModeDegrade}, "GET", "http://a.example/", pacer.ModeDegrade},
		{&pacer.Transport{Mode: pacer.ModeReject}, &pacer.Call{Mode: pacer.ModeObserve}, "GET", "http://a.example/", pacer.ModeObserve},
		// Modes for some hosts only: others get the Transport's.
		{&pacer.Transport{Modes: map[string]pacer.Mode{"b.example/": pacer.ModeReject}}, nil, "GET", "http://a.example/", pacer.ModeWait},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"GET b.example/": pacer.ModeReject}}, nil, "GET", "http://a.example/", pacer.ModeWait},
	} {
		if got := modeUsed(t, test.tr, test.call, test.method, test.url); got != test.want {
			t.Errorf("%s %s with Mode %v, %d Modes and Call %+v: got %v, want %v", test.method, test.url, test.tr.Mode, len(test.tr.Modes), test.call, got, test.want)
		}
	}
}

func TestModesValidate(t *testing.T) {
	fallback := lab.Fallback(lab.OK())
	for _, test := range []struct {
		tr   *pacer.Transport
		want string // in the error; empty if there is none
	}{
		{&pacer.Transport{Mode: pacer.ModeDegrade}, "Fallback is nil"},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"a.example/": pacer.ModeDegrade}}, "Fallback is nil"},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"a.example/": pacer.ModeDegrade}, Fallback: fallback}, ""},
		{&pacer.Transport{Fallback: fallback}, ""}, // a Call may ask for it
		{&pacer.Transport{Mode: "5"}, `Mode is "5", want wait, reject, degrade or observe`},
		{&pacer.Transport{Mode: "Wait"}, `Mode is "Wait"`},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"a.example/": "5"}}, `Modes["a.example/"] is "5", want wait, reject, degrade or observe`},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"a.example": pacer.ModeWait}}, `Modes["a.example"]`},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"http://a.example/": pacer.ModeWait}}, `Modes["http://a.example/"]: want a pattern without a scheme`},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"A.example/": pacer.ModeWait}}, `want the host in lower case: "a.example/"`},
		{&pacer.Transport{Modes: map[string]pacer.Mode{"a.example/{x}/b": pacer.ModeWait, "a.example/a/{y}": pacer.ModeWait}}, "Modes["},
		{&pacer.Transport{Line: pacer.Line{Reserve: 1}}, "Reserve is 1"},
		{&pacer.Transport{Line: pacer.Line{Reserve: -.1}}, "Reserve is -0.1"},
		{&pacer.Transport{Line: pacer.Line{Weight: func(*http.Request) int { return 1 }}}, "Line.Weight is set, want a Flow, without which it does nothing"},
	} {
		err := test.tr.Validate()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "pacer: ") || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("got %v, want %q in it", err, test.want)
		}
	}
}

// A Call may ask for what its Transport was not made for. What may go now goes; else
// that is the error, and the body is closed.
func TestModesDegradeOfACallWithoutFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}
		for _, want := range []string{"<nil>", "pacer: Fallback is nil, want a function that answers in ModeDegrade"} {
			b := lab.NewBody("data")
			req := lab.Request(t, "PUT", "http://a.example/", "")
			req.Body = b
			_, err := tr.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: pacer.ModeDegrade})))
			if fmt.Sprint(err) != want || !b.Closed() {
				t.Errorf("got %v, want %s; body closed: %v", err, want, b.Closed())
			}
		}
	})
}
