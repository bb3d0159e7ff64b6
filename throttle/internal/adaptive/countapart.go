package adaptive

import (
	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// CountApart makes s the Server of one of several counters of a name, which whole took for one. It begins with what was
// said last of the counter, as whole has found that resets are stated, and, where whole knew of the same reset, with when
// that window began.
func (s *Server) CountApart(now monotime.Time, whole *Server, name string, st counter.Stated) {
	if v := whole.find(limitName{name: name}); v != nil {
		whole.apart.before, whole.apart.unit = v.reset, v.millis.ofOthers()
	}
	s.apart = apart{whole: whole.id, name: name, before: whole.apart.before, unit: whole.apart.unit}
	if st.Heard == 0 || !st.ResetKnown {
		return
	}
	before := &s.apart.before
	st.Statement = *s.apart.unit.inUnit(&st.Statement)
	early, late := before.interval(st.Sent, st.Heard, &st.Statement, bounded(st.Limit))
	s.restore(now, &hearsay{limitName: limitName{name: name}, limit: st.Limit, remaining: st.Remaining, span: st.Window, reset: reset{early: early, late: late, resolution: st.Resolution}})
	w := s.find(limitName{name: name})
	if w == nil {
		return // the reset has passed
	}
	r := &w.reset
	r.opened, r.halfRoundTrip = 0, st.Heard.Sub(st.Sent)/2
	if early <= before.late && before.early <= late {
		r.early, r.late, r.opened = max(early, before.early), min(late, before.late), before.opened
		if w.spentSince != 0 {
			w.spentSince = r.opened // at the soonest: a part of it may have come back since
		}
	}
	w.scheduleLook(now, now, &s.config)
}
