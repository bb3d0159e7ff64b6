// Package alike says which paths are alike: those in which only what looks like an ID differs.
package alike

import "strings"

// maxPart is how many bytes a word has at most.
const maxPart = 64

// Star is in place of what differs.
const Star = "*"

// Stars returns a path with a star for each part that looks like an ID; and for the last part, if last is set and the path
// has several parts.
func Stars(path string, last bool) string {
	var b strings.Builder
	for part, rest, more := strings.Cut(strings.TrimPrefix(path, "/"), "/"); ; part, rest, more = strings.Cut(rest, "/") {
		b.WriteByte('/')
		if starred(part, last && b.Len() > 1, more) {
			part = Star
		}
		if b.WriteString(part); !more {
			return b.String()
		}
	}
}

// Fits reports whether Stars(path, last) is stars. It makes no texts.
func Fits(stars, path string, last bool) bool {
	some := false
	stars, path = strings.TrimPrefix(stars, "/"), strings.TrimPrefix(path, "/")
	for {
		want, wants, wanted := strings.Cut(stars, "/")
		part, rest, more := strings.Cut(path, "/")
		if starred(part, last && some, more) {
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

func starred(part string, last, more bool) bool { return LooksLikeID(part) || last && !more }

// LooksLikeID reports whether a part of a path is rather one of many than a word: a number, a UUID, a hash, a token, an
// address, a date, a text that is not fit for a word.
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
