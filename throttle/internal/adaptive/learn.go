package adaptive

import (
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/internal/pace"
)

// Learn takes in what became of a request of a kind, and returns what that means for all requests of the bucket. If
// this Server granted the request, End must have been called before. If Learn takes a failure for a refusal, or knows
// better than a hint for how long to wait, it says so in a.
//
// The steps: find out whether a failure is a refusal (mayRefuse); hand the statements to their windows (hear); count
// a refusal (refused); and compute for how long the bucket is held (hold).
func (s *Server) Learn(now monotime.Time, t *Ticket, kind Kind, a *Answer) (e Effect) {
	if !a.Lost && !a.Refused && (len(s.windows) == 0 || s.mayBeOver(a)) {
		a.Refused = s.mayRefuse(now, t, a.MayRefuse)
	}
	if a.Refused && a.Hold > 0 {
		a.Hold = nearer(a.Hold, a.HoldResolution, a.Statements, s.refusals+1)
	}
	asked := a.Hold
	if a.Refused && a.HoldKnown && a.Hold <= 0 {
		a.Hold = inAMoment(a.Statements, s.refusals+1) // "ask now", it says, and refuses
	}
	s.hear(now, t, kind, a)
	if a.Refused && a.Hold > 0 {
		a.Hold = s.sooner(now, a.Hold, a.HoldResolution, a.Statements)
		asked = min(asked, a.Hold)
	}
	e.Refused, e.Contradicted = a.Refused, s.contradicted
	switch {
	case a.Refused || a.HoldKnown:
		e.PushedBack = s.refused(now, t, a, asked)
		e.Hold, e.Said = s.hold(now, a, asked), min(a.Hold, monotime.Longest)
	case !a.Lost:
		s.refusals = 0
	}
	return e
}

// mayBeOver reports whether an answer of a server that states limits tells something of failures without explanation:
// one that says that nothing remains, and no more when it does, may be a refusal.
func (s *Server) mayBeOver(a *Answer) bool {
	if a.MayRefuse {
		return Exhausted(a.Statements)
	}
	return s.overload.belief != meanFailure || s.overload.failed > 0
}

// mayRefuse takes in an answer without explanation, served or failed, and reports whether the
// failure is taken for a refusal.
func (s *Server) mayRefuse(now monotime.Time, t *Ticket, failed bool) bool {
	a := attempt{granted: t.sequence, failed: failed, paced: s.pace.Measured()}
	refused, over := s.overload.take(now, a, s.sequence, s.config.MaxHold)
	if over { // the failures were no refusals, and say nothing about a pace
		s.pace, s.refusals = pace.Rate{}, 0
	}
	return refused
}

// AddServed adds n to the requests that were served: requests that ended without Learn, while nothing was known. It
// is to be called before Learn.
func (s *Server) AddServed(now monotime.Time, n int) {
	s.pace.Count(n)
	if n > 0 && s.overload.belief == meanFailure {
		s.overload.serve(now, n)
	}
}

// hear takes in what an answer states about limits, and that a request was served.
func (s *Server) hear(now monotime.Time, t *Ticket, kind Kind, a *Answer) {
	s.advance()
	s.parted = s.parted[:0]
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
		w.learn(now, t, kind, st, a, s.sequence, s.inFlightOn(w), &s.config)
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
		s.successes++
		s.strays.serve()
		if s.silent++; len(a.Statements) > 0 {
			s.silent = 0
		}
		if s.silent == 0 && t.sequence >= s.doubted {
			s.doubted = 0
		}
		s.pace.Serve(now, t.N, pace.Went{BeforeRefusal: t.sequence < s.refusalHeard && len(s.windows) == 0, BeforeAlone: t.sequence < s.wentAlone})
		s.slowStart.serve(now, t.sequence, now.Sub(t.Sent), len(a.Statements) > 0 && s.priced() || s.pace.Open())
	}
}

// Exhausted reports whether one of the statements says that nothing remains of a limit.
func Exhausted(statements []quota.Statement) bool {
	return slices.ContainsFunc(statements, func(st quota.Statement) bool { return st.Remaining <= 0 })
}

