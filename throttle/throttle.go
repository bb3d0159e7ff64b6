// Package throttle makes callers wait for their turn in a bucket: for the quotas
// that are configured for it, and for what a server's answers say. It knows no HTTP.
//
//	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 5, Burst: 10}, {N: 100_000, Per: 24 * time.Hour, Burst: 100}}}
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
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
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
	Quotas Quotas

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
	Store Store

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

	// A quiet bucket ends grants without the lock: nobody waits, and nothing is
	// known that an answer could confirm. A calm one grants without it too: nothing
	// at all could stand in the way. Both are set when the lock is released.
	quiet, calm atomic.Bool
	sheds       atomic.Bool  // failures are taken for refusals
	last        atomic.Int64 // the instant at which something was granted last

	mu sync.Mutex // protects all below, here and in every Limiter below this one in the tree

	ready   bool      // init was called
	invalid error     // what is wrong with Quotas
	start   time.Time // all instants are start plus what the monotonic clock has run since
	wall    int64     // start in nanoseconds since 1970
	limits  []limit   // of Quotas, in their order; nil where a quota is no limit
	spare   []limit   // what they leave to those that are not urgent; nil if all
	quotas  Quotas    // of limits; their units are canonical
	booked  instant   // the latest instant that limits were told of: they never see an older one
	hold    instant   // nothing goes before
	server  server    // what the server allows, as far as it is known
	line    line      // who waits
	branch  bool      // it is the parent of others
	reading int       // answers that are being read
	lease   *lease    // of what lives in the Store; nil if there is none

	// Of the root, for all of its tree.
	frozen   int        // nobody goes while it is positive
	stalled  []*Limiter // where something changed meanwhile
	asked    uint64     // how many have asked
	speakers []*Limiter // to which answers spoke of limits
	orders   uint64     // how many grants and answers there were, in so far as they count
	changed  instant    // when something changed last that may let somebody go
}

// Claim is what a caller asks of a Limiter.
type Claim struct {
	// N is the cost in requests. Zero means what Costs says, or else 1. Negative
	// panics.
	N int

	// Costs is the cost in other units. A quota of a unit that is not among them is not
	// drawn on.
	Costs Costs

	// Priority is how urgent it is. Zero is Normal.
	Priority Priority

	// Place is where it stands in line. Zero means at the end. A request that was
	// granted and that the server then refused asks again with the Place of its
	// Grant, and so goes before all who came later.
	Place Place

	// Cancel ends the wait when it is closed, beside the context. Nil means
	// that only the context does.
	Cancel <-chan struct{}

	// NoWait refuses with ErrWait what cannot go at once.
	NoWait bool
}

// Place is a place in line: that of whoever first asked then. MaxWait counts from
// there.
type Place struct {
	since  instant
	number uint64 // counts those who asked; zero for one who came when nobody waited
}

// Wait blocks until n tokens are granted or ctx ends. The error, an [*Error],
// comes at once if the wait would end after ctx's deadline or MaxWait. A caller
// that stops waiting leaves nothing behind: no token is lost, and everybody
// behind it moves up. It panics if n < 0; zero counts as one.
//
// What is granted by Wait is not counted as in flight, since nobody says when it
// ends: use Acquire where a server's answers are to be learned from.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	g, err := l.Acquire(ctx, Claim{N: n})
	if err == nil {
		g.forget()
	}
	return err
}

// Acquire blocks like Wait and returns a Grant, which must be ended by exactly
// one call of Done or Cancel.
func (l *Limiter) Acquire(ctx context.Context, c Claim) (Grant, error) {
	g, w, err := l.Join(ctx, c)
	if w == nil {
		return g, err
	}
	return w.Wait(ctx)
}

// Join grants the claim at once if it may go now, else puts it in line and
// returns a Waiter on which Wait must be called. It is Acquire in two steps, for
// callers who want to know that and why they are about to wait. Bounds are
// checked here, on the wait as it is projected now.
func (l *Limiter) Join(ctx context.Context, c Claim) (g Grant, w *Waiter, err error) {
	if l.calm.Load() && c.Costs == nil && c.N >= 0 && c.Place == (Place{}) && ctx.Err() == nil {
		// Calm is asked again: whoever finds the bucket idle takes it away before it
		// notes that it no longer idles.
		if now := l.now(); !l.idled(now) && l.calm.Load() {
			n := max(c.N, 1)
			l.last.Store(int64(now))
			l.server.inflight.Add(int64(n))
			return Grant{l: l, n: n, place: Place{since: now}, sent: now}, nil, nil
		}
	}
	w, err = l.join(ctx, &c, &g)
	return g, w, err
}

// join is Join where something may stand in the way. What is granted becomes g.
func (l *Limiter) join(ctx context.Context, c *Claim, g *Grant) (*Waiter, error) {
	w := c.want()
	if ctx.Err() != nil {
		return nil, &Error{Bucket: l.Name, Cost: w.n, Err: ErrCanceled, ctxErr: context.Cause(ctx)}
	}
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	for b := l; b != nil; b = b.Parent {
		if b.invalid != nil {
			return nil, b.invalid
		}
	}
	l.wake(now)
	b := l
	for b != nil && root.frozen == 0 && b.line.len() == 0 && b.open(now, &w, b == l) {
		b = b.Parent
	}
	again := c.Place != Place{}
	if !again {
		root.asked++
		c.Place = Place{now, root.asked}
	}
	if b == nil {
		l.charge(g, now, now, &w, c.Place)
		l.restock(now)
		return nil, nil
	}
	if w.of != nil {
		w.of = maps.Clone(w.of) // it is looked at for as long as it waits
	}
	return l.queue(ctx, now, c, w, again)
}

