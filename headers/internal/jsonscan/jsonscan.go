// Package jsonscan reads the beginning of a JSON text, which may end anywhere, and reports the
// numbers, strings and booleans whose paths it is asked for.
//
// What comes in is text, and the paths; what goes out are the values, as text. The package
// allocates nothing but the strings that have escapes, skips values at other paths without
// looking into them, and recurses no deeper than the paths that it is asked for. It knows
// nothing of what a value means.
//
// A path is the keys from the root joined by slashes, with a star for the elements of an
// array: "error/details/*/reason".
package jsonscan

import (
	"bytes"
	"encoding/json"
)

const (
	maxPath   = 96      // bytes of a path
	maxString = 8 << 10 // bytes of a string with escapes; of a longer one nothing is read
)

// Scan reads the beginning of a JSON text, and calls visit with each value whose path wants
// approves of, strings without quotes and escapes. If wants approves of the path of an
// array's elements, visit is called with a nil value where each of them begins. A value that
// is not complete, such as a number at the end which may have gone on, is not reported. Neither
// function may keep a path or a value.
//
// Scan reports whether the text is well-formed as far as it looked, and goes on after the
// value.
func Scan(text []byte, wants func(path []byte) bool, visit func(path, value []byte)) bool {
	s := scanner{text: text, wants: wants, visit: visit}
	return s.value(make([]byte, 0, maxPath))
}

type scanner struct {
	text  []byte
	i     int // how much of text is read
	wants func(path []byte) bool
	visit func(path, value []byte)
}

// value reads a value at a path and reports whether the text goes on after it.
func (s *scanner) value(path []byte) bool {
	switch s.peek() {
	case '{':
		return s.object(path)
	case '[':
		return s.array(path)
	case '"':
		text, ok := s.string()
		if ok {
			s.visit(path, text)
		}
		return ok
	}
	text := s.bare()
	if s.i == len(s.text) || len(text) == 0 {
		return false
	}
	s.visit(path, text)
	return true
}

func (s *scanner) object(path []byte) bool {
	s.i++
	if s.peek() == '}' {
		s.i++
		return true
	}
	for {
		if s.peek() != '"' {
			return false
		}
		key, ok := s.string()
		if !ok || s.peek() != ':' {
			return false
		}
		s.i++
		if !s.member(joinPath(path, key, "/*")) {
			return false
		}
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			s.i++
			return true
		default:
			return false
		}
	}
}

func (s *scanner) array(path []byte) bool {
	s.i++
	if s.peek() == ']' {
		s.i++
		return true
	}
	path = joinPath(path, []byte{'*'}, "/")
	wanted := path != nil && s.wants(path)
	for {
		if wanted {
			s.visit(path, nil)
		}
		if !s.member(path) {
			return false
		}
		switch s.peek() {
		case ',':
			s.i++
		case ']':
			s.i++
			return true
		default:
			return false
		}
	}
}

// member reads a value, or skips it if its path is not asked for.
func (s *scanner) member(path []byte) bool {
	if path != nil && s.wants(path) {
		return s.value(path)
	}
	return s.skip()
}

// joinPath returns the path of a member, nil if nothing can ask for it: it is too long, or its
// key has in it what has a meaning in paths.
func joinPath(path, key []byte, reserved string) []byte {
	if len(path)+len(key) >= maxPath || bytes.ContainsAny(key, reserved) {
		return nil
	}
	if len(path) > 0 {
		path = append(path, '/')
	}
	return append(path, key...)
}

// skip reads a value without looking into it.
func (s *scanner) skip() bool {
	for depth := 0; ; {
		switch c := s.peek(); c {
		case 0:
			return false
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			depth--
			s.i++
		case '"':
			if end := s.endOfString(); end < 0 {
				return false
			}
		case ',', ':':
			if depth == 0 {
				return false
			}
			s.i++
		default:
			if len(s.bare()) == 0 {
				return false
			}
		}
		if depth <= 0 {
			return depth == 0 && s.i < len(s.text)
		}
	}
}

// peek returns the next byte that is no space, without reading it; zero at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// bare reads a number, true, false or null.
func (s *scanner) bare() []byte {
	start := s.i
	for s.i < len(s.text) {
		if c := s.text[s.i]; c-'0' > 9 && (c|0x20)-'a' >= 26 && c != '.' && c != '-' && c != '+' {
			break
		}
		s.i++
	}
	return s.text[start:s.i]
}

// string reads a string and returns what it stands for.
func (s *scanner) string() (text []byte, ok bool) {
	start := s.i
	end := s.endOfString()
	if end < 0 {
		return nil, false
	}
	text = s.text[start+1 : end]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var unescaped string
	if len(text) > maxString || json.Unmarshal(s.text[start:end+1], &unescaped) != nil {
		return []byte{}, true
	}
	return []byte(unescaped), true
}

// endOfString reads a string and returns where its closing quote is, -1 if it has none.
func (s *scanner) endOfString() int {
	for s.i++; s.i < len(s.text); s.i++ {
		switch s.text[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return s.i - 1
		}
	}
	s.i = len(s.text)
	return -1
}
