package adaptive

// dropped is about a limit that comes back token by token and is stated no more: its requests go at its rate, so none
// is a probe whose answer would show that.
//
// In come answers that speak of the limit (heard), and others (silent); out comes whether it is stated no more.
type dropped struct {
	row int // served requests in a row whose answers did not speak of the limit, while all of it would be back
}

// droppedAfter is more than ten, since some servers state a limit with each tenth answer.
const droppedAfter = 16

// heard takes in an answer that speaks of the limit.
func (d *dropped) heard() { d.row = 0 }

// silent takes in that a request was served without a word of the limit, all of which would be back, and reports
// whether it is stated no more.
func (d *dropped) silent() bool {
	d.row++
	return d.row >= droppedAfter
}
