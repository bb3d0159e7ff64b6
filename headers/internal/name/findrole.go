package name

import (
	"time"
)

// This file finds the word that is the role: that the value is a hint to try again, or what else it is, such as
// what remains.

// findRetry returns the word that says that the value is a hint to try again, or -1.
func (s *shape) findRetry() int {
	for i := s.from; i < s.n; i++ {
		switch {
		case s.at(i).alone && (i != s.marker+1 || !s.endsInTime(i+1)): // the delay of what?
		case s.is(i, "retryafter"), s.is(i, "retry"), s.at(i).role == Retry && (s.marker >= 0 || s.at(i-1).root):
			return i
		case s.is(i, "backoff") && (i == s.from || i == s.marker+1) && s.endsWith(i+1): // Zotero, and no X-Max-Backoff
			return i
		}
	}
	return -1
}

// endsInTime reports whether nothing follows but what a number counts.
func (s *shape) endsInTime(i int) bool {
	for ; i < s.n; i++ {
		if !s.isTimeWord(i) && !s.is(i, "in") && !s.is(i, "sec") {
			return false
		}
	}
	return true
}

// retry concludes the meaning of a hint to try again.
func (s *shape) retry(i int) (Meaning, bool) {
	if s.m.Advisory || s.is(i, "retry") && !s.is(i+1, "after") && !s.is(i+1, "in") || !s.isHint(i) {
		return Meaning{}, false
	}
	return Meaning{Role: Retry, rank: lastRank, Step: s.at(s.n - 1).step, MayBeIdle: s.at(i).role == Retry || s.is(i, "backoff"), Alone: s.at(i).alone}, true
}

// isHint reports whether the words around retry-after leave a time of it: a maximum is one of all hints
// (X-Max-Retry- After), and a count, a flag or a state is no time (X-Retry-In-Progress). A limit may be named
// (Retry-After-Short).
func (s *shape) isHint(i int) bool {
	if before := s.at(i - 1); before.pair || before.past || s.is(i-1, "min") || s.is(i-1, "default") {
		return false
	}
	in := s.is(i, "retry") && s.is(i+1, "in")
	for i++; i < s.n; i++ {
		if w := s.at(i); w.role == Used || w.pair || w.bound || w.negative || in && w == &unknown {
			return false
		}
	}
	return true
}

// findRole finds the role, which is the last word for one: an earlier one belongs to the name of the
// limit. Words that name the limit by their value are a role only where nothing else is.
func (s *shape) findRole() {
	label := -1
	for i := max(s.from, s.marker+1); i < s.n; i++ {
		switch s.at(i).role {
		case Ignored, Retry:
		case Label, Kind, Policy:
			if label < 0 {
				label = i
			}
		default:
			s.takeRole(i)
		}
	}
	if s.role < 0 {
		s.role = label
	}
	before := s.marker - 1
	if s.is(before, "rate") {
		before--
	}
	if s.role < 0 && s.marker >= 0 && s.at(before).role.Counts() {
		s.role = before // X-Remaining-RateLimit
	}
	if s.role < 0 || s.isTimeRemaining() || s.isNextAvailable() {
		return
	}
	w := s.at(s.role)
	s.m.Role, s.m.order, s.m.Pair, s.dropped[s.role] = w.role, w.order, w.pair, true
	if w.unit != "" && w.role == Used {
		s.m.Unit = w.unit
	}
}

// takeRole makes a word the role, unless it belongs to another word. What is left of something, or used of it,
// is that whether the word for it comes first or last: remaining-quota, quota-remaining.
func (s *shape) takeRole(i int) {
	w := s.at(i)
	switch {
	case s.is(i+1, "based"): // tokens_usage_based
	case s.is(i, "count") && s.role >= 0 && s.role == i-1 && s.at(s.role).counted: // allowed-count, used-count
		s.dropped[i] = true
	case w.last && !s.endsWith(i+1), s.is(i, "level") && !s.is(i-1, "bucket"):
	case w.role == Rate:
		if s.role < 0 && (i == s.n-1 || s.is(i+1, "rate")) {
			s.role, s.dropped[min(i+1, s.n-1)] = i, true
		}
	case s.belongs(i):
		s.dropped[i] = true
	default:
		s.role = i
	}
}

// belongs reports whether a word for a limit, or for usage, is what the role before it is of: remaining-quota,
// remaining-concurrent-usage.
func (s *shape) belongs(i int) bool {
	if !s.at(s.role).of {
		return false
	}
	return s.at(i).role == Limit && s.role == i-1 || s.is(i, "usage") && (s.role == i-1 || s.role == i-2 && s.at(i-1).unit != "")
}

// isTimeRemaining reads a time that remains: time-left, seconds-remaining, msec-left,
// remaining-time-in-seconds. Nobody says until what, unless the answer says as well when to try again, or what
// is left: but whoever counts milliseconds behind the marker waits.
func (s *shape) isTimeRemaining() bool {
	if s.at(s.role).role != Remaining {
		return false
	}
	first, last := s.role-1, s.role-1 // the time
	if s.role < s.n-1 {
		first, last = s.role+1, s.n-1
	}
	for i := first; i <= last; i++ {
		if !s.isTimeWord(i) && (i == first || !s.is(i, "in")) {
			return false
		}
	}
	behind := s.marker >= 0 && min(first, s.role) == s.marker+1 // video-seconds-remaining are of a video
	if !behind && (s.role < s.n-1 || !s.is(first, "time") || s.is(first-1, "real")) {
		return false
	}
	s.m.Role, s.m.Form, s.m.Step, s.m.Doubtful = Reset, Seconds, s.at(last).step, true
	if s.m.Step > 0 {
		s.m.Form, s.m.Doubtful = Auto, last > s.role
	}
	for i := min(first, s.role); i < s.n; i++ {
		s.dropped[i] = true
	}
	s.role = s.n - 1
	return true
}

// isTimeWord reports whether a word says that a number counts seconds or less, and is no window.
func (s *shape) isTimeWord(i int) bool {
	w := s.at(i)
	return w.time && !w.period && w.step < time.Second && !s.is(i, "since")
}

// maySecondsRemain reports whether the name is that of remaining-sec: seconds, or what remains of those of a
// second.
func (s *shape) maySecondsRemain() bool {
	return s.m.Role == Remaining && s.marker >= 0 && s.role == s.marker+1 && s.role == s.n-2 && s.is(s.n-1, "sec")
}

// isNextAvailable reads when there is something again: next-available, available-at, available-in.
func (s *shape) isNextAvailable() bool {
	next := s.is(s.role-1, "next")
	if !s.is(s.role, "available") || !next && !s.tells(s.role+1) {
		return false
	}
	s.m.Role, s.dropped[s.role] = Reset, true
	if next {
		s.dropped[s.role-1] = true
	}
	return true
}

// tells reports whether a word says how a time is written, and is no window.
func (s *shape) tells(i int) bool {
	return s.at(i).form != Auto && !s.at(i).period && !s.at(i+1).period
}

// endsWith reports whether nothing follows but what says how something is counted.
func (s *shape) endsWith(i int) bool {
	for ; i < s.n; i++ {
		if w := s.at(i); w.unit == "" && !w.period && w.form == Auto && w.step == 0 && !s.isNumber(i) && !s.is(i, "per") {
			return false
		}
	}
	return true
}
