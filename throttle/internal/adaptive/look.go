package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// look is when one request may go although nothing remains, to find out whether the limit is back (a look), and
// what became of the looks before.
//
// In come outcomes (noteUsedUp, judgeLook) and hints (takeHint); out comes nextLook, which scheduleLook sets.
type look struct {
	idle        int           // if so much remains, it is for others alone, and counts as nothing: what is reserved
	usedUpSince monotime.Time // when nothing remained first; zero while something remains
	nextLook    monotime.Time // while nothing remains, one request may go at this instant
	cutBy       time.Duration // by how much MaxHold has nextLook be before the instant that the server says
	guess       guess         // why nextLook is before the reset, if it is
	lookSent    monotime.Time // when the latest look went
	wholeSteps  proof         // what became of guessWholeSteps
	doubtSteps  doubt         // about whether that is tried again, once it was wrong
	vainLooks   int           // looks in vain in a row, see outcome.vain
	rare        rare          // when the next look goes at the soonest, after many of these
	missedLooks int           // looks in a row that went after the reset and were refused
	hinted      bool          // the latest refusal asked to be left alone until the reset, as at the end of a window
	countedAt   monotime.Time // when was counted last what is back, without a look
	doubtCount  doubt         // about whether what is counted is there

	// A look is under way. A Ticket does not say at which window its request looks: every request draws on
	// every window, so that while one window is looked at, nothing looks at another, until Patience is over.
	looking    bool
	besideLook bool          // other requests of ours went with it, since the reset: they are of the same window
	looked     sequence      // the latest answer to a look: one to a request that went before it says no more of that
	quick      time.Duration // in which the latest refusal came; zero before the first one
}

// steady reports whether there is nothing to look for.
func (l *look) steady() bool { return !l.looking && l.usedUpSince == 0 && l.missedLooks == 0 }

// forget forgets the looks that came in vain: the limit that they looked at is back, was another, or was
// misread.
func (l *look) forget() { l.missedLooks, l.rare = 0, rare{} }

// restoreLook takes in that so much remains, as is known elsewhere of an instant. If it is anything, it has
// come back since the latest look.
func (l *look) restoreLook(remaining int, at monotime.Time) {
	if l.usedUpSince = at; remaining > 0 {
		l.usedUpSince, l.missedLooks, l.rare = 0, 0, rare{}
	}
}

// habits adds what outlasts the reset.
func (l *look) habits(h *Habits) { h.WholeSteps = int(l.wholeSteps) }

// adopt takes over what became of guessWholeSteps elsewhere, if nothing is known of that here.
func (l *look) adopt(h *Habits) {
	if steps := proof(h.WholeSteps); l.wholeSteps == untried && steps >= untried && steps <= wrong {
		if l.wholeSteps = steps; steps == wrong {
			l.doubtSteps.restore(mostFailed, 0) // how often, nobody says
		}
	}
}

// answered finds out whether the answer of a number is to a look.
func (l *look) answered(o *outcome, t *Ticket, answer sequence) {
	if o.look = t.looks && l.looking && t.sequence >= l.looked; o.look {
		l.looked = answer
	}
	switch {
	case o.refused:
		l.quick = o.now.Sub(o.sent)
	case o.look && decided(o.sent, o.now, l.quick) < o.now: // else no other look went meanwhile
		o.beside = o.inFlight()
	}
	o.quick = l.quick
}

// noteUsedUp notes since when nothing remains. That begins anew where a look takes all that it finds, as at a
// limit of one, and rounding hides when that comes back.
func (w *window) noteUsedUp(o *outcome) {
	switch {
	case w.remaining > w.idle:
		w.usedUpSince = 0
	case w.usedUpSince == 0, o.look && !o.refused && o.limit < fewTokens && w.rounded(o.now):
		w.usedUpSince = o.now
		w.refill.doubtEarly.occasion()
		w.reset.soonerDoubt.occasion()
		w.tryStepsAgain()
		w.reset.tryUpAgain(o.now)
		w.refill.doubtRefills.occasion()
		w.refill.windows = max(w.refill.windows-1, 0)
		w.behind.occasion()
		w.doubtCount.occasion()
	}
}

// countBack counts as there what is back by the clock, and reports whether that is more than what remained by
// the latest answers. It is for claims that cannot wait until the answer to a look shows that: else all but one
// of a burst of them would fail, at each window.
func (w *window) countBack(now monotime.Time, answer sequence) (more bool) {
	back := w.backByClock(now)
	if back <= w.remaining {
		return false
	}
	w.restore(back, answer)
	w.countedAt, w.usedUpSince, w.looking = now, 0, false
	w.nextLook = max(w.nextLook, now.Add(Patience)) // the answers will show what is there
	return true
}

