package counter

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Stated is what was stated last of a counter. A counter that nobody else knows of any more begins with that.
type Stated struct {
	quota.Statement               // as the answer has it
	Sent, Heard     monotime.Time // when the request went, and when its answer came; zero if nothing was stated
}

// Stated returns what was stated of a counter.
func (r *Router) Stated(name string) (st Stated) {
	for _, c := range r.counters {
		if c.name == name {
			st = Stated{c.latest.statement, c.latest.sent, c.latest.now}
		}
	}
	return st
}
