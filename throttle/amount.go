package throttle

import (
	"math/big"
	"strconv"
	"strings"
)

// The units that mean something to more than their user.
const (
	// Requests is the unit of quotas that have none: each request is N of its
	// Claim, 1 unless it says otherwise.
	Requests = "requests"

	// Bytes is written with suffixes: 1MiB, 500kB.
	Bytes = "bytes"
)

// canonical returns the unit as it is compared: that of requests is empty.
func canonical(unit string) string {
	if unit == Requests {
		return ""
	}
	return unit
}

// plural returns the unit that a person may have meant one of: "1 request/s".
func plural(unit string) string {
	if unit+"s" == Requests || unit+"s" == Bytes {
		return unit + "s"
	}
	return unit
}

// isUnit reports whether s can be the name of a unit: letters, digits, '-', '_' and
// '.', a letter first. Words that mean something else in a quota cannot, nor can what
// is nearly Requests or Bytes: a quota of a unit that nothing is counted in would
// never bind.
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
	switch p := plural(strings.ToLower(s)); {
	case p == Requests || p == Bytes:
		return s == p
	case s == "in" || s == Unanswered.String():
		return false
	}
	return s != "" && len(s) <= 64
}

// suffixes are those of amounts of bytes, the largest first: of SI (powers of 1000), and
// of IEC 80000-13 (powers of 1024).
var suffixes = [...]struct {
	name string
	n    int64
}{
	{"TiB", 1 << 40},
	{"TB", 1e12},
	{"GiB", 1 << 30},
	{"GB", 1e9},
	{"MiB", 1 << 20},
	{"MB", 1e6},
	{"KiB", 1 << 10},
	{"kB", 1e3},
	{"B", 1},
}

// amount writes n of a unit as a person would, without the unit's name: "5", but of
// bytes "1MiB", by the largest suffix of which it is a whole number.
func amount(n int, unit string) string {
	if canonical(unit) == Bytes {
		for _, s := range suffixes {
			if int64(n)%s.n == 0 {
				return strconv.FormatInt(int64(n)/s.n, 10) + s.name
			}
		}
	}
	return strconv.Itoa(n)
}

// parseAmount reads a positive whole number, or an amount of bytes, which may have
// decimals: "1.5MB". The unit is empty or Bytes.
func parseAmount(s string) (n int, unit string, ok bool) {
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

// scaled reads a decimal number of which unit times is a positive int.
func scaled(s string, unit int64) (int, bool) {
	whole, decimals, point := strings.Cut(s, ".")
	if whole == "" || point && decimals == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.Mul(r, new(big.Rat).SetInt64(unit)).IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n := r.Num().Int64()
	return int(n), n > 0 && int64(int(n)) == n
}
