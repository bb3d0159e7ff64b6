package counter

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// said is what an answer says about a limit.
type said struct {
	leaf      *leaf
	heard     uint64 // zero: nothing was said
	sent, now monotime.Time
	n         int64
	refused   bool
	limit     int64
	remaining int64

	early, late monotime.Time // the reset is in [early, late]; zero if it was not stated
	step        time.Duration // in which the reset was stated
	inMillis    bool          // the reset was read as a whole number of milliseconds
	guessed     bool          // or of seconds, and nothing else in the answer says so
	statement   quota.Statement
}

// relation is what an answer is to an earlier one, if both are taken for answers about one counter.
type relation int

// The relations. One counter is never in the relation back or rises with itself, whatever others take of it:
// its reset, or the instant at which it is full, only moves on; and what is missing of it comes back by then,
// and not sooner than at an even rate.
const (
	nothing relation = iota // the answers cannot be compared
	fits
	back
	rises
)

func (r relation) is(any ...relation) bool { return slices.Contains(any, r) }

// slackFor is how far two statements of one reset may be apart, beside the step and the way of the answers.
func slackFor(x, y *said) time.Duration {
	// Clocks drift apart in the time between two answers. In proportion to the time to the reset, milliseconds
	// that are read as seconds would fit whatever is stated.
	return max(x.step, y.step) + 250*time.Millisecond + y.now.Sub(x.now)/50
}

// after returns what y, whose request went after x had come, is to x.
func (y *said) after(x *said) relation {
	if x.late == 0 || y.late == 0 || x.limit != y.limit {
		return nothing
	}
	slack := slackFor(x, y)
	if x.early.Add(-slack) <= y.now {
		return nothing // the reset may have come meanwhile
	}
	if y.late.Add(slack) < x.early {
		return back
	}
	if x.limit > 0 && !y.refused {
		missing := float64(max(x.limit-x.remaining, 0))
		part := float64(y.now.Sub(x.sent)) / float64(x.early.Sub(x.now)-slack)
		if float64(y.remaining+y.n-x.remaining) > 2+missing*part {
			return rises
		}
	}
	return fits
}

// contradicts reports whether y, which is the later answer, says what a counter that said x never says.
func (y *said) contradicts(x *said) bool { return y.after(x).is(back, rises) }

// meets reports whether two answers may state one reset.
func (y *said) meets(x *said) bool {
	if x.late == 0 || y.late == 0 {
		return false
	}
	slack := slackFor(x, y)
	return y.early <= x.late.Add(slack) && x.early <= y.late.Add(slack)
}

// replaces reports whether y is the latest answer in place of x. Of two that were under way at once, the one
// counts that leaves less.
func (y *said) replaces(x *said, granted uint64) bool {
	another := y.limit != 0 && y.limit != x.limit
	return granted > x.heard || another || y.remaining <= x.remaining || !y.meets(x)
}

// chain compares each answer with an earlier one, one for each round trip or so, in whatever order answers
// come. The latest answer would not do: with many requests in flight, none that comes went after it had come.
type chain struct {
	ref  said // with which answers are compared
	next said // the first answer after ref was taken: it becomes ref when a request that went after it is answered
}

// compare takes in an answer, and returns what it is to an earlier one, and to which.
func (c *chain) compare(y *said, granted uint64) (relation, said) {
	if c.next.heard != 0 && granted > c.next.heard {
		c.ref, c.next = c.next, said{}
	}
	ref, rel := c.ref, nothing
	if ref.heard != 0 && granted > ref.heard {
		rel = y.after(&ref)
	}
	switch {
	case ref.heard == 0:
		c.ref = *y
	case c.next.heard == 0:
		c.next = *y
	}
	return rel, ref
}

// unit is whether the clock has proved that a reset which is stated as a bare number is in the unit in which it
// was read: milliseconds are told from seconds by their size, so that few of them are read as seconds. Then
// each reset that is stated is before the one that was stated earlier.
//
// That proves seconds. That such numbers are milliseconds, package adaptive finds out, by answers that are
// nearer to each other (millis.go).
type unit struct {
	stayed int // how often the reset stayed where it was, for proofAfter
	back   int // how often it went back

	inMillis bool // other numbers were read as milliseconds
}

const (
	// proofAfter is how long after an answer a request must go so that both prove a unit. A number that never
	// changes looks like a reset that stays for 3.25 s: two steps of a second, which may be off by one each,
	// and slack.
	proofAfter = 4 * time.Second

	enoughProof = 3
)

// note takes in an answer of a leaf. Mark is an earlier one of the same leaf.
func (u *unit) note(mark, y *said) {
	u.inMillis = u.inMillis || y.inMillis
	if !y.guessed {
		return
	}
	switch {
	case mark.late == 0 || mark.early <= y.now:
	case y.sent.Sub(mark.now) < proofAfter:
		return
	case y.early <= mark.late.Add(y.step+250*time.Millisecond) && mark.early <= y.late.Add(y.step+250*time.Millisecond):
		u.stayed++
	case y.late < mark.early:
		u.back++
	}
	*mark = *y
}

// isKnown reports whether the reset of an answer is in the unit in which it was read.
func (u *unit) isKnown(y *said) bool {
	return !y.guessed || !u.inMillis && u.stayed >= enoughProof && u.stayed >= 8*u.back
}
