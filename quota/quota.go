// Package quota describes what the provider of an API grants: so many requests, bytes or other
// tokens in a span of time, or so many at the same time. A quota is data. Package throttle
// enforces quotas, and package pacer applies them to HTTP requests.
//
//	quotas := quota.MustParse("5/s burst 10, 30000 tokens/m burst 30000, 10 in flight")
//	limiter := throttle.Limiter{Quotas: quotas} // one bucket: every request must fit all three
//	err := limiter.Wait(ctx, 1)
//
// Quotas come in as Go values, as text in a program ([MustParse]), or as text that a user wrote
// ([Parse], and [Quotas.UnmarshalText] for JSON, YAML and flags). They go out as text
// ([Quotas.String]) and with all defaults filled in ([Quotas.Explicit]). [Quotas.Validate] says what
// is wrong with them, and [Quotas.Redundant] which of them never delay anything.
//
// The package depends on the standard library alone. It has no clock, no lock and no state, but that it
// remembers which time zones the machine has. It knows nothing of HTTP, of callers that wait, and of servers;
// [Statement] is only the form in which other packages hand on what a server said about a limit of its own.
//
// # What a quota means
//
// The fields of a [Quota] answer four questions:
//
//   - What is counted? Tokens. Unit says what one token is: a request, unless the Unit is "bytes",
//     "tokens" of a language model, or any other word. [Costs] say how many tokens of each unit
//     one request takes.
//   - How many? N tokens in each span of the length Per: 5/s has an N of 5 and a Per of one
//     second. Quotas "in flight" and "unanswered" have no Per: N tokens may be in use at the same
//     time, and a token comes back when its request ends.
//   - How does the provider count? [Kind] says it. If nothing is said, the words mean what they say:
//     5/s is no more than 5 in any second, at once if need be.
//   - How many tokens may go at once after a pause? N, unless the quota is a bucket of tokens, which is
//     refilled evenly: then it is Burst. With a Burst of 1, "5/s even", one request goes every 200 ms.
//
// All quotas of a bucket hold together: a request goes at the first instant at which every one of
// them admits it. None changes the meaning of another.
//
// # From a provider's words to a quota
//
//	"100 requests per minute", "5000 per hour", and nothing else    100/m or 5000/h
//	the same, and requests should be evenly spaced                  100/m even
//	"10 per second, with bursts of up to 20"                        10/s burst 20
//	"100 requests in any (rolling) 60 seconds", enforced strictly   100/m log
//	"5000 per hour", from the first request on                      5000/h window
//	"1000 per day, reset at midnight UTC"                           1000/d window grid
//	"10000 per day, reset at midnight Pacific Time"                 10000/d window grid in America/Los_Angeles
//	"2000 per month"                                                2000/month
//	"no more than 10 concurrent requests"                           10 in flight
//	"500 requests and 30000 tokens per minute"                      500/m, 30000 tokens/m
//	"1 MB per second", for files of any size                        1MB/s debt
//	"1 MB per second of traffic", while files are transferred       1MB/s streamed
//
// Where one program has several tokens or tenants, the quotas are of each of them, but for those that are
// "overall": 5000/h, 100 in flight overall.
//
// The first form suits every provider that does not say how it counts. Tokens are counted only of requests
// whose [Costs] say how many they take. [Kind] says which services
// count in which way, and [Parse] has the grammar of the text.
//
// # Zero, negative, and errors
//
// Each field of a Quota says what its zero means: a second, a bucket that holds N, no bound. A negative
// number or duration is an error: the package takes no bound for another one. Tokens are counted in
// whole numbers, and spans in nanoseconds.
//
// Every error begins with "quota: ". An error of [Quota.Validate] names the quota, the field, its
// value and what is valid; an error of [Parse] also says at which column which word stands. A
// Limiter whose quotas are invalid refuses every request with the error.
package quota

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// Quota is one limit of a provider: N tokens in each span of the length Per, or N tokens at the
// same time.
//
// The zero Quota is no limit.
type Quota struct {
	// Name is what errors and throttle.State call the quota. If empty, they use its text:
	// "5/s burst 10". At most 100 bytes that can be printed.
	Name string

	// N is how many tokens are granted in Per. Zero means no limit, and is an error beside a Per and any other
	// field but Name and Unit, since it was forgotten then. A negative number is an error, as is one above MaxN
	// for what is no TokenBucket.
	N int64

	// Unit is what one token is: "bytes", "tokens" of a language model, "points". Empty means
	// [Requests]. A request takes as many tokens as its [Costs] say for the unit. If its Costs do
	// not have the unit, it takes none, but where package throttle learns what requests turn out to cost.
	Unit string

	// Per is the span in which N tokens are granted. Zero means one second; a negative span is an
	// error, as is one below 1 µs (in a pacer.Table, 1 ms), which is a number without a unit, and one above 50
	// years for a quota that is no TokenBucket. Per must be zero for InFlight and Unanswered, which have no
	// span, and beside Months.
	Per time.Duration

	// Months, if not zero, is the span in months of the calendar: N in each month (1), quarter (3) or year
	// (12), of which each begins at midnight. Windows of several months follow one another from January on,
	// so that 1, 2, 3, 4, 6 and 12 are valid, and any other number is an error. Kind must be Plain, of which
	// what is left may be spread and the server's own count is believed, or ClockWindow.
	Months int

	// From is the day of the month on which windows of Months begin, from 1 to 31: that of the bill, say. In a
	// month that has no such day, they begin on its last day. Zero means 1. Of a ClockWindow with a Per of
	// a week, From is the day on which weeks begin, from 1 for Monday to 7 for Sunday; zero is Thursday, since
	// 1970 began with one. Of any other quota, From must be zero.
	From int

	// Zone is where the days begin at midnight on which windows of Months, or a ClockWindow with a Per of whole
	// days, begin: the name of a time zone in the IANA database, such as "America/Los_Angeles". Where clocks
	// are changed, such a day has 23 or 25 hours. Empty means UTC; of any other quota, Zone must be empty. A
	// name that the database of the machine does not have is an error. A program that is to run where there is
	// none imports time/tzdata.
	Zone string

	// Kind is how the provider counts. Zero, the empty text, is Plain: N in any Per. Burst, Debt, WarmUp,
	// ColdFactor and Streamed are for a TokenBucket. A quota that has one of them is one without a Kind
	// too; with another Kind they are an error.
	Kind Kind

	// Burst is how many tokens a TokenBucket holds, and so how many may go at once after idling. Zero means N,
	// or of a quota that is Streamed a twentieth of a second, and a negative number is an error. With a Burst
	// of 1, tokens are spaced evenly, one every Per/N. That is the only Burst with which hardly any window of
	// the length Per ever sees more than N. A machine of 32 bits has no bucket of more than 2147483647 tokens,
	// and takes a larger Burst for that, and a cost of more than 1024 times as many for 1024 times as many.
	//
	// A cost above Burst is refused with throttle.ErrTooLarge, since no wait would help. With another Kind, a
	// cost above N is. That is of costs that are known before a request goes. What a request turns out to cost
	// beyond that is charged all the same: a TokenBucket owes it, and the windows of another Kind forget it:
	// see Kind.
	Burst int64

	// Debt admits a cost above Burst when the bucket is full. The bucket owes the missing tokens,
	// and later requests wait until they are refilled, as in Guava's RateLimiter. It is for
	// transfers that cannot be divided. In any span t, no more than t·N/Per tokens, Burst, and one
	// such cost are granted.
	Debt bool

	// Queue bounds the line of requests that wait for this quota, of any Kind: a new request is
	// refused with throttle.ErrQueueFull if those before it wait for Queue tokens or more. Zero
	// means no bound but MaxQueue and MaxWait of the throttle.Limiter; a negative number is an
	// error.
	//
	// With a TokenBucket of Burst 1, a Queue makes the leaky bucket that lets drops out evenly and overflows:
	// nginx's limit_req with burst=Queue, and uber-go/ratelimit. A leaky bucket that only measures,
	// and delays nothing, is a TokenBucket with a Burst.
	Queue int64

	// Cells is the number of equal parts into which a SlidingWindow divides Per. Zero means 10. A
	// negative number is an error, and with another Kind any number but zero, or the 64 that Explicit fills in
	// for Plain.
	Cells int

	// WarmUp, if positive, makes a bucket that starts slowly after idling and after the server
	// pushed back: Guava's SmoothWarmingUp (see package warmup). A cold bucket grants at N/Per
	// divided by ColdFactor, and under load it reaches N/Per after WarmUp. Zero means no warm-up;
	// a negative duration is an error, as is one below 1 µs.
	//
	// With a WarmUp, Burst must be zero, since stored tokens stand for coldness and not for a
	// burst. Debt must be false, since a request of any cost goes and the next one pays.
	WarmUp time.Duration

	// ColdFactor is how many times slower a cold bucket grants. Zero means 3, the value that is
	// fixed in Guava. Anything else below 1 or above 1<<31 - 1 is an error, and without a WarmUp
	// any number but zero.
	ColdFactor float64

	// Streamed says that bytes count when they flow, and not when a request goes or has ended: a
	// pacer.Transport reads and writes the bodies of both directions no faster than N in Per, in pieces of a
	// fortieth of a second at most. Unit must be Bytes, and the quota is a TokenBucket: for a Burst of zero, it
	// holds what comes in a twentieth of a second. A Burst of 1 would make pieces of a byte, and is an error
	// where more than 40 bytes come in a second; and so are a Debt, a Queue and a WarmUp. Who does not speak
	// HTTP has throttle.Reader and throttle.Writer.
	Streamed bool

	// Overall says that the quota is of all who use the program's address or application together, where others
	// are of each tenant or credential: "5000/h per token, 100 at a time per application". A pacer.Transport
	// does not split it by Key, and takes it under the pattern of a host alone. Who has buckets of a
	// throttle.Group puts it into the Parent of those of the tenants; a throttle.Limiter enforces it as any
	// other.
	Overall bool
}

