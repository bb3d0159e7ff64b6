package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// outcome is what one answer says about one window, together with what was known of the window
// before. The parts of a window (refill, others) draw their conclusions from it.
type outcome struct {
	sent, now monotime.Time
	n         int           // what the request has cost of the limit, or would have cost
	limit     int           // window.limit: as stated, or else the most that was there; zero if it is not known
	span      time.Duration // of the window
	remaining int           // as the server states it after the request, see behind.go
	refused   bool
	failed    bool          // the request failed in a way in which some servers refuse, but was not taken for refused
	elsewhere bool          // another limit has refused the request, see elsewhere.go
	look      bool          // the request went although nothing remained
	paced     bool          // the request went although nothing remained, and not with others of which the last one's answer overtook its own
	guess     guess         // why the look went before the reset, if it did
	flight    int           // what was under way with it
	granted   int           // all that we had sent with it; zero if that is not known, or in another unit
	beside    int           // of that, what other looks may have taken of what this one found
	quick     time.Duration // in which the latest refusal came; zero before the first one
	others    int           // so much others are likely to have used of the limit since it was restored, if the request is the first of ours
	used      used          // of the limit so far
	newest    bool          // the server wrote the answer after all answers before
	counted   bool          // the server is known to count the request in what remains, see behind.go
	requests  bool          // the limit is of requests, and not of another unit
	grain     int           // what the numbers of a limit of another unit are multiples of; zero if that is not known
	unpriced  bool          // nobody said what the request costs of the limit: n is what was learned of that

	resetIn, resetStep time.Duration // when the limit is restored, counted from the answer, and in which step that was stated; zero if it was not, or as an instant

	// The same if it is stated in milliseconds: two instants between which it is, by the clock of the server if
	// that is by which it was stated. And if it is, or is an instant in whatever step, two times from about
	// when the server wrote the answer. All are zero otherwise.
	resetEarly, resetLate monotime.Time
	inLeast, inMost       time.Duration

	otherLimit      bool        // the limit was another number before the answer: what was known says nothing about this one
	otherSpan       bool        // likewise, the window
	limitBefore     int         // window.stated before the answer
	nextWindow      bool        // the answer states the reset of the next window, of which others have taken all, see overtaken
	change          resetChange // what the answer says of the reset, beside what was known before
	foundRoundsDown bool        // the answer is the first to show that the server rounds resets down

	leastThen               int           // the least Remaining of the round trip before
	heardThen               monotime.Time // when its latest answer came
	remainingBefore         int           // the least Remaining before the answer
	idle                    int           // of that, so much is for others alone, see look; zero if the request may have it
	earlyBefore, lateBefore monotime.Time // the reset before the answer
	soonestBefore           monotime.Time // when that came at the soonest, see reset.soonest
	sooner                  bool          // looks went a round trip sooner before the answer, see reset.sooner
	spanBefore              time.Duration // how long the window before the answer lasted at the most, see reset.ends
	stepsBefore             time.Duration // and how many whole steps, by what is stated alone
	usedUpSince             monotime.Time // when nothing remained first; zero if something remained
	farIn                   time.Duration // the farthest reset that was stated of late
}

// found returns how much was there before the request, if it was served: this is the one place that adds n to
// what remains. If the request was refused, n is what it would have cost, and nothing was taken: found is too
// much by n. If the price is only learned (unpriced), found is a guess. At a server that is one behind,
// remaining is already what the statement stands for, see behind.go.
func (o *outcome) found() int { return o.remaining + o.n }

// inFlight is what is under way after the answer.
func (o *outcome) inFlight() int { return o.flight - o.n }

// decided returns when the server had surely decided on the request: what it says of the limit is of no later
// instant.
func (o *outcome) decided() monotime.Time { return decided(o.sent, o.now, o.quick) }

// decided returns when a server had decided on a request, before now. A refusal takes no work, so it comes as
// soon as that is decided: who is not refused in twice that time (quick) is served, even if the answer takes
// seconds to write.
func decided(sent, now monotime.Time, quick time.Duration) monotime.Time {
	if quick == 0 {
		return now
	}
	return min(now, sent.Add(2*quick))
}

// vain reports whether a look has found nothing: it was refused, or had one of the tokens that are there for
// others, or cost less than was thought, and so no more than what was there. One that was served where nothing
// was has found what it cost. What was there of another limit says nothing of that.
func (o *outcome) vain() bool {
	switch {
	case o.refused:
		return true
	case o.otherLimit:
		return false
	}
	return o.idle > 0 && o.found() <= o.remainingBefore || o.unpriced && 0 < o.remainingBefore && o.remaining <= o.remainingBefore
}

// back returns how much a look found that has come back: what is there for others alone was there before, and
// what was too little for the look, but for what was under way.
func (o *outcome) back() int {
	return o.found() - max(min(o.idle, o.remainingBefore), min(o.remainingBefore-o.inFlight(), o.n-1), 0)
}

// whole reports whether the whole limit was there before the request, but for what others are likely to have
// used, or other looks.
func (o *outcome) whole() bool { return 10*(o.found()+o.beside+o.others) >= 9*o.limit }

// taken reports whether others have taken what was there for a refused request: what it costs was left beside
// all that was under way, and now nothing is. A server may be one behind: until it is known not to be, more
// must have been left.
func (o *outcome) taken() bool {
	over := o.remainingBefore - o.flight
	return o.refused && o.newest && o.requests && !o.otherLimit && o.remaining <= 0 && (over > 0 || over == 0 && o.counted)
}

// refusedElsewhere reports whether the request was refused by another limit than this one, if one is short. It
// was if enough remains of this one. It was as well if the whole of this one was there before the request, and
// surely not of another that is short: that is how a limit of one looks that has counted the request. Where all
// that are short look so, it may be any of them: else none would ever be found to be used up.
func (o *outcome) refusedElsewhere(short, sure bool) bool {
	if !o.refused || !short {
		return false
	}
	return o.remaining >= max(o.n, 1) || sure && o.whole()
}

// rises reports whether more remains than can have come back since the round trip before, if the reset that was
// stated has not come: whatever the algorithm, what is missing comes back at an even rate at the soonest. It
// requires that the answer is the newest: then the server wrote it after all those of which leastThen is the
// least. Package counter looks closer.
func (o *outcome) rises() bool {
	if o.earlyBefore <= o.now || o.refused {
		return false
	}
	missing, part := float64(o.limit-o.leastThen), float64(o.now.Sub(o.heardThen))/float64(o.earlyBefore.Sub(o.heardThen))
	return float64(o.found()-o.leastThen) > 2+missing*part
}

// atEnd reports whether a look has found that the reset had come before it was stated to come.
func (o *outcome) atEnd() bool {
	return o.look && !o.vain() && o.guess == guessWholeSteps && o.sent < o.lateBefore
}

// manyResets: so many times as long as the farthest reset was away, many resets have come.
const manyResets = 4

// missingSince returns from when on what has come back now was missing, at the soonest; zero if something
// remained. That is when nothing remained first. But many resets may have come since, if others took all each
// time, or a limit of one was used up again and again. Then it is as long before the latest reset as the
// farthest reset was away, and two of the steps in which resets are stated.
func (o *outcome) missingSince(step time.Duration) monotime.Time {
	far := o.farIn + 2*step
	if o.usedUpSince == 0 || far <= 0 || o.lateBefore.Sub(o.usedUpSince)/manyResets < far {
		return o.usedUpSince
	}
	return o.lateBefore.Add(-far)
}
