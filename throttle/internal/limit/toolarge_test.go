package limit

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/gopacer/pacer/quota"
)

// Advice that Validate refuses, or with which the cost is refused again, is worse than none.
func TestTooLargeAdvisesNothingThatRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"5/s":                               `50; it grants at most 5 at once: claim less and settle the rest, or write "5/s debt" (a token bucket: up to 10 in any second, and one such cost)`,
		"5/s queue 3":                       `50; it grants at most 5 at once: claim less and settle the rest, or write "5/s debt queue 3" (a token bucket: up to 10 in any second, and one such cost)`,
		"5/s even":                          `50; it grants at most 1 at once: claim less, or write "5/s burst 50" or "5/s even debt"`,
		"5/s burst 10 as calls":             `50; it grants at most 10 at once: claim less, or write "5/s burst 50 as calls" or "5/s burst 10 debt as calls"`,
		"5 tokens/s burst 10 queue 3":       `50 tokens; it grants at most 10 tokens at once: claim less, or write "5 tokens/s burst 50 queue 3" or "5 tokens/s burst 10 debt queue 3"`,
		"5B/s burst 10B":                    `50 bytes; it grants at most 10 bytes at once: claim less, or write "5B/s burst 50B" or "5B/s burst 10B debt"`,
		"500B/s streamed":                   `50 bytes; it grants at most 25 bytes at once: claim less, or write "500B/s burst 50B streamed"`,
		"100B/s streamed burst 40B overall": `50 bytes; it grants at most 40 bytes at once: claim less, or write "100B/s burst 50B streamed overall"`,
		"10/m window":                       `50; it grants at most 10 at once: claim less and settle the rest, or write "10/m debt" (a token bucket: up to 20 in any minute, and one such cost)`,
		"10/2h window grid as x":            `50; it grants at most 10 at once: claim less and settle the rest, or write "10/2h debt as x" (a token bucket: up to 20 in any 2h, and one such cost)`,
		"10 tokens/h log":                   `50 tokens; it grants at most 10 tokens at once: claim less and settle the rest, or write "10 tokens/h debt" (a token bucket: up to 20 in any hour, and one such cost)`,
		"10/m sliding":                      `50; it grants at most 10 at once: claim less and settle the rest, or write "10/m debt" (a token bucket: up to 20 in any minute, and one such cost)`,
		"10/m sliding 5 queue 7 as \"a b\"": `50; it grants at most 10 at once: claim less and settle the rest, or write "10/m debt queue 7 as \"a b\"" (a token bucket: up to 20 in any minute, and one such cost)`,
		"10 \"calls\"/d estimate":           `50 calls; it grants at most 10 calls at once: claim less and settle the rest, or write "10 \"calls\"/d debt" (a token bucket: up to 20 in any day, and one such cost)`,
		"10 tokens in flight":               `50 tokens; it grants at most 10 tokens at once: claim less`,
		"10 tokens unanswered":              `50 tokens; it grants at most 10 tokens at once: claim less`,
	} {
		for _, share := range []float64{0, 0.5} {
			qs := quota.MustParse(text).Explicit()
			cost := 50
			if share > 0 && Most(&qs[0]) > 1 { // granted to urgent claims
				cost = int(Most(&qs[0]))
			}
			if left := Unreserved(qs, share); share > 0 {
				if _, ok := New(left[0], 0).When(0, 0, int64(cost)); ok {
					t.Fatalf("%s: %d is not too large", text, cost)
				}
			}
			unit, got := TooLarge(qs, qs[0].Name, int64(cost), share)
			if unit != qs[0].Unit {
				t.Errorf("%s: got the unit %q", text, unit)
			}
			if share == 0 && got != want {
				t.Errorf("%s: got %s\nwant %s", text, got, want)
			}
			for _, m := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(got, -1) {
				better, _ := strconv.Unquote(m)
				read, err := quota.Parse(better)
				if err != nil || read.String() != better {
					t.Fatalf("%s: advice %s: %v", text, better, err)
				}
				read = read.Explicit()
				if share > 0 {
					read = Unreserved(read, share)
				}
				if _, ok := New(read[0], 0).When(0, 0, int64(cost)); !ok {
					t.Errorf("%s: advice %s does not grant %d with a share of %v", text, better, cost, share)
				}
			}
		}
	}
}

func TestTooLargeSaysWhatIsReserved(t *testing.T) {
	qs := quota.MustParse("5/s burst 10").Explicit()
	for _, test := range []struct {
		cost  int
		share float64
		want  string
	}{
		{7, 0.5, `7; it grants at most 5 at once to claims that are not Urgent, since 0.5 of it is reserved: claim less, or write "5/s burst 14" or "5/s burst 10 debt"`},
		{50, 0, `50; it grants at most 10 at once: claim less, or write "5/s burst 50" or "5/s burst 10 debt"`},
	} {
		if _, got := TooLarge(qs, "5/s burst 10", int64(test.cost), test.share); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
	if unit, got := TooLarge(qs, "6/s", 50, 0); unit != "" || got != "50" {
		t.Errorf("%s of a quota that is not there", got)
	}
}
