package adaptive

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/concurrency"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/overload"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// This file takes in answers, and says what each means for all requests of the bucket.

// Learn takes in what became of a request of a kind, and returns what that means for all requests of the
// bucket. If this Server granted the request, End must have been called before. If Learn takes a failure for a
// refusal, or knows better than a hint for how long to wait, it says so in a.
//
// The steps: find out whether a failure is a refusal (mayRefuse); read the hint (readHint, and once the
// statements are heard, holdAsked); hand the statements to their windows (hear); count a refusal (refused); and
// compute for how long the bucket is held (hold).
func (s *Server) Learn(now monotime.Time, t *Ticket, kind Kind, a *Answer) (e Effect) {
	if !a.Lost && !a.Refused && (len(s.windows) == 0 || s.mayBeOver(a)) {
		a.Refused = s.mayRefuse(now, t, a.MayRefuse)
	}
	if a.Refused && a.Hold > 0 && a.HoldAbsolute {
		a.Hold = s.hinted.until(t.Sent, now, a.HoldSkew, a.Hold)
	}
	asked := a.readHint(s.refusals + 1)
	a.Reading = a.Reading && !a.Refused && !a.Lost && !t.another
	s.parted = s.parted[:0]
	a.crowded = s.hearConcurrency(now, t, a)
	s.hear(now, t, kind, a)
	s.beginReading(t)
	if a.Refused && a.Hold > 0 {
		a.Hold = s.holdAsked(now, a.Hold, a.HoldResolution, a.Statements)
		asked = min(asked, a.Hold)
	}
	e.Refused, e.Contradicted = a.Refused, s.contradicted
	switch {
	case a.crowded && !a.HoldKnown && s.underway() > 0: // the next goes when one of these has ended
	case a.Refused || a.HoldKnown:
		e.PushedBack = s.refused(now, t, a, asked)
		e.Hold, e.Said = s.hold(now, a, asked), min(a.Hold, monotime.Longest)
	case !a.Lost:
		s.refusals = 0
	}
	return e
}

// mayBeOver reports whether an answer of a server that states limits tells something of failures without
// explanation: one that says that nothing remains, and no more when it does, may be a refusal.
func (s *Server) mayBeOver(a *Answer) bool {
	if a.MayRefuse {
		return UsedUp(a.Statements)
	}
	return s.overload.Heeds()
}

// mayRefuse takes in an answer without explanation, served or failed, and reports whether the
// failure is taken for a refusal.
func (s *Server) mayRefuse(now monotime.Time, t *Ticket, failed bool) bool {
	a := overload.Attempt{Granted: uint64(t.sequence), Failed: failed, Paced: s.pace.Measured()}
	refused, over := s.overload.Take(now, a, uint64(s.sequence), s.config.MaxHold)
	if over { // the failures were no refusals, and say nothing about a pace
		s.pace, s.refusals = pace.Rate{}, 0
	}
	return refused
}

// AddServed adds n to the requests that were served: requests that ended without Learn, while nothing was
// known. It is to be called before Learn.
func (s *Server) AddServed(now monotime.Time, n int) {
	s.pace.Count(now, n)
	s.overload.Serve(now, n)
}

// hear takes in what an answer states about limits, and that a request was served.
func (s *Server) hear(now monotime.Time, t *Ticket, kind Kind, a *Answer) {
	s.advance()
	a.sequence, a.underway = s.sequence, s.inFlight
	if a.Refused && len(s.windows)+len(a.Statements) > 1 {
		a.short, a.sure = s.short(t, &kind, a)
	}
	for i := range a.Statements {
		st := &a.Statements[i]
		if s.grantsNone(st, t, a) {
			continue
		}
		w := s.findOrAdd(nameOf(st))
		w.granted = w.granted || grants(st)
		st, another := w.millis.read(t.Sent, now, st)
		if another {
			w.misread()
		}
		before := w.remaining
		w.learn(now, t, kind, st, a, s.inFlightOn(w), &s.config)
		s.resume(now, w)
		s.compare(w, t, now, st, before)
		s.contradicted = s.contradicted || w.contradictions.enough && w.isPlain()
	}
	s.unstated(now, t, a)
	s.LookOver(t)
	if len(a.Statements) > 0 {
		s.statedAt = s.sequence
	}
	if !a.Refused && !a.Lost {
		s.serve(now, t, a)
	}
}

