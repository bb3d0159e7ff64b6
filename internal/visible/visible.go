// Package visible makes text that others chose fit to be printed: in errors, in logs, on a terminal.
//
// In comes text from a URL, a server or a file; out comes text that has no control character, in which nothing
// is hidden, and that is not longer than wanted. The package does not know where the text is from.
package visible

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns s with each character that cannot be seen written byte by byte as in a URL: "%0A". These are
// control characters, and with them what a terminal obeys; spaces but ' ', marks that turn the direction of
// text, and bytes that are no UTF-8. If that is longer than most bytes, it is cut, and ends with the Digest of
// s, so that two long texts can be told apart. The Text of a Text is the same.
func Text(s string, most int) string {
	if isPlain(s) && len(s) <= most {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		seen := rest[:size]
		rest = rest[size:]
		if !strconv.IsPrint(r) || r == utf8.RuneError && size == 1 {
			seen = escaped(seen)
		}
		if b.Len()+len(seen) > most {
			return cut(b.String(), most, s)
		}
		b.WriteString(seen)
	}
	return b.String()
}

// Failure returns the Text of an error of others, such as a client of a store, of 1000 bytes at most. Of each
// URL in it the user and the password are left out.
func Failure(err error) string { return Text(withoutUsers(err.Error()), 1000) }

// withoutUsers replaces what stands between "://" and the last '@' of the authority of a URL.
func withoutUsers(s string) string {
	begin, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	end := strings.IndexAny(rest, "/?# \t\n\"")
	if end < 0 {
		end = len(rest)
	}
	user := ""
	if i := strings.LastIndexByte(rest[:end], '@'); i >= 0 {
		user, rest = "…", rest[i:]
	}
	return begin + "://" + user + withoutUsers(rest)
}

// isPlain reports whether s is printable ASCII, as nearly all texts are.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// escaped returns the bytes of s as in a URL.
func escaped(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, 3*utf8.UTFMax)
	for i := range len(s) {
		b = append(b, '%', digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}

// cut returns the beginning of shown, and the digest of whole, in at most most bytes.
func cut(shown string, most int, whole string) string {
	end := "…" + Digest(whole)
	n := min(len(shown), max(most-len(end), 0))
	for n > 0 && n < len(shown) && !utf8.RuneStart(shown[n]) {
		n--
	}
	return shown[:n] + end
}

// Digest returns 12 hexadecimal digits that stand for s: the first 48 bits of SHA-256.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
