// Package headers reads what the headers of an HTTP response say about rate
// limits: which limits there are, how much of each is left, when it is restored,
// and when to try again. It understands the IETF drafts and the dialects of many
// services and server libraries, most of them by rule: a header's name is taken
// apart into words, and a value's unit is told by its size and its form.
//
//	facts := headers.Parse(resp.Header, time.Now())
//	for _, l := range facts.Limits {
//		fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, "until", l.Reset.In)
//	}
//
// It is made of pure functions, without a clock and without state.
//
// # Trust
//
// Nothing that a server sends makes it panic or use more than a bounded amount
// of memory per header line. Numbers are plain decimal digits, every number and
// every time is bounded, and what cannot be understood is no fact at all.
// Instants are measured against the response's own Date, so that neither clock
// has to be right. A response that comes from a cache (a positive Age, or
// X-From-Cache) says nothing about limits.
//
// # Several statements
//
// A limit that is written in two dialects of one response is reported once, in
// this order of precedence: the structured field RateLimit (drafts 08 and later),
// its combined form (draft 07), the three fields RateLimit-* (drafts up to 06),
// a vendor's own names, X-RateLimit-*, X-Rate-Limit-*. Limits that differ are all
// reported, those first whose Remaining is known. The order does not depend on
// the order of the map.
//
// # Dialects
//
// What an API says in words of its own is told to a [Reader], as data:
//
//	reader := &headers.Reader{Dialects: []headers.Dialect{{
//		Name: "acme", Unit: "tokens", Step: time.Millisecond,
//		Remaining: "X-Acme-Quota-Left", Reset: "X-Acme-Quota-Reset",
//	}}}
//
// # Bodies
//
// Some services say in the body of an error what others say in headers. Nothing reads
// bodies unasked: [ParseBody] is given the beginning of one.
//
// # Refusals
//
// A status of 429 does not tell "not yet" from "not before you pay". Where a response
// does, in a header, in a body, or by a daily limit of which nothing remains,
// Retry.Cause is [Spent]. It is never concluded from a status, nor from prose.
package headers

import (
	"net/http"
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

	// Bucket is which of several counters this request drew on, where the server says so
	// with each answer: the value of X-RateLimit-Resource, X-RateLimit-Bucket and their
	// like, or the partition key pk of the IETF drafts, in base64. Requests whose answers
	// give another one draw on something else. Empty if the server does not say.
	Bucket string

	// Unit is what is counted: "requests" unless the server says otherwise
	// ("tokens", "content-bytes", "concurrent-requests", …).
	Unit string

	// Limit is how much there is in all. A limit below one per window is stated
	// as one in a longer Window. Zero together with a Remaining of zero is what
	// some servers send when they do not count at all.
	Limit Count

	// Remaining is how much is left, never more than a Limit above zero.
	// Fractions are rounded down.
	Remaining Count

	Reset Reset

	// Window is the time in which Limit is granted, at most a year, zero if not
	// stated.
	Window time.Duration

	// Advisory reports that the server announces the limit (by a prefix Beta-)
	// but does not enforce it yet.
	Advisory bool
}

// Retry is what an answer says about trying again. Whether it binds is for the
// caller to decide: some servers send a hint with each successful answer, and
// 202 with Retry-After is polling.
type Retry struct {
	Known      bool          // reports that After was stated
	After      time.Duration // counts from Date; never negative, and MaxRetryAfter at most
	Resolution time.Duration // the step in which After was stated, as in Reset
	Word       Word          // what the server says outright
	Cause      Cause         // why the request is refused
}

// Word is what a server says outright about trying again.
type Word int

// The words of servers on trying again.
const (
	NoWord      Word = iota
	ShouldRetry      // x-should-retry: true
	NeverRetry       // x-should-retry: false, or a negative grpc-retry-pushback-ms
)

// Facts is all that a response says about limits.
type Facts struct {
	Limits []Limit
	Retry  Retry
}

// Bounds of what is returned. A server that says more is cut down to them.
const (
	// MaxReset is the longest window that a service documents, a month.
	MaxReset = 31 * 24 * time.Hour

	// MaxRetryAfter is a week. The draft of the IETF warns clients of huge values
	// ("Retry-After: 1000000", draft-ietf-httpapi-ratelimit-headers-10).
	MaxRetryAfter = 7 * 24 * time.Hour

	maxCount   = 999_999_999_999_999 // the largest Integer of RFC 9651, 3.3.1
	maxName    = 64                  // bytes of Limit.Name
	maxNumber  = 64                  // bytes of a number, an instant or a duration
	maxField   = 8 << 10             // bytes of a structured field, all lines together
	maxMembers = 32                  // members of a list
	maxFields  = 64                  // headers about limits in one response
)

