// Package tree keeps things under paths of keys, such as the buckets of a Group, and says which of them to
// forget when there are many.
//
// In come paths, how a thing is made, when it was used, and whether it may be forgotten; out come the things
// and their order. The package knows nothing of buckets, and of time: instants are numbers.
package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Tree is things under paths. The zero Tree is empty.
type Tree[V any] struct {
	// A pass begins when Count is above SweepAt, which the one before sets, and above SweepFrom.
	SweepAt int

	top    map[string]*Node[V]
	newest *Node[V] // of all: from it, older leads to each, and to each before the one above it
	count  int

	next  *Node[V] // what SweepSome looks at next; nil if no pass is under way
	stuck bool     // the latest Sweep could not make room: nearly all were in use

	gathers  bool        // the pass looks for what goes first when there is no room
	gathered victims[V]  // what it has found so far
	going    []victim[V] // what goes when there is no room, the last one first: found by the pass before
	drains   bool        // they are going, until the room is drained
}

// Node is a place in a Tree.
type Node[V any] struct {
	Value  V
	Parent *Node[V]
	Key    string // last key of the path
	Named  bool   // it is a name below its Parent, which differs from a key of the same text
	Saved  string // Digest, if not that of the path
	depth  int    // how many are above it

	children, names map[string]*Node[V]
	usedAtSweep     int64 // when it was used last, as of the last Sweep
	worstBelow      Loss  // of the nodes below it that the pass has looked at
	latestBelow     int64 // when one of these was used last
	isNew           bool  // since the last Sweep, or about to be used
	older, newer    *Node[V]
}

// SweepFrom is how many nodes are kept without checking whether they are still of use.
const SweepFrom = 1024

// Count is how many nodes there are, at any depth.
func (t *Tree[V]) Count() int { return t.count }

// Find returns the node of a path, which has at least one key. It calls fill for each node that it makes, to
// set the Value.
func (t *Tree[V]) Find(path []string, fill func(*Node[V])) (n *Node[V]) {
	children := t.top
	for _, key := range path {
		next := children[key]
		if next == nil {
			next = t.add(n, key, false, fill)
		}
		n, children = next, next.children
	}
	return n
}

// FindName returns the node of a name below n, and makes it as Find does.
func (t *Tree[V]) FindName(n *Node[V], name string, fill func(*Node[V])) *Node[V] {
	if named := n.names[name]; named != nil {
		return named
	}
	return t.add(n, name, true, fill)
}

// Name returns the node of a name below n, nil if there is none.
func (n *Node[V]) Name(name string) *Node[V] { return n.names[name] }

func (t *Tree[V]) add(parent *Node[V], key string, named bool, fill func(*Node[V])) *Node[V] {
	n := &Node[V]{Parent: parent, Key: strings.Clone(key), Named: named, isNew: true}
	if parent != nil {
		n.depth = parent.depth + 1
	}
	fill(n)
	siblings := t.siblings(n)
	if *siblings == nil {
		*siblings = map[string]*Node[V]{}
	}
	(*siblings)[n.Key] = n
	if n.older = t.newest; n.older != nil {
		n.older.newer = n
	}
	t.newest = n
	t.count++
	return n
}

// siblings is where n is kept.
func (t *Tree[V]) siblings(n *Node[V]) *map[string]*Node[V] {
	switch {
	case n.Parent == nil:
		return &t.top
	case n.Named:
		return &n.Parent.names
	}
	return &n.Parent.children
}

// Cut takes out n and all below it.
func (t *Tree[V]) Cut(n *Node[V]) {
	t.leave(n)
	delete(*t.siblings(n), n.Key)
}

// leave takes n and all below it out of what is counted and looked at.
func (t *Tree[V]) leave(n *Node[V]) {
	for _, below := range n.names {
		t.leave(below)
	}
	for _, below := range n.children {
		t.leave(below)
	}
	t.count--
	if t.next == n {
		t.next = n.older
	}
	if n.older != nil {
		n.older.newer = n.newer
	}
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		t.newest = n.older
	}
	n.older, n.newer = nil, nil // a value that is still in use holds no others
}

// Path is the keys of n; the last is a name if n is Named.
func (n *Node[V]) Path() (path []string) {
	for ; n != nil; n = n.Parent {
		path = append(path, n.Key)
	}
	slices.Reverse(path)
	return path
}

