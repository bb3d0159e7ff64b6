// Package retrying tests what a Transport sends again, when and how often: that it does what
// docs/retrying.md says (this file), the rules one by one (retry_test.go), time and number of
// attempts (attempt_test.go), bodies that are sent again (replay_test.go), keys that make a POST safe
// (idempotency_test.go), one Transport below another (nested_test.go), what an outage is met with
// (outage_test.go), policies and clients of go-retryablehttp (retryablehttp_test.go), and what
// docs/migrating.md says of other packages (migrating_test.go).
package retrying

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

// table returns the rows of a table in docs/retrying.md, by the heading above it.
func table(t *testing.T, heading string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/retrying.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("no table under %q", heading)
	}
	return rows[2:] // without the head and the line under it
}

// codes returns the statuses of a cell: "500, 502–599".
func codes(t *testing.T, cell string) (all []int) {
	t.Helper()
	for part := range strings.SplitSeq(cell, ", ") {
		from, to, ranged := strings.Cut(part, "–")
		if !ranged {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || a > b {
			t.Fatalf("statuses %q", cell)
		}
		for ; a <= b; a++ {
			all = append(all, a)
		}
	}
	return all
}

// sendRow sends a request of a method to a server which always gives the same answer, with
// room for 3 attempts and 1 refusal, and returns what the page calls it, and why the request was not sent once
// more.
func sendRow(t *testing.T, req *http.Request, answer func(*http.Request) (*http.Response, error)) (again, as string, why pacer.Reason) {
	t.Helper()
	var told []pacer.Reason
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){answer}}
		as = "nothing"
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{MaxRefusals: 1, AttemptTimeout: time.Minute}, Trace: &pacer.Trace{Retrying: func(r pacer.Retrying) {
			if as = "failure"; r.Refused {
				as = "refusal"
			}
		}, GaveUp: func(g pacer.GaveUp) {
			if told = append(told, g.Reason); g.Attempts != len(base.Got) {
				t.Errorf("gave up after %d attempts, sent %d times", g.Attempts, len(base.Got))
			}
		}}}
		var call pacer.Call
		resp, err := tr.RoundTrip(req.WithContext(pacer.WithCall(t.Context(), &call)))
		if err == nil {
			resp.Body.Close()
		}
		if why, _ = call.GaveUp(); !slices.Equal(told, slices.DeleteFunc([]pacer.Reason{why}, func(r pacer.Reason) bool { return r == "" })) || tr.Stats().GaveUp != int64(len(told)) {
			t.Errorf("the Call says %q, Trace was told %q, and Stats counts %d", why, told, tr.Stats().GaveUp)
		}
		switch sent := len(base.Got); {
		case as == "failure" && sent == 3, as == "refusal" && sent == 2:
			again = "again"
		case as == "nothing" && sent == 1:
			again, as = "no", ""
		default:
			t.Errorf("sent %d times, as %s", sent, as)
		}
	})
	return again, as, why
}

// wantWhy is why a request is not sent once more that is sent again so, or not, and as a safe method would be
// so.
func wantWhy(again, as, safe string) pacer.Reason {
	switch {
	case as == "refusal":
		return pacer.ReasonRefusals
	case again == "again":
		return pacer.ReasonAttempts
	case safe == "again":
		return pacer.ReasonMethod
	}
	return ""
}

