package throttle

import (
	"cmp"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// contradicts reports whether that a request of l, sent at an instant, was served shows that not all tenants are refused.
func (l *Limiter) contradicts(sent monotime.Time) bool {
	h := l.account.Parent // of all tenants
	if h == nil {
		return false
	}
	since := h.refusedSince.Load()
	return since != 0 && int64(sent) > since
}

// hearTenant takes in what a request of l was told, and holds all tenants if all are refused. It requires that mu is held.
func (l *Limiter) hearTenant(now monotime.Time, g *right, a *Answer, o Outcome) {
	h, sent := l.account.Parent, g.ticket.Sent
	switch {
	case h == nil || a.Refused && adaptive.Exhausted(a.Statements):
		return
	case a.Refused:
		h.tenants = cmp.Or(h.tenants, new(adaptive.Tenants))
		until := h.tenants.Refused(now, &l.server, sent, a.Hold, a.HoldKnown, max(l.hold, now.Add(o.Held)))
		h.refusedSince.Store(int64(h.tenants.Since()))
		h.change(now, func() { h.holdUntil(until, until, now) })
	case !o.Refused && !a.Lost && l.contradicts(sent):
		h.refusedSince.Store(0)
		if h.tenants.Served() == h.hold {
			h.change(now, func() { h.hold = min(h.hold, now) })
		}
	}
}
