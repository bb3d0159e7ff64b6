package pacer

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// modeUsed sends two requests of which only one may go now, and returns which mode the
// second one met.
func modeUsed(t *testing.T, tr *Transport, call *Call, method, url string) Mode {
	t.Helper()
	var used Mode
	synctest.Test(t, func(t *testing.T) {
		base := ok()
		tr := &Transport{
			Base: base, Mode: tr.Mode, Modes: tr.Modes, Quotas: all(throttle.Quota{N: 1, Per: time.Minute}), Rand: zero,
			Fallback: roundTripper(func(r *http.Request) (*http.Response, error) { return answer(r, 203, ""), nil }),
		}
		start := time.Now()
		for range 2 {
			req := request(t, method, url, "")
			if call != nil {
				req = req.WithContext(WithCall(req.Context(), &Call{Mode: call.Mode}))
			}
			resp, err := tr.RoundTrip(req)
			switch {
			case errors.Is(err, throttle.ErrWait):
				used = Reject
			case err != nil:
				t.Fatal(err)
			case resp.StatusCode == http.StatusNonAuthoritativeInfo:
				used = Degrade
			case time.Since(start) == time.Minute:
				used = Wait
			default:
				used = Observe
			}
		}
	})
	return used
}

// What is more specific counts: a Call, then the pattern, then the Transport.
func TestModesMostSpecificWins(t *testing.T) {
	modes := map[string]Mode{
		"/":                       Degrade,
		"a.example/":              Reject,
		"a.example/b/":            Wait,
		"GET a.example/b/":        Observe,
		"POST a.example/b/{id}/c": Degrade,
		"zero.example/":           0,
		"zero.example/x":          0,
		"POST other.example/":     Reject,
	}
	for _, test := range []struct {
		tr          *Transport
		call        *Call
		method, url string
		want        Mode
	}{
		{&Transport{}, nil, "GET", "http://a.example/", Wait},
		{&Transport{Mode: Reject}, nil, "GET", "http://a.example/", Reject},
		{&Transport{Modes: modes}, nil, "GET", "http://a.example/", Reject},
		{&Transport{Modes: modes}, nil, "GET", "http://A.Example:80/", Reject},
		{&Transport{Modes: modes}, nil, "POST", "http://a.example/b/", Wait},
		{&Transport{Modes: modes}, nil, "GET", "http://a.example/b/", Observe},
		{&Transport{Modes: modes}, nil, "HEAD", "http://a.example/b/x", Observe},
		{&Transport{Modes: modes}, nil, "POST", "http://a.example/b/7/c", Degrade},
		{&Transport{Modes: modes}, nil, "GET", "http://other.example/", Degrade},
		{&Transport{Modes: modes}, nil, "POST", "http://other.example/", Reject},
		{&Transport{Modes: modes, Mode: Observe}, nil, "GET", "http://zero.example/", Observe}, // zero is the Transport's
		{&Transport{Modes: modes, Mode: Observe}, nil, "GET", "http://zero.example/x", Observe},
		{&Transport{Modes: modes}, nil, "GET", "http://zero.example/", Wait},
		{&Transport{Modes: modes, Mode: Observe}, &Call{}, "GET", "http://a.example/", Reject},
		{&Transport{Modes: modes, Mode: Observe}, &Call{Mode: Wait}, "GET", "http://a.example/", Wait},
		{&Transport{Mode: Wait}, &Call{Mode: Degrade}, "GET", "http://a.example/", Degrade},
		{&Transport{Mode: Reject}, &Call{Mode: Observe}, "GET", "http://a.example/", Observe},
		// Modes for some hosts only: others get the Transport's.
		{&Transport{Modes: map[string]Mode{"b.example/": Reject}}, nil, "GET", "http://a.example/", Wait},
		{&Transport{Modes: map[string]Mode{"GET b.example/": Reject}}, nil, "GET", "http://a.example/", Wait},
	} {
		if got := modeUsed(t, test.tr, test.call, test.method, test.url); got != test.want {
			t.Errorf("%s %s with Mode %v, %d Modes and Call %+v: got %v, want %v", test.method, test.url, test.tr.Mode, len(test.tr.Modes), test.call, got, test.want)
		}
	}
}

