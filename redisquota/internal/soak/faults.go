//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gopacer/pacer/redisquota/internal/server"
)

// fault is something that happens to a fleet.
type fault struct {
	name, what string
	outage     time.Duration // for how long the server cannot be reached
	clock      bool          // it is about the clock of the server
	sets       time.Duration // by how much that is off then
	args       []string      // of the server
	do         func(ctx context.Context, c *cell) error
}

// cell is a fleet on a server of its own, one fault, and what came of it.
type cell struct {
	fault  fault
	mode   string
	server *server.Server
	redis  *redis.Client
	dir    string
	offset string // the file that says by how much the clock of the server is off

	began, ended, end time.Time // of the fault; of the cell
	workers           []*worker
	gone              map[int]bool
	wait              sync.WaitGroup
	mu                sync.Mutex // protects sends
	sends             [][]sending
	err               error
}

// How long a fleet runs before and after a fault.
const (
	before = 6 * time.Second
	after  = 10 * time.Second
)

func (c *cell) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.sends, c.gone = make([][]sending, len(chosen())), map[int]bool{}
	var err error
	if c.dir, err = os.MkdirTemp("", "soak"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	var env []string
	if c.fault.clock {
		if env, err = c.fakeClock(ctx); err != nil {
			return err
		}
	}
	if c.server, err = server.With(ctx, env, c.fault.args...); err != nil {
		return err
	}
	defer c.server.Stop()
	c.redis = redis.NewClient(&redis.Options{Addr: c.server.Addr})
	defer c.redis.Close()
	for range *members {
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	pause(ctx, before)
	c.began = time.Now()
	if err := c.fault.do(ctx, c); err != nil {
		return err
	}
	c.ended = time.Now()
	pause(ctx, after)
	c.end = time.Now()
	for _, w := range c.workers {
		w.stop()
	}
	c.wait.Wait()
	return nil
}

// pause waits, for as long as ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// proxies changes those of the first n processes; of all if n is 0.
func (c *cell) proxies(n int, cut bool, change func(*proxy)) {
	for i, w := range c.workers {
		if n == 0 || i < n {
			w.proxy.set(change, cut)
		}
	}
}

//go:embed testdata/clock.c
var clockSource []byte

// fakeClock has the server go by a clock that setClock sets. It needs a C compiler.
func (c *cell) fakeClock(ctx context.Context) ([]string, error) {
	source, lib := filepath.Join(c.dir, "clock.c"), filepath.Join(c.dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O1", "-o", lib, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, out)
	}
	c.offset = filepath.Join(c.dir, "offset")
	return []string{"LD_PRELOAD=" + lib, "SOAK_CLOCK=" + c.offset}, c.setClock(0)
}

// setClock writes into the file, which the server has in its memory: a new file would not be seen.
func (c *cell) setClock(by time.Duration) error {
	f, err := os.OpenFile(c.offset, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(by.Microseconds())), 0)
	return errors.Join(err, f.Close())
}

// clock is a fault of the server's clock.
func clock(name string, by time.Duration) fault {
	return fault{
		name: name, what: fmt.Sprintf("the clock of the server is set by %v", by), clock: true, sets: by,
		do: func(_ context.Context, c *cell) error { return c.setClock(by) },
	}
}

// down is for how long an outage lasts.
const down = 4 * time.Second

// withKeys does something to all keys that end so.
func (c *cell) withKeys(ctx context.Context, suffix string, do func(key string) error) error {
	keys, err := c.redis.Keys(ctx, "*"+suffix).Result()
	for _, key := range keys {
		err = errors.Join(err, do(key))
	}
	return err
}

