package throttle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A Group is many buckets, each under a path of keys: a host, say, and below it what is counted on its
// own there. A bucket is made when it is first asked for. When there are many buckets, those that idle are
// forgotten, if nothing is lost by that.
//
//	g := throttle.Group{New: func(path []string) *throttle.Limiter {
//		return &throttle.Limiter{Quotas: quotas[path[0]]}
//	}}
//	err := g.Limiter("api.example.com").Wait(ctx, 1)
//
// The Parent of a bucket is the bucket whose path lacks the last key. Where a server counts some requests
// of a bucket on their own, and says so (Answer.Bucket), these requests get a bucket of their own below it;
// their Verb and Path tell which claims belong there.
//
// The zero Group has buckets without quotas, each of which learns what its server allows. A Group must not be
// copied. It is safe for concurrent use, has no goroutine, and needs no Close unless buckets have a Store.
type Group struct {
	// New returns a new Limiter for the bucket of a path; the Group sets its Parent. It is called when a
	// bucket is needed, and by Update, with the Group locked: it must not call the Group. If nil, Limiters
	// have the last key of their path for a Name, and SlowStart. For buckets that there are, Update looks
	// only at the Quotas and the Store of what New returns.
	New func(path []string) *Limiter

	generation atomic.Uint64  // counts updates
	clock      monotime.Clock // of all trees; started before the first bucket is made

	mu       sync.Mutex // protects the fields below, and each Limiter.entry; locked before any tree
	limiters map[string]*Limiter
	count    int                        // how many Limiters there are, at any depth
	sweepAt  int                        // sweep when count is above it, and above sweepFrom
	loaded   map[string]adaptive.Memory // by digest: what Load read for buckets that are not made yet
}

// entry is what a Group knows of a Limiter.
type entry struct {
	group            *Group // nil if the Limiter is in no Group
	key              string // last key of the path
	named            bool   // the bucket is for what a server counts on its own, and key is the server's name for that
	children         map[string]*Limiter
	names            map[string]*Limiter // children that are named, by name
	classes          *adaptive.Names     // which claims belong to which name; nil if the server names nothing
	lastGrantAtSweep int64               // lastGrant at the last sweep; -1 if the bucket is newer, or in use
}

// sweepFrom is how many buckets are kept without checking whether they are still of use.
const sweepFrom = 1024

// Limiter returns the bucket of a path. It panics if the path has no key. The Limiter stays good when the
// Group forgets it: its methods then act on the bucket that is under the path now. See Limiter.Forgotten.
func (g *Group) Limiter(path ...string) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(path)
}

// current returns the bucket that is under the path of l now.
func (g *Group) current(l *Limiter) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.entry.named {
		return g.namedBucket(g.find(l.Parent.path()), l.entry.key)
	}
	return g.find(l.path())
}

// Forgotten reports whether the Group of l has forgotten it. Callers that keep a Limiter to save the look-up
// should then ask the Group again.
func (l *Limiter) Forgotten() bool { return l.forgotten.Load() }

// find returns the bucket of a path. It requires that g.mu is held.
func (g *Group) find(path []string) (l *Limiter) {
	if len(path) == 0 {
		panic("throttle: a path without a key")
	}
	children := g.limiters
	for depth, key := range path {
		next := children[key]
		if next == nil {
			next = g.add(l, path[:depth+1])
		}
		l, children = next, next.entry.children
	}
	if g.count > max(g.sweepAt, sweepFrom) {
		for b := l; b != nil; b = b.Parent {
			b.entry.lastGrantAtSweep = -1 // b is about to be used
		}
		g.sweep()
	}
	return l
}

// add adds the bucket of a path below parent. It requires that g.mu is held.
func (g *Group) add(parent *Limiter, path []string) *Limiter {
	keys := make([]string, len(path)) // copied, since they are kept
	for i, key := range path {
		keys[i] = strings.Clone(key)
	}
	key := keys[len(keys)-1]
	l := g.newLimiter(keys)
	l.entry.key = key
	g.enroll(parent, l)
	switch {
	case parent == nil && g.limiters == nil:
		g.limiters = map[string]*Limiter{l.entry.key: l}
	case parent == nil:
		g.limiters[l.entry.key] = l
	case parent.entry.children == nil:
		parent.entry.children = map[string]*Limiter{l.entry.key: l}
	default:
		parent.entry.children[l.entry.key] = l
	}
	return l
}

// newLimiter returns a new Limiter for a path.
func (g *Group) newLimiter(path []string) *Limiter {
	if g.New != nil {
		return g.New(path)
	}
	return &Limiter{Name: path[len(path)-1], SlowStart: true}
}

// enroll makes l a bucket of the Group. It requires that g.mu is held.
func (g *Group) enroll(parent, l *Limiter) {
	l.Parent, l.entry.group, l.entry.lastGrantAtSweep = parent, g, -1
	g.count++
	if !g.clock.Started() {
		g.clock.Start()
	}
	g.restore(l)
}

