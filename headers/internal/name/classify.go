package name

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Classify says what a name says that no table knows. It is pure, so that what it returns may be
// remembered. A name that is not about limits costs no allocation.
//
// A name is a prefix, a vendor, a marker (ratelimit, rate-limit), and words of which one is the
// role, and of which the others tell the limit from others:
//
//	anthropic-ratelimit-input-tokens-remaining   remaining, "input-tokens"
//	x-ratelimit-limit-requests-day               limit, "requests-day", a day
//	x-daily-ratelimit-token-limit                limit, "daily-token", a day
//	x-ratelimit-userreset                        reset, "user"
//	x-quota-remaining                            remaining, "quota", if a limit or a reset is stated, too
//
// The methods of shape are the rules, in the order in which they are called. Which word is the role is found in
// findrole.go, and what the value counts in counts.go.
func Classify(key string) (m Meaning, ok bool) {
	var s shape
	if len(key) < minKey || len(key) > maxKey || !s.cut(key) || s.isVariable() {
		return m, false
	}
	s.findPrefix()
	s.findMarker()
	if i := s.findRetry(); i >= 0 {
		return s.retry(i)
	}
	s.findRole()
	if s.m.Role == Ignored && s.marker < 0 && !s.at(s.n-1).root || s.isPast() {
		return m, false
	}
	s.readForm()
	s.readWindow()
	s.readUnit()
	if s.isTime() || !s.isRate() {
		return m, false
	}
	s.nameLimit()
	if !s.conclude() {
		return m, false
	}
	return s.m, true
}

// shape is a name while it is read.
type shape struct {
	split
	m       Meaning
	dropped [maxWords]bool // words that do not tell the limit from others
	from    int            // the first word after http, x and beta
	marker  int            // the last word of the marker, -1 if there is none
	role    int            // the word that is the role, -1 if there is none
	windows [maxWords]bool // words that name a window
	counted [maxWords]bool // words that belong to a unit
	root    bool           // a word says that the name is about a rate
}

// isVariable reports whether a name is written with underscores alone, as only variables are: a proxy that
// takes them for hyphens must not make a limit of it. Gateways that write headers as variables leave http in
// front.
func (s *shape) isVariable() bool {
	text := s.text[:s.size]
	return bytes.IndexByte(text, '_') >= 0 && bytes.IndexByte(text, '-') < 0 && !s.is(0, "http")
}

// findPrefix finds the words with which any name may begin. Gateways that take headers for
// variables leave http in front of them.
func (s *shape) findPrefix() {
	s.marker, s.role = -1, -1
	for _, prefix := range [...]string{"http", "x", "beta"} {
		if s.is(s.from, prefix) && s.from < s.n-1 {
			s.dropped[s.from] = true
			s.m.Advisory = prefix == "beta"
			s.from++
		}
	}
	if s.is(s.from, "ms") && s.from < s.n-1 {
		s.all[s.from].word = nil // Microsoft's; a time is the last word
	}
}

// findMarker finds ratelimit and rate-limit, or else limit as the end of a word that another one
// follows (X-BurstLimit-Remaining).
func (s *shape) findMarker() {
	first := -1
	for i := s.n - 1; i >= s.from; i-- {
		w := s.at(i)
		s.root = s.root || w.root
		switch {
		case w.marker:
			first, s.marker = i, i
		case s.is(i, "rate") && s.is(i+1, "limit"):
			first, s.marker, s.root = i, i+1, true
		case s.marker < 0 && s.is(i, "limit") && s.fused(i) && i+1 < s.n && s.at(i+1).role != Ignored:
			first, s.marker = i, i
		}
	}
	if s.marker >= 0 {
		s.dropped[first], s.dropped[s.marker] = true, true
		s.m.Unit = s.at(s.marker).unit
		s.readVendor(first)
	}
}

