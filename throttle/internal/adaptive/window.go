package adaptive

import (
	"cmp"
	"strconv"
	"time"

	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// window is what is known of one limit that the server states: its name, its numbers, and its parts.
//
// What may go is what remains, see remains, less what is in flight.
//
// When nothing remains, all requests wait until nextLook, which is the reset as a rule. Then one
// request goes ahead to look, and its answer shows what is there. A limit that comes back
// token by token needs no look (see refill), and a limit whose reset is too far away to wait
// for is spread over the time before nothing remains (see Spend).
//
// In come grants (take) and statements (learn); out comes when a request may go (due).
type window struct {
	limitName
	text      string        // name and limit, for errors
	stated    int           // limit as stated; zero if it is not, or if what requests cost of it is not known
	mostFound int           // the most that was there before a request, of a limit that is not stated
	span      time.Duration // zero if not stated
	granted   bool          // something remained once, or a limit was stated
	instances bool          // it is of several instances of the server, see Answer.Instances
	heardAt   monotime.Time // when the latest answer came that spoke of the limit

	remains
	parts
}

// learn takes in a statement of an answer, after which so much is in flight.
//
// The steps complete an outcome: what the answer says (read), beside what was known (before), and of which
// limit (identify); whether that refused the request (blame); what remains, and until when (hearOf); at which
// price (learnPrice); and whether it is of the next window (seeNext). Then all parts are told of it (conclude).
func (w *window) learn(now monotime.Time, t *Ticket, kind Kind, st *quota.Statement, a *Answer, inFlight int, c *Config) {
	var o outcome
	w.read(&o, now, t, &kind, st, a, inFlight)
	w.answered(&o, t, a.sequence)
	w.before(&o, t)
	w.identify(&o, st, a)
	if o.refused {
		w.blame(&o, a)
	}
	looked := o.otherLimit && w.forget(&o, o.limitBefore)
	o.limit = w.limit() // what has changed it was told before
	w.hearOf(&o, t, st, a)
	w.learnPrice(&o, t, kind, a)
	w.noteDear(&o, &kind, a)
	w.seeNext(&o, a.Instances)
	if o.change == earlierReset || o.newest && o.rises() {
		w.contradictions.note(a.sequence)
	}
	if !o.unpriced {
		w.others.rest(&o)
		if w.countedAt <= w.others.began { // else others counts what was used of two windows
			o.used = w.others.used(&o)
		}
		a.unshared = a.unshared || w.refill.unshared(&o)
	}
	w.conclude(&o, st, a, c, looked)
}

// read has an outcome say what the answer does.
func (w *window) read(o *outcome, now monotime.Time, t *Ticket, kind *Kind, st *quota.Statement, a *Answer, inFlight int) {
	cost := a.cost(t)
	n := bounded(w.costOf(&cost, kind))
	o.sent, o.now, o.n, o.flight, o.refused, o.failed, o.guess = t.Sent, now, n, inFlight+n, a.Refused, a.MayRefuse && !a.Refused, w.guess
	o.remaining = w.stands(bounded(st.Remaining), n, a.Refused, t.looks)
	o.counted, o.requests, o.unpriced = w.behind.counts, w.unit == "", w.unit != "" && !isSaid(&cost, w.unit)
	if o.unpriced && w.price != nil {
		o.grain = w.price.grain
	}
}

// identify finds out which limit a statement is about. Where it does not say of how many, it is about the known
// limit, unless more remains: then that limit has risen, or is another one, and nobody knows how many it has.
func (w *window) identify(o *outcome, st *quota.Statement, a *Answer) {
	limit := bounded(st.Limit)
	if limit <= 0 && bounded(st.Remaining) <= w.stated {
		limit = w.stated
	}
	if w.define(o, limit, st.Window); o.otherLimit {
		w.contradictions.note(a.sequence)
	}
	if w.stated == 0 && !o.unpriced {
		w.mostFound = max(w.mostFound, o.found())
	}
	o.limit, o.span, o.others = w.limit(), w.span, w.others.withOthers(o.n)-o.n
}

// hearOf takes in what remains, after a look perhaps that found the whole limit, and the reset.
func (w *window) hearOf(o *outcome, t *Ticket, st *quota.Statement, a *Answer) {
	w.dropped.heard(o.refused && !o.elsewhere)
	if w.heardAt = o.now; t.Sent > w.last.at {
		w.last.note(t.Sent)
	}
	if o.look && !o.vain() && o.whole() && !w.besideLook {
		w.renew(t.sequence)
	}
	o.newest = w.hear(t.sequence, o.remaining, a.sequence, o.now)
	w.narrow(o, st)
}

// conclude tells the parts of an outcome that is complete, and schedules the next look. Looked says that a look
// has found the limit that was there before.
func (w *window) conclude(o *outcome, st *quota.Statement, a *Answer, c *Config, looked bool) {
	w.observe(o, a, c)
	w.leaveLast(o)
	w.noteUsedUp(o)
	if !o.unpriced { // else a falling Remaining says nothing about others
		w.others.count(o, w.remaining <= 0)
	}
	w.spread = c.Spend.SpreadFor(int64(w.stated), w.back(o.now), c.MaxStandstill)
	if looked {
		o.look = false
	}
	w.seek.note(o, w.resetIsToCome(o.now, st), st.Limit > 0)
	w.judgeLook(o, c.Random)
	w.scheduleLook(o.now, o.decided(), c)
	w.takeHint(o.now, a)
}

// back returns after what time the limit is back: at the soonest; or, where it is spread, until it is surely
// looked at. So it is not spread where its reset may be waited for, and spread until all who wait will make it.
func (w *window) back(now monotime.Time) time.Duration {
	if w.spread.Below == 0 {
		return w.reset.early.Sub(now)
	}
	late := w.reset.late.Sub(now)
	return late + mostJitter(late)
}

// define takes in which limit a statement is about: of how many tokens, over which span, if it says that.
func (w *window) define(o *outcome, limit int, span time.Duration) {
	o.limitBefore = w.stated
	if limit = bounded(limit); w.text == "" || limit != w.stated {
		o.otherLimit = w.stated > 0 && limit > 0
		w.stated, w.text = limit, label(cmp.Or(w.name, w.counter), limit, w.unit)
	}
	if span > 0 {
		span = min(span, monotime.Longest)
		w.span, o.otherSpan, w.reset.spanMost = span, w.span > 0 && w.span != span, span
	}
}

// before notes what was known before the answer: what remained, when the window comes back, and what we had
// sent.
func (w *window) before(o *outcome, t *Ticket) {
	if o.remainingBefore = w.remaining; t.spares {
		o.idle = w.idle
	}
	o.paced = t.paced && o.remainingBefore <= o.idle
	if w.unit == "" && w.overlap.users == nil {
		o.granted = t.granted
	}
	o.leastThen, o.heardThen, o.usedUpSince = w.leastThen, w.heardThen, w.usedUpSince
	o.earlyBefore, o.lateBefore, o.soonestBefore = w.reset.early, w.reset.late, w.reset.soonest(w.hinted && w.wholeSteps != wrong)
	o.spanBefore, o.sooner = w.reset.ends().Sub(w.reset.opened), w.sooner() > 0
	o.stepsBefore = w.reset.late.Sub(w.reset.opened).Truncate(w.reset.resolution)
}

// stands returns what a stated Remaining stands for, after a request that cost n. A refusal is a surprise where
// one remained and the request cost no more. It is none to a look, which goes although nothing remains, or
// where others are likely to have taken the last one.
func (w *window) stands(remaining, n int, refused, look bool) int {
	if !refused {
		return w.behind.serve(remaining)
	}
	if w.remaining == 1 && n == 1 && !look && w.others.perOurToken <= othersSeen {
		w.behind.fail(1)
	}
	return remaining
}

// blame finds out whether a refusal is by another limit: then a look has found out nothing.
func (*window) blame(o *outcome, a *Answer) {
	if o.elsewhere = o.refusedElsewhere(a.short, a.sure); o.elsewhere {
		o.look = false
	}
	a.named = a.named || !o.elsewhere
}

// observe has the parts draw their conclusions that say how the limit comes back: token by token, or as a
// window, which refused requests may begin anew.
func (w *window) observe(o *outcome, a *Answer, c *Config) {
	if o.refused {
		w.hinted = o.resetIn > 0 && a.Hold > o.resetIn-o.resetStep
	}
	if !o.elsewhere && w.renewal.heeds(o) {
		w.renewal.note(o, w.hinted, w.others.perOurToken >= othersSeen, w.others.began)
	}
	w.refill.forget(o, &w.reset)
	if w.reset.clocks.set { // what resets have said was by another clock
		w.refill.misread()
	}
	if w.instances = a.Instances && w.isPlain(); w.instances || w.renewal.renews {
		w.refill.stop()
	} else if !o.elsewhere && !w.wasCounted(o) {
		w.refill.spacing = c.spacing
		w.refill.observe(o, &w.reset, c.MaxHold)
		if w.remaining <= 0 && w.refill.tooSlow() {
			w.refill.stop()
		}
	}
}

// seeNext finds out whether an answer speaks of the next window, of which others have taken all.
func (w *window) seeNext(o *outcome, instances bool) {
	if !o.elsewhere {
		plain := !w.refill.refills && !w.renewal.renews && !instances && !w.others.siblings
		o.nextWindow = w.overtaken.note(o, &w.reset, plain, w.span)
	}
}

// resetIsToCome reports whether a statement says so; or if it says nothing of a reset, whether it is known from
// before, or from another process.
func (w *window) resetIsToCome(now monotime.Time, st *quota.Statement) bool {
	if st.ResetKnown {
		return st.Reset > 0
	}
	return w.seek.from == 0 && w.reset.late > now
}

// leaveLast has nothing remain of a window that ends, until the reset, where what is left is to be left to
// others. Where none is stated, looks may have shown when it ends.
// Where refused requests begin the window anew, who is not refused would not hear of that.
func (w *window) leaveLast(o *outcome) {
	if !o.requests || o.elsewhere || w.instances || w.renewal.renews || w.refill.refills || w.others.siblings {
		return
	}
	ends, count := w.reset.late, w.reset.count+w.seek.count
	if ends == 0 && w.seek.most > 0 {
		ends = w.seek.from.Add(w.seek.most)
	}
	w.ending.note(o, count)
	if ends > o.now && w.ending.leave(w.remaining-o.inFlight(), count) {
		w.remaining = 0
	}
}

// narrow takes in what a statement says about the reset.
func (w *window) narrow(o *outcome, st *quota.Statement) {
	if st.ResetKnown && !st.Absolute {
		o.resetIn, o.resetStep = min(max(st.Reset, 0), monotime.Longest), min(max(st.Resolution, 0), monotime.Longest)
	}
	roundedDown := w.reset.roundsDown
	if o.atEnd() {
		w.reset.come(o.sent) // else the next reset would be taken for this one where the two are a second apart
	}
	o.change = w.reset.narrow(o.sent, o.now, st, o.limit)
	w.instants(o, st)
	if o.change != sameReset {
		w.overlap.lastHeardBy = nil
		w.seen.note(o, &w.reset)
	}
	if o.foundRoundsDown = w.reset.roundsDown && !roundedDown; o.foundRoundsDown {
		w.wholeSteps = untried // the guess was computed for a reset that is rounded up
		w.overtaken = overtaken{}
	}
}

// instants takes in a reset that is stated in milliseconds, or as an instant by the server's clock, which may
// be another than ours: when it comes is known as far as the clocks are, which are not taken to agree here. In
// milliseconds, it is known exactly by how much it moves.
func (w *window) instants(o *outcome, st *quota.Statement) {
	fine := st.Resolution <= time.Millisecond
	if !st.ResetKnown || st.Resolution <= 0 || (!o.requests || !fine) && !st.Absolute {
		return
	}
	if !st.Absolute {
		o.resetEarly, o.resetLate, o.inLeast, o.inMost = o.sent.Add(o.resetIn-o.resetStep), o.now.Add(o.resetIn), o.resetIn, o.resetIn
		return
	}
	in, ahead := min(max(st.Reset, 0), monotime.Longest), min(max(st.Skew, -monotime.Longest), monotime.Longest)
	late, step := o.sent.Add(in-ahead), min(st.Resolution, monotime.Longest)
	if !fine && w.reset.roundsDown {
		late = late.Add(step)
	}
	written := o.now.Add(-o.now.Sub(o.sent) / 2)
	if fine && o.requests {
		o.resetEarly, o.resetLate = late.Add(-step), late
	}
	o.inLeast, o.inMost = late.Add(w.reset.clocks.least-step).Sub(written), late.Add(w.reset.clocks.most).Sub(written)
}

// label returns what errors call a window: its name, limit and unit.
func label(name string, limit int, unit string) string {
	if name, unit = shown(name), shown(unit); name == "" {
		name = "the server's limit"
	}
	if limit > 0 {
		name += " of " + strconv.Itoa(limit)
	}
	if unit != "" {
		name += " " + unit
	}
	return name
}

// shown returns a name or a unit as it may be printed: a server, a store or a file has chosen it.
func shown(name string) string { return visible.Text(name, maxShown) }

// maxShown is how many bytes of a name are shown: as many as package headers reads of one.
const maxShown = 64

// limit returns the limit that the rules count with: the stated one, or if none is stated, the most that was
// there.
func (w *window) limit() int {
	if w.stated > 0 {
		return w.stated
	}
	return w.mostFound
}
