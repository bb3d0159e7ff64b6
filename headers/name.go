package headers

import (
	"net/textproto"
	"strings"
	"time"
)

// role is what the value of a header stands for.
type role uint8

const (
	ignored   role = iota
	limit          // how much there is
	remaining      // how much is left
	used           // how much is gone
	reset          // when it is restored
	window         // the time in which limit is granted
	kind           // a window, if the value is a word for one, which then is the name as well
	label          // the name of the limit
	state          // RateLimit of the drafts 07 and later
	policy         // RateLimit-Policy
	pairs          // all of it in one value, form says how
	retry          // a delay
	should         // whether to try again
	pushback       // both
	age            // how long ago the answer was written
	cache          // whether a cache answered
)

// roleSet is a set of roles.
type roleSet uint32

func (s roleSet) has(r role) bool { return s&(1<<r) != 0 }

// form is how a value is to be read.
type form uint8

const (
	auto    form = iota // numbers by their size
	seconds             // a delay
	millis              // milliseconds, a delay unless it is the size of an instant
	instant             // a delay only if nothing else makes sense
	ratio               // used/limit
	windows             // limit:seconds, a list
	keys                // key=value, a list
	delays              // seconds:name, a list
	usage               // JSON, percent used
)

// field is what the name of a header says about its value.
type field struct {
	role     role
	form     form
	order    uint8         // of labels, the least is the name
	rank     uint8         // of the family, the least takes precedence
	place    uint8         // of the group in its family
	sorted   uint16        // the place in the order of all that the table has, from one; zero if read by rule
	set      uint16        // numbers the families and groups of the table, from one; zero if read by rule
	family   string        // whose headers may state a limit that others state, too
	group    string        // headers of a family and a group make one limit
	name     string        // of the limit
	unit     string        // empty for requests
	window   time.Duration // zero if the name does not tell
	series   []span        // names and windows by position in a list
	advisory bool
	weak     bool // a limit only if what is left is stated, too
}

// span is a name and a window.
type span struct {
	name   string
	window time.Duration
}

// lookup returns what a header's name says, or nil if it is not about limits.
func lookup(key string) *field {
	if len(key) < 3 || len(key) > 2*maxName {
		return nil
	}
	if f := known.find(key); f != nil {
		return f
	}
	if !suspicious(key) {
		return nil
	}
	// The keys of a map that was not filled by net/http may be spelled anyhow.
	canonical := textproto.CanonicalMIMEHeaderKey(key)
	if f := known.find(canonical); f != nil {
		return f
	}
	return parseName(canonical)
}

// suspicious reports whether a name that no table knows may be about limits: it has
// imit, emaining or etry in it, or ends in -Reset. Most names lack already an m and a y.
func suspicious(key string) bool {
	return strings.IndexByte(key, 'm') >= 0 && (strings.Contains(key, "imit") || strings.Contains(key, "emaining")) ||
		strings.IndexByte(key, 'y') >= 0 && strings.Contains(key, "etry") ||
		strings.HasSuffix(key, "-Reset")
}

// roles are the words that say what a header's value is.
var roles = map[string]role{
	"limit": limit, "max": limit, "total": limit, "quota": limit, "capacity": limit,
	"remaining": remaining, "left": remaining, "remain": remaining, "available": remaining,
	"used": used, "usage": used, "consumed": used,
	"reset": reset, "resets": reset, "resettime": reset, "next": reset,
	"window": window, "period": window, "duration": window,
	"policy": policy, "type": kind,
	"resource": label, "bucket": label, "name": label, "group": label, "action": label, "zone": label, "scope": label,
}

// labels ranks the words whose values name a limit: the more specific comes first.
var labels = [...]string{"resource", "bucket", "name", "group", "action", "zone", "scope"}

// forms are the words that say how a value is written.
var forms = map[string]form{
	"after": seconds, "in": seconds, "seconds": seconds, "sec": seconds,
	"ms": millis, "milliseconds": millis, "millis": millis,
	"at": instant, "time": instant, "timestamp": instant, "epoch": instant, "date": instant, "utc": instant,
}

// unitOf are the words that say what is counted.
var unitOf = map[string]string{
	"requests": requests, "request": requests, "tokens": "tokens", "token": "tokens", "bytes": "content-bytes",
	"complexity": "complexity", "credits": "credits", "points": "points",
	"concurrent": "concurrent-requests", "concurrency": "concurrent-requests",
	"ai": "tokens", // the plugins ai-* of Apache APISIX put it before the marker
}

const requests = "requests"

