package value

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseNumber(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Number
		ok   bool
	}{
		{"0", Number{}, true},
		{"007", Number{Whole: 7}, true},
		{"5.87", Number{5, 870_000_000, 2}, true},
		{"0.0000000001", Number{0, 0, 10}, true}, // finer than a nanosecond
		{"9223372036854775807", Number{Whole: math.MaxInt64}, true},
		{"9223372036854775808", Number{Whole: math.MaxInt64}, true},
		{"99999999999999999999", Number{Whole: math.MaxInt64}, true},
		{strings.Repeat("1", MaxNumber+1), Number{}, false},
		{"", Number{}, false},
		{"-1", Number{}, false},
		{"+1", Number{}, false},
		{"1e3", Number{}, false},
		{"0x1", Number{}, false},
		{"1_000", Number{}, false},
		{"1.", Number{}, false},
		{".5", Number{}, false},
		{"1.2.3", Number{}, false},
		{"\u0661", Number{}, false}, // an Arabic one
		{" 1", Number{}, false},
	} {
		if got, ok := ParseNumber(tt.text); got != tt.want || ok != tt.ok {
			t.Errorf("ParseNumber(%q) = %+v, %v, want %+v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestNumberDuration(t *testing.T) {
	for _, tt := range []struct {
		text             string
		unit             time.Duration
		want, resolution time.Duration
	}{
		{"60", time.Second, time.Minute, time.Second},
		{"1500", time.Millisecond, 1500 * time.Millisecond, time.Millisecond},
		{"1.5", time.Minute, 90 * time.Second, 6 * time.Second},
		{"0.123456789", time.Second, 123_456_789, 1},
		{"0.1234567891", time.Second, 123_456_789, 1},
		{"3601", time.Second, time.Hour, time.Second},
		{"99999999999999999999", time.Hour, time.Hour, time.Hour},
	} {
		n, _ := ParseNumber(tt.text)
		if got, resolution := n.Duration(tt.unit, time.Hour); got != tt.want || resolution != tt.resolution {
			t.Errorf("%s of %v: %v, %v, want %v, %v", tt.text, tt.unit, got, resolution, tt.want, tt.resolution)
		}
	}
}

func TestParseCount(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Count
	}{
		{"20", Count{20, true}},
		{` "20" `, Count{20, true}},
		{"20.9", Count{20, true}},
		{"20;w=21600", Count{20, true}},
		{"20 ; w=21600", Count{20, true}},
		{"99999999999999999999", Count{MaxCount, true}},
		{"-1", Count{}},
		{"unlimited", Count{}},
		{"", Count{}},
	} {
		if got := ParseCount(tt.text); got != tt.want {
			t.Errorf("ParseCount(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		text             string
		want, resolution time.Duration
		ok               bool
	}{
		{"6m0s", 6 * time.Minute, time.Second, true},
		{"1m30.5s", 90500 * time.Millisecond, 100 * time.Millisecond, true},
		{"1d", 24 * time.Hour, 24 * time.Hour, true},
		{"120ms", 120 * time.Millisecond, time.Millisecond, true},
		{"7\u00b5s", 7 * time.Microsecond, time.Microsecond, true},
		{"7\u03bcs", 7 * time.Microsecond, time.Microsecond, true},
		{"900d", MaxWindow, 24 * time.Hour, true},
		{"300d300d", MaxWindow, 24 * time.Hour, true},
		{"9999999999999s", 0, 0, false},
		{"60", 0, 0, false},
		{"-1s", 0, 0, false},
		{"1 s", 0, 0, false},
		{"1w", 0, 0, false},
		{"s", 0, 0, false},
		{"", 0, 0, false},
	} {
		got, resolution, ok := ParseDuration(tt.text, MaxWindow)
		if got != tt.want || resolution != tt.resolution || ok != tt.ok {
			t.Errorf("ParseDuration(%q) = %v, %v, %v, want %v, %v, %v", tt.text, got, resolution, ok, tt.want, tt.resolution, tt.ok)
		}
	}
}
