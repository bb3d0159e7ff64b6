package pacer

import (
	"net/http"
	"testing"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gopacer/pacer/internal/below"
	"github.com/gopacer/pacer/internal/tests/lab"
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
		"a function":        {lab.RoundTripper(inner.RoundTrip), false},
	} {
		if got := below.Has[*Transport](test.base, retryableType); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A Transport is found below their RoundTripper, too.
func TestNestsBelowTheirRoundTripper(t *testing.T) {
	inner := &Transport{}
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: inner}
	if !below.Has[*Transport](c.StandardClient().Transport, retryableType) {
		t.Error("not found")
	}
	if below.Has[*Transport](retryablehttp.NewClient().StandardClient().Transport, retryableType) {
		t.Error("found where there is none")
	}
}
