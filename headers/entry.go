package headers

import (
	"encoding/base64"
	"strings"

	"github.com/dunglas/httpsfv"
)

// entry is a member of a list of the IETF drafts, with the parameters that they know.
// A parameter that should be a number and is none has a negative N.
type entry struct {
	name       string // a string or a token
	named      bool
	number     Count // or a number
	q, r, t, w Count
	qu         string
	label      string // the parameter name of policies without one
	pk         string // the partition key, in base64
}

// set sets a parameter. The last of several of one name counts (RFC 9651, 4.2.3.2).
func (m *entry) set(key string, number Count, text string) {
	switch key {
	case "q":
		m.q = number
	case "r":
		m.r = number
	case "t":
		m.t = number
	case "w":
		m.w = number
	case "qu":
		m.qu = text
	case "name":
		m.label = text
	case "pk":
		m.pk = text
	}
}

// parseList reads a list of structured fields.
func parseList(lines []string) ([]entry, bool) {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return nil, false
	}
	members := make([]entry, 0, len(list))
	for _, i := range list {
		it, ok := i.(httpsfv.Item)
		if !ok {
			continue
		}
		var m entry
		m.number, m.name, m.named = bare(it.Value)
		for _, key := range it.Params.Names() {
			v, _ := it.Params.Get(key)
			number, text, _ := bare(v)
			m.set(key, number, text)
		}
		members = append(members, m)
	}
	return members, true
}

// bare returns what a bare item is, a number or a text.
func bare(v any) (number Count, text string, isText bool) {
	switch v := v.(type) {
	case int64:
		if v >= 0 {
			return Count{min(v, maxCount), true}, "", false
		}
	case string:
		text, isText = cleanName(v), true
	case httpsfv.Token:
		text, isText = cleanName(string(v)), true
	case []byte:
		text = cleanName(base64.StdEncoding.EncodeToString(v))
	}
	return Count{N: -1}, text, isText
}

// Bounds of what the functions below read.
const (
	fewMembers = 4
	shortField = 512 // names are parts of it and keep it alive
)

// scanList reads what nearly all lists are, without a general parser: one short line of
// numbers and strings without escapes, whose parameters are such or bytes. It is false
// for whatever else there is, also if that is well-formed.
func scanList(to []entry, values []string) ([]entry, bool) {
	if len(values) != 1 || len(values[0]) > shortField {
		return nil, false
	}
	for s := skipSpaces(values[0]); len(to) < fewMembers; s = skipSpaces(s[1:]) {
		var (
			m  entry
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
func (m *entry) scan(s string) (string, bool) {
	if s != "" && s[0] == '"' {
		m.name, s, m.named = scanString(s)
		m.name, m.number.N = cleanName(m.name), -1
	} else {
		m.number, s = scanInteger(s)
	}
	for ok := m.named || m.number.Known; ok; {
		if s == "" || s[0] != ';' {
			return s, true
		}
		var key, text string
		if key, s = scanKey(skipSpaces(s[1:])); s == "" {
			return s, false
		}
		number := Count{N: -1}
		switch s[0] {
		case '"':
			text, s, ok = scanString(s)
		case ':':
			text, s, ok = scanBytes(s)
		default:
			number, s = scanInteger(s)
			ok = number.Known
		}
		m.set(key, number, cleanName(text))
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
func scanInteger(s string) (Count, string) {
	i, n := 0, int64(0)
	for i < len(s) && i < 16 && isDigit(s[i]) {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i == 16 {
		return Count{}, s
	}
	return Count{n, true}, s[i:]
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

// scanBytes reads a byte sequence, whose padding is complete.
func scanBytes(s string) (text, rest string, ok bool) {
	text, rest, ok = strings.Cut(s[1:], ":")
	if !ok || len(text)%4 != 0 {
		return "", s, false
	}
	digits := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for i := range len(digits) {
		if c := digits[i]; !isDigit(c) && c-'a' >= 26 && c-'A' >= 26 && c != '+' && c != '/' {
			return "", s, false
		}
	}
	return text, rest, true
}

// scanCombined reads the combined form of draft 07 where all of it is numbers.
func scanCombined(s string) (l Limit, in Count, ok bool) {
	for range fewMembers {
		key, rest := scanKey(s)
		n, rest := scanInteger(rest)
		if !n.Known {
			break
		}
		switch key {
		case "limit":
			l.Limit = n
		case "remaining":
			l.Remaining = n
		case "reset":
			in = n
		}
		if s = skipSpaces(rest); s == "" {
			return l, in, true
		}
		if s[0] != ',' {
			break
		}
		s = skipSpaces(s[1:])
	}
	return l, in, false
}

func skipSpaces(s string) string {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	return s
}
