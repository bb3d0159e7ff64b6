package lab

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// listener is a net.Listener whose connections are pipes, so that a server and a client
// can run in a bubble.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// Serve returns a Base that reaches h, over HTTP/2 if two says so, until the test ends.
func Serve(t *testing.T, two bool, h http.HandlerFunc) *http.Transport {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!two)
	p.SetUnencryptedHTTP2(two)
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h, Protocols: &p}
	tr := &http.Transport{DialContext: l.dial, Protocols: &p, MaxIdleConnsPerHost: 100}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(l)
	}()
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
		<-served
		time.Sleep(time.Second) // net/http lets a connection linger for half a second before it is closed
	})
	return tr
}

// Direct returns a Base that has h answer in the goroutine of the request, as h would on a connection: an
// answer has its Date and its length. Without a pipe, goroutines and texts of HTTP, a test takes a quarter of
// the time. h gets the request as the client made it, and its answer when all of it is written.
func Direct(h http.Handler) RoundTripper {
	return func(req *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if err := context.Cause(req.Context()); err != nil {
			return nil, err
		}
		resp := w.Result()
		resp.Request = req
		if _, said := resp.Header["Date"]; !said {
			resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		}
		resp.ContentLength = int64(w.Body.Len())
		resp.Header.Set("Content-Length", strconv.Itoa(w.Body.Len()))
		return resp, nil
	}
}

// Protocols runs f over HTTP/1.1 and HTTP/2, each in a bubble.
func Protocols(t *testing.T, f func(t *testing.T, two bool)) {
	t.Helper()
	for name, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, two) })
		})
	}
}
