package adaptive

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A row of letters is what became of requests, one after the other: a lower one was served, an upper one refused, the letter
// is the kind. The refusals of X are its own matter where chance does not explain them.
func TestUnservedKinds(t *testing.T) {
	for row, want := range map[string]bool{
		"aaaaaaaaaaX":                                  false, // once
		"aaaaaaaaaaXaaaaaaaaaaXaaaaaaaaaaX":            false, // twice, with others between
		"aaaaaaaaaaXaaaaaaaaaaXaaaaaaaaaaXaaaaaaaaaaX": true,
		"XaaaaaXaaaaaXaaaaaX":                          true,  // one of 17 to the third power
		"XaaXaaXaaX":                                   false, // one of 8
		"XaaXaaXaaXaaX":                                true,  // one of 10 to the fourth
		"XXXXXXXXXXXXXXXXXXXX":                         false, // nothing is served
		"XaXaXaXaXaX":                                  true,  // one of 7 to the fifth
		"XAaXAaXAaXAaXAa":                              false, // a is refused as often: it is the load
		"XaaaaaXaaaaaXaaaaaxX":                         false, // one was served
		"XaaaaaXaaaaaXaaaaaXxXaaaaa":                   false, // and it begins anew
		"XaaaaaaaaaaYXaaaaaaaaaaYXaaaaaaaaaaYX":        true,  // the refusals of Y, which is never served either, do not tell against it
	} {
		t.Run(row, func(t *testing.T) {
			var u unserved
			served, alone := 0, false
			for i, c := range row {
				kind := Kind{Path: string(c | 0x20)}
				if c >= 'a' {
					served++
					u.serve(1, kind)
					continue
				}
				got, _ := u.refuse(1, kind, &Ticket{sequence: sequence(i)}, false, served, sequence(i))
				if c == 'X' {
					alone = got
				}
			}
			if alone != want {
				t.Errorf("got %v, want %v", alone, want)
			}
		})
	}
}

// Refusals of requests that were under way together are one signal.
func TestUnservedKindsCountAFlightOnce(t *testing.T) {
	var u unserved
	for i := range 20 {
		if own, _ := u.refuse(1, Kind{Path: "x"}, &Ticket{sequence: 7}, false, 10*i, sequence(8+i)); own {
			t.Fatalf("refusal %d of one flight: its own matter", i+1)
		}
	}
}

// Kinds are forgotten: the one that was refused longest ago where there are many, and each after unservedFor.
func TestUnservedKindsAreBounded(t *testing.T) {
	var u unserved
	for i := range 100 {
		u.refuse(1, Kind{Path: fmt.Sprint(i)}, &Ticket{sequence: sequence(i)}, true, i, sequence(i))
	}
	if len(u.kinds) != maxUnserved || u.lucky != 100-maxUnserved {
		t.Errorf("%d kinds, %d refusals of forgotten ones, want %d and %d", len(u.kinds), u.lucky, maxUnserved, 100-maxUnserved)
	}
	now := monotime.Time(unservedFor)
	if own, _ := u.refuse(now, Kind{Path: "99"}, &Ticket{sequence: 100}, false, 100, 100); !own {
		t.Error("forgotten a nanosecond too early")
	}
	if own, _ := u.refuse(now.Add(time.Nanosecond), Kind{Path: "98"}, &Ticket{sequence: 100}, false, 100, 100); own || len(u.kinds) != 2 {
		t.Errorf("remembered for too long: %+v", u.kinds)
	}
}
