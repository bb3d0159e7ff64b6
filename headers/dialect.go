package headers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Dialect is one limit as one service writes it: which header says what. It is for
// names that the rules of the package do not read, or would read otherwise, and for what
// only the documentation of a service says.
//
// All headers that a Dialect names are read as that one limit, or, if their values are
// lists, as one limit for each position. A header that it leaves out is read as if there
// were no Dialect. Values have all the forms that they may have elsewhere: a reset may be
// a delay or an instant.
type Dialect struct {
	// Name is what Limit.Name will be. It may be empty.
	Name string

	// Unit is what is counted. If empty, "requests".
	Unit string

	// Total is how much there is in all, and Window the time in which it is granted, for
	// services that say so in their documentation only. What a header says goes first.
	// Zero means that it is not known.
	Total  int64
	Window time.Duration

	// Step is what a number in Reset, RetryAfter and Period counts, such as
	// time.Millisecond: nothing tells 1500 milliseconds from 1500 seconds. If zero,
	// the header's name tells (X-Reset-Ms), or else it is a second.
	Step time.Duration

	// The names of the headers, in upper or lower case; empty for those that the service
	// does not send.
	Limit      string // how much there is in all
	Remaining  string // how much is left
	Used       string // how much is gone
	Reset      string // when it is restored
	Period     string // the time in which Limit is granted
	RetryAfter string // when to try again

	// The rest is for what the package itself knows.
	source                     string // where it is documented, or the code that sends it
	family                     string // headers of one family state different limits
	bare                       bool   // belongs to the limit of the family that has no name
	form                       form   // of the values, if their names do not tell
	series                     []span // names and windows, if the values are lists
	policy, state, label, text string // names of headers
}

// part is a header of a dialect.
type part struct {
	field string // the name in Dialect, for error messages
	role  role
	name  string // as http.CanonicalHeaderKey spells it
}

// parts returns the headers that a dialect names.
func (d *Dialect) parts() []part {
	all := []part{
		{"Limit", limit, d.Limit},
		{"Remaining", remaining, d.Remaining},
		{"Used", used, d.Used},
		{"Reset", reset, d.Reset},
		{"Period", window, d.Period},
		{"RetryAfter", retry, d.RetryAfter},
		{"policy", policy, d.policy},
		{"state", state, d.state},
		{"label", label, d.label},
		{"text", pairs, d.text},
	}
	named := all[:0]
	for _, p := range all {
		if p.name != "" {
			p.name = http.CanonicalHeaderKey(p.name)
			named = append(named, p)
		}
	}
	return named
}

// describe returns what a header of the dialect says. place is where the limit comes among
// those of its family.
func (d *Dialect) describe(p part, place int) *field {
	f := &field{
		role: p.role, form: d.form, step: d.Step, order: uint8(len(labels)), rank: rankOf(d.family), place: uint8(min(place, 255)),
		family: d.family, group: d.Name, name: d.Name, unit: d.Unit, total: d.Total, window: d.Window, series: d.series,
		long: isLong(strings.Split(strings.ToLower(d.Name), "-")), advisory: strings.HasPrefix(d.family, "beta-"),
	}
	if last := strings.ToLower(p.name[strings.LastIndexByte(p.name, '-')+1:]); f.form == auto && f.step == 0 {
		f.form, f.step = forms[last], steps[last]
	}
	if d.bare || d.Name == "" {
		f.group, f.place = "", 0
	}
	return f
}

// check reports what is wrong with a dialect of a user, but for the names of headers.
func (d *Dialect) check() error {
	switch {
	case len(d.Name) > maxName || d.Name != "" && cleanName(d.Name) == "":
		return fmt.Errorf("has the Name %q, want printable ASCII of at most %d bytes", d.Name, maxName)
	case len(d.Unit) > maxName || d.Unit != "" && cleanName(d.Unit) == "":
		return fmt.Errorf("has the Unit %q, want printable ASCII of at most %d bytes", d.Unit, maxName)
	case d.Total < 0 || d.Total > maxCount:
		return fmt.Errorf("has a Total of %d, want 0 to %d", d.Total, int64(maxCount))
	case d.Window < 0 || d.Window > maxWindow:
		return fmt.Errorf("has a Window of %v, want 0 to %v", d.Window, maxWindow)
	case d.Step < 0 || d.Step > maxStep:
		return fmt.Errorf("has a Step of %v, want 0 to %v", d.Step, maxStep)
	case d.Limit == "" && d.Remaining == "" && d.Reset == "" && d.RetryAfter == "" && (d.Used == "" || d.Total == 0):
		return errors.New("says nothing, want one of Limit, Remaining, Reset and RetryAfter, or Used with Total")
	}
	return nil
}

// maxStep is an hour: longer steps are no way to state a time.
const maxStep = time.Hour

// checkKey reports why a user may not give a header a meaning.
func checkKey(name string) error {
	if name == "Date" {
		return errors.New("the header Date says when the response was written, and nothing else")
	}
	if len(name) < minKey || len(name) > maxKey {
		return fmt.Errorf("%.200q is a name of %d bytes, want %d to %d", name, len(name), minKey, maxKey)
	}
	for i := range len(name) {
		// A token, RFC 9110, 5.6.2.
		if c := name[i]; !isDigit(c) && (c|0x20)-'a' >= 26 && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return fmt.Errorf("%q is no name of a header: %q is not allowed in it", name, c)
		}
	}
	return nil
}
