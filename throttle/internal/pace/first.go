package pace

import (
	"math"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// first finds the first pace where a hint says less than it seems to: "Retry-After: 1" stands for a token of 3
// ms as well as for one of a second. What is served over such a hold is far less than a bucket of few tokens
// gives, as the bucket is full again long before the hold is over. What went just before the refusal is more
// than it gives. Nothing is known of the rate but that it is in between. So where both are far apart, the pace
// is their geometric mean; and each time that it is refused soon, the mean of what is left, mostTries times at
// most.
//
// A look that is refused says that others take what comes back: then the pace is what was served. A pace that
// was not refused for so long that more is tried (former.go) is right: then the search is over as well.
//
// In come what was served (serve), refusals (refuse) and the rate that was served (low). Out comes the next
// pace (seek), until the search is over.
type first struct {
	from  monotime.Time // the first request after the latest refusal was served
	low   float64       // tokens per second that were served, holds included
	top   float64       // the lowest rate that was refused; zero if there is none
	tries int           // means so far; more than mostTries once the search is over
}

const (
	// farApart is how many times the served rate the refused one must be for their mean to be tried: what is
	// nearer, the pace grows to soon enough by itself.
	farApart = 4
	// mostTries bounds the means: of a served rate of 1/s and a refused one of 500/s, the fourth is 1.5/s.
	mostTries = 4
)

// serve takes in that a request was served that went after the latest refusal.
func (f *first) serve(now monotime.Time) {
	if f.from == 0 {
		f.from = now
	}
}

// refuse takes in a refusal, after so many were served that went after the one before it, at a pace; zero if
// none is known. Again says that there was one before.
func (f *first) refuse(now monotime.Time, served int, pace float64, again bool) {
	switch {
	case again && served == 0:
		f.tries = mostTries
	case pace == 0 && served > 1 && now > f.from:
		pace = float64(served) / now.Sub(f.from).Seconds()
	}
	if pace > 0 && (f.top == 0 || pace < f.top) {
		f.top = pace
	}
	f.from = 0
}

// seek returns the next pace, and whether it is a mean. If no mean is to be tried any more, it is what was
// served.
func (f *first) seek() (pace float64, mean bool) {
	if f.tries >= mostTries || f.low == 0 || f.top <= farApart*f.low {
		f.end()
		return f.low, false
	}
	f.tries++
	return math.Sqrt(f.low * f.top), true
}

// end ends the search.
func (f *first) end() { f.tries = mostTries + 1 }

// over reports whether the search is over.
func (f *first) over() bool { return f.tries > mostTries }

// scale makes the rates such a part of themselves.
func (f *first) scale(part float64) { f.low, f.top = f.low*part, f.top*part }

// rounded reports whether a hint, in such steps, asks for no more than a step: nobody knows how much less would
// do.
func rounded(asked, step time.Duration) bool { return asked > 0 && asked <= stepOf(asked, step) }

// stepOf returns in which step a hint is: in seconds, where that is not known and may be.
func stepOf(asked, step time.Duration) time.Duration {
	if asked > 0 && step <= 0 && asked%time.Second == 0 {
		return time.Second
	}
	return step
}
