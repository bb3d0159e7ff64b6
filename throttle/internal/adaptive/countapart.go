package adaptive

import (
	"cmp"

	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// CountApart makes s the Server of one of several counters of a name, which whole took for one. It begins with
// what was said of the counter, as whole has found that resets are stated, and, where whole knew of the same
// reset, with when that window began. If there is a limit of requests at the same time, s draws on that, too.
func (s *Server) CountApart(now monotime.Time, whole *Server, name string, st counter.Stated) {
	if s.WouldCountApart(now, whole, name, st); s.atOnce != nil {
		s.joinAtOnce(s.atOnce)
	}
}

// WouldCountApart is CountApart for a Server that only says what would be: no other Server knows of s.
func (s *Server) WouldCountApart(now monotime.Time, whole *Server, name string, st counter.Stated) {
	if v := whole.find(limitName{name: name}); v != nil {
		whole.apart.before, whole.apart.unit = v.reset, v.millis.ofOthers()
	}
	s.apart = apart{whole: whole.id, name: name, before: whole.apart.before, unit: whole.apart.unit}
	s.atOnce = whole.atOnce
	s.apart.others = min(max(float64(st.AllUsed)/float64(max(st.AllOurs+int64(whole.inFlight), 1))-1, 0), maxPerOurToken)
	if st.Heard == 0 || !st.ResetKnown {
		return
	}
	before := &s.apart.before
	st.Statement = *s.apart.unit.inUnit(&st.Statement)
	early, late := before.interval(st.Sent, st.Heard, &st.Statement, bounded(st.Limit))
	s.restore(now, &hearsay{limitName: limitName{name: name}, limit: bounded(st.Limit), remaining: bounded(st.Remaining), span: st.Window, reset: reset{early: early, late: late, resolution: st.Resolution}})
	w := s.find(limitName{name: name})
	if w == nil {
		return // the reset has passed
	}
	w.leastThen, w.heardThen = w.remaining, st.Heard
	if w.usedUpSince != 0 {
		w.restoreLook(0, cmp.Or(st.Spent, st.Heard))
	}
	if st.Since != 0 {
		w.others = others{began: st.Since, atStart: bounded(st.AtStart), foundAtStart: bounded(st.AtStart), usedByUs: bounded(st.Ours), limitAtStart: w.stated, perOurToken: s.apart.others}
	}
	r := &w.reset
	r.opened, r.halfRoundTrip = 0, st.Heard.Sub(st.Sent)/2
	same := early <= before.late && before.early <= late
	// The window of the counter may have begun a little later than that of another one, of which whole heard
	// first. A look that comes too early would be taken to prove that windows do not last whole steps.
	if first := st.Since.Add(r.halfRoundTrip); st.Since != 0 && (begun(w.stated, w.stated-bounded(st.AtStart)) || same && first.Sub(before.opened) < r.resolution) {
		r.opened = first
	}
	if same {
		r.early, r.late, r.opened = max(early, before.early), min(late, before.late), cmp.Or(r.opened, before.opened)
	}
	w.scheduleLook(now, now, &s.config)
}
