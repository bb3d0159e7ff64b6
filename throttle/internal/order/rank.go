package order

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Rank orders waiters, the smallest first: by the instant at which a claim was first made, less an ageing for each step
// of its priority above the normal one. The order of two ranks never changes, since all age alike. An ageing of zero
// means ten seconds; if negative, they do not age.
func Rank(since monotime.Time, steps int, ageing time.Duration) monotime.Time {
	switch {
	case ageing == 0:
		ageing = 10 * time.Second
	case ageing < 0 || ageing > monotime.Longest:
		ageing = monotime.Longest
	}
	return since.Add(-time.Duration(steps) * ageing)
}
