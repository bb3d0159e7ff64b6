// Package throttle makes callers wait until their request may be sent: because of the quotas that are
// configured, and because of what a server's answers say about its limits. It does not know HTTP.
//
//	l := throttle.Limiter{Quotas: quota.Quotas{{N: 5, Burst: 10}}} // 5 in a second, 10 at once
//	if err := l.Wait(ctx, 1); err != nil {
//		return err // the wait would be too long, or ctx has ended
//	}
//
// It imports the standard library without net/http, golang.org/x/time/rate (the ledger of token buckets), and
// packages quota, throttle/store and warmup of this module.
//
// A [Limiter] is one bucket; a [Group] is a tree of buckets, each under a path of keys. For each request a
// caller makes a [Claim]: what the request costs, and how urgent it is. The Limiter returns a [Grant], the
// right to send one request now, or an [Error] that says why there is none. Afterwards the caller reports an
// [Answer]: what became of the request, and what the server stated. The Limiter returns an [Outcome]: what the
// answer means for the caller.
//
// # Waiting
//
// Claims stand in line in the order in which they were made, except for their [Priority] and their Flow: flows
// of one priority go in turns, by start-time fair queueing. In one flow a light claim never overtakes a heavy
// one: otherwise the heavy one might wait for ever. A claim is charged when it is granted, and not before: a
// caller that gives up leaves nothing to clean up.
//
// A claim does not wait in vain. It is refused if its wait would end after the context's deadline or after
// MaxWait, or if nothing moves within MaxStandstill. That is looked at when the claim is made, and whenever
// something is learned. In a field that bounds something, a negative value is a bound of zero, and [NoLimit] or
// [Forever] is no bound.
//
// A claim may cost several units; [Grant.Settle] or an [Answer] corrects a cost that was an estimate. A claim
// need not say what it costs in a unit. The Limiter then expects the mean of what earlier claims were settled
// for: those of the same Verb, and of Paths that differ only in what looks like an ID (docs/quotas.md).
//
// A timer that is late by up to 2 ms costs no quota: the claim counts from when it was due. A timer that is
// later, as in a program that keeps all processors busy, costs the tokens that come back meanwhile and for
// which the burst has no room. So a quota whose burst is one gets less than its rate (docs/comparison.md has
// figures). Time goes on while the machine sleeps (docs/waiting.md).
//
// # Several buckets, several processes
//
// Claims of a Limiter with a Parent draw on both: both grant at the same instant, or neither is charged. Only
// the first claim of each bucket competes at the parent, so that claims which wait for a narrow bucket's quota
// do not keep others from the wide bucket's. A claim that may go at once in its own bucket passes those claims
// at the parent that draw on none of its quotas there.
//
// With a [store.Store], processes share a bucket: the quotas live in the store, which hands out slots, instants
// in one schedule of all processes; each process has its own line. When a server tells one process to wait, all
// hold. [Outage] says what happens while the store cannot be reached.
//
// # Learning from answers
//
// What servers say can lower what the quotas allow, and never raise their numbers. If a server states the same
// as a quota.Plain, the server's own count is believed. A caller that reports answers ([Grant.Answered]) lets
// the bucket learn:
//
//   - What may go is the least Remaining that was stated − what is in flight: never too much, in whatever order
//     answers arrive. What others were seen to use of the limit is left to them. Buckets of a tree that hear of
//     the same limit share it, until their numbers contradict this. A Limiter that is in no Group takes all for
//     one counter. If claims do not name the unit of a limit, their cost is seen from how Remaining falls.
//   - When nothing remains, all wait until the reset, and then one request goes first. Resets are rounded: what
//     all answers say of one is intersected. [Spend] says how what remains is spent until then.
//   - A server that refills token by token shows it. Then requests go at the rate at which tokens come back.
//   - A server that asks to wait holds the whole bucket, up to MaxHold. Refusals in a row that do not say for
//     how long hold it for a time that doubles. A time that was obeyed three times and refused again is
//     stretched, up to 30 s.
//   - Three kinds of claims do not hold the bucket any more, see Outcome.Backoff: a claim that is refused again
//     and again when it goes ahead of all others, although others are served; claims of one Verb and like Paths
//     of which none is served; and others, where no refused claim is served when it is made again.
//   - Where a server refuses and does not say why, requests go at just under the rate that it served while it
//     refused, which then rises slowly.
//   - At first and after a hold, one request goes; after idling, as many as were served at a time before. Each
//     answer lets two more go, and fewer once 50 go in a second (SlowStart).
package throttle

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/internal/fields"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/atonce"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/due"
	"github.com/gopacer/pacer/throttle/internal/expect"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/together"
	"github.com/gopacer/pacer/throttle/store"
)

