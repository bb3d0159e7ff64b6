package value

// Requests is the unit of a limit that states none.
const Requests = "requests"

// units are the words that say what is counted.
var units = map[string]string{
	"requests": Requests, "request": Requests, "tokens": "tokens", "token": "tokens", "bytes": Bytes,
	"complexity": "complexity", "credits": "credits", "points": "points", "percent": "percent", "percentage": "percent",
	"concurrent": "concurrent-requests", "concurrency": "concurrent-requests",
	"ai": "tokens", // the plugins ai-* of Apache APISIX put it before the marker
}

// Bytes is the unit of bytes, as the drafts of the IETF spell it since 09.
const Bytes = "content-bytes"

// UnitOf returns the unit that a word in lower case names, empty if it names none.
func UnitOf(word string) string { return units[word] }

// UnitOr returns a unit, or Requests if it is empty.
func UnitOr(unit string) string {
	if unit == "" {
		return Requests
	}
	return unit
}
