package throttle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gopacer/pacer/throttle/internal/atonce"
	"github.com/gopacer/pacer/throttle/internal/bell"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A row of a line is one of three, whoever counts them.
var _ [priorities]limit.Demand = limit.Line{}.Sum

// checkTree checks what is always true of the tree of some buckets while nobody has its lock. Who breaks a rule
// hears which, at once, and need not find it out from who goes when. It finds the other buckets in which some
// wait, and returns how many wait in the tree.
func checkTree(t *testing.T, some ...*Limiter) (waiting int) {
	t.Helper()
	in := inspect(some, false)
	if in.wrong != nil {
		t.Fatal(in.wrong)
	}
	return in.waiting
}

// checkSettled is checkTree in a bubble in which nothing more happens at this instant, as after synctest.Wait.
// So those who may go have gone, and timers are set for the others.
func checkSettled(t *testing.T, some ...*Limiter) (waiting int) {
	t.Helper()
	in := inspect(some, true)
	if in.wrong != nil {
		t.Fatal(in.wrong)
	}
	return in.waiting
}

// checkGroup is checkTree of all buckets of a Group. It may be called by any goroutine.
func checkGroup(t *testing.T, g *Group) {
	t.Helper()
	for _, n := range g.snapshot() {
		if in := inspect([]*Limiter{n.Value}, false); in.wrong != nil {
			t.Error(in.wrong)
		}
	}
}

// inspection is one look at a tree, with its lock.
type inspection struct {
	root    *Limiter
	now     monotime.Time
	buckets []*Limiter             // each before those below it
	stands  map[*waiter][]*Limiter // in whose lines a waiter stands; in none if it stands aside
	asked   map[*Limiter][]*waiter // who asked a bucket itself, those included who stand aside
	waiting int
	wrong   error // the first rule that is broken
}

func inspect(some []*Limiter, settled bool) *inspection {
	root := some[0].root()
	root.asRoot.mu.Lock() // lock and unlock would set the gate, and so mend it
	defer root.asRoot.mu.Unlock()
	in := &inspection{root: root, stands: map[*waiter][]*Limiter{}, asked: map[*Limiter][]*waiter{}, waiting: root.line.waiting}
	if !root.initialized {
		return in
	}
	in.now = root.now()
	for _, l := range some {
		in.add(l)
	}
	in.addBelow(root)
	in.lines()
	for _, b := range in.buckets {
		in.places(b)
		in.counts(b)
		in.ways(b)
	}
	in.marks()
	if settled && in.wrong == nil {
		in.settled()
	}
	return in
}

// bad says which rule is broken.
func (in *inspection) bad(format string, args ...any) {
	if in.wrong == nil {
		in.wrong = fmt.Errorf(format, args...)
	}
}

// add adds a bucket, after those above it.
func (in *inspection) add(l *Limiter) {
	if l.Parent != nil {
		in.add(l.Parent)
	}
	if l.initialized && !slices.Contains(in.buckets, l) {
		in.buckets = append(in.buckets, l)
	}
}

// addBelow adds the buckets below l in which some wait, as far as l knows.
func (in *inspection) addBelow(l *Limiter) {
	for e := l.line.below.Front(); e != nil; e = e.Next() {
		in.add(e.Value.(*Limiter))
		in.addBelow(e.Value.(*Limiter))
	}
}

// lines looks who stands in which line, once in each, or aside.
func (in *inspection) lines() {
	note := func(w *waiter, lines ...*Limiter) {
		at, met := in.stands[w]
		if in.stands[w] = append(at, lines...); !met {
			in.asked[w.l] = append(in.asked[w.l], w)
			if w.To != &w.l.delays {
				in.bad("a waiter asked %q, and its claim was made to another bucket", w.l.Name)
			}
			if !slices.Contains(in.buckets, w.l) {
				in.bad("a waiter asked %q, in which nobody waits as far as those above it know", w.l.Name)
			}
		}
	}
	aside := map[*waiter]bool{}
	for _, b := range in.buckets {
		for w := range b.line.InOrder() {
			if slices.Contains(in.stands[w], b) {
				in.bad("%q: a waiter stands in line twice", b.Name)
			}
			note(w, b)
		}
		for w := range b.line.aside.After(func(func(*waiter) bool) {}) {
			if note(w); aside[w] || w.l != b {
				in.bad("%q: a waiter stands aside twice, or beside a line that is not that of the bucket that it asked", b.Name)
			}
			aside[w] = true
		}
	}
	for w, at := range in.stands {
		if aside[w] != w.isAside() || aside[w] == (len(at) > 0) {
			in.bad("%q: a waiter stands in %d lines, aside: %v, and has %d entries", w.l.Name, len(at), aside[w], len(w.entries))
		}
	}
}

