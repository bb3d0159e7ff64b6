package whose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A row of letters is what became of requests, one after the other: a lower one was served, an upper one
// refused, the letter is the kind. The refusals of X are its own matter where chance does not explain them.
func TestUnservedKinds(t *testing.T) {
	ten := strings.Repeat("a", 10)
	for row, want := range map[string]bool{
		"X":                               false,
		"X" + ten + ten + "X" + ten + "X": false, // twice with others between
		"X" + ten + ten + "X" + ten + "X" + ten + "X":            true,  // one of 42 to the third power
		"X" + ten + "X" + ten + "X" + ten + "X":                  true,  // one of 32
		"XaaaaaXaaaaaXaaaaaX":                                    false, // one of 17
		"XaaaaaXaaaaaXaaaaaXaaaaaX":                              true,  // one of 22 to the fourth
		"X" + strings.Repeat("a", 300) + "X" + ten + "X":         false, // one of 312 to the second power
		"X" + strings.Repeat("a", 400) + "X" + ten + "X":         true,  // one of 412
		"X" + strings.Repeat(ten, 200) + "X":                     false, // one of 2002
		"XXXXXXXXXXXXXXXXXXXX":                                   false, // nothing is served
		strings.Repeat("Xa", 10) + "X":                           true,  // one of 12 to the tenth
		strings.Repeat("XAa", 10) + "X":                          false, // a is refused as often: it is the load
		"X" + ten + "X" + ten + "X" + ten + "xX":                 false, // one was served
		"X" + ten + "X" + ten + "xX" + ten + "X" + ten + "X":     false, // and it begins anew
		"XY" + ten + "XY" + ten + "XY" + ten + "XY" + ten + "XY": true,  // Y, of which none is served either, does not tell against it
		strings.Repeat("XYya", 5) + "X":                          false, // but if one is served, it does
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
				var p Past
				u.refuse(1, &p, &Refusal{kind, uint64(i), false, served, uint64(i)})
				if c == 'X' {
					alone = p.alone
				}
			}
			if alone != want {
				t.Errorf("got %v, want %v", alone, want)
			}
		})
	}
}

// Of one claim it must also have gone ahead of all others three times. Others of its kind may be served.
func TestPastOfAClaim(t *testing.T) {
	for _, kind := range []Kind{{}, {Path: "/a"}} {
		for name, test := range map[string]struct {
			firsts, others int // how often it went ahead; how many others were refused in each round
			want           bool
		}{
			"it goes ahead three times":         {3, 0, true},
			"twice":                             {2, 0, false},
			"others are refused about as often": {4, 5, false},
			"others are refused at times":       {4, 1, true},
		} {
			t.Run(fmt.Sprint(name, kind), func(t *testing.T) {
				var u unserved
				var p Past
				served := 0
				for round := range 6 {
					for range 10 {
						served++
						u.serve(1, kind)
					}
					for range test.others {
						u.refuse(1, &Past{}, &Refusal{kind, 0, false, served, 0})
					}
					u.refuse(1, &p, &Refusal{kind, 0, round < test.firsts, served, 0})
				}
				if p.alone != test.want {
					t.Errorf("got %v, want %v: %+v", p.alone, test.want, p)
				}
			})
		}
	}
}

// Refusals of requests that were under way together are one signal.
func TestUnservedKindsCountAFlightOnce(t *testing.T) {
	var u unserved
	for i := range 20 {
		var p Past
		if u.refuse(1, &p, &Refusal{Kind{Path: "x"}, 7, false, 10 * i, uint64(8 + i)}); p.alone {
			t.Fatalf("refusal %d of one flight: its own matter", i+1)
		}
	}
}

// Kinds are forgotten: the one that was refused longest ago where there are many, and each after unservedFor.
func TestUnservedKindsAreBounded(t *testing.T) {
	var u unserved
	for i := range 100 {
		u.refuse(1, &Past{evidence: evidence{alone: true}}, &Refusal{Kind{Path: word(i)}, 0, false, i, 0})
	}
	if k := u[byPath]; len(k.kinds) != maxUnserved || k.lucky != 100-maxUnserved {
		t.Errorf("%d kinds, %d refusals of forgotten ones, want %d and %d", len(k.kinds), k.lucky, maxUnserved, 100-maxUnserved)
	}
	now, p := monotime.Time(unservedFor), Past{}
	if u.refuse(now, &p, &Refusal{Kind{Path: word(99)}, 0, false, 100, 0}); !p.alone {
		t.Error("forgotten a nanosecond too early")
	}
	p = Past{}
	if u.refuse(now.Add(time.Nanosecond), &p, &Refusal{Kind{Path: word(98)}, 0, false, 100, 0}); p.alone || len(u[byPath].kinds) != 2 {
		t.Errorf("remembered for too long: %+v", u[byPath].kinds)
	}
}

