package limit

import (
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// sliding admits N in any window of Per. It remembers the instant of each token
// (quota.SlidingLog), or that of the tokens of a cell together (quota.SlidingWindow).
type sliding struct {
	steady
	kind quota.Kind
	n    int64
	log  Log
}

func newSliding(q quota.Quota) *sliding {
	s := &sliding{kind: q.Kind}
	s.Set(0, q)
	return s
}

// When implements Limit. It lets what is ahead go token by token. Each goes when the token
// which went N before it has left. If that one is ahead too, it goes Per after the one which
// went N before that, and so on.
func (s *sliding) When(t monotime.Time, ahead, n int) (monotime.Time, bool) {
	if tokens(n) > s.n {
		return t, false
	}
	next := max(tokens(ahead)+tokens(n), 1)
	rounds := (next - 1) / s.n
	before := s.log.Number() + next - rounds*s.n - s.n
	if before > s.log.left {
		live := s.log.Live()
		i := sort.Search(len(live), func(i int) bool { return live[i].Number >= before })
		t = max(t, live[i].Last.Add(s.log.Per))
	}
	return t.Add(monotime.Times(rounds, s.log.Per)), true
}

// Take implements Limit.
func (s *sliding) Take(_, now monotime.Time, n int) {
	s.log.Purge(now)
	s.log.Add(now, n)
	// More entries than N come only from what is charged before it is due. The oldest does
	// not matter if those after it exhaust N.
	if int64(len(s.log.Live())) > s.n {
		s.log.forget()
	}
}

// Give implements Limit.
func (s *sliding) Give(_, went monotime.Time, n int) { s.log.Give(went, n) }

// Idle implements Limit.
func (s *sliding) Idle(now monotime.Time) bool { return s.log.Empty(now) }

// Set implements Limit.
func (s *sliding) Set(_ monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Kind != s.kind {
		return false
	}
	s.n, s.log.Per = int64(q.N), q.Per
	if q.Kind == quota.SlidingWindow {
		s.log.Cell = q.Per / time.Duration(q.Cells)
	}
	return true
}
