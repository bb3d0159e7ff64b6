package pacer

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode says what happens to a request that cannot go now. Zero means not set: the Call's Mode, else the
// matching entry of Modes, else Transport.Mode, else Wait.
type Mode int

const (
	// ModeWait lets the request wait in line.
	ModeWait Mode = iota + 1
	// ModeReject returns a *throttle.Error at once.
	ModeReject
	// ModeDegrade hands the request to Fallback, which answers with a cached copy or a default, or asks another
	// host.
	ModeDegrade
	// ModeObserve sends the request all the same, and tells Trace how long it should have waited. Nothing is
	// delayed and nothing is retried. This mode is for trying pacer on a live system.
	ModeObserve
)

var modes = [...]string{"default", "Wait", "Reject", "Degrade", "Observe"}

// String returns the name of the constant.
func (m Mode) String() string {
	if m >= 0 && int(m) < len(modes) {
		return modes[m]
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}

// UnmarshalText reads the name of a constant in upper or lower case, so that modes can be strings in JSON,
// YAML and flags. The empty text is zero.
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

// MarshalText writes the name that UnmarshalText reads.
func (m Mode) MarshalText() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return []byte(strings.ToLower(m.String())), nil
}

// check returns an error if m is neither zero nor one of the constants.
func (m Mode) check() error {
	if m < 0 || int(m) >= len(modes) {
		return fmt.Errorf("pacer: Mode is %d, want Wait, Reject, Degrade or Observe", int(m))
	}
	return nil
}
