package value

import (
	"testing"
	"time"
)

func TestWindowOf(t *testing.T) {
	for _, tt := range []struct {
		word string
		want time.Duration
		ok   bool
	}{
		{"minute", time.Minute, true},
		{"daily", 24 * time.Hour, true},
		{"qps", time.Second, true},
		{"10s", 10 * time.Second, true},
		{"15min", 15 * time.Minute, true},
		{"24hour", 24 * time.Hour, true},
		{"24hours", 24 * time.Hour, true},
		{"monthly", 0, true}, // has no fixed length
		{"2month", 0, false},
		{"0min", 0, false},
		{"15", 0, false},
		{"requests", 0, false},
		{"", 0, false},
	} {
		if got, ok := WindowOf(tt.word); got != tt.want || ok != tt.ok {
			t.Errorf("WindowOf(%q) = %v, %v, want %v, %v", tt.word, got, ok, tt.want, tt.ok)
		}
	}
	for word, want := range map[string]bool{"year": true, "permonth": true, "week": false, "requests": false} {
		if got := IsLong([]string{"of", word}); got != want {
			t.Errorf("IsLong(%q) = %v, want %v", word, got, want)
		}
	}
}

func TestParseWindow(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"60", time.Minute},
		{" 60 ", time.Minute},
		{"1m30s", 90 * time.Second},
		{"per_hour", time.Hour},
		{"QPS", time.Second},
		{"rpm", time.Minute},
		{"60rpm", 0}, // how many, and not in which time
		{"five minutes", 5 * time.Minute},
		{"half_hour", 30 * time.Minute},
		{"quarter-day", 6 * time.Hour},
		{"several minutes", 0},
		{"two half days", 0},
		{"five", 0},
		{"half-month", 0},
		{"Daily-limit", 24 * time.Hour},
		{"99999999999", MaxWindow},
		{"month", 0},
		{"minute hour", 0},
		{"heavy", 0},
		{"", 0},
	} {
		if got := ParseWindow(tt.text, time.Second); got != tt.want {
			t.Errorf("ParseWindow(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}

// TestWindowAtEnd reads windows at the end of words and of names.
func TestWindowAtEnd(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"highcostget3min": 3 * time.Minute, "HighCostGet30Min": 30 * time.Minute, "10s": 10 * time.Second, "UserByMinute": time.Minute,
		"per_hour": time.Hour, "requests-per-day": 24 * time.Hour, "k8s": 0, "p2p": 0, "b2b": 0, "oauth2": 0, "min": time.Minute, "": 0, "3": 0,
		"Hyper": 0, "month": 0, "get3month": 0,
	} {
		if got := WindowOfName(s); got != want {
			t.Errorf("WindowOfName(%q) = %v, want %v", s, got, want)
		}
	}
}

// TestWindowName checks that the names of windows are read as these.
func TestWindowName(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day", 7 * 24 * time.Hour: "week",
		30 * 24 * time.Hour: "month", 15 * time.Minute: "15m", 10 * time.Second: "10s", 6 * time.Hour: "6h", 90 * time.Minute: "1h30m", 48 * time.Hour: "2d",
	} {
		if got := WindowName(d); got != want {
			t.Errorf("WindowName(%v) = %q, want %q", d, got, want)
		}
		if got, _ := WindowOf(want); got != d && want != "month" {
			t.Errorf("WindowOf(%q) = %v, want %v", want, got, d)
		}
	}
}
