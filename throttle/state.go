package throttle

import (
	"time"

	"github.com/gopacer/pacer/throttle/internal/limit"
)

// State is a snapshot of a bucket.
type State struct {
	Bucket    string        // name of the Limiter
	Waiting   int           // claims in line
	InFlight  int           // cost, in requests, of the grants that have not ended
	Held      time.Duration // how long the bucket is still held; zero if it is not
	SlowStart int           // how many requests may be in flight in the slow start; zero if there is none now
	Next      Forecast      // for a claim of 1 that is made now
	Windows   []WindowState // the limits that the server states
	Store     *StoreState   // nil without a Store
}

// WindowState is what is known of one limit of a server.
type WindowState struct {
	Name      string
	Bucket    string        // which of several limits of that name; empty if the server does not say
	Unit      string        // empty for requests
	Limit     int           // zero if the server does not say
	Available int           // what may go now: the least Remaining − what is in flight
	Reset     time.Duration // time to the reset, at the latest; zero if the reset is not known or has passed
	Rate      float64       // tokens per second at which the server was seen to refill; zero if it was not
}

// State returns a snapshot of the bucket.
func (l *Limiter) State() State {
	l, root := l.lockCurrent()
	defer l.unlock(root)
	now := root.now()
	s := State{
		Bucket: l.Name, Waiting: l.line.Len(), InFlight: l.server.InFlight(), SlowStart: l.server.SlowStart(),
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

// State returns snapshots of the buckets, in no particular order. Buckets that the Group has forgotten are
// missing.
func (g *Group) State() (states []State) {
	for _, l := range g.snapshot() {
		states = append(states, l.State())
	}
	return states
}
