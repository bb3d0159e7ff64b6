package value

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

func TestClock(t *testing.T) {
	date := "Mon, 02 Mar 2026 12:00:00 GMT"
	for _, tt := range []struct {
		name     string
		clock    Clock
		in, skew time.Duration // until a minute past noon
		ok       bool
	}{
		{"Date", Clock{Dates: []string{date}}, time.Minute, 0, true},
		{"Date and another clock", Clock{Dates: []string{date}, Received: noon.Add(time.Hour)}, time.Minute, time.Hour, true},
		{"no Date", Clock{Received: noon.Add(time.Second)}, 59 * time.Second, 0, true},
		{"two Dates", Clock{Dates: []string{date, date}, Received: noon.Add(time.Second)}, 59 * time.Second, 0, true},
		{"from a cache", Clock{Dates: []string{date}, Aged: true, Received: noon.Add(time.Second)}, 59 * time.Second, 0, true},
		{"a Date that is days off", Clock{Dates: []string{date}, Received: noon.Add(25 * time.Hour)}, time.Minute - 25*time.Hour, 0, true},
		{"a Date that is days ahead", Clock{Dates: []string{date}, Received: noon.Add(-25 * time.Hour)}, time.Minute, -25 * time.Hour, true},
		{"a Date that is days ahead of what is soon", Clock{Dates: []string{"Tue, 03 Mar 2026 12:00:01 GMT"}, Received: noon}, time.Minute, 0, true},
		{"a Date as far away as the local clock", Clock{Dates: []string{"Tue, 03 Mar 2026 12:02:00 GMT"}, Received: noon.Add(-24 * time.Hour)}, 24*time.Hour + time.Minute, 0, true},
		{"neither", Clock{}, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, ok := tt.clock.Until(noon.Add(time.Minute))
			if ok != tt.ok || ok && in != tt.in {
				t.Errorf("Until = %v, %v, want %v, %v", in, ok, tt.in, tt.ok)
			}
			if skew := tt.clock.Skew(); skew != tt.skew {
				t.Errorf("Skew = %v, want %v", skew, tt.skew)
			}
		})
	}
}

func TestParseDelay(t *testing.T) {
	for _, tt := range []struct {
		text string
		unit time.Duration
		want Delay
	}{
		{"120", time.Second, Delay{In: 2 * time.Minute, Resolution: time.Second, Known: true}},
		{"120", time.Millisecond, Delay{In: 120 * time.Millisecond, Resolution: time.Millisecond, Known: true}},
		{"30s", time.Millisecond, Delay{In: 30 * time.Second, Resolution: time.Second, Known: true}},
		{"1772452920", time.Second, Delay{In: 2 * time.Minute, Resolution: time.Second, Known: true, Absolute: true}},
		{"1772452920000", time.Millisecond, Delay{In: 2 * time.Minute, Resolution: time.Millisecond, Known: true, Absolute: true}},
		{"10, 60, 5", time.Second, Delay{In: time.Minute, Resolution: time.Second, Known: true}},
		{"Mon, 02 Mar 2026 11:59:00 GMT", time.Second, Delay{Resolution: time.Second, Known: true, Absolute: true}},
		{"1000000", time.Second, Delay{In: week, Resolution: time.Second, Known: true}},
		{"Sun, 01 Mar 2026 11:59:00 GMT", time.Second, Delay{}},
		{"soon, 5", time.Second, Delay{}},
		{"", time.Second, Delay{}},
	} {
		if got := ParseDelay(tt.text, tt.unit, week, &Clock{Received: noon}); got != tt.want {
			t.Errorf("ParseDelay(%q, %v) = %+v, want %+v", tt.text, tt.unit, got, tt.want)
		}
	}
}

func TestDelayLonger(t *testing.T) {
	coarse, fine, long := Delay{In: 65 * time.Second, Resolution: time.Second, Known: true}, Delay{In: 65 * time.Second, Resolution: time.Millisecond, Known: true}, Delay{In: time.Hour, Resolution: time.Hour, Known: true}
	dated := Delay{In: 65 * time.Second, Resolution: time.Second, Known: true, Absolute: true}
	for _, tt := range []struct{ a, b, want Delay }{
		{Delay{}, coarse, coarse},
		{coarse, Delay{}, coarse},
		{coarse, fine, fine},
		{fine, coarse, fine},
		{fine, long, long},
		{coarse, dated, coarse},
		{dated, coarse, coarse},
		{dated, fine, fine},
	} {
		if got := tt.a.Longer(tt.b); got != tt.want {
			t.Errorf("%+v.Longer(%+v) = %+v, want %+v", tt.a, tt.b, got, tt.want)
		}
	}
	if !(Delay{In: 64570 * time.Millisecond, Resolution: 10 * time.Millisecond, Known: true}).Finer(coarse) || coarse.Finer(fine) || (Delay{}).Finer(coarse) {
		t.Error("Finer takes two delays for one, or one for two")
	}
}

func TestParseReset(t *testing.T) {
	for _, tt := range []struct {
		text         string
		step         time.Duration
		neverInstant bool
		want         Delay
	}{
		{"60", 0, false, DelayOf(time.Minute, time.Second)},
		{"1500", time.Millisecond, false, DelayOf(1500*time.Millisecond, time.Millisecond)},
		{"1772452845", 0, false, Delay{true, 45 * time.Second, time.Second, true, 0}},
		{"1772452845", 0, true, DelayOf(Longest, time.Second)},
		{"1772452845000", time.Millisecond, false, Delay{true, 45 * time.Second, time.Millisecond, true, 0}},
		{"1772452845000000", 0, false, Delay{true, 45 * time.Second, time.Microsecond, true, 0}},
		{"1772452845000000000", 0, false, Delay{true, 45 * time.Second, time.Nanosecond, true, 0}},
		{"1772452795", 0, false, Delay{true, -1, time.Second, true, 0}},
		{"-5", 0, false, DelayOf(-1, time.Second)},
		{"--5", 0, false, DelayOf(-1, time.Second)},
		{"6m0s", 0, false, DelayOf(6*time.Minute, time.Second)},
		{"123456789", 0, false, Delay{}}, // four years, or 1973
		{"9999999999999999999", 0, true, Delay{}},
		{"soon", 0, false, Delay{}},
		{"", 0, false, Delay{}},
	} {
		if got := ParseReset(tt.text, tt.step, tt.neverInstant, &Clock{Received: noon}); got != tt.want {
			t.Errorf("ParseReset(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
	if got := ParseReset("1772452845", 0, false, &Clock{}); got != (Delay{}) {
		t.Errorf("ParseReset of an instant without a clock = %+v, want none", got)
	}
}
