package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestToldThroughOutage: what could not be told is told later, the latest word of each limit once,
// and a long outage does not make it more.
func TestToldThroughOutage(t *testing.T) {
	var told statements
	say := func(name, remaining int) {
		told.add(1, quota.Statement{Name: fmt.Sprint(name), Remaining: remaining, Reset: time.Minute, ResetKnown: true})
	}
	for call := range 100 {
		for name := range 3 {
			say(name, 1000-call)
		}
		told.send(1)
		say(0, 500-call) // while the call is under way
		told.failed()
	}
	got := told.send(monotime.Time(time.Second) + 1)
	if len(got) != 3 || got[0].Remaining != 401 || got[1].Remaining != 901 || got[2].Reset != 59*time.Second {
		t.Errorf("told %+v", got)
	}
}
