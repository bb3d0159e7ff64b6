package waits

import (
	"slices"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// Account is what the requests of a call have waited for. It is safe for concurrent use.
type Account struct {
	mu        sync.Mutex // protects the fields below
	waits     []throttle.Wait
	backedOff time.Duration
}

// Add adds waits in line, and a time out of line.
func (a *Account) Add(more []throttle.Wait, backedOff time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits = Merge(a.waits, more)
	a.backedOff += backedOff
}

// Waits returns the waits in line: each cause once, the longest first.
func (a *Account) Waits() []throttle.Wait {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.waits)
}

// BackedOff returns the time out of line.
func (a *Account) BackedOff() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.backedOff
}
