package adaptive

import (
	"math"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// millis is whether resets that were read as seconds are milliseconds. Nothing in one answer tells the two
// apart, where the reset is a bare number. The clock does: after half a second, 4980 milliseconds have become
// 4480.
//
// Several counters of seconds under one name may look so by chance. So answers are weighed. Each that fits
// milliseconds, and not seconds, adds as many bits as the chance was small; one that does not fit milliseconds
// takes all bits away. Two counters that answer in turns, to requests at an even pace, explain one such answer
// in each turn: the first one in a row adds nothing.
type millis struct {
	sent, heard monotime.Time // the server wrote an earlier answer between these
	in          time.Duration // and stated this reset, read as seconds
	limit       int64         // and this limit

	row      int     // answers in a row that fit milliseconds, and not seconds, since a reset
	bits     float64 // what speaks for milliseconds
	found    bool    // resets are milliseconds
	strange  int     // while found: answers in a row that do not fit
	mistaken int     // how often they were taken for milliseconds, and were none

	bare, finer bool // a bare number was heard, here or by another process; and a reset in other steps, here
	told        bool // another process heard milliseconds
}

const (
	// millisBits prove milliseconds; and as many more for each time that this was a mistake. See
	// TestSecondsAreNotMillis.
	millisBits = 16

	// maxStrange is how many answers in a row that do not fit prove that resets are no milliseconds.
	maxStrange = 3

	// A stated reset may be off by so much, since it is rounded, and since clocks are read twice.
	millisOff, secondsOff = 2 * time.Millisecond, 2 * time.Second
)

// read returns a statement in the unit that the clock has shown, and whether that is another unit than before.
// The request was sent at the instant sent, and its answer came now.
func (m *millis) read(sent, now monotime.Time, st *quota.Statement) (_ *quota.Statement, another bool) {
	if !isBare(st) {
		m.finer = m.finer || st.ResetKnown
		return st, false
	}
	m.hearBare()
	stated := max(st.Reset, 0)
	if sent >= m.heard { // else nobody knows which of the two answers was written first
		tells := true
		if m.heard != 0 && m.limit == st.Limit {
			tells, another = m.weigh(sent.Sub(m.heard), now.Sub(m.sent), m.in-stated)
		}
		if tells {
			m.sent, m.heard, m.in, m.limit = sent, now, stated, st.Limit
		}
	}
	return m.inUnit(st), another
}

// inUnit returns a statement in the unit that the clock has shown.
func (m *millis) inUnit(st *quota.Statement) *quota.Statement {
	if !m.found || !isBare(st) {
		return st
	}
	in := *st
	in.Reset, in.Resolution = max(st.Reset, 0)/1000, time.Millisecond
	return &in
}

// ofOthers is what the clock has shown of a limit, for counters of its name that are told apart.
func (m *millis) ofOthers() millis {
	return millis{found: m.found, mistaken: m.mistaken, finer: m.finer, told: m.told}
}

// hearBare takes in a bare number, which this process or another one has heard.
func (m *millis) hearBare() {
	if m.bare = true; m.told {
		m.believe()
	}
}

// overhear takes in a statement that the server made to another process. It reports whether that is to be
// passed over: the other process has not found out the unit, and what it said is kept for a thousand times as
// long; and whether resets are in another unit than before.
func (m *millis) overhear(st *quota.Statement) (passed, another bool) {
	switch {
	case isBare(st):
		m.hearBare()
		return m.found, false
	case !st.ResetKnown || st.Absolute || st.Resolution != time.Millisecond:
	case !m.bare:
		m.told = true // so the first bare number that comes is one of milliseconds
	default:
		m.told, another = true, m.believe()
	}
	return false, another
}

// believe takes in that the clock of another process, or of an earlier run, has shown milliseconds. It reports
// whether bare numbers were read as seconds before. It is believed until this process has shown that this was a
// mistake.
func (m *millis) believe() (another bool) {
	if m.found || m.finer || m.mistaken > 0 {
		return false
	}
	m.found, m.strange = true, 0
	return m.bare
}

// isBare reports whether a reset may be a bare number that was read as seconds.
func isBare(st *quota.Statement) bool {
	return st.ResetKnown && !st.Absolute && st.Resolution == time.Second
}

// weigh takes in that a reset, read as seconds, has come so much nearer, while at least and at most so much
// time has passed. It reports whether that tells anything, or is too short a time; and whether resets are in
// another unit from now on.
func (m *millis) weigh(least, most, nearer time.Duration) (tells, another bool) {
	seconds := nearer >= least-secondsOff && nearer <= most+secondsOff
	switch {
	case nearer/1000 >= least-millisOff && nearer/1000 <= most+millisOff:
		if seconds {
			return false, false
		}
		m.strange = 0
		if m.row++; m.row > 1 {
			width := 1000 * float64(most-least+2*millisOff) // of the numbers that fit
			m.bits += max(math.Log2(float64(m.in)/width), 0)
		}
	case m.in/1000 <= most+millisOff && (!seconds || least <= 2*secondsOff):
		m.row = 0 // read as milliseconds, that reset has come, and this is another one
	default:
		m.row, m.bits = 0, 0
		m.strange++
	}
	switch {
	case !m.found && m.bits >= float64(millisBits*(1+m.mistaken)):
		m.found, m.strange = true, 0
	case m.found && m.strange >= maxStrange:
		m.found, m.mistaken = false, m.mistaken+1
	default:
		return true, false
	}
	return true, true
}
