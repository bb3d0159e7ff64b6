package contract

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// raw is a server that does what no net/http server would do. Its requests are counted over
// all connections.
type raw struct {
	got   []string // method, or that it is HTTP/2, and body of each request that came whole
	react func(n int) reaction
}

// reaction is what raw does with the nth request.
type reaction int

const (
	obeys    reaction = iota
	drops             // closes the connection, unanswered
	refuses           // HTTP/2: REFUSED_STREAM, nothing was done
	goesAway          // HTTP/2: GOAWAY, nothing was done
	garbles           // what is no HTTP
)

// serve returns a Base that reaches r, until the test ends.
func (r *raw) serve(t *testing.T, two bool) *http.Transport {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!two)
	p.SetUnencryptedHTTP2(two)
	base := &http.Transport{Protocols: &p, DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { server.Close() })
		go func() {
			defer server.Close()
			if two {
				r.frames(server)
			} else {
				r.lines(server)
			}
		}()
		return client, nil
	}}
	t.Cleanup(base.CloseIdleConnections)
	return base
}

func (r *raw) came(method, body string) reaction {
	r.got = append(r.got, strings.TrimSpace(method+" "+body))
	return r.react(len(r.got))
}

// lines serves a connection of HTTP/1.1.
func (r *raw) lines(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		text, _ := io.ReadAll(req.Body)
		switch r.came(req.Method, string(text)) {
		case obeys:
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		case garbles:
			io.WriteString(c, "220 mail.example ESMTP\r\n")
			return
		default:
			return
		}
	}
}

// frame is one of HTTP/2: RFC 9113 section 4.1.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// Of RFC 9113 section 6.
const (
	dataFrame, headersFrame, resetFrame, settingsFrame, goAwayFrame = 0, 1, 3, 4, 7

	endStream, endHeaders, ack = 1, 4, 1

	refusedStream = 7
)

// frames serves a connection of HTTP/2.
func (r *raw) frames(c net.Conn) {
	in := make(chan frame, 100)
	go func() { // read on, since a pipe has no buffer
		defer close(in)
		if _, err := io.CopyN(io.Discard, c, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
			return
		}
		var head [9]byte
		for {
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			f := frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]), make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))}
			if _, err := io.ReadFull(c, f.payload); err != nil {
				return
			}
			in <- f
		}
	}()
	write := func(f frame) {
		n := len(f.payload)
		b := []byte{byte(n >> 16), byte(n >> 8), byte(n), f.kind, f.flags}
		c.Write(append(binary.BigEndian.AppendUint32(b, f.stream), f.payload...))
	}
	write(frame{kind: settingsFrame})
	bodies := map[uint32]string{}
	for f := range in {
		switch {
		case f.kind == settingsFrame && f.flags&ack == 0:
			write(frame{kind: settingsFrame, flags: ack})
		case f.kind == dataFrame:
			bodies[f.stream] += string(f.payload)
		}
		if f.kind > headersFrame || f.flags&endStream == 0 {
			continue
		}
		switch r.came("HTTP/2", bodies[f.stream]) {
		case obeys:
			write(frame{headersFrame, endStream | endHeaders, f.stream, []byte{0x88}}) // ":status: 200", RFC 7541 appendix A
		case refuses:
			write(frame{resetFrame, 0, f.stream, []byte{0, 0, 0, refusedStream}})
		case goesAway:
			write(frame{goAwayFrame, 0, 0, make([]byte, 8)}) // the last stream is 0, and there is no error
			return
		case garbles:
			write(frame{headersFrame, endStream | endHeaders, f.stream, []byte{0xff, 0xff, 0xff, 0xff}})
			return
		default:
			return
		}
	}
}

