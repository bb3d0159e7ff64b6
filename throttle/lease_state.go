package throttle

import "time"

// StoreState is what the link between a bucket and its Store looked like.
type StoreState struct {
	Members   int           // how many processes share the bucket, as far as is known; zero if the store was never reached
	Ahead     time.Duration // how far ahead slots are handed out, to anybody
	Down      time.Duration // for how long the store cannot be reached; zero if it can be
	Err       error         // why it cannot, or why what it hands out is of no use; nil if all is well
	RoundTrip time.Duration // the last one

	Calls  int // of the store, so far
	Got    int // tokens that it handed out
	Wasted int // of those, what was not used in time
	Hand   int // tokens in hand
}

func (s *lease) state(now instant) *StoreState {
	st := &StoreState{
		Members: s.members, Ahead: max(s.tail.sub(now), 0), Err: s.err, RoundTrip: s.took(),
		Calls: s.calls, Got: s.got, Wasted: s.wasted, Hand: total(s.sum),
	}
	if s.down != 0 {
		st.Down = now.sub(s.down)
	}
	return st
}

// idle reports whether forgetting the lease loses nothing.
func (s *lease) idle(now instant) bool {
	s.purge(now)
	return s.calling == nil && len(s.hand) == 0 && !s.news() && !s.urgent
}

// restock asks the stores of l and of those above for what may be needed soon.
func (l *Limiter) restock(now instant) {
	for b := l; b != nil; b = b.Parent {
		if b.lease != nil {
			b.lease.ask(now)
		}
	}
}

// shrunk is told that somebody left the line of l who did not go.
func (l *Limiter) shrunk() {
	for b := l; b != nil; b = b.Parent {
		if b.lease != nil {
			b.lease.surplus = true
		}
	}
}

// mayAsk reports whether a store has to be asked before it is known that w, which is due at d,
// would have to wait.
func (l *Limiter) mayAsk(now instant, d due) bool {
	if d.at > now {
		return false
	}
	for b := l; b != nil; b = b.Parent {
		if s := b.lease; s != nil && (s.calling != nil || now >= s.retry) {
			return true
		}
	}
	return false
}
