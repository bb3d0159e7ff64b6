// Package atonce keeps what lets claims of a bucket go at once: without the bucket's lock, or with it, but
// without a look at all that could delay them.
//
// In come what the bucket finds when it is looked at as a whole (Set), grants and their ends; out comes in
// which way the next claim may be granted. The package does not know what could delay a claim.
package atonce

import (
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Way is how the next claim is granted, and how grants end.
type Way uint32

// The ways.
const (
	Looks   Way = iota // with the lock, and a look at the whole bucket
	OneLock            // with the lock, and no more: one token bucket, and what the server has stated, are all that could delay a claim
	Free               // without the lock: nothing could
)

// A Gate is how claims of a bucket may go. The zero Gate has each of them look at the bucket. Its methods may
// be called at any time.
type Gate struct {
	way     atomic.Uint32
	ends    atomic.Bool  // grants end without the lock: nothing is known that an answer could confirm or tell, and so nobody waits for one
	lastUse atomic.Int64 // instant of the latest Touch, zero before the first
	count   atomic.Int64 // requests granted − ended without the lock, since Take
	served  atomic.Int64 // grants of one request that ended without the lock, and were served, since TakeServed
}

// Way returns how the next claim is granted.
func (g *Gate) Way() Way { return Way(g.way.Load()) }

// Set sets how claims go, and whether grants end without the lock. It requires that the lock is held. It stores
// only what is new: a store that other processors must see costs as much as a lock.
func (g *Gate) Set(w Way, ends bool) {
	if g.Way() != w {
		g.way.Store(uint32(w))
	}
	if g.ends.Load() != ends {
		g.ends.Store(ends)
	}
}

// Ends reports whether grants end without the lock.
func (g *Gate) Ends() bool { return g.ends.Load() }

// Shut has each claim look at the bucket. It requires that the lock is held.
func (g *Gate) Shut() { g.Set(Looks, g.Ends()) }

// Hear has grants end with the lock, since the end of one means something. It requires that the lock is held.
func (g *Gate) Hear() { g.Set(g.Way(), false) }

// LastUse returns when the bucket was used last, zero if it is new.
func (g *Gate) LastUse() monotime.Time { return monotime.Time(g.lastUse.Load()) }

// Touch notes that the bucket is used now: something is granted, or it hears what others know of its server.
func (g *Gate) Touch(now monotime.Time) { g.lastUse.Store(int64(now)) }

// Recent reports whether the last use is less than a span ago.
func (g *Gate) Recent(now monotime.Time, span time.Duration) bool {
	last := g.lastUse.Load()
	return last != 0 && int64(now)-last < int64(span)
}

// Grant grants n requests without the lock, and reports whether it did. If not, another goroutine may have
// counted them as under way for a moment, and its claim may wait for their end.
func (g *Gate) Grant(now monotime.Time, n int) bool {
	g.count.Add(int64(n))
	if g.Way() != Free { // read again: a goroutine that changes it calls Take after that
		g.count.Add(int64(-n))
		return false
	}
	g.Touch(now)
	return true
}

// End ends a grant of n requests without the lock, and reports whether it did: not of several that were served,
// since one number cannot say how many grants and how many requests these are. Served says that its request was
// served. Late says that another goroutine has changed the bucket meanwhile: then its claim may wait for this
// end.
func (g *Gate) End(n int, served bool) (ended, late bool) {
	if !g.ends.Load() || served && n > 1 {
		return false, false
	}
	if served {
		g.served.Add(1)
	}
	g.count.Add(int64(-n))
	return true, !g.ends.Load()
}

// Take returns how many requests were granted and have not ended, of those that went without the lock; fewer
// than none if they were granted with it. It forgets them. It requires that the lock is held.
func (g *Gate) Take() int {
	n := g.count.Load()
	if n != 0 {
		g.count.Add(-n)
	}
	return int(n)
}

// TakeServed returns how many grants ended without the lock whose requests were served, and forgets them.
func (g *Gate) TakeServed() int {
	if g.served.Load() == 0 {
		return 0
	}
	return int(g.served.Swap(0))
}
