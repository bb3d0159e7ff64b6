package pacer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/gopacer/pacer/throttle"
)

// memory is what is written by Save: what was learned, under digests of the buckets'
// keys, which may have credentials in them.
type memory struct {
	Version int                        `json:"version"`
	Buckets map[string]throttle.Memory `json:"buckets"`
}

const (
	memoryVersion = 1
	memoryLimit   = 64 << 20 // bytes that Load reads
)

// digest is how the bucket of a key is called in what is saved.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// Save writes what was learned from the answers of servers, as JSON, for the next run of
// the program to Load: a program that runs every minute would else find out every
// minute that a limit is used up. Hosts, patterns and what Key returns are written as
// digests. What was charged to Quotas is not among it.
func (t *Transport) Save(w io.Writer) error {
	if err := t.Validate(); err != nil {
		return err
	}
	t.router.mu.Lock()
	buckets := maps.Clone(t.router.buckets)
	saved := memory{memoryVersion, maps.Clone(t.router.memories)}
	t.router.mu.Unlock()
	if saved.Buckets == nil {
		saved.Buckets = map[string]throttle.Memory{}
	}
	for _, b := range buckets {
		if m := b.Memory(); len(m.Windows) > 0 || m.Rate > 0 || !m.Held.IsZero() {
			saved.Buckets[digest(b.key.String())] = m
		}
	}
	if err := json.NewEncoder(w).Encode(saved); err != nil {
		return fmt.Errorf("pacer: save: %w", err)
	}
	return nil
}

// Load takes over what Save wrote, where nothing was learned since: before the first
// request, best. What is out of date is left out. If it cannot be read, nothing is
// changed.
func (t *Transport) Load(r io.Reader) error {
	if err := t.Validate(); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, memoryLimit+1))
	var saved memory
	switch {
	case err != nil:
		return fmt.Errorf("pacer: load: %w", err)
	case len(text) > memoryLimit:
		return fmt.Errorf("pacer: load: more than %d bytes", memoryLimit)
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return fmt.Errorf("pacer: load: %w", err)
	}
	if saved.Version != memoryVersion {
		return fmt.Errorf("pacer: load: version is %d, want %d", saved.Version, memoryVersion)
	}
	t.router.remember(saved.Buckets)
	return nil
}

// remember gives the buckets what they knew: those that there are now, and later the
// others when they are made.
func (r *router) remember(memories map[string]throttle.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memories = memories
	for _, b := range r.buckets {
		r.remind(b)
	}
}

// remind gives a bucket what it knew. It requires that mu is held.
func (r *router) remind(b *bucket) {
	if len(r.memories) == 0 {
		return
	}
	d := digest(b.key.String())
	if m, ok := r.memories[d]; ok {
		delete(r.memories, d)
		b.Remember(m)
	}
}
