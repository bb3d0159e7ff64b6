package pacertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// grace is how long close waits for answers that are under way. An httptest.Server
// waits for as long before it complains.
const grace = 5 * time.Second

// service is how requests reach a handler: over a loopback port, in memory, or both.
type service struct {
	mu     sync.Mutex // protects the fields below
	server *http.Server
	cancel context.CancelFunc // ends the contexts of all requests
	url    string
	pipe   *pipe
	unused map[net.Conn]struct{} // connections that have carried no request yet
	closed bool

	open sync.WaitGroup // connections, and the loops that accept them
}

// start serves h on a loopback port, if it does not do so yet, and returns the base
// URL.
func (s *service) start(h http.Handler) (url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			panic("pacertest: " + err.Error())
		}
		s.url = "http://" + l.Addr().String()
		s.serveLocked(l, h)
	}
	return s.url
}

// transport serves h in memory, if it does not do so yet, and returns a new client
// of it.
func (s *service) transport(h http.Handler) *http.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe == nil {
		s.pipe = &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
		s.serveLocked(s.pipe, h)
	}
	dial := s.pipe.dial
	return &http.Transport{
		DialContext:         dial,
		DialTLSContext:      dial,
		MaxIdleConnsPerHost: 1 << 10, // as many as there are callers; with the default of 2 they dial again all the time
	}
}

// close stops serving and waits until no connection is open.
func (s *service) close() {
	s.mu.Lock()
	srv, cancelAll := s.server, s.cancel
	s.closed = true
	// Shutdown waits 5 seconds for a connection that was opened and never used.
	for c := range s.unused {
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
	cancelAll() // of a request whose body was not read, Close ends no context
	s.open.Wait()
}

// serveLocked serves h on the connections of l. It requires that s.mu is held.
func (s *service) serveLocked(l net.Listener, h http.Handler) {
	if s.closed {
		_ = l.Close()
		panic("pacertest: Server is closed")
	}
	if s.server == nil {
		base, cancel := context.WithCancel(context.Background())
		s.server = &http.Server{Handler: h, ConnState: s.connState, BaseContext: func(net.Listener) context.Context { return base }}
		s.cancel = cancel
		s.unused = map[net.Conn]struct{}{}
	}
	srv := s.server
	s.open.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic("pacertest: " + err.Error())
		}
	})
}

// connState counts the connections that are open. It is called inside Serve, which is
// counted itself: so Wait cannot return before connState has counted a connection.
func (s *service) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unused, c)
	switch state {
	case http.StateNew:
		s.open.Add(1)
		if s.closed {
			_ = c.Close()
			return
		}
		s.unused[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		s.open.Done()
	}
}

// pipe is a net.Listener. Its connections are the ones that dial makes.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once // closes closed
}

// dial returns a connection to the server of the pipe, whatever the address is.
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
