// Package alike says which paths are alike: those in which only what looks like an ID differs.
package alike

import "strings"

// maxPart is how many bytes a word has at most.
const maxPart = 64

// Star is in place of what differs.
const Star = "*"

// How says which parts of a path make no difference, beside those that look like an ID. Of a path of one part,
// no other does.
type How int

// The parts that make no difference.
const (
	IDs    How = iota // none
	Last              // the last one
	Before            // all but the last one
	After             // all but the first one
)

// Stars returns a path with a star for each part that makes no difference.
func Stars(path string, how How) string {
	var b strings.Builder
	for part, rest, more := Cut(strings.TrimPrefix(path, "/")); ; part, rest, more = Cut(rest) {
		b.WriteByte('/')
		if starred(part, how, b.Len() > 1, more) {
			part = Star
		}
		if b.WriteString(part); !more {
			return b.String()
		}
	}
}

// Fits reports whether Stars(path, how) is stars. It makes no texts.
func Fits(stars, path string, how How) bool {
	some := false
	stars, path = strings.TrimPrefix(stars, "/"), strings.TrimPrefix(path, "/")
	for {
		want, wants, wanted := strings.Cut(stars, "/")
		part, rest, more := Cut(path)
		if starred(part, how, some, more) {
			part = Star
		}
		if part != want || more != wanted {
			return false
		}
		if !more {
			return true
		}
		stars, path, some = wants, rest, true
	}
}

// Cut cuts the first part off a path, and the slash behind it. More says whether anything follows. A colon
// before a method, as Google's APIs write it at the end of a path, is like a slash: /models/flash:countTokens
// has the parts of /models/flash/countTokens.
func Cut(path string) (part, rest string, more bool) {
	part, rest, more = strings.Cut(path, "/")
	if i := strings.LastIndexByte(part, ':'); !more && i > 0 && isMethod(part[i+1:]) {
		return part[:i], part[i+1:], true
	}
	return part, rest, more
}

// isMethod reports whether a text is a verb in lower camel case, as Google asks for it (AIP-136): letters, of
// which the first is a small one.
func isMethod(text string) bool {
	for i := range len(text) {
		if b := text[i]; (b < 'a' || b > 'z') && (i == 0 || b < 'A' || b > 'Z') {
			return false
		}
	}
	return text != ""
}

// starred is for a part behind some and before more.
func starred(part string, how How, some, more bool) bool {
	return LooksLikeID(part) || how == Last && some && !more || how == Before && more || how == After && some
}

// LooksLikeID reports whether a part of a path (see Cut) is rather one of many than a word: a number, a UUID, a
// hash, a token, an address, a date, a text that is not fit for a word.
func LooksLikeID(part string) bool {
	digits, hex := 0, 0
	for i := range len(part) {
		switch b := part[i]; {
		case '0' <= b && b <= '9':
			digits++
			hex++
		case 'a' <= b && b <= 'f', 'A' <= b && b <= 'F', b == '-':
			hex++
		case b == '@', b == '%', b == ':', b == ',':
			return true
		}
	}
	n := len(part)
	switch {
	case n > maxPart:
		return true
	case digits == 0:
		return false
	}
	return digits == n || n >= 8 && hex == n || n >= 20 || n > 3 && 2*digits >= n
}
