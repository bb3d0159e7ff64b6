package headers

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// inWords reports whether the value of a header is neither a number nor a time, but words with numbers.
func inWords(f *found) bool {
	v := f.values[0]
	if v == "" || len(v) > value.MaxField {
		return false
	}
	digit := value.IsDigit(v[0])
	switch f.Role {
	case name.Limit, name.Remaining, name.Used:
		if digit {
			// "3/2000", and no "150/15m", which a limit may be.
			_, _, ok := ratio(v)
			return ok
		}
		return strings.ContainsAny(v, "=:;")
	case name.Reset:
		return !digit && strings.ContainsAny(v, "=;")
	}
	return false
}

// appendWords appends the limits of a group whose values are words and numbers. This is the grammar:
//
//	value     = statement *( ( "," / ";" / " " ) statement )
//	statement = [ key ( ":" / "=" ) ] ( number / number "/" number / number "/" window / duration / instant / name )
//	          / name ";" number
//	key       = words of a role, of a window, or a name: "Remaining", "Time until reset", "user-hour-lim", "min"
//
// Of "burst:100;rate:10", a bucket and what is added to it, nobody says in which time, so that it says nothing.
//
// A comma ends what is said of one limit, unless that was no more than a name. A number without a role has that
// of the header. What several headers say under one name is about one limit.
func appendWords(limits []Limit, g []found, c *value.Clock) []Limit {
	r := wordReader{c: *c}
	for i := range g {
		f := &g[i]
		if f.Role == name.Label || f.Role == name.Window || f.Role == name.Policy {
			continue
		}
		r.f = *f
		r.count, r.name, r.window, r.labels = 0, "", "", false
		size := 0
		for _, v := range f.values[:min(len(f.values), value.MaxMembers)] {
			if size += len(v); size > value.MaxField {
				break
			}
			n := len(r.limits)
			r.rated = false
			if !r.object(v) {
				r.read(v)
			}
			if r.rated && f.Role == name.Limit {
				r.limits = r.limits[:n]
			}
		}
	}
	for i := range r.limits {
		w := &r.limits[i]
		if w.conclude() && w.believed(g[0].Meaning, w.gone.Known) {
			limits = append(limits, w.Limit)
		}
	}
	return limits
}

// worded is a limit while its words are read.
type worded struct {
	Limit
	gone    Count
	limited bool
}

func (w *worded) conclude() bool {
	if w.limited && !w.Limit.Limit.Known {
		w.gone = Count{} // how much there is in all is not to be concluded
	}
	return complete(&w.Limit, w.gone) && (w.Remaining.Known || w.Limit.Limit.Known)
}

// maxStatements bounds how much one header may say: a limit has a name, a window, a reset and three numbers at
// most.
const maxStatements = 6 * value.MaxMembers

// wordReader reads values in words.
type wordReader struct {
	c      value.Clock // a copy, so that that of the answer stays on the stack
	f      found
	limits []worded
	name   string // of the limit that is being read; empty if it has none yet
	window string // the words for a window that the label is
	count  int    // of the statements of a header
	labels bool   // nothing but a name was read since the last comma
	rated  bool   // the value says how much is added over time: it describes a bucket, and not limits of their own
}

// read reads one line of a list, which goes on in the next one.
func (r *wordReader) read(v string) {
	members := 0
	for v != "" && members < value.MaxMembers {
		var member string
		member, v = cutMember(v)
		members++
		if !r.labels {
			r.name, r.window = "", ""
		}
		r.labels = false
		for member != "" && members < 2*value.MaxMembers {
			var part string
			part, member, _ = strings.Cut(member, ";")
			members++
			r.part(value.Trim(part))
		}
	}
}

// object reads an object of JSON whose members are statements, names first:
// {"name":"GET","period":300,"limit":1000, "remaining":999}. It reports whether the value is one.
func (r *wordReader) object(v string) bool {
	if !strings.HasPrefix(v, "{") {
		return false
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(v), &all) != nil {
		return true
	}
	r.name, r.window = "", ""
	keys := slices.Sorted(maps.Keys(all))
	for _, labels := range [...]bool{true, false} {
		for _, key := range keys {
			text := value.Trim(string(all[key]))
			if !labels && strings.HasPrefix(text, "{") && name.Key(key).Role.Counts() {
				r.members(key, text)
			}
			if (name.RoleOfKey(key) == name.Label) == labels && len(text) <= 2*value.MaxNumber && !strings.HasPrefix(text, "{") && len(key) <= value.MaxName {
				r.statement(key, text)
			}
		}
	}
	return true
}

// members reads an object with a number for each of several limits, of the role that its key has:
// {"limits":{"minute":5, "hour":200},"used":{"minute":1,"hour":3}}.
func (r *wordReader) members(role, text string) {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if text := string(all[key]); len(text) <= value.MaxNumber && len(key)+len(role) < value.MaxName {
			r.statement(key+"-"+role, text)
		}
	}
}

