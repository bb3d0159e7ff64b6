//go:build unix

package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// proxy stands between a process and the server, and does what a network does.
type proxy struct {
	addr string

	mu     sync.Mutex // protects the fields below
	target string
	down   bool          // nothing gets through
	delay  time.Duration // of each reply
	jitter time.Duration // by up to so much a reply takes longer
	silent bool          // what comes is taken, and neither goes on nor is answered, as behind a cable that is out
	lose   int           // of so many replies one is lost, and the connection with it; 0 loses none
	count  int
	conns  map[net.Conn]struct{}
}

func newProxy(ctx context.Context, target string) (*proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{addr: l.Addr().String(), target: target, conns: map[net.Conn]struct{}{}}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(ctx, c)
		}
	}()
	return p, nil
}

func (p *proxy) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	down, target := p.down, p.target
	p.mu.Unlock()
	if down {
		return
	}
	s, err := net.Dial("tcp", target) //nolint:noctx // it ends with the connection
	if err != nil {
		return
	}
	defer s.Close()
	p.mu.Lock()
	if p.down || p.target != target {
		p.mu.Unlock()
		return // that changed meanwhile, and the connections that there were have ended
	}
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	go func() {
		_, _ = io.Copy(s, p.heard(c))
		_ = s.Close()
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := s.Read(b)
		if n > 0 {
			p.mu.Lock()
			delay, silent, lost := p.delay, p.silent, p.silent
			if p.jitter > 0 {
				delay += rand.N(p.jitter)
			}
			if p.count++; p.lose > 0 && p.count%p.lose == 0 {
				lost = true
			}
			p.mu.Unlock()
			switch {
			case lost && silent:
				continue
			case lost:
				return
			}
			if delay > 0 {
				pause(ctx, delay)
			}
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set changes what the proxy does, and ends all connections if asked to.
func (p *proxy) set(change func(*proxy), cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
	if cut {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

// heard is what c sends, but for what is lost while the proxy is silent.
func (p *proxy) heard(c net.Conn) io.Reader { return &heard{p, c} }

type heard struct {
	p *proxy
	c net.Conn
}

// Read implements io.Reader.
func (h *heard) Read(b []byte) (int, error) {
	for {
		n, err := h.c.Read(b)
		h.p.mu.Lock()
		silent := h.p.silent
		h.p.mu.Unlock()
		if !silent || err != nil {
			return n, err
		}
	}
}