// What the page says of methods, answers and errors is what happens.
func TestRetryingPage(t *testing.T) {
	t.Run("Methods", func(t *testing.T) {
		for _, row := range table(t, "Methods") {
			for method := range strings.SplitSeq(row[0], ", ") {
				req := lab.Request(t, method, "http://a.example/", "text")
				if row[1] != "" {
					req.Header[row[1]] = nil
				}
				want := map[string]string{"yes": "again", "no": "no"}[row[2]]
				got, as, why := sendRow(t, req, lab.Fails(io.ErrUnexpectedEOF))
				if wantWhy := wantWhy(got, as, "again"); got != want || why != wantWhy {
					t.Errorf("%s with %q: %s, because of %q; want %s, because of %q", method, row[1], got, why, want, wantWhy)
				}
			}
		}
	})
	t.Run("Answers", func(t *testing.T) {
		plain := map[int]int{}
		for _, row := range table(t, "Answers") {
			var header []string
			if name, value, ok := strings.Cut(row[1], ": "); ok {
				header = []string{name, value}
			}
			for _, code := range codes(t, row[0]) {
				if row[1] == "" {
					plain[code]++
				}
				for i, method := range []string{"GET", "POST"} {
					again, as, why := sendRow(t, lab.Request(t, method, "http://a.example/", "text"), lab.Status(code, "", header...))
					if want := row[2+i]; again != want || again == "again" && as != row[4] {
						t.Errorf("%s, %d with %q: %s, as a %s; want %s, as a %s", method, code, row[1], again, as, want, row[4])
					}
					if want := wantWhy(again, as, row[2]); why != want {
						t.Errorf("%s, %d with %q: not sent once more because of %q, want %q", method, code, row[1], why, want)
					}
				}
			}
		}
		for code := 200; code < 600; code++ {
			if plain[code] != 1 {
				t.Errorf("%d is in %d rows, want 1", code, plain[code])
			}
		}
	})
	t.Run("Errors", func(t *testing.T) {
		causes := pageErrors()
		for _, row := range table(t, "No answer") {
			answer, known := causes[row[0]]
			if !known {
				t.Errorf("the page has an error %q", row[0])
				continue
			}
			delete(causes, row[0])
			for i, method := range []string{"GET", "POST"} {
				req := lab.Request(t, method, "http://a.example/", "text")
				switch row[0] {
				case "the caller's Cancel":
					cancel := make(chan struct{})
					req.Cancel = cancel //nolint:staticcheck // old callers still use it
					answer = func(*http.Request) (*http.Response, error) {
						close(cancel)
						return nil, errors.New("net/http: request canceled")
					}
				case "the caller's deadline":
					if got := sentByDeadline(t, req); got != 1 {
						t.Errorf("%s after its deadline: sent %d times", method, got)
					}
					continue
				}
				got, as, why := sendRow(t, req, answer)
				if want := wantWhy(got, as, row[1]); got != row[1+i] || why != want {
					t.Errorf("%s after %s: %s, because of %q; want %s, because of %q", method, row[0], got, why, row[1+i], want)
				}
			}
		}
		if len(causes) > 0 {
			t.Errorf("the page lacks %v", slices.Collect(maps.Keys(causes)))
		}
	})
}

// pageErrors are what the page calls them.
func pageErrors() map[string]func(*http.Request) (*http.Response, error) {
	cert := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	refusedConn := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	return map[string]func(*http.Request) (*http.Response, error){
		"connection refused":          lab.Fails(&net.OpError{Op: "dial", Err: refusedConn}),
		"no route through the proxy":  lab.Fails(&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: refusedConn}}),
		"DNS timeout":                 lab.Fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}),
		"TLS handshake timeout":       lab.Fails(errors.New("net/http: TLS handshake timeout")),
		"connection reset":            lab.Fails(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}),
		"unexpected EOF":              lab.Fails(io.ErrUnexpectedEOF),
		"any other error":             lab.Fails(errors.New("no token")),
		"AttemptTimeout":              hang,
		"no such host":                lab.Fails(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}),
		"invalid port":                real("GET", "http://127.0.0.1:99999/", nil),
		"bad certificate":             lab.Fails(cert),
		"bad certificate, wrapped":    lab.Fails(fmt.Errorf("token: %w", cert)),
		"plain HTTP on an HTTPS port": lab.Fails(http.ErrSchemeMismatch),
		"unsupported scheme":          real("GET", "ftp://a.example/", nil),
		"invalid header":              real("GET", "http://a.example/", http.Header{"A": {"b\n"}}),
		"invalid method":              real("a b", "http://a.example/", nil),
		"no host":                     real("GET", "http:///", nil),
		"too many redirects":          lab.Fails(&url.Error{Op: "Get", Err: errors.New("stopped after 10 redirects")}),
		"backoff.Permanent":           lab.Fails(backoff.Permanent(io.ErrUnexpectedEOF)),
		"another pacer refused":       lab.Fails(&throttle.Error{Err: throttle.ErrQueueFull}),
		"another pacer is invalid":    (&pacer.Transport{Mode: "7"}).RoundTrip,
		"the caller's deadline":       nil,
		"the caller's Cancel":         nil,
	}
}

// hang does not answer.
func hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// real is what net/http itself says of a request.
func real(method, target string, header http.Header) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		u, err := url.Parse(target)
		if err != nil {
			return nil, err
		}
		if header == nil {
			header = http.Header{}
		}
		return http.DefaultTransport.RoundTrip(&http.Request{Method: method, URL: u, Header: header})
	}
}

// sentByDeadline returns how often a request is sent whose deadline ends the first attempt.
func sentByDeadline(t *testing.T, req *http.Request) (n int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){hang}}
		start := time.Now()
		_, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{AttemptTimeout: time.Minute}}).RoundTrip(req.WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		n = len(base.Got)
	})
	return n
}
