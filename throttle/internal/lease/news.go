package lease

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// maxTold bounds how many limits of a server the store is told of in one call.
const maxTold = 16

// told is what the server said, and the store is to be told.
type told struct {
	next, sent []said        // in the next call, and in the one that is under way
	spent      monotime.Time // the reset of what is used up, of which the store was told
}

// said is what a server said of a limit.
type said struct {
	quota.Statement
	reset monotime.Time // or when it is forgotten
}

// add adds what the server said, and reports whether the store is to be told at once: if
// nothing is left.
func (t *told) add(now monotime.Time, st quota.Statement) (urgent bool) {
	if st.Unit == quota.Requests {
		st.Unit = ""
	}
	w := said{st, now.Add(min(max(st.Reset, 0), monotime.Longest))}
	t.put(w)
	if st.Remaining <= 0 && st.ResetKnown && w.reset > t.spent.Add(time.Second) {
		t.spent = w.reset
		return true
	}
	return false
}

// put has the next call tell w, in place of what was said of the same limit before.
func (t *told) put(w said) {
	same := func(o said) bool { return o.Name == w.Name && o.Bucket == w.Bucket && o.Unit == w.Unit }
	if i := slices.IndexFunc(t.next, same); i >= 0 {
		t.next[i] = w
	} else if len(t.next) < maxTold {
		t.next = append(t.next, w)
	}
}

// send returns what the next call tells.
func (t *told) send(now monotime.Time) (statements []quota.Statement) {
	for _, w := range t.next {
		w.Reset = max(w.reset.Sub(now), 0)
		statements = append(statements, w.Statement)
	}
	t.sent, t.next = t.next, nil
	return statements
}

// unsent notes that a call may not have arrived.
func (t *told) unsent() {
	newer := t.next
	t.next = t.sent
	for _, w := range newer {
		t.put(w)
	}
}

// Said notes what the server said, for the store to be told: at once if nothing is left.
func (s *Lease) Said(now monotime.Time, statements []quota.Statement) {
	for _, st := range statements {
		if s.told.add(now, st) {
			s.urgent = true
			s.later(now)
		}
	}
}
