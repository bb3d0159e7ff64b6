package adaptive

import (
	"testing"
	"time"
)

// TestSkew: each answer leaves a second and its round trip open, and a tick of Date between two leaves their distance.
func TestSkew(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type said struct{ ahead, roundTrip time.Duration }
	for _, test := range []struct {
		name        string
		said        []said
		least, most time.Duration
		differ      bool // the last answer shows that clocks which were taken to agree do not
	}{
		{"agree", []said{{300 * ms, 0}}, 0, 0, false},
		{"agree, within the round trip", []said{{-50 * ms, 100 * ms}}, 0, 0, false},
		{"ahead", []said{{3 * s, 100 * ms}}, 2 * s, 3*s + 100*ms, false},
		{"behind", []said{{-3 * s, 0}}, -4 * s, -3 * s, false},
		{"a tick", []said{{3 * s, 0}, {2*s + 10*ms, 0}}, 2 * s, 2*s + 10*ms, false},
		{"agreed", []said{{900 * ms, 0}, {100 * ms, 0}}, 0, 0, false},
		{"a tick shows that they do not", []said{{500 * ms, 0}, {-400 * ms, 0}}, -500 * ms, -400 * ms, true},
		{"a clock was set", []said{{0, 0}, {time.Hour, 0}}, time.Hour - s, time.Hour, true},
		{"and set back", []said{{time.Hour, 0}, {0, 0}}, 0, 0, false},
	} {
		var k skew
		var differ bool
		for _, said := range test.said {
			differ = k.note(said.ahead, said.roundTrip)
		}
		if least, most := k.bounds(); least != test.least || most != test.most || differ != test.differ {
			t.Errorf("%s: [%v, %v], differ %v; want [%v, %v], %v", test.name, least, most, differ, test.least, test.most, test.differ)
		}
	}
}