// backByClock returns how much is there now: the whole limit after its reset, if all was there after the one
// before; or what comes back at a rate that paced requests have found to be right. It is zero where that may be
// wrong: others draw on the limit, a look found nothing lately, or what was counted before was not there.
func (w *window) backByClock(now monotime.Time) int {
	r := &w.refill
	shared := w.instances || w.renewal.renews || w.others.siblings || w.others.perOurToken > 0 || r.crowd.on()
	switch vain := w.missedLooks > 0 || w.vainLooks > 0 || w.doubtCount.skip > 0; {
	case w.stated == 0, shared, vain, r.refills && r.finds < foundEarly:
		return 0
	case r.refills:
		back := min(now.Sub(w.heardAt).Seconds()*r.rate, float64(w.stated))
		return min(max(w.remaining, 0)+int(back), w.stated)
	case w.seen.whole && w.reset.late != 0 && now >= w.reset.late && (w.usedUpSince == 0 || now >= w.nextLook):
		return w.stated
	}
	return 0
}

// wasCounted reports whether a request went with what was counted. Its answer says what remains, and not how
// the limit comes back: nobody knows what was there when the first of them came. If it was refused, what was
// counted was not there.
func (w *window) wasCounted(o *outcome) bool {
	if o.elsewhere || w.countedAt == 0 || o.sent < w.countedAt || o.sent > w.countedAt.Add(o.now.Sub(o.sent)) {
		return false
	}
	if o.refused && w.doubtCount.skip == 0 {
		w.doubtCount.failAgain(3) // a log has such windows again and again
	}
	return true
}

// tryStepsAgain notes an occasion for guessWholeSteps. Where it was wrong, another client may have begun the
// window, and may have gone. So it is made again, if a look gains more by it than a refusal costs.
func (w *window) tryStepsAgain() {
	r := &w.reset
	w.doubtSteps.occasion()
	if ends := r.ends(); w.wholeSteps == wrong && w.doubtSteps.skip == 0 && ends != 0 && r.late.Sub(ends) > r.late.Sub(r.opened)/worthARefusal {
		w.wholeSteps = untried
	}
}

// rounded reports whether rounding hides when the limit is back.
func (w *window) rounded(now monotime.Time) bool { return w.reset.late.Sub(now) <= w.reset.resolution }

// judgeLook draws the conclusions from the answer to a look. A look that went after the reset
// and was refused came too early: then the server rounds resets down, so that they come up to a
// step later than stated; or, if this is known already, others have taken all, and the next look goes
// at the next reset and after a hold that doubles, see beyond; or if no reset is stated, when seek says.
func (w *window) judgeLook(o *outcome, random func() float64) {
	w.countVain(o, random)
	switch {
	case !o.look:
	case !o.vain():
		w.missedLooks = 0
		switch {
		case w.guess == guessWholeSteps && o.whole():
			w.wholeSteps, w.doubtSteps, w.reset.spanMost = right, doubt{}, o.spanBefore
		case w.guess == guessNext && !w.overtaken.on():
			w.wholeSteps = untried // the window began with our request
		}
	case o.foundRoundsDown: // narrow has drawn the conclusion
	case w.guess == guessWholeSteps:
		w.missGuess(o)
	case o.sent < o.lateBefore: // it went before the reset: that it was refused is no surprise
	case !w.reset.roundsDown && w.reset.resolution > 0 && w.reset.late <= o.now && o.lateBefore != 0:
		w.reset.roundDown()
		w.wholeSteps = untried
	case w.reset.late > o.now && !w.refill.emptyReset:
		// The reset came and brought nothing, and the server states the next one. Either other
		// clients took all of it, or the limit comes back token by token from now on. That
		// emptyReset is never cleared costs little: doubtEarly makes wrong looks ever rarer.
		w.refill.emptyReset, w.refill.doubtEarly.skip, w.usedUpSince = true, 0, o.now
	default:
		w.missedLooks++
	}
}

// countVain counts looks in vain in a row, and notes if that row is over.
func (w *window) countVain(o *outcome, random func() float64) {
	switch {
	case !o.look:
	case o.vain():
		w.vainLooks++
		w.rare.miss(o.now, w.vainLooks, w.limitInRequests(), max(w.span, w.reset.late.Sub(o.now)), random)
	default:
		if w.vainLooks > 0 && o.limit == 1 && w.rounded(o.now) {
			w.refill.outlast()
		}
		w.vainLooks, w.rare = 0, rare{}
	}
}

