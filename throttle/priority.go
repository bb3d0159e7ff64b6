package throttle

import "github.com/gopacer/pacer/throttle/internal/order"

// Priority is how urgent a claim is. Waiting claims go in the order of their ranks:
//
//	rank = when the claim was first made − Limiter.Aging · steps
//
// Steps is 0 for Background, 1 for Normal and 2 for Urgent. So a claim is overtaken only by claims that are
// made less than Aging after it (2·Aging, for Background behind Urgent). With flows, this holds for the claim
// whose turn it is.
type Priority int

// The priorities. Zero means that none is set, and counts as Normal. A value above Urgent counts as Urgent, a
// negative one as Background.
const (
	Background Priority = -1 // can wait: prefetching, batches
	Normal     Priority = 1  // the default
	Urgent     Priority = 2  // a person waits for it; may use what Limiter.Reserve keeps back
)

// String returns "background", "normal" or "urgent", as the value counts, and an empty text for zero.
func (p Priority) String() string { return order.Name(int(p)) }

// MarshalText returns the text of String, so that a Priority is a word in JSON and in logs.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText returns. After an error, p is unchanged.
func (p *Priority) UnmarshalText(text []byte) error { return order.ReadName(text, (*int)(p)) }

// byIndex has the priorities in their order. Their indexes are those of arrays with an element for each.
var byIndex = [...]Priority{Background, Normal, Urgent}

const priorities = order.Rows

// index is the index of the priority in byIndex.
func (p Priority) index() int { return order.RowOf(int(p)) }