func TestModesValidate(t *testing.T) {
	fallback := roundTripper(nil)
	for _, test := range []struct {
		tr   *Transport
		want string // in the error; empty if there is none
	}{
		{&Transport{Mode: Degrade}, "Fallback is nil"},
		{&Transport{Modes: map[string]Mode{"a.example/": Degrade}}, "Fallback is nil"},
		{&Transport{Modes: map[string]Mode{"a.example/": Degrade}, Fallback: fallback}, ""},
		{&Transport{Fallback: fallback}, ""}, // a Call may ask for it
		{&Transport{Mode: 5}, "Mode is 5, want Wait, Reject, Degrade or Observe"},
		{&Transport{Mode: -1}, "Mode is -1"},
		{&Transport{Modes: map[string]Mode{"a.example/": 5}}, `Mode is 5, want Wait, Reject, Degrade or Observe in Modes["a.example/"]`},
		{&Transport{Modes: map[string]Mode{"a.example": Wait}}, `Modes["a.example"]`},
		{&Transport{Modes: map[string]Mode{"http://a.example/": Wait}}, `Modes["http://a.example/"]: want a pattern without a scheme`},
		{&Transport{Modes: map[string]Mode{"A.example/": Wait}}, `want the host in lower case: "a.example"`},
		{&Transport{Modes: map[string]Mode{"a.example/{x}/b": Wait, "a.example/a/{y}": Wait}}, "Modes["},
		{&Transport{Reserve: 1}, "Reserve is 1"},
		{&Transport{Reserve: -.1}, "Reserve is -0.1"},
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
		tr := &Transport{Base: ok(), Quotas: all(throttle.Quota{N: 1, Per: time.Minute})}
		for _, want := range []string{"<nil>", "pacer: Fallback is nil, want a RoundTripper that answers in mode Degrade"} {
			b := newBody("data")
			req := request(t, "PUT", "http://a.example/", "")
			req.Body = b
			_, err := tr.RoundTrip(req.WithContext(WithCall(req.Context(), &Call{Mode: Degrade})))
			if fmt.Sprint(err) != want || !b.closed() {
				t.Errorf("got %v, want %s; body closed: %v", err, want, b.closed())
			}
		}
	})
}

func TestModeText(t *testing.T) {
	for _, test := range []struct {
		text string
		mode Mode
		out  string
	}{
		{"", 0, "default"},
		{"default", 0, "default"},
		{"wait", Wait, "wait"},
		{"Wait", Wait, "wait"},
		{"REJECT", Reject, "reject"},
		{"degrade", Degrade, "degrade"},
		{"observe", Observe, "observe"},
	} {
		var m Mode
		if err := m.UnmarshalText([]byte(test.text)); err != nil || m != test.mode {
			t.Errorf("%q is %v, %v, want %v", test.text, m, err, test.mode)
		}
		if out, err := m.MarshalText(); err != nil || string(out) != test.out {
			t.Errorf("%v is written %q, %v, want %q", m, out, err, test.out)
		}
		var c struct{ Mode Mode }
		in, err := json.Marshal(struct{ Mode string }{test.text})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(in, &c); err != nil || c.Mode != test.mode {
			t.Errorf("%s is %v, %v, want %v", in, c.Mode, err, test.mode)
		}
		if out, err := json.Marshal(c); err != nil || string(out) != fmt.Sprintf(`{"Mode":%q}`, test.out) {
			t.Errorf("%v is %s, %v", c, out, err)
		}
	}
	m := Reject
	for _, bad := range []string{"hold", "wait ", "1", "Mode(1)"} {
		if err := m.UnmarshalText([]byte(bad)); err == nil || err.Error() != fmt.Sprintf("pacer: mode %q, want wait, reject, degrade or observe", bad) || m != Reject {
			t.Errorf("%q is %v, %v", bad, m, err)
		}
	}
	for _, bad := range []Mode{-1, 5} {
		if out, err := bad.MarshalText(); err == nil {
			t.Errorf("%v is written %q", bad, out)
		}
	}
	var modes map[string]Mode
	if err := json.Unmarshal([]byte(`{"/": "wait", "GET a.example/": "observe"}`), &modes); err != nil || modes["/"] != Wait || modes["GET a.example/"] != Observe {
		t.Errorf("got %v, %v", modes, err)
	}
}

func TestModeFlag(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Mode
		err  bool
	}{
		{nil, Reject, false},
		{[]string{"-mode", "degrade"}, Degrade, false},
		{[]string{"-mode", "never"}, Reject, true},
	} {
		var m Mode
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.TextVar(&m, "mode", Reject, "what happens")
		if err := fs.Parse(test.args); m != test.want || (err != nil) != test.err {
			t.Errorf("%q: got %v, %v, want %v", test.args, m, err, test.want)
		}
	}
}
