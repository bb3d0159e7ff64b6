package adaptive

import (
	"cmp"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/overload"
)

// This file says for how long nothing goes after a refusal, by what the hint stands for (hint.go) and what is
// known of the server: in the bucket (hold), or of a request that waits by itself (alone).

// hold returns for how long the bucket is held: for as long as the server has asked. There are two exceptions,
// unless a window is used up, at which one request looks. If the server does not say for how long, the hold is
// firstHold at first, and longer with each refusal in a row, see silentHold. If it refuses again and again
// after the hold that it asked for, the hold is stretched, see Hold; but not where some requests may never be
// taken.
//
// A jitter is added: up to a hundredth of the hold; from the second refusal in a row on, up to half of it, and
// a second at most, unless the server says nothing at all or it is known just when to look (punctual). MaxHold
// bounds the whole.
func (s *Server) hold(now monotime.Time, a *Answer, asked time.Duration) time.Duration {
	hold := max(a.Hold, 0)
	mute := (!a.HoldKnown || asked <= 0) && len(s.windows) == 0 // "ask now" says nothing
	if a.Refused && !s.usedUp(now) {
		n := s.refusals
		if s.judge.Suspects() {
			n = min(n, obeyed)
		}
		switch hold = Hold(asked, n); {
		case a.crowded && asked <= 0:
			hold = beyond(s.refusals)
		case asked > 0 || s.successes == 0:
		case mute:
			hold = s.silentHold(now, a.Waiting)
		default:
			hold = unsaid(s.refusals)
		}
		if _, _, windowed := s.pace.Window(); asked <= 0 && !windowed && s.overload.Belief() != overload.MeanFailure {
			hold = min(hold, overload.LongestHold)
		}
	}
	jitter := s.config.jitter(min(hold, s.config.MaxHold))
	if s.refusals > 1 && !mute && !s.punctual() {
		// Another client that came back in the same instant may have taken all there was, and
		// would do so again. A hundredth does not part clients whose round trips differ by more.
		jitter = min(jitter*50, time.Second)
	}
	return s.config.within(hold, jitter)
}

// closeLooks is after how long looks come at most at a server that says nothing where some requests may never
// be taken.
const closeLooks = 5 * time.Second

// silentHold returns for how long nothing goes at a server that says nothing, and that has served something
// before: until the look that what was served in a row calls for, see pace.Rate.Look; or as long as unsaid
// says. So many others wait to look in turns.
func (s *Server) silentHold(now monotime.Time, others int) time.Duration {
	// A trial of failures counts on the looks for buckets.
	if look, ok := s.pace.Look(now, s.refusals, s.overload.Belief() == overload.MeanFailure, others); ok {
		if s.judge.Suspects() && look <= longestStretch {
			look = min(look, closeLooks)
		}
		return look
	}
	return unsaid(s.refusals)
}

// holdAsked returns for how long a refusal asks. That is its hint, which is in steps, unless more is known of
// the windows that it says are used up. It may be known when they end, as others use them up before our looks
// (overtaken): then it is as long as to the next look, and no shorter than the hint less its step. Or they come
// back token by token, and again and again a token was there long before the reset that was stated in the same
// steps. A server that has just served requests 60 ms apart, and told each of them that nothing remains for a
// second, has rounded up its "Retry-After: 1" as well. Then it is as long as one token takes, doubled with each
// refusal in a row up to mostSooner, and as long as the hint at most.
func (s *Server) holdAsked(now monotime.Time, hint, step time.Duration, stated []quota.Statement) time.Duration {
	var back, next time.Duration
	for i := range stated {
		st := &stated[i]
		if st.Remaining > 0 {
			continue
		}
		w := s.find(nameOf(st))
		if w != nil && w.guess == guessNext && hint <= st.Reset+step {
			next = max(next, w.nextLook.Sub(now))
			continue
		}
		if w == nil || w.unit != "" || !w.refill.early() {
			return hint
		}
		back = max(back, w.refill.token())
	}
	if back == 0 && next > 0 {
		return min(max(next, hint-step), hint)
	}
	if back <= max(hint-step, 0) || s.refusals >= mostSooner || doubled(1, s.refusals+1) > hint/back {
		return hint
	}
	return doubled(back, s.refusals+1)
}

// mostSooner is after how many refusals in a row the hint counts: then the server may know better.
const mostSooner = 3

// punctual reports whether it is known just when to look at some window, since refused requests begin it anew
// (renewal), or it is used up, and others use it up at once (overtaken).
func (s *Server) punctual() bool {
	return slices.ContainsFunc(s.windows, func(w *window) bool { return w.renewal.renews || w.guess == guessNext })
}

// alone returns for how long a claim waits by itself after its n-th refusal. If the server does not say, that
// is longestStretch at most, and a random part of up to half of it more: without that, claims of a narrow limit
// that were refused together would be refused together again.
func (s *Server) alone(asked time.Duration, n int) time.Duration {
	hold := min(Hold(asked, n), cmp.Or(s.config.MaxHold, monotime.Longest)) // where no server holds the bucket, the hint counts
	if asked > 0 {
		return hold
	}
	hold = min(hold, longestStretch)
	return hold + time.Duration(s.config.Random()*float64(hold/2))
}