// path returns the keys of l; the last is the server's name if the bucket is named.
func (l *Limiter) path() (path []string) {
	for b := l; b != nil; b = b.Parent {
		path = append(path, b.entry.key)
	}
	slices.Reverse(path)
	return path
}

// descend yields the buckets below l, and reports whether all were yielded.
func (l *Limiter) descend(yield func(*Limiter) bool) bool {
	for _, children := range [...]map[string]*Limiter{l.entry.children, l.entry.names} {
		for _, c := range children {
			if !yield(c) || !c.descend(yield) {
				return false
			}
		}
	}
	return true
}

// all yields all buckets. It requires that g.mu is held.
func (g *Group) all(yield func(*Limiter) bool) {
	for _, l := range g.limiters {
		if !yield(l) || !l.descend(yield) {
			return
		}
	}
}

// sweep forgets the buckets that were not used since the last sweep, if nothing is lost by that: nobody
// waits, nothing is in flight, no hold or limit is in force. Then twice as many as remain are allowed, so
// that a look-up takes a constant number of steps on average. It requires that g.mu is held.
func (g *Group) sweep() {
	g.forgetUnused(g.limiters)
	g.sweepAt = 2 * g.count
}

// forgetUnused is sweep for some buckets and all below them.
func (g *Group) forgetUnused(limiters map[string]*Limiter) {
	for key, l := range limiters {
		e := &l.entry
		g.forgetUnused(e.children)
		g.forgetUnused(e.names)
		last := l.lastGrant.Load()
		if len(e.children) > 0 || len(e.names) > 0 || e.lastGrantAtSweep != last {
			e.lastGrantAtSweep = last
			continue
		}
		if l.retire() {
			delete(limiters, key)
			g.count--
		}
	}
}

// retire marks l as forgotten if nothing is lost by that, and reports whether it did. Those that still have l
// go on with the new bucket of its path.
func (l *Limiter) retire() bool {
	root := l.lock()
	defer l.unlock(root)
	storeIfChanged(&l.fastGrant, false)
	l.countFast() // nothing is granted without the lock any more
	if !l.forgettable(root.now()) {
		return false
	}
	l.forgotten.Store(true)
	l.leavePeers(root)
	if l.link != nil {
		go l.close() // takes a round trip; slots that cannot be given back expire soon
	}
	return true
}

// leavePeers ends the sharing of the server's limits with other buckets of the tree.
func (l *Limiter) leavePeers(root *Limiter) {
	l.server.Leave()
	delete(root.peers, l.server.ID())
}

// Update changes what New goes by, while no claim goes. First change is called; then each bucket gets the
// quotas that New now returns for its path, and keeps what was charged, as with SetQuotas. If change reports
// that claims belong under other paths now (moved), all claims that wait in Group.Acquire find their bucket
// again, and line up there in the order of their places; those that stay under one first key, before any goes.
// If a bucket has a Store now and had none before, its tree is made anew, with what was learned. Update returns
// the errors of all quotas that could not be set. Change must not call the Group.
func (g *Group) Update(change func() (moved bool)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.limiters {
		root := l.lock()
		l.freeze()
		l.unlock(root)
		defer l.thaw()
	}
	moved := change()
	g.generation.Add(1)
	type renewal struct{ old, new *Limiter }
	var renewals []renewal // of the buckets that are not named, Parents first
	g.all(func(l *Limiter) bool {
		if !l.entry.named {
			renewals = append(renewals, renewal{l, g.newLimiter(l.path())})
		}
		return true
	})
	for _, r := range renewals {
		if r.old.Store == nil && r.new.Store != nil {
			g.abandon(r.old.root())
		}
	}
	if moved {
		g.all(func(l *Limiter) bool { // who waits in l finds its bucket again
			root := l.lock()
			l.change(root.now(), func() { l.dismiss() })
			l.unlock(root)
			return true
		})
	}
	var errs []error
	for _, r := range renewals {
		if !r.old.forgotten.Load() {
			errs = append(errs, r.old.updateQuotas(r.new.Quotas))
		}
	}
	return errors.Join(errs...)
}

// abandon forgets the tree of root, whatever is in it. Claims that wait find their bucket again, in a new
// tree; requests under way end in the old one. It requires that g.mu is held.
func (g *Group) abandon(root *Limiter) {
	if root.forgotten.Load() {
		return
	}
	learned := map[string]adaptive.Memory{}
	root.saveTo(learned)
	root.descend(func(l *Limiter) bool { l.saveTo(learned); return true })
	g.load(learned)
	delete(g.limiters, root.entry.key)
	successor := g.find([]string{root.entry.key})
	retire := func(l *Limiter) bool {
		l.lock()
		defer l.unlock(root)
		l.forgotten.Store(true)
		l.change(root.now(), l.dismiss)
		if l.link != nil {
			go l.close()
		}
		g.count--
		return true
	}
	retire(root)
	root.descend(retire)
	root.lock()
	defer root.unlock(root)
	successor.lock() // only abandon locks two trees
	defer successor.unlock(successor)
	root.successor, successor.frozen, successor.claimCount = successor, root.frozen, root.claimCount
}

