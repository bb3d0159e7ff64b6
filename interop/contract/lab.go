package contract

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// short is the delay between attempts where it does not matter.
const short = 20 * time.Millisecond

// lab is a server on loopback and a transport with connections of its own. The server notes
// how many requests it gets and over how many connections.
type lab struct {
	base   *http.Transport
	server *httptest.Server

	requests, connections atomic.Int64
}

// handler answers request n, of which the first is 1.
type handler func(w http.ResponseWriter, r *http.Request, n int)

// newLab starts a server that speaks HTTP/1.1.
func newLab(h handler) *lab {
	l := unstarted(h)
	l.base = &http.Transport{}
	l.server.Start()
	return l
}

// newLab2 starts one that speaks HTTP/2.
func newLab2(h handler) *lab {
	l := unstarted(h)
	l.server.EnableHTTP2 = true
	l.server.StartTLS()
	l.base = l.server.Client().Transport.(*http.Transport)
	return l
}

func unstarted(h handler) *lab {
	l := &lab{}
	l.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h(w, r, int(l.requests.Add(1)))
	}))
	l.server.Config.ErrorLog = log.New(io.Discard, "", 0) // what breaks here is broken on purpose
	l.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			l.connections.Add(1)
		}
	}
	return l
}

// close stops the server, and what is still under way.
func (l *lab) close() {
	l.base.CloseIdleConnections()
	l.server.CloseClientConnections()
	l.server.Close()
}

// request returns one to the server.
func (l *lab) request(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, method, l.server.URL, body)
}

// outcome is what the caller sees of a request.
type outcome struct {
	status int // 0 if there is an error
	body   string
	err    error
	took   time.Duration // until RoundTrip, or Do, returned
}

// do sends a request and reads the answer.
func do(req *http.Request, send func(*http.Request) (*http.Response, error)) outcome {
	start := time.Now()
	resp, err := send(req)
	o := outcome{err: err, took: time.Since(start)}
	if err != nil {
		return o
	}
	b, _ := io.ReadAll(resp.Body) // what breaks off is not whole
	resp.Body.Close()
	o.status, o.body = resp.StatusCode, string(b)
	return o
}

// get sends a GET to the server and reads the answer.
func (l *lab) get(ctx context.Context, rt http.RoundTripper) (outcome, error) {
	req, err := l.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return outcome{}, err
	}
	return do(req, rt.RoundTrip), nil
}

// answer writes a status and a body.
func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	io.WriteString(w, body) //nolint:errcheck // the caller may be gone
}

// secondary is what GitHub answers to what is over its secondary limit. Others do not look at it.
const secondary = `{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`

// refuse answers 429.
func refuse(w http.ResponseWriter, retryAfter string) {
	w.Header().Set("Retry-After", retryAfter)
	answer(w, http.StatusTooManyRequests, secondary)
}

// How often a request came.
const (
	once   = "sent once"
	resent = "sent again"
)

// sent says whether a request came more than once.
func sent(n int64) string { return choose(n > 1, resent, once) }

// times says how often a request came.
func times(n int64) string { return fmt.Sprintf("%d×", n) }

// choose returns one of two answers.
func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// await waits for the end of something.
func await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
