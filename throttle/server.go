package throttle

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// server is what the server of a bucket allows, as far as its answers tell: slow
// start while that is unknown, and a window for each limit that it speaks of.
type server struct {
	inflight atomic.Int64      // cost of the grants that are not ended
	flying   map[string]flight // of that, what is known in other units

	// Grants and answers are counted, in the whole tree, since what comes before what is
	// also asked of those of one instant.
	order  uint64 // of the latest here
	orders *uint64

	// While ramp is positive at most that many requests are in flight that went
	// since the restart.
	ramp      int
	restarted uint64  // in order
	climbing  int     // in flight, of those that went since the restart
	climbed   int     // answers since the restart
	lastClimb instant // when the latest of them went

	refusals  int    // in a row
	refusedAt uint64 // when the latest of them came back, in order

	windows   []*window
	mute      bool      // of what it serves, the server says nothing
	delivered delivered // where refusals are not explained by windows
	shed      shed
}

const (
	// enough answers end a slow start at a server that says nothing of limits:
	// five round trips of doubling.
	enough = 32

	// patience is how long one request that went ahead may keep the others
	// waiting for its answer. After it, one more goes.
	patience = 5 * time.Second

	// maxWindows bounds the memory that a server can make a bucket use by
	// giving ever new names to its limits.
	maxWindows = 16
)

// flight is what grants that are not ended cost in a unit.
type flight struct {
	n        int // in the unit
	requests int // of those for which that is known, in requests
}

// flies returns what is under way in a unit.
func (s *server) flies(unit string) int {
	if len(s.flying) == 0 {
		return int(s.inflight.Load())
	}
	f := s.flying[unit]
	return f.n + int(s.inflight.Load()) - f.requests
}

// under returns what is under way that draws on a window, in its unit.
func (s *server) under(w *window) (n int) {
	if w.users == nil {
		return s.flies(w.unit)
	}
	for _, l := range w.users {
		n += l.server.flies(w.unit)
	}
	return n
}

// next counts a grant or an answer.
func (s *server) next() {
	*s.orders++
	s.order = *s.orders
}

// fly counts what is under way in units other than requests, sign times.
func (s *server) fly(d *demand, sign int) {
	for unit, n := range d.of {
		if unit == Requests {
			continue
		}
		if s.flying == nil {
			s.flying = map[string]flight{}
		}
		f := s.flying[unit]
		f.n += sign * n
		if f.requests += sign * d.n; f.requests == 0 {
			delete(s.flying, unit)
		} else {
			s.flying[unit] = f
		}
	}
}

// restart begins a slow start.
func (s *server) restart() {
	s.next()
	s.ramp, s.restarted, s.climbing, s.climbed = 1, s.order, 0, 0
}

// open reports whether the server allows w at now, if a share of what remains is kept.
func (s *server) open(now instant, w *want, share float64) bool {
	if s.ramp > 0 && s.climbing >= s.ramp && now < s.lastClimb.add(patience) {
		return false
	}
	if s.delivered.due(now, 0, w.n) > now {
		return false
	}
	for _, win := range s.windows {
		n := w.learned(win.unit)
		if at, _ := win.due(now, 0, n, keeps(win.limit, n, share), s.under(win), false); at > now {
			return false
		}
	}
	return true
}

// due returns d, or what comes later because of the server, if a share of what remains
// is kept.
func (s *server) due(d due, ahead *demand, w *want, share float64, optimist bool) due {
	if s.ramp > 0 && s.climbing+ahead.n >= s.ramp {
		if d.cause == "" {
			d.cause = CauseSlowStart
		}
		if at := s.lastClimb.add(patience); s.climbing >= s.ramp && at > d.at && !optimist {
			d = due{at: at, shared: d.shared, cause: CauseSlowStart}
		}
	}
	if s.delivered.rate > 0 {
		if at := s.delivered.due(d.at, ahead.n, w.n); at > d.at {
			d = due{at: at, shared: d.shared, cause: CausePace, quota: "what the server was seen to allow"}
		}
	}
	for _, win := range s.windows {
		n := w.learned(win.unit)
		at, open := win.due(d.at, ahead.learned(win.unit), n, keeps(win.limit, n, share), s.under(win), optimist)
		if at > d.at || !open && d.cause == "" {
			d = due{at: at, shared: d.shared, cause: CauseWindow, quota: win.text}
		}
	}
	return d
}

// take counts a grant, and reports whether it goes to find something out.
func (s *server) take(now, asked instant, w *want, share float64) (order uint64, probe bool) {
	s.next()
	s.inflight.Add(int64(w.n))
	if w.of != nil {
		s.fly(&w.demand, 1)
	}
	if s.ramp > 0 {
		s.climbing++
		s.lastClimb = now
	}
	s.delivered.take(now, asked, w.n)
	for _, win := range s.windows {
		if win.take(now, s.under(win)+keeps(win.limit, w.learned(win.unit), share)) {
			probe = true
		}
	}
	return s.order, probe
}

