package throttle

import "time"

// Grant is the right to send one request now. It is ended by exactly one call of
// Done, when the server has answered, or of Cancel, if nothing was sent. If the
// answer is still being read then (Answer.Reading), Close ends that.
type Grant struct {
	l      *Limiter
	n      int
	place  Place
	sent   instant // when it was granted
	order  uint64  // among the grants and answers of the bucket; zero if nothing was known then
	probe  bool    // it went to find out what the server allows
	urgent bool    // nothing of what is left to those that are not urgent was charged
	more   *more   // nil if it cost requests only, and holds no slot
}

// more is what only some grants have.
type more struct {
	asked   demand
	parts   []part // what was charged; nil if that is what was asked for
	slots   []slot // that it holds
	uses    []use  // of slots of a Store
	reading bool   // Close will be called

	canceled bool // nothing is left to settle
}

// slot is a share of a limit on what is under way.
type slot struct {
	of *slots
	n  int
}

// Place is where the request stood in line: the Claim.Place with which it asks
// again if the server refuses it.
func (g Grant) Place() Place { return g.place }

// Time is when the request was granted, by the wall clock of when the Limiter was
// first used and the monotonic one since.
func (g Grant) Time() time.Time { return g.l.time(g.sent) }

// Lasts reports whether the end of the answer matters: whether the grant holds a slot
// of an InFlight quota. If not, Answer.Reading changes nothing.
func (g Grant) Lasts() bool {
	if g.more == nil {
		return false
	}
	for _, s := range g.more.slots {
		if s.of.kind == InFlight {
			return true
		}
	}
	return false
}

// Answer is what became of a request.
type Answer struct {
	// Refused says that the server refused the request because of a limit, and
	// did nothing.
	Refused bool

	// Shed says that the request failed in a way in which some servers refuse, such as a
	// 503 without a Retry-After. Where that is seen to depend on how fast requests
	// go, it is taken for Refused; see Limiter.Sheds.
	Shed bool

	// Lost says that no answer came: it may have reached the server or not.
	Lost bool

	// Reading says that the answer has begun and is being read. Quotas of what is
	// InFlight wait for Grant.Close then.
	Reading bool

	// Spent is what the request has cost, where that differs from what was
	// claimed; see Grant.Settle.
	Spent Costs

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
	if g.more == nil && a.Spent == nil && !a.tells() && l.quiet.Load() {
		l.server.inflight.Add(int64(-g.n))
		return 0
	}
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() {
		if a.Spent != nil {
			g.settle(now, a.Spent)
		}
		l.learn(&g, now, &a)
		g.free(Unanswered)
		if !a.Reading {
			g.free(InFlight)
		} else if g.Lasts() {
			g.more.reading = true
			l.reading++
		}
	})
	return max(l.hold.sub(now), 0)
}

// Close ends the reading of an answer that was Done with Answer.Reading. Later calls
// do nothing.
func (g Grant) Close() {
	if g.more == nil {
		return
	}
	root := g.l.lock()
	defer g.l.unlock(root)
	if g.more.reading {
		g.more.reading = false
		g.l.reading--
		g.l.change(root.now(), func() { g.free(InFlight) })
	}
}

// asked is what the grant was asked for.
func (g *Grant) asked() demand {
	if g.more != nil {
		return g.more.asked
	}
	return demand{claims: 1, n: g.n}
}

// hold notes that the grant holds n of s.
func (g *Grant) hold(s *slots, n int) {
	g.Share()
	g.more.slots = append(g.more.slots, slot{s, n})
}

// free gives back the slots of a kind. It requires that mu is held.
func (g *Grant) free(kind Kind) {
	if g.more == nil {
		return
	}
	kept := g.more.slots[:0]
	for _, s := range g.more.slots {
		if s.of.kind == kind {
			s.of.give(0, 0, s.n)
		} else {
			kept = append(kept, s)
		}
	}
	g.more.slots = kept
}

// learn takes in what became of a request.
func (l *Limiter) learn(g *Grant, now instant, a *Answer) {
	l.server.end(g)
	l.hear(g, now, a)
}

// hear takes in what the answer says.
func (l *Limiter) hear(g *Grant, now instant, a *Answer) {
	s := &l.server
	if !a.Lost && !a.Refused && len(s.windows) == 0 {
		a.Refused = s.shed.tell(g, now, a.Shed, l)
		set(&l.sheds, s.shed.trial != failures)
	}
	if a.Refused && a.HoldKnown && a.Hold <= 0 {
		a.Hold = doubled(firstHold, s.refusals+1) // now, and yet it refused: in a moment
	}
	s.learn(g, now, a, l)
	if l.lease != nil {
		l.lease.said(now, a.Statements)
	}
	if a.Refused || a.HoldKnown {
		l.refused(g, now, a)
	} else if !a.Lost {
		s.refusals = 0
	}
}

// refused holds the bucket for as long as the server asks, or, where it does not
// say or has not meant it, for a time that doubles with each refusal in a row.
func (l *Limiter) refused(g *Grant, now instant, a *Answer) {
	s := &l.server
	// A burst of refusals is one signal: those that were on their way when the
	// first came back say nothing new.
	news := g.order >= s.refusedAt
	if a.Refused && news {
		s.refusals++
		s.refusedAt = s.order
		if s.mute || !s.used(now) {
			s.delivered.refused(now, a.HoldKnown)
		}
		l.cool(now)
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
	spread := l.jitter(hold)
	if s.refusals > 1 {
		// Whoever took what was back may have done so in step with us, and would again.
		spread *= 50
	}
	l.holdUntil(now.add(hold+min(spread, time.Second)), now)
}

// cool tells the limits that the server pushed back.
func (l *Limiter) cool(now instant) {
	for _, limits := range [...][]limit{l.limits, l.spare} {
		for _, lim := range limits {
			if lim != nil {
				lim.cool(now)
			}
		}
	}
}

// firstHold is how long the bucket is held after a refusal for which the server
// gave neither a hint nor a reset. It doubles with each further refusal.
const firstHold = 100 * time.Millisecond

// Sheds reports whether failures (Answer.Shed) are taken for refusals: since a good part of
// the answers were failures, and as long as fewer are where requests go slower.
func (l *Limiter) Sheds() bool { return l.sheds.Load() }

// Cancel ends the grant of a request that was not sent: what was charged goes
// back, exactly, and everybody behind moves up.
func (g Grant) Cancel() {
	root := g.l.lock()
	defer g.l.unlock(root)
	now := root.now()
	g.l.change(now, func() { g.give(now) })
}

// give takes the grant back. It requires that mu is held.
func (g *Grant) give(now instant) {
	parts := g.parts()
	if g.more != nil {
		g.more.canceled = true
	}
	for b := g.l; b != nil; b = b.Parent {
		b.booked = now
		b.settle(b.limits, now, nil, parts)
		if !g.urgent {
			b.settle(b.spare, now, nil, parts)
		}
	}
	g.giveUses(now)
	g.end()
}

// end ends what is under way. It requires that mu is held.
func (g *Grant) end() {
	g.free(InFlight)
	g.free(Unanswered)
	g.l.server.end(g)
	g.l.server.seen(g)
}

// forget ends the grant of a caller who will not say how it went.
func (g Grant) forget() {
	if g.more == nil && g.l.quiet.Load() {
		g.l.server.inflight.Add(int64(-g.n))
		return
	}
	root := g.l.lock()
	defer g.l.unlock(root)
	if g.more != nil && len(g.more.slots) > 0 {
		g.l.change(root.now(), g.end)
	} else {
		g.end()
	}
}
