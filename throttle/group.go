package throttle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A Group is many buckets, each under a path of keys: a host, say, and below it what is counted
// by itself there. A bucket is made when it is asked for first. It is forgotten when it idles,
// so that nothing is lost, and there are many others.
//
//	g := throttle.Group{New: func(path []string) *throttle.Limiter {
//		return &throttle.Limiter{Quotas: quotas[path[0]]}
//	}}
//	err := g.Limiter("api.example.com").Wait(ctx, 1)
//
// The Parent of a bucket is that under its path without the last key. Where a server counts some
// requests of a bucket on their own, and says so (Answer.Bucket), these get a bucket of their own
// below it: which claims belong there is known from their Class.
//
// The zero Group has buckets without quotas, each of which learns what its server allows. A Group
// must not be copied. It is safe for concurrent use, has no goroutine and needs no Close.
type Group struct {
	// New returns a new Limiter for the bucket of a path; the Group sets its Parent. It is called
	// when the bucket is needed, and by Update, while the Group is locked: it must not call
	// the Group. If nil, Limiters have the last key of their path for a Name, and start slowly.
	New func(path []string) *Limiter

	generation atomic.Uint64 // counts updates

	clock monotime.Clock // of all trees; started before there is a bucket

	mu       sync.Mutex // protects all below, here and in the Limiters; it is locked before any tree
	limiters map[string]*Limiter
	count    int                        // of the Limiters, with those below others
	sweepAt  int                        // how many there may be before idle ones are forgotten
	loaded   map[string]adaptive.Memory // what was learned by buckets that there are not yet
}

// entry is what a Group knows of a Limiter.
type entry struct {
	group    *Group // nil if the Limiter is of none
	key      string // the last of its path
	named    bool   // it is for what a server counts on its own; key is the name
	children map[string]*Limiter
	names    map[string]*Limiter // the children that are named
	classes  *adaptive.Names     // which requests belong to which of these; nil if the server names nothing
	seen     int64               // when it had granted last, when the Group looked through its buckets last
}

// clock returns that of the Group, none if the Limiter is of none.
func (e *entry) clock() (c monotime.Clock) {
	if e.group != nil {
		c = e.group.clock
	}
	return c
}

// fewLimiters is how many buckets are kept without looking whether they are still of use. Above
// it, those that idle and have not been used for a while are forgotten whenever their
// number has doubled.
const fewLimiters = 1024

// Limiter returns the bucket of a path, of one key at least. It stays good when the bucket is
// forgotten: calls of its methods are then for the bucket that is under the path now. See
// Limiter.Forgotten.
func (g *Group) Limiter(path ...string) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(path)
}

// Forgotten reports whether the Group of l has forgotten it, so that whoever keeps it for speed should ask
// the Group anew.
func (l *Limiter) Forgotten() bool { return l.gone.Load() }

// find returns the bucket of a path. It requires that mu is held.
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
	if g.count > max(g.sweepAt, fewLimiters) {
		for b := l; b != nil; b = b.Parent {
			b.entry.seen = -1 // it is about to be used
		}
		g.sweep()
	}
	return l
}

// add adds the bucket of a path below another.
func (g *Group) add(parent *Limiter, path []string) *Limiter {
	keys := make([]string, len(path)) // of one's own, since they are kept
	for i, key := range path {
		keys[i] = strings.Clone(key)
	}
	l := g.make(keys)
	l.entry.key = keys[len(keys)-1]
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

func (g *Group) make(path []string) *Limiter {
	if g.New != nil {
		return g.New(path)
	}
	return &Limiter{Name: path[len(path)-1], SlowStart: true}
}

// enroll makes l a bucket of the Group.
func (g *Group) enroll(parent, l *Limiter) {
	l.Parent, l.entry.group, l.entry.seen = parent, g, -1
	g.count++
	if !g.clock.Started() {
		g.clock.Start()
	}
	g.restore(l)
}

// path returns the keys of l, and the name of what the server counts there last, if it is that.
func (l *Limiter) path() (path []string) {
	for b := l; b != nil; b = b.Parent {
		path = append(path, b.entry.key)
	}
	slices.Reverse(path)
	return path
}

// descend goes through the buckets below l.
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

// all goes through all buckets. It requires that mu is held.
func (g *Group) all(yield func(*Limiter) bool) {
	for _, l := range g.limiters {
		if !yield(l) || !l.descend(yield) {
			return
		}
	}
}

// sweep forgets the buckets that were not used since the last sweep and that forgetting
// loses nothing of: nobody waits, nothing is in flight, no hold or limit is in force. Twice as many
// as remain are then allowed, so that a look-up costs a constant number of steps on average.
func (g *Group) sweep() {
	g.forget(g.limiters)
	g.sweepAt = 2 * g.count
}

// forget forgets those of some buckets, and of those below them, of which that loses nothing.
func (g *Group) forget(limiters map[string]*Limiter) {
	for key, l := range limiters {
		m := &l.entry
		g.forget(m.children)
		g.forget(m.names)
		last := l.last.Load()
		if len(m.children) > 0 || len(m.names) > 0 || m.seen != last {
			m.seen = last
			continue
		}
		if l.retire() {
			delete(limiters, key)
			g.count--
		}
	}
}

// retire reports whether forgetting l loses nothing, and ends it then: whoever has it goes on
// with another one of its path.
func (l *Limiter) retire() bool {
	root := l.lock()
	defer l.unlock(root)
	set(&l.fastGrant, false)
	l.fold() // nothing is granted any more without the lock
	if !l.idle(root.now()) {
		return false
	}
	l.gone.Store(true)
	l.leavePeers(root)
	if l.link != nil {
		go l.close() // it takes a round trip; what it cannot give back is lost for a moment
	}
	return true
}

// leavePeers ends what l has in common with others of the tree.
func (l *Limiter) leavePeers(root *Limiter) {
	l.server.Leave()
	delete(root.peers, l.server.ID())
}

// Update changes what New goes by while nobody goes. All buckets get the quotas that New returns for
// them then; what was charged is kept as by SetQuotas. If change reports that claims belong under
// other paths now, all that wait in Acquire look for their bucket again, and line up there in the
// order of their places before anybody goes. If a bucket has a Store now and had none before, its tree
// is made anew. Update returns what keeps quotas from being set, of all buckets.
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
	if moved {
		g.all(func(l *Limiter) bool { l.move(); return true })
	}
	var errs []error
	renewed := map[*Limiter]*Limiter{} // the buckets that have quotas of their own, as New makes them now
	g.all(func(l *Limiter) bool {
		if !l.entry.named {
			renewed[l] = g.make(l.path())
		}
		return true
	})
	for l, n := range renewed {
		if l.Store == nil && n.Store != nil {
			g.abandon(l.root())
		}
	}
	for l, n := range renewed {
		if !l.gone.Load() {
			errs = append(errs, l.renew(n.Quotas))
		}
	}
	return errors.Join(errs...)
}

