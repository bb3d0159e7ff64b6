package throttle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/link"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/shelf"
	"github.com/gopacer/pacer/throttle/internal/tree"
)

// A Group is many buckets, each under a path of keys: a host, say, and below it what is counted on its
// own there. A bucket is made when it is first asked for, and forgotten when there are many: see MaxBuckets.
//
//	g := throttle.Group{New: func(path []string) *throttle.Limiter {
//		return &throttle.Limiter{Quotas: quotas[path[0]]}
//	}}
//	err := g.Limiter("api.example.com").Wait(ctx, 1)
//
// The Parent of a bucket is the bucket whose path lacks the last key. Where a server counts some requests of a
// bucket on their own, and says so (Answer.Counter), or answers show it (Statements that cannot be about one
// counter), these requests get a bucket of their own below it, named after what they ask for; their Verb and
// Path tell which claims belong there.
//
// The zero Group has buckets without quotas, each of which learns what its server allows. A Group must not be
// copied. It is safe for concurrent use, has no goroutine, and needs no Close unless buckets have a Store.
type Group struct {
	// New returns a new Limiter for the bucket of a path; the Group sets its Parent. It is called when a bucket
	// is needed, and for each during an Update, with the Group locked: it must call neither the Group nor its
	// Limiters. Nil, and a Limiter that is a bucket of a Group already, panic. If New is nil, Limiters have the
	// last key of their path for a Name, and SlowStart. For buckets that there are, Update looks only at the
	// Quotas and the Store of what New returns.
	New func(path []string) *Limiter

	// MaxBuckets bounds how many buckets there are, held ones too. If there are more than 1024 buckets, idle
	// ones are forgotten in any case, since nothing is lost by that. Beyond MaxBuckets, an eighth is forgotten,
	// a few for each bucket that is asked for. First go idle buckets, then those that are only indebted (what
	// was charged has not come back), then those that are held or of which the server says that nothing
	// remains. Within each of these kinds, the bucket that was used the longest ago goes first. A bucket in
	// which claims wait, or whose requests are under way, is never forgotten. Zero means 100,000, and NoLimit
	// no bound. If negative, it is zero: only buckets in use are kept.
	MaxBuckets int

	generation atomic.Uint64  // counts updates
	calls      atomic.Int64   // of Stores that are under way
	clock      monotime.Clock // of all trees; started before the first bucket is made

	mu      sync.Mutex // protects the fields below, and the table of each Limiter; locked before any tree
	buckets tree.Tree[*Limiter]
	movedAt uint64      // generation of the latest update by which claims belong under other paths
	loaded  shelf.Shelf // by digest: what Load read for buckets that are not made yet
	closed  bool        // Close was called
}

type bucketNode = tree.Node[*Limiter]

// Limiter returns the bucket of a path. It panics if the path has no key. The Limiter stays good when the
// Group forgets it: its methods then act on the bucket that is under the path now.
func (g *Group) Limiter(path ...string) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(path)
}

// current returns the bucket that is under the path of l now.
func (g *Group) current(l *Limiter) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := l.node
	if !n.Named {
		return g.find(n.Path())
	}
	whole := g.find(n.Parent.Path())
	if l.contradicted.Load() && !whole.table.Has(n.Key) {
		return whole // the counter is one with another
	}
	return g.namedBucket(whole, n.Key)
}

// Forgotten reports whether the Group of l has forgotten it. Callers that keep a Limiter to save the look-up
// should then ask the Group again.
func (inner) Forgotten(l *Limiter) bool { return l.forgotten.Load() }

// find returns the bucket of a path. It requires that g.mu is held.
func (g *Group) find(path []string) *Limiter {
	check.Path(path)
	n := g.buckets.Find(path, func(n *bucketNode) { g.enroll(n, g.newLimiter(n.Path())) })
	if room := check.MaxBuckets(g.MaxBuckets); g.buckets.Full(room) { // but not that of n, which is about to be used
		g.buckets.SweepSome(n, room, sweeper{})
	}
	return n.Value
}

