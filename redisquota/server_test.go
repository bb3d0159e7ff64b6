package redisquota_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/internal/server"
)

// servers start one: miniredis, and the real server that is on PATH.
var servers = map[string]func(t *testing.T) *server.Server{
	"miniredis": mini,
	"real":      func(t *testing.T) *server.Server { t.Helper(); return realServer(t) },
}

func mini(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.Mini()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// realServer starts the server that is on PATH.
func realServer(t *testing.T, args ...string) *server.Server {
	t.Helper()
	s, err := server.Real(t.Context(), args...)
	if errors.Is(err, server.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func dial(t *testing.T, s *server.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { c.Close() })
	return c
}

func flushAll(t *testing.T, c *redis.Client) {
	t.Helper()
	if err := c.FlushAll(context.WithoutCancel(t.Context())).Err(); err != nil {
		t.Fatal(err)
	}
}
