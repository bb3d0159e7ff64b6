package stated

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// some is a limit of requests of which so much remains.
func some(name string, limit, remaining int64) headers.Limit {
	return headers.Limit{Name: name, Limit: headers.Count{N: limit, Known: true}, Remaining: headers.Count{N: remaining, Known: true}}
}

func TestStatements(t *testing.T) {
	const s = time.Second
	resets := func(l headers.Limit, in time.Duration) headers.Limit {
		l.Reset = headers.Reset{Known: true, In: in, Resolution: s, Absolute: true, Skew: 2 * s}
		return l
	}
	is := func(name string, limit, remaining int64) quota.Statement {
		return quota.Statement{Name: name, Limit: limit, Remaining: remaining}
	}
	unknown, advisory, whole, ofBytes := some("a", 10, 0), some("a", 10, 5), resets(some("a", 10, 5), 9*s), some("a", 10, 5)
	unknown.Remaining.Known = false
	advisory.Advisory = true
	whole.Counter, whole.Window = "b", time.Minute
	ofBytes.Unit = "content-bytes"
	atOnce := some("a", 10, 5)
	atOnce.Unit = "concurrent-requests"
	noLimit := some("a", 0, 5)
	noLimit.Limit.Known = false
	withBytes, later := is("a", 10, 5), is("a", 10, 5)
	withBytes.Unit = quota.Bytes
	later.Reset, later.ResetKnown, later.Resolution, later.Absolute, later.Skew = 9*s, true, s, true, 2*s
	laterAtOnce := later
	laterAtOnce.Unit = atOnce.Unit
	all := later
	all.Counter, all.Window = "b", time.Minute
	for name, test := range map[string]struct {
		limits []headers.Limit
		want   []quota.Statement
	}{
		"nothing":                          {nil, nil},
		"a limit":                          {[]headers.Limit{some("a", 10, 5)}, []quota.Statement{is("a", 10, 5)}},
		"all that is known of it":          {[]headers.Limit{whole}, []quota.Statement{all}},
		"without a Remaining":              {[]headers.Limit{unknown}, nil},
		"without a Limit":                  {[]headers.Limit{noLimit}, []quota.Statement{is("a", 0, 5)}},
		"an advisory one":                  {[]headers.Limit{advisory}, nil},
		"0 of 0":                           {[]headers.Limit{some("a", 0, 0)}, nil},
		"0 of an unknown one":              {[]headers.Limit{{Remaining: headers.Count{Known: true}}}, []quota.Statement{is("", 0, 0)}},
		"of bytes":                         {[]headers.Limit{ofBytes}, []quota.Statement{withBytes}},
		"of requests at the same time":     {[]headers.Limit{some("a", 10, 5), atOnce}, []quota.Statement{is("a", 10, 5)}},
		"and one that says when it resets": {[]headers.Limit{resets(atOnce, 9*s)}, []quota.Statement{laterAtOnce}},
		"of more than 2 GiB":               {[]headers.Limit{some("a", 1<<40, 1<<39)}, []quota.Statement{is("a", 1<<40, 1<<39)}},
		"two":                              {[]headers.Limit{some("a", 10, 5), some("b", 20, 7)}, []quota.Statement{is("a", 10, 5), is("b", 20, 7)}},
		"two of one name":                  {[]headers.Limit{some("a", 10, 5), some("a", 10, 4)}, []quota.Statement{is("a", 10, 4)}},
		"the other way":                    {[]headers.Limit{some("a", 10, 4), some("a", 10, 5)}, []quota.Statement{is("a", 10, 4)}},
		"of which one says when it resets": {[]headers.Limit{some("a", 10, 5), resets(some("a", 10, 5), 9*s)}, []quota.Statement{later}},
		"and one that it does sooner":      {[]headers.Limit{resets(some("a", 10, 5), 9*s), resets(some("a", 10, 5), 8*s)}, []quota.Statement{later}},
		"two of one name and two units":    {[]headers.Limit{some("a", 10, 5), ofBytes}, []quota.Statement{is("a", 10, 5), withBytes}},
		"two without a name":               {[]headers.Limit{some("", 10, 5), some("", 20, 7)}, []quota.Statement{is("", 10, 5), is("20", 20, 7)}},
		"two without a name, of one limit": {[]headers.Limit{some("", 10, 5), some("", 10, 4)}, []quota.Statement{is("", 10, 4)}},
		"three without a name":             {[]headers.Limit{some("", 10, 5), some("", 20, 7), some("", 20, 6)}, []quota.Statement{is("", 10, 5), is("20", 20, 6)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Statements(nil, test.limits); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestConcurrency(t *testing.T) {
	of := func(l headers.Limit) headers.Limit {
		l.Unit = "concurrent-requests"
		return l
	}
	alone, advisory, left := of(some("a", 10, 0)), of(some("a", 10, 5)), of(some("a", 0, 5))
	alone.Remaining.Known, advisory.Advisory, left.Limit.Known = false, true, false
	reset := of(some("a", 10, 5))
	reset.Reset = headers.Reset{In: 9 * time.Second, Known: true}
	for name, test := range map[string]struct {
		limits []headers.Limit
		want   quota.Concurrency
	}{
		"nothing":              {nil, quota.Concurrency{}},
		"one over time":        {[]headers.Limit{some("a", 10, 5)}, quota.Concurrency{}},
		"one":                  {[]headers.Limit{of(some("a", 10, 5))}, quota.Concurrency{Limit: 10, Remaining: 5, RemainingKnown: true}},
		"the limit alone":      {[]headers.Limit{alone}, quota.Concurrency{Limit: 10}},
		"what remains alone":   {[]headers.Limit{left}, quota.Concurrency{Remaining: 5, RemainingKnown: true}},
		"two":                  {[]headers.Limit{of(some("a", 10, 5)), of(some("b", 50, 4))}, quota.Concurrency{Limit: 10, Remaining: 4, RemainingKnown: true}},
		"an advisory one":      {[]headers.Limit{advisory}, quota.Concurrency{}},
		"one with a reset":     {[]headers.Limit{reset}, quota.Concurrency{}},
		"0 of 0":               {[]headers.Limit{of(some("a", 0, 0))}, quota.Concurrency{}},
		"more than an int has": {[]headers.Limit{of(some("a", 1<<60, 1<<60))}, quota.Concurrency{Limit: 1 << 60, Remaining: 1 << 60, RemainingKnown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Concurrency(test.limits); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestCounter(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{nil, ""}, {[]string{""}, ""}, {[]string{"a"}, "a"}, {[]string{"", "a", ""}, "a"}, {[]string{"a", "a"}, "a"}, {[]string{"a", "b"}, ""}, {[]string{"a", "", "b"}, ""},
	} {
		var limits []headers.Limit
		for _, b := range test.names {
			limits = append(limits, headers.Limit{Counter: b})
		}
		if got := Counter(limits); got != test.want {
			t.Errorf("%q: %q, want %q", test.names, got, test.want)
		}
	}
}

func TestRefusal(t *testing.T) {
	const s = time.Second
	after := headers.Retry{Known: true, After: 3 * s, Resolution: s}
	date := headers.Retry{Known: true, After: 3 * s, Resolution: s, Absolute: true, Skew: 2 * s}
	soon := date
	soon.Refusal = headers.RefusalSpent
	spent, busy, atOnce := []headers.Limit{some("a", 10, 5), some("b", 10, 0)}, []headers.Limit{some("a", 10, 1)}, some("a", 10, 0)
	atOnce.Unit = "concurrent-requests"
	for name, test := range map[string]struct {
		status int
		hint   headers.Retry
		stated []headers.Limit
		want   throttle.Answer
	}{
		"served":                           {200, headers.Retry{}, nil, throttle.Answer{}},
		"served, and nothing remains":      {200, headers.Retry{}, spent, throttle.Answer{}},
		"too many requests":                {429, headers.Retry{}, nil, throttle.Answer{Refused: true}},
		"with a hint":                      {429, after, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: 3 * s, Resolution: s}}},
		"with an instant":                  {429, date, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: 3 * s, Resolution: s, Absolute: true, Skew: 2 * s}}},
		"a quota of days is spent":         {429, headers.Retry{Refusal: headers.RefusalSpent}, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}},
		"and is back soon, it says":        {429, soon, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: time.Hour}}},
		"for longer than an hour":          {429, headers.Retry{Known: true, After: 9 * time.Hour, Refusal: headers.RefusalSpent}, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: 9 * time.Hour}}},
		"forbidden, and nothing remains":   {403, headers.Retry{}, spent, throttle.Answer{Refused: true}},
		"forbidden, and something remains": {403, headers.Retry{}, busy, throttle.Answer{}},
		"forbidden, and too many at once":  {403, headers.Retry{}, []headers.Limit{atOnce}, throttle.Answer{Refused: true}},
		"unavailable":                      {503, headers.Retry{}, nil, throttle.Answer{MayRefuse: true}},
		"unavailable for a time":           {503, after, nil, throttle.Answer{Refused: true, Hold: &quota.Hold{For: 3 * s, Resolution: s}}},
		"not found":                        {404, headers.Retry{}, nil, throttle.Answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got throttle.Answer
			Refusal(&got, &http.Response{StatusCode: test.status}, test.stated, test.hint)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestUsedUp(t *testing.T) {
	notCounted, advisory := some("", 0, 0), some("", 10, 0)
	advisory.Advisory = true
	for want, limits := range map[bool][]headers.Limit{false: {some("", 10, 1), {}, notCounted, advisory}, true: {some("", 10, 1), some("", 10, 0)}} {
		if got := UsedUp(limits); got != want {
			t.Errorf("%+v: %v", limits, got)
		}
	}
	if UsedUp(nil) {
		t.Error("nothing remains of no limit")
	}
}
