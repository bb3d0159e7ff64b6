package lease

import (
	"iter"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Line is the claims that wait for a bucket, or for one below it in the tree of buckets.
type Line interface {
	// Waiting returns how many claims wait in the bucket or in one below it.
	Waiting() int

	// First returns the first claim in the line of the bucket, and the instant until which
	// something other than the store stands in its way. Ok is false if the line is empty.
	First(now monotime.Time) (first Waiter, until monotime.Time, ok bool)

	// Demands returns what the claims in line ask for, and whether they are urgent. One demand
	// may be that of several claims.
	Demands() iter.Seq2[*limit.Demand, bool]

	// InOrder returns the claims in line, in the order in which they are to go. A claim that
	// came from a bucket below is followed by those claims of that bucket which would follow at
	// once: if a and B1 wait here, and B1 and B2 in the bucket below, it returns a, B1, B2.
	InOrder(now monotime.Time) iter.Seq[Waiter]

	// Hope returns what calls may bring the claim that InOrder has just returned with an index.
	Hope(i int) *Hope
}

// Waiter is a claim that waits.
type Waiter struct {
	Demand *limit.Demand
	Urgent bool
	Within time.Duration // how long it can wait; negative if there is no bound
}

// needed returns what all claims in line cost together.
func (l *Lease) needed(line Line) []int64 {
	var buf costs
	need := make([]int64, len(l.quotas))
	for d, urgent := range line.Demands() {
		slot.Add(need, l.cost(buf[:0], d, urgent), 1)
	}
	return need
}
