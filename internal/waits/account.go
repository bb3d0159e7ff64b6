package waits

import (
	"slices"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// Account is what the requests of a call have waited for, and why the latest one is not sent again. It is safe
// for concurrent use.
type Account struct {
	mu        sync.Mutex // protects the fields below
	waits     []throttle.Wait
	backedOff time.Duration
	gaveUp    string // a pacer.Reason
	because   error
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

// GiveUp says why the latest request is not sent again: empty if it was only sent now. After another one that
// may know better, it says so only if that one has said nothing.
func (a *Account) GiveUp(why string, because error, after bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !after || a.gaveUp == "" {
		a.gaveUp, a.because = why, because
	}
}

// GaveUp returns what GiveUp said last.
func (a *Account) GaveUp() (why string, because error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gaveUp, a.because
}

// BackedOff returns the time out of line.
func (a *Account) BackedOff() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.backedOff
}
