package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// seek says when to look whether a limit is restored whose reset the server does not state. A reset that is
// stated to be now, or to have passed, counts as none once a look at it has found nothing.
//
// As after a row that was refused (see row), the looks come when nothing was there for half as long again as at
// the look before (beyond a minute, for as long again), at whole seconds since the window began. What a look
// finds is kept: the window lasts longer than least, and most at the most. So the next window is looked at in
// the middle, and after a few of them at its end; and once in halveAfter of them after half of that, if it
// lasts two seconds or more: it may have become shorter. A limit of which a part comes back is not looked at
// sooner: nothing of it was lost. The same goes for what is back within less than a second, unless all of it
// is. What several looks found of such a limit is counted together: so it does not seem to come back ever more
// slowly, a little with each look, and where others stop to draw on it, what comes back is soon seen to be
// more. Others who took all for long look like a longer window: so the look in the next one comes when it did
// before.
//
// Of another unit, requests cost many tokens each. A look that finds a part of these, after one that found
// nothing, has found what others left of a window: of tokens that come back one by one, the look before would
// have found some, too.
//
// In come answers (note); out comes when to look (next).
type seek struct {
	from      monotime.Time // when the window began; zero if its reset is stated
	least     time.Duration // so long after from, nothing was there
	most      time.Duration // so long after from, something was there; zero if that was not seen, but by looks that were late
	single    bool          // tokens come back one by one: most is what one takes, and least is as much
	confirmed int           // how many looks in a row found the whole limit so late
	count     int           // of the windows so far
	vain      bool          // a look has found nothing since the window began
	short     time.Duration // most, before it grew to twice as much or more, the latest time; zero if the next window was as long
	bits      bits          // what looks found of a limit that comes back token by token, since most is what a token takes
	bunch     time.Duration // so late, the latest look that found a part found several tokens, see inBunch; else zero
}

// bits is what several looks in a row found together: so many tokens in a time.
type bits struct {
	took   time.Duration
	tokens int
}

// mostBits is how many tokens are counted. Then the count begins anew: others may have come or gone.
const mostBits = 16

// halveAfter is of how many looks at the end of a window one comes after half of it. So it is found after half
// an hour that a window of a minute has become shorter, and one request is refused in as many windows to find
// that out.
const halveAfter = 32

// longestHalved: a longer window takes minutes until a look after half of it.
const longestHalved = 8 * firstLook

// longestKept is how long a window is at most whose length a later run, or another process, goes by. It may be
// shorter now, and callers fail where they would wait for longer than that.
const longestKept = 2 * time.Minute

// firstLook is after how long a used-up limit is looked at first.
const firstLook = time.Second

// shortestLook bounds how soon after the latest one that was served a look comes.
const shortestLook = time.Millisecond

// note takes in an answer: a reset that is to come may be known, and a limit may be stated. Where none is
// stated, all that was ever there is back each time if never more than one is: so nothing shows that it was
// back sooner, and the next look comes after a second.
func (l *seek) note(o *outcome, resetKnown, limitStated bool) {
	took := max(o.sent.Sub(l.from), 0)
	switch {
	case resetKnown:
		*l = seek{}
	case l.from == 0, o.elsewhere && o.whole():
		l.from, l.vain, l.count = o.decided(), false, l.count+1
	case o.look && o.vain():
		l.least, l.confirmed, l.vain = max(l.least, took), 0, true
	case o.refused:
	case o.look && l.isBack(o, took, limitStated):
		if l.confirmed++; took < l.least { // the window has become shorter
			l.least, l.confirmed = 0, 0
		}
		if !limitStated {
			took, l.least = max(took, firstLook), max(l.least, firstLook)
		}
		l.restored(l.within(max(took, shortestLook), o.span))
		l.from, l.vain, l.count = o.decided(), false, l.count+1
	case o.look: // it comes back token by token, or others were there first; or they have gone since
		floor := min(took, firstLook)
		if o.whole() && l.most <= firstLook { // it may have been back for long
			floor = 0
		}
		l.most, l.from = max(l.perToken(took, o.back(), o.whole()), floor, shortestLook), o.decided()
		l.least, l.single, l.confirmed, l.vain, l.short = l.most, true, 0, false, 0
	case o.whole() && o.newest: // it was restored meanwhile
		l.from, l.vain, l.count = o.decided(), false, l.count+1
	}
}

// within returns when to look, or for how long a window has lasted, bounded by the span that the server states:
// from the latest time that the window was seen to begin, it lasts no longer. That is not so if nothing was
// there so late.
func (l *seek) within(d, stated time.Duration) time.Duration {
	if stated > l.least {
		return min(d, stated)
	}
	return d
}

// restored takes in that a look found the whole limit, so long after the window began. A look may be late, as
// nobody asked for more meanwhile or another limit was used up: then it does not tell when the limit was back.
// Most grows only if a look found nothing so late. That may be since others took all each time: so if it has
// grown to twice as much, the next looks begin where they did.
func (l *seek) restored(took time.Duration) {
	l.single = false
	longer := l.most == 0 || l.least >= l.most
	if longer && took > 2*later(l.least) {
		l.most = 0
		return
	}
	switch {
	case longer && l.short == 0 && took >= 2*l.most:
		l.short = l.most
	case l.vain || took < 2*l.short:
		l.short = 0
	}
	if longer || took < l.most {
		l.most = took
	}
	l.least = min(l.least, l.most)
}

