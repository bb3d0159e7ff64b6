package quota

import (
	"regexp"
	"slices"
	"strings"
)

// phrase is what people write, in lower case, and what Parse reads in place of it.
type phrase struct {
	to   string
	from []string
	note string // what to say with it

	// taken says that not even a Quota in Go may have one of the words as its Unit. All other words of the
	// table may be units: a text has them in double quotes.
	taken bool
}

// What to say with what was meant.
const (
	noteRequests = `a unit of that name stands in double quotes`
	noteBits     = "a byte has 8 bits"
	noteKey      = "for each, if a Key tells them apart"
	noteQueue    = "what finds the queue full fails; without queue, all wait"
)

// phrases are the words that Parse does not read. An N stands for the N of the quota.
var phrases = [...]phrase{
	// What requests are called, of which a text has no name.
	{from: []string{"request", "requests", "r", "req", "reqs"}, taken: true},
	{from: []string{
		"call", "calls", "hit", "hits", "query", "queries", "transaction", "transactions", "invocation", "invocations", "op", "ops",
		"operation", "operations",
	}, note: noteRequests},

	// Rates, and what stands before a span.
	{to: "/ s", from: []string{"rps", "qps"}, taken: true},
	{to: "/ m", from: []string{"rpm", "qpm"}, taken: true},
	{to: "/ h", from: []string{"rph", "qph"}, taken: true},
	{to: "/ d", from: []string{"rpd", "qpd"}, taken: true},
	{to: "/ s", from: []string{"tps"}}, // transactions
	{to: "tokens / m", from: []string{"tpm"}},
	{to: "tokens / h", from: []string{"tph"}},
	{to: "tokens / d", from: []string{"tpd"}},
	{to: "/", from: []string{"per", "in"}, taken: true},
	{to: "/", from: []string{"a", "an", "each", "every", "any", "within", "in a", "in an", "in any", "in each", "within any"}},
	{to: "/ h", from: []string{"hourly"}},
	{to: "/ d", from: []string{"daily"}},
	{to: "/ week", from: []string{"weekly"}},
	{to: "/ 2w", from: []string{"fortnight", "fortnights", "fortnightly"}},
	{to: "/ month", from: []string{"monthly", "per calendar month", "per billing month"}},
	{to: "/ quarter", from: []string{"quarterly"}},
	{to: "/ year", from: []string{"yearly", "annually"}},

	// Whose a quota is.
	{from: []string{
		"per user", "per token", "per key", "per api key", "per client", "per customer", "per account", "per tenant", "and user", "and token", "and key",
	}, note: noteKey},
	{to: "overall", from: []string{"per ip", "per address", "per ip address", "per application", "per app", "and ip", "and address", "and application"}},

	// What is under way, and what has no bound.
	{to: "in flight", from: []string{
		"concurrent", "concurrently", "parallel", "simultaneous", "simultaneously", "in-flight", "in_flight", "inflight", "in flight", "in parallel",
		"at a time", "at once", "at the same time", "concurrent connections", "simultaneous connections", "parallel connections", "open connections",
	}, taken: true},
	{to: "unanswered", from: []string{"unanswered"}, taken: true},
	{to: "no limit", from: []string{"no limit", "unlimited", "none", "infinite", "infinity", "inf", "without limit"}},

	// Algorithms and clauses.
	{to: "window", from: []string{"fixed", "fixed window", "fixed-window", "fixedwindow", "from the first request"}},
	{to: "window grid", from: []string{"window grid", "grid", "calendar", "calendar window", "clock window"}},
	{to: "sliding", from: []string{"sliding window", "sliding-window", "slidingwindow"}},
	{to: "log", from: []string{"rolling", "rolling window", "sliding log", "sliding window log", "rolling log"}},
	{to: "estimate", from: []string{"sliding window counter", "estimated"}},
	{to: "burst N", from: []string{"token bucket", "token-bucket", "tokenbucket"}},
	{to: "even queue N", from: []string{"leaky bucket", "leaky-bucket", "leakybucket"}, note: noteQueue},
	{to: "even", from: []string{"evenly", "evenly spaced", "spaced evenly"}},
	{to: "burst", from: []string{"burst size", "token bucket burst"}},
	{to: "queue", from: []string{"queue size"}},
	{to: "warm-up", from: []string{"warm", "warmup", "warm up"}},
	{to: "as", from: []string{"name", "named"}},
	{to: "overall", from: []string{"over all", "in total", "altogether", "global", "globally", "in all"}},
	{to: "streamed", from: []string{"streaming", "stream", "as it flows", "as they flow", "while it flows", "of traffic"}},
	{to: "in UTC", from: []string{"utc", "in utc", "gmt", "in gmt"}},
	{to: "in America/Los_Angeles", from: []string{"pacific time", "in pacific time", "pst", "in pst"}},
	{to: "in America/New_York", from: []string{"eastern time", "in eastern time"}},
	{to: "window grid", from: []string{"reset at midnight", "resets at midnight", "resetting at midnight", "from midnight", "at midnight"}},

	// What joins quotas, and what says nothing.
	{to: ",", from: []string{"and", "&", "+", ";"}},
	{from: []string{"max", "maximum", "at most", "up to", "no more than", "not more than", "with", "of", "on", "=", ":", "(", ")", "nodelay"}},
}

