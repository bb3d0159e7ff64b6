package name

import (
	"bytes"
	"cmp"
	"time"

	"github.com/gopacer/pacer/headers/internal/value"
)

// This file reads what the value counts: how a reset or a window is written, over which window, and in which
// unit.

// readForm reads how a reset and a window are written, as the words after them say, and the words before them.
func (s *shape) readForm() {
	if s.m.Role != Reset && s.m.Role != Window && s.m.Role != TimeUnit {
		return
	}
	s.m.Form = cmp.Or(s.m.Form, s.at(s.role).form)
	for i := s.role + 1; i < s.n; i++ {
		w := s.at(i)
		switch {
		case w.form == Instant || (w.form != Auto || w.step > 0) && !s.isNumber(i-1):
			s.m.written(w)
			s.dropped[i] = true
		case s.m.Role == Window && i == s.role+1 && (s.is(i, "length") || s.is(i, "size")):
			s.dropped[i] = true // interval-length-seconds
		}
	}
	for i := s.role - 1; i > s.marker && i >= s.from && s.qualifies(i); i-- {
		s.dropped[i] = true
	}
}

// qualifies reports whether a word before a reset or a window belongs to it: time-to-reset,
// seconds-until-reset, remaining-ttl, refresh-period.
func (s *shape) qualifies(i int) bool {
	switch {
	case s.is(i, "to"), s.is(i, "until"), s.is(i, "till"), s.is(i, "seconds"):
		if s.m.Form == Auto && s.m.Step == 0 {
			s.m.Form = Seconds
		}
		return true
	case s.is(i, "time"):
		return true
	case s.m.Role == Reset:
		return s.at(i).role == Remaining || s.is(i, "next")
	}
	return s.is(i, "refresh") || s.is(i, "renewal")
}

// written notes what a word says of how the value is written.
func (m *Meaning) written(w *word) {
	m.Form, m.Step = w.form, w.step
}

// readWindow reads the window that the name has: day, daily, 15min, 10-second, and 3min at the end of
// a word (highcostget3min).
func (s *shape) readWindow() {
	for i := s.from; i < s.n; i++ {
		if s.dropped[i] {
			continue
		}
		w := s.at(i)
		if s.isNumber(i-1) && (w.period || w.step > 0 || s.is(i, "seconds")) {
			if d, ok := value.WindowOf(string(s.bytes(i-1)) + string(s.bytes(i))); ok {
				s.m.Window, s.windows[i] = d, true
			}
			continue
		}
		if n := s.fourths(i); n != 0 && (w.period || w.step > 0 || s.is(i, "seconds")) {
			s.m.Window, s.windows[i] = value.Multiplied(cmp.Or(w.window, w.step, time.Second), n), true
			if w.period && w.window == 0 {
				s.m.Window = 0
			}
			continue
		}
		if w.period {
			s.windows[i], s.m.Long = true, s.m.Long || w.window == 0
			if w.window > 0 {
				s.m.Window = w.window
			}
		} else if s.all[i].word == nil {
			if d := value.WindowAtEnd(string(s.bytes(i))); d > 0 {
				s.m.Window, s.windows[i] = d, true
			}
		}
	}
}

// fourths returns by how many fourths the words before a window multiply it: five, forty-eight, half. It is
// zero if they are no numbers, and -1 if the number is not known.
func (s *shape) fourths(i int) int {
	n := s.at(i - 1).fourths
	if n > 0 && s.endsIn(i, "ly") {
		return 0 // tier-two-daily
	}
	if n > 0 && (s.is(i-2, "tier") || s.is(i-2, "level") || s.is(i-2, "plan") || s.is(i-2, "phase")) {
		return -1 // two minutes, or a minute of tier two
	}
	switch before := s.at(i - 2).fourths; {
	case n <= 0 || i-2 < s.from || before == 0:
		return n
	case before >= 80 && n >= 4 && n < 40:
		return before + n // forty-eight
	}
	return -1
}

// endsIn reports whether the word at position i ends in some letters.
func (s *shape) endsIn(i int, letters string) bool {
	return bytes.HasSuffix(s.bytes(i), []byte(letters))
}

// readUnit reads what is counted. A token that belongs to a credential is no unit.
func (s *shape) readUnit() {
	singular := ""
	for i := s.from; i < s.n; i++ {
		w := s.at(i)
		unit := w.unit
		switch {
		case s.dropped[i], s.is(i, "ai") && i >= s.marker: // a unit in front of a marker alone
			continue
		case w.singular:
			singular = cmp.Or(singular, unit)
			continue
		case s.is(i, "audio") && s.is(i+1, "seconds"):
			unit, s.counted[i+1] = "audio-seconds", true
		case unit == "tokens" && s.at(i-1).mine:
			continue
		case unit == "percent" && s.m.Role == Used:
			s.m.Total, s.m.Unit, s.dropped[i] = 100, unit, true
		}
		if s.m.Unit == "" || unit == value.Concurrent {
			s.m.Unit = unit // how many at the same time, of whatever it is
		}
	}
	s.m.Unit = cmp.Or(s.m.Unit, singular)
	if s.m.Role.Counts() && s.m.Unit != value.Concurrent && bytes.Contains(s.text[:s.size], []byte("concurren")) {
		s.m.Unit = value.Concurrent
	}
	if s.m.Unit == "" && s.m.Window > 0 && s.marker >= 0 && s.m.Role.Counts() {
		s.readOwnUnit()
	}
}

// readOwnUnit reads a unit of a service's own: a plural beside a window and nothing else (Kong's
// videos-minute). A scope is none, nor is an abbreviation, which may stand for anything.
func (s *shape) readOwnUnit() {
	unit := -1
	for i := s.from; i < s.n; i++ {
		switch {
		case s.dropped[i] || s.windows[i]:
		case i < s.marker || unit >= 0 || s.all[i].word != nil || !s.isPlural(i):
			return
		default:
			unit = i
		}
	}
	if unit >= 0 {
		s.m.Unit = string(s.bytes(unit))
	}
}

// isPlural reports whether the word at position i is one, and no abbreviation.
func (s *shape) isPlural(i int) bool {
	w := s.bytes(i)
	return len(w) > 3 && w[len(w)-1] == 's' && w[len(w)-2] != 's'
}
