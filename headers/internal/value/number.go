package value

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

// Number is an unsigned decimal: digits, perhaps a point and more digits.
type Number struct {
	Whole  int64 // saturates at math.MaxInt64
	Nanos  int64 // of the fraction, 0 to 999 999 999
	Digits int   // how many digits the fraction has
}

// ParseNumber reads a number that was trimmed. It accepts less than strconv does:
// no sign, exponent, hexadecimal, underscore, NaN or Inf, and ASCII digits only.
func ParseNumber(s string) (n Number, ok bool) {
	if s == "" || len(s) > MaxNumber {
		return n, false
	}
	i := 0
	for ; i < len(s) && IsDigit(s[i]); i++ {
		d := int64(s[i] - '0')
		if n.Whole >= math.MaxInt64/10 && (n.Whole > math.MaxInt64/10 || d > math.MaxInt64%10) {
			n.Whole = math.MaxInt64
			continue
		}
		n.Whole = n.Whole*10 + d
	}
	if i == len(s) {
		return n, true
	}
	if i == 0 || s[i] != '.' || i+1 == len(s) {
		return Number{}, false
	}
	scale := int64(time.Second)
	for i++; i < len(s); i++ {
		if !IsDigit(s[i]) {
			return Number{}, false
		}
		n.Digits++
		scale /= 10 // zero after nine digits: the rest is finer than a nanosecond
		n.Nanos += int64(s[i]-'0') * scale
	}
	return n, true
}

// cutNumber cuts a text behind the number with which it begins. ok is false if it begins with none.
func cutNumber(s string) (n Number, rest string, ok bool) {
	i := 0
	for i < len(s) && (IsDigit(s[i]) || s[i] == '.') {
		i++
	}
	n, ok = ParseNumber(s[:i])
	return n, s[i:], ok
}

// Duration returns n units, saturating at most, and the resolution of that statement: a
// unit, or the tenth, hundredth, … of a unit that the last digit of the fraction counts.
func (n Number) Duration(unit, most time.Duration) (d, resolution time.Duration) {
	resolution = unit
	for range n.Digits {
		resolution /= 10
	}
	resolution = max(resolution, 1)
	high, low := bits.Mul64(uint64(n.Whole), uint64(unit))
	if high > 0 || low > uint64(most) {
		return most, resolution
	}
	d = time.Duration(low)
	if n.Nanos > 0 { // billionths of the unit
		d += time.Duration(float64(n.Nanos) * (float64(unit) / float64(time.Second)))
	}
	return min(d, most), resolution
}

// Float returns n as a float64.
func (n Number) Float() float64 { return float64(n.Whole) + float64(n.Nanos)/1e9 }

// Grouping is how sure it is that commas in a text group the digits of one number, as in "1,000", and
// do not separate the members of a list.
type Grouping int

// Groupings, the surer last.
const (
	NotGrouped   Grouping = iota
	MaybeGrouped          // "1,234": a number, or 1 and 234
	Grouped               // "1,000" and "1,234.5": nobody writes 000
)

// GroupingOf returns how sure it is that the commas in a trimmed text group digits.
func GroupingOf(s string) Grouping {
	head, rest, ok := strings.Cut(s, ",")
	if !ok || len(s) > MaxNumber || len(head) > 3 || head == "" || head[0] == '0' {
		return NotGrouped
	}
	g := MaybeGrouped
	for ok {
		var three string
		if three, rest, ok = strings.Cut(rest, ","); len(three) < 3 || len(three) > 3 && (ok || three[3] != '.') {
			return NotGrouped
		}
		if three[0] == '0' || len(three) > 3 {
			g = Grouped
		}
		head += three
	}
	if _, ok := ParseNumber(head); !ok {
		return NotGrouped
	}
	return g
}

// Below reports whether n is above zero and below one, of which nothing can be counted.
func (n Number) Below() bool { return n.Whole == 0 && n.Nanos > 0 }
