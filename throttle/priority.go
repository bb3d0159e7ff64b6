package throttle

import (
	"fmt"
)

// Priority is how urgent a claim is. Those that wait go in the order of the time at
// which they first asked, where one of a higher priority is taken to have asked
// Limiter.Ageing earlier for each step. So nobody is overtaken by a claim that
// comes later than Ageing, twice Ageing for Background behind Urgent, after it.
type Priority int

// The priorities. What is above Urgent counts as Urgent, and what is below Background
// as Background.
const (
	Background Priority = iota - 1 // may wait: prefetching, batches
	Normal                         // all that say nothing
	Urgent                         // somebody waits for it; may use what Limiter.Reserve keeps back
)

const priorities = int(Urgent-Background) + 1

// index is that of a priority in arrays of all.
func (p Priority) index() int { return int(min(max(p, Background), Urgent) - Background) }

// checkReserve reports what is wrong with a share.
func checkReserve(share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("throttle: Reserve is %v, want a share from 0 to less than 1", share)
	}
	return nil
}