// NoLimit as the value of a field that bounds a number means that there is no bound.
const NoLimit int = math.MaxInt

// Forever as the value of a field that bounds a duration means that there is no bound.
const Forever time.Duration = math.MaxInt64

// A Limiter is one bucket: what a group of requests draws on together.
//
// The zero Limiter grants everything at once, until it learns otherwise from Pause or from answers. Fields are
// read when the Limiter is first used, and must not be changed after that; SetQuotas changes the quotas of a
// Limiter in use. A Limiter must not be copied. It is safe for concurrent use, has no goroutine, and needs no
// Close unless it has a Store. If a field is invalid, nothing is granted: each claim gets an error that is
// ErrInvalid. A duration below 1 µs is invalid, for example: it is a number without a unit. See Validate.
type Limiter struct {
	// Name says in errors and in State which bucket this is. It may be empty, unless there is a Store.
	Name string

	// Label is what logs and metrics may call the bucket, together with others like it, since Name may show
	// what should not be shown, or there are too many names. The package only passes it on.
	Label string

	// Quotas are enforced together. None means no configured limit.
	Quotas quota.Quotas

	// Parent, if not nil, is a wider bucket on which every request of this one draws too: both grant at the
	// same instant, or neither is charged. Claims that wait for this bucket's own quotas do not keep others
	// from the Parent. What the Parent has learned of its server, and its bounds of waits, are for its own
	// claims alone. Parents must not lead in a circle: Validate says so, and all else panics.
	Parent *Limiter

	// Tenant says that the claims of this bucket, and of those below it, are of one of several tenants of its
	// Parent, such as credentials with which a program calls a server. What the server says to one tenant
	// counts for that one alone. There is one exception: two tenants are refused within a second, both are told
	// to wait until instants at most a second apart, or neither is told when, and no limit that is stated
	// explains the refusals. Then the server is taken to refuse everybody: the Parent is held for no longer
	// than both tenants, and until a request is served that was sent after one of the refused requests. One
	// tenant alone never holds the others. Without a Parent, Tenant does nothing.
	Tenant bool

	// MaxWait bounds how long a claim waits, counted from when it was first made. Zero and Forever mean no
	// bound. If negative, nobody waits: a claim that cannot go at once is refused.
	MaxWait time.Duration

	// MaxStandstill ends a wait if not even one token comes within it, with nobody ahead. The cause may be a
	// hold, the reset of a server's limit, a quota, or a Store that for MaxStandstill could not be reached or
	// has had nothing, whatever it says. It is looked at when a claim is made and whenever something
	// is learned. It does not end the wait in a line that moves, however long the line is, nor the wait for
	// what only an answer can end: requests in flight, and a slow start. A line of which a Store alone tells is
	// waited for up to a day, or for as long as the claims of 512 processes may take, but a year at most.
	//
	// Zero and Forever mean no bound: the caller knows the quotas, and has a context. Even then, what a Store
	// alone says is waited for up to a day, or the Per of its quota if that is longer, after the line of
	// others; so are holds and statements of a server, while no claim goes. (Of a Transport, whose server may
	// be anything, zero means two minutes.) If negative, it is zero: claims wait only for other claims, and for
	// answers.
	MaxStandstill time.Duration

	// MaxQueue bounds how many claims wait in this bucket. When it is full, a new claim is refused; or, if its
	// priority or its flow puts it before others, the last claim in line is refused instead. Zero and NoLimit
	// mean no bound. If negative, nobody waits. Claims that wait only for a SlowStart at a server that has
	// refused nothing do not count. When such claims come to wait for anything else, all but MaxQueue are
	// refused; where what remains of a limit is kept back for others that may use it too, as soon as it is not,
	// a second later at most. A refused request that is made again (Claim.After) finds room in any case: so
	// more than MaxQueue may wait, by as many as were under way.
	MaxQueue int

	// Aging makes claims more urgent while they wait: for every Aging that a claim has waited, it counts as
	// one step more urgent than a new one; see [Priority]. Zero means 10 seconds. If negative, claims do not
	// age: a more urgent claim always goes first.
	Aging time.Duration

	// Reserve is the share of every quota, and of what remains of every limit that the server states, that only
	// Urgent claims may use. With 0.1 of 5000 an hour, 500 are kept for Urgent claims, and the others go at
	// 4500 an hour. Zero means none. It must be at least 0 and less than 1, or every claim is refused with an
	// error. Whatever the share, other claims can always go one at a time.
	Reserve float64

	// Spend says how what remains of a server's limit is spent until its reset. Zero is SpendAuto.
	Spend Spend

	// SlowStart makes a bucket begin with one request when it is new, when it has idled for IdleAfter, or when
	// a hold has ended. Then each answer lets two more go, and fewer once 50 go in a second, until the server
	// has stated how much it allows, or 256 answers have come. After 250 ms without an answer (5 s after a
	// refusal, until something is served) one more goes, and the number of requests that may be in flight
	// doubles. It needs callers that use Acquire and Grant.Answered.
	//
	// No claim fails for a slow start unless the server has refused or held the bucket since the bucket was new
	// or had idled. A claim that must not wait does not wait for it. A claim with a deadline or a MaxWait waits
	// for a quarter of its time at most, and for an eighth until something was answered. MaxQueue counts only
	// claims that wait for more.
	SlowStart bool

	// IdleAfter is how long a bucket must idle before it starts slowly again. Zero means a minute. If
	// negative, a bucket never starts slowly because it idled.
	IdleAfter time.Duration

	// Rand returns numbers in [0, 1), for the jitter of holds: one for each answer that may bring a hold, with
	// no lock held; and after Group.Load one for each bucket, with the Group locked: it must not call the
	// Group. If nil, rand.Float64 of math/rand/v2 is used. Tests set it to be exact.
	Rand func() float64

	// MaxHold bounds for how long a server can hold the bucket, by asking to wait or by a reset that is far
	// away. Then one request goes to find out: at MaxHold, or up to a second before it, by chance, so that
	// several processes do not go in the same instant. Zero means 15 minutes, and Forever no bound. If
	// negative, it is zero: nothing that a server says holds the bucket, and a claim that was refused waits by
	// itself, see Outcome.Backoff.
	MaxHold time.Duration

	// Shared says by which Store processes share the Quotas. Zero means that the Quotas are of this Limiter
	// alone.
	Shared Shared

	// Value is for the maker of the Limiter; the package does not use it. In a Group, a bucket for what a
	// server counts on its own gets the Value of its Parent.
	Value any

	// What the Group knows of l, if l is in one. Enroll sets group and node, before anybody else has l.
	// Group.mu protects the table.
	group *Group
	node  *bucketNode    // Named if l is for what a server counts on its own; its key is the server's name for that
	table together.Table // which claims the server counts together

	spare sync.Pool // waiters that were granted or refused, as they were left: the next claims use them again

	gate         atonce.Gate // how claims go that nothing delays; set by unlock, and shut where something comes that may delay them
	forgotten    atomic.Bool // by its Group; written with the locks of the Group and of the tree, and never unset
	contradicted atomic.Bool // answers cannot be about one counter: the Group is to hear them

	asRoot scheduler // the tree of all, if l is its root; else unused. Lock and init use it, and what knows that l is alone; all else uses tree

	// tree.mu protects the fields below. Each names its writers, unless that is init alone.
	initialized bool           // init was called
	tree        *scheduler     // asRoot of the root
	idleAfter   time.Duration  // effective IdleAfter: a bucket whose last use is not so Recent starts slowly
	misset      error          // what is wrong with fields other than Quotas
	invalid     error          // if not nil, every claim gets this error; init, applyQuotas, close
	clock       monotime.Clock // that of the root, or of the Group
	stack       limit.Stack    // limits of the quotas that do not live in the Store; applyQuotas
	concurrent  bool           // some quota bounds what is under way; applyQuotas
	inUnits     bool           // some quota is in another unit than requests; applyQuotas
	beyondBare  bool           // some quota is not for Wait and Allow; applyQuotas
	quotas      quota.Quotas   // as configured, with all defaults written out; applyQuotas
	lastCharged monotime.Time  // latest instant passed to the stack: no older one may follow, so who charges it sets this
	isParent    bool           // some Limiter has it for its Parent; the init of that one
	isSplit     bool           // each claim belongs in a bucket below this one, chosen by its kind; regroup, with Group.mu too: either lock lets it be read
	generation  uint64         // of the Group, when l was given its quotas, or l.Parent if that was earlier; enroll and renew, with Group.mu too
	link        *storeLink     // to the Store; nil if there is none; applyQuotas, once

	// A hold is begun and extended by holdUntil, and by storeLink.holdUntil if the store means the same one by
	// a little more. One that is long over is forgotten by prepare: so a gate may open.
	hold   due.Hold
	delays due.Bucket // what delays a claim here: hold, server, stack and the lease

	server   adaptive.Server // what is known of the server
	answers  expect.Answer   // how long answers take
	luck     float64         // what Rand returned, without the lock (check.Draw): set before each call of server that may need jitter
	line     line            // claims that wait
	awaitEnd int             // answered grants for which Done must be called: while there are any, l is not forgotten

	account      *Limiter                 // the bucket of the tenant, else the root: the fields below are used in that one alone
	site         adaptive.Site            // what the servers of a tenant have in common
	kinds        expect.Kinds             // what claims turned out to cost in units
	sharers      adaptive.Peers[*Limiter] // buckets whose servers may share windows: each that stated a limit, until it is forgotten
	tenants      *adaptive.Tenants        // what those right below l were told; nil unless one of them is a tenant that was refused
	refusedSince atomic.Int64             // tenants.Since; may be read without the lock
}

