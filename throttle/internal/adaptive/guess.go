package adaptive

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// guess is a reason to believe that a limit is restored earlier than the server says, so that one
// request may look before the stated reset. Where resets are stated in steps that are
// long compared with the wait, waiting for the end of the step would waste much of the limit. A
// wrong guess costs one refusal.
type guess int

const (
	noGuess guess = iota
	// guessRefill: the stated reset is the time to full, so that one token is back much earlier (see refill).
	// Where the look finds the whole limit, the next one goes after half of the time, until it is seen how fast
	// the limit comes back, or a look is refused.
	guessRefill
	// guessWholeSteps: the window began with the first request that the server counted in it,
	// and lasts a whole number of steps. So it ends in the same fraction of a step in which it
	// began.
	guessWholeSteps
	// guessNext: others use up each window as soon as it begins, and the end of this one is known from those
	// before, see overtaken.
	guessNext
)

// mostHalved is how often the time to a look is halved: of a second, to less than a millisecond.
const mostHalved = 10

// proof is what became of a guess.
type proof int

const (
	untried proof = iota
	right
	wrong
)

// signs are what speaks for a look before the reset at a limit of so many requests.
type signs struct {
	limit int
	reset *reset

	tried  proof         // what became of guessWholeSteps before
	sooner time.Duration // a look goes on it by so much sooner, see reset.sooner

	refillSigns
}

// refillSigns are what speaks for guessRefill.
type refillSigns struct {
	open       bool          // it is not known that the limit refills, nor were looks in vain lately
	emptyReset bool          // a reset brought nothing
	uneven     bool          // the resets that were stated are not the time until what is missing is back
	foundAll   int           // looks in a row that found the whole limit
	spacing    time.Duration // how far apart tokens come, as the user says; zero if the user does not say it
}

// look returns when a look may go, and on which guess, if nothing remains since an instant.
func (f *signs) look(usedUpSince monotime.Time) (at monotime.Time, basis guess) {
	r := f.reset
	wait := r.late.Sub(usedUpSince)
	uncertain := r.late.Sub(max(r.early, usedUpSince)) // the part of the wait in which the reset may be
	if f.open && f.limit >= 1 && (f.emptyReset || !f.uneven && 2*uncertain > wait) {
		after := (wait + r.resolution) / time.Duration(f.limit)
		if f.limit < fewTokens {
			after = max(wait, r.resolution) / 2 // half a step at least: what is rounded to one may be any part of it
		}
		after >>= min(f.foundAll, mostHalved)
		if f.limit == 1 && f.spacing > 0 {
			after = min(after, f.spacing) // the user says so
		}
		if after < wait {
			return usedUpSince.Add(after), guessRefill
		}
	}
	if at := r.ends(); f.tried != wrong && at > max(r.least(), usedUpSince) {
		at = at.Add(r.halfRoundTrip - f.sooner)
		return min(max(at, r.least()), r.late), guessWholeSteps
	}
	return r.late, noGuess
}

// earliest returns an instant before which no look will go, on whatever guess, if something remains yet at the
// instant t. It is for projections.
func (f *signs) earliest(t monotime.Time) monotime.Time {
	at, _ := f.look(t)
	if r := f.reset; f.open && f.limit >= 1 {
		// From here on more than half of the wait is uncertain.
		from := max(t, r.early.Add(r.early.Sub(r.late)))
		at = min(at, from)
	}
	return at
}
