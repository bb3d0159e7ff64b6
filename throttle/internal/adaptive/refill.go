package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// refill is what is known of how a limit comes back. Some servers restore all of it at the
// reset, others (token bucket, GCRA, sliding window) bring it back bit by bit, and their reset
// is the time until all is back, or the end of a grid. Waiting for that would waste up to half
// of the quota. Such a server gives itself away:
//
//   - The reset moves on while less and less remains: it is the time to full, and what is
//     missing comes back in that time.
//   - After a reset only a part is there.
//   - Where the reset is so near that rounding hides the first of these, and where a reset
//     brought nothing, one request looks early, once (see guess): as early as one token would
//     be back, were it the time to full. It finds a part.
//
// Such a server is paced, where nothing remains, at a rate that it is known to keep: tokens
// that came back for certain, over the time that they took. What comes back faster shows in
// Remaining and is spent at once. If most comes back in a moment after all, or a paced
// request is refused twice in a row, it was no such server.
type refill struct {
	refills      bool
	halved       time.Duration // if positive, it may not be one, after all: then most comes back in less than half of this
	doubtRefills doubt         // that it is one
	doubtEarly   doubt         // that a look before the reset finds anything
	suspect      bool          // a reset brought nothing
	rate         float64       // tokens per second
	paced        monotime.Time // when the last token that was left went
	full         time.Duration // about how long the whole limit takes to come back

	// The rate is measured from since, when had remained; got have been granted since.
	since monotime.Time
	had   int
	got   int

	creep   float64       // by what the rate is raised with each token that is back; 1 or less if not
	strikes int           // refusals in a row
	longest time.Duration // MaxHold, as of the latest answer
}

const (
	// slower is what a refusal leaves of the rate at which a server was thought to refill.
	// The decrease of AWS's adaptive mode, for rates that are guessed, is 0.7; this one was
	// measured.
	slower = 0.8

	// nearly is what is used of a rate that was measured: servers round, and a refusal costs
	// more than what is left over.
	nearly = 0.97

	// creep is by what the rate of a limit of few tokens is raised with each that is back, at
	// first.
	creep = 1.25

	// fewTokens come back so late, were the reset the time to full and rounded up, that it
	// would not be early to look then.
	fewTokens = 4
)

// slowestRate is the least rate that is believed: a token per MaxHold.
func (r *refill) slowestRate() float64 { return 1 / r.longest.Seconds() }

// refillIn returns how long n tokens take to come back.
func (r *refill) refillIn(n int) time.Duration { return monotime.Seconds(float64(n) / r.rate) }

// observe draws the conclusions from an outcome, after which the reset is as it is now.
func (r *refill) observe(o *outcome, now *reset, maxHold time.Duration) {
	r.longest = maxHold
	if r.refills {
		r.measure(o)
		return
	}
	if o.probe && o.on == guessRefill && o.refused {
		r.doubtEarly.fail(0)
	}
	if !o.refused && r.doubtRefills.skip == 0 && o.limit != 0 && o.late != 0 {
		r.detect(o, now)
	}
}

// detect looks whether the server gives itself away as one that refills.
func (r *refill) detect(o *outcome, now *reset) {
	switch {
	case o.moved && o.remaining <= o.before:
		missing := max(o.limit-o.remaining, 1)
		full := (now.late.Sub(o.now) + now.resolution).Seconds() * float64(o.limit) / float64(missing)
		r.start(o, o.now, monotime.Seconds(full))
	case o.limit < fewTokens && o.probe && o.spent != 0 && o.sent < o.late && o.on == guessRefill && o.remaining+o.n >= o.limit:
		// All is back, and all is so little that one never hears of more.
		r.start(o, o.spent, o.sent.Sub(o.spent))
		r.creep = creep
	case !o.probe || o.spent == 0 || 10*(o.remaining+o.n) >= 9*o.limit: // all is back, but for what others took
	case o.sent < o.late && o.on != guessWhole:
		// A part was back before the reset: where it was looked for on a guess, as early as
		// a token is back if the reset is the time to full.
		r.start(o, o.spent, o.late.Sub(o.spent)+now.resolution)
	default:
		// A part was back after it. How long all takes is the time from reset to reset, or,
		// if the next is no reset of that kind, no less than it took to this one.
		full, slack := now.late.Sub(o.early), 2*now.resolution
		switch {
		case o.span > 0:
			full, slack = o.span, 0
		case now.late.Sub(o.now) < o.late.Sub(o.spent)/2:
			full = o.late.Sub(o.spent)
		}
		r.start(o, min(o.late, o.sent), full+full/20) // it may be a little more
		r.halved = max(full-slack, full/8)
	}
}

// start takes the server for one that refills, all of the limit in full.
func (r *refill) start(o *outcome, since monotime.Time, full time.Duration) {
	r.refills, r.halved, r.strikes, r.full = true, 0, 0, max(full, time.Millisecond)
	r.rate, r.paced = max(float64(o.limit)/r.full.Seconds(), r.slowestRate()), o.now
	r.since, r.had, r.got = since, 0, o.n
	if since == o.now {
		r.had, r.got = o.remaining, 0
	}
}

// measure keeps the rate of a server that refills.
func (r *refill) measure(o *outcome) {
	if o.sent < r.since {
		return
	}
	if o.refused {
		// Slower than thought; and twice in a row, it is no such server.
		if r.strikes++; r.strikes >= 2 {
			r.refills = false
			r.doubtRefills.fail(1)
		}
		r.slowDown()
		r.paced = o.now
		r.since, r.had, r.got = o.now, o.remaining, 0
		return
	}
	r.strikes = 0
	r.got += o.n
	if r.creep > 1 {
		r.rate *= r.creep
	}
	if !o.newer {
		return
	}
	// Remaining is cut to a whole number, so up to one token of it was there before.
	back, took := r.got+o.remaining-r.had-1, o.now.Sub(r.since)
	switch {
	case took < r.halved/2 && 4*back > 3*o.limit:
		r.refills = false
		r.doubtRefills.fail(1)
	case took >= r.full/2:
		// What this leaves over shows in Remaining, and is spent.
		r.rate = max(r.rate, nearly*float64(back)/took.Seconds())
	}
}

// slowDown lowers the rate after a refusal.
func (r *refill) slowDown() {
	left := slower
	if r.creep > 1 {
		// Back to what was kept, and on in smaller steps.
		left = 1 / (r.creep * r.creep)
		if r.creep = 1 + (r.creep-1)/4; r.creep < 1.01 {
			r.creep = 1
		}
	}
	r.rate = max(r.rate*left, r.slowestRate())
}
