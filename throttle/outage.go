package throttle

import (
	"errors"
	"strconv"
	"time"

	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// Outage is what a Limiter does while its Store cannot be reached, once the slots in hand are used up or too
// old.
type Outage int

const (
	// OutageShare goes on with a safe part: rate = 9/10 · the quota's rate / the number of processes, evenly
	// spaced. It begins Late after the last slot that any process may have in hand. A window that was used
	// faster than evenly before the outage may be exceeded by that excess. If the store was never reached,
	// the number of processes is not known, and OutageShare is the same as OutageClosed.
	OutageShare = Outage(lease.Share)

	// OutageClosed lets nothing go. Claims wait until the store is back, or until their own bounds.
	OutageClosed = Outage(lease.Closed)

	// OutageOpen lets every claim go that nothing else delays.
	OutageOpen = Outage(lease.Open)
)

// String returns the name of the constant without the type: "Share".
func (o Outage) String() string {
	if names := [...]string{"Share", "Closed", "Open"}; o >= 0 && int(o) < len(names) {
		return names[o]
	}
	return "Outage(" + strconv.Itoa(int(o)) + ")"
}

// CauseStore is the Cause of claims that wait for a Store that cannot be reached.
const CauseStore = Cause(limit.Store)

// StoreEvent is something that happened to the link between a Limiter and its Store.
type StoreEvent struct {
	// Bucket is the Name of the Limiter.
	Bucket string

	// Err is why the store cannot be reached, or why its slots are of no use. It comes once for each outage.
	// It is nil in other events.
	Err error

	// After is how long the outage was, when the store can be reached again; else zero.
	After time.Duration

	// Lost says that the store has lost what it knew of the bucket.
	Lost bool
}

// StoreState is a snapshot of the link between a bucket and its Store.
type StoreState struct {
	Members   int           // processes that share the bucket, as far as known; zero if the store was never reached
	Ahead     time.Duration // from now to the last slot that the store handed out to any process
	Down      time.Duration // how long the store has been out of reach; zero if it can be reached
	Err       error         // why it cannot be reached, or why its slots are of no use; nil if all is well
	RoundTrip time.Duration // of the last call; zero before the first

	Calls  int // of the store, so far
	Got    int // tokens that the store handed out to this process, so far
	Wasted int // tokens of Got that were not used in time
	Hand   int // tokens in hand
}

// ErrClosed means that Limiter.Close was called.
var ErrClosed = errors.New("closed")