// readVendor leaves the vendor, which precedes the marker, out of the name of the limit, but for words
// that tell limits apart: windows, units, numbers with what they number (X-AI-1-RateLimit-Limit), the rest of
// the word of the marker (X-SearchRateLimit-Limit), and whose the limit is if there is no vendor
// (X-App-Rate-Limit-Limit).
func (s *shape) readVendor(end int) {
	scoped := true
	for i := s.from; i < end; i++ {
		scoped = scoped && s.at(i).scope
	}
	part := s.marker == end // of the word of the marker
	for i := end - 1; i >= s.from; i-- {
		part = part && s.fused(i+1)
		w := s.at(i)
		switch {
		case part, scoped:
		case s.is(i, "ai"):
			s.m.Unit, s.dropped[i] = w.unit, true
		case i > s.from && s.isNumber(i):
			i-- // and what it numbers
		case !w.period && w.unit == "":
			s.dropped[i] = true
		}
	}
}

// isPast reports whether a word says that the value is not the one of now: the limit before, the last reset.
func (s *shape) isPast() bool {
	for i := s.from; i < s.n; i++ {
		if next := s.at(i + 1); s.at(i).past && next != &unknown && !next.period { // used in the last hour
			return true
		}
	}
	return false
}

// isTime reports whether a count is one of time: X-RateLimit-Remaining-Seconds does not say until what,
// and x-ms-ratelimit-time-remaining-xrm-requests is the time that requests may take.
func (s *shape) isTime() bool {
	if !s.m.Role.Counts() {
		return false
	}
	for i := s.from; i < s.n; i++ {
		w := s.at(i)
		switch {
		case s.dropped[i] || s.windows[i] || s.counted[i] || s.is(i, "time") && s.is(i-1, "real"):
		case w.time, w.role == Reset && i < s.role: // the time that remains to a reset
			return true
		case i == s.role+1 && s.tells(i): // used-at
			return true
		}
	}
	return false
}

// isRate reports whether what is counted may come back with time. Pages of a list and seats do not,
// unless the name speaks of a rate or of a window. Where the answer asks to come back later, they may.
func (s *shape) isRate() bool {
	if s.root || s.m.Window > 0 || s.m.Long {
		return !s.m.Role.Counts() || s.m.Window > 0 || !s.isBound()
	}
	for i := s.from; i < s.n; i++ {
		w := s.at(i)
		if w.unit == value.Bytes && s.marker < 0 {
			return false
		}
		s.m.Doubtful = s.m.Doubtful || w.negative
	}
	return true
}

// isBound reports whether what is counted is how large one request may be, or how often it is sent:
// X-RateLimit-Max-Body-Size, X-RateLimit-Max-Retries.
func (s *shape) isBound() bool {
	for i := s.marker + 1; i < s.n; i++ {
		if s.at(i).bound {
			return true
		}
	}
	return false
}

// nameLimit makes a name of the limit of the words that are left. Limit is none of them, and quota
// only if there is no other.
func (s *shape) nameLimit() {
	quota, others := -1, false
	for i := s.from; i < s.n; i++ {
		switch {
		case s.dropped[i]:
		case s.is(i, "limit"), s.is(i, "limits"), i+1 < s.n && (s.is(i, "per") || s.is(i, "this")):
			s.dropped[i] = true
		case s.is(i, "quota") && quota < 0:
			quota = i
		default:
			others = true
		}
	}
	if quota >= 0 && others {
		s.dropped[quota] = true
	}
	s.m.Name = s.join(s.from)
	s.m.Group = strings.ReplaceAll(s.m.Name, "_", "-")
	if strings.HasSuffix(s.m.Group, "request") {
		s.m.Group += "s" // requestLimit beside requestsRemaining
	}
	if s.marker >= 0 {
		s.m.Family = s.family()
	}
	switch {
	case s.m.Group == "":
	case s.m.Unit == value.Requests:
		s.m.place = 1
	default:
		s.m.place = 2
	}
}

