//go:build unix

package main

import (
	"context"
	"io"
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
		_, _ = io.Copy(s, c)
		_ = s.Close()
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := s.Read(b)
		if n > 0 {
			p.mu.Lock()
			delay, lost := p.delay, false
			if p.count++; p.lose > 0 && p.count%p.lose == 0 {
				lost = true
			}
			p.mu.Unlock()
			if lost {
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
