// Package throttle makes callers wait for their turn in a bucket: for the quotas
// that are configured for it, and for what a server's answers say. It knows no HTTP.
//
//	l := throttle.Limiter{Quotas: quota.Quotas{{N: 5, Burst: 10}, {N: 100_000, Per: 24 * time.Hour, Burst: 100}}}
//	if err := l.Wait(ctx, 1); err != nil {
//		return err // it would take too long, or ctx ended
//	}
//
// # Waiting
//
// A quota is arithmetic: a token bucket on the ledger of golang.org/x/time/rate, a
// window of some [Kind], or a number of requests in flight, counted in requests or in
// any other unit. The [Limiter] has the lock, the clock, the line and the only
// timer, which is for whoever is first in line. Nothing is charged
// before it goes. So a caller that gives up leaves nothing behind, and when anything
// changes (a quota, a hold, what a server allows, who is first), those who wait are
// timed anew. Who cannot make it, to its context's deadline or within MaxWait, is
// told so when it asks, and not after it has waited.
//
// Callers go in the order in which they asked, but for their [Priority]. A heavy one is
// not overtaken by light ones for which there would be enough: it would starve.
//
// Timers are late by half a millisecond or so. What is released late counts from when
// it was due, up to 2 ms back, so that lateness costs no quota; in exchange, up to
// 2 ms worth of tokens may go at once.
//
// # Costs
//
// A claim may cost several units at once: a request, so many bytes, so many tokens of a
// language model. Where that is an estimate, [Grant.Settle] or [Answer] tells the truth
// later. What was estimated too high goes back to the moment of the grant, what was too
// low is charged then, and everybody in line is timed anew.
//
// # Buckets in buckets
//
// A Limiter may have a Parent, on which its requests draw too. Both grant at the same
// instant, or neither is charged. Only the first in line of each bucket competes at
// the parent, so that who waits for a narrow bucket's quota does not keep others
// from the wide one's.
//
// # Several processes
//
// With a [Store], processes share a bucket: the quotas live in the store, and the line stays
// here. All who wait are asked for in one call; the store answers with slots, instants of one
// schedule for all processes, and each sleeps until its own. Where there is always somebody
// waiting, slots are got ahead, each process as many as the others. What is not used
// goes back, a process that dies loses what it had ahead, and one that is told to
// wait by the server tells all. What happens when the store cannot be reached is a choice,
// [Outage].
//
// # Learning from answers
//
// A caller that tells what became of a request ([Grant.Done]) lets the bucket learn:
//
//   - What may go is the least Remaining that was stated, less what is in flight.
//     The least is taken over the answers of the last two round trips; that admits
//     never too much, in whatever order answers arrive, and follows other users of
//     the limit, windows that roll over, and quota that trickles back. Where others used
//     the limit too, what they may have under way is left to them, as much for each of
//     ours as in the window before.
//   - Buckets of one tree that hear of a limit of one name, size and reset draw on the
//     same, until their numbers contradict that: what one has in flight counts for all.
//   - When nothing remains, everybody waits until the reset, and then one request
//     goes first. A reset is stated in steps, so it is known as an interval: all
//     statements are intersected. Where what is left open is much of the wait, one
//     request looks early on a guess, and ever more rarely if that was in vain.
//   - A limit whose reset is further away than callers wait (MaxWait) is spent freely
//     down to a fifth. The rest is spread over the time to the reset. [Spend] changes that.
//   - A server that brings its quota back bit by bit gives itself away: the reset moves
//     on while Remaining falls, or only a part is back after it. It is paced at the
//     rate at which tokens were seen to come back.
//   - A server that asks to wait holds the bucket, not only the request that it told.
//     Holds only get longer, up to MaxHold. Refusals without a word hold it for a
//     time that doubles.
//   - A server that refuses without speaking of limits, or for other reasons than those of
//     which it speaks, is paced just under the rate that it was seen to deliver while it
//     refused. The pace rises slowly to find out whether more is allowed, and ever more
//     slowly when it is not.
//   - Failures that may be meant as refusals (Answer.Shed) are, where they come between
//     answers that are served and pacing ends them.
//   - After a hold, after idling and at first, one request goes, and then each answer
//     lets two more go ([Limiter.SlowStart]), until the server has said what it
//     allows or enough answers have come.
//
// What servers say can lower what the quotas allow, never raise it.
package throttle

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// A Limiter is one bucket: what a group of requests draws on together.
//
// The zero Limiter grants everything at once until it learns otherwise from
// Pause or from answers. Fields are read when the Limiter is first used and must
// not be changed after that; SetQuotas changes quotas in flight. A Limiter must
// not be copied. It is safe for concurrent use, has no goroutine and needs no
// Close.
type Limiter struct {
	// Name says in errors and in State which bucket this is.
	Name string

	// Quotas are enforced together. None means no configured limit. If one is
	// invalid, every call returns the error of Quotas.Validate.
	Quotas quota.Quotas

	// Parent, if not nil, is a wider bucket which every request of this one
	// draws on too: both grant at the same instant, or neither is charged.
	// Requests that wait for this bucket's own quotas do not stand in the way
	// of others at the parent.
	Parent *Limiter

	// MaxWait bounds how long a caller waits, from when it first asked. Zero
	// means no bound. If negative, nobody waits: what cannot go at once is
	// refused.
	MaxWait time.Duration

	// MaxQueue bounds how many callers wait in this bucket. When it is full, the
	// newcomer is refused, or, if its priority puts it before others, the last of
	// those. Zero means no bound. If negative, nobody waits.
	MaxQueue int

	// Ageing is after how long of waiting a claim is as good as one that comes then
	// and is a step more urgent; see [Priority]. Zero means 10 seconds. If negative,
	// never: who is more urgent always goes first.
	Ageing time.Duration

	// Reserve is the share of every quota, and of what remains of a limit that the
	// server speaks of, which only Urgent claims may use: 0.1 of 5000 an hour keeps
	// 500 for them, and others go at 4500 an hour. Zero means none. It must be less
	// than 1, and may leave less than 1 token to nobody: one at a time can always go.
	Reserve float64

	// Spend says how what remains of a server's limit is spent. Zero is Auto.
	Spend Spend

	// SlowStart makes a bucket that is new, that idled for IdleAfter, or whose
	// hold has ended let one request go first; then each answer lets two more
	// go, until the server's answers say how much is allowed or enough of them
	// have been seen. It needs callers that use Acquire and Grant.Done.
	SlowStart bool

	// IdleAfter is how long a bucket must idle before it starts slowly again.
	// Zero means a minute. If negative, idling is not noticed.
	IdleAfter time.Duration

	// Rand gives numbers from [0, 1) for the jitter of holds. If nil, that of
	// math/rand/v2. Tests set it to be exact.
	Rand func() float64

	// MaxHold bounds what a server can hold the bucket for, by a hint or by a
	// reset that is far away; after it, one request probes. Zero means 15
	// minutes. If negative, nothing that a server says holds the bucket.
	MaxHold time.Duration

	// Store, if not nil, is where the Quotas live: all processes that have a Limiter of this
	// Name, or StoreName, with the same Store share them, and what a server says to one, all are told. Quotas
	// of what is in flight, and a Quota's Queue, are for each process. There can be no WarmUp. Who
	// does not want to wait (NoWait) waits for the store's answer. A Parent that holds
	// requests up for longer than Late wastes slots; one with a Store too must not be a bucket
	// whose tokens come back more slowly than within Late. See Close.
	Store store.Store

	// StoreName is what the Store calls the bucket. If empty, Name.
	StoreName string

	// Late is for how long after its instant in the Store's schedule a request may still go. Of
	// all processes the longest counts. It must be longer than a round trip to the store; at
	// five times that, a process that sends often enough has what it needs in hand. The longer it
	// is, the fewer round trips; each window is so much longer, and each Burst so much
	// less. Zero or negative means the least of all quotas: of a window a hundredth
	// of its Per, from 10 ms to a second, and a quarter at most; of a bucket the longer of a
	// hundredth of its Per and the time in which a tenth of its Burst comes back, from 10 ms to a second;
	// and where round trips take long, two of them, up to a quarter of a window, or a second.
	Late time.Duration

	// Outage is what to do while the Store cannot be reached. Zero is Share.
	Outage Outage

	// StoreEvent, if not nil, is called when the Store can no longer be reached, can be
	// reached again, or has lost the bucket: in a goroutine of its own, one call after the
	// other, with no lock held.
	StoreEvent func(StoreEvent)

	// Value is for whoever made the Limiter. In a Group, the buckets of what a server counts on its own have
	// that of their Parent.
	Value any

	entry entry // of a Group
	// A fastDone bucket ends grants without the lock: nobody waits, and nothing is
	// known that an answer could confirm. A fastGrant one grants without it too: nothing
	// at all could stand in the way. Both are set when the lock is released.
	fastDone, fastGrant atomic.Bool
	gone                atomic.Bool  // its Group has forgotten it; written with the lock of the Group, too
	last                atomic.Int64 // the instant at which something was granted last
	unlocked            atomic.Int64 // requests under way that were granted, less those that ended, without the lock

	mu sync.Mutex // protects all below, here and in every Limiter below this one in the tree

	ready       bool  // init was called
	invalid     error // what is wrong with Quotas
	clock       monotime.Clock
	stack       limit.Stack     // of the quotas that do not live in the Store
	concurrent  bool            // some quota is of what is under way
	quotas      quota.Quotas    // of limits; their units are canonical
	lastCharged monotime.Time   // the latest instant that limits were told of: they never see an older one
	hold        monotime.Time   // nothing goes before
	server      adaptive.Server // what the server allows, as far as it is known
	line        line            // who waits
	branch      bool            // it is the parent of others
	unclosed    int             // grants for whose Close is waited
	split       bool            // claims belong in one of the buckets below it, by their Class
	link        *storeLink      // to the Store; nil if there is none

	// Of the root, for all of its tree.
	frozen  int                      // nobody goes while it is positive
	stalled []*Limiter               // where something changed meanwhile
	asked   uint64                   // how many have asked
	site    adaptive.Site            // what the servers of the tree have in common
	peers   map[adaptive.ID]*Limiter // whose servers may come to share windows
	changed monotime.Time            // when something changed last that may let somebody go
}

