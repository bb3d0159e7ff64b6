//go:build unix

package main

import (
	"os"
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerEnv); dir != "" {
		work(dir)
		return
	}
	os.Exit(m.Run())
}

// TestProcesses is a short soak: processes that are killed at any instant, and stopped, send no more than what
// is granted; and no more than 3 beyond it for each time that their directory is removed.
func TestProcesses(t *testing.T) {
	before, during, after = 500*time.Millisecond, 1500*time.Millisecond, 500*time.Millisecond
	*members = 3
	for _, f := range faults {
		switch f.name {
		case "kill", "stop", "truncate", "remove":
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				c := &cell{fault: f, mode: "closed"}
				if err := c.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				sum := 0
				for _, s := range c.sends {
					sum += len(s)
				}
				v := c.worst()
				if v.over > 3*c.removals {
					t.Errorf("%d over: %v", v.over, v.notes)
				}
				if c.lost > float64(*claims) {
					t.Errorf("%.1f slots of %s went unused for each process that was killed", c.lost, c.lostOf)
				}
				if sum < 100 {
					t.Errorf("%d were sent: the test is not worth much", sum)
				}
			})
		}
	}
}

// TestOver has histories whose excess is known. Each is seen up to slack, 40 ms, late.
func TestOver(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		text  string
		sends []sending
		want  int
	}{
		{"100/s burst 20", sent(0, 24, 1, 0), 0}, // the burst, and what slack lets through
		{"100/s burst 20", sent(0, 30, 1, 0), 6},
		{"100/s burst 20", sent(0, 1000, 1, 10*ms), 0},
		{"100/s burst 20", append(sent(0, 100, 1, 10*ms), sent(s, 34, 1, 0)...), 10},
		{"100/s burst 300", sent(0, 3, 200, 0), 296},
		{"100/s even", sent(0, 6, 1, 0), 0}, // one, one ahead, and what slack lets through
		{"100/s even", sent(0, 9, 1, 0), 3},
		{"60/2s log", append(sent(0, 60, 1, 0), sent(1970*ms, 5, 1, 0)...), 0},
		{"60/2s log", append(sent(0, 60, 1, 0), sent(1950*ms, 5, 1, 0)...), 5},
		{"60/2s window grid", append(sent(1990*ms, 60, 1, 0), sent(2100*ms, 60, 1, 0)...), 0},
		{"60/2s window grid", append(sent(2050*ms, 60, 1, 0), sent(3900*ms, 3, 1, 0)...), 3},
	} {
		if got := over(&quota.MustParse(test.text).Explicit()[0], test.sends); got != test.want {
			t.Errorf("%s, %d sendings: %d over, want %d", test.text, len(test.sends), got, test.want)
		}
	}
}
