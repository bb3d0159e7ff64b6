package order

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// RowOf is the row of a priority: 0 if it is negative, 1 if it is 0 or 1, else 2.
func RowOf(priority int) int {
	if priority < 0 {
		return 0
	}
	return min(max(priority, 1), Rows-1)
}

// Rank orders waiters, the smallest first: by the instant at which a claim was first made, less an aging, of
// 50 years at most, for each step of its priority above the normal one. The order of two ranks never changes,
// since all age alike.
func Rank(since monotime.Time, steps int, aging time.Duration) monotime.Time {
	return since.Add(-time.Duration(steps) * aging)
}