// parseName takes a name apart into words: an optional x and beta, a vendor, the
// marker (ratelimit, rate-limit, or a word that ends in limit), a role, how the
// value is written, and what is left distinguishes the limit from others.
//
//	anthropic-ratelimit-input-tokens-remaining   remaining, "input-tokens"
//	x-ratelimit-limit-requests-day               limit, "requests-day", a day
//	x-daily-ratelimit-token-limit                limit, "daily-token", a day
//	x-ratelimit-userreset                        reset, "user"
func parseName(key string) *field {
	if cleanName(key) == "" {
		return nil
	}
	words := strings.Split(strings.ToLower(key), "-")
	f := &field{}
	var rest []string
	marked := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "x" && i == 0:
		case w == "beta" && len(rest) == 0 && !marked:
			f.advisory = true
		case w == "retry" || w == "retryafter":
			return retryName(f, words[i:])
		case !marked && w == "rate" && i+1 < len(words) && words[i+1] == "limit":
			i++
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i+1], "-")
		case !marked && strings.HasSuffix(w, "ratelimit"):
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i+1], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "ratelimit"))
		case !marked && w == "ratelimitbysize": // Kong's, in front of language models
			marked, rest, f.family, f.unit = true, nil, strings.Join(words[:i+1], "-"), "tokens"
		case !marked && w != "limit" && strings.HasSuffix(w, "limit") && i+1 < len(words):
			marked, rest, f.family = true, vendor(f, rest), strings.Join(words[:i], "-")
			rest = appendWord(rest, strings.TrimSuffix(w, "limit"))
		case f.role == ignored && roles[w] != ignored:
			f.role, f.order = roles[w], orderOf(w)
			if w == "next" || w == "resettime" {
				f.form = instant
			}
		case (f.role == reset || f.role == window) && forms[w] != auto:
			f.form = forms[w]
		case f.role == ignored && marked:
			stem, r := fused(w)
			f.role, rest = r, appendWord(rest, stem)
		default:
			rest = appendWord(rest, w)
		}
	}
	if f = distinguish(f, rest, marked); f != nil {
		f.rank = rankOf(f.family)
		if f.weak {
			f.rank = lastRank
		}
	}
	return f
}

// distinguish completes a field by the words that are left.
func distinguish(f *field, rest []string, marked bool) *field {
	f.group = strings.Join(rest, "-")
	f.name = cleanName(f.group)
	for _, w := range rest {
		if p, ok := periods[w]; ok {
			f.window = p
		}
		w, _, _ = strings.Cut(w, "_") // tokens_usage_based
		if u := unitOf[w]; u != "" && f.unit == "" {
			f.unit = u
		}
	}
	switch {
	case f.group == "":
	case f.unit == requests:
		f.place = 1
	default:
		f.place = 2
	}
	switch {
	case !marked && (f.role == limit || f.role == remaining || f.role == used || f.role == reset):
		f.weak, f.family = true, f.group
		if f.group == "" {
			return nil // X-Limit belongs to a page, not to a rate
		}
	case !marked:
		return nil
	case f.role == ignored && len(rest) == 0:
		f.role = state
	case f.role == ignored && len(rest) == 1 && f.window > 0:
		f.role = limit // X-Vendor-RateLimit-Daily: 1000
	case f.role == ignored:
		f.role, f.form = pairs, keys
	case f.role == label || f.role == kind:
		f.name, f.group, f.place = "", "", 0
	case len(rest) == 2 && f.window > 0 && f.unit == "":
		f.unit = rest[0] // X-RateLimit-Limit-Videos-Minute, Kong's response-ratelimiting
	}
	return f
}

// lastRank is that of limits whose names have no marker.
const lastRank = 4

// rankOf ranks families: the fields of the IETF drafts, vendors' own, and the two
// spellings that many share and that mean the least.
func rankOf(family string) uint8 {
	switch family {
	case "ratelimit":
		return 0
	case "x-ratelimit":
		return 2
	case "x-rate-limit":
		return 3
	}
	return 1
}

// vendor returns which of the words before the marker distinguish the limit: periods,
// units, and numbers with what they number. The rest names the vendor.
func vendor(f *field, words []string) []string {
	var rest []string
	for i, w := range words {
		_, period := periods[w]
		switch {
		case atoi(w) >= 0 && i > 0:
			rest = append(rest, words[i-1], w)
		case period, unitOf[w] != "" && w != "ai":
			rest = append(rest, w)
		}
		if w == "ai" {
			f.unit = unitOf[w]
		}
	}
	return rest
}

// fused splits words such as userlimit, userremaining and userreset.
func fused(w string) (stem string, r role) {
	for _, suffix := range [...]string{"limit", "remaining", "reset", "used"} {
		if stem, ok := strings.CutSuffix(w, suffix); ok {
			return stem, roles[suffix]
		}
	}
	return w, ignored
}

// retryName completes a field whose name has the word retry.
func retryName(f *field, words []string) *field {
	f.role = retry
	if f.advisory || words[0] == "retry" && (len(words) == 1 || words[1] != "after" && words[1] != "in") {
		return nil
	}
	if last := words[len(words)-1]; forms[last] == millis {
		f.form = millis
	}
	return f
}

func appendWord(words []string, w string) []string {
	if w == "" {
		return words
	}
	return append(words, w)
}

func orderOf(w string) uint8 {
	for i, l := range labels {
		if l == w {
			return uint8(i)
		}
	}
	return 0
}
