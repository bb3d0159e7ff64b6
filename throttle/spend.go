package throttle

import (
	"strconv"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
)

// Spend says how what remains of a server's limit is spent until its reset. It applies to limits that are
// learned and come back all at once. Quotas that are configured say themselves how fast they may be spent,
// and a limit that the server refills bit by bit is spent at the rate of the refill.
type Spend int

const (
	// Auto is Eager if the reset is at most MaxWait away: then waiting for the reset is the fastest way.
	// Otherwise Auto is Balanced: a limit of an hour must not be used up in its first minute.
	Auto = Spend(adaptive.Auto)

	// Eager spends as fast as claims come. Then all wait for the reset.
	Eager = Spend(adaptive.Eager)

	// Balanced spends as fast as claims come down to a fifth of the limit, so that programs that need less
	// than four fifths are not slowed down. The rest is spread evenly over the time to the reset.
	Balanced = Spend(adaptive.Balanced)

	// Even spreads all that remains evenly over the time to the reset.
	Even = Spend(adaptive.Even)
)

// String returns the name of the constant.
func (s Spend) String() string {
	if names := [...]string{"Auto", "Eager", "Balanced", "Even"}; s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return "Spend(" + strconv.Itoa(int(s)) + ")"
}
