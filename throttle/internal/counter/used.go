package counter

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Stated is what was stated last of a counter, and what was used of it since the first answer about the same
// reset. A counter that nobody else knows of any more begins with that.
type Stated struct {
	quota.Statement               // as the answer has it
	Sent, Heard     monotime.Time // when the request went, and when its answer came; zero if nothing was stated

	Since   monotime.Time // when the request of that first answer went; zero if there is none
	AtStart int64         // how much remained before it
	Ours    int64         // what has been answered since has cost so much
	Spent   monotime.Time // when nothing remained first; zero if something does

	AllUsed, AllOurs int64 // how much was used so of all counters together, and how much of that was ours
}

// Stated returns what was stated of a counter.
func (r *Router) Stated(name string) (st Stated) {
	for _, c := range r.counters {
		if c.name == name {
			st.Statement, st.Sent, st.Heard = c.latest.statement, c.latest.sent, c.latest.now
			r.addUsed(c, &st)
		}
	}
	return st
}

// addUsed adds what was used of a counter, by all its leaves, and of all counters.
func (r *Router) addUsed(c *counter, st *Stated) {
	for _, l := range r.leaves {
		u := &l.used
		if u.first.now == 0 {
			continue
		}
		st.AllUsed, st.AllOurs = st.AllUsed+u.atStart-u.least.remaining, st.AllOurs+u.ours
		if l.counter != c || u.first.limit != c.limit || !c.latest.meets(&u.first) {
			continue
		}
		if u.least.remaining <= 0 && (st.Spent == 0 || u.least.now < st.Spent) {
			st.Spent = u.least.now
		}
		if st.Ours += u.ours; st.Since == 0 || u.first.sent < st.Since {
			st.Since, st.AtStart = u.first.sent, u.atStart
		}
	}
}

// used is how much was used of what a leaf draws on, since the first answer about a reset.
type used struct {
	first   said // whose request found so much (atStart)
	least   said // after which the least remained first
	atStart int64
	ours    int64 // what has been answered since, with the first one, has cost so much
}

// note takes in the answer to a request that was granted then. Where more remains than before, another window
// has begun, whatever is known of resets: those of short windows are nearer to each other than whole seconds
// tell apart.
func (u *used) note(y *said, granted uint64) {
	rises := granted > u.least.heard && y.remaining+y.n > u.least.remaining+1
	if u.first.now == 0 || y.limit != u.first.limit || !y.meets(&u.first) || rises {
		*u = used{first: *y, least: *y, atStart: y.remaining}
		if !y.refused {
			u.atStart += y.n
		}
	}
	if !y.refused {
		u.ours += y.n
	}
	if y.remaining < u.least.remaining {
		u.least = *y
	}
}
