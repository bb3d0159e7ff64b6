// Package headers reads what the headers of an HTTP response say about rate limits: which
// limits there are, how much of each is left, when it is restored, and when to try again.
// It can be used alone, by any client. It imports the standard library with net/http, and
// github.com/dunglas/httpsfv (which reads the structured fields of the IETF drafts).
//
//	facts := headers.Parse(resp.Header, time.Now())
//	for _, l := range facts.Limits {
//		fmt.Println(l.Name, l.Remaining.N, "of", l.Limit.N, "until", l.Reset.In)
//	}
//
// The package reads the IETF drafts and the dialects of many services and server libraries, most
// of them by rule: it takes a header's name apart into words, and tells the unit of a value by the
// value's size and form. If an API uses names that no rule covers, a [Dialect] of a [Reader] says
// what they mean. The package has no clock: headers and an instant come in, [Facts] come out.
//
// # Trust
//
// Nothing that a server sends makes the package panic, or use more than a bounded amount of
// memory per header line. Every number and every time is bounded, and a header that cannot be
// understood states nothing. Instants are measured against the Date of the same response,
// so that neither clock has to be right. A response that comes from a cache (a positive Age,
// or X-From-Cache) says nothing about limits.
//
// # Several statements
//
// A limit that one response states in two dialects is reported once, in this order of
// precedence: a Dialect of the Reader, the field RateLimit of
// draft-ietf-httpapi-ratelimit-headers (08 and later), its combined form (07), the three
// fields RateLimit-* (up to 06), a vendor's own names, X-RateLimit-*, X-Rate-Limit-*. Limits
// that differ are all reported, those first whose Remaining is known. The order does not
// depend on the order of the map.
//
// # Refusals
//
// A status of 429 does not say whether a request comes too early or has to be paid for. If the
// response says that waiting is in vain, in a header or by a daily limit of which nothing
// remains, the [Refusal] is RefusalSpent. Some services say it only in the body of an error. The
// package never reads a body by itself: a caller gives the beginning of one to
// [Reader.ParseBody].
package headers

import (
	"net/http"
	"time"
)

// Parse returns what h says. It measures instants against the Date in h, and against
// received, the local time at which the response arrived, if h has no Date that is usable. If
// received is zero, such instants are not known.
//
// Parse is what a zero [Reader] does.
func Parse(h http.Header, received time.Time) Facts {
	return (*Reader)(nil).Parse(h, received)
}
