package delay

import (
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
)

// series is a BackOff of cenkalti/backoff that counts how often it was reset.
type series struct {
	delays []time.Duration
	resets int
}

func (s *series) Reset() { s.resets++ }

func (s *series) NextBackOff() (d time.Duration) {
	if len(s.delays) == 0 {
		return cenkalti.Stop
	}
	d, s.delays = s.delays[0], s.delays[1:]
	return d
}

// previous is a Backoff whose delay is one second more than the one before.
type previous struct{}

func (previous) Delay(_ int, last time.Duration) time.Duration { return last + time.Second }

// policyFunc is a Backoff.
type policyFunc func(n int) time.Duration

func (f policyFunc) Delay(n int, _ time.Duration) time.Duration { return f(n) }

func TestNext(t *testing.T) {
	const s = time.Second
	half := func() float64 { return 0.5 }
	asks := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"7"}}}
	library := Retryable(nil, 0, 0)
	ofNone := func() backoff.Sequence { return nil }
	for name, test := range map[string]struct {
		p    Policy
		resp *http.Response
		most time.Duration   // that may be waited for
		want []time.Duration // after 1, 2, … failures; -1 if there is to be no other attempt, -2 if since the server asks for too long a delay
	}{
		"the default":                      {Policy{Rand: half}, nil, s, []time.Duration{backoff.Exponential{Rand: half}.Delay(1, 0), backoff.Exponential{Rand: half}.Delay(2, 0)}},
		"a Backoff":                        {Policy{Backoff: policyFunc(func(n int) time.Duration { return time.Duration(n) * s })}, nil, s, []time.Duration{s, 2 * s}},
		"one that knows the last delay":    {Policy{Backoff: previous{}}, nil, s, []time.Duration{s, 2 * s, 3 * s}},
		"one that ends":                    {Policy{Backoff: policyFunc(func(int) time.Duration { return math.MinInt64 })}, nil, s, []time.Duration{-1}},
		"of zero":                          {Policy{Backoff: policyFunc(func(int) time.Duration { return 0 })}, nil, s, []time.Duration{0}},
		"cenkalti's in place of a Backoff": {Policy{Backoff: previous{}, NewSequence: func() backoff.Sequence { return &series{delays: []time.Duration{5 * s, 3 * s}} }}, nil, s, []time.Duration{5 * s, 3 * s, -1}},
		"none of cenkalti's":               {Policy{Backoff: previous{}, NewSequence: ofNone}, nil, s, []time.Duration{s, 2 * s}},
		"go-retryablehttp's":               {Policy{Backoff: library}, nil, time.Hour, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		"and the server asks":              {Policy{Backoff: library}, asks, 7 * s, []time.Duration{7 * s, 7 * s}},
		"for too long a delay":             {Policy{Backoff: library}, asks, 7*s - 1, []time.Duration{-2}},
	} {
		t.Run(name, func(t *testing.T) {
			var d Delays
			for i, want := range test.want {
				got, ok, asked := d.Next(&test.p, i+1, test.resp, func(d time.Duration) bool { return d <= test.most })
				if wantOK, wantAsked := want >= 0, want == -2; ok != wantOK || asked != wantAsked || ok && got != want {
					t.Errorf("after %d failures: %v, ok %v, asked %v; want %v", i+1, got, ok, asked, want)
				}
			}
		})
	}
}

// A BackOff is made once for a request, and reset before it is used, as the loop of cenkalti/backoff does.
func TestNextResetsOnce(t *testing.T) {
	b, made := &series{delays: []time.Duration{1, 2, 3}}, 0
	p := Policy{NewSequence: func() backoff.Sequence { made++; return b }}
	var d Delays
	for n := range 3 {
		d.Next(&p, n+1, nil, nil)
	}
	if made != 1 || b.resets != 1 {
		t.Errorf("made %d times, reset %d times", made, b.resets)
	}
}