// Forecast returns how long the claim would wait if it were made now, and for
// what. It changes nothing.
func (l *Limiter) Forecast(c Claim) Forecast {
	w := c.want()
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	return l.project(now, w).forecast(now)
}

// Observe grants the claim at once, whatever is due, and charges it. It returns how
// long the claim should have waited, and for what: for trying limits on a live system
// without delaying it.
func (l *Limiter) Observe(c Claim) (g Grant, f Forecast) {
	w := c.want()
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.wake(now)
	d := l.project(now, w)
	l.charge(&g, now, now, &w, Place{})
	l.restock(now)
	return g, d.forecast(now)
}

// project returns when a claim that was made now would go.
func (l *Limiter) project(now instant, wanted want) due {
	w := Waiter{l: l, want: wanted, rank: l.rank(now, wanted.priority)}
	w.place.number = math.MaxUint64
	return w.project(now, false)
}

// Pause holds the bucket: nothing goes before d has passed, and those who wait
// and would then be too late are refused now. A pause only extends what is held
// already. After it the bucket starts slowly, where SlowStart is set.
func (l *Limiter) Pause(d time.Duration) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.holdUntil(now.add(min(d, ages)), now) })
}

// Resume ends a hold: whoever waits for it goes, as far as quotas allow. A hold that a
// Store knows of begins again with the store's next word.
func (l *Limiter) Resume() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.hold = min(l.hold, now) })
}

// SetQuotas replaces the quotas; everybody who waits is re-timed. A quota of
// the same kind at the same place keeps what was charged to it; others start
// anew. If one is invalid nothing is changed.
func (l *Limiter) SetQuotas(qs Quotas) error {
	if err := errors.Join(qs.Validate(), l.checkStore(qs)); err != nil {
		return err
	}
	qs = qs.canonical()
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() {
		l.limits = l.remake(l.limits, now, qs)
		if l.Reserve > 0 {
			l.spare = l.remake(l.spare, now, l.rest(qs))
		}
		l.quotas, l.invalid, l.booked = qs, checkReserve(l.Reserve), now
		if l.lease != nil {
			l.lease.adopt()
		}
		l.refuseLate(now)
	})
	return nil
}

// remake returns the limits of qs. A quota that stays as it is keeps its limit; of the
// others each takes over one of the same kind and unit, that at its own place first.
func (l *Limiter) remake(limits []limit, now instant, qs Quotas) []limit {
	made, old := make([]limit, len(qs)), slices.Clone(limits)
	meant := qs.meant()
	take := func(i, from int, same bool) {
		if made[i] == nil && from < len(old) && old[from] != nil && (qs[i] == l.quotas[from] || !same && qs[i].unit() == l.quotas[from].unit()) && old[from].set(now, meant[i]) {
			made[i], old[from] = old[from], nil
		}
	}
	for _, same := range [...]bool{true, false} {
		for i := range qs {
			take(i, i, same)
		}
		for i := range qs {
			for from := range old {
				take(i, from, same)
			}
		}
	}
	for i := range qs {
		if made[i] == nil {
			made[i] = newLimit(meant[i], l.wall-1)
		}
	}
	return made
}

// rest is what quotas leave to those that are not urgent.
func (l *Limiter) rest(qs Quotas) Quotas {
	rest := make(Quotas, len(qs))
	for i, q := range qs.meant() {
		if rest[i] = q; q.N > 0 {
			rest[i] = q.rest(l.Reserve)
		}
	}
	return rest
}

// lock locks the tree that l belongs to and returns its root.
func (l *Limiter) lock() *Limiter {
	root := l.root()
	root.mu.Lock()
	if !l.ready {
		l.init()
	}
	return root
}

// unlock releases the lock of the tree after what was done in l.
func (l *Limiter) unlock(root *Limiter) {
	quiet := l.line.waiting == 0 && l.server.unknown()
	set(&l.quiet, quiet)
	set(&l.calm, quiet && l == root && !l.branch && len(l.limits) == 0 && l.lease == nil && l.hold == 0 && l.invalid == nil && l.frozen == 0)
	root.mu.Unlock()
}

// set writes only what is new: a write that others must see costs as much as a lock.
func set(b *atomic.Bool, v bool) {
	if b.Load() != v {
		b.Store(v)
	}
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
		l.Parent.calm.Store(false)
		l.start = l.Parent.start
	} else {
		l.start = time.Now()
	}
	l.wall = l.start.UnixNano()
	l.server.orders = &l.root().orders
	l.ready, l.quotas = true, l.Quotas.canonical()
	l.invalid = errors.Join(l.Quotas.Validate(), checkReserve(l.Reserve), l.checkStore(l.Quotas))
	if l.invalid == nil {
		l.limits = l.remake(nil, 0, l.quotas)
		if l.Reserve > 0 {
			l.spare = l.remake(nil, 0, l.rest(l.quotas))
		}
		if l.Store != nil {
			l.lease = newLease(l)
			l.lease.adopt()
		}
	}
}

// now reads the clock. It is called with mu held, so that no instant is older
// than one that was used before (time.Since of an instant reads only the
// monotonic clock, at half the cost of time.Now).
func (l *Limiter) now() instant { return instant(time.Since(l.start)) + 1 }
