package headers

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MaxBody is how much of a body ParseBody reads at most, in bytes. Errors that say
// something about limits are a few kilobytes long. Shopify says it after the data, so
// that it is not seen at the end of a longer answer.
const MaxBody = 64 << 10

// ParseBody is Parse for a response of whose body the beginning is known as well. Some
// services say only there what other ones say in headers:
//
//   - how long to wait: Google (google.rpc.RetryInfo), Discord, Telegram, Dropbox, and
//     Shopify's GraphQL API, whose points it follows from;
//   - which limits are used up: Google (google.rpc.QuotaFailure and ErrorInfo), Discord's
//     global one, the policies that a problem of the IETF draft names, Shopify's points;
//   - the Cause: those, and OpenAI, Anthropic, Stripe, Linear, GitHub's GraphQL API,
//     HubSpot, X, AWS, Slack, Kraken, Bybit, Feishu, Google Maps.
//
// The body may be cut anywhere: what is not complete says nothing. A limit that is said
// to be exceeded has a Remaining of zero, although a small rest may be left of it.
func ParseBody(h http.Header, prefix []byte, received time.Time) Facts {
	return parseBody(h, prefix, received, nil)
}

func parseBody(h http.Header, prefix []byte, received time.Time, own *table) Facts {
	var b *bodyFacts
	if BodyTells(h) {
		b = readBody(prefix)
	}
	limits, retry := read(nil, h, received, own, b)
	return Facts{Limits: limits, Retry: retry}
}

// BodyTells reports whether a body that comes with h may say anything to ParseBody, so
// that it is worth reading: whether it is JSON, and not compressed.
func BodyTells(h http.Header) bool {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return false
	}
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.Contains(strings.ToLower(media), "json")
}

// bodyFacts is what a body says.
type bodyFacts struct {
	limits []bodyLimit
	delay  delay
	cause  Cause

	quota    bodyLimit // that is being read
	problem  bool      // the body is a problem of the IETF draft
	violated []string  // the policies that it names
	global   bool      // Discord's limit is that of all routes

	// Points of a GraphQL API.
	maximum, available Count
	rate, cost         number // points that are restored in a second, and that the request costs
}

// bodyLimit is a limit that a body states.
type bodyLimit struct {
	Limit
	long bool
}

func readBody(prefix []byte) *bodyFacts {
	b := &bodyFacts{}
	s := scanner{text: prefix[:min(len(prefix), MaxBody)], wants: wanted, visit: b.visit}
	s.value(make([]byte, 0, maxPath))
	b.finish()
	return b
}

// unwrapped returns a path without the array in which Google wraps what it streams.
func unwrapped(path []byte) []byte { return bytes.TrimPrefix(path, []byte("*/")) }

func wanted(path []byte) bool { return bodyTree[string(unwrapped(path))] || string(path) == "*" }

// visit reads a value. A nil one begins an element of an array.
func (b *bodyFacts) visit(path, value []byte) {
	read := bodyPaths[string(unwrapped(path))]
	switch {
	case value == nil:
		b.endQuota()
	case read != nil && len(value) <= 4*maxNumber:
		read(b, string(value))
	}
}

// seconds reads a delay that is a number.
func (b *bodyFacts) seconds(value string) {
	if n, ok := parseNumber(value); ok {
		d, step := n.duration(time.Second, MaxRetryAfter)
		b.delay = b.delay.longer(delay{d, step, true})
	}
}

// duration reads a delay as Protocol Buffers write it in JSON: "34.074824224s".
func (b *bodyFacts) duration(value string) {
	if d, step, ok := parseDuration(value, MaxRetryAfter); ok {
		b.delay = b.delay.longer(delay{d, step, true})
	}
}

// because notes a cause.
func (b *bodyFacts) because(c Cause) { b.cause = max(b.cause, c) }

// problemType reads the type of a problem (RFC 9457).
func (b *bodyFacts) problemType(value string) {
	base, kind, _ := strings.Cut(value, "#")
	if _, ok := ietfProblems[kind]; ok && strings.HasSuffix(base, "iana.org/assignments/http-problem-types") {
		b.problem = true
		b.because(ietfProblems[kind])
	}
	if strings.HasSuffix(value, "/2/problems/usage-capped") {
		b.because(Spent) // X's monthly cap
	}
}

