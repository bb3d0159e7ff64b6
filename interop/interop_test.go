package interop

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

func TestMain(m *testing.M) {
	Work() // the tests run cells, whose clients are processes of this program
	os.Exit(m.Run())
}

// bound is what a run may take, in multiples of the least makespan, and how many may be
// refused for every 100. Bounds are generous, since a test may not depend on a quiet
// machine: what is measured with care is printed by cmd/servers.
type bound struct{ ratio, refused float64 }

// TestServers has real servers called by pacer, which is told nothing, and by the
// oracle, which shows that the computed optimum is one: a client that knows how the
// server counts needs hardly more, and none needs less.
func TestServers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in real time")
	}
	bounds := map[string]bound{
		"oracle, one process": {2, math.Inf(1)}, // what it sends a moment too soon, it sends again until it is served
		"pacer, one process":  {2.5, 25},
	}
	var cells []Cell
	for _, s := range farm(t).Servers {
		for _, w := range Workloads(120) {
			for _, client := range Clients() {
				c := Cell{Server: s, Client: client, Workload: w}
				if _, known := bounds[client.Name+", "+w.Name]; known && c.Possible() {
					cells = append(cells, c)
				}
			}
		}
	}
	results, err := Run(t.Context(), cells, 1, 6, "", func(Result) {})
	if err != nil {
		t.Error(err)
	}
	if len(results) != len(cells) {
		t.Errorf("%d results of %d cells", len(results), len(cells))
	}
	for _, r := range results {
		t.Run(r.Cell.String(), func(t *testing.T) {
			b := bounds[r.Cell.Client.Name+", "+r.Cell.Workload.Name]
			if r.Cell.Client.Name == Pacer && strings.HasSuffix(r.Cell.Server.Name, "503") {
				b.refused = math.Inf(1) // a 503 that says nothing is a failure to pacer, not a refusal
			}
			if r.Cell.Client.Name == Oracle && r.Cell.Server.Truth.RefusalsCount {
				b.ratio *= 2 // a moment too soon costs a window
			}
			if r.Cell.Server.Spaced() {
				b = bound{2 * b.ratio, math.Inf(1)} // what comes a moment too soon, as on a busy machine, waits for a second or is refused
			}
			t.Logf("ratio %.3f, %.1f refused per 100", r.Ratio(), r.RefusedPer100())
			if !r.Done {
				t.Fatalf("%d of %d admitted, %d refused", r.Admitted, r.Wanted, r.Refused)
			}
			if r.Ratio() > b.ratio || r.Ratio() < 0.98 || r.RefusedPer100() > b.refused {
				t.Errorf("took %v, where %v is possible, with %.1f refused per 100; want 0.98 to %v times as long, and at most %v",
					r.Took, r.Least, r.RefusedPer100(), b.ratio, b.refused)
			}
		})
	}
}

// TestFreshQuota checks that what a cell has used is not missing in the next.
func TestFreshQuota(t *testing.T) {
	for _, s := range farm(t).Servers {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				count := &counter{limiter: s.Fresh()}
				url, stop, err := serve(t.Context(), count)
				if err != nil {
					t.Fatal(err)
				}
				w, err := newWorker(job{Client: "naive, 50 ms", URL: url, Callers: 4})
				if err != nil {
					t.Fatal(err)
				}
				fresh := atOnce(s.Documented())
				if s.Truth.Instances > 1 {
					fresh-- // the balancer has asked whether one lives
				}
				w.send(t.Context(), fresh)
				w.client.CloseIdleConnections()
				stop()
				for _, e := range count.seen() {
					if !e.admitted() {
						t.Errorf("answered %d, want all %d admitted", e.status, fresh)
					}
				}
			}
		})
	}
}

// farm starts the servers with quotas that take little time.
func farm(t *testing.T) *Farm {
	t.Helper()
	f := Open(context.WithoutCancel(t.Context()), Quotas{
		Windows: []quota.Quota{{N: 40, Per: 2 * time.Second}},
		Buckets: []quota.Quota{{N: 20, Per: time.Second, Kind: quota.TokenBucket, Burst: 10}},
	}, "node")
	t.Cleanup(f.Close)
	for _, err := range f.Missing {
		t.Log("left out:", err)
	}
	return f
}
