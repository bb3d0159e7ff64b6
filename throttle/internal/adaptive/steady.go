package adaptive

import (
	"math"
	"slices"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Steady reports whether all that could delay a request is that too little remains of a limit that the server states: there
// is nothing to find out. Then OpenSteady and TakeSteady do what Open and Take do, and Count does what Learn does, for
// requests that say no cost in other units. That remains so until another method is called that changes s.
func (s *Server) Steady() bool {
	if s.slowStart.allowed != 0 || s.refusals != 0 || s.doubted != 0 || s.served.measuredFrom != 0 || s.contradicted ||
		s.unserved.any() || s.persistence != nil || len(s.otherUnits) > 0 || len(s.windows) == 0 {
		return false
	}
	for _, w := range s.windows {
		if w.probing || w.spentSince != 0 || w.missedProbes != 0 || w.instances || w.overlap.users != nil || w.unit != "" && w.price == nil {
			return false
		}
	}
	s.findRoom()
	return true
}

// OpenSteady reports whether the server allows n requests of a kind now. It requires that s is Steady, or that nothing is known.
func (s *Server) OpenSteady(now monotime.Time, n int, kind *Kind) bool {
	return len(s.windows) == 0 || n <= s.room || s.allSteadyOpen(now, n, kind) // inlined
}

// unknownRoom is so little that no answers to what is in flight make room of it.
const unknownRoom = math.MinInt / 2

// findRoom finds how many requests may go at least before a window delays one.
func (s *Server) findRoom() {
	room := math.MaxInt / 2
	for _, w := range s.windows {
		room = min(room, w.room(s.inFlight))
	}
	s.room = room
}

// room returns how many requests may go at least before w delays one, if so many are in flight: of as many, all that due asks for is
// true. It is unknownRoom where nothing bounds what one request needs, or where others come in between.
func (w *window) room(inFlight int) int {
	if w.others.perOurToken != 0 || w.refill.crowd > 0 {
		return unknownRoom
	}
	left := w.remaining - min(w.spread.Below, maxTokens) // which is at least what remains
	if w.unit != "" {
		if w.price == nil || !w.price.bounded() {
			return unknownRoom
		}
		left = int(float64(left-roundings) / w.price.most())
	}
	return left - inFlight
}

// roundings is by how many tokens the sum of what is in flight and of what more requests need may be rounded up.
const roundings = 2

func (s *Server) allSteadyOpen(now monotime.Time, n int, kind *Kind) bool {
	for _, w := range s.windows {
		if n <= w.room(s.inFlight) {
			continue
		}
		need := n
		if w.unit != "" {
			need = s.needIn(w, &limit.Demand{Claims: 1, N: n}, kind)
		}
		if at, open := w.due(now, 0, need, 0, s.inFlightIn(w), false); !open || at > now {
			return false // or it would be a probe
		}
	}
	return true
}

// TakeSteady is Take for a request that OpenSteady allows.
func (s *Server) TakeSteady(now monotime.Time, t *Ticket) {
	s.advance()
	s.inFlight += t.N
	s.room -= t.N
	t.Sent, t.sequence = now, s.sequence
	if len(s.windows) == 0 {
		return
	}
	for _, w := range s.windows {
		w.last.note(now)
	}
	if s.room <= 0 {
		s.notePaced(now)
	}
}

func (s *Server) notePaced(now monotime.Time) {
	for _, w := range s.windows {
		if w.remaining-s.inFlightIn(w) <= w.refill.keep(w.limit) { // as take says
			w.refill.pacedFrom = now
		}
	}
}

// Stated is the limits that an answer stated, in its order.
type Stated struct {
	of      *Server
	left    int // Server.left when it was made
	windows []*window
	timed   bool // what requests cost of a limit is learned, or how fast it comes back
}

// Timed reports whether Count is to be told what time it is.
func (st *Stated) Timed() bool { return st.timed }

// maxCounted bounds how many limits are counted. It is a power of two, so that an index needs no check.
const maxCounted = len(quota.Left{})

// Stated returns the limits of the statements that were learned last, so that answers that state them again can be counted. It is
// nil if there are others, or if s is not Steady.
func (s *Server) Stated(statements []quota.Statement) *Stated {
	n := len(statements)
	if n != len(s.windows) || n > maxCounted || !s.Steady() {
		return nil
	}
	st := &Stated{of: s, left: s.left}
	for i := range statements {
		o := &statements[i]
		w := s.find(o.Name, o.Bucket, canonical(o.Unit))
		if w == nil || slices.Contains(st.windows, w) {
			return nil
		}
		st.windows = append(st.windows, w)
		st.timed = st.timed || w.price != nil || w.refill.refills
	}
	return st
}

// Count does what End and Learn do for the answer to a request that was served, if it states again what another answer did, but
// that so much remains of each limit. It leaves out what changes with time alone, what resets say of a rate, and how much others use of the limit: of that,
// Learn hears with one of the answers that follow. More may
// remain than before only if others have overtaken the answer, see tally. If Learn is to hear this one, Count does nothing, and returns false. It
// requires that s is Steady. Now may be zero unless of is Timed.
func (s *Server) Count(of *Stated, left *quota.Left, now monotime.Time, t *Ticket, kind *Kind) bool {
	windows := of.windows
	if len(windows) != len(s.windows) || of.of != s || of.left != s.left || t.probe {
		return false
	}
	gone := 0
	for i, w := range windows {
		n := left[i&(maxCounted-1)]
		if n <= 0 || n > w.remaining && t.sequence >= w.nextSince || w.refill.refills && !of.timed {
			return false
		}
		gone = max(gone, w.remaining-n)
	}
	s.inFlight -= t.N
	s.room += t.N - gone
	s.advance()
	answer := s.sequence
	for i, w := range windows {
		n := left[i&(maxCounted-1)]
		w.tally(t.sequence, n, answer)
		w.lastAnswer, w.overlap.lastRemaining = answer, n
		if t.Sent > w.last.at {
			w.last.note(t.Sent)
		}
		if w.price == nil {
			w.others.countServed(t.Sent, t.N)
		}
	}
	s.stated, s.silent = answer, 0
	s.successes++
	s.strays.serve()
	if of.timed {
		s.countTimed(of, left, now, t, kind)
	}
	return true
}

// countTimed takes in what depends on when an answer came that is counted.
func (s *Server) countTimed(of *Stated, left *quota.Left, now monotime.Time, t *Ticket, kind *Kind) {
	for i, w := range of.windows {
		if w.heardAt = now; w.price != nil || w.refill.refills {
			w.countTimed(now, t, kind, left[i&(maxCounted-1)], w.nextSince == s.sequence)
			s.room = min(s.room, w.room(s.inFlight)) // its price has changed; where there is more room now, the next look finds it
		}
	}
}

// countTimed is countTimed of a Server, for one limit. Newest is what tally has said.
func (w *window) countTimed(now monotime.Time, t *Ticket, kind *Kind, left int, newest bool) {
	cost := t.N
	if p := w.price; p != nil {
		if p.count(kind); w.refill.refills { // before another price is learned
			cost = product(t.N, p.ofLatest())
		}
		if newest {
			w.learnSpent(t.Sent, now, left, true, kind, false)
		}
	}
	if w.refill.refills {
		w.refill.measure(&outcome{sent: t.Sent, now: now, n: cost, remaining: left, newest: newest, unpriced: w.price != nil, limit: w.limit})
	}
}
