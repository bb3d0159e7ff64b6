//go:build unix

package filequota

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestSettles: who begins in a directory that is new waits until processes that run would have come, if
// somebody has removed it; these do not wait, and take along what was in it. Nobody waits in a directory that
// was there before.
func TestSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, start := filepath.Join(t.TempDir(), "quotas"), time.Now()
		took := func() time.Duration { return time.Since(start) }
		if _, err := Open(dir, nil); err != nil {
			t.Fatal(err)
		}
		if d := took(); d <= 0 || d > settles { // less what the machine's clock says has passed
			t.Errorf("Open of a new directory took %v, want %v", d, settles)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		stores := []*Store{opened(t, dir, start.Add(-time.Hour)), opened(t, dir, start.Add(-time.Hour)), opened(t, dir, start.Add(-time.Hour))}
		if d := took(); d != 0 {
			t.Errorf("Open of a directory that was there took %v", d)
		}
		ask := func(i int, name string) (*process, int) {
			p := &process{m: &machine{t: t}, quotas: quota.MustParse("10/m log").Explicit(), name: name, Store: stores[i]}
			return p, p.ask(10)
		}
		runs, n := ask(0, "runs")
		if n != 10 || took() != 0 {
			t.Fatalf("got %d after %v", n, took())
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		wants := func(i int, name string, at time.Duration) {
			if _, n := ask(i, name); n != 0 || took() != at {
				t.Errorf("%s got %d at %v, want none at %v", name, n, took(), at)
			}
		}
		go wants(1, "begins", settles)
		time.Sleep(settles - 1)
		go wants(2, "begins last", settles)
		synctest.Wait()
		if n := runs.ask(10); n != 0 || took() != settles-1 {
			t.Errorf("who runs got %d at %v", n, took())
		}
		time.Sleep(time.Second)
		synctest.Wait()
	})
}