// newLimiter returns a new Limiter for a path.
func (g *Group) newLimiter(path []string) *Limiter {
	if g.New != nil {
		return check.New(g.New(path))
	}
	return &Limiter{Name: path[len(path)-1], SlowStart: true}
}

// enroll makes l the bucket of a node. It requires that g.mu is held.
func (g *Group) enroll(n *bucketNode, l *Limiter) {
	check.Unused(l.group == nil)
	n.Value, l.node, l.group, l.generation = l, n, g, g.generation.Load()
	if n.Parent != nil {
		l.Parent, l.generation = n.Parent.Value, n.Parent.Value.generation
	}
	if !g.clock.Started() {
		g.clock.Start()
	}
	g.restore(l)
	if g.closed && l.Shared.Store != nil {
		l.shut()
	}
}

// sweeper forgets buckets for a tree.Tree.
type sweeper struct{}

// Used implements tree.Keeper.
func (sweeper) Used(l *Limiter) int64 { return int64(l.gate.LastUse()) }

// Loss implements tree.Keeper.
func (sweeper) Loss(l *Limiter) tree.Loss {
	now := l.lock()
	defer l.unlock()
	return l.loss(now)
}

// Forget implements tree.Keeper. Those that still have l go on with the new bucket of its path.
func (sweeper) Forget(l *Limiter, most tree.Loss) bool {
	now := l.lock()
	defer l.unlock()
	l.gate.Shut()
	l.server.Add(l.gate.Take()) // nothing is granted without the lock any more
	if l.loss(now) > min(most, tree.Much) {
		return false
	}
	l.forgotten.Store(true)
	l.account.sharers.Leave(&l.server)
	if l.link != nil {
		go l.close() // takes a round trip; slots that cannot be given back expire soon
	}
	return true
}

// Update changes what New goes by. It calls change, and then gives each bucket the quotas that New now returns
// for its path, one bucket after the other, so that no claim is held up for long; what was charged is kept, as
// with SetQuotas. When Update returns, each claim goes by the new quotas, and meanwhile each that is not
// granted at a glance. A tree of which a bucket has a Store now, and had none before, is made anew; what was
// learned is kept. Update returns the errors of all quotas that could not be set. Change must not call the
// Group.
func (g *Group) Update(change func()) error {
	return inner{}.Update(g, func() bool { change(); return false })
}

// Update is Group.Update. If change reports that claims belong under other paths now (moved), each claim that
// waits in Acquire looks up its bucket again and takes its old place in the order there. Claims whose first key
// stays the same have all moved before any of them goes.
func (inner) Update(g *Group, change func() (moved bool)) error {
	g.apply(change)
	var errs []error
	for _, n := range g.snapshot() {
		errs = append(errs, g.renewOne(n.Value))
	}
	return errors.Join(errs...)
}