// serve takes in that a request was served, when its statements are heard.
func (s *Server) serve(now monotime.Time, t *Ticket, a *Answer) {
	s.successes++
	s.strays.Serve()
	if s.silent++; len(a.Statements) > 0 {
		s.silent = 0
	}
	if s.silent == 0 && t.sequence >= s.doubted {
		s.doubted = 0
	}
	if !a.MayRefuse { // a server that refuses so serves nothing with it
		s.pace.Serve(now, t.N, pace.Went{Sent: t.Sent, BeforeRefusal: t.sequence < s.refusalHeard && len(s.windows) == 0, BeforeAlone: t.sequence < s.wentAlone})
	}
	s.slowStart.Serve(now, uint64(t.sequence), now.Sub(t.Sent), len(a.Statements) > 0 && s.priced() || s.atOnce != nil || s.pace.Open())
}

// hearConcurrency takes in what an answer says of how many requests may be under way, and reports whether the
// request was refused because too many were.
func (s *Server) hearConcurrency(now monotime.Time, t *Ticket, a *Answer) (explains bool) {
	if !t.another {
		if a.Concurrency != (quota.Concurrency{}) {
			s.drawOn(a.Concurrency.Limit)
		}
		if c := s.atOnce; c != nil {
			f := concurrency.Ended{Granted: uint64(t.sequence), Latest: uint64(s.site.sequence), N: t.N, Underway: s.underway() + t.N, Refused: a.Refused, Served: !a.Refused && !a.Lost}
			var apart bool
			if explains, apart = c.Learn(now, &a.Concurrency, &f); apart {
				s.aloneAtOnce = true
				s.leaveAtOnce()
				s.joinAtOnce(&atOnce{Bound: c.Bound})
			}
			c.end()
		}
	}
	t.Reading = t.Reading || a.Reading && s.atOnce != nil
	return explains
}

// UsedUp reports whether one of the statements says that nothing remains of a limit.
func UsedUp(statements []quota.Statement) bool {
	return slices.ContainsFunc(statements, func(st quota.Statement) bool { return st.Remaining <= 0 })
}

// grantsNone reports whether a statement is about a unit of which the server grants nothing at all, although it
// served the request: so requests need nothing of it. Such a limit is none, and its window is forgotten.
func (s *Server) grantsNone(st *quota.Statement, t *Ticket, a *Answer) bool {
	unit := canonical(st.Unit)
	if unit == "" || grants(st) || a.Refused || a.Lost {
		return false
	}
	cost, w := a.cost(t), s.find(nameOf(st))
	if isSaid(&cost, unit) || w != nil && w.granted {
		return false
	}
	if w != nil { // an answer to a refused request has stated the limit
		s.leave(w)
		s.windows = slices.DeleteFunc(s.windows, func(o *window) bool { return o == w })
	}
	return true
}

// grants reports whether a statement says that the server grants anything of a limit.
func grants(st *quota.Statement) bool { return st.Limit > 0 || st.Remaining > 0 }

