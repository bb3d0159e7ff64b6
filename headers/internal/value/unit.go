package value

import (
	"iter"
	"maps"
)

// Requests is the unit of a name or a text that says that it is about requests.
const Requests = "requests"

// Concurrent is the unit of what is under way at the same time, as the drafts of the IETF spell it.
const Concurrent = "concurrent-requests"

// units are the words that say what is counted. An abbreviation that is not among them is no unit.
var units = map[string]string{
	"requests": Requests, "request": Requests, "req": Requests, "reqs": Requests, "rq": Requests,
	"call": Requests, "calls": Requests, "query": Requests, "queries": Requests,
	"tokens": "tokens", "token": "tokens", "ai": "tokens", // the plugins ai-* of Apache APISIX put it before the marker
	"bytes": Bytes, "complexity": "complexity", "credits": "credits", "points": "points",
	"percent": "percent", "percentage": "percent", "pct": "percent",
	"concurrent": Concurrent, "concurrency": Concurrent,
	"images": "images", "pages": "pages", "characters": "characters", "usd": Money, "dollars": Money,
	"rps": Requests, "rpm": Requests, "rph": Requests, "rpd": Requests, "qps": Requests, "qpm": Requests, "qph": Requests, "qpd": Requests,
	"tpm": "tokens", "tph": "tokens", "tpd": "tokens", // tps are transactions for many
}

// singulars are words that say what is counted where nothing else does: requests for an image are requests.
var singulars = map[string]string{
	"byte": Bytes, "credit": "credits", "point": "points", "image": "images", "page": "pages", "character": "characters", "dollar": Money,
}

// Singulars returns the words in the singular that name a unit if no other word does.
func Singulars() iter.Seq2[string, string] { return maps.All(singulars) }

// Money is the unit of what is paid for.
const Money = "usd"

// Bytes is the unit of bytes, as the drafts of the IETF spell it since 09.
const Bytes = "content-bytes"

// UnitOf returns the unit that a word in lower case names, empty if it names none.
func UnitOf(word string) string { return units[word] }

// Units returns the words that name a unit.
func Units() iter.Seq2[string, string] { return maps.All(units) }

// UnitOfLimit returns the unit of a limit: empty if what is counted are requests, or if nothing says what.
func UnitOfLimit(unit string) string {
	if unit == Requests {
		return ""
	}
	return unit
}
