package suites

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Modes are all of them, the one to compare with first.
func Modes() []Mode { return []Mode{Bare, Paced, Once} }

// Report is what came of a suite.
type Report struct {
	Suite       Suite
	Packages    int // that have tests
	Results     map[Mode]Results
	Took        map[Mode]time.Duration // building included, as far as it was not built before
	Differences []Difference
	Unneeded    []Cause // of this suite, of which no difference was seen
}

// Run lays out a suite below root, runs its tests in all modes, and compares. Differences
// that nobody has explained are looked at twice.
func (s Suite) Run(ctx context.Context, root, checkout string) (Report, error) {
	r := Report{Suite: s, Results: map[Mode]Results{}, Took: map[Mode]time.Duration{}}
	p, err := s.Prepare(ctx, root, checkout)
	if err != nil {
		return r, err
	}
	r.Packages = len(p.pkgs)
	if s.Mock != nil {
		env, stop, err := s.Mock(ctx, p)
		if err != nil {
			return r, err
		}
		defer stop()
		p.env = append(p.env, env...)
	}
	for _, mode := range Modes() { // one after the other: tests have ports of their own
		if r.Results[mode], r.Took[mode], err = p.Test(ctx, s, mode); err != nil {
			return r, err
		}
	}
	for _, mode := range Modes()[1:] {
		differences, err := r.compare(ctx, p, mode)
		if err != nil {
			return r, err
		}
		r.Differences = append(r.Differences, differences...)
	}
	r.Unneeded = unneeded(s.Name, r.Differences)
	return r, nil
}

// compare returns the differences of a mode with their causes. Where there is none, it runs
// the tests again in both modes.
func (r *Report) compare(ctx context.Context, p *Place, mode Mode) ([]Difference, error) {
	differences := Compare(mode, r.Results[Bare], r.Results[mode])
	var unknown []Test
	for i := range differences {
		d := &differences[i]
		if d.Cause = causeOf(r.Suite.Name, *d); d.Cause == "" {
			unknown = append(unknown, d.Test)
		}
	}
	if len(unknown) == 0 {
		return differences, nil
	}
	bare, err := p.Again(ctx, r.Suite, Bare, unknown)
	if err != nil {
		return nil, err
	}
	through, err := p.Again(ctx, r.Suite, mode, unknown)
	if err != nil {
		return nil, err
	}
	plain, err := p.Again(ctx, r.Suite, Plain, unknown)
	if err != nil {
		return nil, err
	}
	for i := range differences {
		d := &differences[i]
		if d.Cause != "" || d.Test.Name == "" {
			continue
		}
		d.Unsteady = bare.Status[d.Test] != d.Bare || through.Status[d.Test] != d.Through
		if !d.Unsteady && plain.Status[d.Test] == d.Through {
			d.Cause = anyTransport
		}
	}
	return differences, nil
}

// Unexplained returns the differences that are there each time and have no cause.
func (r *Report) Unexplained() []Difference {
	return slices.DeleteFunc(slices.Clone(r.Differences), func(d Difference) bool { return d.Cause != "" || d.Unsteady })
}

// Lines say what differs and why: a line for each mode and cause, with the names of the tests.
func (r *Report) Lines() (lines []string) {
	names := map[string][]string{}
	for _, d := range r.Differences {
		line := fmt.Sprintf("%s, %s: %s", r.Suite.Name, d.Mode, d.why())
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		names[line] = append(names[line], d.name())
	}
	for i, line := range lines {
		lines[i] += ": " + strings.Join(names[line], ", ")
	}
	return lines
}

func (d Difference) why() string {
	switch {
	case d.Cause != "":
		return d.Cause
	case d.Unsteady:
		return "not so when it was run again"
	}
	return "unexplained"
}

// name is that of the test, and how it ended where that is not passed and then failed.
func (d Difference) name() string {
	name := cmp.Or(d.Test.Name, d.Test.Package)
	if d.Bare != Passed || d.Through != Failed {
		name += fmt.Sprintf(" (%s, %s)", cmp.Or(d.Bare, "did not run"), cmp.Or(d.Through, "did not run"))
	}
	return "`" + name + "`"
}
