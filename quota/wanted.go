package quota

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// This file is of the errors of Parse: what was expected in place of a word that cannot be read.

// prefix begins all errors of the package.
const prefix = "quota: "

// afterNumber is what may follow a number without a slash.
const afterNumber = `a span such as /m, a unit and a span such as tokens/m (of bytes, one word: 1MiB/s), "in flight" or "unanswered"`

// wantedNumber says what was expected in place of s at the beginning of a quota. Span is what a proposal has to
// have behind it: see parser.spanAfter.
func wantedNumber(s, span string) string {
	const want = "a whole number from 1, or bytes such as 500kB or 1MiB"
	if s != "" && strings.Trim(s, "0") == "" {
		return want + `, or "no limit"`
	}
	if better := wantedAmount(s, span, ""); better != "" {
		return better
	}
	digits, word := cutNumber(s)
	if _, ok := number(digits); !ok || strings.ContainsAny(word, "0123456789") {
		return want
	}
	_, isMonths := months(word)
	switch bytes := inBytes(digits, word+"B", span); {
	case bytes != "": // "10k"
		return "the number in digits, or of bytes " + bytes
	case span != "" && (isSpan(s) || isMonths): // "5s"
		return "a slash before a span: " + digits + "/" + word
	case isSpan(s): // "5s every m": how many is not said
		return want
	case span != "" && isPlainUnit(plural(word)):
		return "a blank after the number, and a span: " + digits + " " + word + span
	case isPlainUnit(plural(word)), word == "in", word == string(Unanswered):
		return "a blank after the number: " + digits + " " + word
	}
	return want
}

// wantedAmount says what was expected in place of s, where an amount should be: want, unless it is
// plain what is wrong with s. Span is as in wantedNumber.
func wantedAmount(s, span, want string) string {
	digits, suffix := cutNumber(s)
	n, ok := decimal(digits)
	if _, _, fine := parseAmount(s); fine || !ok || n.Sign() == 0 {
		return want
	}
	if suffix == "" {
		if n.IsInt() && !strings.Contains(digits, ".") {
			return "at most " + mostOfAny
		}
		return want
	}
	for _, known := range suffixes {
		if suffix != known.name {
			continue
		}
		if n.Mul(n, new(big.Rat).SetInt64(known.n)).IsInt() {
			return "at most " + mostOfAny + " bytes"
		}
		return "a whole number of bytes"
	}
	if bytes := inBytes(digits, suffix, span); bytes != "" {
		return bytes + ", in bytes"
	}
	return want
}

// mostOfAny is the largest N of each Kind, as text.
var mostOfAny = strconv.FormatInt(MaxN, 10)

// wantedUnit says what was expected in place of a unit between a number and the rest of its word. Span is as in
// wantedNumber.
func wantedUnit(number, unit, span string) string {
	if bytes := inBytes(number, unit, span); bytes != "" {
		return "bytes in one word with the number: " + bytes
	}
	if words, err := strconv.Unquote(unit); err == nil {
		if hyphened := strings.Join(strings.Fields(words), "-"); hyphened != words && isPlainUnit(hyphened) {
			return oneWord + hyphened + span
		}
	}
	return afterNumber
}

// oneWord is said of a unit of several words, before the one word that it may be.
const oneWord = "a unit of one word, such as "

// wantedAfterUnit says what was expected in place of word, which stands between a unit and the rest of the
// text: no second word of the unit, after which its span would come.
func wantedAfterUnit(first, word, rest string) string {
	second, _, slash := strings.Cut(word, "/")
	next, _, _ := strings.Cut(strings.TrimLeft(rest, blanks), " ")
	if isPlainUnit(first+"-"+second) && !slices.Contains(clauses, second) && first != "" && first != Bytes && (slash || next == "in" || next == "per" || next == string(Unanswered)) {
		return oneWord + first + "-" + second
	}
	return afterNumber
}

// wantedSpan says what was expected in place of s, where a span should be: want, unless it is plain
// what is wrong with s.
func wantedSpan(s, want string) string {
	if _, ok := duration(s); ok || s == "" {
		return want
	}
	unsigned := strings.TrimPrefix(s, "-")
	bySecond, _ := duration(s + "s")
	shape := strings.Map(func(c rune) rune { // with 1 for each number
		if '0' <= c && c <= '9' {
			return '1'
		}
		return c
	}, unsigned)
	for strings.Contains(shape, "11") {
		shape = strings.ReplaceAll(shape, "11", "1")
	}
	_, ok := duration(shape)
	switch {
	case (ok || shape == "1") && (unsigned != s || strings.Trim(s, ".0hmsudµn") == ""):
		return "more than zero"
	case shape == "1" && 0 < bySecond && bySecond <= longest:
		return "a unit too, such as " + s + "s"
	case ok, shape == "1":
		return "at most " + strconv.Itoa(int(longest/day)) + "d"
	}
	return want
}

// wantedClause says what may follow the beginning of a quota.
var wantedClause = "a comma, " + strings.Join(clauses[:len(clauses)-1], ", ") + " or " + clauses[len(clauses)-1]

// wantedAfter says what may follow a clause. After a name of one word, another one may have been meant as a
// part of the name.
func wantedAfter(name bool) string {
	if name {
		return wantedClause + `; a name of several words stands in double quotes: as "my name"`
	}
	return wantedClause
}

// cutNumber cuts s behind the digits and points with which it begins.
func cutNumber(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, ".0123456789")
	return s[:len(s)-len(rest)], rest
}

// inBytes returns how an amount of bytes is written whose suffix may be in the wrong case: "1kB or
// 1KiB" for 1KB and 1KBps, each with a span behind it. It returns nothing if the suffix is none of bytes.
func inBytes(digits, suffix, span string) string {
	suffix = withoutRate(suffix)
	for i, known := range suffixes {
		switch {
		case !strings.EqualFold(suffix, known.name):
		case i%2 == 1: // of SI: the one of IEC, which may be meant, is before it
			return digits + known.name + span + " or " + digits + suffixes[i-1].name + span
		default:
			return digits + known.name + span
		}
	}
	return ""
}

// withoutRate returns a suffix of bytes without the "ps" of bytes per second.
func withoutRate(suffix string) string {
	if n := len(suffix) - len("ps"); n > 0 && strings.EqualFold(suffix[n:], "ps") {
		return suffix[:n]
	}
	return suffix
}
