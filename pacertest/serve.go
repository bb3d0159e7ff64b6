package pacertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// grace is for how long Close waits for answers that are under way. It is
// what httptest.Server waits before it complains.
const grace = 5 * time.Second

// served is what a Server has open.
type served struct {
	http   *http.Server
	url    string
	pipe   *pipe
	fresh  map[net.Conn]struct{} // connections that carried no request yet
	closed bool
	group  sync.WaitGroup // connections, and accept loops
}

// Start serves on a port of the loopback interface and returns the base URL,
// like "http://127.0.0.1:41234". If it was called before, it returns the same
// URL again. It panics if it cannot listen, or the first time after Close.
func (s *Server) Start() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served.url == "" {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			panic("pacertest: " + err.Error())
		}
		s.served.url = "http://" + l.Addr().String()
		s.serveLocked(l)
	}
	return s.served.url
}

// Transport returns a new Transport that reaches this server in memory, over
// net.Pipe, whatever the host in the URL; the host arrives in the request's
// Host. The schemes http and https both work, without TLS. It works inside a
// synctest bubble. It panics if called for the first time after Close.
//
// Several Transports share the quota of the one server, as several programs
// do.
func (s *Server) Transport() *http.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served.pipe == nil {
		s.served.pipe = &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
		s.serveLocked(s.served.pipe)
	}
	dial := s.served.pipe.dial
	return &http.Transport{
		DialContext:         dial,
		DialTLSContext:      dial,
		MaxIdleConnsPerHost: 1 << 10, // as many as callers; the default of 2 redials all the time
	}
}

// Close stops serving and waits until nothing of the server is left, so that a
// synctest bubble can end. Idle connections are closed at once, by which those
// of a Transport end as well. Answers that are under way may end, for 5
// seconds; then their connections are closed too. A Handler that does not end
// keeps Close waiting.
func (s *Server) Close() {
	s.mu.Lock()
	srv := s.served.http
	s.served.closed = true
	// Shutdown takes a connection that was opened and never used for busy,
	// for 5 seconds.
	for c := range s.served.fresh {
		_ = c.Close()
	}
	s.mu.Unlock()
	if srv == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		_ = srv.Close()
	}
	s.served.group.Wait()
}

// serveLocked serves l. It requires that s.mu is held.
func (s *Server) serveLocked(l net.Listener) {
	if s.served.closed {
		_ = l.Close()
		panic("pacertest: Server is closed")
	}
	if s.served.http == nil {
		s.served.http = &http.Server{Handler: s, ConnState: s.connState}
		s.served.fresh = map[net.Conn]struct{}{}
	}
	srv := s.served.http
	s.served.group.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic("pacertest: " + err.Error())
		}
	})
}

// connState follows the connections. It adds to the group inside Serve, which
// itself is in the group, so that Wait cannot come in between.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served.fresh, c)
	switch state {
	case http.StateNew:
		s.served.group.Add(1)
		if s.served.closed {
			_ = c.Close()
			return
		}
		s.served.fresh[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		s.served.group.Done()
	}
}

// pipe is a net.Listener whose connections are those that dial makes.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once // closes closed
}

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
