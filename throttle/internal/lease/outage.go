package lease

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Outage is what to do while the store cannot be reached, once the slots in hand are used up or
// have expired.
type Outage int

// What to do. Package throttle documents them.
const (
	Share Outage = iota
	Closed
	Open
)

// Event is something that happened to the link to the store.
type Event struct {
	Err   error         // why the store cannot be reached, or why its slots are of no use
	After time.Duration // how long the outage was, if it is over
	Lost  bool          // the store has lost the bucket
}

// outage is a time in which the store cannot be reached. After a while claims may go without
// slots: with Share, as far as this process's part of each quota allows; with Open, at once.
type outage struct {
	since monotime.Time  // zero if the store can be reached
	parts []*slot.Bucket // this process's part of each quota; nil with Open
	took  []int          // what went without the store, of each quota; nil before anything may
}

// reset forgets what went without the store, but not that the store cannot be reached.
func (o *outage) reset() { o.parts, o.took = nil, nil }

// safely is how much of its part a process uses: members that do not hear of each other may send at
// the same instants, so each stays under its part.
const safely = 0.9

// begin lets claims go without slots from now on. If share is set, of each quota the part that
// one of so many members has.
func (o *outage) begin(now monotime.Time, qs quota.Quotas, members int, share bool) {
	o.took = make([]int, len(qs))
	if !share {
		return
	}
	for _, q := range qs {
		per := min(float64(q.Per)*float64(members)/safely, float64(monotime.Longest))
		b := &slot.Bucket{}
		b.Set(quota.Quota{N: q.N, Per: time.Duration(per), Burst: 1, Debt: true}, 0, 0)
		b.AssumeUsed(now)
		o.parts = append(o.parts, b)
	}
}

// take charges what goes without the store.
func (o *outage) take(at monotime.Time, n []int) {
	slot.Add(o.took, n, 1)
	for i, b := range o.parts {
		if n[i] > 0 {
			b.Take(at, at, n[i])
		}
	}
}

// when returns the first instant, not before at, at which n may go without the store, behind
// other claims that cost ahead. Of is the quota that n waits for; negative if n need not wait.
func (o *outage) when(at monotime.Time, ahead, n []int) (when monotime.Time, of int) {
	when, of = at, -1
	for i, b := range o.parts {
		if n[i] == 0 {
			continue
		}
		t := b.When(at, n[i])
		if ahead[i] > 0 {
			t = t.Add(b.Work(ahead[i]))
		}
		if t > when {
			when, of = t, i
		}
	}
	return when, of
}

// owed returns what the store is to be told, now that it can be reached again, of what went
// without it; nil if nothing:
//
//   - of a TokenBucket of which this process took its share, nothing: that came back meanwhile;
//   - of a TokenBucket that was open, Burst at most: then it is empty;
//   - of a window that is shorter than the outage, the part that is still in it, as if all went
//     evenly; of a longer window, all.
func (o *outage) owed(now monotime.Time, qs quota.Quotas, share bool) (owed []int) {
	for i, n := range o.took {
		q := &qs[i]
		if n == 0 || q.Kind == quota.TokenBucket && share {
			continue
		}
		if q.Kind == quota.TokenBucket {
			n = min(n, q.Burst)
		} else if d := now.Sub(o.since); d > q.Per {
			n = int(float64(n) * float64(q.Per) / float64(d))
		}
		if owed == nil {
			owed = make([]int, len(qs))
		}
		owed[i] = n
	}
	return owed
}
