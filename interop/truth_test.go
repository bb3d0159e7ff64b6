package interop

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func after(ms ...int) (ts []time.Time) {
	for _, m := range ms {
		ts = append(ts, noon.Add(time.Duration(m)*time.Millisecond))
	}
	return ts
}

func TestTruthLeast(t *testing.T) {
	fixed := Truth{Quota: quota.Quota{N: 2, Per: 2 * time.Second, Kind: quota.FixedWindow}}
	bucket := Truth{Quota: quota.Quota{N: 10, Per: time.Second, Burst: 3}}
	queue := Truth{Quota: quota.Quota{N: 10, Per: time.Second, Burst: 3}, Queue: true}
	estimate := Truth{Quota: quota.Quota{N: 10, Per: time.Second, Kind: quota.EstimatedWindow}, Phase: 300 * time.Millisecond}
	stacked := fixed
	stacked.Also = []quota.Quota{{N: 3, Per: 10 * time.Second, Kind: quota.FixedWindow}}
	routes := Truth{Quota: quota.Quota{N: 4, Per: 2 * time.Second, Kind: quota.FixedWindow}, Narrow: 2}
	pair := Truth{Quota: quota.Quota{N: 4, Per: 2 * time.Second, Kind: quota.FixedWindow}, Instances: 2}
	probed := pair
	probed.Probed = noon.Add(-500 * time.Millisecond)
	for _, tt := range []struct {
		name   string
		truth  Truth
		before []time.Time
		start  int // ms after noon
		n      int
		want   time.Duration
	}{
		{"window, all at once", fixed, nil, 0, 2, 0},
		{"window, three of them", fixed, nil, 0, 6, 4 * time.Second},
		{"window, one used up", fixed, after(0, 10), 500, 3, 1500*time.Millisecond + 2*time.Second},
		{"window, one half used", fixed, after(0), 500, 2, 1500 * time.Millisecond},
		{"window, one over", fixed, after(0, 10), 2500, 2, 0},
		{"bucket", bucket, nil, 0, 5, 200 * time.Millisecond},
		{"bucket, half a token left", bucket, after(0, 0, 0), 50, 2, 150 * time.Millisecond},
		{"bucket, idle since", bucket, after(0, 0, 0), 1000, 3, 0},
		{"queue, served one by one", queue, nil, 0, 3, 200 * time.Millisecond},
		// 10 went in the window that began at -0.7 s and ends at 0.3 s. The eleventh goes when the
		// share of them that still counts has fallen to 9.5, rounded to 9 below that.
		{"estimate, with a phase", estimate, nil, 0, 11, 350*time.Millisecond + 1},
		{"stacked, the long window fills", stacked, nil, 0, 4, 10 * time.Second},
		{"stacked, what the short one refuses does not count in the long one", stacked, after(0, 0), 500, 1, 1500 * time.Millisecond},
		{"stacked, both are full", stacked, after(0, 0, 2000), 3000, 1, 7 * time.Second},
		{"routes, all at once", routes, nil, 0, 6, 0},
		{"routes, two windows", routes, nil, 0, 7, 2 * time.Second},
		{"instances, all at once", pair, nil, 0, 4, 0},
		{"instances, two windows", pair, nil, 0, 8, 2 * time.Second},
		// The second one has admitted a request of the balancer at -0.5 s, and begins its next window at 1.5 s,
		// where two of the requests after that wait for the first one, until 2 s.
		{"instances, the second was probed", probed, nil, 0, 4, 1500 * time.Millisecond},
		{"instances, the second was probed, and waits", probed, nil, 0, 7, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.truth.least(tt.before, noon.Add(time.Duration(tt.start)*time.Millisecond), tt.n)
			if got != tt.want {
				t.Errorf("least is %v, want %v", got, tt.want)
			}
		})
	}
}

// Without a history, the least is that of package pacertest.
func TestTruthLeastWithoutHistory(t *testing.T) {
	for _, q := range []quota.Quota{
		{N: 50, Per: 2 * time.Second, Kind: quota.FixedWindow},
		{N: 50, Per: 2 * time.Second, Kind: quota.EstimatedWindow},
		{N: 20, Per: time.Second, Burst: 10},
	} {
		truth := Truth{Quota: q}
		start := noon.Add(700 * time.Millisecond)
		if got, want := truth.least(nil, start, 300), pacertest.Least(truth.algorithm(), start, 300); got != want {
			t.Errorf("%s: least is %v, want %v", q, got, want)
		}
	}
}

func TestTruthLeastNever(t *testing.T) {
	if got := (Truth{Quota: quota.Quota{Per: time.Second, Burst: 2}}).least(nil, noon, 3); got != pacertest.Never {
		t.Errorf("least is %v, want never", got)
	}
}
