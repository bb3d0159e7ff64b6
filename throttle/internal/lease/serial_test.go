package lease

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/store"
)

// TestSerialAfterLostReply: the store does twice what it is told with one serial only if it is the
// same. So what is told first after a call whose reply was lost is not of the serial of that call.
func TestSerialAfterLostReply(t *testing.T) {
	charge := func(l *Lease, n int) { l.Settle(at(0), nil, quota.Costs{quota.Requests: n}, nil, false) }
	for name, c := range map[string]struct {
		before int // what the call whose reply is lost tells of
		set    bool
		left   int // of 100, after 50 more
	}{
		"it told of the old quotas":               {before: 30, set: true, left: 20},
		"it told of nothing":                      {before: 0, left: 50},
		"it told of nothing, and of other quotas": {before: 0, set: true, left: 50},
		"it is told again":                        {before: 30, left: 20},
	} {
		for _, arrived := range []bool{false, true} {
			var ledger store.Ledger
			now := time.Duration(0)
			tell := func(r *store.Request) *store.Reply {
				reply, _, err := ledger.Exchange(now, r)
				if err != nil {
					t.Fatal(err)
				}
				return reply
			}
			exchange := func(l *Lease) *Call {
				c := l.Next(at(now), 0, queue())
				if c != nil {
					l.Step(at(now), at(now), c, tell(c.Request), nil, false)
				}
				return c
			}
			l := newLease(t, "100/h log", 0)
			l.mustCall = true
			exchange(l) // the store knows the member
			charge(l, c.before)
			l.mustCall = true
			lost := l.Next(at(0), 0, queue())
			if arrived {
				tell(lost.Request)
			}
			l.Step(at(0), at(0), lost, nil, errDown, false)
			if c.set {
				l.Set(parse(t, "100/h log"), 0)
			}
			charge(l, 50)
			for range 2 { // what the lost call told, and then the rest
				now += probeEvery
				l.Tick(at(now), 0)
				exchange(l)
				now += Horizon
				l.Tick(at(now), 0)
				exchange(l)
			}
			tell(l.Farewell(at(now), 0)) // else its part is left to it: it might have sent without the store
			other := &store.Request{Version: 1, Quotas: parse(t, "100/h log"), Late: 100 * ms, Horizon: Horizon, Member: "other", Serial: 1}
			other.Asks = []store.Ask{{Cost: []int{1}, Count: 100, Within: 0}}
			got := 0
			for _, o := range tell(other).Slots {
				got += o.Count
			}
			want := c.left // also what was to be told of the old quotas, once
			if got != want {
				t.Errorf("%s, arrived %v: another member gets %d at once, want %d", name, arrived, got, want)
			}
		}
	}
}