// rewrites are beginnings of a quota in an order or with marks of other tools, as regular expressions in which
// case does not matter; and what stands for each, in words that phrases or Parse know. All of them are tried,
// one after the other.
var rewrites = [...]struct{ from, to string }{
	{`^(?:rate +limit|rate|limit|limited +to)\b[ :=]*`, ""}, // "rate=10r/s" of nginx
	{`^([rqt]p[smhd])\b[ :=]*(\d+)`, "$2 $1"},               // "QPS: 20"
	{`^(burst\b[ :=]*\d+) +(\d.*)`, "$2 $1"},                // "burst 20 10/s"
	{`^(?:once|one)\b`, "1"},                                // "once per second"
	{`^(?:twice|two)\b`, "2"},
	{`^every\b`, "1 every"},                                                       // "every 500ms"
	{`^(\d+)-([smhd])\b`, "$1/$2"},                                                // "20-M" of ulule/limiter
	{`^(\d+)['\x{a0}\x{202f} ](\d{3})(?:['\x{a0}\x{202f} ](\d{3}))?\b`, "$1$2$3"}, // "1 000 000/d"
}

// rewritten returns the text of a quota in the order of Parse.
func rewritten(text string) string {
	for _, r := range rewrites {
		text = regexp.MustCompile("(?i)"+r.from).ReplaceAllString(text, r.to)
	}
	return text
}

// longestPhrase is the number of words of the longest phrase.
const longestPhrase = 4

// known returns the longest phrase with which words begin, and how many words it has: none if there is no such
// phrase.
func known(words []string) (p phrase, n int) {
	for n = min(len(words), longestPhrase); n > 0; n-- {
		text := strings.ToLower(strings.Join(words[:n], " "))
		for _, p := range phrases {
			if slices.Contains(p.from, text) {
				return p, n
			}
		}
	}
	return p, 0
}

// spans are the words for spans, beside the units of time.ParseDuration. A letter is one that duration and
// period read: a word for several of a span (a fortnight) is a phrase, which is answered with the right text
// ("/ 2w").
var spans = [...]struct {
	letter string
	words  []string
}{
	{"s", []string{"sec", "secs", "second", "seconds"}},
	{"m", []string{"min", "mins", "minute", "minutes"}},
	{"h", []string{"hr", "hrs", "hour", "hours"}},
	{"d", []string{"day", "days"}},
	{"w", []string{"week", "weeks", "wk"}},
}

// calendar are the words for spans of months.
var calendar = [...]struct {
	months int
	words  []string
}{
	{1, []string{"month", "months", "mo"}},
	{3, []string{"quarter", "quarters"}},
	{12, []string{"year", "years", "yr", "y"}},
}

// weekdays are the days of the week, from that of From 1.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// multiples are the words that multiply a number.
var multiples = map[string]int64{"k": 1e3, "K": 1e3, "M": 1e6, "thousand": 1e3, "million": 1e6}

// clauses are the words with which clauses begin.
var clauses = []string{"even", "burst", "debt", "queue", "window", "sliding", "log", "estimate", "warm-up", "cold", "from", "in", "streamed", "overall", "as"}

// fieldOf has the field that each clause sets.
var fieldOf = map[string]string{
	"even": "Burst", "burst": "Burst", "debt": "Debt", "queue": "Queue", "window": "Kind", "sliding": "Kind", "log": "Kind", "estimate": "Kind",
	"warm-up": "WarmUp", "cold": "ColdFactor", "from": "From", "in": "Zone", "streamed": "Streamed", "overall": "Overall", "as": "Name",
}
