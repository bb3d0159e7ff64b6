package suites

import (
	"cmp"
	"slices"
	"strings"
)

// Difference is a test that ends otherwise with pacer.
type Difference struct {
	Test          Test
	Mode          Mode
	Bare, Through Status
	Output        string // of the test, where it failed
	Unsteady      bool   // it was not so when it was run again
	Cause         string // empty if nobody knows
}

// Compare returns the tests that ended otherwise, in order. Where that is so for a subtest,
// what it belongs to is not among them.
func Compare(mode Mode, bare, through Results) (all []Difference) {
	for t := range both(bare, through) {
		if bare.Status[t] != through.Status[t] {
			all = append(all, Difference{
				Test: t, Mode: mode, Bare: bare.Status[t], Through: through.Status[t],
				Output: cmp.Or(through.Output[t], bare.Output[t]),
			})
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(d Difference) bool {
		return slices.ContainsFunc(all, func(other Difference) bool { return d.Test.above(other.Test) })
	})
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Test.String(), b.Test.String()) })
	return all
}

func both(a, b Results) map[Test]bool {
	tests := map[Test]bool{}
	for t := range a.Status {
		tests[t] = true
	}
	for t := range b.Status {
		tests[t] = true
	}
	return tests
}

// above reports whether other is a subtest of t, or in the package that t is.
func (t Test) above(other Test) bool {
	if t.Package != other.Package || t == other {
		return false
	}
	return t.Name == "" || strings.HasPrefix(other.Name, t.Name+"/")
}
