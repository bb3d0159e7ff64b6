package contract

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/lab"
)

// one is a caller who sends one request.
func one(method, path, text string, mods ...func(*http.Request)) func(*testing.T, *sight, http.RoundTripper) {
	return func(t *testing.T, s *sight, rt http.RoundTripper) {
		t.Helper()
		req := lab.Request(t, method, "http://a.example"+path, "")
		if text != "" {
			req.Body, req.ContentLength = lab.NewBody(text), int64(len(text))
		}
		for _, mod := range mods {
			mod(req)
		}
		s.send(rt, req)
	}
}

// set sets header fields.
func set(fields ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			r.Header[fields[i]] = append(r.Header[fields[i]], fields[i+1])
		}
	}
}

// renewed gives the request a body that can be had again.
func renewed(r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	r.GetBody = func() (io.ReadCloser, error) { return lab.NewBody(string(text)), nil }
	r.Body, _ = r.GetBody()
}

// replies is a server that reads all and answers with a status and header fields.
func replies(status int, text string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

// zipped is a server that compresses if it is asked to.
func zipped(w http.ResponseWriter, r *http.Request) {
	text := strings.Repeat("all the same ", 100)
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Accept-Encoding") != "gzip" {
		io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	defer z.Close()
	io.WriteString(z, text)
}

func TestContractSameExchange(t *testing.T) {
	scenes := map[string]scene{
		"GET":             {server: replies(200, "text", "X-Any", "a", "X-Any", "b"), caller: one("GET", "/p?q=r", ""), want: `4 "text" EOF`},
		"HEAD":            {server: replies(200, "text"), caller: one("HEAD", "/", ""), want: `0 "" EOF`},
		"OPTIONS":         {server: replies(204, "", "Allow", "GET"), caller: one("OPTIONS", "/", "", func(r *http.Request) { r.URL.Opaque = "*" }), want: "200 OK"},
		"204":             {server: replies(204, ""), caller: one("DELETE", "/", ""), want: "204"},
		"304":             {server: replies(304, "", "Etag", `"a"`), caller: one("GET", "/", "", set("If-None-Match", `"a"`)), want: "304"},
		"206":             {server: replies(206, "part", "Content-Range", "bytes 0-3/9"), caller: one("GET", "/", "", set("Range", "bytes=0-3")), want: "206"},
		"unknown length":  {server: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100_000)) }, caller: one("GET", "/", ""), want: "-1"},
		"Host and names":  {caller: one("GET", "/", "", set("User-Agent", "", "x-lower", "1"), func(r *http.Request) { r.Host = "b.example" }), want: "200"},
		"Close":           {caller: one("GET", "/", "", func(r *http.Request) { r.Close = true }), want: "200"},
		"gzip":            {server: zipped, caller: one("GET", "/", ""), want: "uncompressed true"},
		"gzip if asked":   {server: zipped, caller: one("GET", "/", "", set("Accept-Encoding", "gzip")), want: "Content-Encoding:[gzip]"},
		"no gzip":         {server: zipped, tune: func(b *http.Transport) { b.DisableCompression = true }, caller: one("GET", "/", ""), want: "1300"},
		"POST":            {caller: one("POST", "/", "text"), want: "request's body closed: 1"},
		"chunked":         {caller: one("POST", "/", "text", func(r *http.Request) { r.ContentLength = -1 }), want: `4 "text" EOF`},
		"length 0":        {caller: one("POST", "/", "text", func(r *http.Request) { r.ContentLength = 0 }), want: `4 "text" EOF`}, // and a body: unknown
		"empty body":      {caller: one("PUT", "/", "", func(r *http.Request) { r.Body = lab.NewBody("") }), want: "200"},
		"NoBody":          {caller: one("PUT", "/", "", func(r *http.Request) { r.Body = http.NoBody }), want: "200"},
		"large":           {caller: one("PUT", "/", strings.Repeat("x", 1<<18)), want: "262144 "},
		"not read":        {server: func(http.ResponseWriter, *http.Request) {}, caller: one("PUT", "/", strings.Repeat("x", 1<<18)), want: "200"},
		"too short":       {caller: one("PUT", "/", "text", func(r *http.Request) { r.ContentLength = 5 }), only: 2, want: "200"},
		"too long":        {caller: one("PUT", "/", "text", func(r *http.Request) { r.ContentLength = 3 }), only: 2, want: "larger than specified content length"},
		"body fails":      {caller: one("POST", "/", "", func(r *http.Request) { r.Body, r.ContentLength = &lab.Body{Reader: failing{}}, 9 }), want: "connection broken"},
		"Content-Length":  {server: replies(200, "text", "Content-Length", "4"), caller: one("GET", "/", ""), want: "4"},
		"POST 500":        {server: replies(500, "why"), caller: one("POST", "/", "text", renewed), want: "500"},
		"POST 502":        {server: replies(502, "why"), caller: one("POST", "/", "text", renewed), want: "502"},
		"POST 503":        {server: replies(503, "why"), caller: one("POST", "/", "text", renewed), want: "503"},
		"PUT 503 once":    {server: replies(503, "why"), caller: one("PUT", "/", "text"), want: "503"}, // has no GetBody
		"PUT 429 once":    {server: replies(429, "why", "Retry-After", "1"), caller: one("PUT", "/", "text"), want: "429"},
		"an error's JSON": {server: replies(422, `{"error":"why"}`, "Content-Type", "application/json"), caller: one("POST", "/", "text"), want: `15 "{`},
	}
	for _, status := range []int{201, 202, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 407, 409, 410, 411, 412, 413, 414, 417, 418, 421, 422, 426, 431, 451, 501} {
		scenes[fmt.Sprint(status)] = scene{
			server: replies(status, "why", "Location", "/other", "Set-Cookie", "a=b", "Www-Authenticate", "Basic"),
			caller: one("GET", "/", ""), want: fmt.Sprint(status),
		}
	}
	same(t, scenes)
}