// cutMember cuts a text after what is said of one limit. A comma in a date, which is behind the name of a day,
// ends nothing.
func cutMember(v string) (member, rest string) {
	for i := 0; i < len(v); i++ {
		if v[i] == ',' && (i < 3 || !isDay(v[i-3:i]) || i+1 == len(v) || v[i+1] != ' ') {
			return v[:i], v[i+1:]
		}
	}
	return v, ""
}

// isDay reports whether a text is a day of the week.
func isDay(s string) bool {
	switch s {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}

// part reads what stands between two semicolons: statements, each of which may have a key. The words after a
// value belong to the key of the next one.
func (r *wordReader) part(s string) {
	key := ""
	var buf [16]string
	words := buf[:0]
	for s = strings.TrimLeft(s, " \t"); s != "" && len(words) < cap(buf); {
		var word string
		word, s = cutWord(s)
		k, v, ok := cutKey(word)
		if !ok {
			words = append(words, word)
			continue
		}
		words = r.values(key, words)
		key = strings.Join(append(words, k), " ")
		words = buf[:0]
		if v = value.Trim(v); v != "" {
			words = append(words, v)
		}
	}
	if key != "" && len(words) > 1 && strings.HasSuffix(words[0], ",") {
		r.statement(key, strings.Join(words, " ")) // a date
		return
	}
	for _, word := range r.values(key, words) {
		r.statement("", word)
	}
}

// values reads the values that the words after a key begin with, and returns the words that are left.
func (r *wordReader) values(key string, words []string) []string {
	for {
		n := valueWords(words, key != "")
		r.statement(key, strings.Join(words[:n], " "))
		if n == 0 {
			return words
		}
		key, words = "", words[n:]
	}
}

// cutWord cuts a text after its first word. What is in quotes is part of one, and "39 / 40" is one.
func cutWord(s string) (word, rest string) {
	quoted, numeric := false, s != "" && value.IsDigit(s[0])
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case (s[i] == ' ' || s[i] == '\t') && !quoted:
			rest = strings.TrimLeft(s[i:], " \t")
			if !numeric || s[i-1] != '/' && !strings.HasPrefix(rest, "/") {
				return s[:i], rest
			}
			i = len(s) - len(rest) - 1 // all blanks at once: a server may send thousands
		}
	}
	return s, ""
}

// cutKey cuts a word at the colon or the equals sign after its key. A clock, an instant and a URL have colons,
// too.
func cutKey(word string) (key, v string, ok bool) {
	i := strings.IndexAny(word, ":=")
	if i <= 0 || i > value.MaxName || !isLetter(word[0]) || strings.HasPrefix(word[i:], "://") {
		return "", "", false
	}
	return word[:i], word[i+1:], true
}

func isLetter(b byte) bool { return (b|0x20)-'a' < 26 }

// valueWords returns how many of the words are a value, and do not belong to the key that follows: a number and
// its unit, or one word where there is a key.
func valueWords(words []string, keyed bool) int {
	if len(words) == 0 || !keyed && !value.IsDigit(words[0][0]) {
		return 0
	}
	if len(words) > 2 && strings.EqualFold(words[1], "of") {
		return 3 // 3 of 2000
	}
	if len(words) > 1 {
		if _, _, ok := value.ParseDuration(words[0]+" "+words[1], value.Longest); ok {
			return 2
		}
	}
	return 1
}

// statement reads a value with its key, of which one may be empty.
func (r *wordReader) statement(key, v string) {
	if r.count++; key == "" && v == "" || r.count > maxStatements {
		return
	}
	var k name.Meaning
	if key != "" {
		k = name.Key(key)
	}
	switch k.Role {
	case name.Label:
		r.called(v, v)
	case name.Reset:
		w := r.limit(&k)
		w.Reset = better(w.Reset, Reset(value.ParseReset(v, k.Step, k.Form == name.Seconds, &r.c)))
	case name.Window:
		w := r.limit(&k)
		w.Window = cmp.Or(value.ParseWindow(v, cmp.Or(k.Step, time.Second)), w.Window)
	default:
		if r.number(&k, v) {
			return
		}
		if key == "" {
			if r.name == "" {
				r.called(v, v)
			}
		} else if k.Role == name.Ignored && !strings.HasPrefix(r.f.values[0], "{") {
			r.called(key, key) // what a credential is called, and not the credential itself
		}
	}
}

// called notes what the limit is called whose numbers follow.
func (r *wordReader) called(what, window string) {
	r.labels = r.name == ""
	r.name, r.window = value.CleanName(value.Trim(what)), window
}

