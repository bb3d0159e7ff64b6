package throttle

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// server is what the server of a bucket allows, as far as its answers tell: slow
// start while that is unknown, and a window for each limit that it speaks of.
type server struct {
	inflight atomic.Int64 // cost of the grants that are not ended

	// Grants and answers are counted, since what comes before what is also asked of
	// those of one instant.
	order uint64

	// While ramp is positive at most that many requests are in flight that went
	// since the restart.
	ramp      int
	restarted uint64  // in order
	climbing  int     // in flight, of those that went since the restart
	climbed   int     // answers since the restart
	lastClimb instant // when the latest of them went

	refusals  int    // in a row
	refusedAt uint64 // when the latest of them came back, in order

	windows   []window
	delivered delivered // while there are no windows
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

// restart begins a slow start.
func (s *server) restart() {
	s.order++
	s.ramp, s.restarted, s.climbing, s.climbed = 1, s.order, 0, 0
}

// open reports whether the server allows n at now.
func (s *server) open(now instant, n int) bool {
	if s.ramp > 0 && s.climbing >= s.ramp && now < s.lastClimb.add(patience) {
		return false
	}
	if len(s.windows) == 0 && s.delivered.due(now, 0, n) > now {
		return false
	}
	for i := range s.windows {
		if at, _ := s.windows[i].due(now, 0, n, int(s.inflight.Load()), false); at > now {
			return false
		}
	}
	return true
}

// due returns d, or what comes later because of the server.
func (s *server) due(d due, ahead, n int, optimist bool) due {
	if s.ramp > 0 && s.climbing+ahead >= s.ramp {
		if d.cause == "" {
			d.cause = CauseSlowStart
		}
		if at := s.lastClimb.add(patience); s.climbing >= s.ramp && at > d.at && !optimist {
			d = due{at: at, cause: CauseSlowStart}
		}
	}
	if len(s.windows) == 0 {
		if at := s.delivered.due(d.at, ahead, n); at > d.at {
			d = due{at: at, cause: CausePace, quota: "what the server was seen to allow"}
		}
	}
	for i := range s.windows {
		w := &s.windows[i]
		at, open := w.due(d.at, ahead, n, int(s.inflight.Load()), optimist)
		if at > d.at || !open && d.cause == "" {
			d = due{at: at, cause: CauseWindow, quota: w.text}
		}
	}
	return d
}

// take counts a grant, and reports whether it goes to find something out.
func (s *server) take(now instant, n int) (order uint64, probe bool) {
	s.order++
	inflight := int(s.inflight.Add(int64(n)))
	if s.ramp > 0 {
		s.climbing++
		s.lastClimb = now
	}
	s.delivered.take(now, n)
	for i := range s.windows {
		if s.windows[i].take(now, inflight) {
			probe = true
		}
	}
	return s.order, probe
}

// end counts a grant that is over.
func (s *server) end(g Grant) {
	s.inflight.Add(int64(-g.n))
	if s.ramp > 0 && g.order >= s.restarted {
		s.climbing = max(s.climbing-1, 0)
	}
}

// seen counts the answer to a request that went to see whether there is quota.
func (s *server) seen(g Grant) {
	if g.probe {
		for i := range s.windows {
			s.windows[i].probing = false
		}
	}
}

// unknown reports whether nothing is known that an answer could confirm or that
// could stand in the way of a request.
func (s *server) unknown() bool {
	return s.ramp == 0 && s.refusals == 0 && len(s.windows) == 0 && s.delivered.since == 0
}

// tells reports whether there is anything to learn from the answer.
func (a *Answer) tells() bool { return a.Refused || a.HoldKnown || len(a.Statements) > 0 }

// learn takes in what an answer says.
func (s *server) learn(g Grant, now instant, a *Answer, l *Limiter) {
	s.order++
	for i := range a.Statements {
		s.window(a.Statements[i].Name).learn(g, now, &a.Statements[i], a, l)
	}
	if len(a.Statements) == 0 {
		s.unsaid(g, now, a)
	} else {
		s.delivered = delivered{}
	}
	if !a.Refused && !a.Lost {
		s.delivered.got += g.n
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

// unsaid accounts for an answer without statements: the windows that are known
// are a request nearer to their end, and one whose reset has passed and of which
// the server no longer speaks is forgotten.
func (s *server) unsaid(g Grant, now instant, a *Answer) {
	kept := s.windows[:0]
	for _, w := range s.windows {
		if !a.Refused {
			w.least -= g.n
		}
		if a.Refused || a.Lost || !g.probe || now < w.until {
			kept = append(kept, w)
		}
	}
	clear(s.windows[len(kept):])
	s.windows = kept
}

// window returns the window of that name, a new one if there is none.
func (s *server) window(name string) *window {
	oldest := 0
	for i := range s.windows {
		if s.windows[i].name == name {
			return &s.windows[i]
		}
		if s.windows[i].stated < s.windows[oldest].stated {
			oldest = i
		}
	}
	if len(s.windows) < maxWindows {
		s.windows = append(s.windows, window{name: name})
		return &s.windows[len(s.windows)-1]
	}
	s.windows[oldest] = window{name: name}
	return &s.windows[oldest]
}

// used reports whether some window is used up until a reset that is known.
func (s *server) used(now instant) bool {
	for i := range s.windows {
		if w := &s.windows[i]; w.least <= 0 && w.until > now {
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
	for i := range s.windows {
		if w := &s.windows[i]; w.least <= 0 && w.until > now {
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
