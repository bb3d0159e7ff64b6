package adaptive

import (
	"slices"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// parts are what is known of one limit, beside its name and its numbers: each is a rule or a few, in a file of
// its own. A statement goes to them in the order of window.learn. What else becomes of a part is said here and
// nowhere else, in a line of each function: of code, or of a comment that says why there is nothing to do. A
// test finds the line that is left out.
type parts struct {
	look
	millis    millis // the unit of its resets
	behind    behind
	dropped   dropped
	reset     reset
	seen      spanSeen     // what was seen of the span
	price     *price       // what requests cost that do not say it; nil if all said it
	last      latest       // request that went
	dearth    dearth       // what costs more than what remains
	spread    limit.Spread // over the time to the reset
	renewal   renewal
	overtaken overtaken
	refill    refill
	others    others
	ending    lastTokens
	sought    sought
	seek      seek
	overlap   overlap
	kept      *WindowMemory // what is kept of an earlier run, until the first answer states the limit; nil if nothing is

	contradictions contradictions
}

// forget takes in the outcome of an answer that states another limit than the one before: what was known may be
// of a limit that is stated under the same name, in turns with this one. Looked reports whether the answer is
// to a look at the one before, and was served.
func (p *parts) forget(o *outcome, before int) (looked bool) {
	// millis: heeds the limit itself.
	// behind, dropped, price, last, spread, overlap: have nothing of the limit's number, or are told by each
	// answer.
	// reset, seen: the statement says which reset it is of.
	// dearth: ends with a request that is served.
	// refill: heeds otherLimit itself.
	// others: count only what was used since a limit of the same number was found, see used.
	// ending: counts by resets.
	// contradictions: window.identify has noted that the limit is another.
	// kept: is over with the first answer.
	if !o.elsewhere {
		p.renewal, p.overtaken = renewal{}, overtaken{}
	}
	if looked = p.sought.turn(&p.seek, before, o); looked { // sought: keeps what seek found of the limit before
		p.look.forget()
	}
	return looked
}

// misread forgets what resets have said: they were read in another unit than they are in.
func (p *parts) misread() {
	// millis: has found that out.
	// behind, dropped, price, others, ending: have nothing of how far away a reset is.
	// last, spread: are told by each answer.
	// dearth: has nothing of resets.
	// seek, sought: are of resets that are not stated.
	// overlap: hears of another reset.
	// kept: is over with the first answer.
	p.reset, p.seen, p.renewal, p.overtaken, p.contradictions = reset{}, spanSeen{}, renewal{}, overtaken{}, contradictions{}
	p.look.forget()
	p.refill.misread()
}

// unshare makes p, which is a copy, a window's own: what one of the two learns from now on, the other does not
// hear.
func (p *parts) unshare() {
	// look, millis, behind, dropped, reset, seen, last, spread, renewal, overtaken, refill: are values.
	// others, ending, seek, contradictions, dearth: are values, too.
	// kept: is only read.
	p.price, p.sought = p.price.clone(), slices.Clone(p.sought)
	p.overlap.users, p.overlap.comparisons = nil, nil
}

// join takes in that the parts of a window of another Server were about the same limit all along; of this limit
// so much remains, and so much is in flight. The Server of p has just heard of the limit, so that what p knows
// is newer.
func (p *parts) join(other *parts, remaining, inFlight int) {
	// look, reset, spread, renewal, overtaken, seek, sought: both heard the same resets.
	// millis, behind, dropped, seen, price, last, refill, ending, kept: the other's are lost, and learned
	// again.
	// contradictions: were about each counter by itself.
	// dearth: the refusals of the other are forgotten.
	// overlap: see Server.merge.
	p.others.join(&other.others, remaining, inFlight)
}

// habits returns what outlasts the reset, and the run of the program. The latest answer that spoke of the limit
// came at an instant.
func (p *parts) habits(heardAt monotime.Time) (h Habits) {
	// dropped, seen, last, spread, renewal, overtaken, others, ending, overlap, kept, contradictions: are about
	// now.
	// dearth: is about now.
	// sought: a run begins with what seek has found of the limit that is stated now.
	p.look.habits(&h)
	h.Floors, h.Millis = p.reset.roundsDown, p.millis.found
	h.BehindFailed = p.behind.failed()
	h.BackAfter, h.BackWithin, h.BackConfirmed = p.seek.least, p.seek.most, min(p.seek.confirmed, halveAfter)
	p.refill.habits(&h, heardAt)
	h.Price = p.price.habit()
	return h
}

// adopt takes over the habits of the limit, of which own is known here already, and counts more. How fast the
// limit comes back is kept until the first answer, see resume: looks that failed have not told that. It reports
// whether resets are in another unit than before, so that nothing is known of the reset.
func (p *parts) adopt(m *WindowMemory, own Habits, unit string) (another bool) {
	// dropped, seen, last, spread, renewal, others, ending, sought, overlap, contradictions: have no habits.
	// dearth: has none, either.
	// seek: see kept.
	h := &m.Habits
	if another = h.Millis && p.millis.believe(); another {
		p.misread()
	}
	if back := own.Refill > 0 || own.BackWithin > 0 || h.Refill > 0 && p.refill.doubtRefills.skip > 0; !back {
		p.kept = m
	}
	if h.Floors && !own.Floors {
		p.reset.roundDown()
		p.overtaken = overtaken{} // learned from resets that were taken to be rounded up
	}
	p.look.adopt(h)
	p.refill.adopt(h)
	p.behind.restore(h.BehindFailed, 1)
	if unit != "" && h.Price != nil && own.Price == nil {
		p.price = h.Price.price()
	}
	return another
}

// steady reports whether no part has anything to find out, so that answers need only be counted: see
// Server.Steady.
func (p *parts) steady() bool {
	// last, others, price: are told by Count.
	// reset, seen, seek, sought, kept, spread, renewal, ending: learn of what is used up, or with an answer in
	// between.
	// overtaken: learns of looks.
	// millis, dropped, contradictions: learn with an answer in between.
	return p.look.steady() && p.behind.steady() && p.refill.steady() && p.overlap.steady() && p.dearth.n == 0
}