// number reads a number, a ratio, or a rate, whose role the key says or else the header, and reports whether it
// is one.
func (r *wordReader) number(k *name.Meaning, v string) bool {
	role := k.Role
	r.rated = r.rated || role == name.Rate
	if role == name.Ignored {
		role = r.f.Role
	}
	if role == name.Reset {
		return r.readReset(k, v)
	}
	if n, ok := value.ParseNumber(v); ok {
		r.limit(k).count(role, n)
		return true
	}
	if first, second, ok := ratio(v); ok {
		r.takeRatio(k, role, first, second)
		return true
	}
	return r.readRate(k, role, v)
}

// readReset reads a reset that has no key of its own, and reports whether it is one.
func (r *wordReader) readReset(k *name.Meaning, v string) bool {
	reset := parseReset(v, r.f.Meaning, &r.c)
	if reset.Known {
		w := r.limit(k)
		w.Reset = better(w.Reset, reset)
	}
	return reset.Known
}

// takeRatio takes in "3/2000": what is left or used, and of how many. Where nobody knows which of these, or
// whether the second is a number of seconds, no more is taken than what is the limit whatever the other one is.
func (r *wordReader) takeRatio(k *name.Meaning, role name.Role, first, second value.Number) {
	if role != name.Remaining && role != name.Used {
		if k.Name == "" && r.name == "" && r.f.Form != name.Keys && !isCallLimit(&r.f) {
			if all, ok := greater(first, second); ok && role == name.State {
				r.limit(k).count(name.Limit, all)
			}
			return
		}
		role = name.Used // Eventbrite, Salesforce, Hotstuff
	}
	w := r.limit(k)
	w.count(role, first)
	w.count(name.Limit, second)
}

// readRate reads "150/15m", a limit and its window, and reports whether it is one: not where a key or the
// header says that it is a count of another role.
func (r *wordReader) readRate(k *name.Meaning, role name.Role, v string) bool {
	n, window, ok := value.ParseRate(v)
	if !ok || role != name.Limit && (k.Role != name.Ignored || r.f.Role.Counts()) {
		return false
	}
	w := r.limit(k)
	w.count(name.Limit, n)
	w.Window = cmp.Or(window, w.Window)
	return true
}

// isCallLimit reports whether a header is like those that say how many calls were used, and of how many, such
// as Shopify's and Gorgias's X-Account-Api-Call-Limit.
func isCallLimit(f *found) bool { return f.Role == name.Limit && strings.HasSuffix(f.Group, "call") }

// greater returns the greater of two numbers, which is the limit if the other one is used or left. A second one
// that may be a window, of seconds, is not the greater one.
func greater(first, second value.Number) (all value.Number, ok bool) {
	if second.Whole > first.Whole {
		return second, second.Whole%60 != 0
	}
	return first, first.Whole > 0
}

// ratio reads "3/2000", "3 / 2000" and "3 of 2000".
func ratio(v string) (first, second value.Number, ok bool) {
	a, b, ok := strings.Cut(v, "/")
	if !ok {
		a, b, ok = strings.Cut(strings.ToLower(v), " of ")
	}
	if !ok {
		return first, second, false
	}
	a, b = value.Trim(a), value.Trim(b)
	first, ok1 := value.ParseNumber(a)
	second, ok2 := value.ParseNumber(b)
	return first, second, ok1 && ok2
}

// limit returns the limit that a key is about.
func (r *wordReader) limit(k *name.Meaning) *worded {
	r.labels = false
	full := r.f.Name
	if name.RoleOfKey(full) == name.Label && r.name != "" {
		full = "" // X-Ms-RateLimit-Remaining-Resource says which one in its value
	}
	for _, part := range [...]string{r.name, k.Name} {
		if part != "" && full != "" {
			full += ":"
		}
		full += part
	}
	full = value.CleanName(full)
	for i := range r.limits {
		if r.limits[i].Name == full {
			return &r.limits[i]
		}
	}
	if len(r.limits) == value.MaxMembers {
		return &worded{} // too many, and none of them
	}
	r.limits = append(r.limits, worded{Limit: Limit{
		Name: full, Unit: value.UnitOfLimit(cmp.Or(k.Unit, r.f.Unit)), Advisory: r.f.Advisory,
		Window: cmp.Or(k.Window, value.WindowOfName(r.window), r.f.Window),
	}})
	return &r.limits[len(r.limits)-1]
}

// count sets a count.
func (w *worded) count(role name.Role, n value.Number) {
	if n.Below() {
		return
	}
	c := Count{min(n.Whole, value.MaxCount), true}
	switch role {
	case name.Limit:
		w.Limit.Limit, w.limited = c, true
	case name.Remaining:
		w.Remaining = c
	case name.Used:
		w.gone = c
	}
}