// join returns the words that are left, as they are written.
func (s *shape) join(from int) string {
	first, last, gap := -1, -1, false
	size := 0
	for i := from; i < s.n; i++ {
		if s.dropped[i] {
			continue
		}
		gap = gap || last >= 0 && last != i-1
		if first < 0 {
			first = i
		}
		last = i
		size += len(s.bytes(i)) + 1
	}
	if first < 0 {
		return ""
	}
	if !gap {
		return value.CleanName(string(s.text[s.all[first].start:s.all[last].end]))
	}
	var b strings.Builder
	b.Grow(size)
	for i := first; i <= last; i++ {
		if !s.dropped[i] {
			if i > first {
				b.WriteByte('-')
			}
			b.Write(s.bytes(i))
		}
	}
	return value.CleanName(b.String())
}

// family returns what the name begins with, to the end of the marker. A limit at the end of a word is
// not part of it.
func (s *shape) family() string {
	start, end := 0, s.all[s.marker].end
	if s.is(0, "http") && s.from > 0 {
		start = s.all[1].start
	}
	if s.is(s.marker, "limit") && !s.is(s.marker-1, "rate") {
		i := s.marker
		for i > 0 && s.fused(i) {
			i--
		}
		end = max(s.all[i].start-1, start)
	}
	return strings.ReplaceAll(string(s.text[start:end]), "_", "-")
}

// conclude concludes what the words leave open, and reports whether the name is about a limit.
func (s *shape) conclude() bool {
	m := &s.m
	if s.marker < 0 {
		return s.concludeWeak()
	}
	m.rank = rankOf(m.Family)
	m.Doubtful = m.Doubtful || s.maySecondsRemain()
	switch m.Role {
	case Ignored:
		switch {
		case m.Group == "":
			m.Role = State
		case m.Window > 0 && s.onlyWindows():
			m.Role, m.Form = Limit, Keys // X-Vendor-RateLimit-Daily: 1000, or 1/1000
		default:
			m.Role, m.Form = Text, Keys
		}
	case Kind:
		m.Name, m.Group, m.place = "", "", 0
	case Label:
		m.Name = ""
	}
	return true
}

// concludeWeak concludes a name without a marker. X-Limit belongs to a page, not to a rate, and a quota of
// bytes to a disk.
func (s *shape) concludeWeak() bool {
	m := &s.m
	m.Family, m.rank, m.Weak = m.Group, lastRank, true
	switch {
	case m.Role == Ignored && s.at(s.n-1).root: // X-Fb-Ads-Insights-Throttle
		m.Role, m.Form = Text, Keys
	case !m.Role.Counts() && m.Role != Reset && m.Role != Window && m.Role != TimeUnit:
		return false
	case m.Group == "" && s.at(s.role).role == Limit && s.is(s.role, "quota"):
		m.Group, m.Name = "quota", "quota" // X-Quota beside X-Quota-Remaining
	case m.Group == "" && s.is(s.from, "limit") && s.role > s.from:
		m.Family = "limit" // X-Limit-Remaining
	}
	m.Weak = m.Doubtful || !s.isConcurrency() && (m.Role != Remaining || !s.isOfRequests())
	if s.is(s.from, "quota") {
		m.Family = "quota" // whose limits may share a reset
	}
	m.Family = cmp.Or(m.Family, m.Group)
	return m.Family != ""
}

// isConcurrency reports whether a name is X-Concurrency-Limit, of which nothing has to be left.
func (s *shape) isConcurrency() bool {
	return s.m.Role == Limit && s.m.Unit == value.Concurrent && s.role == s.n-1 && s.role == s.from+1
}

// isOfRequests reports whether what is left is of requests though no marker says so: requests that are left are
// what they are called, as is what is left of an API, and of a quota in a window.
func (s *shape) isOfRequests() bool {
	return s.m.Unit == value.Requests || s.has("api") || s.m.Unit == "" && s.m.Window > 0 && s.has("quota")
}

// has reports whether a word is one of the name.
func (s *shape) has(word string) bool {
	for i := s.from; i < s.n; i++ {
		if s.is(i, word) {
			return true
		}
	}
	return false
}

// onlyWindows reports whether the words that are left are windows.
func (s *shape) onlyWindows() bool {
	for i := s.from; i < s.n; i++ {
		if !s.dropped[i] && !s.windows[i] && !s.isNumber(i) {
			return false
		}
	}
	return true
}
