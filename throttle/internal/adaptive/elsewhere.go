package adaptive

import (
	"cmp"
	"slices"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file says of which limits a refusal is. A request may draw on several limits, and is refused by one of
// which less remains than it costs. Of the others, such a refusal says nothing: a look whether they are
// restored has not failed. Else a limit of one a second is taken for one of ten minutes, once a limit of ten
// minutes is used up.

// TooLittle reports whether one of the statements says that less remains of a limit than was claimed.
func TooLittle(statements []quota.Statement, claimed *limit.Demand) bool {
	return slices.ContainsFunc(statements, func(st quota.Statement) bool {
		return bounded(st.Remaining) < costIn(claimed, canonical(st.Unit))
	})
}

// Explain reports whether the statements explain a refusal of what was claimed: nothing remains of a limit, or
// less than was claimed, and as much may remain later, see dearth.
func (s *Server) Explain(statements []quota.Statement, claimed *limit.Demand) bool {
	return UsedUp(statements) || slices.ContainsFunc(statements, func(st quota.Statement) bool {
		n, w := costIn(claimed, canonical(st.Unit)), s.find(nameOf(&st))
		return bounded(st.Remaining) < n && (st.Limit <= 0 || n <= bounded(st.Limit)) && (w == nil || !w.dearth.over)
	})
}

// short looks for limits of which less remains than a refused request of a kind costs: as its answer states, or
// of a limit of which that does not speak, by our own count. Sure says that one of them was not whole before
// the request: see refusedElsewhere.
func (s *Server) short(t *Ticket, kind *Kind, a *Answer) (short, sure bool) {
	cost := a.cost(t)
	for i := range a.Statements {
		st := &a.Statements[i]
		o := outcome{n: bounded(costIn(&cost, canonical(st.Unit))), limit: bounded(st.Limit), remaining: bounded(st.Remaining)}
		if w := s.find(nameOf(st)); w != nil {
			o.n = bounded(w.costOf(&cost, kind))
			o.limit, o.others = cmp.Or(o.limit, w.limit()), w.others.withOthers(o.n)-o.n
		}
		if o.remaining < max(o.n, 1) {
			short, sure = true, sure || !o.whole()
		}
	}
	for _, w := range s.windows {
		if w.usedUpAt(t.Sent) && !w.isStated(a.Statements) {
			short, sure = true, true
		}
	}
	return short, sure
}

// usedUpAt reports whether nothing remained of the limit at an instant, as far as is known.
func (w *window) usedUpAt(t monotime.Time) bool {
	return w.remaining <= 0 && (w.reset.late == 0 || w.reset.late > t)
}

// isStated reports whether one of the statements is about the limit.
func (w *window) isStated(statements []quota.Statement) bool {
	return slices.ContainsFunc(statements, func(st quota.Statement) bool { return nameOf(&st) == w.limitName })
}

// refusedUnstated takes in a refusal that speaks of other limits than this one, and is of none of them: it is
// of this one.
func (w *window) refusedUnstated(now monotime.Time, t *Ticket, a *Answer, c *Config) {
	ofNone := a.Refused && !a.named && len(a.Statements) > 0
	soughtBy := t.looks && w.looking && w.seek.from != 0 && w.usedUpAt(t.Sent) // of this limit, no reset is stated
	if !ofNone || !soughtBy {
		return
	}
	w.missedLooks++
	w.seek.note(&outcome{sent: t.Sent, now: now, refused: true, look: true}, false, true)
	w.scheduleLook(now, now, c)
	w.takeHint(now, a)
}

// keepSought keeps what looks have found of a limit that is forgotten, as the latest look was served and the
// answer does not speak of it.
func (s *Server) keepSought(now monotime.Time, t *Ticket, w *window) {
	if w.seek.from == 0 || len(s.kept) == maxWindows {
		return
	}
	w.seek.note(&outcome{sent: t.Sent, now: now, n: 1, limit: 1, look: true}, false, true)
	s.kept = append(s.kept, WindowMemory{Name: w.name, Counter: w.counter, Unit: w.unit, Limit: w.stated, Habits: w.habits(w.heardAt), OfNow: true})
}
