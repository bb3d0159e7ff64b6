package pacer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle"
)

// TestModeIsText: modes are strings in JSON, YAML and flags. Validate finds what is none.
func TestModeIsText(t *testing.T) {
	for _, mode := range []Mode{"", ModeWait, ModeReject, ModeDegrade, ModeObserve} {
		text, err := json.Marshal(struct{ Mode Mode }{mode})
		if err != nil || string(text) != fmt.Sprintf(`{"Mode":%q}`, string(mode)) {
			t.Errorf("%q is %s, %v", mode, text, err)
		}
		var c struct{ Mode Mode }
		if err := json.Unmarshal(text, &c); err != nil || c.Mode != mode || mode.check() != nil {
			t.Errorf("%s is %q, %v, %v", text, c.Mode, err, mode.check())
		}
	}
	for _, bad := range []Mode{"hold", "Wait", "wait ", "1"} {
		if err := bad.check(); err == nil || err.Error() != fmt.Sprintf("pacer: Mode is %q, want wait, reject, degrade or observe", string(bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestBoundsOfARequestGoByTheMonotonicClock: if the wall clock is set while a request waits to be sent again,
// MaxElapsed is as far away as it was.
func TestBoundsOfARequestGoByTheMonotonicClock(t *testing.T) {
	var l throttle.Limiter
	g, err := l.Acquire(t.Context(), throttle.Claim{})
	if err != nil {
		t.Fatal(err)
	}
	first := new(Transport).newExchange(nil, &terms{}, g, nil).firstSent
	if !strings.Contains(first.String(), " m=") || !first.Round(0).Equal(ofThrottle.Time(g)) {
		t.Errorf("first sent at %v, want %v with the monotonic clock", first, ofThrottle.Time(g))
	}
}