// move has all who wait in l look for their bucket again.
func (l *Limiter) move() {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.dismiss(l) })
}

// abandon forgets the tree of root, whatever is in it. Claims that wait look for their bucket again, in a new
// tree; what is under way ends in the old one.
func (g *Group) abandon(root *Limiter) {
	if root.gone.Load() {
		return
	}
	delete(g.limiters, root.entry.key)
	heir := g.find([]string{root.entry.key})
	retire := func(l *Limiter) bool {
		l.lock()
		defer l.unlock(root)
		heir.lock() // nobody else locks two trees
		defer heir.unlock(heir)
		now := root.now()
		l.gone.Store(true)
		l.change(now, func() { l.dismiss(heir) })
		if l.link != nil {
			go l.close()
		}
		g.count--
		return true
	}
	retire(root)
	root.descend(retire)
}

// snapshot returns the buckets that there are.
func (g *Group) snapshot() (all []*Limiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all = make([]*Limiter, 0, g.count)
	g.all(func(l *Limiter) bool { all = append(all, l); return true })
	return all
}

// Close closes all buckets that have a Store, and returns their errors. Without Stores there is nothing
// to close.
func (g *Group) Close() error {
	var errs []error
	for _, l := range g.snapshot() {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// digest is how l is called in what is saved. Those of two buckets differ, whatever is in their keys: %q
// writes a list of texts so that it can be read again.
func (l *Limiter) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v", l.path(), l.entry.named))
	return hex.EncodeToString(sum[:16])
}

// restore gives a bucket what it knew. It requires that mu is held.
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

// remember takes m for what was learned, unless l has learned something itself. What is no longer so
// by the clock is left out.
func (l *Limiter) remember(m adaptive.Memory) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	if !l.server.Fresh() {
		return
	}
	l.change(now, func() {
		if l.server.Remember(now, &m, &l.clock, l.idleAfter()) {
			l.last.Store(int64(now)) // else it would be new, and measured anew
		}
		l.holdUntil(min(l.clock.At(m.Held), now.Add(l.maxHold())), now)
	})
}

// narrow returns the bucket below l for claims of a class.
func (g *Group) narrow(l *Limiter, c Class) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.gone.Load() {
		return l
	}
	return g.named(l, l.entry.classes.Of(c.Verb, c.Path))
}

// named returns the bucket below all for what the server counts under a name, and gives it what
// is known of that if it is new.
func (g *Group) named(all *Limiter, name string) *Limiter {
	m := &all.entry
	if l := m.names[name]; l != nil {
		return l
	}
	l := &Limiter{
		Name: all.Name + " (" + name + ")", Value: all.Value,
		MaxWait: all.MaxWait, MaxQueue: all.MaxQueue, Ageing: all.Ageing, Reserve: all.Reserve, Spend: all.Spend,
		SlowStart: all.SlowStart, IdleAfter: all.IdleAfter, Rand: all.Rand, MaxHold: all.MaxHold,
	}
	l.entry.key, l.entry.named = name, true
	g.enroll(all, l)
	if m.names == nil {
		m.names = map[string]*Limiter{}
	}
	m.names[name] = l
	all.splitOff(name, l)
	return l
}

// splitOff moves what l knows of the limits of a Statement.Bucket to a bucket below it, for the
// requests that are found to draw on them, where others do not. What l has in flight is taken to
// draw on them, too.
func (l *Limiter) splitOff(bucket string, to *Limiter) {
	root := to.lock() // to is new, perhaps
	defer to.unlock(root)
	l.fold()
	now := root.now()
	l.change(now, func() {
		if l.server.SplitOff(bucket, &to.server) {
			to.last.Store(int64(now)) // it is not new
			to.meet()
		}
	})
}

// meet notes that the server of l may come to share windows with others of the tree.
func (l *Limiter) meet() {
	root := l.root()
	if l.server.Overlaps() && root.peers[l.server.ID()] == nil {
		if root.peers == nil {
			root.peers = map[adaptive.ID]*Limiter{}
		}
		root.peers[l.server.ID()] = l
	}
}

// idle reports whether forgetting the Limiter and starting anew would lose
// nothing: nobody waits, nothing is in flight, it is not held, and what was
// charged has come back. It requires that mu is held.
func (l *Limiter) idle(now monotime.Time) bool {
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
