package limit

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

func TestCredit(t *testing.T) {
	const ms = monotime.Time(time.Millisecond)
	for name, test := range map[string]struct{ due, released, now, want monotime.Time }{
		"in time":           {100 * ms, 100 * ms, 101 * ms, 101 * ms},
		"late":              {100 * ms, 101 * ms, 101 * ms, 100 * ms},
		"late, a while ago": {100 * ms, 101 * ms, 102 * ms, 100 * ms},
		"very late":         {100 * ms, 109 * ms, 110 * ms, 108 * ms},
		"back in Lag":       {100 * ms, 101 * ms, 103 * ms, 101 * ms},
		"back later":        {100 * ms, 101 * ms, 103*ms + 1, 103*ms + 1},
	} {
		var c Credit
		if got := c.From(test.now); got != test.now {
			t.Errorf("%s: without a late release from %v, want %v", name, got, test.now)
		}
		c.Note(test.due, test.released)
		if got := c.From(test.now); got != test.want {
			t.Errorf("%s: from %v, want %v", name, got, test.want)
		}
		c.Note(test.now, test.now)
		if got := c.From(test.now); got != test.now {
			t.Errorf("%s: after one in time from %v, want %v", name, got, test.now)
		}
	}
}

// TestCreditBound: a bucket whose one waiter comes back at once, and whose timers are late, grants all of the
// rate, and no more in any second than the rate, the burst and what comes back in Lag.
func TestCreditBound(t *testing.T) {
	const rate = 10_000
	var c Credit
	now, due := monotime.Time(1), monotime.Time(1)
	var went []monotime.Time
	gap := time.Second / rate
	for now < monotime.Time(3*time.Second) {
		from := max(c.From(now), due)
		if from > now { // it waits, and the timer is late by 0.6 ms
			now = from.Add(600 * time.Microsecond)
			from = max(from, now.Add(-Lag))
		}
		c.Note(from, now)
		went = append(went, now)
		due = from.Add(gap)
	}
	if n := float64(len(went)) / 3; n < 0.995*rate {
		t.Errorf("%.0f a second, want %d", n, rate)
	}
	first := 0
	for i, at := range went {
		for at.Sub(went[first]) >= time.Second {
			first++
		}
		if n := i - first + 1; n > rate+1+int(Lag/gap) {
			t.Fatalf("%d in a second, want %d at most", n, rate+1+int(Lag/gap))
		}
	}
}
