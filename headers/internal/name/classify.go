package name

import (
	"bytes"
	"cmp"
	"strings"
	"time"

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
// The methods of shape are the rules, in the order in which they are called.
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

// isVariable reports whether a name is written with underscores alone, as only variables are: a proxy that takes them
// for hyphens must not make a limit of it. Gateways that write headers as variables leave http in front.
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

// findRetry returns the word that says that the value is a hint to try again, or -1.
func (s *shape) findRetry() int {
	for i := s.from; i < s.n; i++ {
		switch {
		case s.at(i).alone && (i != s.marker+1 || !s.endsInTime(i+1)): // the delay of what?
		case s.is(i, "retryafter"), s.is(i, "retry"), s.at(i).role == Retry && (s.marker >= 0 || s.at(i-1).root):
			return i
		case s.is(i, "backoff") && (i == s.from || i == s.marker+1) && s.endsWith(i+1): // Zotero, and no X-Max-Backoff
			return i
		}
	}
	return -1
}

// endsInTime reports whether nothing follows but what a number counts.
func (s *shape) endsInTime(i int) bool {
	for ; i < s.n; i++ {
		if !s.isTimeWord(i) && !s.is(i, "in") && !s.is(i, "sec") {
			return false
		}
	}
	return true
}

// retry concludes the meaning of a hint to try again.
func (s *shape) retry(i int) (Meaning, bool) {
	if s.m.Advisory || s.is(i, "retry") && !s.is(i+1, "after") && !s.is(i+1, "in") || !s.isHint(i) {
		return Meaning{}, false
	}
	return Meaning{Role: Retry, rank: lastRank, Step: s.at(s.n - 1).step, MayBeIdle: s.at(i).role == Retry || s.is(i, "backoff"), Alone: s.at(i).alone}, true
}

// isHint reports whether the words around retry-after leave a time of it: a maximum is one of all hints (X-Max-Retry-
// After), and a count, a flag or a state is no time (X-Retry-In-Progress). A limit may be named (Retry-After-Short).
func (s *shape) isHint(i int) bool {
	if before := s.at(i - 1); before.pair || before.past || s.is(i-1, "min") || s.is(i-1, "default") {
		return false
	}
	in := s.is(i, "retry") && s.is(i+1, "in")
	for i++; i < s.n; i++ {
		if w := s.at(i); w.role == Used || w.pair || w.bound || w.negative || in && w == &unknown {
			return false
		}
	}
	return true
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

// findRole finds the role, which is the last word for one: an earlier one belongs to the name of the
// limit. Words that name the limit by their value are a role only where nothing else is.
func (s *shape) findRole() {
	label := -1
	for i := max(s.from, s.marker+1); i < s.n; i++ {
		switch s.at(i).role {
		case Ignored, Retry:
		case Label, Kind, Policy:
			if label < 0 {
				label = i
			}
		default:
			s.takeRole(i)
		}
	}
	if s.role < 0 {
		s.role = label
	}
	before := s.marker - 1
	if s.is(before, "rate") {
		before--
	}
	if s.role < 0 && s.marker >= 0 && s.at(before).role.Counts() {
		s.role = before // X-Remaining-RateLimit
	}
	if s.role < 0 || s.isTimeRemaining() || s.isNextAvailable() {
		return
	}
	w := s.at(s.role)
	s.m.Role, s.m.order, s.m.Pair, s.dropped[s.role] = w.role, w.order, w.pair, true
	if w.unit != "" && w.role == Used {
		s.m.Unit = w.unit
	}
}

// takeRole makes a word the role, unless it belongs to another word. What is left of something, or used of it, is that
// whether the word for it comes first or last: remaining-quota, quota-remaining.
func (s *shape) takeRole(i int) {
	w := s.at(i)
	switch {
	case s.is(i+1, "based"): // tokens_usage_based
	case s.is(i, "count") && s.role >= 0 && s.role == i-1 && s.at(s.role).counted: // allowed-count, used-count
		s.dropped[i] = true
	case w.last && !s.endsWith(i+1), s.is(i, "level") && !s.is(i-1, "bucket"):
	case w.role == Rate:
		if s.role < 0 && (i == s.n-1 || s.is(i+1, "rate")) {
			s.role, s.dropped[min(i+1, s.n-1)] = i, true
		}
	case s.belongs(i):
		s.dropped[i] = true
	default:
		s.role = i
	}
}

// belongs reports whether a word for a limit, or for usage, is what the role before it is of: remaining-quota,
// remaining-concurrent-usage.
func (s *shape) belongs(i int) bool {
	if !s.at(s.role).of {
		return false
	}
	return s.at(i).role == Limit && s.role == i-1 || s.is(i, "usage") && (s.role == i-1 || s.role == i-2 && s.at(i-1).unit != "")
}

// isTimeRemaining reads a time that remains: time-left, seconds-remaining, msec-left, remaining-time-in-seconds. Nobody
// says until what, unless the answer says as well when to try again, or what is left: but whoever counts milliseconds
// behind the marker waits.
func (s *shape) isTimeRemaining() bool {
	if s.at(s.role).role != Remaining {
		return false
	}
	first, last := s.role-1, s.role-1 // the time
	if s.role < s.n-1 {
		first, last = s.role+1, s.n-1
	}
	for i := first; i <= last; i++ {
		if !s.isTimeWord(i) && (i == first || !s.is(i, "in")) {
			return false
		}
	}
	behind := s.marker >= 0 && min(first, s.role) == s.marker+1 // video-seconds-remaining are of a video
	if !behind && (s.role < s.n-1 || !s.is(first, "time") || s.is(first-1, "real")) {
		return false
	}
	s.m.Role, s.m.Form, s.m.Step, s.m.Doubtful = Reset, Seconds, s.at(last).step, true
	if s.m.Step > 0 {
		s.m.Form, s.m.Doubtful = Auto, last > s.role
	}
	for i := min(first, s.role); i < s.n; i++ {
		s.dropped[i] = true
	}
	s.role = s.n - 1
	return true
}

// isTimeWord reports whether a word says that a number counts seconds or less, and is no window.
func (s *shape) isTimeWord(i int) bool {
	w := s.at(i)
	return w.time && !w.period && w.step < time.Second && !s.is(i, "since")
}

// maySecondsRemain reports whether the name is that of remaining-sec: seconds, or what remains of those of a second.
func (s *shape) maySecondsRemain() bool {
	return s.m.Role == Remaining && s.marker >= 0 && s.role == s.marker+1 && s.role == s.n-2 && s.is(s.n-1, "sec")
}

// isNextAvailable reads when there is something again: next-available, available-at, available-in.
func (s *shape) isNextAvailable() bool {
	next := s.is(s.role-1, "next")
	if !s.is(s.role, "available") || !next && !s.tells(s.role+1) {
		return false
	}
	s.m.Role, s.dropped[s.role] = Reset, true
	if next {
		s.dropped[s.role-1] = true
	}
	return true
}

// tells reports whether a word says how a time is written, and is no window.
func (s *shape) tells(i int) bool {
	return s.at(i).form != Auto && !s.at(i).period && !s.at(i+1).period
}

// endsWith reports whether nothing follows but what says how something is counted.
func (s *shape) endsWith(i int) bool {
	for ; i < s.n; i++ {
		if w := s.at(i); w.unit == "" && !w.period && w.form == Auto && w.step == 0 && !s.isNumber(i) && !s.is(i, "per") {
			return false
		}
	}
	return true
}

// readForm reads how a reset and a window are written, as the words after them say, and the words before them.
func (s *shape) readForm() {
	if s.m.Role != Reset && s.m.Role != Window && s.m.Role != TimeUnit {
		return
	}
	s.m.Form = cmp.Or(s.m.Form, s.at(s.role).form)
	for i := s.role + 1; i < s.n; i++ {
		w := s.at(i)
		switch {
		case w.form == Instant || (w.form != Auto || w.step > 0) && !s.isNumber(i-1):
			s.m.written(w)
			s.dropped[i] = true
		case s.m.Role == Window && i == s.role+1 && (s.is(i, "length") || s.is(i, "size")):
			s.dropped[i] = true // interval-length-seconds
		}
	}
	for i := s.role - 1; i > s.marker && i >= s.from && s.qualifies(i); i-- {
		s.dropped[i] = true
	}
}

// qualifies reports whether a word before a reset or a window belongs to it: time-to-reset, seconds-until-reset,
// remaining-ttl, refresh-period.
func (s *shape) qualifies(i int) bool {
	switch {
	case s.is(i, "to"), s.is(i, "until"), s.is(i, "till"), s.is(i, "seconds"):
		if s.m.Form == Auto && s.m.Step == 0 {
			s.m.Form = Seconds
		}
		return true
	case s.is(i, "time"):
		return true
	case s.m.Role == Reset:
		return s.at(i).role == Remaining || s.is(i, "next")
	}
	return s.is(i, "refresh") || s.is(i, "renewal")
}

// written notes what a word says of how the value is written.
func (m *Meaning) written(w *word) {
	m.Form, m.Step = w.form, w.step
}

// readWindow reads the window that the name has: day, daily, 15min, 10-second, and 3min at the end of
// a word (highcostget3min).
func (s *shape) readWindow() {
	for i := s.from; i < s.n; i++ {
		if s.dropped[i] {
			continue
		}
		w := s.at(i)
		if s.isNumber(i-1) && (w.period || w.step > 0 || s.is(i, "seconds")) {
			if d, ok := value.WindowOf(string(s.bytes(i-1)) + string(s.bytes(i))); ok {
				s.m.Window, s.windows[i] = d, true
			}
			continue
		}
		if n := s.fourths(i); n != 0 && (w.period || w.step > 0 || s.is(i, "seconds")) {
			s.m.Window, s.windows[i] = value.Multiplied(cmp.Or(w.window, w.step, time.Second), n), true
			if w.period && w.window == 0 {
				s.m.Window = 0
			}
			continue
		}
		if w.period {
			s.windows[i], s.m.Long = true, s.m.Long || w.window == 0
			if w.window > 0 {
				s.m.Window = w.window
			}
		} else if s.all[i].word == nil {
			if d := value.WindowAtEnd(string(s.bytes(i))); d > 0 {
				s.m.Window, s.windows[i] = d, true
			}
		}
	}
}

// fourths returns by how many fourths the words before a window multiply it: five, forty-eight, half. It is
// zero if they are no numbers, and -1 if the number is not known.
func (s *shape) fourths(i int) int {
	n := s.at(i - 1).fourths
	if n > 0 && s.endsIn(i, "ly") {
		return 0 // tier-two-daily
	}
	if n > 0 && (s.is(i-2, "tier") || s.is(i-2, "level") || s.is(i-2, "plan") || s.is(i-2, "phase")) {
		return -1 // two minutes, or a minute of tier two
	}
	switch before := s.at(i - 2).fourths; {
	case n <= 0 || i-2 < s.from || before == 0:
		return n
	case before >= 80 && n >= 4 && n < 40:
		return before + n // forty-eight
	}
	return -1
}

// endsIn reports whether the word at position i ends in some letters.
func (s *shape) endsIn(i int, letters string) bool {
	return bytes.HasSuffix(s.bytes(i), []byte(letters))
}

// readUnit reads what is counted. A token that belongs to a credential is no unit.
func (s *shape) readUnit() {
	singular := ""
	for i := s.from; i < s.n; i++ {
		w := s.at(i)
		unit := w.unit
		switch {
		case s.dropped[i], s.is(i, "ai") && i >= s.marker: // a unit in front of a marker alone
			continue
		case w.singular:
			singular = cmp.Or(singular, unit)
			continue
		case s.is(i, "audio") && s.is(i+1, "seconds"):
			unit, s.counted[i+1] = "audio-seconds", true
		case unit == "tokens" && s.at(i-1).mine:
			continue
		case unit == "percent" && s.m.Role == Used:
			s.m.Total, s.m.Unit, s.dropped[i] = 100, unit, true
		}
		if s.m.Unit == "" || unit == value.Concurrent {
			s.m.Unit = unit // how many at the same time, of whatever it is
		}
	}
	s.m.Unit = cmp.Or(s.m.Unit, singular)
	if s.m.Role.Counts() && s.m.Unit != value.Concurrent && bytes.Contains(s.text[:s.size], []byte("concurren")) {
		s.m.Unit = value.Concurrent
	}
	if s.m.Unit == "" && s.m.Window > 0 && s.marker >= 0 && s.m.Role.Counts() {
		s.readOwnUnit()
	}
}

// readOwnUnit reads a unit of a service's own: a plural beside a window and nothing else (Kong's videos-minute). A
// scope is none, nor is an abbreviation, which may stand for anything.
func (s *shape) readOwnUnit() {
	unit := -1
	for i := s.from; i < s.n; i++ {
		switch {
		case s.dropped[i] || s.windows[i]:
		case i < s.marker || unit >= 0 || s.all[i].word != nil || !s.isPlural(i):
			return
		default:
			unit = i
		}
	}
	if unit >= 0 {
		s.m.Unit = string(s.bytes(unit))
	}
}

// isPlural reports whether the word at position i is one, and no abbreviation.
func (s *shape) isPlural(i int) bool {
	w := s.bytes(i)
	return len(w) > 3 && w[len(w)-1] == 's' && w[len(w)-2] != 's'
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

// isConcurrency reports whether a name is X-Concurrency-Limit, of which nothing has to be left.
func (s *shape) isConcurrency() bool {
	return s.m.Role == Limit && s.m.Unit == value.Concurrent && s.role == s.n-1 && s.role == s.from+1
}

// isOfRequests reports whether what is left is of requests though no marker says so: requests that are left are what
// they are called, as is what is left of an API, and of a quota in a window.
func (s *shape) isOfRequests() bool {
	return s.m.Unit == value.Requests || s.has("api") || s.m.Unit == "" && s.m.Window > 0 && s.has("quota")
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
