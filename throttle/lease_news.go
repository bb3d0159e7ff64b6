package throttle

import (
	"runtime"
	"slices"
	"time"
	"weak"
)

// said notes what the server said, for the store to be told: at once if nothing is left.
func (s *lease) said(now instant, statements []Statement) {
	for _, st := range statements {
		st.Unit = canonical(st.Unit)
		w := said{st, now.add(min(max(st.Reset, 0), ages))}
		if i := slices.IndexFunc(s.told, func(o said) bool { return o.same(&st) }); i >= 0 {
			s.told[i] = w
		} else if len(s.told) < maxWindows {
			s.told = append(s.told, w)
		}
		if st.Remaining <= 0 && st.ResetKnown && w.reset > s.spent.add(time.Second) {
			s.spent, s.urgent = w.reset, true
			s.later(now, 0)
		}
	}
}

// hear takes in what a reply says that others were told.
func (s *lease) hear(now instant, reply *Reply) {
	if reply.Hold > 0 {
		s.holdUntil(now.add(min(reply.Hold, ages)), now)
	}
	for i := range reply.Statements {
		s.l.overhear(now, &reply.Statements[i])
	}
}

// holdUntil takes over a hold. It reaches us a moment late, each time another one: that does
// not make it a new one.
func (s *lease) holdUntil(at, now instant) {
	s.held = max(s.held, at)
	if s.l.hold > now && at > s.l.hold && at.sub(s.l.hold) <= s.took() {
		s.l.hold = at
		return
	}
	s.l.holdUntil(at, now)
}

// overhear takes in what the server said to others. Of a limit that we know, only how little
// remains; another reset than ours we will hear of ourselves, unless ours is over.
func (l *Limiter) overhear(now instant, st *Statement) {
	if !st.ResetKnown || st.Reset <= 0 {
		return
	}
	late := now.add(min(st.Reset, ages))
	w := l.server.known(st)
	if w == nil || w.late <= now {
		l.remember(now, &WindowMemory{
			Name: st.Name, Bucket: st.Bucket, Unit: st.Unit, Limit: st.Limit, Remaining: max(st.Remaining, 0),
			Early: l.time(late.add(-st.Resolution)), Late: l.time(late), Resolution: st.Resolution, Span: st.Window,
		})
		return
	}
	left := max(st.Remaining, 0)
	near := 2*time.Second + max(st.Resolution, w.step)
	if left >= w.least || w.late == 0 || max(late, w.late).sub(min(late, w.late)) > near {
		return
	}
	w.least, w.fresh = left, min(w.fresh, left)
	if left == 0 && w.spent == 0 {
		w.spent = now
	}
	w.look(now, l)
}

// listen has the store tell what there is to know at once.
func (s *lease) listen() {
	l := weak.Make(s.l) // who forgets a Limiter without closing it may
	stop, err := s.l.Store.Listen(s.l.storeName(), func(n News) {
		l := l.Value()
		if l == nil || n == (News{}) {
			return
		}
		root := l.lock()
		defer l.unlock(root)
		now := root.now()
		if at := now.add(min(n.Hold, ages)); n.Hold > 0 && at > l.hold {
			l.change(now, func() { l.lease.holdUntil(at, now) })
		}
		if n.Room {
			l.lease.room = true
			l.lease.ask(now)
		}
	})
	root := s.l.lock()
	defer s.l.unlock(root)
	switch {
	case err != nil:
		s.deaf = true
	case s.closed:
		stop()
	default:
		s.stop = stop
		runtime.AddCleanup(s.l, func(stop func()) { stop() }, stop)
	}
}