var faults = []fault{
	{name: "none", what: "nothing happens", do: func(context.Context, *cell) error { return nil }},
	{name: "flushall", what: "FLUSHALL", do: func(ctx context.Context, c *cell) error { return c.redis.FlushAll(ctx).Err() }},
	{name: "restart", what: "the server is killed, and comes back empty at once", do: func(ctx context.Context, c *cell) error {
		c.server.Stop()
		return c.server.Start(ctx)
	}},
	{name: "restart2s", what: "the server is killed, and comes back empty after 2 s", outage: 2 * time.Second, do: func(ctx context.Context, c *cell) error {
		c.server.Stop()
		pause(ctx, 2*time.Second)
		return c.server.Start(ctx)
	}},
	{name: "kill", what: "two of the processes are killed, one begins", do: func(ctx context.Context, c *cell) error {
		c.gone[0], c.gone[1], c.gone[len(c.workers)] = true, true, true
		return errors.Join(c.workers[0].cmd.Process.Kill(), c.workers[1].cmd.Process.Kill(), c.start(ctx))
	}},
	{name: "killing", what: "for 8 s one of the processes is killed each 100 ms, and one begins", do: func(ctx context.Context, c *cell) error {
		var err error
		for i := range 80 {
			pause(ctx, 100*time.Millisecond)
			c.gone[i], c.gone[len(c.workers)] = true, true
			err = errors.Join(err, c.workers[i].cmd.Process.Kill(), c.start(ctx))
		}
		return err
	}},
	{name: "silent", what: "nothing comes through, and no connection ends, for 4 s", outage: down, do: through(func(p *proxy, on bool) { p.silent = on })},
	{name: "jitter", what: "each reply takes up to 2 s, for 4 s", outage: down, do: through(func(p *proxy, on bool) {
		if p.jitter = 0; on {
			p.jitter = 2 * time.Second
		}
	})},
	{name: "evicting", what: "others fill the memory of a server that evicts, for 4 s", args: []string{"--maxmemory", "8mb", "--maxmemory-policy", "allkeys-random"}, do: func(ctx context.Context, c *cell) error {
		for i := range 400 {
			pause(ctx, 10*time.Millisecond)
			pipe := c.redis.Pipeline()
			for k := range 20 {
				pipe.Set(ctx, fmt.Sprint("noise", i, ":", k), strings.Repeat("x", 4<<10), 0)
			}
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
		}
		return c.withKeys(ctx, "", func(key string) error {
			if strings.HasPrefix(key, "noise") {
				return c.redis.Del(ctx, key).Err()
			}
			return nil
		})
	}},
	{name: "sigstop", what: "the server is stopped for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		err := c.server.Signal(syscall.SIGSTOP)
		pause(ctx, down)
		return errors.Join(err, c.server.Signal(syscall.SIGCONT))
	}},
	{name: "sigstop1s", what: "the server is stopped for 1 s", outage: time.Second, do: func(ctx context.Context, c *cell) error {
		err := c.server.Signal(syscall.SIGSTOP)
		pause(ctx, time.Second)
		return errors.Join(err, c.server.Signal(syscall.SIGCONT))
	}},
	{name: "pause", what: "CLIENT PAUSE for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		err := c.redis.Do(ctx, "client", "pause", down.Milliseconds()).Err()
		pause(ctx, down)
		return err
	}},
	{name: "demoted", what: "the server is a replica for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		err := c.redis.Do(ctx, "replicaof", "127.0.0.1", "1").Err()
		pause(ctx, down)
		return errors.Join(err, c.redis.Do(ctx, "replicaof", "no", "one").Err())
	}},
	{name: "clients", what: "the server hangs up, and takes no further clients for 4 s", outage: down, do: hangsUp("maxclients", "1", "10000")},
	{name: "password", what: "the server hangs up, and wants another password for 4 s", outage: down, do: hangsUp("requirepass", "secret", "")},
	{name: "slow", what: "each reply takes 60 ms, for 2 s", do: func(ctx context.Context, c *cell) error {
		c.proxies(0, false, func(p *proxy) { p.delay = 60 * time.Millisecond })
		pause(ctx, 2*time.Second)
		c.proxies(0, false, func(p *proxy) { p.delay = 0 })
		return nil
	}},
	{name: "unreachable", what: "nobody reaches the server for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		c.proxies(0, true, func(p *proxy) { p.down = true })
		pause(ctx, down)
		c.proxies(0, true, func(p *proxy) { p.down = false })
		return nil
	}},
	{name: "partition", what: "two of five do not reach the server for 4 s", do: func(ctx context.Context, c *cell) error {
		c.proxies(2, true, func(p *proxy) { p.down = true })
		pause(ctx, down)
		c.proxies(2, true, func(p *proxy) { p.down = false })
		return nil
	}},
	{name: "asleep", what: "nobody reaches the server for 4 s, of which two of five processes sleep the last 3, and 2 s more", outage: down, do: func(ctx context.Context, c *cell) error {
		var err error
		signal := func(s syscall.Signal) {
			for _, w := range c.workers[:2] {
				err = errors.Join(err, w.cmd.Process.Signal(s))
			}
		}
		c.gone[0], c.gone[1] = true, true
		c.proxies(0, true, func(p *proxy) { p.down = true })
		pause(ctx, down/4)
		signal(syscall.SIGSTOP)
		pause(ctx, down-down/4)
		c.proxies(0, true, func(p *proxy) { p.down = false })
		pause(ctx, 2*time.Second)
		signal(syscall.SIGCONT)
		return err
	}},
	{name: "lostreplies", what: "one reply of five is lost, for 4 s", do: func(ctx context.Context, c *cell) error {
		c.proxies(0, false, func(p *proxy) { p.lose = 5 })
		pause(ctx, down)
		c.proxies(0, false, func(p *proxy) { p.lose = 0 })
		return nil
	}},
	{name: "readonly", what: "the server refuses writes for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		err := c.redis.ConfigSet(ctx, "min-replicas-to-write", "1").Err()
		pause(ctx, down)
		return errors.Join(err, c.redis.ConfigSet(ctx, "min-replicas-to-write", "0").Err())
	}},
	{name: "oom", what: "the server is out of memory for 4 s", outage: down, do: func(ctx context.Context, c *cell) error {
		err := c.redis.ConfigSet(ctx, "maxmemory", "1").Err()
		pause(ctx, down)
		return errors.Join(err, c.redis.ConfigSet(ctx, "maxmemory", "0").Err())
	}},
	{name: "aof", what: "the server is killed, and comes back with what it wrote each second", args: []string{"--appendonly", "yes", "--appendfsync", "everysec"}, do: func(ctx context.Context, c *cell) error {
		return c.server.Again(ctx)
	}},
	{name: "failover", what: "a replica takes over that lacks the last half second", do: failover},
	{name: "scriptflush", what: "SCRIPT FLUSH", do: func(ctx context.Context, c *cell) error { return c.redis.ScriptFlush(ctx).Err() }},
	{name: "evicted", what: "the states of the buckets are evicted", do: func(ctx context.Context, c *cell) error {
		return c.withKeys(ctx, ":state", func(key string) error { return c.redis.Del(ctx, key).Err() })
	}},
	{name: "members", what: "the members are deleted", do: func(ctx context.Context, c *cell) error {
		return errors.Join(c.withKeys(ctx, ":members", func(key string) error { return c.redis.Del(ctx, key).Err() }),
			c.withKeys(ctx, ":active", func(key string) error { return c.redis.Del(ctx, key).Err() }))
	}},
	{name: "corrupt", what: "somebody writes other things into all keys", do: func(ctx context.Context, c *cell) error {
		return c.withKeys(ctx, "", func(key string) error {
			if strings.HasSuffix(key, ":state") {
				return c.redis.HSet(ctx, key, "bucket", "x y z", "q1", "nothing").Err()
			}
			return c.redis.Set(ctx, key, "corrupt", 0).Err()
		})
	}},
	clock("back5s", -5*time.Second),
	clock("back30s", -30*time.Second),
	clock("back1h", -time.Hour),
	clock("forward5s", 5*time.Second),
	clock("forward1h", time.Hour),
}

