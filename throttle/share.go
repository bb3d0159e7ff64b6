package throttle

// share is which part of a limit is ours, where others use it too: what they have under
// way is not known, but how fast the limit was used up beside what we used of it. Without
// that, each of several processes would spend all that the server says remains.
type share struct {
	began    instant // when the request went whose answer brought the limit back
	top      int     // what there was then; zero if no answer has spoken of it
	ours     int     // of that, used by requests of ours that were answered
	others   float64 // what others used for each of ours
	measured bool    // over a whole window
}

// count takes in an answer, after which so much is in flight, about a limit that is, or
// is not, spent.
func (s *share) count(o *outcome, limit, inflight int, spent bool) {
	switch back := o.probe && !o.refused && !spent; {
	case back:
		// Who comes first after the reset gets more than who comes last, in turns.
		s.others = max(s.used(0, 0), s.others/2)
		s.measured = true
		fallthrough
	case s.top == 0:
		s.began, s.top, s.ours = o.sent, o.remaining+o.n, 0
		if 10*s.top >= 9*limit {
			s.top = max(s.top, limit) // it has only just begun
		}
	}
	if !o.refused && o.sent >= s.began {
		s.ours += o.n
	}
	if o.newer && !s.measured {
		s.others = s.used(o.remaining, inflight)
	}
}

// mostOthers bounds how much others are thought to use for each of ours: with more, one
// request at a time would go for long, should they stop.
const mostOthers = 8

// used returns how much others have used for each of ours, what is in flight included, if
// so much remains.
func (s *share) used(remaining, inflight int) float64 {
	if n := s.ours + inflight; n >= 4 { // else it says little
		return min(max(float64(s.top-remaining)/float64(n)-1, 0), mostOthers)
	}
	return s.others
}

// all is what may be used before n of ours are: they take a round trip, and others have
// as much under way as they used, and send as much again before they hear of ours.
func (s *share) all(n int) int { return n + int(2*s.others*float64(n)) }
