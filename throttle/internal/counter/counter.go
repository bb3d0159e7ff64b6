// Package counter finds out which requests of one bucket a server counts together, from the numbers of its
// answers alone.
//
// A server may count each route on its own and call all of these limits by one name, as X does and as
// express-rate-limit does where it is mounted per router. Taken for one counter, the tightest route would hold
// all. Answers then contradict each other, since one counter never does this (chain.go):
//
//   - Limits: it states another limit, and then the first one again.
//   - Back: its reset is before one that was stated earlier and has not come yet.
//   - Rises: more remains than can have come back since.
//
// In come answers: the kind of the request (verb and path), when it went and when its answer came, and what
// the answer states ([Router.Hear]). Out come the counter to which the kind belongs, and which claims belong
// to another one from now on ([Change]). Kinds are told apart by a leaf of a tree of paths, where what looks
// like an id is a star (leaf.go). A leaf moves to another counter after two contradictions, and two counters
// whose answers agree become one (move.go). What contradicts itself within a leaf is several instances of the
// server (instances.go).
//
// The package is a state machine: it has no lock and no clock, and knows nothing of buckets. What it remembers
// is bounded: 256 leaves and 64 counters. What is beyond belongs to the first counter.
package counter

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// These bound what a server can make a bucket remember.
const (
	maxLeaves   = 256
	maxCounters = 64
	maxChildren = 32 // of a place of the tree; beyond, all of them are one star
	maxDepth    = 8  // the verb and the first parts of a path
	maxPart     = 64 // bytes of a part
)

// Answer is what became of a request.
type Answer struct {
	// A request went after an answer had come if its Granted is more than the Heard of that answer. Zero:
	// nobody knows.
	Granted, Heard uint64

	Sent, Now monotime.Time // when the request went, and when its answer came
	N         int64         // cost of the request, in the unit of the limit
	Refused   bool
	Hold      time.Duration // for how long a refusal asks to wait, if HoldKnown says so
	HoldKnown bool

	Statements []quota.Statement
}

// Change is what an answer says about who belongs where.
type Change struct {
	Counter string        // the name of the counter that has counted the request
	Hold    time.Duration // how long all are to wait, after a refusal that is not by a limit of the counter
	Left    []string      // counters that leaves have left
	Gone    []string      // those of Left that are one with others now

	// Instances, if not nil, says that the counter is several instances of the server: these are the statements
	// of the answer, with what all of them state together.
	Instances []quota.Statement
}

// Router finds out to which counter requests belong, of a limit to which the server gives one name.
type Router struct {
	name     string // of the limit: see quota.Statement
	root     node
	leaves   []*leaf
	counters []*counter // the first one is that of all, as long as nothing else is known
	split    bool       // there was more than one
	ids      int        // numbers the counters
	unit     unit       // what is known of the step in which resets are stated
	calm     int        // answers since the latest sign of several counters

	// What an earlier run knew: which leaves belonged together, and the places that were full, by digests.
	before     map[string]*former
	fullBefore map[string]bool
	clock      *monotime.Clock // tells the instants of that; not what time it is
	since      monotime.Time   // when it was read
	change     *Change         // of the answer that is being heard
}

// counter is one counter of the server.
type counter struct {
	id        int
	name      string
	key       string // see Key
	limit     int64  // zero if it is not known
	chain     chain
	latest    said
	isNew     bool // nothing was heard of it yet: it has no limit and no latest answer
	byNumbers bool // it was told apart by Back or Rises
	pairs     []pair
	instances instances
}

// New returns a Router for a limit in requests, which has a name and no Counter in a quota.Statement.
func New(name string) *Router {
	return &Router{name: strings.Clone(name)} // the text of an answer is not kept
}

// Name returns the name of the limit.
func (r *Router) Name() string { return r.name }

// isAbout reports whether a statement is about the limit.
func (r *Router) isAbout(st *quota.Statement) bool {
	return st.Name == r.name && st.Counter == "" && (st.Unit == "" || st.Unit == quota.Requests)
}

// Split reports whether there is more than one counter, or was. There is none without a Router.
func (r *Router) Split() bool { return r != nil && r.split }

// Calm reports whether answers have not contradicted each other for so long that what is known may be
// forgotten.
func (r *Router) Calm() bool { return r != nil && !r.split && r.calm >= calmAnswers }

const calmAnswers = 1024

// First returns the name of the first counter.
func (r *Router) First() string {
	if len(r.counters) == 0 {
		return ""
	}
	return r.counters[0].name
}

