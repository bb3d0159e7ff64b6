// Package bench measures what pacer costs when nothing has to wait, and compares
// it with what a program would otherwise use. It is a module of its own, so that
// the peers stay out of the go.sum of pacer's users.
//
//	go run ./cmd/compare          # one table of all subjects, measured in turns
//	go run ./cmd/instructions     # instructions of each path, by valgrind
//	go run ./cmd/growth           # what grows with the number of buckets, patterns and waiters
//	go test -bench=. -count=10    # for benchstat and profiles
//
// Round trips are measured over a base without a network, so that the figures are
// what the wrapper adds. Figures differ from machine to machine and from hour to
// hour: compare the rows of one run, not different runs.
package bench

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// Answer says which headers the answers of a base have.
type Answer int

const (
	// Plain says nothing of limits, in three headers.
	Plain Answer = iota
	// Usual says nothing of limits either, in as many headers as an answer has that came
	// through one or two proxies.
	Usual
	// Epoch has X-RateLimit headers with a reset in seconds since 1970, as GitHub has.
	Epoch
	// Delta has X-RateLimit headers with a reset in seconds from now.
	Delta
	// Countdown is Epoch, but each answer has a remaining of one less, as a real server
	// that counts. A base with it is for one goroutine.
	Countdown
)

// String returns the name of the constant.
func (a Answer) String() string {
	return [...]string{"plain", "usual", "epoch", "delta", "countdown"}[a]
}

const (
	limit     = 5000
	remaining = 4987
	ring      = 2048 // answers of a Countdown before it starts again
)

// NewBase returns a RoundTripper that answers at once, with status 200 and without
// a body. It makes a response for each request, as a real one does; that is its
// one allocation. Its headers are always the same.
func NewBase(a Answer) http.RoundTripper {
	now := time.Now()
	b := &base{header: http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {"0"},
		"Date":           {now.UTC().Format(http.TimeFormat)},
	}}
	switch a {
	case Plain:
		return b
	case Usual:
		for _, name := range usual {
			b.header.Set(name, "some text")
		}
		return b
	}
	reset := strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
	if a == Delta {
		reset = "3600"
	}
	b.header.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	b.header.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	b.header.Set("X-RateLimit-Reset", reset)
	if a != Countdown {
		return b
	}
	c := &countdown{base: *b, remaining: b.header["X-Ratelimit-Remaining"]}
	for i := range c.texts {
		c.texts[i] = strconv.Itoa(limit - 1 - i)
	}
	return c
}

// usual are the names of the headers that Usual has beside those of Plain.
var usual = []string{
	"Server", "Cache-Control", "Vary", "Strict-Transport-Security", "X-Content-Type-Options", "Referrer-Policy", "Etag", "X-Request-Id",
	"Cf-Ray", "X-Vendor-Version", "X-Vendor-Region",
}

// base answers with the same headers again and again.
type base struct{ header http.Header }

// RoundTrip implements http.RoundTripper.
func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: b.header, Body: http.NoBody, Request: req,
	}, nil
}

// countdown is a base whose remaining goes down.
type countdown struct {
	base
	remaining []string // the value in the header
	texts     [ring]string
	next      int
}

// RoundTrip implements http.RoundTripper.
func (c *countdown) RoundTrip(req *http.Request) (*http.Response, error) {
	c.remaining[0] = c.texts[c.next%ring]
	c.next++
	return c.base.RoundTrip(req)
}

// caller sends the same request again and again.
type caller struct {
	req     *http.Request
	payload *payload // nil if the request has no body
}

// Get measures GETs without a body through rt, one after another.
func Get(b *testing.B, rt http.RoundTripper) {
	b.Helper()
	newGet().run(b, rt)
}

// Post measures POSTs of 1 KiB with GetBody through rt, one after another.
func Post(b *testing.B, rt http.RoundTripper) {
	b.Helper()
	newPost().run(b, rt)
}

// newGet returns a caller of GET without a body.
func newGet() *caller {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://api.example.com/v1/things", http.NoBody)
	if err != nil {
		panic(err)
	}
	return &caller{req: req}
}

// newPost returns a caller of POST with a body of 1 KiB and GetBody.
func newPost() *caller {
	kib := bytes.Repeat([]byte{'x'}, 1024)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://api.example.com/v1/things", bytes.NewReader(kib))
	if err != nil {
		panic(err)
	}
	return &caller{req, &payload{text: kib}}
}

// call sends the request through rt and ends the response as a program would.
func (c *caller) call(rt http.RoundTripper) error {
	if c.payload != nil {
		c.payload.r.Reset(c.payload.text)
		c.req.Body = c.payload
	}
	resp, err := rt.RoundTrip(c.req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// run measures calls through rt, one after another.
func (c *caller) run(b *testing.B, rt http.RoundTripper) {
	b.Helper()
	b.ReportAllocs()
	c.warm(b, rt)
	for b.Loop() {
		if err := c.call(rt); err != nil {
			b.Fatal(err)
		}
	}
}

// warm sends 64 requests, so that what only the first requests to a host cost is
// paid: the bucket, and the slow start, which is over after 32 answers.
func (c *caller) warm(tb testing.TB, rt http.RoundTripper) {
	tb.Helper()
	for range 64 {
		if err := c.call(rt); err != nil {
			tb.Fatal(err)
		}
	}
}

// payload is a body like the one that http.NewRequest makes of a bytes.Reader, but it
// can be sent again without an allocation.
type payload struct {
	text []byte
	r    bytes.Reader
}

var _ interface {
	io.ReadCloser
	io.WriterTo
} = (*payload)(nil)

func (p *payload) Read(b []byte) (int, error)         { return p.r.Read(b) }
func (p *payload) WriteTo(w io.Writer) (int64, error) { return p.r.WriteTo(w) }
func (p *payload) Close() error                       { return nil }
