package adaptive

import "github.com/gopacer/pacer/throttle/internal/monotime"

// meter counts what comes back of a limit from an instant on: what is served, and what Remaining has risen by.
type meter struct {
	from   monotime.Time // nothing was counted before; zero if nothing is counted
	left   int           // so much remained then
	served int           // tokens of requests that went since, and were served
	late   int           // tokens of requests that went before, and were served since: some of it belongs to left
}

// serve takes in that a request was served.
func (m *meter) serve(o *outcome) {
	if o.sent >= m.from {
		m.served += o.n
	} else {
		m.late += o.n
	}
}

// back returns how much has come back if so much remains. Servers state Remaining in whole tokens: up to one
// token may have been there before.
func (m *meter) back(remaining int) int { return m.served + remaining - m.left - 1 }

// moreThanWindows reports whether more came back than two windows have: the stated reset may be late by a part
// of a window, and so a second one may have begun.
func (o *outcome) moreThanWindows(back int) bool { return o.limit > 0 && back > 2*o.limit }

// rise counts by how much Remaining rises before one reset. What was served meanwhile is not in it, as in a
// meter: of requests that cost the server nothing, as much would seem to have come back.
type rise struct {
	of    int           // which reset, see reset.count
	by    int           // so much
	since monotime.Time // the first answer about it
}

// note takes in an answer, and reports whether more came back before the reset than windows give.
func (r *rise) note(o *outcome, after *reset) bool {
	if r.of != after.count {
		*r = rise{of: after.count, since: o.now}
	}
	if o.newest && o.now > r.since {
		r.by += max(o.remaining-o.remainingBefore, 0)
	}
	return o.moreThanWindows(r.by) && o.now < after.late
}
