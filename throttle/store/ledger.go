package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/slot"
)

// Ledger is one bucket of a store: all that [Store.Exchange] does, at instants that it is told.
// The zero Ledger is a bucket that nobody has drawn on yet; where a bucket may have been lost, begin
// with [Ledger.Lose]. A Ledger must not be used by several goroutines at once.
type Ledger struct {
	// Epoch is what the wall clock was when the clock of the instants was at zero. Windows of
	// the clock are counted by it. It must not be changed once the
	// Ledger is in use.
	Epoch time.Time

	known      bool          // the bucket has been used
	lost       bool          // the bucket is not known, and may have been used before
	fresh      bool          // a member said that the bucket is new; others may know better
	places     []place       // of the quotas: see there
	at         []int         // the place of each quota by which the latest request asks
	slotLife   time.Duration // how long after its instant a slot may be used that is handed out now
	rose       monotime.Time // the last slot when slotLife became longer, or a quota changed: those up to then reckon with what was before
	asked      askedSlotLife
	horizon    time.Duration // of the latest request
	lastSlot   monotime.Time // the latest slot
	told       monotime.Time // the latest slot of which news told, or would have told others
	heldUntil  monotime.Time
	returned   []returnedSlot // in their order; their costs are of all places
	members    map[string]*member
	statements []statement
	lists      []list        // of quotas by which members ask, the latest first
	lastUsed   monotime.Time // when the latest request came
	served     monotime.Time // when the latest came that asked for something, or the end of a time in which nothing was handed out
	learned    string        // what a member has told last of the server
	learnedAt  monotime.Time

	born        monotime.Time // since when the bucket is known
	learnsUntil monotime.Time // nothing is handed out before: members may still say what they have
	unheard     int           // how many may have something to say, where what they leave is spare; else zero
	cut         bool          // somebody was told to wait until then, or that all wait
	loss        loss
	parted      monotime.Time // when a member left last; or when the bucket was lost, until all that had it have told
}

// returnedSlot is what came back of a slot that is still to come. It stays charged, and is handed
// out again at its own instant.
type returnedSlot struct {
	at   monotime.Time
	cost []int64
}

// member is what is known of a member.
type member struct {
	serial     int64         // of its latest request
	lost       int64         // of the request whose reply was the latest to say that what it had is lost
	at         monotime.Time // when that came
	slotLife   time.Duration // for which it asked
	activeTill monotime.Time // it counts as active before
	knownTill  monotime.Time // it may be forgotten from then on
	goesOn     bool          // see Request.GoesOn; of its latest request
	had        bool          // it had the bucket before it was lost, and has not told all yet
	got        []run         // the slots that its latest request got
}

// statement is what a server said of a limit.
type statement struct {
	quota.Statement
	reset monotime.Time // or when it is forgotten
}

const (
	// maxStatements bounds how many limits of a server are remembered.
	maxStatements = 16

	// mostReturned bounds how many returned slots are remembered. What comes back beyond is not handed out
	// again.
	mostReturned = 256

	// mostMembers bounds how many members are remembered, some 40 bytes each, and what the latest request of
	// each got: of programs that are killed a hundred times a minute, and share a quota of a day, there would
	// be 144000.
	mostMembers = 512

	// learnedFor is for how long it is kept what a member has told of the server: rates change.
	learnedFor = 24 * time.Hour

	// activeFor is for how long a member counts after a request, at least.
	activeFor = 2 * time.Second

	// clockOff is by how much the clock of a store and that of a member may differ, from one request to the
	// next. What is more is a clock that was set: some ten times as much as a call may take.
	clockOff = 2 * time.Second
)

// Lose forgets everything. From then on the Ledger is one of which slots may be about: see
// the documentation of the package, "What a store forgets".
func (l *Ledger) Lose() { *l = Ledger{Epoch: l.Epoch, lost: true} }

