package check

import (
	"fmt"

	"github.com/gopacer/pacer/internal/fields"
)

// deepest is how many Limiters may be above one; more are a circle.
const deepest = 1 << 16

// Circle returns an error if the Parents of a Limiter, which has a name, lead in a circle.
func Circle[L any](name string, l *L, parent func(*L) *L) error {
	for range deepest {
		if l = parent(l); l == nil {
			return nil
		}
	}
	return fields.Invalid(fmt.Errorf("throttle: the Parents of Limiter %q lead in a circle, want them to end in one without a Parent", name))
}

// Above returns the depth above one. It panics if Parents lead in a circle, which would else be followed for
// ever.
func Above(depth int) int {
	if depth == deepest {
		panic("throttle: the Parents of a Limiter lead in a circle: see Validate")
	}
	return depth + 1
}

// New returns what Group.New has returned. It panics if that is nil.
func New[L any](l *L) *L {
	if l == nil {
		panic("throttle: Group.New returned nil, want a new Limiter")
	}
	return l
}

// Path panics if a path of a Group has no key.
func Path(path []string) {
	if len(path) == 0 {
		panic("throttle: Group.Limiter of a path without a key, want one or more")
	}
}

// Unused panics unless what Group.New has returned for a bucket is in no Group yet.
func Unused(unused bool) {
	if !unused {
		panic("throttle: Group.New returned a Limiter that is a bucket of a Group already, want a new one")
	}
}
