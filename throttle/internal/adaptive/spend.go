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
	Balanced              // down to a fifth as fast as it is asked for; the rest is spread
	Even                  // all is spread
)

// scarce is the share of a limit, as a divisor, below which the rest is spread: a fifth.
const scarce = 5

// spread is how what remains of a window is spread over the time to its reset.
type spread struct {
	below int           // when less than this remains; 0 if never
	gap   time.Duration // between two tokens, at most: nobody waits for longer than MaxWait for what is there
}

// plan says how a limit of so many tokens is spread whose reset is not later than in.
func (c *Config) plan(limit int, in time.Duration) spread {
	longest := monotime.Longest
	if c.MaxWait > 0 {
		longest = c.MaxWait
	}
	switch {
	case c.Spend == Even:
		return spread{math.MaxInt, longest}
	case c.Spend == Balanced, c.Spend == Auto && c.MaxWait > 0 && in > c.MaxWait:
		return spread{(limit + scarce - 1) / scarce, longest}
	}
	return spread{}
}
