package value

import (
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		text   string
		n      int64
		window time.Duration
		ok     bool
	}{
		{"150/15m", 150, 15 * time.Minute, true}, // EVE Online
		{"60/min", 60, time.Minute, true},
		{"60/m", 60, time.Minute, true},
		{"5000 per hour", 5000, time.Hour, true},
		{"60 requests per minute", 60, time.Minute, true},
		{"10r/s", 10, time.Second, true}, // nginx
		{"100 requests", 100, 0, true},
		{"100", 0, 0, false},
		{"3/2000", 0, 0, false}, // a ratio
		{"60/apple", 60, 0, false},
		{"60 apples", 0, 0, false},
		{"60/", 60, 0, false},
		{"/60", 0, 0, false},
		{"", 0, 0, false},
	} {
		n, window, ok := ParseRate(tt.text)
		if ok != tt.ok || ok && (n.Whole != tt.n || window != tt.window) {
			t.Errorf("ParseRate(%q) = %v, %v, %v, want %v, %v, %v", tt.text, n.Whole, window, ok, tt.n, tt.window, tt.ok)
		}
	}
}

func TestGroupingOf(t *testing.T) {
	for text, want := range map[string]Grouping{
		"1,000": Grouped, "1,000,000": Grouped, "1,199.97": Grouped, "12,034": Grouped, "1,234": MaybeGrouped, "999,999": MaybeGrouped,
		"1000": NotGrouped, "1, 000": NotGrouped, "1000,100": NotGrouped, "0,000": NotGrouped, "1,00": NotGrouped, "1,0000": NotGrouped,
		",000": NotGrouped, "1,000,": NotGrouped, "a,000": NotGrouped, "1,00a": NotGrouped, "1,000.5,000": NotGrouped, "": NotGrouped,
	} {
		if got := GroupingOf(text); got != want {
			t.Errorf("GroupingOf(%q) = %v, want %v", text, got, want)
		}
	}
}
