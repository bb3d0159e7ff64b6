package throttle

import "time"

// State is what a bucket looked like at an instant.
type State struct {
	Bucket    string        // name of the Limiter
	Waiting   int           // callers in line
	InFlight  int           // cost of the requests granted and not ended
	Held      time.Duration // for how long nothing goes; zero if it is not held
	SlowStart int           // most requests in flight while starting slowly; zero if it is not
	Next      Forecast      // of a claim of 1
	Windows   []WindowState // the limits that the server speaks of
	Store     *StoreState   // nil without a Store
}

// WindowState is what is known of one limit of the server.
type WindowState struct {
	Name      string
	Bucket    string        // which of several of that name; empty if the server does not say
	Unit      string        // empty for requests
	Limit     int           // zero if the server does not say
	Available int           // what may go now: the least Remaining less what is in flight
	Reset     time.Duration // until it is restored, at the latest; zero if that is not known or has passed
	Rate      float64       // tokens per second at which the server was seen to refill; zero if it was not
}

// State returns a snapshot.
func (l *Limiter) State() State {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	s := State{
		Bucket: l.Name, Waiting: l.line.len(), InFlight: int(l.server.inflight.Load()), SlowStart: l.server.ramp,
		Held: max(l.hold.sub(now), 0), Next: l.project(now, want{demand: demand{claims: 1, n: 1}}).forecast(now),
	}
	for _, w := range l.server.windows {
		ws := WindowState{Name: w.name, Bucket: w.bucket, Unit: w.unit, Limit: w.limit, Available: max(w.least-l.server.under(w), 0)}
		if w.late != 0 {
			ws.Reset = max(w.late.sub(now), 0)
		}
		if w.refills {
			ws.Rate = w.rate
		}
		s.Windows = append(s.Windows, ws)
	}
	if l.lease != nil {
		s.Store = l.lease.state(now)
	}
	return s
}

// Idle reports whether forgetting the Limiter and starting anew would lose
// nothing: nobody waits, nothing is in flight, it is not held, and what was
// charged has come back.
func (l *Limiter) Idle() bool {
	root := l.lock()
	defer l.unlock(root)
	now := root.now()
	if l.line.waiting > 0 || l.reading > 0 || l.hold > now || !l.server.idle(now) {
		return false
	}
	for _, limits := range [...][]limit{l.limits, l.spare} {
		for _, lim := range limits {
			if lim != nil && !lim.idle(now) {
				return false
			}
		}
	}
	return l.lease == nil || l.lease.idle(now)
}
