package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// others are clients that use the same limit, and how much of it they use. Remaining falls faster than our
// requests explain, and the excess is theirs:
//
//	perOurToken = (atStart − remaining) / (used by us + in flight) − 1
//
// Nobody knows what others have in flight, but they have as much as they use. Without the
// estimate, each of several processes would spend all that the server says remains.
//
// That is what they used at the least, since the server may have counted all that is in flight. Where it is
// anything, others are there for certain. Then what of ours went after the request of the answer is not taken
// for used: as a rule, it comes to the server later. Else who has just begun, and has most of its requests in
// flight, takes ten others for one.
//
// In come outcomes (count); out comes how much is used before some of our tokens are (withOthers), and how much
// must remain for that (room).
type others struct {
	began        monotime.Time // when the request went whose answer restored the limit
	heard        monotime.Time // when that answer came: an answer to a request that went before is of the same window
	atStart      int           // Remaining at began; zero if no answer has spoken of it
	limitAtStart int           // at began
	foundAtStart int           // at began, no more was stated to be there
	usedByUs     int           // tokens of our requests granted since began that are answered
	rested       time.Duration // since began, while next to nothing was missing, and nothing of ours was under way
	notSince     int           // so much of outcome.granted was before began, or was refused since; negative if nobody knows
	perOurToken  float64       // tokens that others use for each of ours
	measured     bool          // perOurToken is from a whole window
	unseenUntil  monotime.Time // until then, others may have begun as we did and not be seen yet
	siblings     bool          // other buckets of ours may draw on the limit: what they take is not others'
}

// begun reports whether a window has only just begun, of which so much is missing before the first request of
// ours. What is missing then was taken by others that begin as we do, such as processes that were started
// together: at most a tenth; or few tokens of a small limit, and no more than a quarter.
func begun(limit, missing int) bool {
	return 10*missing <= limit || 4*missing <= limit && missing <= maxPerOurToken
}

// maxPerOurToken bounds how much others are thought to use for each token of ours. With more,
// one request would go at a time for long, should the others stop.
const maxPerOurToken = 8

// count takes in an outcome, after which nothing remains if usedUp says so.
func (u *others) count(o *outcome, usedUp bool) {
	restored := o.look && !o.vain() && !usedUp && o.newest && o.sent >= u.heard
	switch {
	case restored:
		// The first client after a reset gets more than the last, and they take turns: so the
		// estimate falls by half at most.
		u.perOurToken = max(u.whole(max(o.remainingBefore, 0), o.inFlight()), u.perOurToken/2)
		u.measured = true
	case u.unused(o):
		u.perOurToken, restored = max(u.estimate(o.remainingBefore, o.inFlight()), u.perOurToken/2), true
	}
	if first := u.atStart == 0; first || restored {
		u.begin(o, first)
	}
	u.countEnded(o)
	if o.newest && !u.measured {
		u.perOurToken = u.beside(o)
		if u.usedByUs >= max(o.inFlight(), few) { // most of what we sent is answered
			u.unseenUntil = 0
		}
	}
}

// begin begins to count anew with an outcome, the first one ever or the first of a window.
func (u *others) begin(o *outcome, first bool) {
	u.began, u.heard, u.atStart, u.usedByUs, u.rested, u.limitAtStart = o.sent, o.now, o.found(), 0, 0, o.limit
	u.foundAtStart, u.notSince = u.atStart, o.granted-o.n
	if begun(o.limit, o.limit-u.atStart) {
		u.atStart = max(u.atStart, o.limit)
	}
	if missing := o.limit - u.foundAtStart; first && !u.siblings {
		if missing <= maxPerOurToken { // others that used more may have begun long ago: further answers say it
			u.perOurToken = u.perToken(o.remaining, o.flight)
		}
		if missing > 0 || o.limit >= leastUnseen {
			u.unseenUntil = o.now.Add(min(unseenTrips*o.now.Sub(o.sent), longestUnseen))
		}
	}
}

// unused reports whether all is back after a reset that came while something remained. So less was used than
// may be, which no look shows, since none was needed.
func (u *others) unused(o *outcome) bool {
	return u.perOurToken > 0 && u.usedByUs >= few && o.sent >= u.heard && o.newest && !o.refused && o.remainingBefore > 0 &&
		o.sent >= o.lateBefore && o.found() > o.remainingBefore && o.whole()
}

// countEnded counts a request that was served, or refused.
func (u *others) countEnded(o *outcome) {
	switch {
	case !o.refused:
		u.countServed(o.sent, o.n)
	case o.sent >= u.began && u.notSince >= 0:
		u.notSince += o.n
	}
}

// countServed counts a request for n tokens that was served, and sent at an instant.
func (u *others) countServed(sent monotime.Time, n int) {
	if sent >= u.began {
		u.usedByUs += n
	}
}

// estimate returns what others have used for each token of ours, if so much remains and so
// much of ours is in flight.
func (u *others) estimate(remaining, inFlight int) float64 {
	n := u.usedByUs + inFlight
	if n >= few {
		return u.perToken(remaining, n)
	}
	return u.perOurToken
}

// beside is the estimate after the newest answer. Where that shows others for
// certain, what went after the request of the answer is left out. It is left in where the reset is not stated
// to the millisecond: there, who leaves more to others than they take waits for a second for what comes back in
// some milliseconds.
func (u *others) beside(o *outcome) float64 {
	least := u.estimate(o.remaining, o.inFlight())
	if least == 0 || o.granted == 0 || u.notSince < 0 || u.siblings || o.resetLate == 0 {
		return least
	}
	return max(least, u.perToken(o.remaining, o.granted-u.notSince))
}

