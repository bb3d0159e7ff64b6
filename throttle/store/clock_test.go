package store

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// machine is one whose wall clock is set.
type machine struct {
	set   time.Duration
	knows bool // for how long it has slept
}

func (m *machine) Read(start time.Time) (int64, time.Duration) {
	return time.Now().Add(m.set).UnixNano(), time.Since(start)
}

func (m *machine) Asleep() (time.Duration, bool) { return 0, m.knows }
func (m *machine) Stops() bool                   { return false } // as monotime.Clock.StartCertain has it

// TestAWallClockThatIsSetDoesNotMatter: a Memory answers as if nobody had set it, whatever the member's clock
// says.
func TestAWallClockThatIsSetDoesNotMatter(t *testing.T) {
	play := func(t *testing.T, knows bool, steps ...time.Duration) (replies []*Reply) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			on := &machine{knows: knows}
			var m Memory
			m.clock.StartBy(on)
			qs, err := quota.Parse("10/s burst 5, 20/2s log, 30/3s window grid, 40/4s estimate")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 40 {
				on.set = steps[i%len(steps)]
				r := request(qs.Explicit(), int64(i+1))
				r.Bucket, r.Since = "b", time.Millisecond // the member's clock stood still
				r.Asks = []Ask{{Cost: []int64{1, 1, 1, 1}, Count: 3, Within: time.Second}}
				reply, err := m.Exchange(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				replies = append(replies, reply)
				time.Sleep(time.Duration(i) * 137 * time.Millisecond)
			}
		})
		return replies
	}
	want := play(t, true, 0)
	for _, knows := range []bool{true, false} {
		for name, steps := range map[string][]time.Duration{
			"back": {0, 0, 0, -time.Hour}, "forward": {0, 0, 0, time.Hour}, "to and fro": {0, time.Minute, -24 * time.Hour, 3 * time.Second, 72 * time.Hour},
		} {
			for i, got := range play(t, knows, steps...) {
				if !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%s: reply %d: got %+v, want %+v", name, i, got, want[i])
				}
			}
		}
	}
}
