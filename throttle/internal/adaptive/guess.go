package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// guess is a guess about a reset on which one request looks earlier than the server says.
// Where a reset is stated in steps that are coarse beside what is waited for, waiting for the
// end of the step would waste much of the quota, and looking once costs one refusal at most.
type guess int

const (
	noGuess guess = iota
	// guessRefill: what is stated is the time to full, and so one token is back early. See
	// refill.
	guessRefill
	// guessWhole: the window began with the first request that it counted, and lasts whole
	// steps; so it ends in the same part of a step.
	guessWhole
)

// proof is what became of a guess.
type proof int

const (
	untried proof = iota
	right
	wrong
)

// earlyProbe returns when one request may go and look at a limit of which nothing remains
// since an instant, and on what guess.
func earlyProbe(limit int, spent monotime.Time, r *reset, f *refill, whole proof) (at monotime.Time, on guess) {
	wait := r.late.Sub(spent)
	unknown := r.late.Sub(max(r.early, spent)) // how much of the wait is not known
	if !f.refills && f.doubtEarly.skip == 0 && limit >= 1 && (f.suspect || 2*unknown > wait) {
		after := (wait + r.resolution) / time.Duration(limit)
		if limit < fewTokens {
			after = max(wait, r.resolution) / 2
		}
		if after < wait {
			return spent.Add(after), guessRefill
		}
	}
	if whole != wrong && r.resolution > 0 && r.opened > 0 {
		part := r.late.Sub(r.opened) % r.resolution // of a step is left after the last whole one
		if at := r.late.Add(-part); at > max(r.early, spent) {
			return min(at.Add(r.halfRoundTrip), r.late), guessWhole
		}
	}
	return r.late, noGuess
}
