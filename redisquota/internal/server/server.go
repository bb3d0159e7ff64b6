// Package server starts servers that speak Redis, for tests, benchmarks and examples: the
// real one that is on PATH, or miniredis.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Server is one that runs on a loopback port.
type Server struct {
	Addr string
	Mini *miniredis.Miniredis // nil if it is a real one

	path string
	args []string
	env  []string
	dir  string // for what it writes all the same, as a replica does
	cmd  *exec.Cmd
}

// ErrNone means that no real server is on PATH.
var ErrNone = errors.New("server: neither redis-server nor valkey-server is on PATH")

// Find returns the path of a real server.
func Find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Any starts a real server if there is one, and miniredis if not.
func Any(ctx context.Context) (*Server, error) {
	s, err := Real(ctx)
	if errors.Is(err, ErrNone) {
		return Mini()
	}
	return s, err
}

// Mini starts miniredis.
func Mini() (*Server, error) {
	m, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	return &Server{Addr: m.Addr(), Mini: m}, nil
}

// Real starts the real server, which keeps nothing on disk, with further arguments.
func Real(ctx context.Context, args ...string) (*Server, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	return At(ctx, path, args...)
}

// With starts the real server with further variables of its environment, and with further arguments.
func With(ctx context.Context, env []string, args ...string) (*Server, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	return at(ctx, path, env, args)
}

// At starts the server of that path.
func At(ctx context.Context, path string, args ...string) (*Server, error) {
	return at(ctx, path, nil, args)
}

func at(ctx context.Context, path string, env, args []string) (*Server, error) {
	free, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, path: path, args: args, env: env}
	if s.dir, err = os.MkdirTemp("", "redisquota"); err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// Start starts the server again, empty.
func (s *Server) Start(ctx context.Context) error {
	if s.Mini != nil {
		s.Mini.FlushAll()
		return s.Mini.Restart()
	}
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--loglevel", "warning", "--dir", s.dir}, s.args...)
	s.cmd = exec.Command(s.path, args...) //nolint:noctx // it lives until Stop
	s.cmd.Env = append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if err = c.Ping(ctx).Err(); err == nil {
			return nil
		}
		wait := time.NewTimer(5 * time.Millisecond)
		select {
		case <-wait.C:
		case <-ctx.Done():
			s.Stop()
			return fmt.Errorf("server: %s did not start: %w", s.path, err)
		}
	}
}

// Signal sends the real server a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Again kills the real server, and starts it with what it has on disk.
func (s *Server) Again(ctx context.Context) error {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	return s.Start(ctx)
}

// Stop ends the server, and with it what it knows.
func (s *Server) Stop() {
	if s.Mini != nil {
		s.Mini.Close()
		return
	}
	_ = s.cmd.Process.Kill() // it has nothing to save
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}
