package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// far is a proxy to a server at a distance: what passes, in either direction, takes so long.
type far struct {
	addr   string
	listen net.Listener
	wait   sync.WaitGroup
}

func newFar(ctx context.Context, to string, each time.Duration) (*far, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &far{addr: l.Addr().String(), listen: l}
	f.wait.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			f.wait.Go(func() { pass(in, out, each) })
			f.wait.Go(func() { pass(out, in, each) })
		}
	})
	return f, nil
}

// close ends the proxy when all connections are closed.
func (f *far) close() {
	_ = f.listen.Close()
	f.wait.Wait()
}

// piece is what was read, and when it is to be written.
type piece struct {
	data []byte
	at   time.Time
}

// pass copies one direction, in which more is read while what was read is on its way.
func pass(from, to net.Conn, each time.Duration) {
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{buf[:n], time.Now().Add(each)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		_ = sleep(context.Background(), max(time.Until(p.at), 0))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	for range pieces { // until it is read no more
	}
}
