package headers

import (
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/body"
	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// maxLimits bounds how many limits one response may state.
const maxLimits = 64

// appendLimits appends the limits that headers state: those of one group make one
// limit, or several where values are lists.
func appendLimits(limits []Limit, fields []found, c *value.Clock, h *hints, b *body.Facts) []Limit {
	fields = h.believed(fields)
	sortFields(fields)
	var prose, state bool
	for i := range fields {
		prose, state = prose || fields[i].Prose, state || fields[i].Role == name.State
	}
	if prose {
		forgetProse(fields)
	}
	all := fields
	start := len(limits)
	var buf [12]*name.Meaning
	from := buf[:0]
	for len(fields) > 0 {
		n := 1
		for n < len(fields) && name.SameGroup(fields[n].Meaning, fields[0].Meaning) {
			n++
		}
		limits = appendGroup(limits, fields[:n], c, h)
		if len(limits)-start > maxLimits {
			limits = limits[:start+maxLimits]
		}
		for len(from) < len(limits)-start {
			from = append(from, fields[0].Meaning)
		}
		fields = fields[n:]
	}
	label(limits[start:], from, all)
	scopeTokens(limits[start:], from)
	if state {
		wholeOf(limits[start:], from, all)
	}
	if b != nil {
		for _, l := range b.Limits[:min(len(b.Limits), maxLimits-(len(limits)-start))] {
			limits = append(limits, limitOf(l))
			from = append(from, &name.Meaning{Family: bodyFamily, Group: l.Name, Long: l.Long})
		}
	}
	return limits[:start+settle(limits[start:], from, h)]
}

// believed leaves out headers that are about a limit only in an answer that says when to try again, and a time
// that remains if it is not until then.
func (h *hints) believed(fields []found) []found {
	doubts := false
	for i := range fields {
		doubts = doubts || fields[i].Doubtful
	}
	if !doubts {
		return fields
	}
	secondsRemain(fields)
	hint := h.delay()
	return slices.DeleteFunc(fields, func(f found) bool {
		switch {
		case !f.Doubtful, f.Role == name.Remaining && f.Group == "sec":
			return false
		case f.Role != name.Reset:
			return hint.In == 0
		case restores(fields, &f):
			return false
		}
		d := value.ParseDelay(f.values[0], time.Second, MaxRetryAfter, &value.Clock{})
		return hint.In == 0 || !d.Known || (d.In-hint.In).Abs() > disagreement
	})
}

// restores reports whether a time that remains is that after which a count is restored: the answer says what is
// left, and nothing else until when.
func restores(fields []found, f *found) bool {
	left := false
	for i := range fields {
		if o := &fields[i]; o.Meaning != f.Meaning && name.SameGroup(o.Meaning, f.Meaning) {
			if o.Role == name.Reset {
				return false
			}
			left = left || o.Role == name.Remaining
		}
	}
	return left
}

// secondsRemain makes a reset of remaining-sec beside what is left, unless the answer counts by the second, or
// by another window.
func secondsRemain(fields []found) {
	for i := range fields {
		f := &fields[i]
		if !f.Doubtful || f.Role != name.Remaining || f.Group != "sec" {
			continue
		}
		m := *f.Meaning
		m.Role, m.Form, m.Group, m.Name, m.Window, m.Doubtful = name.Reset, name.Seconds, "", "", 0, false
		windows := slices.ContainsFunc(fields, func(o found) bool { return o.Family == f.Family && o.Window > 0 && o.Meaning != f.Meaning })
		if !windows && restores(fields, &found{&m, f.values}) {
			m.Behead()
			f.Meaning = &m
		}
	}
}

// forgetProse forgets the windows of a service that writes names which others write, too, unless the answer has
// all of its limits, and nothing more of them: LaunchDarkly's are of ten seconds, and those of everybody who
// writes global are not.
func forgetProse(fields []found) {
	n, others := 0, false
	for i := range fields {
		if fields[i].Prose {
			n++
		}
	}
	for i := range fields {
		for j := range fields {
			others = others || fields[j].Prose && !fields[i].Prose && name.SameGroup(fields[i].Meaning, fields[j].Meaning)
		}
	}
	for i := range fields {
		if f := &fields[i]; f.Prose && (n < 2 || others) {
			m := *f.Meaning
			m.Window, m.Source = 0, ""
			f.Meaning = &m
		}
	}
}

// label gives names to limits whose groups begin with the words of a header that has a name as its value:
// X-RateLimit- Api-Name names those of X-RateLimit-Api-Limit and of X-RateLimit-Api-Minute-Limit.
func label(limits []Limit, from []*name.Meaning, fields []found) {
	for k := range fields {
		f := &fields[k]
		if f.Role != name.Label || f.Group == "" {
			continue
		}
		called := value.CleanName(value.Trim(f.values[0]))
		for i := range limits {
			rest, ok := strings.CutPrefix(from[i].Group, f.Group)
			if !ok || from[i].Family != f.Family || rest != "" && rest[0] != '-' || called == "" {
				continue
			}
			limits[i].Name = value.CleanName(called + strings.Replace(rest, "-", ":", 1))
			if f.TellsCounter() {
				limits[i].Counter = called
			}
		}
	}
}

// wholeOf completes what is left of the one limit without a name by a number in a header of another spelling
// that has no role: x-rate-limit beside ratelimit-remaining.
func wholeOf(limits []Limit, from []*name.Meaning, fields []found) {
	for i := range fields {
		f := &fields[i]
		if f.Role != name.State || !f.Shared() || f.values[0] == "" || !value.IsDigit(f.values[0][0]) {
			continue
		}
		n := value.ParseCount(f.values[0])
		for j := range limits {
			l := &limits[j]
			if from[j].Group == "" && from[j].Shared() && from[j].Family != f.Family && !l.Limit.Known && l.Remaining.Known && n.N >= max(l.Remaining.N, 1) {
				l.Limit = Count(n)
			}
		}
	}
}

// scopeTokens makes requests of tokens that are credentials: a limit of a token beside one that is called so
// with a word before it, which is no limit of tokens (Clover's token and crosstoken).
func scopeTokens(limits []Limit, from []*name.Meaning) {
	for i := range limits {
		if from[i].Unit != "tokens" || !strings.HasSuffix(from[i].Group, "token") {
			continue
		}
		for j := range limits {
			before, ok := strings.CutSuffix(from[j].Group, from[i].Group)
			if ok && before != "" && from[j].Family == from[i].Family && from[j].Unit == "" {
				limits[i].Unit = ""
			}
		}
	}
}

// bodyFamily is the family of the limits that bodies state. No name of a header is like it.
const bodyFamily = "(body)"

// limitOf returns a limit that a body states.
func limitOf(b body.Limit) Limit {
	l := Limit{
		Name: b.Name, Unit: b.Unit, Limit: Count(b.Limit), Remaining: Count(b.Remaining), Reset: Reset(b.Reset), Window: b.Window,
	}
	complete(&l, Count{})
	return l
}

// appendGroup appends what the headers of one group state.
func appendGroup(limits []Limit, g []found, c *value.Clock, h *hints) []Limit {
	var odd uint64 // the headers, of which there are maxFields at most, that are neither a number nor a word
	commas := false
	for i := range g {
		if !isSimple(g[i].values) {
			odd |= 1 << i
			commas = commas || strings.IndexByte(g[i].values[0], ',') >= 0
		}
	}
	if commas {
		ungroup(g)
	}
	wholes(g)
	for i := range g {
		f := &g[i]
		isOdd := odd>>i&1 != 0
		n := len(limits)
		switch {
		case f.Role == name.Text || f.Form == name.Windows || isOdd && isObject(f):
			if limits = appendText(limits, g, c, h); len(limits) == n && isObject(f) {
				limits = appendWords(limits, g, c)
			}
			return limits
		case f.Role == name.Policy || isOdd && isStructured(f):
			if limits = appendStructured(limits, g, c); len(limits) == n && isUnstructured(f.values[0]) {
				limits = appendWords(limits, g, c)
			}
			return limits
		case isOdd && inWords(f):
			return appendWords(limits, g, c)
		}
	}
	return appendPlain(limits, g, countLimits(g), c)
}

// wholes makes how much there is in all of a number in a header that has words for a limit and no role, beside
// what is left of it: X-RateLimit-Concurrent-Jobs: 5 and X-RateLimit-Concurrent-Jobs-Remaining: 2.
func wholes(g []found) {
	if !slices.ContainsFunc(g, func(f found) bool { return f.Role == name.Remaining }) {
		return
	}
	for i := range g {
		if f := &g[i]; f.Role == name.Text && isSimple(f.values) && value.ParseCount(f.values[0]).Known {
			m := *f.Meaning
			m.Role, m.Form = name.State, name.Auto
			f.Meaning = &m
		}
	}
}

// isStructured reports whether a value that is no number is a structured field, or an attempt at one: all of a
// State, and of a Limit the list of draft 03.
func isStructured(f *found) bool {
	return f.Role == name.State && !value.ParseCount(f.values[0]).Known ||
		f.Role == name.Limit && f.hasParameters() && value.IsDigit(value.Trim(f.values[0])[0])
}

// isSimple reports whether a value is a number or a word, as nearly all are: nothing separates parts of it.
func isSimple(values []string) bool {
	if len(values) != 1 || len(values[0]) > value.MaxNumber {
		return false
	}
	v := values[0]
	for i := range len(v) {
		if c := v[i]; !value.IsDigit(c) && c != '.' && !isLetter(c) {
			return false
		}
	}
	return true
}

// isUnstructured reports whether a value is no attempt at a structured field, which says nothing if it is
// malformed.
func isUnstructured(v string) bool { return len(v) <= value.MaxField && !strings.ContainsAny(v, `"(`) }

// isObject reports whether a value is an object of JSON.
func isObject(f *found) bool { return strings.HasPrefix(f.values[0], "{") }

// ungroup takes the commas out of numbers whose digits are grouped, "1,000", and makes nothing of what may be
// such a number as well as a list: the other headers of the group tell, which are lists of as many members, or
// numbers.
func ungroup(g []found) {
	var sure, maybe, lists, doubles, numbers int
	for i := range g {
		f := &g[i]
		if !isNumeric(f) {
			continue
		}
		v := value.Trim(f.values[0])
		switch grouping := groupingOf(f); {
		case grouping == value.Grouped:
			sure++
		case grouping == value.MaybeGrouped && repeats(v):
			doubles++ // "100,100", which two hops may have written
		case grouping == value.MaybeGrouped:
			maybe++
		case value.IsList(f.values) && value.IsDigit(v[0]):
			lists++
		case f.Role.Counts() && value.ParseCount(v).Known:
			numbers++
		}
	}
	if lists == 0 && (sure > 0 || maybe > 0 && doubles == 0) {
		joinDigits(g, sure+numbers > 0)
	}
}

// joinDigits takes the commas out of numbers. known says that all of them are numbers: else those are that can
// be nothing else, and nobody knows of the others.
func joinDigits(g []found, known bool) {
	for i := range g {
		f := &g[i]
		switch grouping := groupingOf(f); {
		case !isNumeric(f) || grouping == value.NotGrouped:
		case grouping == value.Grouped || known:
			f.values = []string{strings.ReplaceAll(f.values[0], ",", "")}
		default:
			f.values = []string{""}
		}
	}
}

// isNumeric reports whether the value of a header may be a number whose digits are grouped.
func isNumeric(f *found) bool {
	return (f.Role.Counts() || f.Role == name.Reset) && f.Form != name.Windows && f.Series == nil && value.Trim(f.values[0]) != ""
}

// groupingOf returns how sure it is that the commas in the value of a header group digits.
func groupingOf(f *found) value.Grouping {
	if len(f.values) != 1 {
		return value.NotGrouped
	}
	return value.GroupingOf(value.Trim(f.values[0]))
}

// repeats reports whether all members of a list are the same.
func repeats(v string) bool {
	head, rest, ok := strings.Cut(v, ",")
	for ok {
		var m string
		if m, rest, ok = strings.Cut(rest, ","); m != head {
			return false
		}
	}
	return true
}
