// Package spelling finds the word that was meant by one that is nearly the same: the unit of a quota, by
// "token" beside "tokens". A cost in the wrong unit would draw on nothing.
//
// Two words are nearly the same if they differ in nothing but case, blanks, the marks '-', '_' and '.', or a
// plural; or by one letter that is inserted, removed, replaced or swapped with the next in a part of four
// letters or more (replaced: five, and not the first). Words that differ in a digit are two words: "tier1" and
// "tier2".
package spelling

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Meant returns the quota that unit was probably meant for: of tells its unit, by name, and whether it is a
// limit, since one that is none ("no limit of PutRecords") is meant by nobody. Meant returns nil if there is no
// such quota, or if a quota, be it no limit, has unit itself.
func Meant[Q any](unit string, quotas []Q, of func(*Q) (unit string, limits bool)) *Q {
	for i := range quotas {
		if own, _ := of(&quotas[i]); own == unit {
			return nil
		}
	}
	for i := range quotas {
		if own, limits := of(&quotas[i]); limits && Near(unit, own) {
			return &quotas[i]
		}
	}
	return nil
}

// Near reports whether two different words are nearly the same.
func Near(a, b string) bool {
	if bits.OnesCount32(letters(a)^letters(b)) > 4 { // "query" and "queries" differ by as many; most words by more
		return false
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	whole, other := marks.Replace(a), marks.Replace(b)
	if whole == other || isPlural(whole, other) || isPlural(other, whole) {
		return true
	}
	parts, others := strings.FieldsFunc(a, isMark), strings.FieldsFunc(b, isMark)
	if len(parts) != len(others) {
		return false
	}
	differ := 0
	for i, part := range parts {
		if part != others[i] {
			if differ++; !slips(part, others[i]) {
				return false
			}
		}
	}
	return differ == 1
}

// letters returns the set of the letters of a word, whatever their case.
func letters(word string) (set uint32) {
	for _, c := range []byte(word) {
		if c |= 'a' - 'A'; isLetter(c) {
			set |= 1 << (c - 'a')
		}
	}
	return set
}

// marks takes out the marks that units may have in them, and the blanks that may be around a unit by mistake.
var marks = strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "\t", "", "\r", "", "\n", "")

func isMark(c rune) bool { return strings.ContainsRune("-_. \t\r\n", c) }

// isPlural reports whether many is the plural of one.
func isPlural(one, many string) bool {
	if one == "" || !isLetter(one[len(one)-1]) {
		return false
	}
	stem, y := strings.CutSuffix(one, "y")
	return many == one+"s" || many == one+"es" || y && many == stem+"ies"
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// slips reports whether two parts of words are so long that the one letter by which they differ is a slip.
func slips(a, b string) bool {
	at, x, y := difference([]rune(a), []rune(b))
	if slices.ContainsFunc(slices.Concat(x, y), unicode.IsDigit) {
		return false
	}
	short := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	return oneSlip(x, y) && short >= 4 && (len(x) != 1 || len(y) != 1 || short >= 5 && at > 0)
}

// OneSlip reports whether two words differ by one letter that is inserted, removed, replaced or swapped with
// the next, however short they are.
func OneSlip(a, b string) bool {
	_, x, y := difference([]rune(a), []rune(b))
	return oneSlip(x, y)
}

// oneSlip reports whether x and y, the difference of two words, are one letter that is inserted, removed,
// replaced or swapped with the next.
func oneSlip(x, y []rune) bool {
	switch {
	case len(x) <= 1 && len(y) <= 1:
		return true
	case len(x) == 2 && len(y) == 2:
		return x[0] == y[1] && x[1] == y[0]
	}
	return false
}

// difference cuts off what two words have in common, at their beginnings and at their ends. It returns where
// the rest begins, and the rest of each.
func difference(a, b []rune) (at int, x, y []rune) {
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	x, y = a[at:], b[at:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return at, x, y
}