// unstated accounts for the windows of which an answer does not speak. A window without a counter loses the
// cost of the request, as all requests may draw on it. A window with a counter loses it only if the answer
// states nothing: an answer that states something names the limits on which the request drew.
//
// Windows that the server states no longer are forgotten, see gone.
func (s *Server) unstated(now monotime.Time, t *Ticket, a *Answer) {
	kept, cost := s.windows[:0], a.cost(t)
	for _, w := range s.windows {
		if w.lastAnswer == s.sequence {
			kept = append(kept, w)
			continue
		}
		switch {
		case !a.Refused && (w.counter == "" || len(a.Statements) == 0):
			n := bounded(w.costOf(&cost, nil))
			w.charge(n)
			w.others.countServed(t.Sent, n) // what is not counted would look like what others use
		case a.Refused && !a.crowded:
			w.doubtUnstated(t, a)
		}
		w.refusedUnstated(now, t, a, &s.config)
		if !w.gone(now, t, a) {
			kept = append(kept, w)
		} else {
			s.leave(w)
			s.keepSought(now, t, w)
		}
	}
	clear(s.windows[len(kept):])
	s.windows = kept
}

// doubtUnstated takes in a refusal that does not speak of the limit, and is not because too many requests were
// under way.
func (w *window) doubtUnstated(t *Ticket, a *Answer) {
	if !a.short || !a.named { // else a limit that is stated is the reason
		w.dropped.heard(true)
	}
	switch {
	case w.refill.raise.on() && !a.named:
		w.refill.slowDown() // no limit is known to have refused the request, so the rate may have been too high
	case w.refill.refills && w.remaining <= 0 && t.Sent >= w.refill.meter.from && len(a.Statements) == 0:
		w.refill.doubt() // where refusals state nothing, only this ends a wrong rate
	}
}

// gone reports whether an answer that does not speak of the limit shows that the server states it no more.
//
//   - If the answer to a look states nothing at all, each window is gone at which a look is due by now,
//     whichever of them it was that the request looked at.
//   - If the answer to a look states other limits, such a window is gone only if it is used up, its reset has
//     passed, and all requests draw on it. It would let one request go at a time until an answer speaks of it,
//     which may be never.
//   - Where requests go at a rate and none is a look, several answers show it, see dropped.
func (w *window) gone(now monotime.Time, t *Ticket, a *Answer) bool {
	if a.Refused || a.Lost || len(a.Statements) > 0 && (w.counter != "" || w.remaining > 0 || w.reset.late > now) {
		return false
	}
	dropped := w.refill.refills && t.Sent >= w.reset.late && w.dropped.silent()
	return dropped || t.looks && now >= w.nextLook
}

// refused takes in a refusal, and reports whether it is a new one. A burst of refusals is one signal: the
// refusal of a request that was granted before the latest refusal came back says nothing new.
func (s *Server) refused(now monotime.Time, t *Ticket, a *Answer, asked time.Duration) (pushedBack bool) {
	if !a.Refused || t.sequence < s.refusalHeard {
		return false
	}
	s.refusals++
	s.refusalHeard, s.dear = s.sequence, a.inTime
	// A used-up window explains the refusal, or one of which too little remains. But if the server states
	// limits only when it refuses (silent), nothing shows how much remains after the reset: then the pace is
	// needed as well. Not so where too many were under way: how many go then is no matter of time.
	explained := a.dear || a.crowded || s.usedUp(now)
	if !explained {
		s.doubted = s.sequence
	}
	if !a.crowded && (s.silent > 0 || !explained) {
		s.pace.Answered(now.Sub(t.Sent), a.unshared)
		s.pace.Refuse(now, a.HoldKnown)
		s.pace.Hint(now, asked, a.HoldResolution)
	}
	s.Restart(false)
	return true
}

// ServedBelow takes in that a request of a bucket below was served, by the same server: so the server serves
// others between the refusals of a claim of this bucket.
func (s *Server) ServedBelow() {
	s.refusals = 0
	s.successes++
}

// MayRefuse reports whether a failure (Answer.MayRefuse) with these statements is taken for a refusal, on trial
// or since a trial showed it (see overload): while a limit is stated, only one that says that nothing remains.
func (s *Server) MayRefuse(statements []quota.Statement) bool {
	return s.overload.Belief() != overload.MeanFailure && (len(s.windows) == 0 || UsedUp(statements))
}
