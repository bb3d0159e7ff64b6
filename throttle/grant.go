package throttle

import "time"

// Grant is the right to send one request now. It is ended by exactly one call of
// Done, when the server has answered, or of Cancel, if nothing was sent.
type Grant struct {
	l     *Limiter
	n     int
	place Place
	sent  instant // when it was granted
	order uint64  // among the grants and answers of the bucket; zero if nothing was known then
	probe bool    // it went to find out what the server allows
}

// Place is where the request stood in line: the Claim.Place with which it asks
// again if the server refuses it.
func (g Grant) Place() Place { return g.place }

// Time is when the request was granted, by the wall clock of when the Limiter was
// first used and the monotonic one since.
func (g Grant) Time() time.Time { return time.Unix(0, g.l.wall+int64(g.sent)-1) }

// Answer is what became of a request.
type Answer struct {
	// Refused says that the server refused the request because of a limit, and
	// did nothing.
	Refused bool

	// Lost says that no answer came: it may have reached the server or not.
	Lost bool

	// Hold is for how long the server wants nobody to ask, and HoldKnown whether
	// it said so. It is bounded by Limiter.MaxHold.
	Hold      time.Duration
	HoldKnown bool

	// Statements is what the server said about its limits.
	Statements []Statement
}

// Done ends the grant and learns from the answer. It returns for how long the
// bucket is held from now on, zero if it is not.
func (g Grant) Done(a Answer) (held time.Duration) {
	l := g.l
	if !a.tells() && l.quiet.Load() {
		l.server.inflight.Add(int64(-g.n))
		return 0
	}
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() { l.learn(g, now, &a) })
	return max(l.hold.sub(now), 0)
}

// learn takes in what became of a request.
func (l *Limiter) learn(g Grant, now instant, a *Answer) {
	s := &l.server
	s.end(g)
	if a.Refused && a.HoldKnown && a.Hold <= 0 {
		a.Hold = doubled(firstHold, s.refusals+1) // now, and yet it refused: in a moment
	}
	s.learn(g, now, a, l)
	if a.Refused || a.HoldKnown {
		l.refused(g, now, a)
	} else if !a.Lost {
		s.refusals = 0
	}
}

// refused holds the bucket for as long as the server asks, or, where it does not
// say or has not meant it, for a time that doubles with each refusal in a row.
func (l *Limiter) refused(g Grant, now instant, a *Answer) {
	s := &l.server
	// A burst of refusals is one signal: those that were on their way when the
	// first came back say nothing new.
	news := g.order >= s.refusedAt
	if a.Refused && news {
		s.refusals++
		s.refusedAt = s.order
		if len(s.windows) == 0 {
			s.delivered.refused(now)
		}
		for _, lim := range l.limits {
			if lim != nil {
				lim.cool(now)
			}
		}
		if l.SlowStart {
			s.restart()
		}
	}
	hold := max(a.Hold, 0)
	if a.Refused {
		if (hold == 0 || s.refusals > 1) && !s.used(now) {
			hold = max(hold, doubled(firstHold, s.refusals))
		}
	}
	hold = min(hold, l.maxHold())
	l.holdUntil(now.add(hold+l.jitter(hold)), now)
}

// firstHold is how long the bucket is held after a refusal for which the server
// gave neither a hint nor a reset. It doubles with each further refusal.
const firstHold = 100 * time.Millisecond

// Cancel ends the grant of a request that was not sent: what was charged goes
// back, exactly, and everybody behind moves up.
func (g Grant) Cancel() {
	root := g.l.lock()
	defer g.l.unlock(root)
	now := root.now()
	g.l.change(now, func() { g.give(now) })
}

// give takes the grant back. It requires that mu is held.
func (g Grant) give(now instant) {
	for b := g.l; b != nil; b = b.Parent {
		b.booked = now
		for _, lim := range b.limits {
			if lim != nil {
				lim.give(now, g.sent, g.n)
			}
		}
	}
	g.l.server.end(g)
	g.l.server.seen(g)
}

// forget ends the grant of a caller who will not say how it went.
func (g Grant) forget() {
	if g.l.quiet.Load() {
		g.l.server.inflight.Add(int64(-g.n))
		return
	}
	root := g.l.lock()
	defer g.l.unlock(root)
	g.l.server.end(g)
	g.l.server.seen(g)
}