// apply calls change, and counts the update.
func (g *Group) apply(change func() (moved bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if moved, n := change(), g.generation.Add(1); moved {
		g.movedAt = n
	}
}

// renewOne is renew, and holds the lock no longer.
func (g *Group) renewOne(l *Limiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.renew(l)
}

// renew gives l the quotas that New returns now, after those above it; and if l is the root of its tree, all in
// which claims wait. It requires that g.mu is held.
func (g *Group) renew(l *Limiter) error {
	current := g.generation.Load()
	if l.Parent != nil && l.Parent.generation != current {
		_ = g.renew(l.Parent)
	}
	l.lock()
	root := l.tree.root
	n, moved, lines := l.node, l.generation < g.movedAt, l == root && l.generation != current && l.line.waiting > 0
	l.generation = current
	root.unlock()
	if lines {
		g.renewLines(root, moved)
	}
	switch remade := root.tree.successor != nil; {
	case n.Named, l.forgotten.Load() && !remade:
		return nil
	case remade:
		l = g.find(n.Path())
	}
	renewed := g.newLimiter(n.Path())
	if l.Shared.Store == nil && renewed.Shared.Store != nil {
		g.remake(root)
		l = g.find(n.Path())
	}
	return l.SetQuotas(renewed.Quotas)
}

// renewLines renews all buckets of a tree in which claims wait, together, so that none goes by quotas of which
// some are old. If claims have moved, those find their buckets again. It requires that g.mu is held.
func (g *Group) renewLines(root *Limiter, moved bool) {
	now := root.lock()
	root.freeze()
	defer root.thaw()
	lines := root.withLines(nil)
	for _, l := range lines {
		if moved {
			l.change(now, l.dismiss)
		}
	}
	root.unlock()
	for _, l := range lines {
		_ = g.renew(l)
	}
}

// withLines appends l, and the buckets below it in which some wait, to all. It requires that mu is held.
func (l *Limiter) withLines(all []*Limiter) []*Limiter {
	all = append(all, l)
	for e := l.line.below.Front(); e != nil; e = e.Next() {
		all = e.Value.(*Limiter).withLines(all)
	}
	return all
}

// remake has a new tree take the place of that of root, which is forgotten, whatever is in it. Claims that wait
// find their bucket again, in the new one; requests under way end in the old one. It requires that g.mu is
// held.
func (g *Group) remake(root *Limiter) {
	root.lock()
	root.freeze()
	root.unlock()
	defer root.thaw() // and that of the new tree
	learned := map[string]adaptive.Memory{}
	old := root.node
	successor := g.newLimiter(old.Path()) // New may panic: then nothing has changed
	for l := range old.All() {
		l.saveTo(learned)
	}
	g.loaded.Put(time.Now(), learned)
	g.buckets.Cut(old)
	g.buckets.Find(old.Path(), func(n *bucketNode) { g.enroll(n, successor) })
	for l := range old.All() {
		now := l.lock()
		l.forgotten.Store(true)
		l.change(now, l.dismiss)
		if l.link != nil {
			defer func() { go l.close() }() // when nobody competes in it any more, who would be refused
		}
		l.unlock()
	}
	root.lock()
	successor.lock() // only remake locks two trees
	root.tree.successor, successor.tree.frozen, successor.tree.claimCount = successor, root.tree.frozen, root.tree.claimCount
	successor.unlock()
	root.unlock()
}

// snapshot returns the nodes of all buckets, each before those below it, in the order of their paths. They are
// put in order without the lock, since requests wait for that.
func (g *Group) snapshot() []*bucketNode {
	g.mu.Lock()
	all := g.buckets.Nodes()
	g.mu.Unlock()
	slices.SortFunc(all, tree.Compare)
	return all
}

// Close closes all buckets that have a Store, also those that are made later, and returns their errors. After a
// call of a Store that does not return in time, or not at all, no other is made; nor after calls that failed,
// and took longer than 300 ms together.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	var all []*Limiter
	for _, n := range g.snapshot() {
		if l := n.Value; l.Shared.Store != nil && l.shut() {
			all = append(all, l)
		}
	}
	return link.All(all, (*Limiter).leave)
}

// kindBucket returns the bucket below l for claims of a kind; l itself if it is forgotten.
func (g *Group) kindBucket(l *Limiter, of adaptive.Kind) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.forgotten.Load() {
		return l
	}
	return g.namedBucket(l, l.table.Of(of.Verb, of.Path))
}

// namedBucket returns the bucket below whole for what the server counts under a name. A new one takes over
// what whole knows of the limits of that name. It requires that g.mu is held.
func (g *Group) namedBucket(whole *Limiter, name string) *Limiter {
	return g.buckets.FindName(whole.node, name, func(n *bucketNode) {
		n.Saved = whole.table.Key(n.Key)
		g.enroll(n, whole.part(n.Key))
		whole.splitOff(n.Key, n.Value)
	}).Value
}

// part returns a new Limiter for what the server counts under a name.
func (l *Limiter) part(name string) *Limiter {
	return &Limiter{
		Name: l.Name + " (" + visible.Text(name, 64) + ")", Label: l.Label, Value: l.Value, Parent: l,
		MaxWait: l.MaxWait, MaxStandstill: l.MaxStandstill, MaxQueue: l.MaxQueue, Aging: l.Aging, Reserve: l.Reserve, Spend: l.Spend,
		SlowStart: l.SlowStart, IdleAfter: l.IdleAfter, Rand: l.Rand, MaxHold: l.MaxHold,
	}
}