// Exchange does what a request says, now: how long after Epoch by a clock that does not jump. Now must not go
// back from call to call, and must not be negative. The Since of the request is as of now. Exchange returns the
// reply, and what there is to tell those who listen: the zero News if nothing.
//
// If the Ledger does not know the Version of the request, or if its Quotas, SlotLife, Horizon, Serial or
// Answered are none that a Limiter sends, Exchange returns an error that says so, and changes nothing.
func (l *Ledger) Exchange(now time.Duration, r *Request) (*Reply, News, error) {
	if err := check(r); err != nil {
		return nil, News{}, err
	}
	if r.Look {
		reply, err := l.look(now, r)
		return reply, News{}, err
	}
	// Of a clock that was set nobody knows what time it is.
	if m := l.members[r.Member]; m != nil && r.Since > 0 && m.serial <= r.Serial && instant(now).Sub(m.at) > r.Since+clockOff {
		l.Lose()
	}
	reply, news := l.serve(now, r)
	return reply, news, nil
}

// look returns what Exchange would, of a copy.
func (l *Ledger) look(now time.Duration, r *Request) (*Reply, error) {
	state, err := l.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var c Ledger
	if err := c.UnmarshalBinary(state); err != nil {
		return nil, err
	}
	acts := *r
	acts.Look = false
	reply, _, err := c.Exchange(now, &acts)
	return reply, err
}

// serve is Exchange for a request that was checked, by a clock that cannot be set.
func (l *Ledger) serve(now time.Duration, r *Request) (*Reply, News) {
	t := instant(now)
	if m := l.members[r.Member]; m != nil && m.serial < r.Answered && !l.otherLife(r) || l.comesBack(r, t) {
		l.Lose() // what was done since
	}
	if l.members[r.Member] == nil && l.fresh && r.Since > t.Sub(l.born) && t.Sub(l.born) <= l.matters() {
		l.Lose() // it was not new
	}
	others := l.others(r, t)
	lost := l.open(r, t)
	l.dropPassed(t)
	was := standing{l.heldUntil, l.learnsUntil, l.sharing(t), l.cut}
	reply, news := l.exchange(r, t)
	l.lastUsed = t
	reply.Lost = reply.Lost || lost
	if m := l.members[r.Member]; m != nil && reply.Lost {
		m.lost = max(m.lost, r.Serial)
	}
	reply.Known, reply.Life = t.Sub(l.born)+time.Microsecond, int64(l.born)
	reply.Parted = l.parted > 0 && t.Sub(l.parted) < SharingFor
	reply.Others = others
	l.report(reply, t)
	reply.Sharing = max(l.sharing(t), 1)
	l.tellNews(&news, &was, r, t, lost)
	return reply, news
}

// standing is what of a Ledger is news, if a request changes it.
type standing struct {
	held, until monotime.Time // learnsUntil
	sharing     int
	cut         bool
}

// tellNews adds to the news of a request, before which the Ledger was so, what else there is to tell those who
// listen.
func (l *Ledger) tellNews(news *News, was *standing, r *Request, now monotime.Time, lost bool) {
	asks := l.cut && l.unheard > 0 && (!was.cut || l.learnsUntil != was.until)               // somebody waits for what others may have to tell
	known := l.loss.all() && l.learnsUntil < was.until && was.until == l.born.Add(r.Horizon) // slots are handed out again
	news.Lost = lost || asks || known
	if ahead := l.lastSlot.Sub(now); !lost && ahead > max(r.Horizon, l.told.Sub(now)/4*5) {
		l.told = l.lastSlot
		if l.othersShare(r, now.Add(-SharingFor)) > 0 { // who comes later knows it by its first reply
			news.Ahead = ahead
		}
	}
	if l.heldUntil > was.held {
		news.Hold = l.heldUntil.Sub(now)
	}
	if n := l.sharing(now); n > was.sharing {
		news.Sharing = n
	}
}

// check returns why a Ledger cannot do what a request says.
func check(r *Request) error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("store: bucket %q: %s is %v, want %s", r.Bucket, field, value, want)
	}
	const span = "from 0 to 50 years"
	switch {
	case r.Version != Version:
		return bad("Version", r.Version, strconv.Itoa(Version))
	case r.SlotLife < 0 || r.SlotLife > monotime.Longest:
		return bad("SlotLife", r.SlotLife, span)
	case r.Horizon < 0 || r.Horizon > monotime.Longest:
		return bad("Horizon", r.Horizon, span)
	case r.Serial < 0:
		return bad("Serial", r.Serial, "0 or more")
	case r.Answered > 0 && r.Answered >= r.Serial: // what was answered is not asked again
		return bad("Answered", r.Answered, "less than Serial, "+strconv.FormatInt(r.Serial, 10))
	}
	for i := range r.Quotas {
		q := &r.Quotas[i]
		if want := wanted(q); want != "" {
			return bad("a quota", q, want)
		}
		if q.Kind.OnClock() && r.SlotLife >= q.Per {
			return bad("SlotLife", r.SlotLife, "less than the Per of "+q.String())
		}
	}
	return nil
}

