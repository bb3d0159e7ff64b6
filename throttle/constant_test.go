package throttle

import (
	"testing"

	"github.com/gopacer/pacer/throttle/internal/adaptive"
	"github.com/gopacer/pacer/throttle/internal/check"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// The constants of the rooms below are converted as they are.
func TestConstantsOfTheRooms(t *testing.T) {
	for here, there := range map[Cause]limit.Cause{
		CausePace: limit.Pace, CauseWarmUp: limit.WarmUp, CauseInFlight: limit.InFlight, CauseHold: limit.Hold,
		CauseWindowUsedUp: limit.Window, CauseSlowStart: limit.SlowStart, CauseStoreNotReached: limit.Store,
	} {
		if here != Cause(there) {
			t.Errorf("%q is %q below", here, there)
		}
	}
	for here, there := range map[Outage]lease.Outage{"": lease.Share, OutageShare: lease.Share, OutageClosed: lease.Closed, OutageOpen: lease.Open} {
		if check.Outage(here) != there {
			t.Errorf("Outage %q is %d below", here, check.Outage(here))
		}
	}
	for here, there := range map[Spend]adaptive.Spend{
		"": adaptive.Auto, SpendAuto: adaptive.Auto, SpendEager: adaptive.Eager, SpendBalanced: adaptive.Balanced, SpendEven: adaptive.Even,
	} {
		if check.Spend(here) != there {
			t.Errorf("Spend %q is %d below", here, check.Spend(here))
		}
	}
}
