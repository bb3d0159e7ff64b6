package throttle

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Answer is what became of a request.
type Answer struct {
	// Refused says that the server refused the request because of a limit, and
	// did nothing.
	Refused bool

	// MayRefuse says that the request failed in a way in which some servers refuse, such as a
	// 503 without a Retry-After. Where that is seen to depend on how fast requests
	// go, it is taken for Refused: since a good part of the answers were failures, and as long
	// as fewer are where requests go slower.
	MayRefuse bool

	// Lost says that no answer came: it may have reached the server or not.
	Lost bool

	// Reading says that the answer has begun and is being read: quotas of what is
	// InFlight wait for Grant.Close, as Outcome.Open says where there are any.
	Reading bool

	// Unsettled says that Grant.Settle, and then Grant.Close, will be called when it is known
	// what the request has cost in units other than requests.
	Unsettled bool

	// Spent is what the request has cost, where that differs from what was
	// claimed; see Grant.Settle.
	Spent quota.Costs

	// Hold is for how long the server wants nobody to ask, and HoldKnown whether
	// it said so. It is bounded by Limiter.MaxHold.
	Hold      time.Duration
	HoldKnown bool

	// Bucket is what the server calls that on which the request drew, where it counts some requests on their
	// own. Empty if it does not say. See Group.
	Bucket string

	// Statements is what the server said about its limits.
	Statements []quota.Statement
}

// Outcome is what an answer means for the requests that follow.
type Outcome struct {
	Held    time.Duration // for how long the bucket is held from now on; zero if it is not
	Refused bool          // the request was refused: the answer said so, or is taken for a refusal
	Open    bool          // Grant.Close is waited for, because of Answer.Reading or Answer.Unsettled
}

// Done ends the grant and learns from the answer.
func (g *Grant) Done(a Answer) Outcome {
	l := g.l
	if g.plain && a.Spent == nil && !a.tells() && l.endFast(g.ticket.N) {
		return Outcome{}
	}
	return g.done(&a)
}

func (g *Grant) done(a *Answer) (o Outcome) {
	l := g.l
	if a.Bucket != "" && l.entry.group != nil {
		var own bool
		if o, own = g.forward(a); !own {
			a = &Answer{Lost: true, Reading: a.Reading, Unsettled: a.Unsettled, Spent: a.Spent}
		}
	}
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	l.change(now, func() {
		if a.Spent != nil {
			g.settle(now, a.Spent)
		}
		l.server.End(&g.ticket, g.askedCosts())
		if l.learn(now, &g.ticket, a, g.costs()) {
			o.Refused = true
		}
		if g.more != nil {
			o.Open = g.answered(a)
		}
	})
	o.Held = max(o.Held, l.hold.Sub(now))
	return o
}

// answered gives back what the answer frees, and reports whether Close is waited for.
func (g *Grant) answered(a *Answer) (open bool) {
	g.free(quota.Unanswered)
	if !a.Reading {
		g.free(quota.InFlight)
	}
	if open = a.Unsettled || g.holds(quota.InFlight); open {
		g.more.open = true
		g.l.unclosed++
	}
	return open
}

// forward has the other buckets learn for which an answer is that says on what the request drew, and returns
// what it means for them, and whether it is for the bucket that granted the request.
func (g *Grant) forward(a *Answer) (o Outcome, own bool) {
	l := g.l
	of := l.entry.group.owner(l, g.class, a.Bucket, a.spent())
	if a.Refused && a.HoldKnown && !a.spent() && of.entry.named {
		// It was not refused because of what is named: GitHub's secondary limits are for all.
		o = l.root().hear(g, &Answer{Lost: true, Hold: a.Hold, HoldKnown: true})
	}
	if of == l {
		return o, true
	}
	held := o.Held
	o = of.hear(g, a)
	o.Held = max(o.Held, held)
	return o, false
}

// hear learns from the answer to the request of a grant of another bucket of the tree.
func (l *Limiter) hear(g *Grant, a *Answer) (o Outcome) {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	t := g.ticket.Elsewhere()
	l.change(now, func() { o.Refused = l.learn(now, &t, a, nil) })
	o.Held = max(l.hold.Sub(now), 0)
	return o
}

// tells reports whether there is anything to learn from the answer.
func (a *Answer) tells() bool {
	return a.Refused || a.MayRefuse || a.HoldKnown || a.Bucket != "" || len(a.Statements) > 0
}

// spent reports whether nothing remains of one of the limits.
func (a *Answer) spent() bool {
	return slices.ContainsFunc(a.Statements, func(s quota.Statement) bool { return s.Remaining <= 0 })
}

// learn takes in what became of the request of a grant with a ticket, which l or another bucket of
// the tree has granted, and reports whether it was refused. Cost is what it has cost, nil if that is what
// the ticket says.
func (l *Limiter) learn(now monotime.Time, t *adaptive.Ticket, a *Answer, cost *limit.Demand) (refused bool) {
	taken := a.Refused || a.MayRefuse && l.server.MayRefuse()
	e := l.server.Learn(now, t, &adaptive.Answer{
		Refused: a.Refused, MayRefuse: a.MayRefuse, Lost: a.Lost, Hold: a.Hold, HoldKnown: a.HoldKnown, Statements: a.Statements, Cost: cost,
	})
	if len(a.Statements) > 0 && (l.Parent != nil || l.branch) {
		l.meet()
	}
	if l.link != nil {
		l.link.said(now, a.Statements)
	}
	if e.PushedBack {
		for lim := range l.stack.Limits() {
			lim.Cool(now)
		}
	}
	if e.Hold > 0 {
		l.holdUntil(now.Add(e.Hold), now)
	}
	return taken
}

// owner returns the bucket that is to learn from the answer to a claim that l has granted: that of what
// the server says it drew on, l if it does not say, or counts all requests of l together.
func (g *Group) owner(l *Limiter, c Class, name string, spent bool) *Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := l
	if l.entry.named {
		all = l.Parent
	}
	if all.gone.Load() {
		return l
	}
	m := &all.entry
	if m.classes == nil {
		m.classes = adaptive.NewNames(name)
	}
	of, own := m.classes.Note(c.Verb, c.Path, name, spent)
	switch {
	case !own && !all.split:
		return all
	case own && !all.split:
		g.split(all, of)
	}
	return g.named(all, of)
}

// split gives the claims that draw on name, and all others, buckets of their own below that of all.
func (g *Group) split(all *Limiter, name string) {
	root := all.lock()
	all.freeze()
	all.unlock(root)
	defer all.thaw()
	g.named(all, name)
	g.named(all, all.entry.classes.First())
	all.lock()
	defer all.unlock(root)
	now := root.now()
	all.split = true
	all.change(now, func() { all.dismiss(all) }) // who waits belongs elsewhere
}
