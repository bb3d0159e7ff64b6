package whose

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// told is a refusal of a tenant: when the request was sent, how long the answer took, and what it says; a
// negative hold is none.
type told struct {
	tenant int
	at     time.Duration
	hold   time.Duration
}

// TestTenants: everybody is held if two tenants are told the same within a second, for no longer than both; and
// never by one.
func TestTenants(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for name, test := range map[string]struct {
		told []told
		want time.Duration // until when everybody is held after the last of them
	}{
		"one, once":                        {[]told{{1, 0, 60 * s}}, 0},
		"one, again and again":             {[]told{{1, 0, 60 * s}, {1, 10 * ms, 60 * s}, {1, 20 * ms, 60 * s}, {1, 30 * ms, 60 * s}}, 0},
		"two":                              {[]told{{1, 0, 60 * s}, {2, 100 * ms, 60 * s}}, 60 * s},
		"two, a second apart":              {[]told{{1, 0, 60 * s}, {2, s, 60 * s}}, 60 * s},
		"two, more than a second apart":    {[]told{{1, 0, 60 * s}, {2, s + 1, 60 * s}}, 0},
		"until one instant":                {[]told{{1, 0, 60 * s}, {2, 900 * ms, 59100 * ms}}, 60 * s},
		"until instants that are not one":  {[]told{{1, 0, 60 * s}, {2, 100 * ms, 61 * s}}, 0},
		"until the earlier":                {[]told{{1, 0, 61 * s}, {2, 100 * ms, 60 * s}}, 60100 * ms},
		"no hint, twice":                   {[]told{{1, 0, -1}, {2, 100 * ms, -1}}, s},
		"a hint and none":                  {[]told{{1, 0, 0}, {2, 100 * ms, -1}}, 0},
		"one in between, with other words": {[]told{{1, 0, 60 * s}, {2, 10 * ms, 9 * s}, {3, 20 * ms, 60 * s}}, 60 * s},
		"a flood of one in between":        {[]told{{1, 0, 60 * s}, {2, 1 * ms, 9 * s}, {2, 2 * ms, 8 * s}, {2, 3 * ms, 7 * s}, {3, 20 * ms, 60 * s}}, 60 * s},
		"a third is no shorter":            {[]told{{1, 0, 60 * s}, {2, 10 * ms, 60 * s}, {3, 20 * ms, 59500 * ms}}, 60 * s},
	} {
		var tenants Tenants
		var got monotime.Time
		const start = monotime.Time(1000)
		for _, r := range test.told {
			now, hold := start.Add(r.at), r.hold
			if hold < 0 {
				hold = time.Second // for want of a hint
			}
			got = tenants.Refused(now, r.tenant, now-10, r.hold, r.hold >= 0, now.Add(hold))
		}
		want := monotime.Time(0)
		if test.want > 0 {
			want = start.Add(test.want)
		}
		if got != want {
			t.Errorf("%s: until %d, want %d", name, got, want)
		}
		if since := tenants.Since(); since == 0 || since > start.Add(test.told[len(test.told)-1].at) {
			t.Errorf("%s: since %d", name, since)
		}
		if held := tenants.Served(); held != want || tenants != (Tenants{}) {
			t.Errorf("%s: served, held until %d, want %d, left %+v", name, held, want, tenants)
		}
	}
}
