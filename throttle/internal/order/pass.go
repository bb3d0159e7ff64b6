package order

import (
	"iter"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Standing is what Pass has to know of a waiter.
type Standing struct {
	rank    monotime.Time
	passed  int
	refused uint64
	apart   bool
}

// At is the Standing of a waiter with a rank, that has let others pass so often. Refused is its latest attempt
// that was refused, the larger the later; zero if none was. One that is apart stays where it is.
func At(rank monotime.Time, passed int, refused uint64, apart bool) Standing {
	return Standing{rank, passed, refused, apart}
}

const (
	// mostPass is how many pass at the most: enough to tell a request that is always refused, see package
	// adaptive, and few to wait for.
	mostPass = 40

	// leastPass is how many must be there to pass: fewer tell nothing.
	leastPass = 8
)

// Pass returns who of a line is to stand elsewhere from now on, and with which rank, after one of a rank went
// ahead of those before it and was served, while some of them were refused. As many as mostPass, of those
// behind it, or half of all where fewer stand there, pass all that stood before it and have let others pass
// fewer times than so often, and those that were refused. Of these, the one that was refused last goes first,
// when three of five have passed, and so alone: that it is refused again says the more the fewer others were
// refused since.
func Pass[W comparable](line iter.Seq[W], rank monotime.Time, times int, of func(W) Standing) iter.Seq2[W, monotime.Time] {
	return func(yield func(W, monotime.Time) bool) {
		if times <= 0 {
			return
		}
		var refused, others []W
		var last uint64
		var test W
		before := 0
		for w := range line {
			switch s := of(w); {
			case s.apart:
			case s.refused == 0:
				if others = append(others, w); s.rank <= rank {
					before++
				}
			default:
				if refused = append(refused, w); s.refused > last {
					last, test = s.refused, w
				}
			}
		}
		n := min(mostPass, len(others)/2)
		if n < leastPass {
			return
		}
		before = min(before, len(others)-n)
		behind, alone := of(others[before+n-1]).rank+1, of(others[before+3*n/5]).rank-1
		for _, w := range slices.Concat(refused, others[:before]) {
			to := behind
			if w == test {
				to = alone
			}
			if of(w).passed < times && !yield(w, to) {
				return
			}
		}
	}
}

// FirstAnd returns the first waiter, and all others that match, in order.
func (q *Queue[W]) FirstAnd(matches func(W) bool) (all []W) {
	for w := range q.InOrder() {
		if len(all) == 0 || matches(w) {
			all = append(all, w)
		}
	}
	return all
}
