package overload

import (
	"testing"
	"time"
)

// TestRecurrenceLongest: a short phase does not make a long one forgotten.
func TestRecurrenceLongest(t *testing.T) {
	r, now := recurrence{}, start
	for _, test := range []struct{ phase, want int }{{40, 40}, {30, 35}, {2, 30}, {2, 26}, {60, 60}} {
		r.take(now, true)
		now = now.Add(time.Duration(test.phase) * time.Second)
		r.take(now, true)
		r.take(now, false)
		if got := int(r.longest.Seconds()); got != test.want {
			t.Errorf("after %d s in which nothing was served: %d s, want %d", test.phase, got, test.want)
		}
	}
}

// TestRecurrence: as many are served each time before nothing is served for long. Of each row, how many were
// served in a second.
func TestRecurrence(t *testing.T) {
	for _, test := range []struct {
		name string
		rows []int
		want int // which phase of failures shows it, the first one is 1; zero if none does
	}{
		{"a window", []int{100, 100, 100}, 3},
		{"the first row says nothing", []int{10, 100, 100}, 3},
		{"nearly as many", []int{100, 100, 110}, 3},
		{"not as many", []int{100, 100, 112}, 0},
		{"later", []int{100, 50, 100, 100}, 4},
		{"few", []int{7, 7, 7, 7}, 0},
	} {
		r, now, got := recurrence{}, start, 0
		for i, n := range test.rows {
			for range n {
				now = now.Add(time.Second / 100)
				if r.take(now, false) {
					t.Errorf("%s: shown by what is served", test.name)
				}
			}
			for range 20 {
				now = now.Add(time.Second / 10)
				if r.take(now, true) {
					got = i + 1
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: shown by phase %d, want %d", test.name, got, test.want)
		}
		r.take(now, false)
		if got := r.longest; got != 1900*time.Millisecond {
			t.Errorf("%s: the longest lasted %v, want 1.9 s", test.name, got)
		}
		if r.take(now.Add(forgottenAfter+1), false); r.known() {
			t.Errorf("%s: not forgotten", test.name)
		}
	}
}
