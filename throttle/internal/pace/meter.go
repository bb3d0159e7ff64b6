package pace

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// meter counts what is served from one refusal to the next one. At both, the server had nothing to give: so
// what is served in between came back in between, and the server gives so much, or more, if some of it was not
// asked for in time. What had gathered before the first of the two does not count, as it would if one counted
// from another instant on. Nor does what was on its way when the first of the two came: the server may have
// given it before it refused.
type meter struct {
	from   monotime.Time // the latest refusal; zero if there was none
	served int           // tokens since then
}

// serve takes in n tokens that were served. Late says that the request was on its way when the latest refusal
// came.
func (m *meter) serve(n int, late bool) {
	if !late {
		m.served = min(m.served+n, mostCounted)
	}
}

// empty reports whether nothing was served since the latest refusal, but for what was on its way then.
func (m *meter) empty() bool { return m.from != 0 && m.served == 0 }

// refuse takes in a refusal.
func (m *meter) refuse(now monotime.Time) { *m = meter{from: now} }

// rate returns how many tokens per second were served from the latest refusal to one that comes now, and how
// long that was; zero if these are too few to say.
func (m *meter) rate(now monotime.Time) (rate float64, over time.Duration) {
	if m.from == 0 || m.served < provenServed || now <= m.from {
		return 0, 0
	}
	over = now.Sub(m.from)
	return float64(m.served) / over.Seconds(), over
}
