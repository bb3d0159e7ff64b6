// Package bench measures what pacer costs when nothing has to wait, and compares
// it with what a program would otherwise use. It is a module of its own, so that
// the peers stay out of the go.sum of pacer's users.
//
//	go run ./cmd/compare          # one table of all subjects, measured in turns, and whether our goals are met
//	go run ./cmd/compare -instructions   # the same by instructions, which are not noisy; needs valgrind
//	go run ./cmd/instructions     # instructions of each path, by valgrind
//	go run ./cmd/growth           # what grows with the number of buckets, patterns and waiters
//	go run ./cmd/precision        # how exactly waiters are paced
//	go run ./cmd/loopback         # requests over real HTTP/1.1, and the time of processors for them
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
	"maps"
	"net/http"
	"strconv"
	"strings"
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
	// that counts. A base with it, or with one of those below, is for one goroutine.
	Countdown
	// Fresh is Countdown, but each answer has a map of headers of its own, as net/http makes it.
	Fresh
	// GitHub counts down in GitHub's five headers.
	GitHub
	// Draft7 counts down in the fields of the IETF's draft 7.
	Draft7
	// Draft8 counts down in the fields of the IETF's draft 8.
	Draft8
	// OpenAI counts requests down, and states tokens, among 13 headers. Those have a reset that is always 6
	// minutes off, and of 150,000 tokens: so it moves on by more than half of the time of one token as soon as
	// 1.1 s have passed, and a bucket thinks that they come back bit by bit.
	OpenAI
	// Unknown counts down in names that no table has.
	Unknown
)

// String returns the name of the constant.
func (a Answer) String() string {
	return [...]string{"plain", "usual", "epoch", "delta", "countdown", "fresh", "GitHub", "draft 7", "draft 8", "OpenAI", "unknown"}[a]
}

const (
	limit     = 99_999
	remaining = 99_986
	// month is when the limit is stated to be restored: always so much after the answer, or after the base was
	// made. A bucket takes a reset to have moved on if it did so by more than half of the time of one token,
	// which are 13 s of a month: longer than any two answers are apart here, however busy the machine is. Of a
	// limit of an hour it would be 18 ms, and then chance would decide whether the bucket thinks that the limit
	// comes back bit by bit, and so what each answer costs.
	month = 30 * 24 * time.Hour
	// ring is after how many answers a base that counts starts again: more than a path is gone. No server does
	// that before its reset, so that a bucket must think that the limit comes back bit by bit, and looks closer
	// at each answer from then on.
	ring = 1 << 16
)

// NewBase returns a RoundTripper that answers at once, with status 200 and without
// a body. It makes a response for each request, as a real one does; that is its
// one allocation, but for Fresh. Its headers are always the same, but for what is counted.
func NewBase(a Answer) http.RoundTripper {
	now := time.Now()
	b := &base{header: http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {"0"},
		"Date":           {now.UTC().Format(http.TimeFormat)},
	}}
	set := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			b.header.Set(pairs[i], pairs[i+1])
		}
	}
	epoch, most, left := strconv.FormatInt(now.Add(month).Unix(), 10), strconv.Itoa(limit), strconv.Itoa(remaining)
	in := strconv.Itoa(int(month / time.Second))
	c := &countdown{base: b}
	switch a {
	case Plain:
		return b
	case Usual:
		for _, name := range usual {
			set(name, "some text")
		}
		return b
	case Epoch:
		set("X-RateLimit-Limit", most, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", epoch)
		return b
	case Delta:
		set("X-RateLimit-Limit", most, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", in)
		return b
	case Countdown, Fresh:
		c.fresh = a == Fresh
		set("X-RateLimit-Limit", most, "X-RateLimit-Reset", epoch)
		c.count("X-RateLimit-Remaining", "LEFT")
	case GitHub:
		set("X-RateLimit-Limit", most, "X-RateLimit-Reset", epoch, "X-RateLimit-Resource", "core")
		c.count("X-RateLimit-Remaining", "LEFT")
		c.count("X-RateLimit-Used", "USED")
	case Draft7:
		set("RateLimit-Policy", most+";w="+in)
		c.count("RateLimit", "limit="+most+", remaining=LEFT, reset="+in)
	case Draft8:
		set("RateLimit-Policy", `"default";q=`+most+";w="+in)
		c.count("RateLimit", `"default";r=LEFT;t=`+in)
	case OpenAI:
		set("Openai-Organization", "org", "Openai-Processing-Ms", "12", "Openai-Version", "2020-10-01", "X-Request-Id", "req",
			"X-RateLimit-Limit-Requests", most, "X-RateLimit-Reset-Requests", month.String(),
			"X-RateLimit-Limit-Tokens", "150000", "X-RateLimit-Remaining-Tokens", "149984", "X-RateLimit-Reset-Tokens", "6m0s")
		c.count("X-RateLimit-Remaining-Requests", "LEFT")
	case Unknown:
		set("X-Vendor-RateLimit-Things-Limit", most, "X-Vendor-RateLimit-Things-Reset", in)
		c.count("X-Vendor-RateLimit-Things-Remaining", "LEFT")
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
	*base
	fresh   bool // a map for each answer
	counted []counted
	next    int
}

// counted is a header that changes with each answer.
type counted struct {
	values []string // of the header
	texts  [ring]string
}

// count adds a header. In each of its values, LEFT and USED are numbers.
func (c *countdown) count(name, value string) {
	c.header.Set(name, "")
	h := counted{values: c.header[http.CanonicalHeaderKey(name)]}
	for i := range h.texts {
		h.texts[i] = strings.ReplaceAll(strings.ReplaceAll(value, "LEFT", strconv.Itoa(limit-1-i)), "USED", strconv.Itoa(1+i))
	}
	c.counted = append(c.counted, h)
}

// RoundTrip implements http.RoundTripper.
func (c *countdown) RoundTrip(req *http.Request) (*http.Response, error) {
	for i := range c.counted {
		c.counted[i].values[0] = c.counted[i].texts[c.next%ring]
	}
	c.next++
	resp, err := c.base.RoundTrip(req)
	if c.fresh {
		resp.Header = maps.Clone(resp.Header)
	}
	return resp, err
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

// warm sends 300 requests, so that what only the first requests to a host cost is
// paid: the bucket, and the slow start, which is over after 256 answers.
func (c *caller) warm(tb testing.TB, rt http.RoundTripper) {
	tb.Helper()
	for range 300 {
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
