package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Spend is how what remains of a limit is spent until its reset; see throttle.Spend.
type Spend int

// The ways to spend.
const (
	Auto     Spend = iota // Eager if the reset may be waited for, else Balanced
	Eager                 // as fast as it is asked for
	Balanced              // down to a fifth of the limit as fast as it is asked for; the last fifth is spread
	Even                  // the whole limit is spread
)

// scarceDivisor says below which part of the limit the rest is spread: limit/5.
const scarceDivisor = 5

// latest is when something went last, and before that, so that what was not sent in the end can be taken back.
// At the start nothing went.
type latest struct {
	at   monotime.Time // when something went last
	went [4]struct {
		at monotime.Time
		n  int // how often at that instant
	}
	last uint // index of the latest one; before it, modulo 4, are the ones before
}

// note notes that something goes now.
func (l *latest) note(now monotime.Time) {
	if now != l.at {
		l.at = now
		l.last++
		l.went[l.last%4].at, l.went[l.last%4].n = now, 0
	}
	l.went[l.last%4].n++
}

// takeBack takes back what went at an instant, unless that is long forgotten.
func (l *latest) takeBack(at monotime.Time) {
	for i := range uint(4) {
		w := &l.went[(l.last-i)%4]
		if w.at != at {
			continue
		}
		if w.n--; w.n <= 0 { // those before close up
			for ; i < 3; i++ {
				l.went[(l.last-i)%4] = l.went[(l.last-i-1)%4]
			}
			l.at = l.went[l.last%4].at
		}
		return
	}
}

// Spreads is SpreadFor for limits whose resets are as far away as they ever are.
func (s Spend) Spreads(longest time.Duration) func(n int64, per time.Duration) limit.Spread {
	return func(n int64, per time.Duration) limit.Spread { return s.SpreadFor(n, per, longest) }
}

// SpreadFor returns how a limit of so many tokens is spread over the time to its reset, if that is at most so
// far away, and may be waited for if it is at most longest away; zero is no bound. The gap between two requests
// is (time to the reset)/(left + 1), left being what is neither in flight nor reserved; see window.due. The
// bound of the gap is that nobody waits for longer than MaxStandstill while something remains.
func (s Spend) SpreadFor(n int64, in, longest time.Duration) limit.Spread {
	gap := monotime.Longest
	if longest > 0 {
		gap = longest
	}
	switch {
	case s == Even:
		return limit.Spread{Below: math.MaxInt64, Gap: gap}
	case s == Balanced, s == Auto && longest > 0 && in > longest:
		return limit.Spread{Below: (n + scarceDivisor - 1) / scarceDivisor, Gap: gap}
	}
	return limit.Spread{}
}
