package pace

import (
	"testing"
	"time"
)

// TestMeter: what is served from one refusal to the next one is a rate if these are enough.
func TestMeter(t *testing.T) {
	for _, test := range []struct {
		name   string
		from   time.Duration // of a refusal, before now; negative if there was none
		late   int           // on their way then, and served
		served int           // sent later
		want   float64
	}{
		{"a row in four seconds", 4 * time.Second, 0, provenServed, provenServed / 4.0},
		{"and many that may have been given before", 4 * time.Second, 64, provenServed, provenServed / 4.0},
		{"fewer", 4 * time.Second, 0, provenServed - 1, 0},
		{"fewer, and many that may have been given before", 4 * time.Second, 64, provenServed - 1, 0},
		{"nothing was refused", -1, 0, provenServed, 0},
		{"in no time", 0, 0, provenServed, 0},
		{"too many to count", time.Second, 0, 2 * mostCounted, mostCounted},
	} {
		var r Rate
		m := &r.meter
		r.Serve(start, 3, Went{}) // before the refusal
		now := start.Add(time.Hour)
		if test.from >= 0 {
			m.refuse(now.Add(-test.from))
		}
		r.Serve(now, test.late, Went{BeforeRefusal: true})
		for range 2 {
			r.Serve(now, test.served/2, Went{})
		}
		r.Serve(now, test.served%2, Went{})
		got, over := m.rate(now)
		if got != test.want || got > 0 && over != test.from || got == 0 && over != 0 {
			t.Errorf("%s: %v/s over %v, want %v/s over %v", test.name, got, over, test.want, test.from)
		}
	}
}

// TestMeterOfAnotherPart: what was served before the rate became another part of itself does not say what is
// served since.
func TestMeterOfAnotherPart(t *testing.T) {
	r := Rate{rate: 10, meter: meter{from: start, served: 1000}}
	if r.Scale(0.1); r.meter != (meter{}) {
		t.Errorf("a tenth of the rate is left, and the meter has %+v", r.meter)
	}
}
