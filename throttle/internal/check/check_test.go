package check

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Of a field that bounds something, zero, negative and the largest int are told apart.
func TestEffectiveValues(t *testing.T) {
	const s, none = time.Second, time.Duration(math.MaxInt64)
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
		"patience without bounds":   {(&Bounds{MaxWait: none}).Patience(5), 0},
		"patience of MaxWait":       {(&Bounds{Expires: 7}).Patience(5), 2},
		"patience of a deadline":    {(&Bounds{Deadline: 9}).Patience(5), 4},
		"patience of the sooner":    {(&Bounds{Expires: 7, Deadline: 9}).Patience(5), 2},
		"patience until a deadline": {(&Bounds{Expires: 9, Deadline: 8}).Patience(5), 3},
		"a deadline that is now":    {(&Bounds{Expires: 9, Deadline: 5}).Patience(5), -1},
		"wakes at no end":           {(&Bounds{Deadline: 9}).Wakes(5, 3, false), monotime.Unbounded}, // its context ends it
		"wakes at its end":          {(&Bounds{Expires: 9}).Wakes(5, 3, false), 4},
		"wakes when hasty":          {(&Bounds{Expires: 9}).Wakes(5, 3, true), 3},
		"wakes, hasty for long":     {(&Bounds{Expires: 9}).Wakes(5, -3, true), 4},
		"wakes for its answer":      {(&Bounds{Expires: 9, Deadline: 7, Answer: 1}).Wakes(5, 0, true), 2},
		"wakes at an end of before": {(&Bounds{Expires: 4}).Wakes(5, 0, false), 0},
		"no patience":               {(&Bounds{AtOnce: true, Deadline: 9}).Patience(5), -1},
		"a default idling":          {IdleAfter(0), time.Minute},
		"an idling":                 {IdleAfter(s), s},
		"no idling":                 {IdleAfter(-s), monotime.Unbounded},
		"a default aging":           {Aging(0), 10 * s},
		"an aging":                  {Aging(s), s},
		"no aging":                  {Aging(-1), monotime.Longest},
		"an aging beyond all":       {Aging(none), monotime.Longest},
		"requests that are spaced":  {Spacing(quota.Quotas{{N: 5000, Per: time.Hour}, {N: 20, Per: s, Burst: 1}, {N: 1, Per: s, Kind: quota.TokenBucket, Burst: 1, Unit: "bytes"}}), 50 * time.Millisecond},
		"requests in bursts":        {Spacing(quota.Quotas{{N: 20, Per: s, Kind: quota.TokenBucket, Burst: 2}, {N: 20, Per: s, Kind: quota.TokenBucket}}), 0},
		"buckets by default":        {time.Duration(MaxBuckets(0)), 100_000},
		"a claim's cost":            {time.Duration(N(0) + N(7)), 8},
		"a claim beyond all":        {time.Duration(N(math.MaxInt)), time.Duration(min(quota.MaxN, math.MaxInt))},
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
	shared := &struct{ Store any }{}
	config := &struct {
		Name    string
		Quotas  quota.Quotas
		MaxWait time.Duration
		Rand    func() float64
		hidden  time.Duration
	}{Name: "a", MaxWait: time.Second, hidden: 1}
	if n := testing.AllocsPerRun(10, func() {
		if err := Fields(config, shared, 0.5, "", ""); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A share of all reserves everything, so that nothing would go but what is urgent.
func TestReserveIsAShare(t *testing.T) {
	for reserve, ok := range map[float64]bool{0: true, 0.5: true, 0.999: true, 1: false, -0.1: false, math.NaN(): false} {
		if err := Fields(&struct{}{}, &struct{ Store any }{}, reserve, "", ""); (err == nil) != ok {
			t.Errorf("Reserve %v: %v", reserve, err)
		}
	}
}

// A window in a store is at least twice as long as a slot of it may be used.
func TestWindowsInAStoreAreLongEnough(t *testing.T) {
	for _, test := range []struct {
		quota    string
		slotLife time.Duration
		ok       bool
	}{
		{"10/s window", 500 * time.Millisecond, true},
		{"10/s window", 500*time.Millisecond + 1, false},
		{"10/s", 500*time.Millisecond + 1, false},
		{"10/s burst 5", 2 * time.Second, true},
		{"10 in flight", 2 * time.Second, true},
	} {
		qs, err := quota.Parse(test.quota)
		if err != nil {
			t.Fatal(err)
		}
		if err := Quotas(Bucket{Name: "a", Quotas: qs, SlotLife: test.slotLife, Stored: true}, nil); (err == nil) != test.ok {
			t.Errorf("%s, SlotLife %v: %v", test.quota, test.slotLife, err)
		}
	}
	err := Quotas(Bucket{Name: "a", Quotas: quota.MustParse("20/s"), SlotLife: 600 * time.Millisecond, Stored: true}, nil)
	if want := `throttle: quota "20/s": Per is 1s, want at least twice SlotLife, 600ms: set SlotLife (of a Transport, Shared.SlotLife) to 500ms or less`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Of two spellings of one unit, the cost in that of the quota counts.
func TestSpelled(t *testing.T) {
	qs := quota.Quotas{{N: 10, Unit: "tokens"}}
	for _, test := range []struct{ costs, want quota.Costs }{
		{quota.Costs{"tokens": 9, "b": 1}, quota.Costs{"tokens": 9, "b": 1}},
		{quota.Costs{"token": 5, "b": 1}, quota.Costs{"tokens": 5, "b": 1}},
		{quota.Costs{"token": 5, "tokens": 9}, quota.Costs{"tokens": 9}},
	} {
		before := maps.Clone(test.costs)
		if got := Spelled(test.costs, qs); !maps.Equal(got, test.want) {
			t.Errorf("%v are %v, want %v", before, got, test.want)
		}
		if !maps.Equal(test.costs, before) {
			t.Errorf("%v have become %v", before, test.costs)
		}
	}
}
