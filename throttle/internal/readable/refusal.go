package readable

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gopacer/pacer/internal/visible"
)

// Refusal is what an error says that refuses a claim. What is empty is left out.
type Refusal struct {
	Bucket   string // that delays the claim
	Why      error
	Detail   string        // of Why
	Cause    string        // what the claim had to wait for, with _ for blanks
	Quota    string        // that delays the claim
	TooMuch  string        // what was claimed, and what to do, in place of Wait
	TooLarge bool          // what was claimed is too much, also where TooMuch does not say it
	Cost     int64         // what was claimed
	Wait     time.Duration // until the claim could go
	Behind   [2]error      // what is behind all that
}

// inFlight is throttle.CauseInFlight. What is waited for then is mostly the work of others; but an answer that
// nobody reads or closes counts until MaxUnread, and nothing else would say so.
const inFlight = "in_flight"

// slowStart is throttle.CauseSlowStart, which has no Wait.
const slowStart = "slow_start"

// String returns the text of the error.
func (r Refusal) String() string {
	var b strings.Builder
	b.WriteString("throttle: ")
	if r.Bucket != "" {
		b.WriteString(r.Bucket + ": ")
	}
	b.WriteString("not sent")
	if r.Why != nil {
		b.WriteString(": " + r.Why.Error())
	}
	b.WriteString(r.Detail)
	if r.Cause != "" {
		b.WriteString(": " + strings.ReplaceAll(r.Cause, "_", " "))
	}
	if r.Quota != "" {
		fmt.Fprintf(&b, " %q", r.Quota)
	}
	switch {
	case r.TooMuch != "":
		b.WriteString(", cost " + r.TooMuch)
	case r.TooLarge:
		fmt.Fprintf(&b, ", cost %d", r.Cost)
	case r.Wait > 0:
		fmt.Fprintf(&b, ", could go in %s", Lasting(r.Wait))
	}
	switch r.Cause {
	case inFlight:
		b.WriteString(": are all answers read and closed, all grants Done?")
	case slowStart:
		b.WriteString(", until an answer comes")
	}
	for _, why := range r.Behind {
		if why != nil {
			b.WriteString(": " + visible.Failure(why))
		}
	}
	return b.String()
}

// Within says which bound was missed, and how much of it has passed. The longest Duration is no bound: then it
// is a Store that says so much.
func Within(in string, d, waited time.Duration) string {
	if d == math.MaxInt64 {
		return " (no bound, but of a Store a day is believed, or the Per of its quota, beyond what others may have got)"
	}
	if waited = Round(waited); waited > 0 {
		return fmt.Sprintf(" (%s%s, after waiting for %v)", in, Lasting(d), waited)
	}
	return fmt.Sprintf(" (%s%s)", in, Lasting(d))
}

// BeforeAnswer says which deadline was missed: in how long the claim must go, and how long its answer is
// expected to take from then on.
func BeforeAnswer(d, answer time.Duration) string {
	text := Within("in ", max(d+answer, 0), 0)
	if answer = Round(answer); answer > 0 {
		text = fmt.Sprintf("%s, less %v for the answer)", strings.TrimSuffix(text, ")"), answer)
	}
	return text
}
