package throttle

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
)

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
	l, root := l.here()
	defer l.unlock(root)
	now := root.now()
	s := State{
		Bucket: l.Name, Waiting: l.line.len(), InFlight: l.server.InFlight(), SlowStart: l.server.SlowStart(),
		Held: max(l.hold.Sub(now), 0), Next: l.project(now, need{Demand: limit.Demand{Claims: 1, N: 1}}).forecast(now),
	}
	for _, w := range l.server.Windows(now) {
		s.Windows = append(s.Windows, WindowState(w))
	}
	if l.link != nil {
		st := StoreState(l.link.lease.State(now))
		s.Store = &st
	}
	return s
}

// State returns what the buckets look like now, in no particular order. Idle ones are forgotten sooner or
// later, and are not among them then.
func (g *Group) State() (states []State) {
	for _, l := range g.snapshot() {
		states = append(states, l.State())
	}
	return states
}