// Shared says how the quotas of a bucket are shared by processes. Without a Store, all other fields must be
// zero.
type Shared struct {
	// Store, if not nil, is where the Quotas live; a nil pointer in it is an error. All processes whose
	// Limiters have the same Store and the same Name here share the Quotas, and learn what a server
	// says to any of them.
	//
	// A quota that bounds requests in flight, and the Queue of a Quota, still count for each process alone. A
	// quota cannot have a WarmUp, nor windows that begin on days of the calendar (Months, From, Zone): that is
	// an error. Even a claim that must not wait waits for the store's answer, and for that of a call that was
	// under way. A Parent that delays requests for longer than SlotLife wastes slots; if the Parent has a Store
	// too, one token of each of its token buckets must come back within SlotLife. See Close.
	Store store.Store

	// Name is what the Store calls the bucket. If empty, that is Limiter.Name.
	Name string

	// Fresh says that, as far as you know, nobody has drawn on the bucket before. A Store such as Redis cannot
	// tell a bucket that it does not know from one that it has lost, and takes both for used up: the first
	// claim waits for MaxStandstill at most (for two minutes if that is zero), and 1000 a day are back after a
	// day. If Fresh is set, all is there after half a second, unless another process says that it knows the
	// bucket.
	Fresh bool

	// SlotLife is for how long after its instant in the Store's schedule a slot may still be used. The longest
	// SlotLife of all processes counts. SlotLife must be longer than a round trip to the store. With five round
	// trips, a process that sends often enough always has slots in hand. A longer SlotLife saves round trips,
	// but makes each window longer by SlotLife, and each Burst smaller by what comes back within SlotLife. Zero
	// or negative means the least that suits all quotas: Per/100, or for a token bucket the time in which a
	// tenth of its Burst comes back, if that is longer; from 10 ms to a second; and no less than two round
	// trips. For a window, that is Per/4 at most, and a SlotLife that is set may be Per/2 at most. A call of
	// the store may take 250 ms; with OutageClosed also as long as a SlotLife that is set, and a second at
	// most: so a store that is farther away needs both.
	SlotLife time.Duration

	// Outage is what to do while the Store cannot be reached. Zero is OutageShare.
	Outage Outage

	// Event, if not nil, is called when the Store can no longer be reached, when it can be reached again,
	// when it is too slow, has lost the bucket, or another process shares it by other quotas. Calls come one
	// after the other, in a goroutine of their own, with no lock held: a panic ends the program.
	Event func(StoreEvent)
}