// InUnits returns what an answer states with each reset in the unit that the clock has shown, for other processes. It
// is to be called after Learn.
func (s *Server) InUnits(statements []quota.Statement) []quota.Statement {
	read := statements
	for i := range statements {
		st := &statements[i]
		w := s.find(nameOf(st))
		if w == nil || w.millis.inUnit(st) == st {
			continue
		} else if &read[0] == &statements[0] {
			read = slices.Clone(statements)
		}
		read[i] = *w.millis.inUnit(st)
	}
	return read
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

// unstated accounts for the windows of which an answer does not speak. A window without a counter loses the cost of
// the request, as all requests may draw on it. A window with a counter loses it only if the answer states nothing: an
// answer that states something names the limits on which the request drew.
//
// Windows that the server states no longer are forgotten, see gone.
func (s *Server) unstated(now monotime.Time, t *Ticket, a *Answer) {
	kept, cost := s.windows[:0], a.cost(t)
	for _, w := range s.windows {
		if w.lastAnswer == s.sequence {
			kept = append(kept, w)
			continue
		}
		if !a.Refused && (w.counter == "" || len(a.Statements) == 0) {
			n := bounded(w.costOf(&cost, nil))
			w.charge(n)
			w.others.countServed(t.Sent, n) // what is not counted would look like what others use
		}
		if a.Refused && (!a.short || !a.named) { // else a limit that is stated is the reason
			w.dropped.heard(true)
		}
		switch {
		case !a.Refused:
		case w.refill.raise.on() && !a.named:
			w.refill.slowDown() // no limit is known to have refused the request, so the rate may have been too high
		case w.refill.refills && w.remaining <= 0 && t.Sent >= w.refill.measuredFrom && len(a.Statements) == 0:
			w.refill.doubt() // where refusals state nothing, only this ends a wrong rate
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

// gone reports whether an answer that does not speak of the limit shows that the server states it no more.
//
//   - If the answer to a look states nothing at all, each window is gone at which a look is due by now,
//     whichever of them it was that the request looked at.
//   - If the answer to a look states other limits, such a window is gone only if it is used up, its reset has
//     passed, and all requests draw on it. It would let one request go at a time until an answer speaks of it, which
//     may be never.
//   - Where requests go at a rate and none is a look, several answers show it, see dropped.
func (w *window) gone(now monotime.Time, t *Ticket, a *Answer) bool {
	if a.Refused || a.Lost || len(a.Statements) > 0 && (w.counter != "" || w.remaining > 0 || w.reset.late > now) {
		return false
	}
	dropped := w.refill.refills && t.Sent >= w.reset.late && w.dropped.silent()
	return dropped || t.looks && now >= w.nextLook
}

// refused takes in a refusal, and reports whether it is a new one. A burst of refusals is one signal: the refusal of
// a request that was granted before the latest refusal came back says nothing new.
func (s *Server) refused(now monotime.Time, t *Ticket, a *Answer, asked time.Duration) (pushedBack bool) {
	if !a.Refused || t.sequence < s.refusalHeard {
		return false
	}
	s.refusals++
	s.refusalHeard = s.sequence
	// A used-up window explains the refusal. But if the server states limits only when it refuses (silent), nothing
	// shows how much remains after the reset: then the pace is needed as well.
	if !s.usedUp(now) {
		s.doubted = s.sequence
	}
	if s.silent > 0 || !s.usedUp(now) {
		s.pace.Refuse(now, a.HoldKnown)
		s.pace.Hint(now, asked, a.HoldResolution)
	}
	s.Restart(false)
	return true
}

// Refuse takes in a refusal of a claim, of a kind of request, with ticket t, before Learn. Asked is for how long the
// server wants no requests; zero if it does not say. Stated says that the refusal states a limit. Own says that the
// refusal is the claim's own matter, of which Learn is not to be told. Hold is for how long the claim is not to be
// made again; zero if that is for the bucket to say.
func (s *Server) Refuse(now monotime.Time, t *Ticket, p *Past, kind Kind, asked time.Duration, stated bool) (hold time.Duration, own bool) {
	p.yielded = false
	if s.stray(now, stated) {
		p.strays++
		return s.alone(asked, p.strays), true
	}
	if s.persistence == nil {
		s.persistence = &persistence{}
	}
	ofKind := s.unserved.refuse(now, p, kind, t, s.successes, s.sequence)
	before := p.granted
	p.granted = max(t.Granted(), 1) // one that was granted without Take is older than all others
	v, found := s.persistence.refuse(now, before, p.granted, uint64(s.sequence), t.First, p.alone)
	if ofKind || found {
		s.pace.Forget() // the refusals said nothing about a pace
	}
	if v == ofBucket && (asked > 0 || p.rounds < patientRounds) {
		return 0, false
	} else if v == tryAnother {
		s.Restart(false)
	}
	return s.alone(asked, p.refusals), v != ofBucket
}

// patientRounds is how often others must be served between the refusals of a claim, if the server does not say for
// how long, so that the claim waits by itself, for longer each time. Without that, a claim of a narrow limit would be
// refused as often as it may be within seconds, each time after the short hold of the bucket.
const patientRounds = 2

// stray takes in a refusal, and reports whether it comes from something in front of the server. Stated says that the
// refusal states a limit.
func (s *Server) stray(now monotime.Time, stated bool) bool {
	if stated || len(s.windows) == 0 || s.silent > 0 {
		return false
	}
	paced := s.pace.Known()
	if paced && s.pace.Risen(now) {
		s.strays.slow = 0
		return false
	}
	left := true
	for _, w := range s.windows {
		left = left && w.remaining > 0
	}
	if !s.strays.refuse(left, paced) {
		return false
	}
	if s.strays.slow >= enoughSlow { // the pace was not the reason of the refusals from which it was learned
		s.pace, s.strays.slow = pace.Rate{}, 0
	}
	s.advance()
	s.doubted = s.sequence // a quota of the user counts again until the server states its numbers once more, see States
	return true
}

// Served takes in that a request of a kind was served, with ticket t: so its kind is not always refused. Past is what
// became of its claim before; nil if the claim was not refused. Pass is how often a claim that stands before this one,
// which went ahead, is to let others pass, since several were refused in a row. That is once while the evidence is not
// enough for another request to be tried (triesFrom), so that none waits for long where others are refused as well.
func (s *Server) Served(now monotime.Time, kind Kind, t *Ticket, p *Past) (pass int) {
	if s.unserved.any() {
		s.unserved.serve(now, kind)
	}
	if s.persistence == nil {
		return 0
	}
	before := p.Latest() != 0
	switch {
	case before:
	case s.persistence.trying():
		pass = math.MaxInt
	case s.persistence.flights > severalRefusals:
		pass = 1
	}
	if s.persistence.serve(t.Granted(), before); !s.persistence.any(now) {
		s.persistence = nil
	}
	return pass
}

// Yields reports whether a claim that waits goes behind others that come before an instant, since several requests were
// refused in a row, and notes that. P is what became of the claim; nil if it was not refused: then it does not yield.
// A claim yields once before it is made again, while the evidence is not enough to try another: else it would never go
// where such rows come sooner than all others have gone.
func (s *Server) Yields(p *Past, before monotime.Time) bool {
	if p == nil || p.yielded && !s.persistence.trying() {
		return false
	}
	p.Behind, p.yielded = max(p.Behind, before), true
	return true
}

// TriesAnother reports whether a request is to go at once, alone, after a refusal that does not hold the bucket.
func (s *Server) TriesAnother() bool { return s.persistence.trying() && s.slowStart.allowed == 1 }

// ServedBelow takes in that a request of a bucket below was served, by the same server: so the server serves others
// between the refusals of a claim of this bucket.
func (s *Server) ServedBelow() {
	s.refusals = 0
	s.successes++
}

// MayRefuse reports whether a failure (Answer.MayRefuse) with these statements is taken for a refusal, on trial or
// since a trial showed it (see overload): while a limit is stated, only one that says that nothing remains.
func (s *Server) MayRefuse(statements []quota.Statement) bool {
	return s.overload.belief != meanFailure && (len(s.windows) == 0 || Exhausted(statements))
}

// Overhear takes in a statement that the server made to another process. If the reset of the limit is not known here,
// or has passed, the whole statement is taken over. If the reset is known here, only a lower Remaining is taken over,
// and only if the statement is about the same reset, and not about the one before: this process will hear of another
// reset itself.
func (s *Server) Overhear(now monotime.Time, st *quota.Statement) {
	if !st.ResetKnown || st.Reset <= 0 {
		return
	}
	late, step := now.Add(min(st.Reset, monotime.Longest)), min(max(st.Resolution, 0), monotime.Longest)
	w := s.find(nameOf(st))
	if w == nil && !grants(st) && canonical(st.Unit) != "" {
		return // nobody knows whether requests need any of it, see grantsNone
	}
	if w == nil && isBare(st) && s.inMillis(st) {
		return // it is passed over, as by millis.overhear
	}
	if w == nil {
		w = s.findOrAdd(nameOf(st)) // with what is known of its resets
	}
	if passed, another := w.millis.overhear(st); passed {
		return
	} else if another {
		w.misread()
	}
	if w.reset.late <= now {
		h := hearsay{
			limitName: nameOf(st), limit: st.Limit, remaining: st.Remaining,
			early: late.Add(-step), late: late, opened: now, openedWithin: w.reset.halfRoundTrip, resolution: step, span: st.Window,
		}
		if w.reset.roundsDown {
			h.early, h.late = late, late.Add(step)
		}
		s.restore(now, &h)
		return
	}
	left := bounded(st.Remaining)
	if left >= w.remaining || w.reset.isOver(late) || max(late, w.reset.late).Sub(min(late, w.reset.late)) > max(st.Doubt(), w.reset.resolution) {
		return
	}
	w.lower(left)
	if left == 0 && w.spentSince == 0 {
		w.spentSince = now
	}
	w.scheduleLook(now, &s.config)
}

// Look returns which of n claims is to go ahead after a hold; kind returns what kind they are of. The first one is the
// first in line, the others were not refused yet. If the first is of a kind that was refused, and of which none was
// served since, it is the first of another kind: else requests that the server always refuses would go ahead one after
// the other. They may be of the same kind as others, or each of its own. So after several refusals in a row, it is any
// one: not the last one that came, which would always be that of the caller that was served last. Where a limit that
// the server states explains the refusals, it is the first one.
func (s *Server) Ahead(n int, kind func(i int) *Kind) int {
	refused := func(i int) bool { return s.unserved[byPath].find(*kind(i), byPath) >= 0 }
	if n > 1 && refused(0) {
		for i := 1; i < n; i++ {
			if !refused(i) {
				return i
			}
		}
	}
	if (s.refusals > severalRefusals || s.persistence.trying()) && s.unserved.any() {
		return max(0, min(int(s.persistence.draw(s.config.Random)*float64(n)), n-1))
	}
	return 0
}