// wouldBe is kindBucket for a claim that is not made: if there is no bucket for its counter, it returns one of
// which neither the Group nor the Router hears.
func (g *Group) wouldBe(l *Limiter, of adaptive.Kind) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case l.forgotten.Load():
		return l
	case !l.table.HasCounters():
		return g.namedBucket(l, l.table.Of(of.Verb, of.Path))
	}
	name := l.table.Look(of.Verb, of.Path)
	if n := l.node.Name(name); n != nil {
		return n.Value
	}
	to := l.part(name)
	l.splitOff(name, to)
	return to
}

// regroup makes buckets below whole for names or counters. Each claim that waits in whole, or in one of these,
// joins the line of the one where its Verb and Path belong. Those of counters that are gone, since they are
// others, are forgotten.
func (g *Group) regroup(whole *Limiter, names, gone []string) {
	whole.lock()
	whole.freeze()
	whole.unlock()
	defer whole.thaw()
	regrouped := []*Limiter{whole}
	for _, name := range names {
		regrouped = append(regrouped, g.namedBucket(whole, name))
	}
	now := whole.lock()
	defer whole.unlock()
	if whole.isSplit = true; whole.table.HasCounters() {
		whole.account.sharers.Leave(&whole.server) // what it knows is of several counters
	}
	for _, l := range regrouped {
		if l != whole && slices.Contains(gone, l.node.Key) {
			g.buckets.Cut(l.node)
			l.forgotten.Store(true)
			l.account.sharers.Leave(&l.server)
		}
		l.change(now, l.dismiss)
	}
}

// splitOff moves what l knows of the limits that the server states for a name (Statement.Counter) to the bucket
// below l for that name. Requests in flight in l are taken to draw on these limits too. The bucket of a counter
// begins with what was stated of it last.
func (l *Limiter) splitOff(bucket string, to *Limiter) {
	now := to.lock() // locks the tree of both, and initializes to
	defer to.unlock()
	l.server.Add(l.gate.Take())
	l.change(now, func() {
		if r := l.table.Counters(); r != nil {
			to.contradicted.Store(true)
			st := r.Stated(bucket)
			if to.node == nil { // of wouldBe
				to.server.WouldCountApart(now, &l.server, r.Name(), st)
				return
			}
			to.server.CountApart(now, &l.server, r.Name(), st)
			if st.Heard != 0 && st.Remaining <= 0 && (l.hold.Until().Sub(st.Heard)-st.Reset).Abs() <= time.Second { // what all were held for is a limit of this one
				l.hold.End(now)
			}
		} else if l.server.SplitOff(bucket, &to.server) {
			to.gate.Touch(now) // it is not new: no slow start
		}
		to.account.sharers.Join(&to.server, to)
	})
}

// loss is what forgetting l and starting anew would lose: InUse if somebody waits, something is in flight, or
// claims that wait find their bucket again, so that l cannot be forgotten; Nothing if it is idle, Little if
// what was charged has not come back, Much if it is held, or a limit of the server is used up. It requires that
// mu is held.
func (l *Limiter) loss(now monotime.Time) tree.Loss {
	switch {
	case l.line.waiting > 0 || l.awaitEnd > 0 || l.server.InFlight() > 0 || l.tree.frozen > 0:
		return tree.InUse
	case l.hold.On(now) || !l.server.Idle(now):
		return tree.Much
	case l.link != nil && !l.link.lease.Idle(now), !l.stack.Idle(now):
		return tree.Little
	}
	return tree.Nothing
}

// restore passes to l what Load read for it. It requires that g.mu is held.
func (g *Group) restore(l *Limiter) {
	if len(g.loaded) > 0 {
		luck := check.Draw(l.Rand)
		if m, ok := g.loaded.Take(l.node.Digest()); ok {
			l.remember(m, luck, (*adaptive.Server).Remember)
			g.reunite(l, m.Together)
		}
	}
}