// wanted returns what a Ledger wants instead of a quota; nothing if the quota can live in a store.
func wanted(q *quota.Quota) string {
	switch {
	case q.N <= 0 || q.Per <= 0 || q.WarmUp != 0 || q.Kind == quota.Plain || q.Kind.Concurrent() ||
		q.Months != 0 || q.From != 0 || q.Zone != "" || q.Validate() != nil:
		return "one that can live in a store"
	case q.Kind == quota.TokenBucket && q.Burst < 1 || q.Kind == quota.SlidingWindow && q.Cells < 1:
		return "what Explicit of quota.Quotas returns of it"
	}
	return ""
}

// Idle reports whether forgetting the Ledger loses nothing: all that it knows is about the past. Now
// is that of Exchange.
func (l *Ledger) Idle(now time.Duration) bool {
	t := instant(now)
	for _, m := range l.members {
		if m.knownTill > t {
			return false
		}
	}
	return l.heldUntil <= t && t.Sub(max(l.lastUsed, l.lastSlot)) > 24*time.Hour+2*l.longestPer()
}

// matters is for how long it matters what a member sent.
func (l *Ledger) matters() time.Duration { return max(l.longestPer(), time.Minute) }

// instant is how the ledger calls an instant: none is zero.
func instant(now time.Duration) monotime.Time { return monotime.Time(now) + 1 }

// longestPer is the longest Per; that of a TokenBucket may be longer than any span.
func (l *Ledger) longestPer() (d time.Duration) {
	for p := range l.places {
		d = max(d, min(l.places[p].quota.Per, monotime.Longest))
	}
	return d
}

// open takes over the quotas of a request, and reports whether the bucket may have been lost. If it was, its
// ledgers assume that slots are about.
func (l *Ledger) open(r *Request, now monotime.Time) (lost bool) {
	fresh := !l.known && !l.lost
	lost = l.lost
	if lost || fresh {
		l.born = now
	}
	if lost {
		l.lastSlot, l.learnsUntil, l.served, l.lastUsed = now.Add(r.Horizon), now.Add(r.Horizon), now.Add(r.Horizon), now
		l.fresh = r.Fresh && r.Since <= 0 && r.Answered <= 0
		fresh = l.fresh
	}
	l.arrange(r, now, fresh)
	if lost {
		if l.loss = (loss{}); !l.fresh {
			l.parted = now // who had it is not known here
		}
	}
	l.known, l.lost = true, false
	return lost
}

// visit is a request that is served.
type visit struct {
	*Request
	now   monotime.Time
	by    *member // who makes the request; a new one if it was not known
	known bool    // the member was known before
	again bool    // the latest request of the member has come again
	got   []run   // what that request got, as far as it may get it again
	reply *Reply
}

func (l *Ledger) visit(r *Request, now monotime.Time) *visit {
	v := &visit{Request: r, now: now, by: l.members[r.Member], reply: &Reply{Bound: -1}}
	if v.known = v.by != nil; !v.known {
		v.by = &member{}
	}
	if v.again = v.known && r.Serial == v.by.serial; v.again && v.by.mayRepeat(now) {
		v.got = v.by.got
	}
	v.reply.Lost = v.unaware() || l.otherLife(r)
	return v
}