// Has reports whether there is a counter of a name. Without a Router there is none.
func (r *Router) Has(name string) bool {
	return r != nil && slices.ContainsFunc(r.counters, func(c *counter) bool { return c.name == name })
}

// Of returns the name of the counter on which a request is expected to draw. A request of a kind that was not
// seen before gets a counter of its own until it is answered, unless all that resemble it have one in common.
func (r *Router) Of(verb, path string) string {
	if l := r.leafOf(verb, path); l != nil {
		return l.counter.name
	}
	return r.First()
}

// Look is Of, but remembers nothing. It returns no name for a request that would get a counter of its own.
func (r *Router) Look(verb, path string) string {
	l, keys := r.known(verb, path)
	switch {
	case l != nil:
		return l.counter.name
	case len(r.leaves) >= maxLeaves || len(r.counters) >= maxCounters:
		return r.First()
	}
	if c := r.alike(keys); c != nil {
		return c.name
	}
	return ""
}

// Hear takes in the answer to a request. (Were the verb and the path in the Answer, its Statements would
// escape.)
func (r *Router) Hear(verb, path string, a *Answer) (change Change) {
	r.change, r.calm = &change, r.calm+1
	if len(r.counters) == 0 && !r.split {
		r.add(false)
	}
	l := r.leafOf(verb, path)
	if l == nil {
		change.Counter = r.First()
		return change
	}
	i := slices.IndexFunc(a.Statements, func(st quota.Statement) bool { return r.isAbout(&st) })
	var st *quota.Statement
	if i >= 0 {
		st = &a.Statements[i]
	}
	switch {
	case a.Refused && l.limit != 0 && (st == nil || st.Limit > 0 && st.Limit != l.limit):
		change.Hold = r.holdOf(a, st)
	case st != nil:
		y := r.says(l, a, st)
		r.hear(l, a, &y)
		if c := l.counter; c.instances.found() && c.limit == y.limit {
			change.Instances = slices.Clone(a.Statements)
			change.Instances[i] = c.instances.statement(&y)
		}
	}
	change.Counter = l.counter.name
	return change
}

// holdOf returns for how long a refusal by a limit of all holds all. It is a limit that the leaf never states.
func (r *Router) holdOf(a *Answer, st *quota.Statement) time.Duration {
	switch {
	case !r.split: // one bucket learns all
	case a.HoldKnown:
		return max(a.Hold, 0)
	case st != nil && st.ResetKnown && st.Remaining <= 0:
		return max(st.Reset, 0)
	}
	return 0
}

// hear takes in an answer that states the limit.
func (r *Router) hear(l *leaf, a *Answer, y *said) {
	if l.counter.name == "" {
		l.counter.name = r.nameFor(l, l.counter)
	}
	if !r.hearLimit(l, y, a.Granted) {
		return
	}
	r.unit.note(&l.mark, y)
	l.used.note(y, a.Granted)
	if c := l.counter; c.isNew && r.split {
		r.settle(l, y)
	}
	c := l.counter
	c.isNew = false
	if y.replaces(&l.latest, a.Granted) {
		l.latest = *y
	}
	if y.limit != 0 && y.limit != c.limit {
		return // the leaf is odd
	}
	r.hearNumbers(l, y, a.Granted)
	if c = l.counter; y.replaces(&c.latest, a.Granted) {
		c.latest = *y
	}
}

// hearLimit takes in the limit of an answer. It reports whether there is more to learn from it: not if it was
// overtaken by one that states a newer limit.
func (r *Router) hearLimit(l *leaf, y *said, granted uint64) bool {
	c := l.counter
	switch {
	case y.limit == 0:
		return true
	case y.limit != l.limit:
		if granted <= l.limitHeard && l.limit != 0 {
			return false
		}
		if y.limit == l.limitBefore {
			l.flips++
		}
		l.limitBefore, l.limit, l.limitHeard = l.limit, y.limit, y.heard
	}
	switch {
	case c.limit == 0:
		c.limit = y.limit
	case y.limit != c.limit:
		r.calm = 0
		if r.isOf(c, l) || l.limitBefore == c.limit && r.oddBeside(l) {
			r.setLimit(c, y)
		}
	default:
		for _, o := range r.leaves {
			if o.counter == c && o != l && o.isOdd() && granted > o.limitHeard && o.flips < maxFlips {
				r.move(o, false)
			}
		}
	}
	return true
}

// maxFlips is how often a leaf may state a limit that it has stated before, and another one in between. Of
// several limits that hold for a request, some servers state the one that is nearest to its end.
const maxFlips = 2