// failing is a reader that has nothing to give.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, lab.ErrBroken }

// What cannot be sent fails in the words of net/http, its body closed.
func TestContractSameRefusals(t *testing.T) {
	same(t, map[string]scene{
		"method":       {caller: one("GET", "/", "text", func(r *http.Request) { r.Method = "a b" }), want: "invalid method"},
		"scheme":       {caller: one("GET", "/", "text", func(r *http.Request) { r.URL.Scheme = "gopher" }), want: "unsupported protocol scheme"},
		"no host":      {caller: one("GET", "/", "text", func(r *http.Request) { r.URL.Host = "" }), want: "no Host in request URL"},
		"header name":  {caller: one("GET", "/", "text", set("a b", "c")), want: "invalid header field name"},
		"header value": {caller: one("GET", "/", "text", set("A", "b\nc")), want: "invalid header field value"},
		"trailer name": {caller: one("PUT", "/", "text", func(r *http.Request) { r.ContentLength, r.Trailer = -1, http.Header{"Content-Length": nil} }), want: "Trailer", races: true},
		"header key":   {caller: one("POST", "/", "text", set("A", "b\x00")), want: "request's body closed: 1"},
		"proxy":        {tune: func(b *http.Transport) { b.Proxy = func(*http.Request) (*url.URL, error) { return nil, lab.ErrBroken } }, caller: one("POST", "/", "text"), want: "connection broken"},
	})
}

