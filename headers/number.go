package headers

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

// number is an unsigned decimal: digits, perhaps a point and more digits.
type number struct {
	whole  int64 // saturates at math.MaxInt64
	nanos  int64 // of the fraction, 0 to 999 999 999
	digits int   // how many digits the fraction has
}

// parseNumber reads a number that was trimmed. It accepts less than strconv does:
// no sign, exponent, hexadecimal, underscore, NaN or Inf, and ASCII digits only.
func parseNumber(s string) (n number, ok bool) {
	if s == "" || len(s) > maxNumber {
		return n, false
	}
	i := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		d := int64(s[i] - '0')
		if n.whole >= math.MaxInt64/10 && (n.whole > math.MaxInt64/10 || d > math.MaxInt64%10) {
			n.whole = math.MaxInt64
			continue
		}
		n.whole = n.whole*10 + d
	}
	if i == len(s) {
		return n, true
	}
	if i == 0 || s[i] != '.' || i+1 == len(s) {
		return number{}, false
	}
	scale := int64(time.Second)
	for i++; i < len(s); i++ {
		if !isDigit(s[i]) {
			return number{}, false
		}
		n.digits++
		scale /= 10 // zero after nine digits: the rest is finer than a nanosecond
		n.nanos += int64(s[i]-'0') * scale
	}
	return n, true
}

// duration returns n units, saturating at most, and the step in which it is stated.
func (n number) duration(unit, most time.Duration) (d, step time.Duration) {
	step = unit
	for range n.digits {
		step /= 10
	}
	step = max(step, 1)
	high, low := bits.Mul64(uint64(n.whole), uint64(unit))
	if high > 0 || low > uint64(most) {
		return most, step
	}
	d = time.Duration(low)
	if n.nanos > 0 { // billionths of the unit
		d += time.Duration(float64(n.nanos) * (float64(unit) / float64(time.Second)))
	}
	return min(d, most), step
}

// float returns n as a float64.
func (n number) float() float64 { return float64(n.whole) + float64(n.nanos)/1e9 }

// parseDuration reads what time.Duration prints, and days: "6m0s", "120ms",
// "1.5h", "1d". The step is that of the last part.
func parseDuration(s string, most time.Duration) (d, step time.Duration, ok bool) {
	if s == "" || len(s) > maxNumber || !isDigit(s[0]) {
		return 0, 0, false
	}
	for s != "" {
		i := 0
		for i < len(s) && (isDigit(s[i]) || s[i] == '.') {
			i++
		}
		n, ok := parseNumber(s[:i])
		if !ok || n.whole > int64(1e12) {
			return 0, 0, false // no duration that anybody means is that long
		}
		var unit time.Duration
		unit, s = cutUnit(s[i:])
		if unit == 0 {
			return 0, 0, false
		}
		if n.whole > int64(math.MaxInt64/unit)-1 {
			return 0, 0, false
		}
		var part time.Duration
		part, step = n.duration(unit, most)
		d = min(d+part, most) // both are bounded by most, far below an overflow
	}
	return d, step, true
}

// units are what durations are stated in, longer spellings first. U+00B5 and
// U+03BC are both in use as the micro sign.
var units = []struct {
	text string
	unit time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"\u00b5s", time.Microsecond},
	{"\u03bcs", time.Microsecond},
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
}

func cutUnit(s string) (time.Duration, string) {
	for _, u := range units {
		if rest, ok := strings.CutPrefix(s, u.text); ok {
			return u.unit, rest
		}
	}
	return 0, s
}

// parseWindow reads a window: a number of units, a duration, or a word.
func parseWindow(s string, unit time.Duration) time.Duration {
	s = trim(s)
	if n, ok := parseNumber(s); ok {
		d, _ := n.duration(unit, maxWindow)
		return d
	}
	if d, _, ok := parseDuration(s, maxWindow); ok {
		return d
	}
	return parsePeriod(s)
}

// maxWindow bounds Window: a leap year.
const maxWindow = 366 * 24 * time.Hour

func isDigit(b byte) bool { return b-'0' <= 9 }

// trim removes optional whitespace (RFC 9110, 5.6.3) and one pair of quotes.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	return s
}

// cleanName returns a name that is safe to keep and to print: printable ASCII, or
// nothing; a longer one is cut.
func cleanName(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	if len(s) > maxName {
		return strings.Clone(s[:maxName]) // do not keep the rest of it alive
	}
	return s
}
