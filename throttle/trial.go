package throttle

import "time"

// trial is a guess about a reset on which one request looks earlier than the server
// says. Where a reset is stated in steps that are coarse beside what is waited for,
// waiting for the end of the step would waste much of the quota, and looking once
// costs one refusal at most.
type trial int

const (
	noTrial trial = iota
	// tryRefill: what is stated is the time to full, and so one token is back
	// early. See refill.
	tryRefill
	// tryWhole: the window began with the first request that it counted, and lasts
	// whole steps; so it ends in the same part of a step.
	tryWhole
)

// guess is what became of a trial.
type guess int

const (
	open guess = iota
	right
	wrong
)

// try returns when one request may go and look at a window that is spent, and on
// what guess.
func (w *window) try() (at instant, on trial) {
	wait := w.late.sub(w.spent)
	unknown := w.late.sub(max(w.early, w.spent)) // how much of it is not known
	if !w.refills && w.tried.left == 0 && w.limit >= 1 && (w.suspect || 2*unknown > wait) {
		after := (wait + w.step) / time.Duration(w.limit)
		if w.limit < fewTokens {
			after = max(wait, w.step) / 2
		}
		if after < wait {
			return w.spent.add(after), tryRefill
		}
	}
	if w.whole != wrong && w.step > 0 && w.opened > 0 {
		part := w.late.sub(w.opened) % w.step // of a step is left after the last whole one
		if at := w.late.add(-part); at > max(w.early, w.spent) {
			return min(at.add(w.unsure), w.late), tryWhole
		}
	}
	return w.late, noTrial
}

// fewTokens come back so late, were the reset the time to full and rounded up, that it
// would not be early to look then.
const fewTokens = 4
