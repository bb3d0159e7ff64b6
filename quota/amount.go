package quota

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/gopacer/pacer/internal/spelling"
)

// The units that this module knows. Any other unit means something to its user alone.
const (
	// Requests is the key of Costs in requests. In structs, of this package and of others, the Unit of
	// requests is empty; Requests means the same in a Quota and in a Statement. A request counts as the
	// N of its throttle.Claim, which is 1 unless the claim says otherwise.
	Requests = "requests"

	// Bytes is the unit of amounts that are written with a suffix: 1MiB, 500kB.
	Bytes = "bytes"
)

// canonical returns the unit in the form in which units are compared: empty for requests.
func canonical(unit string) string {
	if unit == Requests {
		return ""
	}
	return unit
}

// plural returns "requests" for "request" and "bytes" for "byte", since a person may write
// "1 request/s", and any other unit as it is.
func plural(unit string) string {
	if unit+"s" == Requests || unit+"s" == Bytes {
		return unit + "s"
	}
	return unit
}

// isUnit reports whether s can be the name of a unit: at most 64 letters, digits, '-', '_' and '.',
// a letter first. Words with another meaning in the text of a quota are no units. Words that are
// nearly "requests" or "bytes" are none either, nor is "req", since a quota in a unit in which
// nothing is counted would never bind. A program that has a unit "queries" counts those by its Costs; who
// writes "5 queries/s" hardly does, so that in a text such a word must stand in double quotes: see isPlainUnit.
func isUnit(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'):
		default:
			return false
		}
	}
	for _, suffix := range suffixes {
		if strings.EqualFold(s, suffix.name) {
			return false // "5 MB"
		}
	}
	return s != "" && len(s) <= 64 && !isTaken(s)
}

// isTaken reports whether a word means something else than a unit, in the text of a quota or to those who write
// it: a quota in that unit would never bind.
func isTaken(word string) bool {
	if word == Requests || word == Bytes {
		return false
	}
	p, n := known([]string{word})
	return n > 0 && p.taken || spelling.Near(word, Requests) || spelling.Near(word, Bytes)
}

// isPlainUnit reports whether a unit stands in a text without double quotes. The words overall and streamed do
// not: who writes "5 overall/s" means "5/s overall".
func isPlainUnit(s string) bool {
	_, n := known([]string{s})
	scale, _ := scaleOf(s)
	return s == Requests || s != "overall" && s != "streamed" && n == 0 && scale == nil && inBytes("", s, "") == "" && inBytes("", s+"B", "") == "" && isUnit(s)
}

// suffixes are the suffixes of amounts of bytes, the largest first: those of SI are powers of
// 1000, those of IEC 80000-13 powers of 1024.
var suffixes = [...]struct {
	name, word string // word is the prefix in full, as in "megabytes"
	n          int64
}{
	{"TiB", "tebi", 1 << 40},
	{"TB", "tera", 1e12},
	{"GiB", "gibi", 1 << 30},
	{"GB", "giga", 1e9},
	{"MiB", "mebi", 1 << 20},
	{"MB", "mega", 1e6},
	{"KiB", "kibi", 1 << 10},
	{"kB", "kilo", 1e3},
	{"B", "", 1},
}

// scaleOf returns what the word behind a number multiplies that by, and what Parse reads in place of the word:
// 1000 for "k", a million for "MB", "MBps" and "megabytes", which are bytes, and 125 for "kbit", "kbps" and
// "kilobits", which are bytes as well. It returns nil if the word does not multiply. A suffix of bytes is
// spelled as it has to be: "KB" may be of 1000 or of 1024.
func scaleOf(word string) (scale *big.Rat, p phrase) {
	if n := multiples[word]; n > 0 {
		return big.NewRat(n, 1), p
	}
	for _, s := range suffixes {
		switch word {
		case s.name:
			return big.NewRat(s.n, 1), phrase{to: Bytes}
		case s.name + "ps":
			return big.NewRat(s.n, 1), phrase{to: Bytes + " / s"}
		}
		if rest, ok := strings.CutPrefix(strings.ToLower(word), s.word); ok && s.word != "" {
			switch rest {
			case "byte", "bytes":
				return big.NewRat(s.n, 1), phrase{to: Bytes}
			case "bit", "bits":
				return big.NewRat(s.n, 8), phrase{to: Bytes, note: noteBits}
			}
		}
	}
	for _, unit := range [...]struct{ name, to string }{{"bps", Bytes + " / s"}, {"bits", Bytes}, {"bit", Bytes}} {
		prefix, ok := strings.CutSuffix(word, unit.name)
		for _, s := range suffixes {
			if ok && strings.EqualFold(prefix+"B", s.name) {
				return big.NewRat(s.n, 8), phrase{to: unit.to, note: noteBits}
			}
		}
	}
	return nil, p
}

// amount writes n tokens of a unit as a person would, without the name of the unit: "5". Bytes are
// written with the largest suffix of which n is a whole number: "1MiB".
func amount(n int64, unit string) string {
	if canonical(unit) == Bytes {
		for _, s := range suffixes {
			if n%s.n == 0 {
				return strconv.FormatInt(n/s.n, 10) + s.name
			}
		}
	}
	return strconv.FormatInt(n, 10)
}

// parseAmount reads a positive whole number, whose unit is empty, or an amount of bytes, which may
// have decimals: "1.5MB".
func parseAmount(s string) (n int64, unit string, ok bool) {
	digits := strings.TrimRight(s, "TGMKkiB")
	if digits == s {
		n, ok = number(s)
		return n, "", ok
	}
	for _, suffix := range suffixes {
		if s[len(digits):] == suffix.name {
			n, ok = scaled(digits, suffix.n)
			return n, Bytes, ok
		}
	}
	return 0, "", false
}

// number reads a positive whole number, written in digits and nothing else.
func number(s string) (int64, bool) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n > 0
}

// count reads a number as number does, of things that are few.
func count(s string) (int, bool) {
	n, ok := number(s)
	return int(n), ok && n <= math.MaxInt32
}

// scaled reads a decimal number and returns it times unit, if that is a positive int64.
func scaled(s string, unit int64) (int64, bool) {
	r, ok := decimal(s)
	if !ok || !r.Mul(r, new(big.Rat).SetInt64(unit)).IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n := r.Num().Int64()
	return n, n > 0
}

// decimal reads digits, with a point among them at most.
func decimal(s string) (*big.Rat, bool) {
	whole, decimals, point := strings.Cut(s, ".")
	if whole == "" || point && decimals == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
