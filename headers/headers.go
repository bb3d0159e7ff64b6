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
// Nothing that a server sends makes the package panic, or use more than a bounded amount of memory per header
// line. Every number and every time is bounded, and a header that cannot be understood states nothing. Instants
// are measured against the Date of the same response, so that neither clock has to be right, if they differ by
// a day at most. A response that comes from a cache (a positive Age, or X-From-Cache) says nothing about
// limits. Nor does one with more than 64 headers about limits; of its hints, those count whose names are in the
// package's tables, or in a Reader.
//
// # Forms
//
// What is read, whoever writes it. Words of a name come in any order; the last one that has a role
// says what the value is, and those that have none name the limit. Read | as "or".
//
//	how much there is    limit | limits | quota | max | total | capacity | allowed | allotted
//	how much is left     remaining | remain | left | available
//	how much is gone     used | usage | consumed | current | running | active
//	when it is restored  reset | resets-in | reset-after | reset-at | expiry | next | ttl
//	in which time        window | period | interval | range | duration; -second … -month, 10-second, 3min,
//	                     five-min, half-hour; rps | rpm | qpm | tpd …, which are a unit, too
//	which limit it is    resource | bucket | name | group | action | zone | scope; the words that are left
//	what is counted      requests | calls | tokens | bytes | credits | points | images | pages | percent …,
//	                     in the singular, too; concurrent anywhere in the name goes first
//	when to try again    retry-after | retry-in | wait | backoff, in milliseconds with -ms; delay, without counts
//	until when, too      msec-left; seconds-remaining and remaining-sec beside what is left
//	all at once          RateLimit, RateLimit-Policy: drafts 03 to 11 of the IETF
//
//	number               60 | 57.5 | 1,000 | 99 requests; a fraction below one is no count, and -2 is none left;
//	                     of money only the limit is one, and a quota of so many MiB is one of space
//	with its window      60/min | 150/15m | 60 requests per hour
//	of a number          3/2000 | 3 of 2000: what is used, or left, and how much there is in all, which is the
//	                     greater one where the name does not tell
//	list                 1, 2000: a limit each, in parallel with the other lists of the limit
//	words                Remaining: 394 Time until reset: 3589 | user-hour-rem:500; | minute;59, day;990
//	object               {"call_count":28} | {"acc_id_util_pct":9.67}: the percentage used; {"limit":{"minute":5}}
//	delay                42 | 2.5 | 6m0s | 120ms | 42 seconds | PT2M | 00:01:30
//	instant              seconds, ms, µs or ns since 1970 | RFC 3339 | HTTP-date | as mail, JavaScript, Unix, .NET have it
//
// A number is a delay if it is below 100 000 000, and an instant otherwise. A delay is in seconds. One of four
// digits or more that is beyond the limit's own window by far, and fits it at a thousandth, is in milliseconds,
// as is one that is beyond any reset; if the window is not stated, but known from prose, or exceeded by little,
// the delay is not known. The fields of the IETF drafts are in seconds, whatever they say. What may be a number
// or something else is nothing: a wrong number is worse than none. Names without a word for a rate
// (X-Search-Remaining) count only if there is a limit or a reset beside, and those of pages, disks,
// seats and sessions not at all; nor do the last reset, the next limit, a maximum of hints, or the
// size of a request. The command cmd/ratelimit shows how the headers of an answer are read.
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
// A header that stands in a response several times, or has a list, is read as follows. If all counts of a
// limit (limit, remaining, used) do, the response states several limits, and the values at one position belong
// together. If one of the counts does not, there is one limit, and of each other header that value counts by
// which the least may go: the least limit and remaining, the greatest used, the longest window, and the reset
// beside the count that was chosen, or the latest where there are not as many resets. Of several Retry-After,
// the longest counts.
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

// Parse returns what h says. It measures instants against the Date in h, and against received, the local time
// at which the response arrived, if h has no Date that is usable: one Date alone, which can be read, is within
// a day of received, and does not come from a cache. If Date is more than a day ahead of received, one of the
// clocks is wrong, and each instant is measured against the nearer one. If received is zero, any day is usable,
// and without a Date such instants are not known.
//
// Parse is what a zero [Reader] does.
func Parse(h http.Header, received time.Time) Facts {
	return (*Reader)(nil).Parse(h, received)
}