func word(i int) string { return string(rune('a'+i/26)) + string(rune('a'+i%26)) }

// Where each request has a path of its own, those count together whose paths are alike; one of them that is
// served tells against it for all.
func TestUnservedKindsWithPathsThatAreAlike(t *testing.T) {
	for name, test := range map[string]struct {
		path   func(i int) string
		served string // after the fifth refusal; empty if none is
		want   bool
	}{
		"numbers":          {func(i int) string { return fmt.Sprintf("/poison/%d", i) }, "", true},
		"with a tail":      {func(i int) string { return fmt.Sprintf("/poison/%d/parts", i) }, "", true},
		"words":            {func(i int) string { return "/poison/" + word(i) }, "", true},
		"words and a tail": {func(i int) string { return "/poison/" + word(i) + "/parts" }, "", true},
		"a tail is served": {func(i int) string { return "/poison/" + word(i) + "/parts" }, "/other/aa/parts", true}, // /poison/*/* is not
		"both are served":  {func(i int) string { return "/poison/" + word(i) + "/parts" }, "/poison/aa/parts", false},
		"words on top":     {func(i int) string { return "/" + word(i) + "/parts" }, "", true},
		"words behind":     {func(i int) string { return "/poison/" + word(i) + "/" + word(i+1) }, "", true},
		"words alone":      {func(i int) string { return "/" + word(i) + "/" + word(i+1) }, "", false},
		"words at the top": {func(i int) string { return "/" + word(i) }, "", false}, // so is all else
		"one is served":    {func(i int) string { return fmt.Sprintf("/poison/%d", i) }, "/poison/77", false},
		"one beside it":    {func(i int) string { return fmt.Sprintf("/poison/%d", i) }, "/poison/77/parts", true},
	} {
		t.Run(name, func(t *testing.T) {
			var u unserved
			served, alone := 0, false
			for i := range 6 {
				for range 20 {
					served++
					u.serve(1, Kind{Path: "/good"})
				}
				var p Past
				u.refuse(1, &p, &Refusal{Kind{Path: test.path(i)}, uint64(i), false, served, uint64(i)})
				if alone = p.alone; i == 4 && test.served != "" {
					u.serve(1, Kind{Path: test.served})
				}
			}
			if alone != test.want {
				t.Errorf("got %v, want %v: %+v", alone, test.want, u)
			}
		})
	}
}

// What is seen of a claim goes for the others of its kind, but not if one of them was served since its first
// refusal.
func TestAloneGoesForItsKind(t *testing.T) {
	kind := Kind{Verb: "GET", Path: "/a"}
	for served, want := range map[int]bool{7: true, 10: false} {
		var u unserved
		claim, other := &Past{evidence: evidence{refusals: 5, served: 7, alone: true}}, &Past{}
		u.refuse(1, claim, &Refusal{kind, 1, false, served, 2})
		u.refuse(2, other, &Refusal{kind, 3, false, served, 4})
		if other.alone != want {
			t.Errorf("%d were served at the first refusal of the claim, and %d when others of its kind were refused: another one is alone %v, want %v", claim.served, served, other.alone, want)
		}
	}
}

// TestKindsAreShort: of a path without an end, little is kept; and what is kept recognizes the path.
func TestKindsAreShort(t *testing.T) {
	const most = 2 * maxKindPath // a star may take the place of an empty part
	kind := Kind{"GET", strings.Repeat("/path", 1<<16)}
	if k := kind.WithoutIDs(); len(k.Path) > most || !k.Fits(&kind) {
		t.Errorf("%d bytes are kept of a path, want %d at most", len(k.Path), most)
	}
	var u unserved
	for way := range u {
		for range 2 {
			u[way].refuse(1, &Past{}, &Refusal{kind, 0, false, 1, 1}, way)
		}
		if k := u[way].kinds; len(k) != 1 || k[0].all != 2 || len(k[0].kind.Path) > most {
			t.Errorf("way %d: %d kinds were refused, the first with %d bytes, %d times", way, len(k), len(k[0].kind.Path), k[0].all)
		}
		if u[way].serve(1, kind, way); len(u[way].kinds) != 0 {
			t.Errorf("way %d: it was served, and is not found", way)
		}
	}
}