func (b *bodyFacts) violatedPolicy(value string) {
	if name := cleanName(value); name != "" && len(b.violated) < maxMembers {
		b.violated = append(b.violated, name)
	}
}

// quotaName reads the name of a quota of Google, which says of what and of which window it
// is: "GenerateRequestsPerDayPerProjectPerModel-FreeTier".
func (b *bodyFacts) quotaName(value string) {
	q := &b.quota
	q.Name = cleanName(value)
	words := camelWords(value)
	for i, w := range words {
		if u := unitOf[w]; u != "" && q.Unit == "" {
			q.Unit = u
		}
		if i > 0 && words[i-1] == "per" {
			q.window(w)
		}
	}
}

func (b *bodyFacts) quotaValue(value string) { b.quota.Limit.Limit = parseCount(value) }

// quotaUnit reads the unit of a quota of Google: "1/min/{project}", "1/d/{project}".
func (b *bodyFacts) quotaUnit(value string) {
	if _, rest, ok := strings.Cut(value, "/"); ok {
		w, _, _ := strings.Cut(rest, "/")
		b.quota.window(map[string]string{"s": "second", "min": "minute", "h": "hour", "d": "day"}[w])
	}
}

func (l *bodyLimit) window(word string) {
	if p, ok := windowOf(word); ok {
		l.Window, l.long = cmp.Or(p, l.Window), p == 0
	}
}

// endQuota ends the quota that is being read, which is exceeded.
func (b *bodyFacts) endQuota() {
	q := b.quota
	b.quota = bodyLimit{}
	switch {
	case q.Limit.Limit.Known && q.Limit.Limit.N == 0:
		b.because(Spent) // there is none, and no waiting helps
	case q.Name != "":
		q.Remaining = Count{0, true}
		b.add(q)
	}
}

// add adds a limit unless one of that name is known.
func (b *bodyFacts) add(l bodyLimit) {
	if len(b.limits) < maxMembers && !slices.ContainsFunc(b.limits, func(o bodyLimit) bool { return o.Name == l.Name }) {
		l.Unit = unitOr(l.Unit)
		b.limits = append(b.limits, l)
	}
}

// finish concludes what follows from several values, in whichever order they came.
func (b *bodyFacts) finish() {
	b.endQuota()
	if b.problem {
		for _, name := range b.violated {
			b.add(bodyLimit{Limit: Limit{Name: name, Remaining: Count{0, true}}})
		}
	}
	if b.global && b.delay.known {
		l := Limit{Name: "global", Remaining: Count{0, true}}
		l.Reset.delay(b.delay.after, b.delay.step)
		b.add(bodyLimit{Limit: l})
	}
	b.points()
}

// points concludes what points and the rate at which they are restored say: when all of
// them are back, and when there are enough for a request that was throttled.
func (b *bodyFacts) points() {
	l := Limit{Name: "cost", Unit: "points", Limit: b.maximum, Remaining: b.available}
	rate := b.rate.float()
	if rate > 0 && l.Limit.Known && l.Remaining.Known {
		step := max(fromSeconds(1/rate), 1)
		l.Window = min(fromSeconds(float64(l.Limit.N)/rate), maxWindow)
		l.Reset.delay(fromSeconds(float64(l.Limit.N-l.Remaining.N)/rate), step)
		if missing := b.cost.float() - float64(l.Remaining.N); missing > 0 && b.cause == TooFast {
			b.delay = b.delay.longer(delay{min(fromSeconds(missing/rate), MaxRetryAfter), step, true})
		}
	}
	if complete(&l, Count{}) {
		b.add(bodyLimit{Limit: l})
	}
}

// fromSeconds converts seconds to a duration of at most the longest reset.
func fromSeconds(s float64) time.Duration {
	return time.Duration(max(min(s, longest.Seconds()), 0) * float64(time.Second))
}

// camelWords takes a name such as ReadRequestsPerMinute apart into lower-case words, 32 at
// most.
func camelWords(name string) []string {
	var words []string
	start := 0
	for i := 1; i <= len(name) && len(words) < maxMembers; i++ {
		if i == len(name) || isUpper(name[i]) && !isUpper(name[i-1]) || name[i] == '-' {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "-")))
			start = i
		}
	}
	return words
}

func isUpper(c byte) bool { return c-'A' < 26 }
