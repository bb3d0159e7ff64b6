package whose

import (
	"math"
	"strings"
	"testing"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// A row of letters is what became of requests, one after the other. A lower one was served, an upper one
// refused; a letter is a claim, but for a, which is another one each time. Then X, a new one, is refused.
func TestPersistence(t *testing.T) {
	ten := strings.Repeat("a", 10)
	thirty := strings.Repeat(ten, 3)
	for row, want := range map[string]Verdict{
		"":                                         OfBucket,
		"B" + ten:                                  OfBucket,   // refused once
		"B" + ten + "B":                            OfBucket,   // X is refused right after it
		"B" + ten + "Ba":                           OfBucket,   // one of 12
		"B" + thirty + "Ba":                        TryAnother, // one of 25 at most
		"B" + ten + "B" + "BBBa":                   OfBucket,   // nothing was served in between
		"B" + ten + "B" + ten + "Ba":               TryAnother, // one of 144
		"B" + ten + "B" + ten + "B":                OfBucket,   // but the latest was in vain
		"B" + ten + "B" + ten + "B" + ten + "B":    TryAnother, // one of 1728: two may be
		"B" + ten + "B" + ten + "B" + ten + "Ba":   TryAnother, //
		"B" + strings.Repeat(ten+"B", 4) + "a":     OfRequest,  // one of 20,736
		"B" + strings.Repeat(ten+"B", 4):           OfRequest,  // those that are known do not count
		"B" + strings.Repeat(ten+"B", 4) + "CDEFG": OfBucket,
		"BC" + strings.Repeat(ten+"BC", 3) + "a":   OfRequest, // of two claims, the other of which is refused beside each
		"B" + strings.Repeat("Aa", 10) + "B" + strings.Repeat("Aa", 10) + "Ba":  OfBucket,   // half of the others are refused as well
		"B" + strings.Repeat(ten+"B", 20) + "b":                                 OfBucket,   // it is served in the end
		"Bb" + "C" + strings.Repeat(ten+"C", 5) + "a":                           TryAnother, // and then it takes more
		"Bb" + "C" + strings.Repeat(ten+"C", 8) + "a":                           OfRequest,  //
		"B" + strings.Repeat(ten+"B", 4) + "Cc":                                 OfBucket,   // of another one
		"B" + strings.Repeat(ten+"B", 99) + "Cc" + "D" + strings.Repeat(ten, 5): OfBucket,
	} {
		t.Run(row, func(t *testing.T) {
			var p persistence
			sequence, latest := uint64(0), map[rune]uint64{}
			tell := func(c rune) (v Verdict) {
				sequence += 2
				name := c | 0x20
				before := latest[name]
				if c >= 'a' {
					p.serve(sequence, before != 0)
					delete(latest, name)
					return 0
				}
				v, _ = p.refuse(1, before, sequence, sequence+1, false, false)
				if name != 'a' {
					latest[name] = sequence
				}
				return v
			}
			for _, c := range row {
				tell(c)
			}
			if got := tell('X'); got != want {
				t.Errorf("got %v, want %v, with a ratio of %v", got, want, math.Exp(p.ratio))
			}
		})
	}
}

// Refusals of requests that were under way together count as one: none of them says that the look of another
// was in vain.
func TestPersistenceCountsAFlightOnce(t *testing.T) {
	for _, together := range []bool{true, false} {
		p := persistence{ratio: math.Log(ownFrom)}
		for i := range uint64(10) {
			granted := 1 + i
			if !together {
				granted = 100 + 2*i
			}
			want := OfRequest
			switch {
			case together || i == 0:
			case i < 3:
				want = TryAnother
			default:
				want = OfBucket
			}
			if got, _ := p.refuse(1, 0, granted, 101+2*i, false, false); got != want {
				t.Errorf("together %v, refusal %d: %v, want %v", together, i, got, want)
			}
		}
	}
}

// Nor do they say more than one of them could, since a window that is used up refuses all that were under way:
// here 20 of them, each of which was refused before. Those of the next flights do.
func TestPersistenceHearsAFlightOnce(t *testing.T) {
	p := persistence{}
	for flight := range uint64(3) {
		begins := 1000 * (flight + 1)
		for i := range uint64(20) {
			p.serve(begins+i, false)
		}
		for i := range uint64(20) {
			p.refuse(1, begins-1, begins+100+i, begins+200, false, false)
		}
		if got, want := p.ratio, float64(flight+1)*mostSaid; math.Abs(got-want) > 1e-9 {
			t.Errorf("after %d flights, the logarithm of the ratio is %v, want %v", flight+1, got, want)
		}
	}
}

// A row of refusals goes on without a hold for as long as what was refused before explains it: the more, the
// longer, for 32 flights at most. Of none that was served, as of few that were refused, each flight takes
// evidence of 20 to 1.
func TestPersistenceGoesOnWhereMostAreRefused(t *testing.T) {
	for _, test := range []struct{ served, refused, want int }{
		{0, 0, 3}, {31, 1, 3}, {8, 8, 10}, {8, 24, 23}, {6, 26, 30}, // (9.9 − 3.0)/log((served + refused + 2)/(refused + 1)), and one
		{4, 28, 32}, {1, 31, 32}, // which would be 44 and 114: no more than are remembered
	} {
		p := persistence{ratio: math.Log(20_000)}
		for i := range uint64(test.refused) {
			p.note(result{1 + i, true})
		}
		for i := range uint64(test.served) {
			p.serve(100+i, false)
		}
		got := 0
		for granted := uint64(200); ; granted += 2 {
			if v, _ := p.refuse(1, 0, granted, granted+1, false, false); v == OfBucket {
				break
			}
			got++
		}
		if got != test.want {
			t.Errorf("%d served, %d refused: %d flights hold nobody, want %d", test.served, test.refused, got, test.want)
		}
	}
}

// The draws are far from each other, wherever the first one is: each tenth of the line is hit within 16.
func TestDraw(t *testing.T) {
	for start := range 100 {
		p, hit := persistence{}, [10]bool{}
		for range 16 {
			hit[int(10*p.draw(func() float64 { return float64(start) / 100 }))] = true
		}
		if hit != [10]bool{true, true, true, true, true, true, true, true, true, true} {
			t.Errorf("after %v: %v", float64(start)/100, hit)
		}
	}
	if got := (*persistence)(nil).draw(func() float64 { return 0.25 }); got != 0.25 {
		t.Errorf("of nothing that is known: %v, want what chance says", got)
	}
}

// There is evidence as soon as the ratio is above one.
func TestSuspects(t *testing.T) {
	for ratio, want := range map[float64]bool{1: false, 1.01: true} {
		j := Judge{persistence: &persistence{ratio: math.Log(ratio)}}
		if got := j.Suspects(); got != want {
			t.Errorf("a ratio of %v: %v, want %v", ratio, got, want)
		}
	}
}

// Found is said once, of the refusal that shows it.
func TestPersistenceIsFoundOnce(t *testing.T) {
	var p persistence
	n := 0
	for i := range uint64(10) {
		p.note(result{granted: 4*i + 2})
		if _, found := p.refuse(1, 4*i+1, 4*i+3, 4*i+4, false, false); found {
			n++
		}
	}
	if n != 1 {
		t.Errorf("found %d times", n)
	}
}

// Others go before claims that are refused when they go first again, until one that was refused is served.
func TestOthersFirst(t *testing.T) {
	var p persistence
	for _, step := range []struct {
		before        uint64
		first, served bool
		want          bool
	}{
		{0, true, false, false}, {1, false, false, false}, {1, true, false, true}, {0, false, false, true}, {0, false, true, true}, {1, false, true, false},
	} {
		if step.served {
			p.serve(2, step.before != 0)
		} else {
			p.refuse(1, step.before, 2, 2, step.first, false)
		}
		if p.othersFirst != step.want {
			t.Errorf("%+v: %v", step, p.othersFirst)
		}
	}
}

// What became of requests is forgotten ten minutes after the latest refusal.
func TestPersistenceIsForgotten(t *testing.T) {
	var j Judge
	j.Refuse(1, &Past{}, &Refusal{})
	if j.Served(monotime.Time(unservedFor), Kind{}, 0, nil); j.persistence == nil {
		t.Error("forgotten a nanosecond too early")
	}
	if j.Served(monotime.Time(unservedFor).Add(1), Kind{}, 0, nil); j.persistence != nil {
		t.Error("remembered for too long")
	}
}

// Those before a request that went ahead and was served let others pass: once after two flights that were
// refused, and each time where looks follow refusals. Not after one that was refused itself.
func TestServedLetsOthersPass(t *testing.T) {
	for _, test := range []struct {
		flights      int
		ratio        float64
		before, want int
	}{
		{1, 1, 0, 0}, {2, 1, 0, 1}, {9, 1, 0, 1}, {2, 1, 1, 0}, {1, triesFrom, 0, math.MaxInt}, {0, triesFrom, 0, 0}, {1, triesFrom, 1, 0},
	} {
		j := Judge{persistence: &persistence{flights: test.flights, ratio: math.Log(test.ratio), refusedAt: 1}}
		if got := j.Served(2, Kind{}, 0, &Past{granted: uint64(test.before)}); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
		if got := j.Served(2, Kind{}, 0, nil); got != 0 {
			t.Errorf("%+v: %d after the next one, want 0", test, got)
		}
	}
}
