package adaptive

import (
	"math"
	"slices"

	"github.com/gopacer/pacer/internal/inside"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// This file is a shorter way for requests and answers while there is nothing to find out.

// Steady reports whether there is nothing to find out: all that could delay a request is that too little
// remains of a limit that the server states. Then OpenSteady and TakeSteady do what Open and Take do, and Count
// does what Learn does, for requests that say no cost in other units. A Server stays Steady until another
// method is called that changes it.
func (s *Server) Steady() bool {
	if s.slowStart.Allowed() != 0 || s.atOnce != nil || s.refusals != 0 || s.doubted != 0 || !s.pace.Fresh() || s.contradicted ||
		!s.refusalsSettled() || len(s.otherUnits) > 0 || len(s.windows) == 0 {
		return false
	}
	for _, w := range s.windows {
		if !w.steady() {
			return false
		}
	}
	s.findRoom()
	return true
}

// steady reports whether there is nothing to find out of the limit: not for its parts, and not because several
// instances state it, or because nobody knows yet what requests cost of it.
func (w *window) steady() bool {
	return !w.instances && (w.unit == "" || w.price != nil && !w.price.streams()) && w.parts.steady()
}

// OpenSteady reports whether the server allows n requests of a kind now. It requires that s is Steady, or that
// nothing is known.
func (s *Server) OpenSteady(now monotime.Time, n int, kind *Kind) bool {
	return len(s.windows) == 0 || n <= s.room || s.allSteadyOpen(now, n, kind) // inlined
}

// unknownRoom is so little that the answers to all that is in flight do not make it positive.
const unknownRoom = math.MinInt / 2

// findRoom finds how many requests may go at least before a window delays one.
func (s *Server) findRoom() {
	room := math.MaxInt / 2
	for _, w := range s.windows {
		room = min(room, w.room(s.inFlight))
	}
	s.room = room
}

// room returns how many requests may go at least before w delays one, if so many are in flight: none of them
// makes due say that something is missing. It is unknownRoom where nothing bounds what one request needs, or
// where something is kept for others.
func (w *window) room(inFlight int) int {
	if w.others.perOurToken != 0 || w.others.unseenUntil != 0 || w.refill.crowd.on() {
		return unknownRoom
	}
	left := w.remaining - bounded(w.spread.Below) // which is at least what remains
	if w.unit != "" {
		if w.price == nil || !w.price.known() {
			return unknownRoom
		}
		left = int(float64(left-roundings) / w.price.most())
	}
	return left - inFlight
}

// roundings is by how many tokens the sum of what is in flight and of what further requests need may be too
// large, since both are rounded up.
const roundings = 2

func (s *Server) allSteadyOpen(now monotime.Time, n int, kind *Kind) bool {
	for _, w := range s.windows {
		if until := w.others.unseenUntil; until != 0 && now >= until {
			w.others.unseenUntil = 0
			s.findRoom()
		}
		if n <= w.room(s.inFlight) {
			continue
		}
		need := n
		if w.unit != "" {
			need = s.needIn(w, &limit.Demand{Claims: 1, N: n}, kind)
		}
		if at, open := w.due(now, want{n: need, inFlight: s.inFlightIn(w)}); !open || at > now {
			return false // or it would be a look
		}
	}
	return true
}

// TakeSteady is Take for a request that OpenSteady allows.
func (s *Server) TakeSteady(now monotime.Time, t *Ticket) {
	s.advance()
	s.inFlight += t.N
	s.room -= t.N
	s.granted += t.N
	t.Sent, t.granted, t.sequence = now, s.granted, s.sequence
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
		if w.refill.shared() {
			w.refill.stock.take(now, w.limit(), s.inFlightIn(w)-1)
		}
		if n := s.inFlightIn(w); w.remaining-n <= w.refill.crowd.leave(w.limit(), n) { // as take says
			w.refill.pacedGoes(now)
		}
	}
}

// Timed reports whether Count is to be told what time it is.
func (s *Server) Timed() bool { return s.timed }

// maxCounted bounds how many limits are counted. It is a power of two, so that an index needs no check.
const maxCounted = len(inside.Left{})

// Stated returns a mark of the limits of the statements that were learned last: by this mark, answers that
// state the limits again can be counted. It is nil if s knows other limits, too, or is not Steady. While the
// limits are the same, the mark is the same: so it does not matter in which order goroutines come that have
// one.
func (s *Server) Stated(statements []quota.Statement) *inside.Mark {
	n := len(statements)
	if n != len(s.windows) || n > maxCounted || !s.Steady() {
		return nil
	}
	var windows []*window
	timed := false
	for i := range statements {
		o := &statements[i]
		w := s.find(nameOf(o))
		if w == nil || slices.Contains(windows, w) {
			return nil
		}
		windows = append(windows, w)
		timed = timed || w.price != nil || w.refill.refills
	}
	if s.mark == nil || s.timed != timed || !slices.Equal(s.marked, windows) {
		s.marked, s.timed, s.mark = windows, timed, new(inside.Mark)
	}
	return s.mark
}

// Count does what End and Learn do for the answer to a request that was served, if the answer states again what
// another answer did, but for what remains of each limit (left).
//
// Count leaves out what changes with time alone, what resets say of a rate, and how much others use of the
// limit. Learn hears of these with one of the answers that follow.
//
// Count does nothing, and returns false, if Learn is to hear this answer: if nothing remains, or if more
// remains than before although no other answer has overtaken this one (see remains). It requires that s is
// Steady, and a mark. Now may be zero unless s is Timed.
func (s *Server) Count(mark *inside.Mark, left *inside.Left, now monotime.Time, t *Ticket, kind *Kind) bool {
	if mark != s.mark || t.looks {
		return false
	}
	windows := s.marked
	gone := 0
	for i, w := range windows {
		n := left[i&(maxCounted-1)]
		if n <= 0 || n > w.remaining && t.sequence >= w.nextSince || w.refill.refills && !s.timed {
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
		w.hear(t.sequence, n, answer, w.heardAt)
		w.overlap.lastRemaining = n
		if t.Sent > w.last.at {
			w.last.note(t.Sent)
		}
		if w.price == nil {
			w.others.countServed(t.Sent, t.N)
		}
	}
	s.statedAt, s.silent = answer, 0
	s.successes++
	s.strays.Serve()
	if s.timed {
		s.countTimed(left, now, t, kind)
	}
	return true
}

// countTimed takes in what depends on when an answer came that is counted.
func (s *Server) countTimed(left *inside.Left, now monotime.Time, t *Ticket, kind *Kind) {
	for i, w := range s.marked {
		if w.heardAt = now; w.price != nil || w.refill.refills {
			w.countTimed(now, t, kind, left[i&(maxCounted-1)], s.inFlight, w.nextSince == s.sequence)
			s.room = min(s.room, w.room(s.inFlight)) // the price has changed; if it leaves more room, findRoom finds that
		}
	}
}

// countTimed is countTimed of a Server, for one limit. Newest says that the server wrote the answer after all
// others (see remains).
func (w *window) countTimed(now monotime.Time, t *Ticket, kind *Kind, left, inFlight int, newest bool) {
	cost := t.N
	if p := w.price; p != nil {
		if p.count(kind); w.refill.refills { // before another price is learned
			cost = product(t.N, p.ofLatest())
		}
		w.learnSpent(t, now, left, inFlight, true, kind, false, newest)
	}
	if w.refill.refills {
		w.refill.measure(&outcome{sent: t.Sent, now: now, n: cost, flight: inFlight + t.N, remaining: left, newest: newest, requests: w.unit == "", unpriced: w.price != nil, limit: w.limit()})
	}
}
