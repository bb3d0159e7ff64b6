package adaptive

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Learn takes in what became of a request, and returns what that means for all. A request of this
// Server must have ended (End).
func (s *Server) Learn(now monotime.Time, t *Ticket, a Answer) (e Effect) {
	if !a.Lost && !a.Refused && len(s.windows) == 0 {
		a.Refused = s.mayRefuse(now, t, a.MayRefuse)
	}
	if a.Refused && a.HoldKnown && a.Hold <= 0 {
		a.Hold = doubled(firstHold, s.refusals+1) // now, and yet it refused: in a moment
	}
	s.hear(now, t, &a)
	e.Refused = a.Refused
	switch {
	case a.Refused || a.HoldKnown:
		e.PushedBack = s.refused(now, t, &a)
		e.Hold = s.hold(now, &a)
	case !a.Lost:
		s.refusals = 0
	}
	return e
}

// mayRefuse takes in an answer that may be a refusal without saying so, and reports whether it
// is taken for one.
func (s *Server) mayRefuse(now monotime.Time, t *Ticket, failed bool) bool {
	a := attempt{granted: t.order, failed: failed, paced: s.served.rate != 0 && !s.served.guessed}
	refused, over := s.overload.take(now, a, s.order, s.config.MaxHold)
	if over { // they were failures, and tell nothing of a pace
		s.served, s.refusals = servedRate{}, 0
	}
	return refused
}

// hear takes in what an answer says of limits.
func (s *Server) hear(now monotime.Time, t *Ticket, a *Answer) {
	s.next()
	for i := range a.Statements {
		st := &a.Statements[i]
		w := s.window(st.Name, st.Bucket, canonical(st.Unit))
		w.learn(now, t, st, a, s.order, s.under(w), &s.config)
		s.compare(w, t, now, st)
	}
	s.unsaid(now, t, a)
	if !a.Refused && !a.Lost {
		s.mute = len(a.Statements) == 0
		s.served.serve(now, t.N)
	}
	s.Looked(t)
	if st := &s.slowStart; st.most > 0 && t.order >= st.since && !a.Refused && !a.Lost {
		st.answered++
		st.most++
		if len(a.Statements) > 0 || st.answered >= enough {
			st.most = 0
		}
	}
}

// unsaid accounts for what an answer does not speak of: the windows that are known are a request
// nearer to their end, unless the server names others that it drew on. One whose reset has
// passed is forgotten when the server speaks of none at all.
func (s *Server) unsaid(now monotime.Time, t *Ticket, a *Answer) {
	kept, cost := s.windows[:0], a.cost(t)
	for _, w := range s.windows {
		if w.stated == s.order {
			kept = append(kept, w)
			continue
		}
		if !a.Refused && (w.bucket == "" || len(a.Statements) == 0) {
			w.remaining = max(w.remaining-asked(&cost, w.unit), 0)
		}
		if a.Refused && w.refill.creep > 1 {
			w.refill.slowDown() // whoever refused it, this was too fast
		}
		if a.Refused || a.Lost || !t.probe || now < w.until || len(a.Statements) > 0 {
			kept = append(kept, w)
		} else {
			s.leave(w)
		}
	}
	clear(s.windows[len(kept):])
	s.windows = kept
}

// refused takes in a refusal, and reports whether it is news. A burst of refusals is one signal:
// those that were on their way when the first came back say nothing new.
func (s *Server) refused(now monotime.Time, t *Ticket, a *Answer) (pushedBack bool) {
	if !a.Refused || t.order < s.refusedAt {
		return false
	}
	s.refusals++
	s.refusedAt = s.order
	if s.mute || !s.usedUp(now) {
		s.served.refused(now, a.HoldKnown)
	}
	s.Restart(false)
	return true
}

// hold returns for how long the bucket is to be held: for as long as the server asks, or, where
// it does not say or has not meant it, for a time that doubles with each refusal in a row.
func (s *Server) hold(now monotime.Time, a *Answer) time.Duration {
	hold := max(a.Hold, 0)
	if a.Refused && (hold == 0 || s.refusals > 1) && !s.usedUp(now) {
		hold = max(hold, doubled(firstHold, s.refusals))
	}
	hold = min(hold, s.config.MaxHold)
	spread := s.config.jitter(hold)
	if s.refusals > 1 {
		// Whoever took what was back may have done so in step with us, and would again.
		spread *= 50
	}
	return hold + min(spread, time.Second)
}

// MayRefuse reports whether failures (Answer.MayRefuse) are taken for refusals: since a good part
// of the answers were failures, and as long as fewer are where requests go slower.
func (s *Server) MayRefuse() bool { return s.overload.belief != failures }

// Overhear takes in what the server said to others: of a limit that is known, only how little
// remains. Of another reset than that which is known s will hear itself, unless it is over.
func (s *Server) Overhear(now monotime.Time, st *quota.Statement) {
	if !st.ResetKnown || st.Reset <= 0 {
		return
	}
	late := now.Add(min(st.Reset, monotime.Longest))
	w := s.find(st.Name, st.Bucket, canonical(st.Unit))
	if w == nil || w.reset.late <= now {
		s.restore(now, &known{
			name: st.Name, bucket: st.Bucket, unit: canonical(st.Unit), limit: st.Limit, remaining: st.Remaining,
			early: late.Add(-st.Resolution), late: late, resolution: st.Resolution, span: st.Window,
		})
		return
	}
	left := max(st.Remaining, 0)
	near := 2*time.Second + max(st.Resolution, w.reset.resolution)
	if left >= w.remaining || w.reset.late == 0 || max(late, w.reset.late).Sub(min(late, w.reset.late)) > near {
		return
	}
	w.remaining, w.next = left, min(w.next, left)
	if left == 0 && w.spent == 0 {
		w.spent = now
	}
	w.scheduleProbe(now, &s.config)
}