// isOdd reports whether a leaf states another limit than its counter.
func (l *leaf) isOdd() bool { return l.limit != 0 && l.limit != l.counter.limit }

// isOf reports whether l is the only leaf of a counter.
func (r *Router) isOf(c *counter, l *leaf) bool {
	for _, o := range r.leaves {
		if o.counter == c && o != l {
			return false
		}
	}
	return true
}

// oddBeside reports whether another leaf of the same counter states the same limit as l.
func (r *Router) oddBeside(l *leaf) bool {
	for _, o := range r.leaves {
		if o != l && o.counter == l.counter && o.limit == l.limit {
			return true
		}
	}
	return false
}

// setLimit notes that the limit of a counter has changed, for all that it counts. Counters that only their
// limits told apart are one again.
func (r *Router) setLimit(c *counter, y *said) {
	for _, l := range r.leaves {
		if l.counter == c {
			l.limit, l.limitBefore, l.limitHeard = y.limit, c.limit, y.heard
		}
	}
	c.limit, c.latest = y.limit, *y
	for i := len(r.counters) - 1; i >= 0; i-- {
		if d := r.counters[i]; d != c && d.limit == c.limit && !c.byNumbers && !y.contradicts(&d.latest) {
			r.join(c, d)
		}
	}
}

// hearNumbers takes in what remains and the reset, by an answer with the limit of its counter.
func (r *Router) hearNumbers(l *leaf, y *said, granted uint64) {
	c := l.counter
	own, _ := l.chain.compare(y, granted)
	all, ref := c.chain.compare(y, granted)
	if all.is(back, rises) {
		r.calm = 0
	}
	if !r.unit.isKnown(y) || !r.unit.isKnown(&ref) {
		return
	}
	if own != nothing {
		l.compared++
		if own != fits {
			l.contradicted++
			r.reunite(l)
			c = l.counter
			c.instances.watching = c.instances.watching || own == back
		}
	}
	c.instances.hear(y, granted)
	switch {
	case ref.leaf == l || ref.leaf == nil || all == nothing:
	case all == fits:
		l.points = min(l.points+agreement, maxPoints)
	case 8*l.contradicted > l.compared || l.against == ref.heard:
	default:
		l.points, l.against = l.points+contradiction, ref.heard
		if l.points <= enough {
			r.move(l, true)
		}
	}
	r.compare(l.counter, y, granted)
}

// The points of a leaf: for belonging to its counter. Each answer with which a leaf is compared counts against
// it once, so that the restart of a server, which contradicts all that was stated before it, moves nothing.
const (
	agreement     = 1
	contradiction = -2
	maxPoints     = 3
	enough        = -3
)

// add makes a counter.
func (r *Router) add(byNumbers bool) *counter {
	c := &counter{id: r.ids, isNew: true, byNumbers: byNumbers}
	r.ids++
	r.counters = append(r.counters, c)
	return c
}

// nameFor returns a name for a counter: its first leaf, and a number if there is another one of that name.
func (r *Router) nameFor(l *leaf, of *counter) string {
	text := l.at.text()
	name := text
	for n := 2; ; n++ {
		taken := false
		for _, c := range r.counters {
			taken = taken || c != of && c.name == name
		}
		if !taken {
			return name
		}
		name = text + " " + strconv.Itoa(n)
	}
}

// says returns what an answer says, in the form in which it is kept.
func (r *Router) says(l *leaf, a *Answer, st *quota.Statement) said {
	y := said{
		leaf: l, heard: a.Heard, sent: a.Sent, now: a.Now, n: max(a.N, 1), refused: a.Refused,
		limit: max(st.Limit, 0), remaining: max(st.Remaining, 0),
		statement: quota.Statement{ // with no text of the answer, which is not kept
			Name: r.name, Limit: st.Limit, Remaining: st.Remaining, Reset: st.Reset, ResetKnown: st.ResetKnown, Resolution: st.Resolution,
			Absolute: st.Absolute, Skew: st.Skew, Window: st.Window,
		},
	}
	if !st.ResetKnown {
		return y
	}
	in := min(max(st.Reset, 0), monotime.Longest)
	y.step = min(max(st.Resolution, 0), monotime.Longest)
	y.early, y.late = a.Sent.Add(in-y.step), a.Now.Add(in+y.step)
	if st.Absolute { // beside a Date in whole seconds, whatever the step of the reset
		y.early, y.late = y.early.Add(-time.Second), y.late.Add(time.Second)
	} else {
		y.inMillis = y.step == time.Millisecond
		y.guessed = y.step == time.Second && (st.Window <= 0 || in > st.Window+y.step)
	}
	return y
}