// reunite has claims be counted together as an earlier run has found. It requires that g.mu is held.
func (g *Group) reunite(l *Limiter, text json.RawMessage) {
	if !l.node.Named && !l.isSplit && len(text) > 0 {
		split, contradicted := l.table.Load(text, g.clock.Now(), &g.clock)
		if l.contradicted.Store(contradicted); split {
			g.regroup(l, nil, nil)
		}
	}
}

// remember makes l know what m says, unless l has learned something itself, and charges to each quota what it
// says, unless something was charged to that. What is out of date is left out.
func (l *Limiter) remember(m adaptive.Memory, luck float64, take func(*adaptive.Server, monotime.Time, *adaptive.Memory, *monotime.Clock) bool) {
	l.alter(func(now monotime.Time) {
		l.luck = luck
		if l.stack.Charge(now, m.Used, &l.clock) {
			l.later()
		}
		fresh := l.server.Fresh()
		if take(&l.server, now, &m, &l.clock) {
			l.gate.Touch(now) // it is not new: no slow start
		}
		if !fresh {
			return
		}
		l.holdUntil(min(l.clock.At(m.Held), now.Add(check.MaxHold(l.MaxHold))), l.clock.At(m.Held), now)
	})
}

// saveTo adds what l has learned, if that is anything. It requires that g.mu is held.
func (l *Limiter) saveTo(buckets map[string]adaptive.Memory) {
	m, n := l.memory(), l.node
	m.Together = l.table.Save(l.clock.Now(), &l.clock, n.DigestOf)
	if m.Any() {
		buckets[n.Digest()] = m
	}
}

// memory returns what l has learned, and what was charged to its quotas. What is in flight counts as used.
func (l *Limiter) memory() (m adaptive.Memory) {
	now := l.lock()
	defer l.unlock()
	m = l.server.Memory(now, &l.clock)
	m.Used = l.stack.Used(now, &l.clock)
	if l.hold.On(now) {
		m.Held = l.clock.Date(l.hold.Until())
	}
	return m
}

// Save writes what was learned from servers' answers, as JSON, for Load in the next run of the program, which
// would else have to find out again that a limit is used up, how it comes back, and which requests are counted
// together. Paths are written as digests, since they may contain credentials: one that is short, or one of a
// list, is found by trying.
//
// What was charged to Quotas whose span is over a minute is saved, too, up to 32 for each bucket. In windows of
// the clock the next run has exactly what is left; of other quotas no more, and of a bucket that warms up it
// knows nothing. A run whose Quotas are others charges it to those of the same unit, of the same kind first, as
// SetQuotas does. What is in a Store is there, and not saved.
//
// What remains of a limit is saved until its reset, a hold until its end, rates and prices for a day, what was
// charged for two spans of its quota, and all else for 31 days. Save writes no more than 100,000 buckets and 64
// MB, and leaves out the oldest.
func (g *Group) Save(w io.Writer) error {
	g.mu.Lock()
	learned, all := g.loaded.Clone(), g.buckets.Nodes()
	g.mu.Unlock()
	for _, n := range all { // requests wait for one bucket at a time
		g.mu.Lock()
		n.Value.saveTo(learned)
		g.mu.Unlock()
	}
	return shelf.Write(w, time.Now(), learned)
}

// Load reads what Save wrote. Buckets that have learned something already ignore it, and so do quotas that were
// charged something, so Load is best called before the first request. What is out of date is left out. What an
// earlier Load has read, and no bucket has asked for yet, stays. If there is an error, nothing changes. If a
// later version of the package wrote what is read, errors.Is finds errors.ErrUnsupported in the error: do not
// write over that.
func (g *Group) Load(r io.Reader) error {
	learned, err := shelf.Read(r)
	if err != nil {
		return fmt.Errorf("throttle: load: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loaded.Put(time.Now(), learned)
	for l := range g.buckets.All() {
		g.restore(l)
	}
	return nil
}
