package throttle

import (
	"slices"
	"sort"
	"time"
)

// sliding remembers what went in the last Per: the instant of each token
// (SlidingLog), or those of a cell together (SlidingWindow). Tokens are numbered
// in the order in which they went, so that the question of when some are back is
// a look at one entry: that of the token which went N before.
type sliding struct {
	kind Kind
	n    int64
	per  time.Duration
	cell time.Duration // what goes so soon after the first of an entry joins it

	entries []entry // from head on, in order; what is before head has left
	head    int
	left    int64 // number of the last token before head
}

// entry is some tokens that leave together, Per after last.
type entry struct {
	first, last instant
	number      int64 // of its last token
}

// number returns that of the token that went last.
func (s *sliding) number() int64 {
	if s.head == len(s.entries) {
		return s.left
	}
	return s.entries[len(s.entries)-1].number
}

// when lets what is ahead go token by token. Each goes when the one which went N
// before it has left. If that one is ahead too, it goes Per after the one which
// went N before that, and so on.
func (s *sliding) when(t instant, ahead, n int) (instant, bool) {
	if cost(n) > s.n {
		return t, false
	}
	next := max(cost(ahead)+cost(n), 1)
	rounds := (next - 1) / s.n
	before := s.number() + next - rounds*s.n - s.n
	if before > s.left {
		live := s.entries[s.head:]
		i := sort.Search(len(live), func(i int) bool { return live[i].number >= before })
		t = max(t, live[i].last.add(s.per))
	}
	return t.add(times(rounds, s.per)), true
}

func (s *sliding) take(_, now instant, n int) {
	s.purge(now)
	s.add(now, n)
	// More entries than N come only from Observe, which charges what is not due. The
	// oldest does not matter if those after it exhaust N.
	if int64(len(s.entries)-s.head) > s.n {
		s.forget()
	}
}

// purge forgets what has left at now.
func (s *sliding) purge(now instant) {
	for s.head < len(s.entries) && now >= s.entries[s.head].last.add(s.per) {
		s.forget()
	}
}

// add has n go at now, after all others.
func (s *sliding) add(now instant, n int) {
	if i := len(s.entries) - 1; i >= s.head && now.sub(s.entries[i].first) <= s.cell {
		s.entries[i].last = now
		s.entries[i].number += cost(n)
		return
	}
	if len(s.entries) == cap(s.entries) && s.head > len(s.entries)/3 {
		s.compact()
	}
	s.entries = append(s.entries, entry{now, now, s.number() + cost(n)})
}

// forget drops the oldest entry.
func (s *sliding) forget() {
	s.left = s.entries[s.head].number
	s.head++
}

// compact moves the entries to the front and numbers tokens anew.
func (s *sliding) compact() {
	live := s.entries[s.head:]
	for i := range live {
		live[i].number -= s.left
	}
	s.entries, s.head, s.left = s.entries[:copy(s.entries, live)], 0, 0
}

func (s *sliding) give(_, went instant, n int) {
	live := s.entries[s.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].last >= went })
	if i == len(live) || live[i].first > went {
		return // it has left
	}
	before := s.left
	if i > 0 {
		before = live[i-1].number
	}
	n64 := min(cost(n), live[i].number-before)
	for j := i; j < len(live); j++ {
		live[j].number -= n64
	}
	if live[i].number == before {
		s.entries = slices.Delete(s.entries, s.head+i, s.head+i+1)
	}
}

func (s *sliding) idle(t instant) bool {
	return s.head == len(s.entries) || t >= s.entries[len(s.entries)-1].last.add(s.per)
}

func (s *sliding) set(_ instant, q Quota) bool {
	if q.N == 0 || q.Kind != s.kind {
		return false
	}
	s.n, s.per = int64(q.N), q.per()
	if q.Kind == SlidingWindow {
		s.cell = s.per / time.Duration(q.cells())
	}
	return true
}

func (s *sliding) cool(instant) {}
