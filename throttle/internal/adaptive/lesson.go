package adaptive

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// lesson is what a process tells others of a server: a Memory without instants, since clocks differ, and
// without what is of this process alone. Rates are those of all processes together.
type lesson struct {
	Version int `json:"version"`
	Memory
}

// lessonVersion is that of the texts that Lesson writes. Others are passed over.
const lessonVersion = 1

// Lesson returns m as a text for processes that come later, of at most so many bytes; empty if there is nothing
// to tell. Numbers are rounded, so that the text changes when what is believed does.
func (m *Memory) Lesson(most int) string {
	all := float64(max(m.Members, 1))
	l := lesson{lessonVersion, Memory{Rate: rounded(all * m.Rate), Former: rounded(all * m.Former), FailuresRefuse: m.FailuresRefuse, Together: m.Together}}
	for i := range m.Windows {
		w := &m.Windows[i]
		if !w.any() {
			continue
		}
		h := w.Habits
		h.Refill = rounded(all * h.Refill)
		h.BackAfter, h.BackWithin = between(h.BackAfter, h.BackWithin)
		h.BackConfirmed = 0 // it changes with each window
		if p := h.Price; p != nil {
			h.Price = &PriceMemory{rounded(p.Mean), rounded(p.Variance)}
		}
		l.Windows = append(l.Windows, WindowMemory{Name: w.Name, Counter: w.Counter, Unit: w.Unit, Limit: w.Limit, Habits: h})
	}
	for range 2 {
		if !l.Any() {
			return ""
		}
		if text, err := json.Marshal(l); err == nil && len(text) <= most {
			return string(text)
		}
		l.Together = nil
	}
	return ""
}

// rounded has two digits.
func rounded(f float64) float64 {
	if !pace.Sane(f) {
		return 0
	}
	two, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 2, 64), 64)
	if err != nil {
		return 0
	}
	return two
}

// between rounds the first span down and the second up, to two digits of the longer: what was between the two
// still is.
func between(least, most time.Duration) (time.Duration, time.Duration) {
	step := time.Duration(1)
	for max(least, most)/step >= 100 {
		step *= 10
	}
	return least.Truncate(step), (most + step - 1).Truncate(step)
}

// ReadLesson reads what Lesson wrote, for one of so many processes. Whatever the text is, it says no more than
// a Memory may. It reports whether there is anything in it.
func ReadLesson(text string, members int, now time.Time) (m Memory, ok bool) {
	var l lesson
	if json.Unmarshal([]byte(text), &l) != nil || l.Version != lessonVersion {
		return m, false
	}
	part := 1 / float64(max(members, 1))
	m = Memory{Rate: l.Rate * part, Former: l.Former * part, FailuresRefuse: l.FailuresRefuse, Together: l.Together}
	for _, w := range l.Windows {
		w.Remaining, w.Early, w.Late = 0, time.Time{}, time.Time{}
		w.Refill *= part // what one process sees come back is what others leave: its part
		m.Windows = append(m.Windows, w)
	}
	return m, m.Prune(now)
}

// Inherit takes over what another process has learned, as far as s has not learned it itself. Known reports
// whether that was a rate.
func (s *Server) Inherit(now monotime.Time, m *Memory, clock *monotime.Clock) (known bool) {
	if s.Fresh() {
		return s.Remember(now, m, clock)
	}
	for i := range m.Windows {
		wm := &m.Windows[i]
		if w := s.find(wm.of()); w == nil {
			s.keep(wm)
		} else {
			if w.adopt(wm, w.habits(w.heardAt), w.unit) {
				w.scheduleLook(now, now, &s.config)
			}
			s.resume(now, w)
		}
	}
	return false
}

// Divide notes how many processes share the bucket, zero if that is not known. The rate that a silent server
// was seen to serve was the part of s of what it allows: it becomes smaller when others come, and larger when
// they go. Where a server says what remains, that shows what others take.
func (s *Server) Divide(members int) {
	before := s.members
	if members < 1 || members == before {
		return
	}
	if s.members = members; before == 0 {
		return
	}
	s.pace.Scale(float64(before) / float64(members))
}

// InUnits returns what an answer states with each reset in the unit that the clock has shown, for other
// processes. It is to be called after Learn.
func (s *Server) InUnits(statements []quota.Statement) []quota.Statement {
	read := statements
	for i := range statements {
		st := &statements[i]
		w := s.find(nameOf(st))
		if w == nil || w.millis.inUnit(st) == st {
			continue
		} else if &read[0] == &statements[0] {
			read = slices.Clone(statements)
		}
		read[i] = *w.millis.inUnit(st)
	}
	return read
}

// Overhear takes in a statement that the server made to another process. If the reset of the limit is not known
// here, or has passed, the whole statement is taken over. If the reset is known here, only a lower Remaining is
// taken over, and only if the statement is about the same reset, and not about the one before: this process
// will hear of another reset itself. Doubt is how far apart the two may place one reset.
func (s *Server) Overhear(now monotime.Time, st *quota.Statement, doubt time.Duration) {
	if !st.ResetKnown || st.Reset <= 0 {
		return
	}
	w := s.overheardOf(st)
	if w == nil {
		return
	}
	if passed, another := w.millis.overhear(st); passed {
		return
	} else if another {
		w.misread()
	}
	late := now.Add(min(st.Reset, monotime.Longest))
	if w.reset.late <= now {
		step := min(max(st.Resolution, 0), monotime.Longest)
		r := reset{early: late.Add(-step), late: late, opened: now, halfRoundTrip: w.reset.halfRoundTrip, resolution: step}
		if w.reset.roundsDown {
			r.roundDown()
		}
		s.restore(now, &hearsay{limitName: nameOf(st), limit: bounded(st.Limit), remaining: bounded(st.Remaining), span: st.Window, reset: r})
		return
	}
	left := bounded(st.Remaining)
	if left >= w.remaining || w.reset.isOver(late) || max(late, w.reset.late).Sub(min(late, w.reset.late)) > max(doubt, w.reset.resolution) {
		return
	}
	w.lower(left)
	if left == 0 && w.usedUpSince == 0 {
		w.restoreLook(0, now)
	}
	w.scheduleLook(now, now, &s.config)
}

// overheardOf returns the window of a limit of which another process was told, a new one if there is none; nil
// if nobody knows what that process was told: whether requests need any of the limit (see grantsNone), or in
// which unit the reset is (see millis.overhear).
func (s *Server) overheardOf(st *quota.Statement) *window {
	w := s.find(nameOf(st))
	if w == nil && (!grants(st) && canonical(st.Unit) != "" || isBare(st) && s.inMillis(st)) {
		return nil
	}
	if w == nil {
		w = s.findOrAdd(nameOf(st)) // with what is known of its resets
	}
	return w
}
