package throttle

import (
	"math"
	"strconv"
	"time"
)

// Spend says how what remains of a server's limit is spent until its reset. It is
// about limits that are learned and come back all at once: quotas that are set say
// themselves how fast they may be spent, and a server that refills is paced as it does.
type Spend int

const (
	// Auto is Eager where the reset may be waited for, within MaxWait: waiting for
	// it is the fastest way. Else it is Balanced: a limit of an hour must not be used
	// up in its first minute.
	Auto Spend = iota

	// Eager spends as fast as it is asked for, and then everybody waits.
	Eager

	// Balanced spends as fast as it is asked for down to a fifth of the limit, so
	// that who needs less is not slowed down, and spreads the rest over the time to the
	// reset.
	Balanced

	// Even spreads all that remains over the time to the reset.
	Even
)

// String returns the name of the constant.
func (s Spend) String() string {
	if names := [...]string{"Auto", "Eager", "Balanced", "Even"}; s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return "Spend(" + strconv.Itoa(int(s)) + ")"
}

// scarce is the share of a limit, as a divisor, below which the rest is spread: a fifth.
const scarce = 5

// spread is how what remains of a window is spread over the time to its reset.
type spread struct {
	from int           // when less than this remains; 0 if never
	gap  time.Duration // at most; nobody waits for longer than MaxWait for what is there
}

// plan says how a window is spread whose reset is not later than in.
func (l *Limiter) plan(limit int, in time.Duration) spread {
	longest := ages
	if l.MaxWait > 0 {
		longest = l.MaxWait
	}
	switch {
	case l.Spend == Even:
		return spread{math.MaxInt, longest}
	case l.Spend == Balanced, l.Spend == Auto && l.MaxWait > 0 && in > l.MaxWait:
		return spread{(limit + scarce - 1) / scarce, longest}
	}
	return spread{}
}