// Pause holds the bucket: nothing goes before d has passed, and those who wait
// and would then be too late are refused now. A pause only extends what is held
// already. After it the bucket starts slowly, where SlowStart is set.
func (l *Limiter) Pause(d time.Duration) {
	l, root := l.here()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.holdUntil(now.Add(min(d, monotime.Longest)), now) })
}

// Resume ends a hold: whoever waits for it goes, as far as quotas allow. A hold that a
// Store knows of begins again with the store's next word.
func (l *Limiter) Resume() {
	l, root := l.here()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.hold = min(l.hold, now) })
}

// SetQuotas replaces the quotas; everybody who waits is re-timed. A quota of
// the same kind at the same place keeps what was charged to it; others start
// anew. If one is invalid nothing is changed.
func (l *Limiter) SetQuotas(qs quota.Quotas) error {
	if err := errors.Join(qs.Validate(), l.checkStore(qs)); err != nil {
		return err
	}
	qs = qs.Explicit()
	l, root := l.here()
	defer l.unlock(root)
	l.replace(root.now(), qs)
	return nil
}

// renew is SetQuotas for a bucket of a Group, unless it has these quotas already.
func (l *Limiter) renew(qs quota.Quotas) error {
	root := l.lock()
	same := l.invalid == nil && slices.Equal(l.quotas, qs.Explicit())
	l.unlock(root)
	if same {
		return nil
	}
	return l.SetQuotas(qs)
}