// Validate reports all that is wrong with the fields of l and of its Parents, joined by errors.Join; of Quotas
// the first mistake. The error is ErrInvalid. If it is not called, each claim gets the error of l, or else of
// the Parent; but Allow only says no. After Close, Validate returns ErrClosed.
func (l *Limiter) Validate() (err error) {
	if err = check.Circle(l.Name, l, func(l *Limiter) *Limiter { return l.Parent }); err != nil {
		return err // all else panics
	}
	l, _ = l.lockCurrent()
	defer l.unlock()
	for b := l; b != nil; b = b.Parent {
		err = errors.Join(err, b.invalid)
	}
	return err
}

// Pause holds the bucket: nothing goes before d has passed. Those that wait in it and would now miss their
// deadline or MaxWait are refused at once. A pause never shortens a hold; zero and negative do nothing. Where
// SlowStart is set, the bucket then starts slowly.
func (l *Limiter) Pause(d time.Duration) {
	l, now := l.lockCurrent()
	defer l.unlock()
	l.change(now, func() { l.holdUntil(now.Add(min(d, monotime.Longest)), 0, now) })
}

// Resume ends a hold: waiting claims go, as far as quotas allow. If the Store knows of the hold, its next reply
// may hold the bucket again.
func (l *Limiter) Resume() {
	l, now := l.lockCurrent()
	defer l.unlock()
	l.change(now, func() { l.hold.End(now) })
}

