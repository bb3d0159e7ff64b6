package throttle

// slots is a limit on what is under way at the same time. What was granted comes
// back when its request ends, and nobody knows when that is.
type slots struct {
	kind Kind
	n    int64
	used int64
}

func (s *slots) when(t instant, ahead, n int) (instant, bool) {
	if cost(n) > s.n {
		return t, false
	}
	if s.used+cost(ahead)+cost(n) > s.n {
		return t.add(ages), true
	}
	return t, true
}

func (s *slots) take(_, _ instant, n int) { s.used += cost(n) }
func (s *slots) give(_, _ instant, n int) { s.used = max(s.used-cost(n), 0) }
func (s *slots) idle(instant) bool        { return s.used == 0 }
func (s *slots) cool(instant)             {}

func (s *slots) set(_ instant, q Quota) bool {
	if q.N == 0 || q.Kind != s.kind {
		return false
	}
	s.n = int64(q.N)
	return true
}
