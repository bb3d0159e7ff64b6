package charge

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
)

// A nil Extra is that of a grant of requests.
func TestNil(t *testing.T) {
	var x *Extra
	x.Release(quota.InFlight, quota.Unanswered)
	if of := x.Of(3); x.Claimed() != nil || x.CostOrNil() != nil || of.Demand.N != 3 || of.Demand.Claims != 1 || len(of.Slots) != 0 {
		t.Errorf("claimed %v, cost %v, of three requests %+v", x.Claimed(), x.CostOrNil(), of)
	}
}

func TestExtra(t *testing.T) {
	inFlight := limit.Stack{}
	inFlight.Set(0, quota.Quotas{{N: 2, Kind: quota.InFlight}}.Explicit(), 0, 0, func(int64, time.Duration) limit.Spread { return limit.Spread{} })
	d := limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{"tokens": 5}}
	inFlight.Take(1, 1, &d, false)
	inFlight.Take(1, 1, &d, false)
	x := &Extra{Charged: limit.Charged{Demand: d, Slots: inFlight.Slots(nil, &d, false)}}
	if inFlight.Open(1, &d, false, nil) {
		t.Fatal("a third may go while two are under way")
	}
	x.Release(quota.Unanswered)
	if !x.Holds(quota.InFlight) {
		t.Error("a slot of another kind was given back")
	}
	x.Release(quota.Unanswered, quota.InFlight)
	if x.Holds(quota.InFlight) || !inFlight.Open(1, &d, false, nil) {
		t.Error("the slot was not given back")
	}
	x.Correct(1, 2, quota.Costs{"tokens": 8})
	if got := x.CostOrNil().Costs["tokens"]; got != 8 || x.Claimed().Costs["tokens"] != 5 {
		t.Errorf("claimed %d tokens, cost %d, want 5 and 8", x.Claimed().Costs["tokens"], got)
	}
}
