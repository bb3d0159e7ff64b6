package bench

import "strings"

// Path is a way through pacer on which nothing has to wait.
type Path struct {
	Name string
	Go   func() error // goes the path once
}

// Paths returns the paths of a request through a Transport and of a decision through a Limiter. Each
// has been gone several times, so that what only the first times cost is paid.
func Paths() (paths []Path) {
	for _, s := range Subjects() {
		if !strings.HasPrefix(s.Name, "pacer") && s.Name != Bare {
			continue
		}
		c, rt := newGet(), s.New()
		name := s.Name
		if name == Bare {
			name += ", " + s.Answer.String()
		}
		paths = append(paths, Path{name, func() error { return c.call(rt) }})
	}
	c, rt := newGet(), newPacerPattern(NewBase(Plain))
	paths = append(paths, Path{"pacer, a pattern with a wildcard", func() error { return c.call(rt) }})
	for _, d := range Decisions() {
		if strings.HasPrefix(d.Name, "throttle") {
			paths = append(paths, Path{d.Name, d.Grant})
		}
	}
	for _, p := range paths {
		for range 64 { // the slow start of a host is over
			if err := p.Go(); err != nil {
				panic(err)
			}
		}
	}
	return paths
}
