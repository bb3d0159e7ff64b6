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
// The package depends on the standard library alone. It has no clock and no lock, and remembers nothing except
// which time zones the machine has. It knows nothing of HTTP, of callers that wait, and of servers. [Statement]
// is only the form in which other packages hand on what a server said about a limit of its own.
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
// If one program has several credentials or tenants, each of them has the quotas for itself, except for quotas
// that are "overall": 5000/h, 100 in flight overall.
//
// The first form suits every provider that does not say how it counts. Tokens are counted only of requests
// whose [Costs] say how many they take. [Kind] says which services
// count in which way, and [Parse] has the grammar of the text.
//
// # Zero, negative, and errors
//
// Each field of a Quota says what its zero means: a second, a bucket that holds N, no bound. A negative number
// or duration is an error. Tokens are counted in whole numbers, and spans in nanoseconds.
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

	// N is how many tokens are granted in Per. Zero means no limit. If any field other than Name and Unit is
	// set, a zero N is an error: it was forgotten. A negative number is an error, as is one above MaxN for a
	// Kind other than TokenBucket.
	N int64

	// Unit is what one token is: "bytes", "tokens" of a language model, "points". Empty means
	// [Requests]. A request takes as many tokens as its [Costs] say for the unit. If its Costs do not have the
	// unit, it takes none, unless package throttle has learned what such requests turn out to cost.
	Unit string

	// Per is the span in which N tokens are granted. Zero means one second; a negative span is an
	// error, as is one below 1 µs (in a pacer.Table, 1 ms), which is a number without a unit, and one above 50
	// years for a Kind other than TokenBucket. Per must be zero for InFlight and Unanswered, which have no
	// span, and if Months is set.
	Per time.Duration

	// Months, if not zero, is the span in months of the calendar: N in each month (1), quarter (3) or year
	// (12). Each begins at midnight. Windows of several months follow one another from January on, so that 1,
	// 2, 3, 4, 6 and 12 are valid; any other number is an error. Kind must be Plain (what is left may be
	// spread, and the server's own count is believed) or ClockWindow. Zero means that Per is the span.
	Months int

	// From is the day of the month on which windows of Months begin, from 1 to 31, such as the day of the bill.
	// In a month that has no such day, they begin on its last day. Zero means 1. For a ClockWindow with a Per
	// of a week, From is the day on which weeks begin, from 1 for Monday to 7 for Sunday; zero is Thursday,
	// since 1970 began with one. Any other number is an error, as is a From of any other quota.
	From int

	// Zone is the time zone of the calendar, for windows of Months and for a ClockWindow with a Per of whole
	// days: they begin at midnight there. It is a name of the IANA database, such as "America/Los_Angeles". On
	// a day on which clocks are changed, the day has 23 or 25 hours. Empty means UTC; for any other quota, Zone
	// must be empty. A name that the database of the machine does not have is an error. A program that runs on
	// machines without a database imports time/tzdata.
	Zone string

	// Kind is how the provider counts. Zero, the empty text, is Plain: N in any Per. Burst, Debt, WarmUp,
	// ColdFactor and Streamed are for a TokenBucket: a quota that has one of them and no Kind is a TokenBucket,
	// and with another Kind they are an error.
	Kind Kind

	// Burst is how many tokens a TokenBucket holds, and so how many may go at once after idling. Zero means N,
	// or, if the quota is Streamed, what comes in a twentieth of a second. A negative number is an error. With
	// a Burst of 1, tokens are spaced evenly, one every Per/N. That is the only Burst with which hardly any
	// window of the length Per ever sees more than N. On a machine of 32 bits, a Burst above 2147483647 counts
	// as 2147483647, and a cost above 1024 times that as 1024 times that.
	//
	// A request whose cost is known to be above Burst is refused with throttle.ErrTooLarge, since no wait would
	// help. With another Kind, a cost above N is refused. What a request turns out to cost after it was granted
	// is charged all the same: a TokenBucket owes it, and the windows of another Kind forget it, see Kind.
	Burst int64

	// Debt admits a cost above Burst when the bucket is full. The bucket owes the missing tokens,
	// and later requests wait until they are refilled, as in Guava's RateLimiter. It is for
	// transfers that cannot be divided. In any span t, no more than t·N/Per + Burst tokens are granted, and one
	// such cost.
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

	// Cells is the number of equal parts into which a SlidingWindow divides Per. Zero means 10. A negative
	// number is an error. With another Kind, Cells must be zero; for Plain it may be 64, which Explicit fills
	// in.
	Cells int

	// WarmUp, if positive, makes a bucket that starts slowly after idling and after the server
	// pushed back: Guava's SmoothWarmingUp (see package warmup). A cold bucket grants at N/Per
	// divided by ColdFactor, and under load it reaches N/Per after WarmUp. Zero means no warm-up;
	// a negative duration is an error, as is one below 1 µs.
	//
	// With a WarmUp, Burst must be zero, since stored tokens stand for coldness and not for a
	// burst. Debt must be false, since a request of any cost goes and the next one pays.
	WarmUp time.Duration

	// ColdFactor is how many times slower a cold bucket grants. Zero means 3, the value that is fixed in Guava.
	// Anything else below 1 or above 1<<31 - 1 is an error. Without a WarmUp, ColdFactor must be zero.
	ColdFactor float64

	// Streamed says that bytes count when they flow, and not when a request goes or has ended: a
	// pacer.Transport reads and writes the bodies of both directions no faster than N in Per, in pieces of a
	// fortieth of a second at most. Unit must be Bytes, and the quota is a TokenBucket. A Debt, a Queue or a
	// WarmUp is an error, and so is a Burst of 1, which would make pieces of a byte, if more than 40 bytes come
	// in a second. For streams that are not HTTP, see throttle.Reader and throttle.Writer.
	Streamed bool

	// Overall says that all tenants or credentials of the program share the quota, while each has the other
	// quotas for itself: "5000/h per token, 100 at a time per application". A pacer.Transport does not split it
	// by Key, and takes it only under the pattern of a host. In a throttle.Group, put it into the Parent of the
	// tenants' buckets. A throttle.Limiter enforces it as any other quota.
	Overall bool
}

// Quotas are enforced together: a request is granted by all of them at the same instant, or
// charged to none. No Quotas are no limit.
type Quotas []Quota

// MaxN is the largest N of a Kind other than TokenBucket. A cost above MaxN counts as MaxN, so that no sum of
// costs overflows.
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