// places checks where those stand who asked b: in its own line, and in the lines above as far as they are the
// first of their row in the line below. They wait, so nobody has told them how it ended.
func (in *inspection) places(b *Limiter) {
	for _, w := range in.asked[b] {
		if w.done.Rung() || w.err != nil || w.entries == nil {
			in.bad("%q: a waiter stands in line whose wait has ended: %v", b.Name, w.err)
		}
		if len(in.stands[w]) != len(w.entries) {
			in.bad("%q: a waiter stands in %d lines, and has %d entries", b.Name, len(in.stands[w]), len(w.entries))
		}
		if w.AtOnce && in.root.tree.frozen == 0 && (!w.asksStore || !w.awaitsCall() || !in.calls(w)) {
			in.bad("%q: a claim that must not wait waits, and no call is under way that may let it go, as it knows: %v", b.Name, w.asksStore && w.awaitsCall())
		}
		at, below := b, (*Limiter)(nil)
		for range w.entries {
			switch {
			case at == nil || !slices.Contains(in.stands[w], at):
				in.bad("%q: a waiter stands in the line of a bucket that is not on its path, or leaves one out", b.Name)
				return
			case below != nil && first(below, w.Row()) != w:
				in.bad("%q: a waiter competes above %q, in which it is not the first of its row", b.Name, below.Name)
			}
			at, below = at.Parent, at
		}
	}
}

// calls reports whether a call is under way of a Store on the path of w, or on that of one before it.
func (in *inspection) calls(w *waiter) bool {
	for b := w.l; b != nil; b = b.Parent {
		if b.link != nil && b.link.calling != nil {
			return true
		}
	}
	return slices.ContainsFunc(w.top().line.Before(w, w.top().line.Heads(new([priorities]*waiter))), func(o *waiter) bool { return o != w && o.top() != w.top() && in.calls(o) })
}

// first is the first of a row of the line of b; nil if nobody is in it.
func first(b *Limiter, row int) *waiter {
	for w := range b.line.Row(row) {
		return w
	}
	return nil
}

// counts checks what b counts of those who wait in it, and in the buckets below it.
func (in *inspection) counts(b *Limiter) {
	var want line
	for w := range in.stands {
		if w.l == b {
			a := &want.sure
			if w.unsure {
				a = &want.unsure
			}
			a.Add(w.Row(), w.flow.name, &w.Demand, 1)
			want.direct++
		}
		if isBelow(w.l, b) {
			want.total[w.Row()].Add(&w.Demand, 1)
			want.waiting++
		}
		if w.l == b && (w.isAside() || w.asideUntil() > 0) && !w.unsure {
			in.bad("%q: one that stands aside, or may step aside, counts for those who surely go", b.Name)
		}
	}
	if !sameCounts(&b.line, &want) {
		in.bad("%q counts\n\t%s of those who wait, want\n\t%s", b.Name, counted(&b.line), counted(&want))
	}
	below := map[*Limiter]bool{}
	for e := b.line.below.Front(); e != nil; e = e.Next() {
		c := e.Value.(*Limiter)
		if below[c] || c.Parent != b || c.line.inParent != e || c.line.waiting == 0 {
			in.bad("%q: %q is among those below in which some wait, where %d do", b.Name, c.Name, c.line.waiting)
		}
		below[c] = true
	}
	for _, c := range in.buckets {
		if c.Parent == b && c.line.waiting > 0 && !below[c] {
			in.bad("%q: %q is not among those below in which some wait, where %d do", b.Name, c.Name, c.line.waiting)
		}
	}
}

// isBelow reports whether l is b, or below it.
func isBelow(l, b *Limiter) bool {
	for ; l != nil; l = l.Parent {
		if l == b {
			return true
		}
	}
	return false
}

// sameCounts reports whether two lines count the same.
func sameCounts(l, o *line) bool {
	return l.direct == o.direct && l.waiting == o.waiting && sameDemands(l.total[:], o.total[:]) && sameNeeds(&l.sure, &o.sure) && sameNeeds(&l.unsure, &o.unsure)
}

func sameNeeds(l, o *limit.Line) bool {
	return sameDemands(l.Sum[:], o.Sum[:]) && maps.EqualFunc(l.Flows, o.Flows, sameDemand)
}