// replace makes qs, which have all defaults written out, the quotas of l.
func (l *Limiter) replace(now monotime.Time, qs quota.Quotas) {
	l.change(now, func() {
		l.adopt(now, qs)
		l.lastCharged = now
		l.refuseLate(now)
	})
}

// adopt makes the arithmetic of l that of qs, which have all defaults written out.
func (l *Limiter) adopt(now monotime.Time, qs quota.Quotas) {
	l.quotas, l.invalid = qs, checkReserve(l.Reserve)
	l.concurrent = slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Kind.Concurrent() })
	local := qs
	if l.Store != nil { // the others live there
		local = slices.Clone(qs)
		for i := range local {
			if !local[i].Kind.Concurrent() {
				local[i] = quota.Quota{}
			}
		}
	}
	l.stack.Set(now, local, l.Reserve, l.clock.Wall())
	if l.link != nil {
		l.link.lease.Set(qs, l.Reserve)
	}
}

// follow is called with the tree of l locked if claims of a class that are made to l belong in another
// bucket. It returns that, and the root of its tree, which is locked then.
func (l *Limiter) follow(root *Limiter, c Class) (at, atRoot *Limiter) {
	for {
		switch {
		case l.gone.Load():
			root.mu.Unlock()
			l, root = l.here()
		case l.split:
			root.mu.Unlock()
			l = l.entry.group.narrow(l, c)
			root = l.lock()
		default:
			return l, root
		}
	}
}

