package verdict

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer/headers"
)

// hints are what a server may say beside the status.
var hints = map[string]headers.Retry{
	"":           {},
	"after":      {Known: true, After: time.Second},
	"should":     {Advice: headers.AdviceRetry},
	"never":      {Advice: headers.AdviceNever, Known: true},
	"busy":       {Refusal: headers.RefusalBusy},
	"busy after": {Refusal: headers.RefusalBusy, Known: true, After: time.Second},
	"too fast":   {Refusal: headers.RefusalTooFast},
	"too many":   {Refusal: headers.RefusalTooMany},
	"spent":      {Refusal: headers.RefusalSpent, Known: true},
}

func TestKind(t *testing.T) {
	for _, test := range []struct {
		status     int
		hint       string
		refusal    bool
		safe, sure Kind // of a method that is idempotent, and of one that is not
	}{
		{200, "", false, Final, Final},
		{200, "too fast", true, Refused, Refused}, // Shopify
		{404, "", false, Final, Final},
		{404, "after", false, Final, Final},
		{404, "should", false, Failed, Failed},
		{408, "", false, Failed, Unsafe},
		{408, "never", false, Final, Final},
		{413, "", false, Final, Final},
		{413, "after", false, Failed, Failed},
		{425, "", false, Failed, Failed},
		{425, "never", false, Final, Final},
		{429, "", true, Refused, Refused},
		{429, "should", true, Refused, Refused},
		{429, "never", true, Final, Final},
		{429, "spent", true, Final, Final},
		{429, "busy", false, Failed, Unsafe},
		{400, "busy", false, Failed, Unsafe},
		{500, "", false, Failed, Unsafe},
		{500, "should", false, Failed, Failed},
		{501, "", false, Final, Final},
		{503, "", false, Failed, Unsafe},
		{503, "", true, Refused, Refused},
		{599, "after", false, Failed, Unsafe},
		{600, "", false, Failed, Unsafe}, // no status of HTTP
		{0, "", false, Failed, Unsafe},
		{-1, "", false, Final, Final},
	} {
		for idempotent, want := range map[bool]Kind{true: test.safe, false: test.sure} {
			c := Case{Response: &http.Response{StatusCode: test.status}, Hint: hints[test.hint], Refusal: test.refusal, Idempotent: idempotent}
			if got := c.Kind(); got != want {
				t.Errorf("%d %q, refusal %v, idempotent %v: got %v, want %v", test.status, test.hint, test.refusal, idempotent, got, want)
			}
		}
	}
}

