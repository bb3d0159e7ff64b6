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
// Retry.Refusal is [RefusalSpent].
package headers

import (
	"net/http"
	"time"
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
