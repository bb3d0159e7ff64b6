package pacer

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle"
)

func TestModeText(t *testing.T) {
	for _, test := range []struct {
		text string
		mode Mode
		out  string
	}{
		{"", 0, "default"},
		{"default", 0, "default"},
		{"wait", ModeWait, "wait"},
		{"Wait", ModeWait, "wait"},
		{"REJECT", ModeReject, "reject"},
		{"degrade", ModeDegrade, "degrade"},
		{"observe", ModeObserve, "observe"},
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
	m := ModeReject
	for _, bad := range []string{"hold", "wait ", "1", "Mode(1)"} {
		if err := m.UnmarshalText([]byte(bad)); err == nil || err.Error() != fmt.Sprintf("pacer: mode %q, want wait, reject, degrade or observe", bad) || m != ModeReject {
			t.Errorf("%q is %v, %v", bad, m, err)
		}
	}
	for _, bad := range []Mode{-1, 5} {
		if out, err := bad.MarshalText(); err == nil {
			t.Errorf("%v is written %q", bad, out)
		}
	}
	var modes map[string]Mode
	if err := json.Unmarshal([]byte(`{"/": "wait", "GET a.example/": "observe"}`), &modes); err != nil || modes["/"] != ModeWait || modes["GET a.example/"] != ModeObserve {
		t.Errorf("got %v, %v", modes, err)
	}
}

func TestModeFlag(t *testing.T) {
	for _, test := range []struct {
		args []string
		want Mode
		err  bool
	}{
		{nil, ModeReject, false},
		{[]string{"-mode", "degrade"}, ModeDegrade, false},
		{[]string{"-mode", "never"}, ModeReject, true},
	} {
		var m Mode
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.TextVar(&m, "mode", ModeReject, "what happens")
		if err := fs.Parse(test.args); m != test.want || (err != nil) != test.err {
			t.Errorf("%q: got %v, %v, want %v", test.args, m, err, test.want)
		}
	}
}

// TestBoundsOfARequestGoByTheMonotonicClock: if the wall clock is set while a request waits to be sent again, MaxElapsed is
// as far away as it was.
func TestBoundsOfARequestGoByTheMonotonicClock(t *testing.T) {
	var l throttle.Limiter
	g, err := l.Acquire(t.Context(), throttle.Claim{})
	if err != nil {
		t.Fatal(err)
	}
	first := new(Transport).newExchange(nil, &terms{}, g, nil).firstSent
	if !strings.Contains(first.String(), " m=") || !first.Round(0).Equal(g.Time()) {
		t.Errorf("first sent at %v, want %v with the monotonic clock", first, g.Time())
	}
}
