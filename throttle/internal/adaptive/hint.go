package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
)

// This file says what a hint stands for, or the lack of one: for how long a refusal asks, by the answer itself
// and by how many refusals came in a row. It knows nothing of the server: holds.go does.

// readHint has the hint of the n-th refusal in a row be what it stands for. Asked is for how long the server
// asks; zero or less if it says to ask now, which says nothing: then it is refused, and the hint is a hold of
// ours.
func (a *Answer) readHint(n int) (asked time.Duration) {
	switch asked = a.Hold; {
	case !a.Refused:
	case asked > 0:
		asked = nearer(asked, a.HoldResolution, a.Statements, n)
		a.Hold = asked
	case a.HoldKnown:
		a.Hold = inAMoment(a.Statements, n)
	}
	return asked
}

// firstHold is how long a bucket is held after a refusal for which the server gave neither a hint nor a reset.
// The hold doubles with each further refusal in a row, unless a row of served requests before it says more: see
// silentHold.
const firstHold = 100 * time.Millisecond

// Hold returns for how long nothing goes after the n-th refusal in a row. Asked is for how long the server
// asks; zero if it does not say. What it asks for is obeyed three times, and from then on stretched by half
// each time: so a request that may be refused ten times lasts for most of a minute.
func Hold(asked time.Duration, n int) time.Duration {
	switch {
	case asked <= 0:
		return doubled(firstHold, n)
	case n <= 1:
		return asked
	}
	return stretched(max(asked, firstHold), n)
}

// stretched returns a hold that is obeyed for the n-th time in a row, since a refusal came after it each time:
// from the fourth time on, half as long again each time.
func stretched(hold time.Duration, n int) time.Duration {
	if hold >= longestStretch {
		return hold
	}
	for range min(n-obeyed, 20) { // 1.5^20 is over 3000
		hold = min(hold+hold/2, longestStretch)
	}
	return hold
}

// obeyed is how often in a row a hint is obeyed before it is stretched.
const obeyed = 3

// longestStretch bounds to how much a hold is stretched that the server asked for, and after which it refused
// again. A longer hold is not stretched.
const longestStretch = 30 * time.Second

// unsaid is Hold for a server that does not say for how long, and that has served something before. At
// longestStretch the hold stays for eight refusals, since others may have taken what came back each time, and
// may be done soon.
func unsaid(n int) time.Duration {
	if hold := doubled(firstHold, n); hold < longestStretch {
		return hold
	}
	return doubled(longestStretch, n-atLongest)
}

// atLongest is after how many refusals in a row unsaid grows beyond longestStretch: after nine it is there, and
// it stays there for eight.
const atLongest = 17

// doubled returns d · 2^(n−1) for the n-th time in a row, and d · 2^20 at most.
func doubled(d time.Duration, n int) time.Duration { return d << min(max(n-1, 0), 20) }

// nearer returns for how long the n-th refusal in a row asks. That is its hint, which is in steps, unless the
// answer itself shows that the hint was rounded up: resets in finer steps say that all that is used up comes
// back within the last step of the hint. "Retry-After: 1" beside a reset in 12 ms is such an answer. Then it is
// as long as the farthest of these resets, doubled with each refusal in a row, since others may have taken what
// came back; and as long as the hint at most.
func nearer(hint, step time.Duration, stated []quota.Statement, n int) time.Duration {
	var reset time.Duration
	for i := range stated {
		st := &stated[i]
		switch {
		case st.Remaining > 0:
		case !st.ResetKnown || st.Absolute || st.Resolution >= step: // an instant was read by clocks that may differ
			return hint
		default:
			reset = max(reset, st.Reset)
		}
	}
	if reset <= max(hint-step, 0) || doubled(1, n) > hint/reset {
		return hint
	}
	return doubled(reset, n)
}

// inAMoment returns for how long nothing goes after the n-th refusal in a row if the server says to ask now:
// twice as long each time. If a reset is stated of what is used up, others have taken all again, see beyond.
func inAMoment(stated []quota.Statement, n int) time.Duration {
	for i := range stated {
		if st := &stated[i]; st.Remaining <= 0 && st.ResetKnown && st.Reset > 0 {
			return beyond(n)
		}
	}
	return doubled(firstHold, n)
}

// beyond returns for how long nothing goes after so many looks that were refused, if a reset is stated that is
// still to come: others have taken all again. Who loses often does not stay away for longer than the others.
func beyond(missed int) time.Duration {
	return min(doubled(firstHold, missed), doubled(longestBeyond, 1+missed/manyMissed))
}

// longestBeyond is to how much the hold doubles after looks that were refused, if the server states a reset
// that is still to come. Where that is nearer, there would else be a refusal for each, however near they are.
// After manyMissed such looks it is twice as much, and so on: then it is not others who take all, but the
// server lets nothing through, whatever it states.
const (
	longestBeyond = time.Second
	manyMissed    = 30
)