func TestBetween(t *testing.T) {
	const s = time.Second
	half := func() float64 { return 0.5 }
	asks := func(d time.Duration) headers.Retry { return headers.Retry{Known: true, After: d} }
	for _, test := range []struct {
		p        Policy
		min, max time.Duration
		n        int
		hint     headers.Retry
		want     time.Duration
	}{
		{Policy{Rand: half}, s, s, 1, headers.Retry{}, s},
		{Policy{Rand: half}, s, 0, 5, headers.Retry{}, s},
		{Policy{Rand: half}, s, 9 * s, 1, headers.Retry{}, s + backoff.Exponential{Initial: s, Max: 8 * s, Rand: half}.Delay(1, 0)},
		{Policy{Rand: half}, s, 9 * s, 40, headers.Retry{}, s + 4*s},
		{Policy{Rand: half}, s, s, 1, asks(s + 1), s + 1},
		{Policy{Rand: half}, s, s, 1, asks(s - 1), s},
		{Policy{Rand: half}, s, s, 1, headers.Retry{After: time.Hour}, s},
		{Policy{Backoff: policyFunc(func(n int) time.Duration { return time.Duration(n) })}, s, 9 * s, 3, headers.Retry{}, 3},
		{Policy{Backoff: policyFunc(func(n int) time.Duration { return time.Duration(n) })}, s, 9 * s, 3, asks(s), s},
	} {
		if got := test.p.Between(test.min, test.max, test.n, test.hint); got != test.want {
			t.Errorf("from %v to %v after %d failures, %+v: %v, want %v", test.min, test.max, test.n, test.hint, got, test.want)
		}
	}
}

// A function of go-retryablehttp counts from zero, is given its bounds, and has no negative delays.
func TestRetryable(t *testing.T) {
	answer := new(http.Response)
	for _, test := range []struct {
		min, max, wantMin, wantMax time.Duration
		n, want                    int
		resp                       *http.Response
	}{
		{0, 0, time.Second, 30 * time.Second, 1, 0, nil},
		{2, 3, 2, 3, 2, 1, answer},
		{2, 0, 2, 30 * time.Second, 0, 0, nil},
	} {
		r := Retryable(func(min, max time.Duration, n int, resp *http.Response) time.Duration {
			if min != test.wantMin || max != test.wantMax || n != test.want || resp != test.resp {
				t.Errorf("called with %v, %v, %d, %v, want %+v", min, max, n, resp, test)
			}
			return -1
		}, test.min, test.max)
		if got := r.(retryable).delayAfter(test.n, test.resp); got != 0 {
			t.Errorf("%v, want 0", got)
		}
		if test.resp == nil && r.Delay(test.n, time.Hour) != 0 {
			t.Error("Delay is another one")
		}
	}
}

// Every policy of package backoff is asked, a new one too, and through a pointer; a nil pointer is one if its
// Delay bears that.
func TestMistakes(t *testing.T) {
	type own struct{ backoff.Constant }
	var none *backoff.Exponential
	for _, test := range []struct {
		policy backoff.Backoff
		want   string
	}{
		{backoff.Exponential{Initial: 5}, "B.Initial is 5ns, want 1ms or more: a number alone is in nanoseconds, 5 * time.Second in seconds"},
		{&backoff.Exponential{Initial: 5}, "B.Initial is 5ns, want 1ms or more: a number alone is in nanoseconds, 5 * time.Second in seconds"},
		{backoff.Linear{Max: 3000}, "B.Max is 3µs, want 1ms or more"},
		{backoff.Exponential{Max: -1, Factor: 5}, ""},
		{own{backoff.Constant{Interval: 5}}, ""},
		{backoff.Func(func(int, time.Duration) time.Duration { return 5 }), ""},
		{none, "B is a nil *backoff.Exponential, want a policy, or no B at all for backoff.Exponential{}"},
		{backoff.Func(nil), "B is a nil backoff.Func, want a policy, or no B at all for backoff.Exponential{}"},
		{(*nilable)(nil), ""},
		{nil, ""},
		{backoff.Linear{Jitter: "NoJitter"}, `B.Jitter is "NoJitter", want "full", "equal" or "none"`},
		{&backoff.Constant{Jitter: backoff.EqualJitter}, ""},
	} {
		if got := strings.Join(Mistakes("B", test.policy), "\n"); got != test.want {
			t.Errorf("%#v: %q, want %q", test.policy, got, test.want)
		}
	}
}

// Each Jitter that package backoff exports is one for a Transport, too.
func TestMistakesKnowsEachJitter(t *testing.T) {
	text, err := os.ReadFile("../../api/pacer.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`/backoff, const \w+Jitter = "(\w+)"`).FindAllSubmatch(text, -1)
	if len(all) < 3 {
		t.Fatalf("%q", all)
	}
	for _, m := range all {
		if s := Mistakes("B", backoff.Constant{Jitter: backoff.Jitter(m[1])}); s != nil {
			t.Errorf("%s: %q", m[1], s)
		}
	}
}

// nilable is a policy whose nil pointer is one, too.
type nilable struct{ delay time.Duration }

func (s *nilable) Delay(int, time.Duration) time.Duration {
	if s == nil {
		return 0
	}
	return s.delay
}
