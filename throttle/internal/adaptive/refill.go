package adaptive

import (
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
//   - Before the reset a part is there. One request looks for it (guessRefill) where the reset is
//     so near that rounding hides the first of these ways, and where a reset brought nothing. It
//     goes when one token would be back if the reset were the time to full.
//
// When nothing remains of such a limit, requests are paced at a rate that the server is known to
// keep: the tokens that came back for certain, over the time that they took. If tokens come back
// faster, Remaining shows them, and they are spent at once. If most of the limit comes back in a
// moment after all, or paced requests are refused twice in a row, the server does not refill.
//
// It does all the same if the stated reset moves on meanwhile, or if something was left for the request that
// was refused (outcome.taken): then others, such as processes that do not know of each other, take what comes
// back. In such a crowd each looks for its part of the rate, and leaves a little over, and as much as others
// have in flight, see share and leave; or where resets say the rate, the limit is shared as a stock. And what
// paced requests have found before outlasts some refusals, see doubt. Where it is seen that most of what was
// used so far was not ours, the crowd is there from the start, or from when nothing remains first: else each
// would begin at the whole rate.
type refill struct {
	refills      bool
	rate         float64       // tokens per second
	atMost       float64       // the rate may turn out to be as high
	guessed      float64       // if the measurement began long ago, the rate that the resets say; else zero
	pacedFrom    monotime.Time // when the latest request went while nothing remained
	pacedWent    monotime.Time // that instant, and pacedFrom before it, for when the request is not sent
	pacedBefore  monotime.Time
	span         time.Duration // about how long the whole limit takes to come back
	doubtRefills doubt         // about whether the server refills
	doubtEarly   doubt         // about whether a look before the reset finds anything
	windows      int           // on so many occasions yet it is no question that the limit is a window, see sawWindow
	emptyReset   bool          // a reset brought nothing
	resumed      bool          // it was said to refill by an earlier run, and no paced request was refused since
	foundAll     int           // looks before a reset in a row that found the whole limit

	rise       rise // of Remaining, before one reset
	drip       drip // at which rate the resets say that the limit comes back
	instants   drip // likewise, if resets are instants
	stock      stock
	step       time.Duration // in which resets are stated
	resetLooks int           // so many requests may look at the reset, and find nothing, since the rate is too low, see seeFaster
	served     int           // paced requests that were served since one was refused

	// provisionalSpan is positive if the server was taken for one that refills because a part
	// was there after the reset. It is about how long the whole limit takes to come back. If
	// most comes back in less than half of it, the server does not refill.
	provisionalSpan time.Duration
	provisionalTo   monotime.Time // until then no answer shows that the server does refill; zero if there is no doubt

	meter         meter // from when on the rate is measured
	raise         raise
	blind         blind
	refusalsInRow int // of paced requests
	finds         int // how often a paced request found something, see proven
	crowd         crowd
	maxHold       time.Duration // Config.MaxHold
	spacing       time.Duration // see Server.Space
}

const (
	// proven is as often as it counts that a paced request found something. So much faith outlasts four
	// refusals in a row.
	proven = 8

	// foundEarly is how often paced requests must have found something before the stated reset so that it says
	// nothing of the next token, after a refusal has halved that.
	foundEarly = 2
)

// slowestRate returns the least rate that is believed: one token per MaxHold. It is infinite if
// MaxHold is zero.
func slowestRate(maxHold time.Duration) float64 { return 1 / maxHold.Seconds() }

// tooSlow reports whether the limit is believed to come back by a token in MaxHold, or more slowly than that.
// When nothing remains, a look at the reset finds as much, since it comes after MaxHold at the latest; and the
// belief, which may be of a server that lied, would outlast hours.
func (r *refill) tooSlow() bool {
	return r.refills && r.maxHold > 0 && r.rate <= slowestRate(r.maxHold)
}

// timeFor returns how long n tokens take to come back: n/rate. An optimist expects the highest rate that is
// possible after the first token; and while the rate is raised with each answer, n such answers: 1 + 1/raise +
// … + 1/raise^(n−1).
func (r *refill) timeFor(n int, optimist bool) time.Duration {
	switch {
	case !optimist || n <= 1:
		return monotime.Seconds(float64(n) / r.rate)
	case r.raise.on():
		return monotime.Seconds((1 - math.Pow(r.raise.by, -float64(n))) / (1 - 1/r.raise.by) / r.rate)
	}
	return monotime.Seconds(1/r.rate + float64(n-1)/r.atMost)
}

// pacedGoes takes in that a request goes while nothing remains.
func (r *refill) pacedGoes(now monotime.Time) {
	r.pacedBefore, r.pacedFrom, r.pacedWent = r.pacedFrom, now, now
}

// nextAt has the next paced request go at an instant, since one was refused. So one that is not sent brings no
// other instant back.
func (r *refill) nextAt(at monotime.Time) {
	r.pacedFrom, r.pacedBefore, r.pacedWent = at.Add(-r.timeFor(1, false)), 0, 0
}

// cancel takes back a request that went at an instant and was not sent.
func (r *refill) cancel(went monotime.Time) {
	switch {
	case r.pacedFrom > r.pacedWent: // an answer came since
	case went == r.pacedWent:
		r.pacedFrom = r.pacedBefore
	case went == r.pacedBefore && r.refills:
		token := r.timeFor(1, false)
		r.pacedFrom, r.pacedBefore = r.pacedFrom.Add(-token), r.pacedBefore.Add(-token)
	}
	if r.shared() {
		r.stock.credit = min(1, r.stock.credit+1)
	}
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
	r.findOut(o, after)
}

// findOut finds out whether the server gives itself away as one that refills: by what comes back within a round
// trip, or within a few of them, or of one reset, or as detect says.
func (r *refill) findOut(o *outcome, after *reset) {
	if rate, ok := r.drip.within(o); ok && r.doubtRefills.skip == 0 {
		full := monotime.Seconds(float64(o.limit) / rate)
		r.start(o, o.now, full, full)
		return
	}
	if o.mayBeBlind() && r.startBlind(o) {
		return
	}
	if o.look && o.guess == guessRefill {
		r.looked(o)
	}
	if r.rise.note(o, after) && r.doubtRefills.skip == 0 {
		took := o.now.Sub(r.rise.since)
		full := monotime.Seconds(took.Seconds() * float64(o.limit) / float64(r.rise.by))
		r.start(o, o.now, full, full/2)
		return
	}
	telling := !o.refused || o.change == laterReset && o.remaining == 0
	comparable := o.limit != 0 && !o.otherLimit && o.lateBefore != 0
	if !r.sawWindow(o, after) && !o.nextWindow && telling && r.doubtRefills.skip == 0 && comparable {
		r.detect(o, after)
	}
}

// start takes the server for one that refills, the whole limit in the span full, or in least at the least. The
// rate is measured from an instant on.
func (r *refill) start(o *outcome, since monotime.Time, full, least time.Duration) {
	r.refills, r.provisionalSpan, r.provisionalTo, r.refusalsInRow, r.span = true, 0, 0, 0, max(full, time.Millisecond)
	r.rate, r.pacedFrom = max(float64(o.limit)/r.span.Seconds(), slowestRate(r.maxHold)), o.now
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
	r.meter, r.guessed = meter{from: since, served: o.n}, r.atMost/2
}

// find takes in that a request was served, and whether a paced one has found what the stated reset does not
// explain. One that was served out of what remained, or after the reset, says nothing of that, and ends no row
// of refusals: a log serves such in each window, and would be taken for a bucket for ever.
func (r *refill) find(o *outcome) {
	switch {
	case !o.paced:
	case o.lateBefore == 0:
		r.refusalsInRow = 0
	case o.sent < o.lateBefore:
		r.refusalsInRow = 0
		r.finds = min(r.finds+1, proven)
	}
}

// doubt takes in that a paced request was refused. After two in a row, the server does not refill; but where
// paced requests have found something before, others are likely to have taken it, and each refusal halves how
// much that counts.
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

// early reports whether paced requests have found tokens long before the stated reset, which therefore says
// nothing of the next one: at a limit of few tokens that comes back token by token.
func (r *refill) early() bool {
	return r.refills && (r.blind.on || r.raise.by > 0 && (r.finds >= foundEarly || r.raise.best > 0))
}

// token returns how long one token takes to come back at most, as far as that was seen.
func (r *refill) token() time.Duration { return monotime.Seconds(1 / max(r.rate, r.raise.best)) }

// apart returns how far apart tokens come, as the user says, or as was seen; zero if neither is known.
func (r *refill) apart() time.Duration {
	if r.spacing > 0 || r.raise.seen == 0 {
		return r.spacing
	}
	return monotime.Seconds(1 / (measuredShare * r.raise.seen))
}

// stop ends the belief that the limit comes back token by token. With it goes what was seen of others and of
// paced requests: of a belief that begins later, it would say nothing.
func (r *refill) stop() {
	r.refills, r.resumed, r.resetLooks, r.finds, r.served = false, false, 0, 0, 0
	r.raise.best = 0
	r.blind, r.stock, r.crowd = blind{}, stock{}, crowd{}
}

// misread forgets what resets have said, and the rate that is of these: they were read by another clock, or in
// another unit.
func (r *refill) misread() {
	r.stop()
	r.raise.seen = 0
	r.drip, r.instants = drip{}, drip{}
}

// anotherFactor: a limit that is so many times as large as the one before, or as small, is not the same one
// that was raised or lowered. And where one token takes so many times as long as the stated reset, and slack,
// the rate is not of the limit that states it.
const (
	anotherFactor = 2.5
	anotherTimes  = 4
	anotherSlack  = time.Second
)

// forget forgets how the limit came back, token by token, if another one has taken its place: one of another
// window, or of a number or with a reset that are far from what was believed. It may come back at another rate,
// or all at once. Of a window nothing was learned but what failed, which is about the server; but whether the
// other one refills is not left out for as many windows as were those of the first, which may be of a second.
func (r *refill) forget(o *outcome, after *reset) {
	if !o.otherSpan && !o.otherLimit {
		return
	}
	far := o.otherSpan || float64(max(o.limit, o.limitBefore)) > anotherFactor*float64(min(o.limit, o.limitBefore))
	switch {
	case r.refills && (far || r.slowerThan(after.late.Sub(o.now))):
		*r = refill{spacing: r.spacing}
	case far:
		r.doubtRefills.skip = 0
	}
}

// slowerThan reports whether the rate is far too low for a limit that states to be back, wholly or in part, in
// some time.
func (r *refill) slowerThan(in time.Duration) bool {
	return in > 0 && !r.crowd.on() && monotime.Seconds(1/r.rate) > anotherTimes*(in+anotherSlack)
}

// steady reports whether answers that are only counted can raise the rate as well as those that are learned.
func (r *refill) steady() bool { return !r.blind.on }

// habits adds what outlasts the reset. While the next answer may show that the limit does not refill, as after
// a refusal of a paced request, its rate is left out: a later run would take it for proven.
func (r *refill) habits(h *Habits, heardAt monotime.Time) {
	h.EmptyReset, h.EarlyFailed, h.RefillFailed = r.emptyReset, r.doubtEarly.failed(), r.doubtRefills.failed()
	if r.refills && heardAt >= r.provisionalTo && r.refusalsInRow == 0 && pace.Sane(r.rate) {
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
	return refillSigns{open: !r.refills && r.doubtEarly.skip == 0, emptyReset: r.emptyReset, uneven: r.drip.uneven || r.instants.uneven, foundAll: r.foundAll, spacing: r.apart()}
}
