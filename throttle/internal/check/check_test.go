package check

import (
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Of a field that bounds something, zero, negative and the largest int are told apart.
func TestEffectiveValues(t *testing.T) {
	const s, none = time.Second, time.Duration(math.MaxInt)
	for name, c := range map[string]struct{ got, want time.Duration }{
		"no bound by zero":          {Bound(0), monotime.Unbounded},
		"no bound":                  {Bound(none), monotime.Unbounded},
		"a bound of zero":           {Bound(-s), 0},
		"a bound":                   {Bound(s), s},
		"a bound beyond all":        {Bound(none - 1), min(monotime.Longest, none)},
		"a default hold":            {MaxHold(0), 15 * time.Minute},
		"no hold":                   {MaxHold(-1), 0},
		"any hold":                  {MaxHold(none), monotime.Longest},
		"any reset":                 {MaxReset(0, none), 0},
		"a reset within MaxWait":    {MaxReset(0, s), s},
		"a reset within both":       {MaxReset(s, 2*s), s},
		"no reset is waited for":    {MaxReset(s, -1), 0},
		"buckets by default":        {time.Duration(MaxBuckets(0)), 100_000},
		"buckets in use":            {time.Duration(MaxBuckets(-1)), 0},
		"as many buckets as may be": {time.Duration(MaxBuckets(math.MaxInt)), time.Duration(math.MaxInt)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// Every new bucket is checked: that must cost little.
func TestWhatIsFineAllocatesNothing(t *testing.T) {
	config := &struct {
		Name    string
		Quotas  quota.Quotas
		MaxWait time.Duration
		Rand    func() float64
		hidden  time.Duration
	}{Name: "a", MaxWait: time.Second, hidden: 1}
	if n := testing.AllocsPerRun(10, func() {
		if err := Fields(config, 0.5, OfStore{}); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