// Quotas are enforced together: a request is granted by all of them at the same instant, or
// charged to none. No Quotas are no limit.
type Quotas []Quota

// MaxN is the largest N of a Kind other than TokenBucket, and the largest number that anybody
// counts to who enforces quotas: a larger cost counts as MaxN, so that no sum of costs overflows.
const MaxN int64 = 1 << 50

// What zero stands for.
const (
	defaultPer        = time.Second
	defaultCells      = 10
	defaultColdFactor = 3 // Guava's

	// plainCells are those of a Plain quota, whose N is above that: so it takes 2 kB at most.
	plainCells = 64
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// per returns Per, or its default: of Months, how long they last at most.
func (q Quota) per() time.Duration {
	if q.Months > 0 {
		return q.longestMonths()
	}
	return cmp.Or(q.Per, defaultPer)
}

// isBucket reports whether the quota is a TokenBucket.
func (q *Quota) isBucket() bool {
	return q.Kind == TokenBucket || q.Kind == Plain && (q.Burst > 0 || q.Debt || q.WarmUp > 0 || q.Streamed)
}

// defaultBurst is what a Burst of zero stands for.
func (q *Quota) defaultBurst() int64 {
	if !q.Streamed {
		return q.N
	}
	hi, lo := bits.Mul64(uint64(max(q.N, 0)), uint64(piece))
	per := uint64(max(q.per(), 1))
	if hi >= per {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, per)
	return int64(max(min(n, math.MaxInt64), 1))
}

// defaultCells is what Cells of zero stands for.
func (q *Quota) defaultCells() int {
	switch {
	case q.Kind == SlidingWindow:
		return defaultCells
	case q.Kind == Plain && q.N > plainCells && q.Months == 0 && !q.isBucket():
		return plainCells
	}
	return 0
}

// piece is how long a quota takes, at most, to bring what is read or written of a stream at once.
const piece = time.Second / 20

// unit returns Unit, which is empty for requests.
func (q *Quota) unit() string { return canonical(q.Unit) }

// perSecond returns the rate in tokens per second.
func (q Quota) perSecond() float64 { return float64(q.N) / q.per().Seconds() }

// isWeek reports whether the quota is a ClockWindow of a week.
func (q *Quota) isWeek() bool { return q.Kind == ClockWindow && q.Per == week }

// isCivil reports whether windows begin on days of the calendar, and may differ in length.
func (q *Quota) isCivil() bool { return q.Months > 0 || q.From > 0 || q.Zone != "" }

// longestMonths returns how long a window of Months lasts at most, where no clock is changed.
func (q *Quota) longestMonths() time.Duration {
	if q.Months >= 12 {
		return 366 * day
	}
	return time.Duration(31*q.Months-(q.Months-1)/2) * day // 31, 62, 92, 123 and 184 days
}