// exchange does what a request says, unless a later one of the member was done. The news are that a person
// released the bucket, and that so much came back that a member which has a slot ahead may want to ask again.
func (l *Ledger) exchange(r *Request, now monotime.Time) (reply *Reply, news News) {
	v := l.visit(r, now)
	m := v.by
	if v.known && r.Serial < m.serial {
		return v.reply, News{}
	}
	l.hearLost(r, m)
	if !v.again {
		l.wake(r, m, now)
	}
	if !v.known {
		l.forgetMembers(now)
	}
	back := l.correct(v)
	l.tell(r, m)
	l.trust(r, now)
	l.hearOutage(r, now)
	l.putOff(r, now)
	l.remember(r, now)
	l.teach(v)
	news.Released = r.Release
	news.Room = back > 0 && l.lastSlot > now.Add(r.Horizon) || back >= r.Horizon/8 && l.lastSlot > now.Add(slot.Near(r.Horizon))
	if r.Leave {
		l.parted = now
		if v.known {
			*m = member{serial: r.Serial, at: now, knownTill: now.Add(activeFor)} // what comes again finds it
		}
		return v.reply, news
	}
	l.count(v)
	l.handOut(v)
	m.knownTill = max(m.activeTill.Add(SharingFor), now.Add(l.matters()))
	return v.reply, news
}

// correct makes what is charged what went: what comes back is free again, and what went without a slot, or cost
// more, is charged. It does so once for a Serial. Back is that of takeBack.
func (l *Ledger) correct(v *visit) (back time.Duration) {
	if v.Serial > v.by.serial {
		if !v.reply.Lost {
			back = l.takeBack(v.Back, v.now, v.Horizon)
		}
		l.own(v.Request, v.now)
		l.overdraw(v.More, v.now) // also what is owed beyond what Own charges
	}
	return back
}

// putOff has nothing go before what the member knows of: the last slot of a bucket that was lost, and the end
// of a hold. A person may release the bucket before.
func (l *Ledger) putOff(r *Request, now monotime.Time) {
	if at := now.Add(min(r.Ahead, monotime.Longest)); now < l.served && !l.fresh { // the bucket was lost
		l.startAfter(at, first(r, now, at))
	}
	if r.Release {
		l.release(now, r.Horizon)
	}
	if r.Hold > 0 {
		l.heldUntil = max(l.heldUntil, now.Add(min(r.Hold, monotime.Longest)))
	}
}

// release ends what a person may end: see Request.Release. Members hear of it, and return what they have beyond
// the horizon for what is sooner now.
func (l *Ledger) release(now monotime.Time, horizon time.Duration) {
	l.heldUntil, l.statements = min(l.heldUntil, now), nil
	at := max(now, l.learnsUntil)
	l.lastSlot = min(l.lastSlot, at.Add(horizon))
	l.told = min(l.told, l.lastSlot)
	for p := range l.places {
		o := &l.places[p]
		o.ledger.Release(at, o.larger.most(o.quota.N, now))
		o.noneBefore = min(o.noneBefore, at)
	}
}

// count counts the member among those that are active.
func (l *Ledger) count(v *visit) {
	m := v.by
	m.serial, m.at, m.slotLife, m.goesOn = v.Serial, v.now, v.SlotLife, v.GoesOn
	m.activeTill = max(m.activeTill, v.now.Add(max(activeFor, 2*v.Horizon)))
	if l.members == nil {
		l.members = map[string]*member{}
	}
	l.members[v.Member] = m
}

// handOut hands out what a member asks for; if its request came again, what it got then.
func (l *Ledger) handOut(v *visit) {
	m := v.by
	if v.again {
		v.reply.Slots = l.usable(v.got, v.Request, v.now)
	} else if len(v.Asks) > 0 {
		l.served = max(l.served, v.now)
	}
	if last := l.grant(v); last != 0 {
		m.activeTill = max(m.activeTill, last.Add(l.slotLife))
	}
	if !v.again {
		m.got = inRuns(v.reply.Slots)
	}
}

// unaware reports whether what the member had is lost, and the member has not heard of it.
func (v *visit) unaware() bool {
	return !v.known && v.Serial > 1 || 0 < v.Answered && v.Answered < v.by.lost
}

// otherLife reports whether the latest answer of which a member has told all was of another life of the bucket.
func (l *Ledger) otherLife(r *Request) bool {
	return r.Answered > 0 && r.Life != 0 && r.Life != int64(l.born)
}

// comesBack reports whether a member was answered in a life that began later: what is known here is of before
// that, and has come back. One that is to begin is of a clock that was set.
func (l *Ledger) comesBack(r *Request, now monotime.Time) bool {
	return l.known && l.otherLife(r) && r.Life > int64(l.born) && r.Life <= int64(now)
}

