package throttle

import (
	"errors"
	"time"

	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// Outage is what a Limiter does while its Store cannot be reached, once what it had in
// hand when it last could, is used up or too old.
type Outage int

const (
	// Share goes on with a part that is safe: nine tenths of the rate of each quota,
	// divided by the number of processes that there were, evenly spaced, from
	// Late after the horizon of what is in hand. A window that had been used up
	// faster than evenly before may see as much more. If the store was never reached, nobody knows how many
	// there are: then it is as Closed.
	Share = Outage(lease.Share)

	// Closed lets nothing go. Who waits does so until the store is back, or its own bound.
	Closed = Outage(lease.Closed)

	// Open lets everything go that nothing else holds back.
	Open = Outage(lease.Open)
)

// CauseStore is what those wait for who need a Store that cannot be reached.
const CauseStore = Cause(limit.Store)

// StoreEvent is something that happened to the link between a Limiter and its Store.
type StoreEvent struct {
	// Err is why the store cannot be reached, or why what it hands out is of no use, once
	// for each outage. Nil if it can be reached again, or for what is below.
	Err error

	// After is how long the outage was, if it is over.
	After time.Duration

	// Lost says that the store has lost the bucket.
	Lost bool
}

// StoreState is what the link between a bucket and its Store looked like.
type StoreState struct {
	Members   int           // how many processes share the bucket, as far as is known; zero if the store was never reached
	Ahead     time.Duration // how far ahead slots are handed out, to anybody
	Down      time.Duration // for how long the store cannot be reached; zero if it can be
	Err       error         // why it cannot, or why what it hands out is of no use; nil if all is well
	RoundTrip time.Duration // the last one

	Calls  int // of the store, so far
	Got    int // tokens that it handed out
	Wasted int // of those, what was not used in time
	Hand   int // tokens in hand
}

// ErrClosed means that Limiter.Close was called.
var ErrClosed = errors.New("closed")