// perToken is the estimate if n tokens are ours, which may be too few to say much.
func (u *others) perToken(remaining, n int) float64 {
	return min(max(float64(u.atStart-remaining)/float64(max(n, 1))-1, 0), maxPerOurToken)
}

// move has another Server of ours use the limit, from now on: what the one before had granted is no number of
// the other one, and some of it drew on other limits.
func (u *others) move() { u.notSince = -1 }

// join has what was taken for others be ours: tokens that another Server of ours has used.
func (u *others) join(v *others, remaining, inFlight int) {
	u.move()
	if u.usedByUs += v.usedByUs; !u.measured {
		u.perOurToken = u.perToken(remaining, u.usedByUs+inFlight)
	}
}

// whole is the estimate at the end of a window, of which so much was left: for requests that were granted and
// have not come, as a rule. Where little of it was ours, and much is used, it is as if one more token were
// ours.
func (u *others) whole(left, inFlight int) float64 {
	if n := u.usedByUs; n < few && u.foundAtStart-left-n >= 2*few {
		return min(float64(u.foundAtStart-left-n)/float64(n+1), maxPerOurToken)
	}
	return u.estimate(left, inFlight)
}

// rest counts the time before an outcome in which next to nothing can have come back, since next to nothing was
// missing. If a bucket that is full is left alone for seconds, and its tokens are used at once then, they are
// all that was used.
func (u *others) rest(o *outcome) {
	if o.newest && o.heardThen >= u.heard && o.sent > o.heardThen && begun(o.limit, o.limit-o.leastThen) {
		u.rested += o.sent.Sub(o.heardThen)
	}
}

// used is how much was used of a limit since an instant; zero if that is not known.
type used struct {
	since monotime.Time // moved on by others.rested
	ours  int           // with what is in flight
	all   int           // but for what has come back meanwhile
}

// used returns how much was used of the limit by an outcome.
func (u *others) used(o *outcome) used {
	if u.atStart == 0 || u.siblings || u.limitAtStart != o.limit {
		return used{}
	}
	ours := u.usedByUs + o.inFlight()
	if !o.refused {
		ours += o.n
	}
	return used{since: u.began.Add(u.rested), ours: ours, all: u.atStart - o.remaining}
}

// part returns which part of what was used until now is ours, if the limit comes back at a rate meanwhile: 1 if
// few tokens were used.
func (u *used) part(now monotime.Time, rate float64) float64 {
	all := float64(u.all) + rate*now.Sub(u.since).Seconds()
	if u.since == 0 || all < few {
		return 1
	}
	return min(float64(u.ours)/all, 1)
}

// few tokens say little.
const few = 4

// withOthers returns how much is used by the time that n tokens of ours are: n + 2 · perOurToken · n.
// Others have as much in flight for each token of ours as they used, and send as much again
// before they hear of ours.
func (u *others) withOthers(n int) int { return n + int(2*u.perOurToken*float64(n)) }

// room returns how much must remain at the instant t so that n tokens of ours may be in flight: n +
// roomForOthers · perOurToken · n. It is also for others that are not seen yet: of processes that begin
// together, the one whose request comes first finds all that there is, and the last one cannot tell when the
// rest was taken. Until most of what they send next is answered, which shows the others, unseenPerToken may be
// theirs for each of ours, and as many sent before they hear of ours.
func (u *others) room(t monotime.Time, n int) int {
	theirs := roomForOthers * u.perOurToken
	if t < u.unseenUntil {
		theirs = max(theirs, 2*u.unseenPerToken())
	}
	return n + int(theirs*float64(n))
}

// unseenPerToken is how many tokens may be those of others for each of ours while they may be unseen.
func (u *others) unseenPerToken() float64 {
	if u.foundAtStart < u.limitAtStart {
		return unseenWhereMissing
	}
	return unseenWhereFull
}

// unseen returns when a request may go that may not before at, where it is kept back for others (crowded), at
// the instant t: no later than others may be unseen.
func (u *others) unseen(t, at monotime.Time, crowded bool) monotime.Time {
	if crowded && t < u.unseenUntil {
		return min(at, u.unseenUntil)
	}
	return at
}

const (
	// roomForOthers is how many times as much as others used must remain for them, so that each client has
	// about a third of its part of what remains in flight. With 2 times, of ten that begin together those that
	// saw only some of the others sent far more than their part.
	roomForOthers = 4

	// unseenWhereFull is unseenPerToken where the first request found all of the limit, as that of a lone
	// process does: a third of what remains goes. Where something was missing (unseenWhereMissing), others are
	// there or were: a ninth goes. With a third, of ten that begin together the latest sent more than was left,
	// before a second answer told them how fast it fell. A 17th, or a 33rd, was as good.
	unseenWhereFull    = 1
	unseenWhereMissing = 4

	// unseenTrips is for how many round trips others may be unseen: one until the next answers come, which may
	// take much longer than the first did. What is answered slowly does not keep others back for longer than
	// longestUnseen.
	unseenTrips   = 4
	longestUnseen = time.Second

	// leastUnseen is of how many tokens a limit is at least where that counts although nothing was missing.
	// With fewer, as many more were refused as fewer: a window that is used in several flights comes back in
	// parts, as a bucket does.
	leastUnseen = 20
)
