package pacer

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// roundTripper is a Base made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// body is one that records what is done to it.
type body struct {
	io.Reader
	mu     sync.Mutex
	reads  int
	closes int
}

func newBody(s string) *body { return &body{Reader: strings.NewReader(s)} }

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.reads++
	b.mu.Unlock()
	return b.Reader.Read(p)
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

func (b *body) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closes > 0
}

// answer makes a response, with headers as name, value, name, value.
func answer(req *http.Request, status int, text string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: newBody(text), ContentLength: int64(len(text)),
	}
}

// script is a Base that gives one answer after the other, and the last one for
// ever, as a server that reads and closes the body would.
type script struct {
	mu      sync.Mutex
	answers []func(*http.Request) (*http.Response, error)
	got     []string // method, URL and body of each request
	at      []time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	text := ""
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		req.Body.Close()
		text = " " + string(b)
	}
	s.mu.Lock()
	s.got = append(s.got, req.Method+" "+req.URL.String()+text)
	s.at = append(s.at, time.Now())
	f := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.mu.Unlock()
	return f(req)
}

// status is an answer for a script.
func status(code int, text string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) { return answer(req, code, text, header...), nil }
}

// fails is an error for a script.
func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var errBroken = errors.New("connection broken")

func request(t *testing.T, method, url, text string) *http.Request {
	t.Helper()
	var r io.Reader
	if text != "" {
		r = strings.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// zero is a Rand that takes all jitter away: full jitter is then no delay at all.
func zero() float64 { return 0 }

// steady is a backoff without jitter: 1 s, 2 s, 4 s.
type steady struct{}

func (steady) Delay(n int, _ time.Duration) time.Duration { return time.Second << (n - 1) }

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("body: %v", err)
	}
	return string(b)
}

// lookup returns the bucket of a request.
func lookup(tr *Transport, req *http.Request) *bucket {
	b, _ := tr.router.bucket(tr, req)
	return b
}
