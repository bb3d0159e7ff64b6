//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gopacer/pacer/quota"
)

// fault is something that happens to a fleet.
type fault struct {
	name, what string
	disk       bool // on a file system of its own
	loose      bool // something may be over: what was handed out last is nowhere
	do         func(ctx context.Context, c *cell) error
}

// cell is a fleet in a directory of its own, one fault, and what came of it.
type cell struct {
	fault fault
	mode  string
	disk  string // where the directory is
	dir   string

	began, ended, end time.Time // of the fault; of the cell
	workers           []*worker
	wait              sync.WaitGroup
	did               string
	lost              float64 // how many slots went unused for each process that was killed, of the quota of which most did
	lostOf            string
	removals          int
	lived             time.Duration
	mu                sync.Mutex // protects the fields below
	cpu               time.Duration
	sends             [][]sending
}

// How long a fleet runs before and after a fault, and a fault that lasts.
var before, during, after = 2 * time.Second, 4 * time.Second, 6 * time.Second

func (c *cell) run(ctx context.Context) (err error) {
	c.sends = make([][]sending, len(chosen()))
	if c.disk, err = os.MkdirTemp("", "filequota-soak"); err != nil {
		return err
	}
	defer os.RemoveAll(c.disk)
	if c.fault.disk {
		unmount, err := mount(c.disk)
		if err != nil {
			return fmt.Errorf("cannot have a file system for it: %w", err)
		}
		defer unmount()
	}
	c.dir = filepath.Join(c.disk, "quotas")
	born := time.Now()
	defer func() {
		for _, w := range c.workers {
			_ = w.cmd.Process.Signal(syscall.SIGCONT)
			w.stop()
		}
		c.wait.Wait()
		c.lived = time.Since(born)
	}()
	for range *members {
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	pause(ctx, before)
	c.began = time.Now()
	err = c.fault.do(ctx, c)
	c.ended = time.Now()
	pause(ctx, after)
	c.end = time.Now()
	return errors.Join(err, ctx.Err())
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

// again does something again and again, until the fault has lasted long enough.
func again(ctx context.Context, every time.Duration, do func() error) (err error) {
	for end := time.Now().Add(during); err == nil && ctx.Err() == nil && time.Now().Before(end); {
		pause(ctx, every)
		err = do()
	}
	return err
}

// outlive waits until the slots have passed that so many processes had which were killed, and notes how many
// that were: until of each quota something went after the last of them. A process that waits has a slot for
// each claim, at most, if they are far ahead.
func (c *cell) outlive(ctx context.Context, killed int) {
	last := time.Now()
	pause(ctx, during/10)
	for i, l := range chosen() {
		if l.uneven {
			continue
		}
		q := &quota.MustParse(l.text).Explicit()[0]
		n, latest := c.sent(i, last)
		for each := q.Per / time.Duration(q.N); latest == 0 && ctx.Err() == nil && time.Since(c.began) < time.Duration(killed**claims)*each+during; n, latest = c.sent(i, last) {
			pause(ctx, 20*time.Millisecond)
		}
		granted := float64(q.N) * time.Since(c.began).Seconds() / q.Per.Seconds()
		if lost := (granted - float64(n)) / float64(max(killed, 1)); lost > c.lost {
			c.lost, c.lostOf = lost, l.text
		}
	}
}

// sent is how much went of a quota since the fault began, and how often since an instant.
func (c *cell) sent(i int, since time.Time) (all, lately int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sends[i] {
		if s.at >= c.began.UnixMicro() {
			all += s.cost
		}
		if s.at >= since.UnixMicro() {
			lately++
		}
	}
	return all, lately
}

// change has the files of all buckets changed in place, twice a second.
func change(name, what string, do func(b []byte) []byte) fault {
	return fault{name: name, what: what + ", twice", do: func(ctx context.Context, c *cell) error {
		return again(ctx, during/2, func() error {
			return c.each(func(path string) error {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, do(b), 0o600)
			})
		})
	}}
}

func loose(f fault) fault {
	f.loose = true
	return f
}

// each does something to the files of all buckets.
func (c *cell) each(do func(path string) error) (err error) {
	files, _ := filepath.Glob(filepath.Join(c.dir, "q-*"))
	for _, path := range files {
		err = errors.Join(err, do(path))
	}
	return err
}

// remove removes the directory.
func (c *cell) remove() {
	c.removals++
	for range 100 {
		if os.RemoveAll(c.dir) == nil { // else somebody makes it anew meanwhile
			return
		}
	}
}

// flip flips a bit where there is something.
func flip(b []byte) {
	for i := len(b) - 1; i > 0; i-- {
		if b[i] != 0 {
			b[mathrand.IntN(i)] ^= 1 << mathrand.IntN(8)
			return
		}
	}
}

var faults = []fault{
	{name: "none", what: "nothing happens", do: func(context.Context, *cell) error { return nil }},
	{name: "kill", what: "one process is killed each 5 to 35 ms, and another begins", do: func(ctx context.Context, c *cell) error {
		n := 0
		kill := func() error {
			pause(ctx, mathrand.N(30*time.Millisecond))
			n++
			return c.kill(ctx, mathrand.IntN(len(c.workers)))
		}
		err := error(nil)
		for *kills > 0 && n < *kills && err == nil && ctx.Err() == nil {
			pause(ctx, 5*time.Millisecond)
			err = kill()
		}
		if *kills == 0 {
			err = again(ctx, 5*time.Millisecond, kill)
		}
		c.outlive(ctx, n)
		c.did = fmt.Sprintf("%d killed, with %.1f slots each (%s) at most; ", n, c.lost, c.lostOf)
		return err
	}},
	{name: "stop", what: "one process is stopped for 300 ms, again and again", do: func(ctx context.Context, c *cell) error {
		return again(ctx, 50*time.Millisecond, func() error {
			p := c.workers[mathrand.IntN(len(c.workers))].cmd.Process
			err := p.Signal(syscall.SIGSTOP)
			pause(ctx, 300*time.Millisecond)
			return errors.Join(err, p.Signal(syscall.SIGCONT))
		})
	}},
	change("truncate", "the files are truncated", func([]byte) []byte { return nil }),
	change("cut", "the files are truncated to 5000 bytes", func(b []byte) []byte { return b[:5000] }),
	change("foreign", "somebody writes other things into the files", func([]byte) []byte { return []byte(strings.Repeat("something else\n", 10_000)) }),
	change("noise", "somebody writes noise into the files", func(b []byte) []byte { _, _ = rand.Read(b); return b }),
	change("zero", "the files are zeroed", func(b []byte) []byte { clear(b); return b }),
	loose(change("flip", "a bit is flipped in each half", func(b []byte) []byte { flip(b[:len(b)/2]); flip(b[len(b)/2:]); return b })),
	{name: "remove", what: "the directory is removed, twice a second", do: func(ctx context.Context, c *cell) error {
		return again(ctx, 500*time.Millisecond, func() error { c.remove(); return nil })
	}},
	loose(fault{name: "begin", what: "the directory is removed, and a process begins right after, twice a second", do: func(ctx context.Context, c *cell) error {
		return again(ctx, 500*time.Millisecond, func() error { c.remove(); return c.start(ctx) })
	}}),
	{name: "copy", loose: true, what: "a copy of what was comes back, twice", do: func(ctx context.Context, c *cell) error {
		old := map[string][]byte{}
		err := c.each(func(path string) (err error) {
			old[path], err = os.ReadFile(path)
			return err
		})
		pause(ctx, time.Second)
		return errors.Join(err, again(ctx, during/2, func() error {
			return c.each(func(path string) error { return os.WriteFile(path, old[path], 0o600) })
		}))
	}},
	{name: "full", what: "the disk is full for 4 s", disk: true, do: func(ctx context.Context, c *cell) error {
		fill := filepath.Join(c.disk, "fill")
		err := os.WriteFile(fill, make([]byte, 16<<20), 0o600)
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk is not full: %w", err)
		}
		err = again(ctx, 500*time.Millisecond, func() error { return c.kill(ctx, 0) })
		return errors.Join(err, os.Remove(fill))
	}},
}
