package throttle

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// memory is what is written by Save: what was learned, under digests of the paths of the
// buckets, which may have credentials in them.
type memory struct {
	Version int                        `json:"version"`
	Buckets map[string]adaptive.Memory `json:"buckets"`
}

const (
	memoryVersion = 1
	memoryLimit   = 64 << 20 // bytes that Load reads
)

// Save writes what was learned from the answers of servers, as JSON, for the next run of the
// program to Load: a program that runs every minute would else find out every minute that a limit is
// used up. Paths are written as digests. What was charged to Quotas is not among it.
func (g *Group) Save(w io.Writer) error {
	buckets := g.snapshot()
	g.mu.Lock()
	saved := memory{memoryVersion, maps.Clone(g.loaded)}
	g.mu.Unlock()
	if saved.Buckets == nil {
		saved.Buckets = map[string]adaptive.Memory{}
	}
	for _, l := range buckets {
		if m := l.memory(); len(m.Windows) > 0 || m.Rate > 0 || !m.Held.IsZero() {
			saved.Buckets[l.digest()] = m
		}
	}
	if err := json.NewEncoder(w).Encode(saved); err != nil {
		return fmt.Errorf("throttle: save: %w", err)
	}
	return nil
}

// Load takes over what Save wrote, where nothing was learned since: before the first request, best.
// What is out of date is left out. If it cannot be read, nothing is changed.
func (g *Group) Load(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, memoryLimit+1))
	var saved memory
	switch {
	case err != nil:
		return fmt.Errorf("throttle: load: %w", err)
	case len(text) > memoryLimit:
		return fmt.Errorf("throttle: load: more than %d bytes", memoryLimit)
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return fmt.Errorf("throttle: load: %w", err)
	}
	if saved.Version != memoryVersion {
		return fmt.Errorf("throttle: load: version is %d, want %d", saved.Version, memoryVersion)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loaded = saved.Buckets
	g.all(func(l *Limiter) bool { g.restore(l); return true })
	return nil
}

// memory returns what l has learned. What is in flight counts as used.
func (l *Limiter) memory() (m adaptive.Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	m = l.server.Memory(now, &l.clock)
	if l.hold > now {
		m.Held = l.clock.Date(l.hold)
	}
	return m
}
