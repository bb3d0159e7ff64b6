package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// TestDearRequestsKeepTheirPlace: a limit that states that less remains than a request costs explains its
// refusals, and they say nothing against its place: unless it costs more than the limit, and so may never be
// served.
func TestDearRequestsKeepTheirPlace(t *testing.T) {
	for _, test := range []struct {
		unit                    string
		cost, left, limit       int
		explained, again, paced bool
	}{
		{"", 1, 0, 1000, true, true, false},
		{"", 400, 399, 1000, true, false, false},
		{"", 400, 400, 1000, false, true, true},
		{"", 400, 399, 0, true, false, false},
		{"", 400, 299, 300, false, true, false},
		{"tokens", 400, 399, 1000, true, false, false},
		{"tokens", 400, 400, 1000, false, true, true},
		{"tokens", 400, 299, 300, false, true, false},
	} {
		var s Server
		s.Init(&Site{}, Config{MaxHold: time.Minute, Random: func() float64 { return 0 }})
		claim, said := limit.Demand{Claims: 1, N: test.cost}, []quota.Statement{{Unit: test.unit, Limit: int64(test.limit), Remaining: int64(test.left)}}
		if test.unit != "" {
			claim = limit.Demand{Claims: 1, N: 1, Costs: quota.Costs{test.unit: int64(test.cost)}}
		}
		var again bool
		for i := range 3 {
			now := monotime.Time(time.Duration(i+1) * time.Second)
			tk := Ticket{N: claim.N, Sent: now}
			s.Take(now, now, &claim, &Kind{}, 0, &tk)
			s.End(&tk, &claim)
			s.Learn(now, &tk, Kind{}, &Answer{Refused: true, Statements: said, Cost: &claim})
			again = s.RefusedAgain(&tk)
		}
		if explained, paced := s.Explain(said, &claim), !s.pace.Fresh(); explained != test.explained || again != test.again || paced != test.paced {
			t.Errorf("%+v: explained %v, refused again %v, counted for a pace %v", test, explained, again, paced)
		}
	}
}
