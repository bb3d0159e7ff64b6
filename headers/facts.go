package headers

import (
	"time"
)

// Count is a number that a server may not have stated.
type Count struct {
	N     int64 // from 0 to 999 999 999 999 999; zero if not known
	Known bool  // false also for -1, "unlimited" and whatever else is no number
}

// Reset says when a limit is restored, as the server put it. Servers mean
// different things by it: the end of a window, the return of one request, or the
// time at which a bucket is full again. It is best treated as an upper bound.
type Reset struct {
	// Known is false if nothing was said, and also if the reset is now or past
	// while the limit is not used up, which servers write when there is nothing
	// to wait for. The other fields are zero then.
	Known bool

	// In counts from the instant at which the answer was written (its Date). It
	// is never negative, and MaxReset at most.
	In time.Duration

	// Resolution is the step in which the reset was stated, a second for whole
	// seconds and so on. The truth may lie up to this far on either side, since
	// nobody says how it was rounded.
	Resolution time.Duration

	// Absolute reports that the reset was stated as an instant and measured
	// against Date, whose own step is a second, or, without a usable Date,
	// against the time at which the answer was received.
	Absolute bool

	// Skew is by how much the local time that was passed in was ahead of Date, for
	// an instant; zero for a delay. If it is less than a second and the time that
	// the answer took, the two clocks may well agree, and In less Skew is then
	// finer than what Date tells.
	Skew time.Duration
}

// Limit is one statement about one limit.
type Limit struct {
	// Name is what the server calls the limit: the name of a policy, a resource,
	// a bucket, or what distinguishes the header's name. Empty if it gives none.
	// It is printable ASCII of at most 64 bytes.
	Name string

	// Counter is which of several counters this request drew on, where the server says so
	// with each answer: the value of X-RateLimit-Resource, X-RateLimit-Bucket and their
	// like, or the partition key pk of the IETF drafts, in base64. Requests whose answers
	// give another one draw on something else. Empty if the server does not say.
	Counter string

	// Unit is what is counted, if the server says so: "tokens", "content-bytes",
	// "concurrent-requests", … Empty means requests, also where the server says that.
	Unit string

	// Limit is how much there is in all. A limit below one per window is stated
	// as one in a longer Window. Zero together with a Remaining of zero is what
	// some servers send when they do not count at all.
	Limit Count

	// Remaining is how much is left, never more than a Limit above zero.
	// Fractions are rounded down. Zero is not known beside a Limit of -1 or
	// "unlimited": nothing is counted then.
	Remaining Count

	// Reset is when the limit is restored.
	Reset Reset

	// Window is the time in which Limit is granted, at most 366 days, zero if not
	// stated. It is zero, too, for a month, a quarter and a year, which have no fixed length.
	Window time.Duration

	// Advisory reports that the server announces the limit (by a prefix Beta-)
	// but does not enforce it yet.
	Advisory bool
}

// Retry is what an answer says about trying again. Whether it binds is for the caller to
// decide: some servers send a hint with each successful answer, and 202 with Retry-After is
// polling.
//
// Retry-After is read in every form that is in use: whole and decimal seconds, the three
// HTTP-dates of RFC 9110 (5.6.7), the date of a mail, RFC 3339, text such as "30s", and an
// instant in seconds or milliseconds since the epoch, which some servers send by mistake. Of a
// list the longest counts. An instant that is past means no delay, and one that is past by more
// than a day makes no sense.
type Retry struct {
	Known      bool          // reports that After was stated
	After      time.Duration // counts from Date; never negative, and MaxRetryAfter at most
	Resolution time.Duration // the step in which After was stated, as in Reset
	Absolute   bool          // After was stated as an instant, as in Reset
	Skew       time.Duration // for an instant, as in Reset
	Advice     Advice        // what the server says outright
	Refusal    Refusal       // why the server refuses the request
}

// Advice is what a server says outright about trying again, in headers such as X-Should-Retry. Zero, the
// empty text, means that the server does not say.
type Advice string

// What servers advise.
const (
	AdviceRetry Advice = "retry" // true
	AdviceNever Advice = "never" // false, or a negative Grpc-Retry-Pushback-Ms (gRPC proposal A6)
)

// Facts is all that a response says about limits.
type Facts struct {
	Limits []Limit // at most 64, those first whose Remaining is known; nil if there are none
	Retry  Retry   // the zero value if the response says nothing about trying again
}

// Bounds of what is returned. A server that says more is cut down to them.
const (
	// MaxReset is a month, the longest of the usual windows. A Window may be longer, up to 366 days: a reset
	// that is farther off counts as one in a month, and later answers say the rest.
	MaxReset = 31 * 24 * time.Hour

	// MaxRetryAfter is a week. The draft of the IETF warns clients of huge values
	// ("Retry-After: 1000000", draft-ietf-httpapi-ratelimit-headers-10).
	MaxRetryAfter = 7 * 24 * time.Hour
)