// teach tells a member that is not known what another one has learned of the server, and notes what it tells
// itself.
func (l *Ledger) teach(v *visit) {
	if !v.known && v.now.Sub(l.learnedAt) < learnedFor {
		v.reply.Learned = l.learned
	}
	if n := len(v.Learned); n > 0 && n <= MaxLearned {
		l.learned, l.learnedAt = v.Learned, v.now
	}
}

// forgetMembers forgets members that need not be known any more, and makes room for one.
func (l *Ledger) forgetMembers(now monotime.Time) {
	maps.DeleteFunc(l.members, func(_ string, m *member) bool { return m.knownTill <= now })
	if len(l.members) < mostMembers {
		return
	}
	var silent string // for longest, of those that have left if there are any
	for name, m := range l.members {
		o := l.members[silent]
		if o == nil || cmp.Or(cmp.Compare(min(m.activeTill, 1), min(o.activeTill, 1)), cmp.Compare(m.at, o.at), cmp.Compare(name, silent)) < 0 {
			silent = name
		}
	}
	delete(l.members, silent)
}

// own charges what a member sent, or will send, of slots that the bucket does not know.
func (l *Ledger) own(r *Request, now monotime.Time) {
	for _, o := range r.Own {
		cost := l.spread(o.Cost)
		if cost == nil {
			continue // of other quotas
		}
		at := now.Add(min(max(o.In, -monotime.Longest), monotime.Longest))
		for p, n := range cost {
			if n > 0 {
				l.places[p].own(now, at, n)
			}
		}
		l.lastSlot = max(l.lastSlot, at)
		if now.Sub(l.born) < SharingFor {
			l.keep(cost, at, now)
		}
	}
}

// first is how long after an instant one token is to be there, if all is assumed to be used up to then.
func first(r *Request, now, at monotime.Time) time.Duration {
	if r.Standstill <= 0 || r.Standstill > monotime.Longest {
		return monotime.Longest
	}
	return max(r.Standstill-at.Sub(now), 0)
}

// startAfter has the buckets be empty at an instant, up to which members have slots, but for what is there so
// soon after that.
func (l *Ledger) startAfter(at monotime.Time, first time.Duration) {
	for p := range l.places {
		o := &l.places[p]
		if b, ok := o.ledger.(*slot.Bucket); ok && at > max(b.Debt(), o.noneBefore) {
			b.Assume(at, first)
			o.noneBefore = max(o.noneBefore, at)
			l.lastSlot = max(l.lastSlot, at)
		}
	}
}

// report says how the bucket is.
func (l *Ledger) report(reply *Reply, now monotime.Time) {
	reply.SlotLife, reply.Members = l.slotLife, max(l.active(now), 1)
	last := l.lastSlot
	for p := range l.places {
		if b, ok := l.places[p].ledger.(*slot.Bucket); ok && l.places[p].binds {
			last = max(last, b.Debt())
		}
	}
	for _, p := range l.at {
		left := l.places[p].ledger.Left(now)
		if l.unheard > 0 && now < l.learnsUntil {
			left = max(min(left, l.places[p].spare), 0)
		}
		reply.Left = append(reply.Left, left)
	}
	reply.Bound = l.indexOf(reply.Bound)
	reply.Ahead, reply.Hold = max(last.Sub(now), 0), max(l.heldUntil.Sub(now), 0)
	for _, w := range l.statements {
		if w.reset <= now {
			continue
		}
		st := w.Statement
		if st.ResetKnown {
			st.Reset = w.reset.Sub(now)
		}
		reply.Statements = append(reply.Statements, st)
	}
}

// active is how many members are.
func (l *Ledger) active(now monotime.Time) int { return l.activeAfter(now) }

// sharing is how many members share the bucket: see Reply.Sharing. If all that are remembered do, there may be
// more, and nobody knows how many.
func (l *Ledger) sharing(now monotime.Time) int {
	if n := l.activeAfter(now.Add(-SharingFor)); n < mostMembers {
		return n
	}
	return tooMany
}

// activeAfter is how many members were, or are, active after an instant.
func (l *Ledger) activeAfter(t monotime.Time) (n int) {
	for _, m := range l.members {
		if m.activeTill > max(t, 0) { // it is zero of who has left
			n++
		}
	}
	return n
}

