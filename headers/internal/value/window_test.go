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
