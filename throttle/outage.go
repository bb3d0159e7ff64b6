package throttle

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/readable"
)

// Outage is what a Limiter does while its Store cannot be reached, once the slots in hand are used up or too
// old.
type Outage string

// What a Limiter may do in an outage. Zero, the empty text, is OutageShare.
const (
	// OutageShare goes on with a safe part of each quota: 9/10 of its rate and Burst, divided by the number of
	// processes that have used the store within the last minute. If all of them have lost the store, what they
	// send together is within the quotas, but for a few tokens; while m of n have lost it, up to m/n of a quota
	// goes beyond it. A process cannot count those that come after it has lost the store: until that is back,
	// it goes on with its part as if they had not come, beside theirs. If the store was never reached, that
	// number is not known, and OutageShare is the same as OutageClosed.
	//
	// A claim that costs more than the part waits for the store, and so does what is behind it in line. When
	// the store is back, half a second passes until it hands out anything. After a time in which nobody asked
	// for anything a burst is cut in two, and its rest waits for an eighth of a second, or for half of one.
	// docs/sharing.md says what the part of each kind of quota is, and which tokens those few are.
	OutageShare Outage = "share"

	// OutageClosed lets nothing go. Claims wait until the store is back, or until their own bounds. Bursts
	// after idling are cut in two only beside processes with OutageShare.
	OutageClosed Outage = "closed"

	// OutageOpen lets every claim go that nothing else delays. When the store is back, it is told what went;
	// for that, a bucket of tokens is empty at the most, so that debts ([quota.Quota.Debt]) made meanwhile are
	// forgotten.
	OutageOpen Outage = "open"
)

// StoreEvent is something that happened to the link between a Limiter and its Store.
type StoreEvent struct {
	// Bucket and Label are those of the Limiter.
	Bucket, Label string

	// Kind is what happened, and so which of the fields below are set.
	Kind StoreEventKind

	// Err is why the store cannot be reached, or is too slow. It is nil in other events.
	Err error

	// Down is how long the outage was, when the store can be reached again; else zero.
	Down time.Duration

	// Others are the other quotas by which another process shares the bucket; else nil.
	Others quota.Quotas
}

// String returns what happened in words, with the name of the bucket.
func (e StoreEvent) String() string {
	return readable.StoreEvent(e.Bucket, string(e.Kind), e.Err, e.Down, e.Others)
}

// StoreEventKind is what happened to the link between a Limiter and its Store, as an identifier: for metrics,
// logs and JSON.
type StoreEventKind string

// The kinds of a StoreEvent.
const (
	StoreDown StoreEventKind = "down" // the store cannot be reached, and Err says why: once for each outage
	StoreBack StoreEventKind = "back" // the store can be reached again, and Down says after how long
	StoreSlow StoreEventKind = "slow" // round trips take so long that slots are of no use, as Err says: once in ten seconds at most. It is no outage

	// StoreLost: the store has lost what it knew of the bucket. A store that cannot tell a bucket that was lost
	// from one that is new, such as Redis, says so of a new one, too, unless Shared.Fresh says that it is.
	StoreLost StoreEventKind = "lost"

	// StoreOthers: another process shares the bucket by the quotas that Others has, once for each list: two
	// versions of a program are about. All quotas of both hold until ten seconds after one of them asked last,
	// and in an outage until it ends, if all asked until it began; what is the same quota in both, by the
	// tighter numbers.
	StoreOthers StoreEventKind = "others"
)

// StoreState is a snapshot of the link between a bucket and its Store.
type StoreState struct {
	Members   int           // processes that share the bucket, as far as known; zero if the store was never reached
	Ahead     time.Duration // from now to the last slot that the store handed out to any process
	Down      time.Duration // how long the store has been out of reach; zero if it can be reached
	Err       error         // why it cannot be reached, or why its slots are of no use; nil if all is well
	RoundTrip time.Duration // of the last call; zero before the first

	Calls  int   // of the store, so far
	Wasted int64 // tokens that the store handed out to this process, so far, and that were not used in time
	Hand   int64 // tokens in hand
}
