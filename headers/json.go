package headers

import (
	"bytes"
	"encoding/json"
)

// A scanner reads the beginning of a JSON text, which may end anywhere, and reports the
// numbers, strings and booleans whose paths it is asked for. It allocates nothing but the
// strings that have escapes, skips what nobody asked for without looking into it, and
// recurses no deeper than the paths that are asked for.
//
// A path is the keys from the root joined by slashes, with a star for the elements of an
// array: "error/details/*/reason". Each element begins with a call without a value. What
// is not complete, such as a number at the end which may have gone on, is not reported.
type scanner struct {
	text  []byte
	i     int // how much of text is read
	wants func(path []byte) bool
	visit func(path, value []byte) // strings without quotes and escapes
}

// maxPath bounds the length of paths, in bytes.
const maxPath = 96

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

// member reads a value, or skips it if nobody asks for it.
func (s *scanner) member(path []byte) bool {
	if path != nil && s.wants(path) {
		return s.value(path)
	}
	return s.skip()
}

// joinPath returns the path of a member, nil if nobody can ask for it: it is too long, or
// its key has in it what has a meaning in paths.
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
		if c := s.text[s.i]; !isDigit(c) && (c|0x20)-'a' >= 26 && c != '.' && c != '-' && c != '+' {
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
	if len(text) > maxField || json.Unmarshal(s.text[start:end+1], &unescaped) != nil {
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
