package throttle

import "time"

// refill is what is known of how a limit comes back. Some servers restore all of
// it at the reset, others (token bucket, GCRA, sliding window) bring it back bit
// by bit, and their reset is the time until all is back, or the end of a grid.
// Waiting for that would waste up to half of the quota. Such a server gives
// itself away:
//
//   - The reset moves on while less and less remains: it is the time to full,
//     and what is missing comes back in that time.
//   - After a reset only a part is there.
//   - Where the reset is so near that rounding hides the first of these, and where a
//     reset brought nothing, one request looks early, once (see trial): as early as
//     one token would be back, were it the time to full. It finds a part.
//
// Such a server is paced, where nothing remains, at a rate that it is known to
// keep: tokens that came back for certain, over the time that they took. What
// comes back faster shows in Remaining and is spent at once. If most comes back
// in a moment after all, or a paced request is refused twice in a row, it was no
// such server.
type refill struct {
	refills bool
	halved  time.Duration // if positive, it may not be one, after all: then most comes back in less than half of this
	wrong   doubt         // that it is one
	tried   doubt         // that a look before the reset finds anything
	suspect bool          // a reset brought nothing
	rate    float64       // tokens per second
	paced   instant       // when the last token that was left went
	full    time.Duration // about how long the whole limit takes to come back

	// The rate is measured from since, when had remained; got have been granted
	// since.
	since instant
	had   int
	got   int

	creep   float64       // by what the rate is raised with each token that is back; 1 or less if not
	strikes int           // refusals in a row
	longest time.Duration // MaxHold, as of the latest answer
}

// outcome is what an answer says of one window, and what was known before.
type outcome struct {
	sent, now   instant
	n           int
	refused     bool
	probe       bool // it went although nothing remained
	newer       bool // it was written after all others
	floored     bool
	moved       bool // the reset moved on before it came
	remaining   int
	before      int     // least Remaining before
	early, late instant // the reset as it was known before
	spent       instant // since when nothing remained
}

// slowest is the least rate that is believed: a token per MaxHold.
func (r *refill) slowest() float64 { return 1 / r.longest.Seconds() }

// refillIn returns how long n tokens take to come back.
func (r *refill) refillIn(n int) time.Duration { return seconds(float64(n) / r.rate) }

// observe draws the conclusions from an outcome.
func (r *refill) observe(o *outcome, w *window, maxHold time.Duration) {
	r.longest = maxHold
	if r.refills {
		r.measure(o, w.limit)
		return
	}
	if o.probe && w.trying == tryRefill {
		if o.refused {
			r.tried.grow(0)
		}
	}
	switch {
	case o.refused || r.wrong.left > 0 || w.limit == 0 || o.late == 0:
	case o.moved && o.remaining <= o.before:
		missing := max(w.limit-o.remaining, 1)
		full := (w.late.sub(o.now) + w.step).Seconds() * float64(w.limit) / float64(missing)
		r.start(o, w.limit, o.now, seconds(full))
	case w.limit < fewTokens && o.probe && o.spent != 0 && o.sent < o.late && w.trying == tryRefill && o.remaining+o.n >= w.limit:
		// All is back, and all is so little that one never hears of more.
		r.start(o, w.limit, o.spent, o.sent.sub(o.spent))
		r.creep = creep
	case !o.probe || o.spent == 0 || 10*(o.remaining+o.n) >= 9*w.limit: // all is back, but for what others took
	case o.sent < o.late && w.trying != tryWhole:
		// A part was back before the reset: where it was looked for on a guess, as
		// early as a token is back if the reset is the time to full.
		r.start(o, w.limit, o.spent, o.late.sub(o.spent)+w.step)
	default:
		// A part was back after it. How long all takes is the time from reset to
		// reset, or, if the next is no reset of that kind, no less than it took to
		// this one.
		full, slack := w.late.sub(o.early), 2*w.step
		switch {
		case w.span > 0:
			full, slack = w.span, 0
		case w.late.sub(o.now) < o.late.sub(o.spent)/2:
			full = o.late.sub(o.spent)
		}
		r.start(o, w.limit, min(o.late, o.sent), full+full/20) // it may be a little more
		r.halved = max(full-slack, full/8)
	}
}

// start takes the server for one that refills, all of limit in full.
func (r *refill) start(o *outcome, limit int, since instant, full time.Duration) {
	r.refills, r.halved, r.strikes, r.full = true, 0, 0, max(full, time.Millisecond)
	r.rate, r.paced = max(float64(limit)/r.full.Seconds(), r.slowest()), o.now
	r.since, r.had, r.got = since, 0, o.n
	if since == o.now {
		r.had, r.got = o.remaining, 0
	}
}

// measure keeps the rate of a server that refills.
func (r *refill) measure(o *outcome, limit int) {
	if o.sent < r.since {
		return
	}
	if o.refused {
		// Slower than thought; and twice in a row, it is no such server.
		if r.strikes++; r.strikes >= 2 {
			r.refills = false
			r.wrong.grow(1)
		}
		r.rate, r.paced = max(r.rate*r.slow(), r.slowest()), o.now
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
	// Remaining is cut to a whole number, so up to one token of it was there
	// before.
	back, took := r.got+o.remaining-r.had-1, o.now.sub(r.since)
	switch {
	case took < r.halved/2 && 4*back > 3*limit:
		r.refills = false
		r.wrong.grow(1)
	case took >= r.full/2:
		// What this leaves over shows in Remaining, and is spent.
		r.rate = max(r.rate, nearly*float64(back)/took.Seconds())
	}
}

// slow returns what a refusal leaves of the rate.
func (r *refill) slow() float64 {
	if r.creep <= 1 {
		return slower
	}
	// Back to what was kept, and on in smaller steps.
	left := 1 / (r.creep * r.creep)
	if r.creep = 1 + (r.creep-1)/4; r.creep < 1.01 {
		r.creep = 1
	}
	return left
}

// slower is what a refusal leaves of the rate at which a server was thought to
// refill. The decrease of AWS's adaptive mode, for rates that are guessed, is
// 0.7; this one was measured.
const slower = 0.8

// nearly is what is used of a rate that was measured: servers round, and a refusal
// costs more than what is left over.
const nearly = 0.97

// doubt is what was tried in vain: it is not tried again before it would have been of use
// for a number of times, which doubles. Others who use the limit too may have been the
// reason, and they may have gone.
type doubt struct {
	vain uint // how often
	left int  // times before it is tried again
}

// grow notes that it was in vain. So many times are free.
func (d *doubt) grow(free uint) {
	if d.vain++; d.vain > free {
		d.left = 1 << min(d.vain-free, 16)
	}
}

// use notes that it would have been of use now.
func (d *doubt) use() { d.left = max(d.left-1, 0) }

// creep is by what the rate of a limit of few tokens is raised with each that is back, at
// first.
const creep = 1.25
