package pacing

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Of what is wrong in itself, errors.Is finds ErrInvalid, through http.Client too, and nothing is sent.
func TestErrInvalid(t *testing.T) {
	valid := func() *pacer.Transport { return &pacer.Transport{} }
	asks := func(c *pacer.Call) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request { return r.WithContext(pacer.WithCall(r.Context(), c)) }
	}
	for name, test := range map[string]struct {
		tr  *pacer.Transport
		req func(*http.Request) *http.Request // nil if the request is as any
	}{
		"Mode":               {&pacer.Transport{Mode: "7"}, nil},
		"Modes":              {&pacer.Transport{Modes: map[string]pacer.Mode{"/": "7"}}, nil},
		"a field":            {&pacer.Transport{Line: pacer.Line{Reserve: 2}}, nil},
		"a duration":         {&pacer.Transport{MaxWait: 30}, nil},
		"a quota":            {&pacer.Transport{Quotas: lab.All(quota.Quota{N: -1})}, nil},
		"a pattern":          {&pacer.Transport{Quotas: pacer.Table{"https://a.example/": nil}}, nil},
		"no Fallback":        {&pacer.Transport{Mode: pacer.ModeDegrade}, nil},
		"no Fallback, asked": {&pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}), Cost: twoAtOnce}, asks(&pacer.Call{Mode: pacer.ModeDegrade})},
		"Call.MaxWait":       {valid(), asks(&pacer.Call{MaxWait: 30})},
		"Call.Mode":          {valid(), asks(&pacer.Call{Mode: "9"})},
		"no URL":             {valid(), func(r *http.Request) *http.Request { r.URL = nil; return r }},
		"no Header":          {valid(), func(r *http.Request) *http.Request { r.Header = nil; return r }},
	} {
		t.Run(name, func(t *testing.T) {
			base := lab.OK()
			test.tr.Base = base
			req := lab.Request(t, "GET", "http://a.example/", "")
			if test.req != nil {
				req = test.req(req)
			}
			_, err := test.tr.RoundTrip(req)
			var local *throttle.Error
			if !errors.Is(err, throttle.ErrInvalid) || errors.As(err, &local) {
				t.Errorf("RoundTrip: %v", err)
			}
			if test.req == nil {
				if err := test.tr.Validate(); !errors.Is(err, throttle.ErrInvalid) {
					t.Errorf("Validate: %v", err)
				}
				if _, err := (&http.Client{Transport: test.tr}).Do(req); !errors.Is(err, throttle.ErrInvalid) {
					t.Errorf("Do: %v", err)
				}
				if err := test.tr.SetQuotas(nil); !errors.Is(err, throttle.ErrInvalid) {
					t.Errorf("SetQuotas: %v", err)
				}
				if _, err := test.tr.Forecast(req); !errors.Is(err, throttle.ErrInvalid) {
					t.Errorf("Forecast: %v", err)
				}
				if _, _, err := test.tr.Acquire(t.Context(), req); !errors.Is(err, throttle.ErrInvalid) {
					t.Errorf("Acquire: %v", err)
				}
			}
			if len(base.Got) > 0 {
				t.Errorf("sent %q", base.Got)
			}
		})
	}
	bad := pacer.Table{"/": quota.Quotas{{N: -1}}}
	if err := bad.Validate(); !errors.Is(err, throttle.ErrInvalid) {
		t.Errorf("Table.Validate: %v", err)
	}
	tr := valid()
	if err := tr.SetQuotas(bad); !errors.Is(err, throttle.ErrInvalid) {
		t.Errorf("SetQuotas: %v", err)
	}
	if err := errors.Join(tr.Validate(), pacer.Table{}.Validate(), tr.SetQuotas(nil)); err != nil {
		t.Error(err)
	}
}

// What may work later, and what Base says, is not invalid.
func TestNotInvalid(t *testing.T) {
	slow := lab.All(quota.Quota{N: 1, Per: time.Hour, Kind: quota.TokenBucket})
	for name, tr := range map[string]*pacer.Transport{
		"refused": {Base: lab.OK(), Quotas: slow, Cost: twoAtOnce},
		"failed":  {Base: lab.RoundTripper(lab.Fails(lab.ErrBroken)), Retry: pacer.Retry{MaxAttempts: -1}},
	} {
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err == nil || errors.Is(err, throttle.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// twoAtOnce is a cost that a quota of one never grants.
func twoAtOnce(*http.Request) quota.Costs { return quota.Costs{quota.Requests: 2} }

// Each mistake of a Reader says in which field of the Transport that is.
func TestMistakesOfLearnHeaders(t *testing.T) {
	err := (&pacer.Transport{Learn: pacer.Learn{Headers: &headers.Reader{
		Dialects: []headers.Dialect{{Limit: "A Limit"}, {Limit: "B-Limit", Remaining: "B-Limit"}}, Ignore: []string{"a:b"},
	}}}).Validate()
	want := `pacer: Learn.Headers: headers: Dialects[0].Limit: "A Limit" is no name of a header: ' ' is not allowed in it
pacer: Learn.Headers: headers: Dialects[1].Remaining: B-Limit is Dialects[1].Limit already
pacer: Learn.Headers: headers: Ignore[0]: "a:b" is no name of a header: ':' is not allowed in it`
	if err == nil || err.Error() != want || !errors.Is(err, throttle.ErrInvalid) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
