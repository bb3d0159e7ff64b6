package body

import (
	"cmp"
	"time"

	"github.com/gopacer/pacer/headers/internal/refusal"
	"github.com/gopacer/pacer/headers/internal/value"
)

// Facts is all that a body says.
type Facts struct {
	Limits  []Limit
	Delay   value.Delay // how long to wait
	Next    string      // until when to wait, an instant in writing, or as a number
	Else    value.Delay // how long to wait if neither the body nor a header says it
	Refusal refusal.Refusal
}

// Limit is a limit that a body states. Its fields are those of headers.Limit, which says what
// they mean, and Long: the window is one of a month or longer, which have no fixed length.
type Limit struct {
	Name, Unit       string
	Limit, Remaining value.Count
	Reset            value.Delay
	Window           time.Duration
	Long             bool
}

// setWindow sets the window that a word names.
func (l *Limit) setWindow(word string) {
	if p, ok := value.WindowOf(word); ok {
		l.Window, l.Long = cmp.Or(p, l.Window), p == 0
	}
}
