package throttle

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// memory is what Save writes: what each bucket has learned, by the digest of its path. Paths are not written,
// since they may contain credentials.
type memory struct {
	Version int                        `json:"version"`
	Buckets map[string]adaptive.Memory `json:"buckets"`
}

const (
	memoryVersion = 1
	memoryLimit   = 64 << 20 // bytes that Load accepts
)

// Save writes what was learned from servers' answers, as JSON, for Load in the next run of the program.
// Otherwise a program that runs every minute would have to find out each time that a limit is used up. Paths
// are written as digests. What was charged to Quotas is not saved.
func (g *Group) Save(w io.Writer) error {
	saved := memory{memoryVersion, map[string]adaptive.Memory{}}
	g.mu.Lock()
	maps.Copy(saved.Buckets, g.loaded)
	g.all(func(l *Limiter) bool { l.saveTo(saved.Buckets); return true })
	g.mu.Unlock()
	if err := json.NewEncoder(w).Encode(saved); err != nil {
		return fmt.Errorf("throttle: save: %w", err)
	}
	return nil
}

// Load reads what Save wrote. Buckets that have learned something already ignore it, so Load is best called
// before the first request. What is out of date is left out. What an earlier Load has read, and no bucket has
// asked for yet, stays. If there is an error, nothing changes.
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
	g.load(saved.Buckets)
	g.all(func(l *Limiter) bool { g.restore(l); return true })
	return nil
}