func sameDemands(ds, os []limit.Demand) bool {
	for i := range ds {
		if !sameDemand(&ds[i], &os[i]) {
			return false
		}
	}
	return true
}

func sameDemand(d, o *limit.Demand) bool {
	return d.Claims == o.Claims && d.N == o.N && d.Silent == o.Silent && maps.Equal(d.Costs, o.Costs)
}

// counted is what a line counts, as text.
func counted(l *line) string {
	return fmt.Sprintf("%d direct, %d in all, total %s, sure %s, unsure %s", l.direct, l.waiting, demands(l.total[:]), needs(&l.sure), needs(&l.unsure))
}

// needs is what those in a line need, as text.
func needs(l *limit.Line) string {
	s := demands(l.Sum[:])
	flows := slices.SortedFunc(maps.Keys(l.Flows), func(a, b limit.FlowKey) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Name, b.Name))
	})
	for _, key := range flows {
		s += fmt.Sprintf(" %d%q%s", key.Row, key.Name, demands([]limit.Demand{*l.Flows[key]}))
	}
	return s
}

func demands(ds []limit.Demand) (s string) {
	for i := range ds {
		d := &ds[i]
		s += fmt.Sprint("[", d.Claims, d.N, d.Costs, d.Silent, "]")
	}
	return s
}

// ways checks the ways past a look at the whole bucket: that what they leave out delays nobody, see unlock.
func (in *inspection) ways(b *Limiter) {
	way, unknown := b.gate.Way(), b.server.Unknown()
	alone := in.root.line.waiting == 0 && b.isAlone() && b.hold.Until() == 0 && b.invalid == nil && b.tree.frozen == 0
	switch {
	case way != atonce.Looks && !alone,
		way == atonce.Free && (!unknown || len(b.stack) > 0),
		way == atonce.OneLock && (!unknown && !b.server.Steady() || !b.stack.IsOneBucket() || b.Reserve > 0):
		in.bad("%q: claims go without a look at all that delays them, by way %d", b.Name, way)
	case b.gate.Ends() && b.server.InFlight() > 0 && (!unknown || !b.server.Heard()):
		in.bad("%q: grants end past the lock, of which the bucket is to hear: something is known (%v), or none has ended (%v)", b.Name, !unknown, !b.server.Heard())
	case b.server.InFlight() < 0 || b.awaitEnd < 0:
		in.bad("%q: %d are in flight, and %d await Done", b.Name, b.server.InFlight(), b.awaitEnd)
	case b.lastCharged > in.now || b.hold.On(in.now) && b.hold.Rest(in.now, 0) > 0:
		in.bad("%q: charged at %d, or held since after now, which is %d", b.Name, b.lastCharged, in.now)
	}
}

// marks checks that nothing that was to be done with the lock is left undone.
func (in *inspection) marks() {
	root := in.root
	flows := limit.Line{}
	for w := range in.stands {
		flows.Flows.Add(0, w.flow.name, &w.Demand, 1)
	}
	if got := (limit.Line{Flows: root.tree.flows}); !sameNeeds(&got, &flows) {
		in.bad("%q: flows of the tree need %s, want %s", root.Name, needs(&got), needs(&flows))
	}
	for _, b := range in.buckets {
		if b.line.changed || len(root.tree.changed) > 0 {
			in.bad("%q: buckets have changed that were not looked at: %v, of %d", b.Name, b.line.changed, len(root.tree.changed))
		}
	}
	if root.tree.woken != (bell.List{}) {
		in.bad("%q: somebody was not woken who has left the line", root.Name)
	}
	if root.tree.frozen < 0 || root.tree.frozen == 0 && root.tree.runOnThaw.Len() > 0 {
		in.bad("%q: %d freezes, and %d buckets to run after them", root.Name, root.tree.frozen, root.tree.runOnThaw.Len())
	}
	if root.tree.lastChange > in.now {
		in.bad("%q: changed at %d, now is %d", root.Name, root.tree.lastChange, in.now)
	}
}

// settled checks that who may go has gone, that who may go in its own bucket competes above, and that a timer
// wakes the others. With a Store, a look at what is in hand changes that.
func (in *inspection) settled() {
	if in.root.tree.frozen > 0 || slices.ContainsFunc(in.buckets, func(b *Limiter) bool { return b.link != nil }) {
		return
	}
	for _, b := range in.buckets {
		ordinaryWaits := false
		for _, w := range b.line.Heads(new([priorities]*waiter)) {
			if ordinaryWaits && !w.Urgent {
				continue
			}
			var d limit.Due
			b.delays.Due(&d, in.now, w.earliest(in.now), &w.Claim)
			open, competes := d.Never || d.At <= in.now, w.top() != b
			switch {
			case open && !competes:
				in.bad("%q: a waiter may go, and waits; or it may go in its own bucket, and does not compete above", b.Name)
			case competes: // one that may go no more is sent back when it is its turn
			case d.Unreserved > in.now:
				in.woken(b, d.Unreserved)
			default:
				in.woken(b, d.At)
			}
			if d.Unreserved > in.now {
				break
			}
			ordinaryWaits = ordinaryWaits || !open
		}
	}
}