// Where a CheckRetry has said yes, what is safe is sent again after every status, and what is not, is told from
// what is final.
func TestChecked(t *testing.T) {
	for status := 100; status < 600; status++ {
		for name, hint := range hints {
			for _, refusal := range []bool{true, false} {
				c := Case{Response: &http.Response{StatusCode: status}, Hint: hint, Refusal: refusal}
				want := c.Kind()
				if want == Final && !LastWord(hint) {
					want = Unsafe
				}
				if got := c.Checked(); got != want {
					t.Errorf("%d %q, refusal %v, not idempotent: got %v, want %v", status, name, refusal, got, want)
				}
				if want == Unsafe {
					want = Failed
				}
				c.Idempotent = true
				if got := c.Checked(); got != want {
					t.Errorf("%d %q, refusal %v, idempotent: got %v, want %v", status, name, refusal, got, want)
				}
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	for _, test := range []struct {
		status          int
		hint            string
		refusal, spends bool // spends: if nothing remains of a limit
		may             bool
	}{
		{200, "", false, false, false},
		{200, "after", false, false, false},
		{200, "too fast", true, true, false},
		{400, "", false, false, false},
		{400, "after", false, false, false},
		{400, "too fast", true, true, false}, // AWS
		{400, "too many", true, true, false},
		{403, "", false, true, false}, // GitHub
		{403, "after", true, true, false},
		{403, "busy", false, false, false},
		{418, "", false, false, false},
		{418, "after", true, true, false}, // Binance
		{420, "", false, false, false},
		{420, "after", true, true, false},
		{429, "", true, true, false},
		{429, "after", true, true, false},
		{429, "spent", true, true, false},
		{429, "busy", false, false, false},
		{429, "busy after", false, false, false},
		{500, "after", false, false, false},
		{502, "", false, false, false},
		{503, "", false, false, true}, // nginx
		{503, "after", true, true, false},
		{503, "busy", false, false, false},
		{503, "should", false, false, false},
		{503, "too many", true, true, false},
		{509, "after", true, true, false},
		{529, "", false, false, false},
		{529, "after", true, true, false},
	} {
		for spent, want := range map[bool]bool{false: test.refusal, true: test.spends} {
			if got := Refusal(test.status, hints[test.hint], spent); got != want {
				t.Errorf("%d %q, spent %v: refusal %v, want %v", test.status, test.hint, spent, got, want)
			}
		}
		if got := MayRefuse(test.status, hints[test.hint]); got != test.may {
			t.Errorf("%d %q: may be a refusal: %v, want %v", test.status, test.hint, got, test.may)
		}
	}
}

func TestIdempotent(t *testing.T) {
	for method, want := range map[string]bool{
		"": true, "GET": true, "HEAD": true, "OPTIONS": true, "TRACE": true, "PUT": true, "DELETE": true, "QUERY": true,
		"POST": false, "PATCH": false, "CONNECT": false, "PROPFIND": false, "get": false,
	} {
		if got := IdempotentMethod(method); got != want {
			t.Errorf("%q: got %v, want %v", method, got, want)
		}
		for name, header := range map[string]http.Header{
			"none": {}, "of nothing": {"Idempotency-Key": nil}, "a key": {"Idempotency-Key": {"k"}}, "with X": {"X-Idempotency-Key": {"k"}}, "another": {"Paypal-Request-Id": {"k"}},
		} {
			want := want || name != "none" && name != "another"
			if got := Idempotent(&http.Request{Method: method, Header: header}); got != want {
				t.Errorf("%q, header %s: got %v, want %v", method, name, got, want)
			}
		}
	}
}

// What an error means is the same however deep it lies in others.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err                          error
		permanent, neverSent, marked bool
	}{
		"reset":             {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false, false, false},
		"refused":           {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false, true, false},
		"proxy":             {&net.OpError{Op: "proxyconnect", Err: errors.New("no route")}, false, true, false},
		"socks":             {&net.OpError{Op: "socks connect", Err: errors.New("no route")}, false, true, false},
		"no such host":      {&net.DNSError{Name: "a.example", IsNotFound: true}, true, true, false},
		"no host, by dial":  {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, true, true, false},
		"port":              {&net.OpError{Op: "dial", Err: &net.AddrError{Err: "invalid port", Addr: "99999"}}, true, true, false},
		"port of a proxy":   {&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: &net.AddrError{Err: "invalid port"}}}, true, true, false},
		"port, by SOCKS":    {&net.OpError{Op: "socks connect", Err: errors.New("port number out of range 99999")}, true, true, false},
		"network":           {&net.OpError{Op: "dial", Err: net.UnknownNetworkError("tcp7")}, true, true, false},
		"Host":              {errors.New("http: invalid Host header"), true, false, false},
		"URL":               {errors.New("net/http: can't write control character in Request.URL"), true, false, false},
		"no body":           {errors.New("http: Request.ContentLength=5 with nil Body"), true, false, false},
		"DNS timeout":       {&net.DNSError{Name: "a.example", IsTimeout: true}, false, true, false},
		"TLS timeout":       {errors.New("net/http: TLS handshake timeout"), false, true, false},
		"EOF":               {io.ErrUnexpectedEOF, false, false, false},
		"deadline":          {context.DeadlineExceeded, false, false, false},
		"certificate":       {&tls.CertificateVerificationError{Err: errors.New("expired")}, true, false, false},
		"unknown authority": {x509.UnknownAuthorityError{}, true, false, false},
		"other host":        {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a.example"}, true, false, false},
		"invalid":           {x509.CertificateInvalidError{Reason: x509.Expired}, true, false, false},
		"scheme mismatch":   {http.ErrSchemeMismatch, true, false, false},
		"scheme":            {errors.New("unsupported protocol scheme \"gopher\""), true, false, false},
		"header":            {errors.New("net/http: invalid header field value for \"A\""), true, false, false},
		"redirects":         {errors.New("stopped after 10 redirects"), true, false, false},
		"method":            {errors.New("net/http: invalid method \"A B\""), true, false, false},
		"trailer":           {errors.New("net/http: invalid trailer field name"), true, false, false},
		"trailer key":       {errors.New("http: invalid Trailer key \"Trailer\""), true, false, false},
		"no host in URL":    {errors.New("http: no Host in request URL"), true, false, false},
		"length":            {errors.New("http2: request body larger than specified content length"), true, false, false},
		"marked":            {cenkalti.Permanent(io.EOF), false, false, true},
		"marked, and more":  {cenkalti.Permanent(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false, true, true},
	} {
		for how, err := range map[string]error{
			"": test.err, " in a url.Error": &url.Error{Op: "Get", URL: "http://a.example/", Err: test.err}, " wrapped": fmt.Errorf("base: %w", test.err),
		} {
			if got := Permanent(err); got != test.permanent {
				t.Errorf("%s%s: permanent %v, want %v", name, how, got, test.permanent)
			}
			if got := NeverSent(err); got != test.neverSent {
				t.Errorf("%s%s: never sent %v, want %v", name, how, got, test.neverSent)
			}
			if got := Marked(err); got != test.marked {
				t.Errorf("%s%s: marked %v, want %v", name, how, got, test.marked)
			}
		}
	}
}

// What pays for retries is no failure, whether or not the request is sent again.
func TestSuccess(t *testing.T) {
	for _, test := range []struct {
		status int
		hint   string
		v      Verdict
		want   bool
	}{
		{200, "", Verdict{}, true},
		{404, "", Verdict{}, true},
		{404, "", Verdict{Kind: Failed}, false}, // CheckRetry wants it to be sent again
		{404, "", Verdict{Kind: Unsafe}, false},
		{404, "", Verdict{Kind: Unrepeatable}, false},
		{408, "", Verdict{}, false},
		{413, "", Verdict{}, true},
		{413, "after", Verdict{}, false},
		{425, "never", Verdict{}, false},
		{400, "busy", Verdict{}, false},
		{499, "", Verdict{}, true},
		{500, "", Verdict{}, false},
		{501, "", Verdict{}, false}, // no failure, and no success either
	} {
		if got := test.v.Success(&http.Response{StatusCode: test.status}, hints[test.hint]); got != test.want {
			t.Errorf("%d %q, %+v: got %v, want %v", test.status, test.hint, test.v, got, test.want)
		}
	}
}
