package adaptive

import "time"

// dropped is about a limit that comes back token by token and is stated no more: its requests go at its rate,
// so none is a look whose answer would show that.
//
// In come answers that speak of the limit (heard), and others (silent); out comes whether it is stated no more,
// and for how long a request waits for it at most meanwhile (within): at the rate, each may wait for minutes.
type dropped struct {
	row     int // served requests in a row whose answers did not speak of the limit, while all of it would be back
	wronged int // how often such a row ended with a refusal
}

// droppedAfter is more than ten, since some servers state a limit with each tenth answer.
const droppedAfter = 16

// heard takes in an answer that speaks of the limit, to a request that was refused or served.
func (d *dropped) heard(refused bool) {
	if refused && d.row > 0 {
		d.wronged++
	}
	d.row = 0
}

// silent takes in that a request was served without a word of the limit, all of which would be back, and
// reports whether it is stated no more.
func (d *dropped) silent() bool {
	d.row++
	return d.row >= droppedAfter
}

// within bounds a wait for the limit: in a row, to Patience, and to twice as long after each one that was
// refused.
func (d *dropped) within(in time.Duration) time.Duration {
	if d.row == 0 {
		return in
	}
	return min(in, doubled(Patience, d.wronged+1))
}