// dropPassed has returned slots that have passed, or are not handed out again, be as if they had never been
// handed out.
func (l *Ledger) dropPassed(now monotime.Time) {
	n := 0
	for n < len(l.returned) && (l.returned[n].at < now || l.returned[n].at <= l.rose) {
		l.give(now, l.returned[n].at, l.returned[n].cost)
		n++
	}
	l.returned = slices.Delete(l.returned, 0, n)
}

// takeBack takes back what was not used. Back is the work of what was of the past, which may be used at once.
func (l *Ledger) takeBack(parts []Part, now monotime.Time, horizon time.Duration) (back time.Duration) {
	for _, p := range parts {
		at, cost := monotime.Time(p.Slot), l.spread(p.Cost)
		if cost == nil || slices.ContainsFunc(cost, func(n int64) bool { return n < 0 || n > quota.MaxN }) {
			continue // of other quotas, or no cost
		}
		if at < now {
			l.give(now, at, cost)
			back = min(back+l.work(cost), monotime.Longest)
			continue
		}
		if at <= l.rose || at > now.Add(slot.Near(horizon)) && !l.passed(now, at, cost) {
			l.give(now, at, cost)
			continue
		}
		i, found := slices.BinarySearchFunc(l.returned, at, func(r returnedSlot, at monotime.Time) int { return cmp.Compare(r.at, at) })
		switch {
		case !found && len(l.returned) >= mostReturned:
			continue
		case !found:
			l.returned = slices.Insert(l.returned, i, returnedSlot{at, make([]int64, len(cost))})
		case len(l.returned[i].cost) != len(cost):
			continue
		}
		slot.Add(l.returned[i].cost, cost, 1)
	}
	return back
}

// give has a cost at a slot be as if it had never been.
func (l *Ledger) give(now, at monotime.Time, cost []int64) {
	for p, n := range cost {
		if n > 0 && at >= l.places[p].noneBefore {
			l.places[p].ledger.Give(now, at, n)
		}
	}
}

// passed reports whether a cost at a slot to come would be of no use if it were as if it had never been.
func (l *Ledger) passed(now, at monotime.Time, cost []int64) bool {
	for p, n := range cost {
		if n > 0 && l.places[p].binds && l.places[p].ledger.Passed(now, at) {
			return true
		}
	}
	return false
}

// overdraw charges what is sent now, whether there is room for it or not.
func (l *Ledger) overdraw(cost []int64, now monotime.Time) {
	for p, n := range l.spread(cost) {
		if n > 0 {
			l.lastSlot = max(l.lastSlot, now)
			l.places[p].overdraw(now, n)
		}
	}
}

// remember takes in what a server said.
func (l *Ledger) remember(r *Request, now monotime.Time) {
	l.statements = slices.DeleteFunc(l.statements, func(w statement) bool { return w.reset <= now })
	for _, st := range r.Statements {
		if st.Unit == quota.Requests {
			st.Unit = ""
		}
		w := statement{st, now.Add(r.Horizon)}
		if st.ResetKnown {
			w.reset = now.Add(min(max(st.Reset, 0), monotime.Longest))
		}
		i := slices.IndexFunc(l.statements, func(o statement) bool { return o.Name == st.Name && o.Counter == st.Counter && o.Unit == st.Unit })
		if i < 0 {
			if len(l.statements) < maxStatements {
				l.statements = append(l.statements, w)
			}
			continue
		}
		o := &l.statements[i]
		same := max(Doubt(&st), Doubt(&o.Statement))
		switch d := w.reset.Sub(o.reset); {
		case !st.ResetKnown && !o.ResetKnown, d > same && !rereads(&o.Statement, &st), d < -same && rereads(&st, &o.Statement):
			*o = w
		case d.Abs() <= same && w.Remaining < o.Remaining:
			*o = w
		}
	}
}

// rereads reports whether a states a reset in milliseconds, where b may have a bare number of them that was
// read as seconds.
func rereads(a, b *quota.Statement) bool {
	return a.ResetKnown && b.ResetKnown && !a.Absolute && !b.Absolute && a.Resolution == time.Millisecond && b.Resolution == time.Second
}
