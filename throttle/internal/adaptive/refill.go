package adaptive

import (
	"cmp"
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// refill is how a limit comes back: all at once at the reset, or token by token (token bucket,
// GCRA, sliding window). If it comes back token by token, the stated reset is the time until the
// whole limit is back, or the end of a grid, and waiting for it would waste up to half of the
// limit.
//
// In come outcomes (observe); out comes whether the limit comes back token by token (refills) and
// at which rate (timeFor). A server that refills gives itself away in one of these ways (detect):
//
//   - The reset moves on while less and less remains. Then the reset is the time to full, and
//     what is missing comes back in that time.
//   - After a reset only a part of the limit is there.
//   - Before a reset more comes back than two windows have.
//   - The limit is full each time, and the reset nearer than the server is (drip).
//   - Within some round trips more comes back than two windows have (blind).
//   - Before the reset a part is there. One probe looks for it (guessRefill) where the reset is
//     so near that rounding hides the first of these ways, and where a reset brought nothing. It
//     goes when one token would be back if the reset were the time to full.
//
// When nothing remains of such a limit, requests are paced at a rate that the server is known to
// keep: the tokens that came back for certain, over the time that they took. If tokens come back
// faster, Remaining shows them, and they are spent at once. If most of the limit comes back in a
// moment after all, or paced requests are refused twice in a row, the server does not refill.
//
// It does all the same if the stated reset moves on meanwhile: then others, such as processes that do not know of each other, take
// what comes back. In such a crowd each looks for its part of the rate, and leaves a little over, and as much as others have in flight, see share and leave; or
// where resets say the rate, or the rate is guessed well enough, the limit is shared as a stock. And what paced requests have found before outlasts some refusals, see doubt. Where it is seen that most of what was used so far was not ours, the crowd is
// there from the start, or from when nothing remains first: else each would begin at the whole rate.
type refill struct {
	refills      bool
	rate         float64       // tokens per second
	atMost       float64       // the rate may turn out to be as high
	guessed      float64       // if the measurement began long ago, the rate that the resets say; else zero
	pacedFrom    monotime.Time // when the latest request went while nothing remained
	fullSpan     time.Duration // about how long the whole limit takes to come back
	doubtRefills doubt         // about whether the server refills
	doubtEarly   doubt         // about whether a probe before the reset finds anything
	windows      int           // on so many occasions yet it is no question that the limit is a window, see sawWindow
	emptyReset   bool          // a reset brought nothing
	resumed      bool          // it was said to refill by an earlier run, and no paced request was refused since
	foundAll     int           // probes in a row that looked earlier than a reset and found the whole limit

	risenOf    int           // of which reset, see reset.count
	risen      int           // what came back before that reset: by so much Remaining has risen
	risenSince monotime.Time // the first answer about it

	drip     drip // at which rate the resets say that the limit comes back
	instants drip // likewise, if resets are instants
	stock    stock
	guessing bool          // the rate of the stock is the crowd's: resets do not say it
	step     time.Duration // in which resets are stated
	width    time.Duration // between the soonest and the latest instant at which the reset could come when the belief began
	served   int           // paced requests that were served since one was refused

	// provisionalSpan is positive if the server was taken for one that refills because a part
	// was there after the reset. It is about how long the whole limit takes to come back. If
	// most comes back in less than half of it, the server does not refill.
	provisionalSpan time.Duration
	provisionalTo   monotime.Time // until then no answer shows that the server does refill; zero if there is no doubt

	// The rate is measured from an instant on: Remaining was remainingThen, and requests
	// granted since have cost countedSince.
	measuredFrom  monotime.Time
	remainingThen int
	countedSince  int
	sentBefore    int // cost of the requests granted before whose answers came since: some of it belongs to remainingThen

	raise         raise
	blind         blind
	refusalsInRow int           // of paced requests
	finds         int           // how often a paced request found something, see proven
	crowd         int           // others are likely to share the limit until so many more requests are served
	crowded       bool          // something is left to them: another request was refused meanwhile, or they were there from the start
	crowdMost     float64       // our part of the rate grows up to that in the crowd
	maxHold       time.Duration // Config.MaxHold
	spacing       time.Duration // see Server.Space
}

const (
	// proven is as often as it counts that a paced request found something. So much faith outlasts four refusals in a row.
	proven = 8

	// foundEarly is how often paced requests must have found something before the stated reset so that it says nothing of the next token, after a refusal has
	// halved that.
	foundEarly = 2

	// A refusal in a crowd halves our part of the rate (crowdShare), as TCP does; an answer that leaves more than is kept for others makes it crowdRaise times as much.
	crowdShare = 0.5
	crowdRaise = 1.1

	// guessFalls is by what a guess at the whole rate is multiplied after a refusal, which may be the doing of others: half of what it grows by.
	guessFalls = 0.95

	// servedInRow is after how many served requests in a row the rate follows what the resets say, see follow.
	servedInRow = 8

	// keptForOthers is how many tokens are left in a crowd, as a stock from which requests that come at one instant are served; of
	// a small limit, a quarter.
	keptForOthers = 5

	// surelySteps is how many steps of stated resets a limit takes at least to come back, so that its rate is known well enough for the pace of what is kept
	// back for others. If all is back within a step, the rate may be many times as high.
	surelySteps = 4

	// crowdFlights is how many others are taken to have as much in flight in a crowd.
	crowdFlights = 2
)

// keep is how much of a limit is left to others while these are likely to share it: to go at once at whatever remains is to take
// it from those that are on their way.
func (r *refill) keep(limit int) int {
	if !r.refills || r.crowd == 0 || !r.crowded {
		return 0
	}
	return min(limit/4, keptForOthers)
}

// shared reports whether the limit is shared as a stock: others are seen, and it comes back at an even rate.
func (r *refill) shared() bool {
	return r.refills && r.stock.on && r.crowded && r.crowd > 0 && r.stock.even
}

// sooner is by how many times sooner than was found a limit may come back at an even rate, since it may have changed. The last tokens of a log say that it
// comes back far sooner.
const sooner = 16

// evenRate returns between which bounds the rate is, if it is even, as resets say: zero and infinity if that is not known.
func (r *refill) evenRate(now monotime.Time, limit int) (least, most float64) {
	d := &r.drip
	if d.known == 0 {
		d = &r.instants
	}
	if least, most = d.bounds(now); d.met < enoughMet || !pace.Sane(most) || least*r.fullSpan.Seconds() > sooner*float64(limit) {
		return 0, math.Inf(1)
	}
	return least, most
}

// guesses reports whether a limit is shared as a stock although resets do not say its rate: where they are coarse, and it takes so long to come back
// that the rate of the crowd is about right. A rate that is far too low would have us wait for long.
func (r *refill) guesses(limit int) bool {
	return r.crowd > 0 && r.crowded && limit >= leastUnseen && r.coarse() && r.fullSpan >= surelySteps*max(r.width, r.step)
}

// coarse reports whether resets are stated in steps that are no milliseconds.
func (r *refill) coarse() bool { return r.step > time.Millisecond }

// shareStock takes in an answer where the limit is shared as a stock, until others are likely to be gone.
func (r *refill) shareStock(o *outcome) {
	if r.coarse() && !r.believe(o) {
		return
	}
	if o.refused {
		r.pacedFrom, r.served = o.now, 0
	}
	rate := r.stock.rate()
	if r.guessing {
		rate = r.guess(o.refused)
	}
	r.crowdMost, r.rate = rate, r.stock.part*rate
	if r.crowd--; r.stock.part < stockAway {
		r.crowd = crowdFor
	}
	if r.crowd == 0 {
		r.rate = rate
		r.remeasure(o.now, o.remaining)
	}
}

// believe takes in an answer where coarse resets leave it open whether what is shared comes back bit by bit, and reports whether that is believed still.
func (r *refill) believe(o *outcome) bool {
	switch {
	case o.refused && !o.resetMoved:
		r.doubt()
	case !o.refused:
		if r.refusalsInRow = 0; o.remainingBefore <= 0 && o.sent < o.lateBefore {
			r.finds = min(r.finds+1, proven)
		}
	}
	return r.refills
}

// guess returns the rate of the crowd after an answer. An answer that shows that more came back than the rate explains raises it, by crowdRaise at most; a refusal lowers it a little.
func (r *refill) guess(refused bool) float64 {
	if refused {
		return min(max(guessFalls*r.crowdMost, slowestRate(r.maxHold)), math.MaxInt32)
	}
	return min(max(r.crowdMost, min(r.stock.back, crowdRaise*r.crowdMost)), math.MaxInt32) // see pace.Sane
}

// leave is keep if so many of ours are in flight: others have as many, each. Where all have been refused and rest, more comes back meanwhile
// than one of them is to take.
func (r *refill) leave(limit, inFlight int) int {
	keep := r.keep(limit)
	if keep == 0 {
		return 0
	}
	return max(keep, crowdFlights*inFlight)
}

// share takes in that a request was served in a crowd. What is left over is not ours alone, so that no rate is measured from it. Where
// less is left than each leaves to the others, these are still there: a part of the rate alone does not use so much.
func (r *refill) share(o *outcome) {
	switch keep := r.keep(o.limit); {
	case o.remaining > keep:
		r.crowd--
		r.rate = max(r.rate, min(r.rate*crowdRaise, r.crowdMost))
		r.atMost = max(r.atMost, r.rate)
	case o.remaining < keep:
		r.crowd = crowdFor - 1
	default:
		r.crowd--
	}
	if r.crowd == 0 {
		r.remeasure(o.now, o.remaining)
	}
}

// leastInCrowd returns below which rate ours does not fall in a crowd: one who was refused by chance again and again would else not come
// back for long after the others have gone.
func (r *refill) leastInCrowd() float64 { return max(crowdLeast*r.crowdMost, slowestRate(r.maxHold)) }

// slowestRate returns the least rate that is believed: one token per MaxHold. It is infinite if
// MaxHold is zero.
func slowestRate(maxHold time.Duration) float64 { return 1 / maxHold.Seconds() }

// timeFor returns how long n tokens take to come back: n/rate. An optimist expects the highest rate that is possible
// after the first token; and while the rate is raised with each answer, n such answers: 1 + 1/raise + … + 1/raise^(n−1).
func (r *refill) timeFor(n int, optimist bool) time.Duration {
	switch {
	case !optimist || n <= 1:
		return monotime.Seconds(float64(n) / r.rate)
	case r.raise.on():
		return monotime.Seconds((1 - math.Pow(r.raise.by, -float64(n))) / (1 - 1/r.raise.by) / r.rate)
	}
	return monotime.Seconds(1/r.rate + float64(n-1)/r.atMost)
}

// observe draws the conclusions from an outcome. After is the reset as the answer left it.
func (r *refill) observe(o *outcome, after *reset, maxHold time.Duration) {
	r.maxHold, r.step = maxHold, after.resolution
	r.drip.note(o, after)
	r.instants.noteInstant(o)
	if r.refills {
		r.seeOthers(o)
		if o.mayBeBlind() {
			r.seeMore(o)
		}
		r.measure(o)
		return
	}
	o.farIn = r.drip.farIn
	r.drip.noteFar(o, after)
	o.farIn = max(o.farIn, r.drip.farIn)
	if rate, ok := r.drip.within(o); ok && r.doubtRefills.skip == 0 {
		full := monotime.Seconds(float64(o.limit) / rate)
		r.start(o, o.now, full, full)
		return
	}
	if o.mayBeBlind() && r.startBlind(o) {
		return
	}
	if o.probe && o.guess == guessRefill {
		r.looked(o)
	}
	if r.more(o, after) && r.doubtRefills.skip == 0 {
		took := o.now.Sub(r.risenSince)
		full := monotime.Seconds(took.Seconds() * float64(o.limit) / float64(r.risen))
		r.start(o, o.now, full, full/2)
		return
	}
	if !r.sawWindow(o, after) && (!o.refused || o.resetMoved && o.remaining == 0) && r.doubtRefills.skip == 0 && o.limit != 0 && !o.otherLimit && o.lateBefore != 0 {
		r.detect(o, after)
	}
}

// more takes in an answer, and reports whether more came back before one reset than two windows have: the stated reset may be late
// by a part of a window, and so a second one may have begun.
func (r *refill) more(o *outcome, after *reset) bool {
	if r.risenOf != after.count {
		r.risenOf, r.risen, r.risenSince = after.count, 0, o.now
	}
	if o.newest && o.now > r.risenSince {
		r.risen += max(o.remaining-o.remainingBefore, 0)
	}
	return o.limit > 0 && r.risen > 2*o.limit && o.now < after.late
}

// detect finds out whether the server gives itself away as one that refills.
func (r *refill) detect(o *outcome, after *reset) {
	since := o.missingSince(after.resolution)
	switch {
	case o.resetMoved && o.remaining <= o.remainingBefore:
		// full = time to full · limit/(limit − remaining)
		missing := max(o.limit-o.remaining, 1)
		perToken := float64(o.limit) / float64(missing)
		full, least := monotime.Seconds((after.late.Sub(o.now)+after.resolution).Seconds()*perToken), monotime.Seconds(after.early.Sub(o.now).Seconds()*perToken)
		r.start(o, o.now, max(full, r.drip.farIn), max(least, r.drip.farIn))
	case o.limit < fewTokens && o.probe && o.spentSince != 0 && o.sent < o.lateBefore && o.guess == guessRefill && o.found() >= o.limit:
		// The whole limit is back early, and it is so small that no answer can show more.
		full := o.sent.Sub(since)
		if since != o.spentSince { // it is known to a round trip alone
			since, full = min(since, o.sent), max(full, o.now.Sub(o.sent))
		}
		r.start(o, since, full, 0)
		r.beginRaise(o)
	case !o.probe || o.spentSince == 0 || o.whole():
	case o.sent < o.lateBefore && o.guess != guessWholeSteps, o.now < o.earlyBefore: // or a hint allowed the look
		// A part is back before the reset: so the reset is the time to full. What a round trip does not tell apart is no shorter than that.
		r.start(o, since, max(o.lateBefore.Sub(since)+after.resolution, o.now.Sub(o.sent)), min(o.earlyBefore.Sub(since), cmp.Or(o.span, monotime.Longest)))
	default:
		// A part is back after the reset. The whole limit takes the time from reset to reset;
		// or, if the next reset is much nearer than this one was, the time to this one.
		// If it is a window after all, nothing has come back meanwhile, and what was used does not show others.
		o.used = used{}
		// Each of the resets was rounded, by a step at most, so that full is at most two steps too
		// long.
		full, slack := after.late.Sub(o.earlyBefore), 2*after.resolution
		switch {
		case o.span > 0:
			full, slack = o.span, 0
		case after.late.Sub(o.now) < o.lateBefore.Sub(since)/2:
			full = o.lateBefore.Sub(since)
		}
		least := max(full-slack, full/8)                           // positive also where the resets are two steps apart
		r.start(o, min(o.lateBefore, o.sent), full+full/20, least) // a little longer: a refusal costs more than a late request
		r.provisionalSpan, r.provisionalTo = least, r.measuredFrom.Add(least/2)
	}
}

// start takes the server for one that refills, the whole limit in the span full, or in least at the least. The rate is
// measured from an instant on.
func (r *refill) start(o *outcome, since monotime.Time, full, least time.Duration) {
	r.refills, r.provisionalSpan, r.provisionalTo, r.refusalsInRow, r.fullSpan = true, 0, 0, 0, max(full, time.Millisecond)
	r.width = o.lateBefore.Sub(o.earlyBefore)
	r.rate, r.pacedFrom = max(float64(o.limit)/r.fullSpan.Seconds(), slowestRate(r.maxHold)), o.now
	r.atMost = max(float64(2*o.limit)/max(least, time.Millisecond).Seconds(), r.rate) // nothing is measured yet

	r.joinCrowd(o, r.rate)

	// The limit was smaller when the raise began.
	if o.limit >= fewTokens {
		r.raise.by = 0
	}

	// If since is now, the answer tells what was there. Else nothing was there at since, and the
	// request of the answer took the first of what came back.
	if since == o.now {
		r.remeasure(o.now, o.remaining)
		r.guessed = 0
		return
	}
	r.remeasure(since, 0)
	r.countedSince, r.guessed = o.n, r.atMost/2
}

// beginRaise has the rate of a limit of few tokens grow with each answer. At a limit of one, that begins with this answer; or if the token was there as soon as the
// user says, the rate is just under what he says.
func (r *refill) beginRaise(o *outcome) {
	switch r.raise.by = firstRaise; {
	case o.limit != 1:
		r.raise.by = gentleRaise
	case o.sent.Sub(o.spentSince) < firstRaise*r.spacing:
		r.rate = measuredShare / r.spacing.Seconds()
		r.raise = raise{by: 1, from: r.rate, gap: raiseAfter, held: r.rate}
	default:
		r.rate *= firstRaise
	}
}

// joinCrowd has our part of the rate be that of what was used so far, if most of it was not ours. So much has come back per second meanwhile.
func (r *refill) joinCrowd(o *outcome, back float64) {
	if part := o.used.part(o.now, back); part < crowdPart && o.limit >= fewTokens {
		r.crowd, r.crowded, r.crowdMost = crowdFor, true, r.rate
		r.rate = max(part*r.rate, r.leastInCrowd())
	}
}

// seeOthers joins the crowd that shows when nothing remains first: too little was used to tell when the belief began. What is missing was used, whatever came
// back meanwhile.
func (r *refill) seeOthers(o *outcome) {
	if o.remaining <= 0 && o.remainingBefore > 0 && r.crowd == 0 {
		r.joinCrowd(o, 0)
	}
}

// looked takes in a look before the stated reset.
func (r *refill) looked(o *outcome) {
	if o.refused {
		r.doubtEarly.fail(0)
		r.foundAll = 0
	} else if o.whole() {
		r.foundAll++
	}
}

// startBlind takes the server for one that refills if the limit is full again within a round trip.
func (r *refill) startBlind(o *outcome) bool {
	rate, ok := r.blind.note(o)
	if !ok || r.doubtRefills.skip > 0 {
		return false
	}
	full := monotime.Seconds(float64(o.limit) / rate)
	r.start(o, o.now, full, full)
	r.blind.on, r.finds = true, proven
	return true
}

// seeMore finds out whether the limit is full again within a round trip, at whatever rate it was taken to come back.
func (r *refill) seeMore(o *outcome) {
	if r.blind.on || r.raise.by > 0 || r.crowd > 0 {
		return
	}
	if rate, ok := r.blind.note(o); ok {
		r.rate, r.finds, r.blind.on = max(r.rate, rate), proven, true
	}
}

// remeasure has the rate be measured anew, from an instant on at which so much was left.
func (r *refill) remeasure(from monotime.Time, left int) {
	r.measuredFrom, r.remainingThen, r.countedSince, r.sentBefore = from, left, 0, 0
}

// measure takes in an answer of a server that refills: of a limit that is shared as a stock, or of one that is ours.
func (r *refill) measure(o *outcome) {
	if o.requests {
		r.seeStock(o)
	}
	if r.shared() {
		r.shareStock(o)
		return
	}
	r.measureRate(o)
}

// seeStock takes in an answer of a limit that may be a stock, and has it be shared as one as soon as others are certain, or where resets are coarse, likely.
func (r *refill) seeStock(o *outcome) {
	likely := r.crowd > 0 && r.crowded && (r.coarse() || r.stock.stale && o.refused && o.resetMoved) // finer resets show others for certain, unless they are of long ago
	if r.crowd == 0 {
		r.stock.on = false
	}
	a := reading{o.sent, o.now, o.n, o.flight, o.limit, o.remaining, o.refused, o.newest, o.resetEarly, o.resetLate, o.inLeast, o.inMost}
	least, most := r.evenRate(o.now, o.limit)
	if r.guessing = least == 0 && r.guesses(o.limit); r.guessing {
		least, most = r.crowdMost, r.crowdMost
	}
	if certain := r.stock.note(&a, least, most); (certain || likely && r.stock.even) && !r.stock.on {
		r.stock.begin(o.now)
		r.crowded, r.crowd = true, crowdFor
	}
}

// measureRate raises the rate to what was measured, lowers it after a refusal, and finds out whether the server does not refill after all.
func (r *refill) measureRate(o *outcome) {
	if o.sent < r.measuredFrom {
		if !o.refused {
			r.sentBefore += o.n
		}
		return
	}
	if o.refused {
		if r.awaitReset(o.now, o.lateBefore) {
			return
		}
		if o.limit >= fewTokens && o.resetMoved { // others took what came back
			if r.crowded = r.crowd > 0; !r.crowded {
				r.crowdMost = refusalFactor * r.rate
			}
			r.crowd = crowdFor
		}
		if !o.resetMoved {
			r.doubt()
		}
		r.slowDown()
		r.pacedFrom, r.served, r.blind.refused = o.now, 0, true
		if r.raise.by > 0 { // others took the token, or the pace was too fast: it is back after that of one, however slow the pace is
			r.pacedFrom = o.now.Add(r.token() - r.timeFor(1, false))
		}
		r.remeasure(o.now, o.remaining)
		return
	}
	r.refusalsInRow = 0
	r.served++
	if o.remainingBefore <= 0 && o.sent < o.lateBefore {
		r.finds = min(r.finds+1, proven)
	}
	r.countedSince += o.n
	if r.crowd > 0 {
		r.share(o)
		return
	}
	if o.limit < fewTokens {
		r.raiseWhole(o)
		r.raise.serve(o.sent, o.now.Sub(o.sent), o.limit, o.remainingBefore <= 0, r.rate)
	}
	r.rate = min(r.blind.grow(o, r.rate*r.raise.grow(o.now, r.rate)), math.MaxInt32) // see pace.Sane
	if r.blind.on {
		r.atMost = max(r.atMost, r.rate)
	}
	r.follow(o)
	if !o.newest {
		return
	}
	// Servers state Remaining in whole tokens: up to one token may have been there before.
	back, took := r.countedSince+o.remaining-r.remainingThen-1, o.now.Sub(r.measuredFrom)
	switch {
	case took < r.provisionalSpan/2 && 4*back > 3*o.limit:
		r.wrong()
	case took >= r.fullSpan/2 && !o.unpriced: // else the price was learned from this rate
		// Remaining shows what this rate leaves over, and it is spent.
		r.rate = max(r.rate, measuredShare*float64(back)/took.Seconds())
		r.atMost = max(r.rate, r.guessed, float64(back+2+r.sentBefore)/took.Seconds())
	}
}

// raiseWhole begins to raise the rate where a paced request finds all of a limit of two or three, so that more may have come back than Remaining can say: if the steps of
// resets say nothing of the rate either, and requests go as slowly as a look at half a step.
func (r *refill) raiseWhole(o *outcome) {
	if r.raise.by == 0 && !r.blind.on && o.limit > 1 && r.served > 1 && o.remainingBefore <= 0 && o.found() >= o.limit && 2*o.resetStep.Seconds()*r.rate >= 1 {
		r.raise.by = gentleRaise
	}
}

// awaitReset takes in that a paced request was refused, and reports whether that is no reason for a doubt. An earlier run saw how the limit comes back,
// and that a reset brought nothing: as at an estimated window, of which nothing comes back before the first reset if nothing was used before. So the first
// refusal has requests be paced from that reset on.
func (r *refill) awaitReset(now, late monotime.Time) bool {
	first := r.resumed && r.emptyReset && late > now
	if r.resumed = false; first {
		r.pacedFrom = late.Add(-r.timeFor(1, false))
		r.remeasure(late, 0)
	}
	return first
}

// follow has the rate follow what the resets say: it is not above that. Where Remaining does not show what comes back, at a limit of few tokens, and where the
// limit is full again within a round trip, a rate below that is raised with each answer, once so many were served in a row that others are not likely to share
// the limit.
func (r *refill) follow(o *outcome) {
	if r.rate > r.drip.most { // rarely, once that is known
		if _, most := r.drip.bounds(o.now); r.rate > most {
			r.rate = max(measuredShare*most, slowestRate(r.maxHold))
		}
	}
	if _, within := r.drip.within(o); o.limit >= fewTokens && !within {
		return
	}
	least, _ := r.drip.bounds(o.now)
	if least *= measuredShare; r.served > servedInRow && r.rate < least && pace.Sane(least) {
		r.rate = min(gentleRaise*r.rate, least)
	}
	r.atMost = max(r.atMost, r.rate)
}

// doubt takes in that a paced request was refused. After two in a row, the server does not refill; but where paced requests
// have found something before, others are likely to have taken it, and each refusal halves how much that counts.
func (r *refill) doubt() {
	if r.finds > 1 {
		r.finds /= 2
		return
	}
	if r.refusalsInRow++; r.refusalsInRow >= 2 {
		r.wrong()
	}
}

// wrong ends the belief that the limit comes back token by token, because an answer contradicts it.
func (r *refill) wrong() {
	r.stop()
	r.doubtRefills.fail(1)
}

// early reports whether paced requests have found tokens long before the stated reset, which therefore says nothing of the next one: at a limit of few tokens
// that comes back token by token.
func (r *refill) early() bool {
	return r.refills && (r.blind.on || r.raise.by > 0 && (r.finds >= foundEarly || r.raise.held > 0))
}

// token returns how long one token takes to come back at most, as far as that was seen.
func (r *refill) token() time.Duration { return monotime.Seconds(1 / max(r.rate, r.raise.held)) }

// stop ends the belief that the limit comes back token by token. With it goes what was seen of others and of paced requests: of a
// belief that begins later, it would say nothing.
func (r *refill) stop() {
	r.refills, r.resumed, r.finds, r.served = false, false, 0, 0
	r.crowd, r.crowded, r.crowdMost = 0, false, 0
	r.raise.held, r.raise.others = 0, 0
	r.blind, r.stock = blind{}, stock{}
}

// slowDown lowers the rate after a refusal.
func (r *refill) slowDown() {
	factor := refusalFactor
	if r.crowd == crowdFor {
		factor = crowdShare
	}
	if r.raise.by > 0 {
		factor = r.raise.refused(r.rate, r.served)
	}
	least := slowestRate(r.maxHold)
	if r.crowd == crowdFor {
		least = min(r.leastInCrowd(), r.rate)
	}
	r.rate = max(r.rate*factor, least)
	if factor == refusalFactor {
		r.raise.fell(r.rate)
	}
}

// steady reports whether answers that are only counted can raise the rate as well as those that are learned.
func (r *refill) steady() bool { return !r.blind.on }

// habits adds what outlasts the reset. While the next answer may show that the limit does not refill, its rate is left
// out: a later run would take it for proven.
func (r *refill) habits(h *Habits, heardAt monotime.Time) {
	h.EmptyReset, h.EarlyFailed, h.RefillFailed = r.emptyReset, r.doubtEarly.failed(), r.doubtRefills.failed()
	if r.refills && heardAt >= r.provisionalTo && pace.Sane(r.rate) {
		h.Refill, h.Raises = r.rate, r.raise.by > 0
	}
}

// adopt takes over the habits that are known elsewhere, but for the rate, see resume.
func (r *refill) adopt(h *Habits) {
	r.emptyReset = r.emptyReset || h.EmptyReset
	r.doubtEarly.restore(h.EarlyFailed, 0)
	r.doubtRefills.restore(h.RefillFailed, 1)
}

// signs returns what speaks for looking before the reset, since one token may be back much earlier.
func (r *refill) signs() refillSigns {
	return refillSigns{open: !r.refills && r.doubtEarly.skip == 0, emptyReset: r.emptyReset, foundAll: r.foundAll, spacing: r.spacing}
}