// Parse returns what h says. It measures instants against the Date in h, and
// against received, the local time at which the response arrived, if h has none
// that is usable. If received is zero, such instants are not known.
func Parse(h http.Header, received time.Time) Facts {
	limits, retry := read(nil, h, received, nil, nil)
	return Facts{Limits: limits, Retry: retry}
}

// Append is Parse for callers that count allocations: it appends to limits, and
// for the common dialects it allocates nothing if the capacity suffices.
func Append(limits []Limit, h http.Header, received time.Time) ([]Limit, Retry) {
	return read(limits, h, received, nil, nil)
}

// Tells reports whether h has a header that may say something of limits or of when to
// retry. It costs a fraction of Append, for answers that have none, which most are.
func Tells(h http.Header) bool { return tells(h, nil) }

func tells(h http.Header, own *table) bool {
	for key := range h {
		var f *field
		if own != nil {
			f = own.lookup(key)
		}
		if f == nil && key != "Date" && (len(key) <= 8 || key[:8] != "Content-") { // the most frequent are told at a glance
			f = lookup(key)
		}
		if f != nil && f.role != ignored {
			return true
		}
	}
	return false
}

// read appends what h says to a reader with dialects of its own, and what a body says. Both
// may be nil.
func read(limits []Limit, h http.Header, received time.Time, own *table, b *bodyFacts) ([]Limit, Retry) {
	var a answer
	for key, values := range h {
		if own != nil {
			if f := own.lookup(key); f != nil {
				a.add(f, values)
				continue
			}
		}
		if len(key) > 8 && key[:8] == "Content-" {
			continue // the most frequent are told at a glance
		}
		if key == "Date" {
			a.dates = values
			continue
		}
		if f := lookup(key); f != nil {
			a.add(f, values)
		}
	}
	if a.roles == 0 && b == nil {
		return limits, Retry{}
	}
	return a.append(limits, received, b)
}

// answer is what a response has about limits. Most have nothing, so that it is small
// and costs nothing until there is something to add.
type answer struct {
	roles roleSet // of all that was added
	n     int     // how much of buf is used
	buf   [8]found
	more  []found  // what buf has no room for
	dates []string // the lines of Date
}

// add adds a header.
func (a *answer) add(f *field, values []string) {
	if f.role == ignored || len(values) == 0 {
		return
	}
	a.roles |= 1 << f.role
	if a.n == len(a.buf) {
		a.more = append(a.more, found{f, values})
		return
	}
	a.buf[a.n] = found{f, values}
	a.n++
}

// append appends the limits that the headers state, and returns what they say about
// trying again.
func (a *answer) append(limits []Limit, received time.Time, b *bodyFacts) ([]Limit, Retry) {
	c := &clock{dates: a.dates, received: received}
	fields := append(a.buf[:a.n], a.more...)
	var hint hints
	if a.roles&unlimited != 0 {
		for i := range fields {
			c.aged = c.aged || fields[i].role == age && aged(fields[i].values)
		}
		n := 0
		for _, f := range fields {
			if unlimited.has(f.role) {
				hint.add(f.field, f.values, c) // not before Age is known
				continue
			}
			fields[n] = f
			n++
		}
		fields = fields[:n]
	}
	if b != nil {
		hint.cause = max(hint.cause, b.cause)
		hint.body = b.delay
	}
	if n := len(fields); (n > 0 || b != nil) && n <= maxFields && !a.roles.has(cache) && !c.aged {
		quick := b == nil && a.roles&^(quickRoles|unlimited) == 0
		if quick {
			limits, quick = appendQuick(limits, fields, c, &hint)
		}
		if !quick {
			limits = appendLimits(limits, fields, c, &hint, b)
		}
	}
	if a.roles&(unlimited|1<<pairs) == 0 && b == nil {
		return limits, Retry{Cause: hint.cause} // no header has a hint
	}
	return limits, hint.retry()
}

// unlimited are the roles of headers that state no limit.
const unlimited roleSet = 1<<retry | 1<<should | 1<<pushback | 1<<reason | 1<<age | 1<<cache

// aged reports whether Age says that a cache answered: it counts the seconds since
// the origin did (RFC 9111, 5.1).
func aged(values []string) bool {
	for _, v := range values {
		if n, ok := parseNumber(trim(v)); ok && n.whole > 0 {
			return true
		}
	}
	return false
}