// lookAnew takes in that the limit was changed. Whether a long window has become shorter is looked for at once:
// looks come as at first, until it was back before.
func (l *seek) lookAnew() {
	if l.most > longestHalved {
		l.least, l.confirmed, l.vain, l.short = 0, 0, false, firstLook
	}
}

// isBack reports whether a look has found, so long after the window began, the limit or what others have left
// of it: and not a part that came back token by token.
func (l *seek) isBack(o *outcome, took time.Duration, limitStated bool) bool {
	return o.whole() && (!limitStated || !l.inBits(took)) || l.inBunch(took, o.back()) || o.unpriced && l.vain
}

// inBits reports whether a part was found at the latest look, and all so soon after it that a token takes less
// than was thought.
func (l *seek) inBits(took time.Duration) bool { return l.single && took < 2*l.most }

// inBunch reports whether the tokens that a look found came back at once: what was sent at once to a log does,
// one span later. That is believed where two looks in a row found several tokens after the same time, and a
// look before each had found none; and for as long as looks after that time find several.
func (l *seek) inBunch(took time.Duration, tokens int) bool {
	again := (took - l.bunch).Abs() <= min(l.bunch/16, firstLook)
	if l.bunch = 0; tokens > 1 && (l.vain || again && l.least < l.most) {
		l.bunch = took
	}
	return again && l.bunch > 0
}

// perToken returns how long a token takes to come back, where a look found so many, all of the limit perhaps.
// Up to one more was nearly back before the first look of the bits: what was known stays if that explains what
// they found together. Where all was back, more would have come.
func (l *seek) perToken(took time.Duration, tokens int, all bool) time.Duration {
	if !l.single || l.bits.tokens >= mostBits {
		l.bits = bits{}
	}
	b := &l.bits
	b.took, b.tokens = b.took+took, b.tokens+max(tokens, 1)
	n := time.Duration(b.tokens)
	tooLong, tooShort := n > 1 && b.took/(n-1) < l.most, b.took/(n+1) >= l.most && !all
	if l.single && !tooLong && !tooShort {
		return l.most
	}
	each := b.took / n
	*b = bits{}
	return each
}

// resume takes up what looks have found before: of now if it was in this process, else in an earlier run or by
// another process. It reports whether there is anything to take up: not where the reset is stated.
func (l *seek) resume(h *Habits, ofNow bool) bool {
	if l.from == 0 || h.BackAfter <= 0 && h.BackWithin <= 0 || !ofNow && max(h.BackAfter, h.BackWithin) > longestKept {
		return false
	}
	if l.least, l.most = max(h.BackAfter, 0), max(h.BackWithin, 0); l.most < l.least {
		l.most = 0 // it lasted longer the latest time
	}
	l.single, l.confirmed = l.least == l.most, min(max(h.BackConfirmed, 0), halveAfter)
	return true
}

// next returns when to look, if nothing is there now, and nothing was at so many looks before, at a limit of
// which the server states a span, zero if it does not.
func (l *seek) next(now monotime.Time, missed int, stated time.Duration) monotime.Time {
	lasted := now.Sub(l.from)
	if stated <= lasted {
		stated = 0
	}
	least := max(l.least, lasted)
	look := l.most
	switch step := min(l.most/16, firstLook); {
	case l.most == 0 && l.least == 0 && missed == 0:
		return now.Add(firstLook)
	case l.short > 0 && lasted < l.short:
		look = l.short
	case l.short > 0 && (l.most == 0 || later(lasted) < l.most):
		look = later(lasted)
	case l.most == 0:
		look = later(least)
	case lasted >= l.most: // it lasts longer than it did
		after := lasted % l.most // others may have taken it, so the next one may be back after as long again
		hold := min(max(after, min(l.most, firstLook)), l.most-after)
		look = wholeSeconds(lasted + max(hold, lasted/8, firstHold))
	case l.confirmed >= halveAfter && l.most >= 2*firstLook && lasted < l.most/2: // a second and a round trip are a second
		look = wholeSeconds(l.most / 2)
	case l.most-least > step:
		look = l.between(least)
	}
	return l.from.Add(max(l.within(look, stated), shortestLook))
}

// between returns after how long the look comes where nothing was there so late, and something was there after
// most: in the middle, at a whole second where there is one.
func (l *seek) between(least time.Duration) (look time.Duration) {
	if look = wholeSeconds(least + (l.most-least)/2); look > l.most {
		if look = l.most.Truncate(time.Second); look <= least {
			look = l.most
		}
	}
	if last := l.most.Truncate(time.Second) - time.Second; look > last && last > least {
		look = last // the one after it is where something was there
	}
	return look
}

// later returns after how long the look comes after one that found nothing so late, if it is not known when the
// limit is back.
func later(least time.Duration) time.Duration {
	if least > time.Minute {
		return wholeSeconds(2 * least) // most windows are no longer
	}
	return wholeSeconds(max(least+max(least/2, firstHold), firstLook))
}

// wholeSeconds rounds up to whole seconds what is longer than one.
func wholeSeconds(d time.Duration) time.Duration {
	if d < firstLook {
		return d
	}
	return (d + time.Second - 1).Truncate(time.Second)
}