// DigestOf is the Digest of the node of a name below n, whether there is one or not.
func (n *Node[V]) DigestOf(name string) string {
	if named := n.names[name]; named != nil {
		return named.Digest()
	}
	return (&Node[V]{Parent: n, Key: name, Named: true}).Digest()
}

// Digest stands for the path of n in what is saved, unless Saved does. The digests of two nodes differ,
// whatever is in their keys: %q writes a list of texts so that it can be read again.
func (n *Node[V]) Digest() string {
	if n.Saved != "" {
		return n.Saved
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v", n.Path(), n.Named))
	return hex.EncodeToString(sum[:16])
}

// All goes through the values of all nodes: each before those below it, names before keys, in the order of
// their texts. Nodes must not be added meanwhile.
func (t *Tree[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) { each(t.top, yield) }
}

// Nodes returns all nodes in no order that matters: that takes a small part of the time of All. Compare has the
// order.
func (t *Tree[V]) Nodes() []*Node[V] {
	all := make([]*Node[V], 0, t.count)
	for n := t.newest; n != nil; n = n.older {
		all = append(all, n)
	}
	return all
}

// Compare is the order of Tree.All. It looks only at what never changes.
func Compare[V any](a, b *Node[V]) int {
	longer := cmp.Compare(a.depth, b.depth)
	for a.depth > b.depth {
		a = a.Parent
	}
	for b.depth > a.depth {
		b = b.Parent
	}
	if a == b {
		return longer
	}
	for a.Parent != b.Parent {
		a, b = a.Parent, b.Parent
	}
	if a.Named != b.Named {
		if a.Named {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Key, b.Key)
}

// All goes through the values of n and of all nodes below it, in the order of Tree.All.
func (n *Node[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) { n.each(yield) }
}

func (n *Node[V]) each(yield func(V) bool) bool {
	return yield(n.Value) && each(n.names, yield) && each(n.children, yield)
}

func each[V any](nodes map[string]*Node[V], yield func(V) bool) bool {
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		if !nodes[key].each(yield) {
			return false
		}
	}
	return true
}

// Loss is what is lost when a value is forgotten. A greater one is worse.
type Loss int

// The losses. Values that are in use are never forgotten.
const (
	Nothing Loss = iota
	Little
	Much
	InUse
)

// A Keeper says what Sweep must know of values.
type Keeper[V any] interface {
	// Used is when a value was used last; zero if never.
	Used(V) int64

	// Loss is what is lost if the value is forgotten now.
	Loss(V) Loss

	// Forget forgets a value if its Loss is still no greater than that, and less than InUse. It reports whether
	// it did.
	Forget(V, Loss) bool
}

// Full reports whether SweepSome is due, if the tree has room for so many nodes: a pass is under way, or
// begins.
func (t *Tree[V]) Full(room int) bool {
	return t.next != nil || t.count > max(t.SweepAt, min(SweepFrom, room))
}

// drained is how many nodes are left when room was made: then an eighth of it is free. A pass that ends before
// there is no room begins when there are more.
func drained(room int) int { return room - room/8 }

// Sweep forgets the nodes that were not used since the last Sweep, if nothing is lost by that; but never one
// with nodes below it, nor used or those above it. If more remain than there is room for, an eighth of the room
// is made free: those go first by which the least is lost, and of these the ones that were used the longest
// ago. If so many are in use that this does not suffice, a sixteenth more are allowed.
func (t *Tree[V]) Sweep(used *Node[V], room int, k Keeper[V]) {
	t.next, t.gathers, t.going, t.drains = t.newest, false, nil, false
	t.look(used, t.count, room, k)
	if t.count > room {
		t.makeRoom(used, drained(room), k)
	}
	t.stuck = t.count > room
	t.endPass(room)
}

// The parts of SweepSome. Until a pass has looked at all, the tree grows by a sixteenth if each call adds one
// node, and by an eighth if each adds two.
const (
	fewLooks = 16
	fewGo    = 8
)

// SweepSome is a part of Sweep, for callers who must not wait for the whole: each call looks at a few nodes. A
// pass, which ends when all were looked at, says when the next one begins: at not quite twice as many nodes, so
// that each costs a constant number of looks. A pass that begins when the room is nearly used up says which
// nodes go: when there is no room any more, each call forgets a few of them. The whole is done at once where no
// pass has ended in time, since the room is small, or the nodes that it named were all used since; but not
// while nearly all are in use.
func (t *Tree[V]) SweepSome(used *Node[V], room int, k Keeper[V]) {
	if t.count > room && len(t.going) == 0 && !t.stuck {
		t.Sweep(used, room, k)
		return
	}
	if t.next == nil {
		t.next, t.gathers, t.gathered = t.newest, t.count > room-room/4, nil
	}
	if t.look(used, fewLooks, room, k); t.next == nil {
		t.endPass(room)
	}
	if t.count > room && len(t.going) > 0 {
		t.drains, t.SweepAt = true, drained(room)
	}
	if t.drains {
		t.forgetSome(used, drained(room), k)
	}
}

// endPass says what goes when there is no room, and when the next pass begins.
func (t *Tree[V]) endPass(room int) {
	t.stuck, t.going, t.gathered = t.stuck && t.count > room, t.gathered.inOrder(), nil
	switch more := t.count + t.count/16; {
	case len(t.going) > 0:
		t.SweepAt = room
	case t.stuck:
		t.SweepAt = more
	default: // where nearly all that there is room for are in use, not at once
		t.SweepAt = min(2*t.count-t.count/4, max(drained(room), min(more, room)))
	}
}

// forgetSome forgets a few of those that go, but for what was used since or is about to be, until so many are
// left.
func (t *Tree[V]) forgetSome(used *Node[V], left int, k Keeper[V]) {
	used.setNew(true)
	for range fewGo {
		last := len(t.going) - 1
		if last < 0 || t.count <= left {
			t.going, t.drains = nil, false
			return
		}
		v := t.going[last]
		t.going = t.going[:last]
		if n := v.n; t.has(n) && n.isLeaf() && !n.isNew && k.Used(n.Value) == v.usedItself && k.Forget(n.Value, v.loss) {
			t.Cut(n)
		}
	}
}

// has reports whether n was not taken out.
func (t *Tree[V]) has(n *Node[V]) bool { return n == t.newest || n.newer != nil }

// look looks at so many nodes, and forgets those of them that nobody has used since the pass before, if nothing
// is lost by that.
func (t *Tree[V]) look(used *Node[V], most, room int, k Keeper[V]) {
	used.setNew(true)
	for ; most > 0 && t.next != nil; most-- {
		n := t.next
		t.next = n.older
		last := k.Used(n.Value)
		if n.isLeaf() && !n.isNew && n.usedAtSweep == last && k.Forget(n.Value, Nothing) {
			t.Cut(n)
			continue
		}
		if t.gathers {
			t.gather(n, last, max(room/8, t.count-drained(room)), k)
		} else {
			n.worstBelow, n.latestBelow = Nothing, 0 // of a pass that was given up
		}
		n.usedAtSweep, n.isNew = last, false
	}
}

// gather notes n, which was used last at that instant, if it is among so many that go first. It counts as what
// is the worst and the latest among it and all below it, which were gathered before, and comes after these, so
// that it may be forgotten with them.
func (t *Tree[V]) gather(n *Node[V], last int64, most int, k Keeper[V]) {
	v := victim[V]{n: n, usedItself: last, used: max(last, n.latestBelow), loss: n.worstBelow, depth: n.depth}
	if v.loss < InUse {
		v.loss = max(v.loss, k.Loss(n.Value))
	}
	n.worstBelow, n.latestBelow = Nothing, 0
	if p := n.Parent; p != nil {
		p.worstBelow, p.latestBelow = max(p.worstBelow, v.loss), max(p.latestBelow, v.used)
	}
	if v.loss < InUse && (!n.isNew || t.stuck) {
		t.gathered.add(&v, most)
	}
}

func (n *Node[V]) isLeaf() bool { return len(n.children) == 0 && len(n.names) == 0 }

// makeRoom forgets nodes until so many are left, but for used and those above it.
func (t *Tree[V]) makeRoom(used *Node[V], left int, k Keeper[V]) {
	t.gathered = nil
	used.setNew(true)
	for n := t.newest; n != nil; n = n.older {
		t.gather(n, n.usedAtSweep, t.count, k)
	}
	for t.going = t.gathered.inOrder(); t.going != nil; {
		t.forgetSome(used, left, k)
	}
	t.gathered = nil
	used.setNew(false)
}

// setNew sets isNew of n and of those above it.
func (n *Node[V]) setNew(isNew bool) {
	for ; n != nil; n = n.Parent {
		n.isNew = isNew
	}
}
