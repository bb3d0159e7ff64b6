package limit

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// stackOf returns the limits of quotas, of which a share is reserved.
func stackOf(t *testing.T, text string, reserve float64) *Stack {
	t.Helper()
	s := new(Stack)
	setQuotas(t, s, text, reserve)
	return s
}

func setQuotas(t *testing.T, s *Stack, text string, reserve float64) {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s.Set(1, qs.Explicit(), reserve, 0, func(int64, time.Duration) Spread { return Spread{} })
}

// open is how many claims of one request may go, one after the other.
func open(s *Stack, now monotime.Time, urgent bool) (n int) {
	for n < 100 && s.Open(now, &Demand{Claims: 1, N: n + 1}, urgent, nil) {
		n++
	}
	return n
}

// TestStackReserve: urgent claims have all of a quota, the others what is not reserved, and these draw on both.
func TestStackReserve(t *testing.T) {
	s := stackOf(t, "10/s log", 0.4)
	s.Take(1, 1, &Demand{Claims: 1, N: 2}, false)
	if got, urgent := open(s, 1, false), open(s, 1, true); got != 4 || urgent != 8 {
		t.Errorf("after 2 that are not urgent: %d and %d may go, want 4 and 8", got, urgent)
	}
	s.Take(1, 1, &Demand{Claims: 1, N: 3}, true)
	if got, urgent := open(s, 1, false), open(s, 1, true); got != 4 || urgent != 5 {
		t.Errorf("after 3 that are urgent: %d and %d may go, want 4 and 5", got, urgent)
	}
}

// TestStackSetKeepsWhatWent: a quota of another kind that remembers the same knows what went before.
func TestStackSetKeepsWhatWent(t *testing.T) {
	for _, texts := range [][2]string{{"10/s log", "8/s sliding"}, {"10/s sliding", "8/s"}, {"10/s", "8/s log"}, {"10/s window", "8/s window"}} {
		s := stackOf(t, texts[0], 0)
		s.Take(1, 1, &Demand{Claims: 1, N: 3}, false)
		if setQuotas(t, s, texts[1], 0); open(s, 1, false) != 5 {
			t.Errorf("3 went of %s, and now %s: %d may go, want 5", texts[0], texts[1], open(s, 1, false))
		}
	}
}

// TestStackInFlight: what is under way counts as claims, whatever these cost, or turn out to have cost.
func TestStackInFlight(t *testing.T) {
	s := stackOf(t, "3 in flight", 0)
	d := Demand{Claims: 1, N: 2}
	s.Take(1, 1, &d, false)
	s.Settle(2, quota.Costs{quota.Requests: 1}, nil, false)
	for _, test := range []struct {
		claims int
		want   bool
	}{{2, true}, {3, false}} {
		if got := s.Open(2, &Demand{Claims: test.claims, N: 9}, false, nil); got != test.want {
			t.Errorf("%d more claims beside one of 3: open is %v, want %v", test.claims, got, test.want)
		}
	}
	s.Settle(2, nil, Parts{{1, quota.Costs{quota.Requests: 1}}}, false)
	if s.Open(2, &Demand{Claims: 3, N: 3}, false, nil) {
		t.Error("a request that was cheaper than claimed is no longer under way")
	}
}