// here locks the tree of l and returns l and the root of the tree; of what is under the path of l now if the
// Group of l has forgotten it.
func (l *Limiter) here() (at, root *Limiter) {
	for root = l.lock(); l.gone.Load(); root = l.lock() {
		root.mu.Unlock()
		if l.entry.named {
			l = l.Parent
		} else {
			l = l.entry.group.Limiter(l.path()...)
		}
	}
	return l, root
}

// lock locks the tree that l belongs to and returns its root.
func (l *Limiter) lock() *Limiter {
	root := l.root()
	root.mu.Lock()
	if !l.ready {
		l.init()
	}
	if l.unlocked.Load() != 0 {
		l.fold()
	}
	return root
}

// fold counts what was granted or has ended without the lock.
func (l *Limiter) fold() {
	if n := l.unlocked.Load(); n != 0 {
		l.unlocked.Add(-n)
		l.server.Add(int(n))
	}
}

// unlock releases the lock of the tree after what was done in l.
func (l *Limiter) unlock(root *Limiter) {
	quiet := l.line.waiting == 0 && l.server.Unknown()
	if set(&l.fastDone, quiet) && !quiet {
		l.fold() // whoever ends a grant later sees that fastDone is false
	}
	set(&l.fastGrant, quiet && l == root && !l.gone.Load() && !l.branch && len(l.stack) == 0 && l.link == nil && l.hold == 0 && l.invalid == nil && l.frozen == 0)
	root.mu.Unlock()
}

// set writes only what is new: a write that others must see costs as much as a lock. It
// reports whether it was.
func set(b *atomic.Bool, v bool) (changed bool) {
	if changed = b.Load() != v; changed {
		b.Store(v)
	}
	return changed
}

func (l *Limiter) root() *Limiter {
	for l.Parent != nil {
		l = l.Parent
	}
	return l
}

func (l *Limiter) init() {
	if l.Parent != nil {
		if !l.Parent.ready {
			l.Parent.init()
		}
		l.Parent.branch = true
		l.Parent.fastGrant.Store(false)
		l.clock = l.Parent.clock
	} else if l.clock = l.entry.clock(); !l.clock.Started() {
		l.clock.Start()
	}
	l.server.Init(&l.root().site, adaptive.Config{
		MaxHold: l.maxHold(), MaxWait: max(l.MaxWait, 0), Spend: adaptive.Spend(l.Spend), SlowStart: l.SlowStart, Random: l.random(),
	})
	l.ready, l.quotas = true, l.Quotas.Explicit()
	l.invalid = errors.Join(l.Quotas.Validate(), checkReserve(l.Reserve), l.checkStore(l.Quotas))
	if l.invalid == nil {
		if l.Store != nil {
			l.link = newStoreLink(l)
		}
		l.adopt(0, l.quotas)
	}
}

// now reads the clock. It is called with mu held, so that no instant is older
// than one that was used before.
func (l *Limiter) now() monotime.Time { return l.clock.Now() }
