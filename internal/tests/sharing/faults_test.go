package sharing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// fault is what happens to a store for a while.
type fault struct {
	name  string
	lasts time.Duration
	down  bool
	loses bool                                    // its data, at the end
	delay func(since time.Duration) time.Duration // each way
}

func each(takes time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return takes }
}

var faults = []fault{
	{name: "none"},
	{name: "nobody reaches the server for 4 s", lasts: 4 * time.Second, down: true},
	{name: "the data is lost", loses: true},
	{name: "nobody reaches the server for 2 s, and it comes back empty", lasts: 2 * time.Second, down: true, loses: true},
	{name: "each reply takes 60 ms, for 2 s", lasts: 2 * time.Second, delay: each(30 * time.Millisecond)},
	{name: "each reply takes 140 ms, for 2 s", lasts: 2 * time.Second, delay: each(70 * time.Millisecond)},
	{name: "each reply takes 100 to 700 ms, for 10 s", lasts: 10 * time.Second, delay: func(since time.Duration) time.Duration {
		return 50*time.Millisecond + since*7919%(300*time.Millisecond)
	}},
}

// TestRateAfterAFault prints the table of redisquota's README: what part of the rate goes in eight seconds that
// begin two seconds after a fault, at the least, whenever the fault begins. A window is looked at whenever it
// may end, on average. An estimate lets go evenly after a pause what it lets go at once before: what goes later
// depends on when the pause ends.
func TestRateAfterAFault(t *testing.T) {
	texts := []string{"100/s even", "100/s burst 20", "60/2s log", "60/2s sliding", "60/2s window grid", "60/2s estimate"}
	t.Log("| fault | `" + strings.Join(texts, "` | `") + "` |")
	for _, o := range faults {
		row := "| " + o.name
		for _, text := range texts {
			if text == "60/2s estimate" && o.lasts > 0 {
				row += " | "
				continue
			}
			least := 1.0
			for begin := 6 * time.Second; begin < 8*time.Second; begin += 190 * time.Millisecond {
				if whole.Part(11, fmt.Sprint(o.name, text, begin)) {
					least = min(least, o.leaves(t, text, begin))
				}
			}
			if least < 0.98 {
				t.Errorf("%s: %s: %.3f of the rate goes, want 0.98", text, o.name, least)
			}
			row += fmt.Sprintf(" | %.3f", least)
		}
		t.Log(row + " |")
	}
}

// leaves is what part of the rate of a quota goes after a fault that begins at an instant.
func (o *fault) leaves(t *testing.T, text string, begin time.Duration) (part float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		end := begin + o.lasts
		f := &fleet{start: time.Now(), end: end + 10*time.Second}
		during := func() (time.Duration, bool) {
			d := time.Since(f.start)
			return d - begin, d >= begin && d < end
		}
		s := &away{Memory: new(store.Memory)}
		s.down = func() bool {
			_, is := during()
			return o.down && is
		}
		s.delay = func() time.Duration {
			if since, is := during(); is && o.delay != nil {
				return o.delay(since)
			}
			return 0
		}
		if o.loses {
			time.AfterFunc(end, s.Lose)
		}
		f.run(t, text, throttle.OutageClosed, []int{1, 1, 1}, slices.Repeat([]store.Store{s}, 5)...)
		f.wait.Wait()
		from, to := end+2*time.Second, end+10*time.Second
		if q := quota.MustParse(text).Explicit()[0]; q.Kind == quota.TokenBucket {
			part = rate(text, f.sends, from, to)
		} else {
			part = (average(text, f.sends, to) - average(text, f.sends, from)) * q.Per.Seconds() / (to - from).Seconds() / float64(q.N)
		}
	})
	return part
}
