package throttle

import (
	"testing"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// The constants of the rooms below are converted as they are.
func TestConstantsOfTheRooms(t *testing.T) {
	for here, there := range map[Cause]limit.Cause{
		CausePace: limit.Pace, CauseWarmUp: limit.WarmUp, CauseInFlight: limit.InFlight, CauseHold: limit.Hold,
		CauseWindow: limit.Window, CauseSlowStart: limit.SlowStart, CauseStore: limit.Store,
	} {
		if here != Cause(there) {
			t.Errorf("%q is %q below", here, there)
		}
	}
	if [...]Outage{OutageShare, OutageClosed, OutageOpen} != [...]Outage{Outage(lease.Share), Outage(lease.Closed), Outage(lease.Open)} {
		t.Error("an Outage differs")
	}
	if [...]Spend{SpendAuto, SpendEager, SpendBalanced, SpendEven} !=
		[...]Spend{Spend(adaptive.Auto), Spend(adaptive.Eager), Spend(adaptive.Balanced), Spend(adaptive.Even)} {
		t.Error("a Spend differs")
	}
}