// through has all proxies be otherwise for a while.
func through(be func(p *proxy, on bool)) func(context.Context, *cell) error {
	return func(ctx context.Context, c *cell) error {
		for _, on := range []bool{true, false} {
			c.proxies(0, false, func(p *proxy) { be(p, on) })
			if on {
				pause(ctx, down)
			}
		}
		return nil
	}
}

// hangsUp has the server end all connections when a setting has changed, which changes back after a while.
func hangsUp(setting, to, back string) func(context.Context, *cell) error {
	return func(ctx context.Context, c *cell) error {
		conn := c.redis.Conn() // which stays
		defer conn.Close()
		err := errors.Join(conn.ConfigSet(ctx, setting, to).Err(), conn.ClientKillByFilter(ctx, "type", "normal", "skipme", "yes").Err(),
			conn.ClientKillByFilter(ctx, "type", "pubsub").Err())
		pause(ctx, down)
		return errors.Join(err, conn.ConfigSet(ctx, setting, back).Err())
	}
}

// failover has a replica stop hearing of what is written for half a second, and then take over.
func failover(ctx context.Context, c *cell) error {
	host, port, _ := strings.Cut(c.server.Addr, ":")
	replica, err := server.Real(ctx, "--replicaof", host, port)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, replica.Stop)
	r := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer r.Close()
	pause(ctx, 3*time.Second) // until it has all
	if err := r.Do(ctx, "replicaof", "no", "one").Err(); err != nil {
		return err
	}
	pause(ctx, 500*time.Millisecond)
	c.proxies(0, true, func(p *proxy) { p.target = replica.Addr })
	return nil
}
