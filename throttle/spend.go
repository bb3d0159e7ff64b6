package throttle

import (
	"strconv"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// Spend says how what remains of a server's limit is spent until its reset. It is
// about limits that are learned and come back all at once: quotas that are set say
// themselves how fast they may be spent, and a server that refills is paced as it does.
type Spend int

const (
	// Auto is Eager where the reset may be waited for, within MaxWait: waiting for
	// it is the fastest way. Else it is Balanced: a limit of an hour must not be used
	// up in its first minute.
	Auto = Spend(adaptive.Auto)

	// Eager spends as fast as it is asked for, and then everybody waits.
	Eager = Spend(adaptive.Eager)

	// Balanced spends as fast as it is asked for down to a fifth of the limit, so
	// that who needs less is not slowed down, and spreads the rest over the time to the
	// reset.
	Balanced = Spend(adaptive.Balanced)

	// Even spreads all that remains over the time to the reset.
	Even = Spend(adaptive.Even)
)

// String returns the name of the constant.
func (s Spend) String() string {
	if names := [...]string{"Auto", "Eager", "Balanced", "Even"}; s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return "Spend(" + strconv.Itoa(int(s)) + ")"
}
