package quota

import "time"

// Statement is what a server said in one answer about one of its limits. Package headers reads what servers
// write, and throttle.Answer hands Statements to a Limiter, which learns from them. A limit of requests at the
// same time is a Concurrency, and a Statement only if it has a reset.
//
// The zero Statement says that nothing remains of a limit in requests, but not until when.
type Statement struct {
	// Name is what the server calls the limit: a policy, a resource, a bucket. Empty means that
	// the server gave no name. Limits of different names have different windows.
	Name string

	// Counter is which of several counters of that name the request was counted in. Empty means
	// that the server did not say. Different Counters have different windows, too.
	Counter string

	// Unit is what the limit counts. Empty means Requests. Of a limit in another unit, a claim
	// takes as many tokens as its Costs say. If the Costs do not have the unit, the cost is not known. Then a
	// Limiter knows when nothing remains, but not how fast the limit is used.
	Unit string

	// Limit is how many tokens the server grants in each window. Zero or a negative number means
	// that the server did not say.
	Limit int64

	// Remaining is how many tokens were left when the answer was written. A negative number
	// counts as zero. If the server did not say, there is no Statement to make: the Limit alone
	// says nothing about now.
	Remaining int64

	// Reset is the time from the writing of the answer until the limit is restored. A negative
	// time counts as zero. ResetKnown reports whether the server said it.
	Reset      time.Duration
	ResetKnown bool

	// Resolution is the step in which the server stated Reset: one second for whole seconds. The true Reset
	// lies up to one step before or after the stated one. Zero and negative mean that Reset is exact.
	Resolution time.Duration

	// Absolute reports that the server stated Reset as an instant. Reset was then measured from
	// the answer's Date, which has whole seconds. Skew is how far the local clock was ahead of
	// Date when the request was granted.
	//
	// Date is coarse. If it allows that both clocks agree, they are taken to agree, and the local clock counts,
	// which is finer. If not, Date alone counts.
	Absolute bool
	Skew     time.Duration

	// Window is the span of the limit. Zero or a negative time means that the server did not say.
	Window time.Duration
}

// Concurrency is what a server said in one answer of how many requests may be under way at the same time. What
// is used of that comes back when requests end, and not in time. The zero Concurrency says nothing.
type Concurrency struct {
	// Limit is how many requests may be under way. Zero or a negative number means that the server did not say.
	Limit int64

	// Remaining is how many more requests might have been under way, when the request came or when the answer
	// was written. A negative number counts as zero. RemainingKnown reports whether the server said it.
	Remaining      int64
	RemainingKnown bool
}

// Hold is for how long a server wants no requests, as a Retry-After says.
type Hold struct {
	// For is how long, from the writing of the answer. Zero or negative: the server says to ask again now.
	For time.Duration

	// Resolution, Absolute and Skew say of For what the fields of a Statement say of Reset. A Resolution of
	// zero means that the step is not known.
	Resolution time.Duration
	Absolute   bool
	Skew       time.Duration
}
