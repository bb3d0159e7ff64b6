package adaptive

import (
	"slices"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// sought is about a name under which a server states the stricter of several limits, and no reset: at one time
// 3 of 100, at another 0 of 1. What looks have found is kept of each, by its number. A limit of a number that
// is less than twice as large as the one before, or more than half, is that one, which has changed. Unless it
// changes often, it is looked for anew, see seek.lookAnew.
type sought []soughtLimit

// soughtLimit is what looks have found of a limit.
type soughtLimit struct {
	limit int
	seek  seek
	until monotime.Time // it was stated
}

// maxSought bounds how many limits are kept; the one is forgotten that was not stated for the longest time.
const maxSought = 4

// turn has l be what is known of the limit of an outcome, while it was about another one before. It reports
// whether a look was served: then that one is restored.
func (s *sought) turn(l *seek, before int, o *outcome) (restored bool) {
	if l.from == 0 {
		return false
	}
	if restored = o.look && !o.refused; restored {
		l.restored(max(o.sent.Sub(l.from), shortestLook))
		l.from = o.now
	}
	seldom := len(*s) == 0 || o.now.Sub((*s)[len(*s)-1].until) >= manyResets*l.most
	s.forget(before)
	if len(*s) == maxSought {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, soughtLimit{before, *l, o.now})
	switch i := s.find(o.limit); {
	case i >= 0:
		if *l = (*s)[i].seek; o.sent.Sub(l.from) >= l.most {
			l.from = o.now // that window is over: another one has begun meanwhile
		}
	case max(before, o.limit) >= 2*min(before, o.limit):
		*l = seek{}
	case seldom:
		l.lookAnew()
	}
	return restored
}

func (s *sought) find(limit int) int {
	return slices.IndexFunc(*s, func(l soughtLimit) bool { return l.limit == limit })
}

func (s *sought) forget(limit int) {
	*s = slices.DeleteFunc(*s, func(l soughtLimit) bool { return l.limit == limit })
}
