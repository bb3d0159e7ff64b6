package name

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Dialect is one limit as one service writes it: which header says what. The fields up to
// RetryAfter are those of headers.Dialect, which says what they mean.
type Dialect struct {
	Name        string
	Unit        string
	FixedLimit  int64
	FixedWindow time.Duration
	Step        time.Duration

	Limit, Remaining, Used, Reset, Window, RetryAfter string // names of headers

	// The rest is for what the package itself knows.
	Source                     string // where it is documented, or the code that sends it
	Family                     string // headers of one family state different limits
	Bare                       bool   // belongs to the limit of the family that has no name
	Form                       Form   // of the values, if their names do not tell
	Prose                      bool   // anybody may write the names: the window is only that of an answer with nothing but these of the family's limits
	Weak                       bool   // a limit only if what is left is stated, too
	MayBeIdle                  bool   // a delay of zero says that there is nothing to wait for
	Series                     []Span // names and windows, if the values are lists
	Policy, State, Label, Text string // names of headers
}

// Part is a header of a dialect.
type Part struct {
	Field string // the name in Dialect, for error messages
	Role  Role
	Name  string // as http.CanonicalHeaderKey spells it
}

// Parts returns the headers that a dialect names.
func (d *Dialect) Parts() []Part {
	all := []Part{
		{"Limit", Limit, d.Limit},
		{"Remaining", Remaining, d.Remaining},
		{"Used", Used, d.Used},
		{"Reset", Reset, d.Reset},
		{"Window", Window, d.Window},
		{"RetryAfter", Retry, d.RetryAfter},
		{"Policy", Policy, d.Policy},
		{"State", State, d.State},
		{"Label", Label, d.Label},
		{"Text", Text, d.Text},
	}
	named := all[:0]
	for _, p := range all {
		if p.Name != "" {
			p.Name = http.CanonicalHeaderKey(p.Name)
			named = append(named, p)
		}
	}
	return named
}

// Describe returns what a header of the dialect says. The limits of a family come in the
// order of their places.
func (d *Dialect) Describe(p Part, place int) *Meaning {
	m := &Meaning{
		Role: p.Role, Form: d.Form, Step: d.Step, order: lastLabel + 1, rank: rankOf(d.Family), place: uint8(min(place, 255)),
		Family: d.Family, Group: d.Name, Name: d.Name, Unit: d.Unit, Total: d.FixedLimit, Window: d.FixedWindow, Series: d.Series, Weak: d.Weak, MayBeIdle: d.MayBeIdle, Source: d.Source,
		Long: value.IsLong(strings.Split(strings.ToLower(d.Name), "-")), Advisory: strings.HasPrefix(d.Family, "beta-"),
	}
	if last := words[strings.ToLower(p.Name[strings.LastIndexByte(p.Name, '-')+1:])]; last != nil && m.Form == Auto && m.Step == 0 {
		m.written(last)
	}
	if m.Prose = d.Prose; m.Prose {
		m.place = 2 // beside what else is called so
	}
	if d.Bare || d.Name == "" {
		m.Group, m.place = "", 0
	}
	return m
}

// DescribeOwn is Describe for a dialect of a user, which is a limit of its own whatever its
// name. The dialects come in the order of their places.
func (d *Dialect) DescribeOwn(p Part, place int) *Meaning {
	own := *d
	own.Family = ownFamily
	m := own.Describe(p, place)
	m.Group, m.place = strconv.Itoa(place), uint8(min(place, 255))
	return m
}

// Check reports what is wrong with a dialect of a user, but for the names of headers.
func (d *Dialect) Check() error {
	switch {
	case len(d.Name) > value.MaxName || d.Name != "" && value.CleanName(d.Name) == "":
		return fmt.Errorf("has the Name %q, want printable ASCII of at most %d bytes", d.Name, value.MaxName)
	case len(d.Unit) > value.MaxName || d.Unit != "" && value.CleanName(d.Unit) == "":
		return fmt.Errorf("has the Unit %q, want printable ASCII of at most %d bytes", d.Unit, value.MaxName)
	case d.FixedLimit < 0 || d.FixedLimit > value.MaxCount:
		return fmt.Errorf("has a FixedLimit of %d, want 0 to %d", d.FixedLimit, int64(value.MaxCount))
	case d.FixedWindow < 0 || d.FixedWindow > value.MaxWindow:
		return fmt.Errorf("has a FixedWindow of %v, want 0 to %v", d.FixedWindow, value.MaxWindow)
	case d.Step < 0 || d.Step > maxStep:
		return fmt.Errorf("has a Step of %v, want 0 to %v", d.Step, maxStep)
	case d.Limit == "" && d.Remaining == "" && d.Reset == "" && d.RetryAfter == "" && (d.Used == "" || d.FixedLimit == 0):
		return errors.New("says nothing, want one of Limit, Remaining, Reset and RetryAfter, or Used with FixedLimit")
	}
	return nil
}

// maxStep is an hour: longer steps are no way to state a time.
const maxStep = time.Hour

// CheckKey reports why a user may not give a header a meaning.
func CheckKey(key string) error {
	if key == "Date" {
		return errors.New("the header Date says when the response was written, and nothing else")
	}
	if len(key) < minKey || len(key) > maxKey {
		return fmt.Errorf("%.200q is a name of %d bytes, want %d to %d", key, len(key), minKey, maxKey)
	}
	for i := range len(key) {
		// A token, RFC 9110, 5.6.2.
		if c := key[i]; !value.IsDigit(c) && (c|0x20)-'a' >= 26 && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return fmt.Errorf("%q is no name of a header: %q is not allowed in it", key, c)
		}
	}
	return nil
}
