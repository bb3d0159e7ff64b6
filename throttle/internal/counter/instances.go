package counter

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// instances are several processes of a server behind a balancer, each with a window of its own for what the
// server calls one limit. Requests of one kind meet now this one, now that one, and resets go to and fro.
//
// In come answers (hear), from when a kind of request contradicted itself by Back: routes never do that. Each
// answer is of the slot whose reset it states. Out comes whether there are instances (found), and what all of
// them allow together (statement): as much as the emptiest, and while some are empty nothing until the latest
// reset of these. An instance of which nothing was heard since its reset is full. So every instance grants its
// whole limit in each of its windows, and none refuses, however the balancer deals; being wrong costs time, and
// no refusals.
type instances struct {
	slots    []slot
	previous int // slot of the answer before; -1 if it is gone
	watching bool
	returns  int // answers that went back to a slot that was known
	answers  int // in slots that were known
	rises    int // of these, how many say that more remains
	doubted  bool
}

// slot is the window of one instance.
type slot struct {
	early, late monotime.Time // of the reset
	heard       uint64        // an answer about it: not the latest, but a later one for each round trip
	at          monotime.Time // when it was heard of last
	remaining   int64         // the least
}

const (
	maxSlots      = 6 // a server with more of them states no instants at all
	enoughReturns = 3
)

// found reports whether there are instances.
func (in *instances) found() bool { return in.returns >= enoughReturns && !in.doubted }

// hear takes in an answer.
func (in *instances) hear(y *said, granted uint64) {
	if !in.watching || y.late == 0 || in.doubted {
		return
	}
	in.forget(y.now)
	i := in.find(y)
	if i < 0 {
		if len(in.slots) == maxSlots {
			in.doubted, in.slots = true, nil
			return
		}
		in.previous, in.slots = len(in.slots), append(in.slots, slot{early: y.early, late: y.late, heard: y.heard, at: y.now, remaining: y.remaining})
		return
	}
	s := &in.slots[i]
	if p := in.previous; p >= 0 && in.slots[p].early > s.late && granted > in.slots[p].heard {
		in.returns++
	}
	if in.answers++; granted > s.heard {
		if y.remaining > s.remaining {
			in.rises++
		}
		s.heard = y.heard
	}
	in.doubted = in.rises >= enoughReturns && 3*in.rises > in.answers
	in.previous, s.early, s.late, s.at, s.remaining = i, y.early, y.late, y.now, min(s.remaining, y.remaining)
}

// forget forgets the slots whose reset has come.
func (in *instances) forget(now monotime.Time) {
	for i := len(in.slots) - 1; i >= 0; i-- {
		if in.slots[i].late > now {
			continue
		}
		in.slots = slices.Delete(in.slots, i, i+1)
		switch {
		case in.previous == i:
			in.previous = -1
		case in.previous > i:
			in.previous--
		}
	}
}

// find returns the slot whose reset is the nearest to that of y, -1 if none is near.
func (in *instances) find(y *said) (nearest int) {
	nearest, least := -1, time.Duration(0)
	for i := range in.slots {
		s := &in.slots[i]
		slack := 250*time.Millisecond + y.now.Sub(s.at)/50
		if y.early > s.late.Add(slack) || s.early > y.late.Add(slack) {
			continue
		}
		if d := ((y.early.Sub(s.early) + y.late.Sub(s.late)) / 2).Abs(); nearest < 0 || d < least {
			nearest, least = i, d
		}
	}
	return nearest
}

// statement is what a server with one counter would have to state for all instances.
func (in *instances) statement(y *said) (st quota.Statement) {
	st = y.statement
	var until monotime.Time
	for i := range in.slots {
		switch s := &in.slots[i]; {
		case i == 0, s.remaining < st.Remaining, s.remaining <= 0 && s.late > until:
			st.Remaining, until = s.remaining, s.late
		}
	}
	pad := y.step
	if st.Absolute {
		pad += time.Second
	}
	st.Reset, st.Absolute, st.Skew = max(until.Sub(y.now)-pad, 0), false, 0
	return st
}
