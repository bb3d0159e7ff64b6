package lab

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// RoundTripper is a Base made of a function.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// wrapper is a RoundTripper around another.
type wrapper struct{ rt http.RoundTripper }

// Wrap returns a RoundTripper around rt, as oauth2.Transport and many more are.
func Wrap(rt http.RoundTripper) http.RoundTripper { return wrapper{rt} }

func (w wrapper) RoundTrip(req *http.Request) (*http.Response, error) { return w.rt.RoundTrip(req) }

// Body is a body that records what is done to it.
type Body struct {
	io.Reader
	mu     sync.Mutex
	Reads  int
	Closes int
}

// NewBody makes a body of a text.
func NewBody(s string) *Body { return &Body{Reader: strings.NewReader(s)} }

func (b *Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.Reads++
	b.mu.Unlock()
	return b.Reader.Read(p)
}

// Close implements io.Closer. What comes after it is read all the same.
func (b *Body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Closes++
	return nil
}

// Closed reports whether it was closed, at least once.
func (b *Body) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Closes > 0
}

// Answer makes a response, with headers as name, value, name, value. Its body is a Body.
func Answer(req *http.Request, status int, text string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: NewBody(text), ContentLength: int64(len(text)),
	}
}

// Script is a Base that gives one answer after the other, and the last one for
// ever, as a server that reads and closes the body would.
type Script struct {
	mu      sync.Mutex
	Answers []func(*http.Request) (*http.Response, error)
	Got     []string    // method, URL and body of each request
	At      []time.Time // when each came
}

// RoundTrip implements http.RoundTripper.
func (s *Script) RoundTrip(req *http.Request) (*http.Response, error) {
	text := ""
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		req.Body.Close()
		text = " " + string(b)
	}
	s.mu.Lock()
	s.Got = append(s.Got, req.Method+" "+req.URL.String()+text)
	s.At = append(s.At, time.Now())
	f := s.Answers[0]
	if len(s.Answers) > 1 {
		s.Answers = s.Answers[1:]
	}
	s.mu.Unlock()
	return f(req)
}

// Times returns when each request came, since start.
func (s *Script) Times(start time.Time) (all []time.Duration) {
	for _, at := range s.At {
		all = append(all, at.Sub(start))
	}
	return all
}

// OK is a Base that answers at once.
func OK() *Script {
	return &Script{Answers: []func(*http.Request) (*http.Response, error){Status(200, "")}}
}

// Status is an answer for a Script.
func Status(code int, text string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) { return Answer(req, code, text, header...), nil }
}

// Fails is an error for a Script.
func Fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// ErrBroken is the error of a connection that breaks.
var ErrBroken = errors.New("connection broken")

// ErrDial is that of a request which never reached the server.
var ErrDial = &net.OpError{Op: "dial", Err: ErrBroken}

// Fallback is a Transport.Fallback that asks rt.
func Fallback(rt http.RoundTripper) func(*http.Request, *throttle.Error) (*http.Response, error) {
	return func(req *http.Request, _ *throttle.Error) (*http.Response, error) { return rt.RoundTrip(req) }
}