// SetQuotas replaces the quotas, and the line is timed anew. A new quota of the same kind and unit as an old
// one, preferably at the same index, keeps what was charged; others start anew. A TokenBucket keeps what is in
// it, as far as the new Burst holds that: a larger one fills up at its rate. Plain, SlidingLog and
// SlidingWindow are one kind here. Claims that wait here, or in a bucket below, and now would miss their bounds
// or never go, are refused at once. If a quota is invalid, nothing changes, and the error, which is ErrInvalid,
// says why. With a Store, what was granted ahead by the quotas of before goes back. But where only a rate
// changes, by a fifth at most, what is due within 25 ms stays; where it changes by less, so much more: by a
// hundredth, what is due within half a second. And where it so changes again within a tenth of a second,
// nothing goes back before that is over. Leave four round trips to the Store between larger changes: nothing is
// granted while they come faster than its replies.
func (l *Limiter) SetQuotas(qs quota.Quotas) error {
	l, now := l.lockCurrent()
	defer l.unlock()
	if err := fields.Invalid(errors.Join(qs.Validate(), l.checkQuotas(qs))); err != nil {
		return err
	}
	if qs = qs.Explicit(); l.invalid == nil && slices.Equal(l.quotas, qs) {
		return nil
	}
	l.change(now, func() {
		l.applyQuotas(now, qs)
		l.lastCharged = now
		l.later()
		l.refuseOutOfBounds(now)
	})
	l.link.ask(now) // the Store is told, also if nobody waits
	return nil
}

