package pacer

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode says what happens to a request that cannot go now. Zero leaves that to
// whatever is less specific: to Modes in a Call, to Mode in Modes, and there it is Wait.
type Mode int

const (
	// Wait lets it wait in line.
	Wait Mode = iota + 1
	// Reject returns a *throttle.Error at once.
	Reject
	// Degrade hands it to Fallback: a cached copy, a default, another host.
	Degrade
	// Observe sends it all the same, and tells Trace how long it should have
	// waited. Nothing is delayed and nothing is retried: for trying pacer on a
	// live system.
	Observe
)

var modes = [...]string{"default", "Wait", "Reject", "Degrade", "Observe"}

// String returns the name of the constant.
func (m Mode) String() string {
	if m >= 0 && int(m) < len(modes) {
		return modes[m]
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}

// UnmarshalText reads the name of a constant, in any case: modes can be strings in JSON
// and YAML, and flags. The empty text is zero.
func (m *Mode) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*m = 0
		return nil
	}
	for i, name := range modes {
		if strings.EqualFold(name, string(text)) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("pacer: mode %q, want wait, reject, degrade or observe", text)
}

// MarshalText writes what UnmarshalText reads.
func (m Mode) MarshalText() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return []byte(strings.ToLower(m.String())), nil
}

func (m Mode) check() error {
	if m < 0 || int(m) >= len(modes) {
		return fmt.Errorf("pacer: Mode is %d, want Wait, Reject, Degrade or Observe", int(m))
	}
	return nil
}
