package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// maxStatements bounds of how many limits of a server the store is told in one call, and tells in one: it keeps
// no more, see store.Ledger.
const maxStatements = 16

// longestName is how long the names of a limit are at most of which a store is believed. Package headers reads
// 64 bytes of a name.
const longestName = 256

// statements is what the server said of its limits, and the store is to be told: of each limit
// the latest.
type statements struct {
	next, sent []statement // for the next call, and of the one that is under way
	usedUp     statement   // of a limit that is used up, of which the store is told at once: the latest reset
}

// statement is what a server said of a limit.
type statement struct {
	quota.Statement
	reset monotime.Time // or when it is forgotten
}

// isOf reports whether two statements are of the same limit.
func (w *statement) isOf(o *statement) bool {
	return o.Name == w.Name && o.Counter == w.Counter && o.Unit == w.Unit
}

// corrects reports whether a statement shows that an earlier one was read in another unit than it was in: in
// finer steps, the reset is sooner.
func (w *statement) corrects(o *statement) bool {
	return w.isOf(o) && w.Resolution < o.Resolution && w.reset < o.reset.Add(-time.Second)
}

// add adds what the server said. It reports whether the store is to be told at once: if the limit
// is used up, and until later than the store knows.
func (s *statements) add(now monotime.Time, st quota.Statement) (atOnce bool) {
	if st.Unit == quota.Requests {
		st.Unit = ""
	}
	w := statement{st, now.Add(min(max(st.Reset, 0), monotime.Longest))}
	s.put(w)
	if st.Remaining <= 0 && st.ResetKnown && (w.reset > s.usedUp.reset.Add(time.Second) || w.corrects(&s.usedUp)) {
		s.usedUp = w
		return true
	}
	return false
}

// put has the next call tell w, in place of an earlier statement of the same limit.
func (s *statements) put(w statement) {
	if i := slices.IndexFunc(s.next, func(o statement) bool { return o.isOf(&w) }); i >= 0 {
		s.next[i] = w
	} else if len(s.next) < maxStatements {
		s.next = append(s.next, w)
	}
}

// send returns what the call that is made now tells.
func (s *statements) send(now monotime.Time) (sts []quota.Statement) {
	for _, w := range s.next {
		w.Reset = max(w.reset.Sub(now), 0)
		sts = append(sts, w.Statement)
	}
	s.sent, s.next = s.next, nil
	return sts
}

// failed notes that the call may not have arrived: the next one tells the same, and what was
// said since.
func (s *statements) failed() {
	newer := s.next
	s.next, s.sent = s.sent, nil
	for _, w := range newer {
		s.put(w)
	}
}

// arrived notes that the store knows what the call told.
func (s *statements) arrived() { s.sent = nil }