// Whoever gives up sees the same: by context, by Request.Cancel, by a deadline; while waiting
// for the answer and while reading it.
func TestContractSameGivingUp(t *testing.T) {
	hangs := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // until then, the server of HTTP/1.1 does not see that the client has gone
		if r.URL.Path == "/begins" {
			io.WriteString(w, "text")
			http.NewResponseController(w).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-time.After(time.Hour):
		}
	}
	ends := func(within time.Duration, cause error) func(*http.Request) {
		return func(r *http.Request) {
			ctx, cancel := context.WithCancelCause(r.Context())
			*r = *r.WithContext(ctx)
			time.AfterFunc(within, func() { cancel(cause) })
		}
	}
	deadline := func(r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		context.AfterFunc(ctx, cancel)
		*r = *r.WithContext(ctx)
	}
	canceled := func(r *http.Request) {
		c := make(chan struct{})
		r.Cancel = c //nolint:staticcheck // what is tested
		time.AfterFunc(time.Second, func() { close(c) })
	}
	slowly := func(b *http.Transport) { b.ResponseHeaderTimeout = time.Second }
	same(t, map[string]scene{
		"canceled for a cause":    {server: hangs, caller: one("POST", "/", "text", ends(time.Second, lab.ErrBroken)), want: "response <nil>"},
		"canceled while waiting":  {server: hangs, caller: one("GET", "/", "", ends(time.Second, nil)), want: "context canceled"},
		"canceled while reading":  {server: hangs, caller: one("GET", "/begins", "", ends(time.Second, nil)), want: `4 "text" context canceled`},
		"deadline while waiting":  {server: hangs, caller: one("GET", "/", "", deadline), want: "timeout true"},
		"deadline while reading":  {server: hangs, caller: one("GET", "/begins", "", deadline), want: `4 "text" context deadline exceeded`},
		"Cancel while waiting":    {server: hangs, caller: one("POST", "/", "text", canceled), want: "request canceled"},
		"Cancel while reading":    {server: hangs, caller: one("GET", "/begins", "", canceled), want: `4 "text" net/http: request canceled`},
		"Base gives up on a POST": {server: hangs, tune: slowly, caller: one("POST", "/", "text", renewed), want: "timeout awaiting response headers"},
		"the server breaks off": {server: func(w http.ResponseWriter, r *http.Request) {
			replies(200, "text")(w, r)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, caller: one("POST", "/", "x"), want: `4 "text"`},
		"the server breaks at once": {server: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, caller: one("POST", "/", "x", renewed), want: "response <nil>"},
	})
}

// Expect: 100-continue, 1xx answers and trailers pass in both directions, and so do the hooks
// of httptrace.
func TestContractSameInterim(t *testing.T) {
	late := func(r *http.Request) { // as the documentation of Request.Trailer says
		r.ContentLength, r.Trailer = -1, http.Header{"Sum": nil, "Known": {"before"}}
		trailer := r.Trailer
		r.Body = &lab.Body{Reader: io.MultiReader(strings.NewReader("text"), atEnd(func() { trailer.Set("Sum", "late") }))}
	}
	same(t, map[string]scene{
		"continue": {caller: one("PUT", "/", "text", set("Expect", "100-continue")), want: `4 "text" EOF`},
		"refused":  {server: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusExpectationFailed) }, caller: one("PUT", "/", "text", set("Expect", "100-continue")), want: "417"},
		"continue without an answer": {
			server: func(w http.ResponseWriter, r *http.Request) { time.Sleep(3 * time.Second); echo(w, r) },
			tune:   func(b *http.Transport) { b.ExpectContinueTimeout = time.Second },
			caller: one("PUT", "/", "text", set("Expect", "100-continue")), want: `4 "text" EOF`,
		},
		"request's trailers": {caller: one("PUT", "/", "", late), want: `4 "text" EOF`},
		"response's trailers": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "Sum")
				io.WriteString(w, "text")
				http.NewResponseController(w).Flush()
				w.Header().Set("Sum", "late")
				w.Header().Set(http.TrailerPrefix+"Unknown", "too")
			},
			caller: one("GET", "/", ""), want: "Sum:[late]",
		},
		"early hints": {
			server: func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second) // so that the hooks of reading and writing come in one order
				w.Header().Set("Link", "</a>")
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusProcessing)
				echo(w, r)
			},
			caller: func(t *testing.T, s *sight, rt http.RoundTripper) {
				t.Helper()
				for range 2 { // the second on the same connection
					one("PUT", "/", "text", set("Expect", "100-continue"), func(r *http.Request) { *r = *r.WithContext(traced(r.Context(), s)) })(t, s, rt)
				}
			},
			want: "reused true",
		},
	})
}

type atEnd func()

func (f atEnd) Read([]byte) (int, error) { f(); return 0, io.EOF }

// traced has all hooks of httptrace tell what they see.
func traced(ctx context.Context, s *sight) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(hostPort string) { s.callerSees("GetConn %s", hostPort) },
		GotConn:              func(c httptrace.GotConnInfo) { s.callerSees("GotConn, reused %v, idle %v", c.Reused, c.WasIdle) },
		GotFirstResponseByte: func() { s.callerSees("GotFirstResponseByte") },
		Got100Continue:       func() { s.callerSees("Got100Continue") },
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			s.callerSees("Got1xxResponse %d %v", code, h)
			if code == http.StatusTeapot {
				return errors.New("no tea")
			}
			return nil
		},
		Wait100Continue: func() { s.callerSees("Wait100Continue") },
	})
}
