//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestOver has histories whose excess is known. Each is seen up to slack, 40 ms, late.
func TestOver(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	clockSet := &fault{clock: true}
	for _, test := range []struct {
		text  string
		fault *fault
		sends []sending
		want  int
	}{
		{"100/s burst 20", &fault{}, sent(0, 24, 1, 0), 0}, // the burst, and what slack lets through
		{"100/s burst 20", &fault{}, sent(0, 30, 1, 0), 6},
		{"100/s burst 20", &fault{}, sent(0, 1000, 1, 10*ms), 0},
		{"100/s burst 20", &fault{}, append(sent(0, 100, 1, 10*ms), sent(s, 34, 1, 0)...), 10},
		{"100/s burst 300", &fault{}, sent(0, 3, 200, 0), 296},
		{"100/s even", &fault{}, sent(0, 6, 1, 0), 0}, // one, one ahead, and what slack lets through
		{"100/s even", &fault{}, sent(0, 9, 1, 0), 3},
		{"60/2s log", &fault{}, append(sent(0, 60, 1, 0), sent(1970*ms, 5, 1, 0)...), 0},
		{"60/2s log", &fault{}, append(sent(0, 60, 1, 0), sent(1950*ms, 5, 1, 0)...), 5},
		{"60/2s window grid", &fault{}, append(sent(1990*ms, 60, 1, 0), sent(2100*ms, 60, 1, 0)...), 0},
		{"60/2s window grid", &fault{}, append(sent(2050*ms, 60, 1, 0), sent(3900*ms, 3, 1, 0)...), 3},
		{"60/2s window grid", clockSet, append(sent(2050*ms, 60, 1, 0), sent(3900*ms, 63, 1, 0)...), 3}, // nobody knows the windows
	} {
		q := &quota.MustParse(test.text).Explicit()[0]
		c := &cell{fault: *test.fault}
		if got := c.over(q, test.sends); got != test.want {
			t.Errorf("%s, %d sendings: %d over, want %d", test.text, len(test.sends), got, test.want)
		}
	}
}
