package link

import (
	"fmt"
	"runtime"
	"strings"
)

// panicked is the error of a call that panicked.
type panicked struct {
	value any
	at    string // the function, and its line
}

// Ended returns the error of a call that has ended: err, or if it panicked with a value, an error that says so.
// It is to be called by the deferred function that recovers.
func Ended(value any, err error) error {
	if value == nil {
		return err
	}
	return &panicked{value, where()}
}

func (p *panicked) Error() string {
	return fmt.Sprintf("throttle: the Store panicked, in %s: %v", p.at, p.value)
}

// Unwrap returns the value if it is an error.
func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// where returns the function that panics.
func where() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(1, stack[:])])
	panics := false
	for {
		f, more := frames.Next()
		switch own := strings.HasPrefix(f.Function, "runtime."); {
		case f.Function == "runtime.gopanic":
			panics = true
		case panics && !own:
			return fmt.Sprintf("%s (line %d)", f.Function, f.Line)
		}
		if !more {
			return "an unknown function"
		}
	}
}
