package limit

import (
	"sort"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// sliding admits N in any window of Per. It remembers the instant of each token
// (quota.SlidingLog), or that of the tokens of a cell together (quota.SlidingWindow; a quota.Plain
// does either). What it remembers is good for each of these kinds.
//
// Two things set a quota.Plain apart. What a server states of the same limit is believed in its place (see
// Heard), which is the matter of the Stack. And where Per is so long that nobody waits for its end, what is
// left below a part of N is spread over the time until that part is back.
type sliding struct {
	steady
	n      int64
	log    Log
	spread Spread // zero of the other kinds
}

func newSliding(q quota.Quota) *sliding {
	s := &sliding{}
	s.Set(0, q)
	return s
}

// When implements Limit.
func (s *sliding) When(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
	at, ok := s.unspread(t, ahead, n)
	if !ok || s.spread.Below == 0 {
		return at, ok
	}
	for {
		spread, next := s.spreadFrom(at, ahead+n)
		if next == 0 || spread <= next {
			return spread, true
		}
		at = next // more is left then, and the gap is shorter
	}
}

// setSpread implements spreading.
func (s *sliding) setSpread(spread func(int64, time.Duration) Spread) {
	s.spread = spread(s.n, s.log.Per)
}

// isSpread implements spreading.
func (s *sliding) isSpread(t monotime.Time, ahead, n int64, at monotime.Time) bool {
	unspread, _ := s.unspread(t, ahead, n)
	return unspread < at
}

// unspread is When where nothing is spread. It lets what is ahead go token by token. Each goes when the token
// which went N before it has left. If that one is ahead too, it goes Per after the one which
// went N before that, and so on.
func (s *sliding) unspread(t monotime.Time, ahead, n int64) (monotime.Time, bool) {
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
func (s *sliding) Take(_, now monotime.Time, n int64) {
	s.log.Purge(now)
	s.log.Add(now, n)
	// More entries than N come only from what is charged before it is due: an estimate that was too low, say.
	// They count until they have left, since those after them may be given back. The two oldest as one make the
	// log no looser, and change nothing while those after them exhaust N.
	if int64(len(s.log.Live())) > s.n+maxDebts {
		s.log.merge()
	}
}

// maxDebts bounds how many entries more than N are remembered one by one.
const maxDebts = 64

// Give implements Limit.
func (s *sliding) Give(_, went monotime.Time, n int64) { s.log.Give(went, n) }

// Idle implements Limit.
func (s *sliding) Idle(now monotime.Time) bool { return s.log.Empty(now) }

// Set implements Limit.
func (s *sliding) Set(_ monotime.Time, q quota.Quota) bool {
	if q.N == 0 || q.Months > 0 || q.Kind != quota.Plain && q.Kind != quota.SlidingLog && q.Kind != quota.SlidingWindow {
		return false
	}
	s.n, s.log.Per, s.log.Cell, s.spread = q.N, q.Per, 0, Spread{}
	if q.Cells > 0 {
		s.log.Cell = q.Per / time.Duration(q.Cells)
	}
	return true
}

// Spread is how what is left of a limit is spread: while less than Below is left, two requests are a gap
// apart, which lets the rest last until more is back.
type Spread struct {
	Below int64         // zero if nothing is spread
	Gap   time.Duration // the longest
}

// Counted returns quotas as they are counted where nobody hears what a server states: each quota.Plain is a
// log, or the cells of a window.
func Counted(qs quota.Quotas) quota.Quotas {
	counted := make(quota.Quotas, len(qs))
	for i, q := range qs {
		if q.Kind == quota.Plain && q.N > 0 {
			q.Kind = quota.SlidingLog
			if q.Cells > 0 {
				q.Kind = quota.SlidingWindow
			}
		}
		counted[i] = q
	}
	return counted
}

// spreadFrom returns when n tokens may go, not before at, if nothing comes back meanwhile; and when the next
// token comes back after at, zero if none does.
func (s *sliding) spreadFrom(at monotime.Time, n int64) (spread, next monotime.Time) {
	live := s.log.Live()
	i := sort.Search(len(live), func(i int) bool { return at < live[i].Last.Add(s.log.Per) })
	if i == len(live) {
		return at, 0
	}
	next = live[i].Last.Add(s.log.Per)
	last, left := live[len(live)-1].Last, s.n-(s.log.Number()-s.log.Before(i))
	if left <= 0 || left >= s.spread.Below {
		return at, next
	}
	gap := s.log.Per / time.Duration(s.n) // all is spread
	if below := s.spread.Below; below < s.n {
		// gap = time until Below is left again / (left + 1)
		back, _ := s.unspread(at, 0, below)
		gap = back.Sub(last) / time.Duration(left+1)
	}
	gap = min(gap, s.spread.Gap)
	return max(at, last.Add(monotime.Times(n, gap))), next
}