// woken checks that b is looked at at an instant, unless only an answer ends the wait: then an instant that is
// further away than Lag less than the longest span stands for that.
func (in *inspection) woken(b *Limiter, at monotime.Time) {
	if next := in.root.tree.agenda.Next(); at < in.now.Add(monotime.Longest-limit.Lag) && (next == 0 || next > at || !b.line.timer.IsSet(in.root.clock.Awake(in.now))) {
		in.bad("%q: a waiter waits for %v, and the next look is in %v, timer: %v", b.Name, at.Sub(in.now), next.Sub(in.now), b.line.timer.IsSet(in.root.clock.Awake(in.now)))
	}
}

// TestCheckTree breaks one rule after the other: each is noticed.
func TestCheckTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Name: "root", Quotas: quotas(t, "1/s even"), MaxWait: Forever}
		a, b := &Limiter{Name: "a", Parent: root}, &Limiter{Name: "b", Parent: root}
		grant(t, root, Claim{})
		var ws []*Waiter
		for _, l := range []*Limiter{a, a, b, root} {
			_, w := join(t, l, Claim{Flow: "f"})
			ws = append(ws, w)
		}
		checkSettled(t, a, b)
		first, second := ws[0], ws[1]
		for name, c := range map[string]struct {
			breaks, mends func()
			want          string
		}{
			"counted above":   {func() { root.line.waiting++ }, func() { root.line.waiting-- }, "1 direct, 5 in all"},
			"a sum above":     {func() { root.line.total[1].N++ }, func() { root.line.total[1].N-- }, "of those who wait, want"},
			"a sum of flows":  {func() { a.line.sure.Flows.Add(1, "f", &first.Demand, 1) }, func() { a.line.sure.Flows.Add(1, "f", &first.Demand, -1) }, "of those who wait, want"},
			"flows of all":    {func() { root.tree.flows.Add(0, "f", &first.Demand, 1) }, func() { root.tree.flows.Add(0, "f", &first.Demand, -1) }, "flows of the tree"},
			"not below":       {func() { root.line.below.Remove(b.line.inParent) }, func() { b.line.inParent = root.line.below.PushBack(b) }, "is not among those below"},
			"second above":    {func() { second.joinLine(root) }, func() { second.withdraw(a) }, "is not the first of its row"},
			"first not above": {func() { first.withdraw(a) }, func() { first.joinLine(root) }, "does not compete above"},
			"not woken":       {func() { root.line.timer.Stop() }, func() { root.run(root.now()) }, "timer: false"},
			"not looked at":   {func() { root.tree.changed = append(root.tree.changed, a) }, func() { root.tree.changed = nil }, "not looked at"},
			"after a freeze":  {func() { root.tree.runOnThaw.Add(a) }, func() { root.tree.runOnThaw.Take() }, "to run after them"},
			"past the lock":   {func() { root.gate.Set(atonce.Free, false) }, func() { root.gate.Set(atonce.Looks, false) }, "without a look"},
			"unheard":         {func() { root.gate.Set(atonce.Looks, true) }, func() { root.gate.Set(atonce.Looks, false) }, "of which the bucket is to hear"},
			"not rung":        {func() { root.tree.woken.Add(&first.done) }, func() { root.tree.woken.Take() }, "was not woken"},
			"told":            {func() { first.done.Ring() }, func() { <-first.done.C }, "whose wait has ended"},
			"must not wait":   {func() { first.AtOnce, first.asksStore = true, true }, func() { first.AtOnce = false }, "no call is under way"},
			"unsure":          {func() { first.unsure = true }, func() { first.unsure = false }, "of those who wait, want"},
		} {
			c.breaks()
			if in := inspect([]*Limiter{a, b}, true); in.wrong == nil || !strings.Contains(in.wrong.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", name, in.wrong, c.want)
			}
			if c.mends(); inspect([]*Limiter{a, b}, true).wrong != nil {
				t.Fatalf("%s: not mended", name)
			}
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}
