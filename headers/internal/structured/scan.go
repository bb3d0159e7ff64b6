package structured

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Bounds of what is read by scanning.
const (
	FewMembers = 4   // members of a list
	shortField = 512 // bytes; names are parts of the field and keep it alive
)

// ScanList reads what nearly all lists are, without a general parser: one short line of at
// most FewMembers numbers and strings without escapes, whose parameters are numbers, strings
// or bytes. The members are appended to to. It is false for whatever else there is, also if
// that is well-formed: ParseList reads it.
func ScanList(to []Member, values []string) ([]Member, bool) {
	if len(values) != 1 || len(values[0]) > shortField {
		return nil, false
	}
	for s := skipSpaces(values[0]); len(to) < FewMembers; s = skipSpaces(s[1:]) {
		var (
			m  Member
			ok bool
		)
		if s, ok = m.scan(s); !ok {
			break
		}
		to = append(to, m)
		if s = skipSpaces(s); s == "" {
			return to, true
		}
		if s[0] != ',' {
			break
		}
	}
	return nil, false
}

// scan reads a member and returns what follows it.
func (m *Member) scan(s string) (string, bool) {
	if s != "" && s[0] == '"' {
		m.Name, s, m.Named = scanString(s)
		m.Name, m.Number.N = value.CleanName(m.Name), -1
	} else {
		m.Number, s = scanInteger(s)
	}
	for ok := m.Named || m.Number.Known; ok; {
		if s == "" || s[0] != ';' {
			return s, true
		}
		var key, text string
		if key, s = scanKey(skipSpaces(s[1:])); s == "" {
			return s, false
		}
		number := value.Count{N: -1}
		switch s[0] {
		case '"':
			text, s, ok = scanString(s)
		case ':':
			text, s, ok = scanBytes(s)
		default:
			number, s = scanInteger(s)
			ok = number.Known
		}
		m.set(key, number, value.CleanName(text))
	}
	return s, false
}

// scanKey reads a key of lower-case letters and the equals sign after it. What follows
// is empty if there is none.
func scanKey(s string) (key, rest string) {
	for i := range len(s) {
		if s[i] == '=' && i > 0 {
			return s[:i], s[i+1:]
		}
		if s[i] < 'a' || s[i] > 'z' {
			break
		}
	}
	return "", ""
}

// scanInteger reads an integer of at most 15 digits (RFC 9651, 3.3.1).
func scanInteger(s string) (value.Count, string) {
	i, n := 0, int64(0)
	for i < len(s) && i < 16 && value.IsDigit(s[i]) {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i == 16 {
		return value.Count{}, s
	}
	return value.Count{N: n, Known: true}, s[i:]
}

// scanString reads a string without escapes.
func scanString(s string) (text, rest string, ok bool) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[1:i], s[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return "", s, false
		}
	}
	return "", s, false
}

// base64Digits are the digits of RFC 4648 section 4, by value.
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// scanBytes reads a byte sequence, whose padding is complete, and whose last digit has no bits but those of the
// bytes: else there would be two texts of the same bytes.
func scanBytes(s string) (text, rest string, ok bool) {
	text, rest, ok = strings.Cut(s[1:], ":")
	if !ok || len(text)%4 != 0 {
		return "", s, false
	}
	digits := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for i := range len(digits) {
		if c := digits[i]; !value.IsDigit(c) && c-'a' >= 26 && c-'A' >= 26 && c != '+' && c != '/' {
			return "", s, false
		}
	}
	if pad := len(text) - len(digits); pad > 0 {
		if digits == "" || strings.IndexByte(base64Digits, digits[len(digits)-1])&(1<<(2*pad)-1) != 0 {
			return "", s, false
		}
	}
	return text, rest, true
}

// scanCombined reads the dictionary of draft 07 where all of it is numbers.
func scanCombined(s string) (c Combined, ok bool) {
	for range FewMembers {
		key, rest := scanKey(s)
		n, rest := scanInteger(rest)
		if !n.Known {
			break
		}
		c.set(key, n)
		if s = skipSpaces(rest); s == "" {
			return c, true
		}
		if s[0] != ',' {
			break
		}
		s = skipSpaces(s[1:])
	}
	return c, false
}

func skipSpaces(s string) string {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	return s
}
