package bench

import (
	"net/http"
	"strings"
)

// Path is a way through pacer, or through what is compared with it, on which nothing has to wait.
type Path struct {
	Name string
	Ours bool    // it goes through pacer
	Over string  // the path whose cost is not that of what is measured; empty if there is none
	Per  string  // the path with which this one is compared; empty if with none
	Goal float64 // what it is to add to Over at most, in multiples of what Per adds to its own; zero if there is no goal

	begin func() func() error
}

// Paths returns the paths of a request through a Transport and of a decision through a Limiter.
func Paths() (paths []Path) {
	get := func(rt func() http.RoundTripper) func() func() error {
		return func() func() error {
			c, rt := newGet(), rt()
			return func() error { return c.call(rt) }
		}
	}
	for _, s := range Subjects() {
		p := Path{
			Name: s.Name, Ours: strings.HasPrefix(s.Name, "pacer"), Over: overBare(s.Answer), Per: XTime, Goal: s.Goal, begin: get(s.New),
		}
		if s.Name == Bare {
			p.Name, p.Over, p.Per = p.Over, "", ""
		}
		paths = append(paths, p)
	}
	paths = append(paths, Path{
		Name: "pacer, a pattern with a wildcard", Ours: true, Over: overBare(Plain), Per: XTime,
		begin: get(func() http.RoundTripper { return newPacerPattern(NewBase(Plain)) }),
	})
	for _, d := range Decisions() {
		paths = append(paths, Path{
			Name: d.Name, Ours: strings.HasPrefix(d.Name, "throttle"), Over: loop, Per: XTimeAllow, Goal: d.Goal,
			begin: func() func() error { return d.Grant },
		})
	}
	return append(paths, Path{Name: loop, begin: func() func() error { return func() error { return nil } }})
}

// loop is the path of a decision that decides nothing.
const loop = "no decision"

func overBare(a Answer) string { return Bare + ", " + a.String() }

// Begin returns a function that goes the path once. The path has been gone several times, so that what only the
// first times cost is paid: the slow start of a host is over.
func (p Path) Begin() (func() error, error) {
	once := p.begin()
	for range 300 {
		if err := once(); err != nil {
			return nil, err
		}
	}
	return once, nil
}