// applyQuotas passes qs to the stack and the lease. All defaults of qs must be written out. It requires that mu
// is held.
func (l *Limiter) applyQuotas(now monotime.Time, qs quota.Quotas) {
	if l.Shared.Store != nil && l.link == nil && l.misset == nil {
		l.link = newStoreLink(l)
		l.delays.Lease = l.link.lease
	}
	if !l.isClosed() {
		l.invalid = l.misset
	}
	l.quotas, l.concurrent = qs, slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Kind.Concurrent() })
	l.tree.hasQueues = l.tree.hasQueues || slices.ContainsFunc(qs, func(q quota.Quota) bool { return q.Queue > 0 })
	local := qs
	if l.Shared.Store != nil {
		local = lease.NotStored(qs)
	}
	l.stack.Set(now, local, l.Reserve, l.clock.Wall(), check.Spend(l.Spend).Spreads(l.MaxStandstill))
	l.stack.Follow(&l.clock)
	l.inUnits, l.beyondBare = l.stack.InUnits(), check.NotInRequests(qs) != nil
	l.server.Space(check.Spacing(qs))
	first := l.line.Heads(new([priorities]*waiter))
	l.line.Recharge(l.turn)
	for _, w := range first {
		if !slices.Contains(l.line.Heads(new([priorities]*waiter)), w) {
			w.withdraw(l) // another is the first now
		}
	}
	l.wake(now, nil)
	if l.link != nil {
		l.link.lease.Set(now, limit.Counted(qs), l.Reserve)
	}
}

// outdated reports whether the Group of l has forgotten it, or an Update has not come to it yet. It requires
// that mu is held.
func (l *Limiter) outdated() bool {
	return l.group != nil && (l.forgotten.Load() || l.generation != l.group.generation.Load())
}

// redirect finds the bucket of a claim that was made to l, if l is outdated, or split by kind; it locks the
// tree of that bucket, and returns the present, too. If find only looks, that may be a bucket of which nobody
// else knows.
func (l *Limiter) redirect(of adaptive.Kind, find func(*Group, *Limiter, adaptive.Kind) *Limiter) (at *Limiter, now monotime.Time) {
	for now = l.lock(); l.isSplit || l.outdated(); now = l.lock() {
		outdated, forgotten := l.outdated(), l.forgotten.Load()
		l.tree.mu.Unlock()
		switch {
		case !outdated:
			l = find(l.group, l, of)
		case !forgotten:
			_ = l.group.renewOne(l) // Update says what is wrong with the quotas
		case l.node.Named:
			l = l.Parent
		default:
			l = l.group.current(l)
		}
	}
	return l, now
}

// lockCurrent locks the tree of l and returns l, and the present. If the Group of l has forgotten l, the bucket
// that is now under the path of l takes its place.
func (l *Limiter) lockCurrent() (at *Limiter, now monotime.Time) {
	for now = l.lock(); l.forgotten.Load(); now = l.lock() {
		l.tree.mu.Unlock()
		l = l.group.current(l)
	}
	return l, now
}

// lock locks the tree of l and reads its clock, so that no instant is older than one that was used before. It
// initializes l at its first use.
func (l *Limiter) lock() (now monotime.Time) {
	l.root().asRoot.mu.Lock()
	if !l.initialized {
		l.init()
	}
	l.server.Add(l.gate.Take())
	return l.clock.Now()
}

