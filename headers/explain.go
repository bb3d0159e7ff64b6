package headers

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/headers/internal/value"
)

// Reading is how one header of a response is read.
type Reading struct {
	Name   string   // of the header, as the response has it
	Values []string // its lines, as the response has them

	// Says is what the values stand for, in words: `what is left, of "search", per 1m0s`. It is empty if
	// nothing is read in them, because the name says nothing or because the values make no sense.
	Says string

	// By is the rule that knows the name: the words that the name is made of, a standard, or a dialect, by its
	// source. It is empty if no rule does.
	By string
}

// Explain returns how each header is read that is about limits, or whose name looks as if it were: also one
// whose name differs only in the last word from the name of a header that is about limits. The headers are in
// the order of their names, 64 at most. Explain is for people: [Reader.Parse] says the same as facts.
func (r *Reader) Explain(h http.Header, received time.Time) []Reading {
	e := explainer{dates: h["Date"], received: received}
	var all []Reading
	at := map[string]int{} // the places of the headers in e.fields
	own := r.compiled()
	said, others := map[string]bool{}, []Reading(nil)
	for key, values := range h {
		m := meaningOf(key, own)
		switch {
		case len(values) == 0 || m != nil && m.Role == name.Ignored:
			continue
		case m == nil && looksLikeLimit(key):
			all = append(all, Reading{Name: key, Values: values})
		case m == nil && series(key) != "":
			others = append(others, Reading{Name: key, Values: values})
		case m != nil:
			said[series(key)] = true
			all = append(all, Reading{Name: key, Values: values, Says: says(m), By: readBy(m)})
			if m = lookUp(key, own); m != nil {
				at[key] = len(e.fields)
				e.fields = append(e.fields, newFound(m, values))
			}
		}
	}
	for _, o := range others {
		if said[series(o.Name)] {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Reading) int { return strings.Compare(a.Name, b.Name) })
	all = all[:min(len(all), maxFields)]
	for i := range all {
		if k, ok := at[all[i].Name]; all[i].By != "" && (!ok || !e.reads(k)) {
			all[i].Says = ""
		}
	}
	return all
}

// explainer finds out which headers of an answer say something.
type explainer struct {
	fields   []found // all that are about limits
	dates    []string
	received time.Time
}

// parse reads some of the headers.
func (e *explainer) parse(fields []found) ([]Limit, Retry) {
	a := answer{dates: e.dates}
	others := 0
	for i := range fields {
		if !unlimited.Has(fields[i].Role) {
			if others++; others > maxFields+1 {
				continue // too many to be read
			}
		}
		a.add(fields[i].Meaning, fields[i].values)
	}
	if a.roles == 0 {
		return nil, Retry{}
	}
	return a.append(nil, e.received, nil)
}

// reads reports whether the header at position i says something: alone, beside the others, or beside the others
// but one, which says the same: what is gone, beside what is left of how much.
func (e *explainer) reads(i int) bool {
	if limits, retry := e.parse(e.fields[i : i+1]); len(limits) > 0 || retry != (Retry{}) {
		return true
	}
	if e.differs(e.fields, i) {
		return true
	}
	if !e.fields[i].Role.Counts() {
		return false
	}
	for j := range min(len(e.fields), maxFields) {
		at := i
		if j < i {
			at--
		}
		if j != i && e.fields[j].Role.Counts() && e.differs(slices.Delete(slices.Clone(e.fields), j, j+1), at) {
			return true
		}
	}
	return false
}

// differs reports whether fields say something else without the one at position i.
func (e *explainer) differs(fields []found, i int) bool {
	limits, retry := e.parse(fields)
	without, retryWithout := e.parse(slices.Delete(slices.Clone(fields), i, i+1))
	return retry != retryWithout || !slices.Equal(limits, without)
}

// looksLikeLimit reports whether a person would take a name for one about limits.
func looksLikeLimit(key string) bool {
	key = strings.ToLower(key)
	for _, word := range [...]string{"limit", "quota", "remain", "reset", "retry", "throttl", "usage", "credit", "burst", "concurren", "backoff", "allowance"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return slices.Contains(strings.Split(key, "-"), "rate")
}

// series returns the words of a name before its last one, if there are two or more beside an X: what the
// headers of one limit share, such as X-Acme-Calls-Left and X-Acme-Calls-Max. Else it is empty.
func series(key string) string {
	words := strings.TrimPrefix(strings.ToLower(key), "x-")
	words = words[:max(strings.LastIndexByte(words, '-'), 0)]
	if !strings.Contains(words, "-") {
		return ""
	}
	return words
}

// roleTexts say what a role stands for.
var roleTexts = map[name.Role]string{
	name.Limit: "how much there is in all", name.Remaining: "what is left", name.Used: "what is gone", name.Reset: "when it is restored",
	name.Window: "the time in which it is granted", name.TimeUnit: "what that time counts", name.Rate: "how much comes back in that time",
	name.Kind: "which kind of limit it is", name.Label: "what the limit is called", name.State: "the state of limits",
	name.Policy: "policies", name.Text: "limits in words of their own", name.Retry: "when to try again",
	name.Should: "whether to try again", name.Pushback: "whether and when to try again", name.Refusal: "why the request was refused",
	name.Age: "how old the answer is", name.Cache: "that a cache answered",
}

// says returns in words what a name says.
func says(m *name.Meaning) string {
	s := roleTexts[m.Role]
	if m.Name != "" {
		s += `, of "` + m.Name + `"`
	}
	if m.Unit != "" && m.Unit != value.Requests {
		s += ", in " + m.Unit
	}
	if m.Window > 0 {
		s += ", per " + m.Window.String()
	}
	if m.Step > 0 && !m.Role.Counts() {
		s += ", a number counts " + m.Step.String()
	}
	if m.Advisory {
		s += ", not enforced yet"
	}
	return s
}

// readBy returns what knows a name.
func readBy(m *name.Meaning) string {
	switch {
	case m.Own():
		return "a dialect of the Reader"
	case m.Source != "" && m.Family != "":
		return "a dialect: " + m.Source
	case m.Source != "":
		return m.Source
	case m.Role == name.State || m.Role == name.Policy:
		return "draft-ietf-httpapi-ratelimit-headers"
	case m.Role == name.Text:
		return "the words of its name, and those of its value"
	}
	return "the words of its name"
}
