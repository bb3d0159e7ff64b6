package quota

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestParseReadsSpansInWords(t *testing.T) {
	for letter, words := range map[string][]string{
		"s": {"sec", "secs", "second", "seconds"},
		"m": {"min", "mins", "minute", "minutes"},
		"h": {"hr", "hrs", "hour", "hours"},
		"d": {"day", "days"},
	} {
		for _, word := range words {
			for text, want := range map[string]string{
				"5/" + word: "5/" + letter, "7 tokens/" + word + " burst 9": "7 tokens/" + letter + " burst 9", "1MiB/2" + word: "1MiB/2" + letter,
				"5/s warm-up 3" + word: MustParse("5/s warm-up 3" + letter).String(),
			} {
				if got, err := Parse(text); err != nil || got.String() != want {
					t.Errorf("%q is read as %q, %v, want %q", text, got, err, want)
				}
			}
		}
	}
}

// What people write for a quota is read, or answered with how it is written.
func TestParseSaysWhatWasMeant(t *testing.T) {
	for text, want := range map[string]string{
		"5 rps":                        `column 3: "rps", did you mean "5/s"`,
		"5rps":                         `column 1: "5rps", did you mean "5/s"`,
		"300 RPM burst 5":              `column 5: "RPM", did you mean "300/m"`,
		"5/s, 1000 rpd":                `column 11: "rpd", did you mean "1000/d"`,
		"5 req/s":                      `column 3: "req/s", did you mean "5/s"`,
		"5r/m":                         `column 1: "5r/m", did you mean "5/m"`,
		"5 reqs/min":                   `column 3: "reqs/min", did you mean "5/m"`,
		"100 per minute":               `column 5: "per", did you mean "100/m"`,
		"100 requests per minute":      `column 14: "per", did you mean "100/m"`,
		"100 req per minute":           `column 5: "req", did you mean "100/m"`,
		"100 requests every 2 seconds": `column 14: "every", did you mean "100/2s"`,
		"30000 tokens per day":         `column 14: "per", did you mean "30000 tokens/d"`,
		"5 a second":                   `column 3: "a", did you mean "5/s"`,
		"5 an hour":                    `column 3: "an", did you mean "5/h"`,
		"5 / s":                        `column 3: "/", did you mean "5/s"`,
		"5 /s":                         `column 3: "/s", did you mean "5/s"`,
		"5/ s":                         `column 3: nothing, did you mean "5/s"`,
		"5/10 seconds":                 `column 3: "10", did you mean "5/10s"`,
		"5/minut":                      `column 3: "minut", did you mean "5/m"`,
		"5/Hour":                       `column 3: "Hour", did you mean "5/h"`,
		"5/M":                          `column 3: "M", did you mean "5/m"`,
		"5/week":                       `column 3: "week", did you mean "5/7d"`,
		"10 concurrent":                `column 4: "concurrent", did you mean "10 in flight"`,
		"10 concurrent requests":       `column 4: "concurrent", did you mean "10 in flight"`,
		"10 requests concurrently":     `column 13: "concurrently", did you mean "10 in flight"`,
		"10 in-flight":                 `column 4: "in-flight", did you mean "10 in flight"`,
		"10inflight":                   `column 1: "10inflight", did you mean "10 in flight"`,
		"10 tokens parallel":           `column 11: "parallel", did you mean "10 tokens in flight"`,
		"10 in fligth":                 `column 7: "fligth", did you mean "flight"`,
		"10 tokens in flights":         `column 14: "flights", did you mean "flight"`,
		"10 requests unansered":        `column 13: "unansered", did you mean "unanswered"`,
		"no limits":                    `column 4: "limits", did you mean "limit"`,
		"1,000/h":                      `column 2: ",", did you mean "1000"`,
		"5/s brust 10":                 `column 5: "brust", did you mean "burst"`,
		"5/s Burst 10":                 `column 5: "Burst", did you mean "burst"`,
		"5/s bursts 10":                `column 5: "bursts", did you mean "burst"`,
		"5/s warmup 10s":               `column 5: "warmup", did you mean "warm-up"`,
		"5/s warm_up 10s":              `column 5: "warm_up", did you mean "warm-up"`,
		"5/s warm up 10s":              `column 5: "warm", did you mean "warm-up"`,
		"5/s windows":                  `column 5: "windows", did you mean "window"`,
		"5/s window gird":              `column 12: "gird", did you mean "window grid"`,
		"5/s slidng":                   `column 5: "slidng", did you mean "sliding"`,
		"5/s evenly":                   `column 5: "evenly", did you mean "even"`,
		"5/s queu 3":                   `column 5: "queu", did you mean "queue"`,

		// Of what may be meant in several ways, or in none.
		"5 calls":  `column 8: nothing, want a unit and a span`,
		"5 tpm":    `column 6: nothing, want a unit and a span`,
		"5/month":  `column 3: "month", want ms, s, m, h, d, or a duration such as 1m30s`,
		"5/s fast": `column 5: "fast", want a comma, even, burst`,
		"5/100ns":  `column 3: "100ns", want at least 1µs`,

		// Too large: the bound.
		"1125899906842625/s":             `N is 1125899906842625, want at most 1<<50, 1125899906842624`,
		"99999999999999999999/s":         `want at most 9223372036854775807`,
		"5/s warm-up 9s cold 3000000000": `column 16: "5/s warm-up 9s cold 3e+09": ColdFactor is 3e+09, want from 1 to 2147483647, or 0 for 3`,
		"5/s log cold 3":                 `column 9: "5/s log": ColdFactor is 3, want 0 without a WarmUp`,
	} {
		if strconv.IntSize < 64 && strings.HasPrefix(want, "N is") {
			continue
		}
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v\nwant %s", text, err, want)
		}
		advised(t, text, err)
	}
}

// advised checks that what an error of Parse advises can be read.
func advised(t *testing.T, text string, err error) {
	t.Helper()
	m := regexp.MustCompile(`did you mean (".*")$`).FindStringSubmatch(err.Error())
	if m == nil {
		return
	}
	better, unquoted := strconv.Unquote(m[1])
	if unquoted != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if !strings.ContainsAny(better, "/ ") || better == "window grid" {
		return // one word of it
	}
	if qs, err := Parse(better); err != nil || qs.String() != better {
		t.Errorf("%q: advised %s, which is read as %q, %v", text, better, qs, err)
	}
}
