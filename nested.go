package pacer

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/hashicorp/go-retryablehttp"
)

// ErrNested is why a Transport does not send a request again that came from another
// Transport above it, which will: two layers that retry three times each would send it
// nine times. See Trace.GaveUp.
var ErrNested = errors.New("pacer: another Transport above this one retries")

var (
	transportType    = reflect.TypeFor[*Transport]()
	roundTripperType = reflect.TypeFor[http.RoundTripper]()
	clientType       = reflect.TypeFor[*http.Client]()
	retryableType    = reflect.TypeFor[*retryablehttp.Client]()
	leafType         = reflect.TypeFor[*http.Transport]()
)

// nests reports whether a Transport stands below a RoundTripper, so that requests have to
// say who retries them. It looks at the fields of those that wrap others, and does
// not see what a function has closed over.
func nests(base http.RoundTripper) bool { return base != nil && wraps(reflect.ValueOf(base), 16) }

func wraps(v reflect.Value, depth int) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case depth == 0 || !v.IsValid() || v.Type() == leafType:
		return false
	case v.Type() == transportType:
		return !v.IsNil()
	case v.Kind() == reflect.Pointer:
		return wraps(v.Elem(), depth-1)
	case v.Kind() != reflect.Struct:
		return false
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if (f.Type().Implements(roundTripperType) || f.Type() == clientType || f.Type() == retryableType) && wraps(f, depth-1) {
			return true
		}
	}
	return false
}

// marked returns the request with which a Transport below learns that t retries.
func (t *Transport) marked(req *http.Request) *http.Request {
	mark := &called{above: t}
	if c := callOf(req.Context()); c != nil {
		mark.call, mark.paid = c.call, c.paid
	}
	return req.WithContext(context.WithValue(req.Context(), callKey{}, mark))
}
