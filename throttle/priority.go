package throttle

import "fmt"

// Priority is how urgent a claim is. Waiting claims go in the order of their ranks:
//
//	rank = when the claim was first made − Limiter.Ageing · Priority
//
// So a claim is overtaken only by claims that are made less than Ageing after it (2·Ageing, for Background
// behind Urgent).
type Priority int

// The priorities. A value above Urgent counts as Urgent, a value below Background as Background.
const (
	Background Priority = iota - 1 // can wait: prefetching, batches
	Normal                         // the default
	Urgent                         // a person waits for it; may use what Limiter.Reserve keeps back
)

const priorities = int(Urgent-Background) + 1

// index is the index of the priority in arrays with an element for each of them.
func (p Priority) index() int { return int(min(max(p, Background), Urgent) - Background) }

// checkReserve returns an error if share is not a valid Limiter.Reserve.
func checkReserve(share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("throttle: Reserve is %v, want a share from 0 to less than 1", share)
	}
	return nil
}