// unlock releases the lock of the tree, and sets how claims of l go from now on. Before that, claims are
// refused that must not wait, and that no call of a Store can help any more.
func (l *Limiter) unlock() {
	t := l.tree
	for t.lostHope && t.frozen == 0 {
		t.refuseUncalled(l.now())
	}
	unknown := l.server.Unknown()
	l.gate.Set(l.way(unknown), unknown && l.server.Heard() && l.hold.Until() == 0)
	n := l.gate.Take() // grants that end after this see what was set
	if l.server.Add(n); n != 0 && !unknown {
		l.change(l.now(), func() {}) // those in line were looked at with these in flight
	}
	woken := t.woken.Take()
	t.mu.Unlock()
	woken.Ring()
}

// way is how the next claim of l is granted. Unknown says that nothing is known of its server.
func (l *Limiter) way(unknown bool) atonce.Way {
	alone := l.line.waiting == 0 && l.isAlone() && l.hold.Until() == 0 && l.invalid == nil && l.tree.frozen == 0
	switch {
	case alone && unknown && len(l.stack) == 0:
		return atonce.Free
	case alone && (unknown || l.server.Steady()) && l.stack.IsOneBucket() && l.Reserve == 0:
		return atonce.OneLock
	}
	return atonce.Looks
}

// isAlone reports whether l is all of its tree, and all that there is for its claims.
func (l *Limiter) isAlone() bool {
	return l.Parent == nil && !l.isParent && !l.isSplit && l.link == nil && !l.forgotten.Load() && !l.contradicted.Load()
}

func (l *Limiter) root() *Limiter {
	for depth := 0; l.Parent != nil; depth = check.Above(depth) {
		l = l.Parent
	}
	return l
}

func (l *Limiter) init() {
	if l.Parent != nil {
		if !l.Parent.initialized {
			l.Parent.init()
		}
		l.Parent.isParent = true
		l.Parent.gate.Shut()
		l.tree, l.clock, l.line.book.Above = l.Parent.tree, l.Parent.clock, &l.Parent.line.book
	} else {
		l.tree, l.asRoot.root, l.asRoot.standstill = &l.asRoot, l, monotime.Unbounded
		if g := l.group; g != nil {
			l.clock = g.clock
		}
		l.clock.Start()
	}
	if l.account = l; l.Parent != nil && !l.Tenant {
		l.account = l.Parent.account
	}
	l.delays = due.Bucket{Hold: &l.hold, Server: &l.server, Stack: &l.stack, Quotas: &l.quotas, Reserve: l.Reserve, Account: &l.account.delays}
	l.spare.New = func() any { return &waiter{done: bell.New()} }
	l.line.book.Bucket, l.line.book.Label = l.Name, l.Label
	random := rand.Float64
	if l.Rand != nil { // it is not called with the lock held
		random = func() float64 { return l.luck }
	}
	l.server.Init(&l.account.site, adaptive.Config{
		MaxHold: check.MaxHold(l.MaxHold), MaxStandstill: check.MaxReset(l.MaxStandstill, l.MaxWait), Spend: check.Spend(l.Spend), SlowStart: l.SlowStart, Random: random,
	})
	l.gate.Set(atonce.Looks, true) // nothing is known, and that is so above others that nobody asks, too
	l.initialized, l.quotas = true, l.Quotas.Explicit()
	l.idleAfter, l.tree.standstill = check.IdleAfter(l.IdleAfter), min(l.tree.standstill, check.Bound(l.MaxStandstill))
	l.misset = fields.Invalid(check.Fields(l, &l.Shared, l.Reserve, string(l.Shared.Outage), string(l.Spend)))
	l.invalid = fields.Invalid(errors.Join(l.Quotas.Validate(), l.misset, l.checkQuotas(l.Quotas)))
	if l.invalid == nil {
		l.applyQuotas(0, l.quotas)
	}
}

// now reads the clock. It is called with mu held, so that no instant is older than one that was used before;
// a claim that goes without it needs only a glance.
func (l *Limiter) now() monotime.Time { return l.clock.Now() }