// What net/http sends again by itself, since it is safe, it sends again below a Transport;
// what it does not, a Transport sends again if it is idempotent and can be had again. A body
// comes whole or not at all.
func TestContractWire(t *testing.T) {
	var (
		get = func(t *testing.T) *http.Request { t.Helper(); return lab.Request(t, "GET", "http://a.example/", "") }
		put = func(t *testing.T) *http.Request {
			t.Helper()
			return lab.Request(t, "PUT", "http://a.example/", "text")
		}
		post = func(t *testing.T) *http.Request {
			t.Helper()
			return lab.Request(t, "POST", "http://a.example/", "text")
		}
		putStream = func(t *testing.T) *http.Request { t.Helper(); r := put(t); r.GetBody = nil; return r }
		postKey   = func(t *testing.T) *http.Request {
			t.Helper()
			r := post(t)
			r.Header["Idempotency-Key"] = nil
			return r
		}
	)
	for _, test := range []struct {
		name        string
		two, reused bool
		does        reaction
		req         func(t *testing.T) *http.Request
		bare, paced int // how often it is sent until it is answered; negative if never, but sent so often
	}{
		// A connection that was kept alive, and closed by the server when the request came:
		// net/http repeats what isReplayable allows. PUT is not among that.
		{"GET on a kept connection", false, true, drops, get, 2, 2},
		{"PUT on a kept connection", false, true, drops, put, -1, 2},
		{"POST on a kept connection", false, true, drops, post, -1, -1},
		{"POST with a key on a kept connection", false, true, drops, postKey, 2, 2},
		{"a PUT that can be had once on a kept connection", false, true, drops, putStream, -1, -1},
		{"GET on a kept connection", true, true, drops, get, -1, 2},
		{"PUT on a kept connection", true, true, drops, put, -1, 2},
		{"POST on a kept connection", true, true, drops, post, -1, -1},
		{"POST with a key on a kept connection", true, true, drops, postKey, -1, 2},
		{"a PUT that can be had once on a kept connection", true, true, drops, putStream, -1, -1},
		// One that is new.
		{"GET", false, false, drops, get, -1, 2},
		{"POST", false, false, drops, post, -1, -1},
		{"GET", true, false, drops, get, -1, 2},
		{"POST", true, false, drops, post, -1, -1},
		{"GET from what is no server", false, false, garbles, get, -1, 2},
		{"POST to what is no server", false, false, garbles, post, -1, -1},
		{"POST to what is no server", true, false, garbles, post, -1, -1},
		// RFC 9113 section 8.7: nothing was done, and any method may go again.
		{"GET refused", true, false, refuses, get, 2, 2},
		{"PUT refused", true, false, refuses, put, 2, 2},
		{"POST refused", true, false, refuses, post, 2, 2},
		{"a PUT that can be had once refused", true, false, refuses, putStream, -1, -1},
		{"GET goes away", true, false, goesAway, get, 2, 2},
		{"POST goes away", true, false, goesAway, post, 2, 2},
		{"POST goes away on a kept connection", true, true, goesAway, post, 2, 2},
		{"a PUT that can be had once goes away", true, false, goesAway, putStream, -1, -1},
	} {
		for _, paced := range []bool{false, true} {
			name := fmt.Sprint(test.name, " over ", map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[test.two], map[bool]string{false: " bare", true: " paced"}[paced])
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ill := 1
					if test.reused {
						ill = 2
					}
					srv := &raw{react: func(n int) reaction {
						if n == ill {
							return test.does
						}
						return obeys
					}}
					var rt http.RoundTripper = srv.serve(t, test.two)
					want := test.bare
					if paced {
						rt, want = &pacer.Transport{Base: rt, Retry: pacer.Retry{Backoff: lab.Steady{}}}, test.paced
					}
					if test.reused {
						if _, err := rt.RoundTrip(get(t)); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Second) // it is idle now
					}
					req := test.req(t)
					resp, err := rt.RoundTrip(req)
					if (err == nil) != (want > 0) || (resp == nil) != (err != nil) {
						t.Errorf("got %v, %v", resp, err)
					}
					got := srv.got[ill-1:]
					if len(got) != max(want, -want) || len(slices.Compact(slices.Clone(got))) != 1 {
						t.Errorf("sent %q, want the same %d times", got, max(want, -want))
					}
					if req.Body != nil && !strings.HasSuffix(got[0], "text") {
						t.Errorf("sent %q, want the whole body", got)
					}
				})
			})
		}
	}
}

// A body that was consumed is not sent again, which over HTTP/2 would store an empty object: the
// server sees it whole, or no second request.
func TestContractConsumedBody(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		with   func(*http.Request)
		want   []string
	}{
		"has no GetBody":             {503, func(*http.Request) {}, []string{"4 text <nil>"}},
		"has no GetBody and refused": {429, func(*http.Request) {}, []string{"4 text <nil>"}},
		"renewed":                    {503, renewed, []string{"4 text <nil>", "4 text <nil>", "4 text <nil>"}},
		"of unknown length":          {503, func(r *http.Request) { renewed(r); r.ContentLength = -1 }, []string{"-1 text <nil>", "-1 text <nil>", "-1 text <nil>"}},
		"GetBody fails":              {503, func(r *http.Request) { r.GetBody = func() (io.ReadCloser, error) { return nil, lab.ErrBroken } }, []string{"4 text <nil>"}},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				var got []string
				base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
					b, err := io.ReadAll(r.Body)
					got = append(got, fmt.Sprintf("%d %s %v", r.ContentLength, b, err))
					w.WriteHeader(test.status)
				})
				req := lab.Request(t, "PUT", "http://a.example/", "")
				req.Body, req.ContentLength = lab.NewBody("text"), 4
				test.with(req)
				resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}, MaxRefusals: 2}}).RoundTrip(req)
				if err != nil || resp.StatusCode != test.status {
					t.Fatal(resp, err)
				}
				resp.Body.Close()
				if !slices.Equal(got, test.want) {
					t.Errorf("the server sees %q, want %q", got, test.want)
				}
			})
		})
	}
}

// The caller's body is closed if the request ends while net/http waits to send it again by itself: then
// net/http does not close the body that it has got for that.
func TestContractRefusedUntilCanceled(t *testing.T) {
	for name, retry := range map[string]pacer.Retry{"GetBody": {}, "BufferBody": {BufferBody: 100}, "AttemptTimeout": {BufferBody: 100, AttemptTimeout: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &raw{react: func(int) reaction { return refuses }}
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				req := lab.Request(t, "PUT", "http://a.example/", "").WithContext(ctx)
				b := lab.NewBody("text")
				req.Body, req.ContentLength = b, 4
				if name == "GetBody" {
					req.GetBody = func() (io.ReadCloser, error) { return lab.NewBody("text"), nil }
				}
				start := time.Now()
				resp, err := (&pacer.Transport{Base: srv.serve(t, true), Retry: retry}).RoundTrip(req)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 1500*time.Millisecond || len(srv.got) < 2 {
					t.Errorf("got %v, %v after %v, sent %d times", resp, err, time.Since(start), len(srv.got))
				}
				synctest.Wait()
				if b.Closes != 1 {
					t.Errorf("the body was closed %d times", b.Closes)
				}
			})
		})
	}
}