// snapshot returns all buckets.
func (g *Group) snapshot() (all []*Limiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all = make([]*Limiter, 0, g.count)
	g.all(func(l *Limiter) bool { all = append(all, l); return true })
	return all
}

// Close closes all buckets that have a Store, and returns their errors. Buckets that are made later are open.
func (g *Group) Close() error {
	var errs []error
	for _, l := range g.snapshot() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// digest stands for the path of l in what is saved. The digests of two buckets differ, whatever is in
// their keys: %q writes a list of texts so that it can be read again.
func (l *Limiter) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v", l.path(), l.entry.named))
	return hex.EncodeToString(sum[:16])
}

// load keeps what buckets have learned until they are made. It requires that g.mu is held.
func (g *Group) load(learned map[string]adaptive.Memory) {
	if g.loaded == nil {
		g.loaded = map[string]adaptive.Memory{}
	}
	maps.Copy(g.loaded, learned)
}

// restore passes to l what Load read for it. It requires that g.mu is held.
func (g *Group) restore(l *Limiter) {
	if len(g.loaded) == 0 {
		return
	}
	d := l.digest()
	if m, ok := g.loaded[d]; ok {
		delete(g.loaded, d)
		l.remember(m)
	}
}

// remember makes l know what m says, unless l has learned something itself. What is out of date is left out.
func (l *Limiter) remember(m adaptive.Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	if !l.server.Fresh() {
		return
	}
	l.change(now, func() {
		if l.server.Remember(now, &m, &l.clock, l.idleAfter()) {
			l.lastGrant.Store(int64(now)) // else l would start slowly, as a new bucket
		}
		l.holdUntil(min(l.clock.At(m.Held), now.Add(l.maxHold())), now)
	})
}

// classBucket returns the bucket below l for claims of a class; l itself if it is forgotten.
func (g *Group) classBucket(l *Limiter, c class) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.forgotten.Load() {
		return l
	}
	return g.namedBucket(l, l.entry.classes.Of(c.verb, c.path))
}

// namedBucket returns the bucket below whole for what the server counts under a name. A new one takes over
// what whole knows of the limits of that name. It requires that g.mu is held.
func (g *Group) namedBucket(whole *Limiter, name string) *Limiter {
	e := &whole.entry
	if l := e.names[name]; l != nil {
		return l
	}
	l := &Limiter{
		Name: whole.Name + " (" + name + ")", Value: whole.Value,
		MaxWait: whole.MaxWait, MaxQueue: whole.MaxQueue, Ageing: whole.Ageing, Reserve: whole.Reserve, Spend: whole.Spend,
		SlowStart: whole.SlowStart, IdleAfter: whole.IdleAfter, Rand: whole.Rand, MaxHold: whole.MaxHold,
	}
	l.entry.key, l.entry.named = name, true
	g.enroll(whole, l)
	if e.names == nil {
		e.names = map[string]*Limiter{}
	}
	e.names[name] = l
	whole.splitOff(name, l)
	return l
}

// splitOff moves what l knows of the limits that the server states for a name (Statement.Bucket) to the
// bucket below l for that name. Requests in flight in l are taken to draw on these limits too.
func (l *Limiter) splitOff(bucket string, to *Limiter) {
	root := to.lock() // locks the tree of both, and initializes to
	defer to.unlock(root)
	l.countFast()
	now := root.now()
	l.change(now, func() {
		if l.server.SplitOff(bucket, &to.server) {
			to.lastGrant.Store(int64(now)) // not new: no slow start
			to.joinPeers()
		}
	})
}

// joinPeers notes that l may share limits of the server with other buckets of the tree.
func (l *Limiter) joinPeers() {
	root := l.root()
	if l.server.Overlaps() && root.peers[l.server.ID()] == nil {
		if root.peers == nil {
			root.peers = map[adaptive.ID]*Limiter{}
		}
		root.peers[l.server.ID()] = l
	}
}

// forgettable reports whether forgetting l and starting anew would lose nothing: nobody waits, nothing is in
// flight, l is not held, and what was charged has come back. It requires that mu is held.
func (l *Limiter) forgettable(now monotime.Time) bool {
	if l.line.waiting > 0 || l.unclosed > 0 || l.hold > now || !l.server.Idle(now) {
		return false
	}
	for lim := range l.stack.Limits() {
		if !lim.Idle(now) {
			return false
		}
	}
	return l.link == nil || l.link.lease.Idle(now)
}

// saveTo adds what l has learned, if that is anything.
func (l *Limiter) saveTo(buckets map[string]adaptive.Memory) {
	if m := l.memory(); len(m.Windows) > 0 || m.Rate > 0 || !m.Held.IsZero() {
		buckets[l.digest()] = m
	}
}

// memory returns what l has learned. What is in flight counts as used.
func (l *Limiter) memory() (m adaptive.Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	m = l.server.Memory(now, &l.clock)
	if l.hold > now {
		m.Held = l.clock.Date(l.hold)
	}
	return m
}
