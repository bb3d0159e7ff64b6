package adaptive

import (
	"math"
	"time"

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

// spread is how what remains of a window is spread over the time to its reset. The gap between two
// requests is (time to the reset)/(left + 1), left being what is neither in flight nor reserved; see
// window.due.
type spread struct {
	below int           // the rest is spread while less than this remains; zero if never
	gap   time.Duration // bounds the gap: nobody waits longer than MaxStandstill while something remains
}

// spreadFor returns how a limit of so many tokens is spread, if its reset is at most so far away.
func (c *Config) spreadFor(limit int, in time.Duration) spread {
	longest := monotime.Longest
	if c.MaxStandstill > 0 {
		longest = c.MaxStandstill
	}
	switch {
	case c.Spend == Even:
		return spread{math.MaxInt, longest}
	case c.Spend == Balanced, c.Spend == Auto && c.MaxStandstill > 0 && in > c.MaxStandstill:
		return spread{(limit + scarceDivisor - 1) / scarceDivisor, longest}
	}
	return spread{}
}