// end counts a grant that is over.
func (s *server) end(g *Grant) {
	s.inflight.Add(int64(-g.n))
	if g.more != nil {
		s.fly(&g.more.asked, -1)
	}
	if s.ramp > 0 && g.order >= s.restarted {
		s.climbing = max(s.climbing-1, 0)
	}
}

// seen counts the answer to a request that went to see whether there is quota.
func (s *server) seen(g *Grant) {
	if g.probe {
		for _, w := range s.windows {
			w.probing = false
		}
	}
}

// unknown reports whether nothing is known that an answer could confirm or that
// could stand in the way of a request.
func (s *server) unknown() bool {
	return s.ramp == 0 && s.refusals == 0 && len(s.windows) == 0 && s.delivered.since == 0 && s.shed.failed == 0
}

// tells reports whether there is anything to learn from the answer.
func (a *Answer) tells() bool { return a.Refused || a.Shed || a.HoldKnown || len(a.Statements) > 0 }

// learn takes in what an answer says.
func (s *server) learn(g *Grant, now instant, a *Answer, l *Limiter) {
	s.next()
	for i := range a.Statements {
		st := &a.Statements[i]
		w := s.window(l, st.Name, st.Bucket, canonical(st.Unit))
		w.learn(g, now, st, a, l)
		l.compare(w, g, now, st)
	}
	s.unsaid(g, now, a)
	if !a.Refused && !a.Lost {
		s.mute = len(a.Statements) == 0
		s.delivered.serve(now, g.n)
	}
	s.seen(g)
	if s.ramp > 0 && g.order >= s.restarted && !a.Refused && !a.Lost {
		s.climbed++
		s.ramp++
		if len(a.Statements) > 0 || s.climbed >= enough {
			s.ramp = 0
		}
	}
}

// unsaid accounts for what an answer does not speak of: the windows that are known are a
// request nearer to their end, unless the server names others that it drew on. One
// whose reset has passed is forgotten when the server speaks of none at all.
func (s *server) unsaid(g *Grant, now instant, a *Answer) {
	kept, cost := s.windows[:0], g.cost()
	for _, w := range s.windows {
		if w.stated == s.order {
			kept = append(kept, w)
			continue
		}
		if !a.Refused && (w.bucket == "" || len(a.Statements) == 0) {
			w.least = max(w.least-cost.learned(w.unit), 0)
		}
		if a.Refused && w.creep > 1 {
			w.rate = max(w.rate*w.slow(), w.slowest()) // whoever refused it, this was too fast
		}
		if a.Refused || a.Lost || !g.probe || now < w.until || len(a.Statements) > 0 {
			kept = append(kept, w)
		} else {
			w.leave(g.l)
		}
	}
	clear(s.windows[len(kept):])
	s.windows = kept
}

// window returns that of which the statement speaks, a new one if there is none.
func (s *server) window(of *Limiter, name, bucket, unit string) *window {
	oldest := 0
	for i, w := range s.windows {
		if w.name == name && w.bucket == bucket && w.unit == unit {
			return w
		}
		if w.stated < s.windows[oldest].stated {
			oldest = i
		}
	}
	w := &window{name: name, bucket: bucket, unit: unit}
	if len(s.windows) < maxWindows {
		s.windows = append(s.windows, w)
	} else {
		s.windows[oldest].leave(of)
		s.windows[oldest] = w
	}
	return w
}

// used reports whether some window is used up until a reset that is known.
func (s *server) used(now instant) bool {
	for _, w := range s.windows {
		if w.least <= 0 && w.until > now {
			return true
		}
	}
	return false
}

// idle reports whether forgetting what was learned could let anybody exceed it.
func (s *server) idle(now instant) bool {
	if s.inflight.Load() > 0 {
		return false
	}
	for _, w := range s.windows {
		if w.least <= 0 && w.until > now {
			return false
		}
	}
	return true
}

// maxHold is the longest hold that a server's word is good for.
func (l *Limiter) maxHold() time.Duration {
	if l.MaxHold == 0 {
		return 15 * time.Minute
	}
	return max(l.MaxHold, 0)
}

// jitter returns what is added to a hold of d, so that several processes do not
// all come back in the same instant: up to a hundredth of it, at most a second,
// never less than the server asked for.
func (l *Limiter) jitter(d time.Duration) time.Duration {
	random := l.Rand
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(random() * float64(min(d/100, time.Second)))
}