// missGuess draws the conclusions from the answer to a look on guessWholeSteps that has found nothing.
func (w *window) missGuess(o *outcome) {
	switch {
	case o.change == laterReset:
		w.wholeSteps = right // the window ended when it was thought to, and others have taken all of the next one
	case o.sooner:
		w.reset.soonerDoubt.fail(0) // it came a moment too soon: one goes again
	case w.span == 0 && w.reset.spanMost > 0 && w.reset.spanMost < o.stepsBefore:
		w.reset.spanMost = 0 // the window may be longer than it was, by whole steps
	default:
		w.wholeSteps, w.reset.spanMost = wrong, 0
		w.doubtSteps.failAgain(3) // most windows in which it is wrong begin by the clock
	}
}

// scheduleLook sets nextLook: at the reset, or earlier on a guess; not before a hold that doubles, if looks
// after the reset were refused; if none is stated, when seek says; and no sooner than rare says. The jitter is
// added to that; and never later than MaxHold from now. What is known was said at an instant, or before.
func (w *window) scheduleLook(now, said monotime.Time, c *Config) {
	until := w.reset.late
	w.guess = noGuess
	switch missed := w.missedLooks; {
	case w.renewal.renews && w.usedUpSince != 0:
		until = max(until, w.renewal.next(c.Random))
	case w.usedUpSince != 0 && w.overtaken.knows(&w.reset):
		until, w.guess = w.overtaken.next(now), guessNext
	case until == 0, missed > 0 && w.seek.from != 0:
		until = w.dearth.next(now, w.seek.next(said, missed, w.span))
	case missed > 0:
		until = max(until, now.Add(beyond(missed)))
	case w.usedUpSince != 0 && !w.instances:
		signs := w.signs()
		until, w.guess = signs.look(w.usedUpSince)
	}
	until = max(until, w.soonestLook())
	hold := max(until.Sub(now), 0)
	if hold > c.MaxHold {
		w.guess = noGuess
	}
	jitter := time.Duration(0)
	// While something remains, the next answer sets nextLook anew: a random number for each would be wasted.
	if w.usedUpSince != 0 && w.guess != guessNext {
		jitter = c.jitter(min(hold, c.MaxHold))
	}
	cut := c.within(hold, jitter)
	w.cutBy = max(hold-cut, 0)
	w.nextLook = now.Add(cut)
}

// signs returns what speaks for a look before the reset.
func (w *window) signs() signs {
	return signs{w.limitInRequests(), &w.reset, w.wholeSteps, w.sooner(), w.refill.signs()}
}

// sooner returns by how much a look goes sooner than when the window is over for sure. It does so where it was
// right to look when whole steps had passed; not where others look, too.
func (w *window) sooner() time.Duration {
	if w.wholeSteps != right || w.others.perOurToken >= othersSeen {
		return 0
	}
	return w.reset.sooner()
}

// usedUp reports whether nothing remains and it is too early for a look.
func (w *window) usedUp(now monotime.Time) bool { return w.remaining <= 0 && w.nextLook > now }

// takeHint takes in the hint of a refusal, which also holds the bucket, and says when one request may go; a
// reset says when the whole limit is back. Retry-After (RFC 9110 section 10.2.3) takes precedence over a reset,
// says draft-ietf-httpapi-ratelimit-headers.
func (w *window) takeHint(now monotime.Time, a *Answer) {
	if a.Refused && a.Hold > 0 && !w.renewal.renews {
		said := min(w.nextLook.Add(w.cutBy), max(now.Add(min(stretched(a.Hold, w.vainLooks), monotime.Longest)), w.soonestLook()))
		w.nextLook = min(w.nextLook, said)
		w.cutBy = min(w.cutBy, said.Sub(w.nextLook))
	}
}

// soonestLook returns the instant before which no look goes since looks are rare; zero if there is none. Where
// it is known just when to look (overtaken), looks come then, and end by themselves if they find nothing.
func (w *window) soonestLook() monotime.Time {
	if w.usedUpSince == 0 || w.guess == guessNext {
		return 0
	}
	return w.rare.from
}

// jitter returns what is added to a hold of d, so that several processes do not all come back in
// the same instant: a random part of d/100, or of a second if that is less. It is never negative,
// so that no hold is shorter than the server asks for.
func (c *Config) jitter(d time.Duration) time.Duration {
	return time.Duration(c.Random() * float64(mostJitter(d)))
}

// mostJitter bounds jitter.
func mostJitter(d time.Duration) time.Duration { return min(d/100, time.Second) }

// within returns a hold with its jitter, MaxHold at most. Where MaxHold cuts the hold short, the jitter is
// before it, so that several processes do not all look in the same instant.
func (c *Config) within(hold, jitter time.Duration) time.Duration {
	if hold > c.MaxHold {
		return c.MaxHold - jitter
	}
	return min(hold+jitter, c.MaxHold)
}
