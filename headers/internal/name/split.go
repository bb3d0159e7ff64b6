package name

import (
	"github.com/gopacer/pacer/headers/internal/value"
)

// maxWords bounds how many words of a name are looked at. Names with more are about nothing.
const maxWords = 24

// token is one word of a name.
type token struct {
	*word      // nil if no rule knows it
	start, end int
}

// split is a name in lower case, taken apart into words. It lives on the stack: most names turn out not to be
// about limits.
type split struct {
	text [maxKey]byte
	size int
	all  [maxWords]token
	n    int
}

// cut takes a name apart at hyphens and underscores, and words that were written together at the words that
// they are made of. It is false for a name that has characters of no header, or too many words.
func (s *split) cut(key string) bool {
	s.size = len(key)
	start := 0
	for i := 0; i <= len(key); i++ {
		c := byte('-')
		if i < len(key) {
			if c = key[i]; c-'A' < 26 {
				c |= 0x20
			}
			if c <= ' ' || c > '~' {
				return false
			}
			s.text[i] = c
		}
		if c == '-' || c == '_' {
			if i > start && !s.add(start, i) {
				return false
			}
			start = i + 1
		}
	}
	return true
}

// add adds the word from start to end, or the words that it is made of.
func (s *split) add(start, end int) bool {
	w := words[string(s.text[start:end])]
	if w == nil {
		if ok, fits := s.addFused(start, end); ok {
			return fits
		}
	}
	if s.n == len(s.all) {
		return false
	}
	s.all[s.n] = token{w, start, end}
	s.n++
	return true
}

// shortest is how long a word must be to be seen as part of another.
const shortest = 3

// fusedRoles are the words that end a word whatever it begins with: userlimit, pathremaining.
var fusedRoles = [...]string{"ratelimit", "limit", "remaining", "reset", "used"}

// addFused adds the words that a word is made of: all of them are known, as in requestsremaining and appday, or
// the last of them is one of fusedRoles. ok is false if it is made of none.
func (s *split) addFused(start, end int) (ok, fits bool) {
	var ends [4]int // where the words end, the last first
	if n := s.parts(start, end, ends[:0]); n != nil {
		for i := len(n) - 1; i >= 0; i-- {
			if !s.add(start, n[i]) {
				return true, false
			}
			start = n[i]
		}
		return true, true
	}
	text := s.text[start:end]
	for _, role := range &fusedRoles {
		if stem := len(text) - len(role); stem > 0 && string(text[stem:]) == role {
			return true, s.addStem(start, start+stem) && s.add(start+stem, end)
		}
	}
	return false, false
}

// addStem adds what precedes a role in one word, which may be made of words itself.
func (s *split) addStem(start, end int) bool {
	if s.n == len(s.all) {
		return false
	}
	s.all[s.n] = token{words[string(s.text[start:end])], start, end}
	s.n++
	return true
}

// parts returns where the known words end of which the text from start to end is made, the last first, or nil
// if it is not made of as many as ends has room for.
func (s *split) parts(start, end int, ends []int) []int {
	ends = append(ends, end)
	for cut := start; cut <= end-shortest; cut++ {
		if words[string(s.text[cut:end])] == nil {
			continue
		}
		if cut == start {
			return ends
		}
		if len(ends) < cap(ends) && cut-start >= shortest {
			if all := s.parts(start, cut, ends); all != nil {
				return all
			}
		}
	}
	return nil
}

// is reports whether the word at position i is the one given.
func (s *split) is(i int, word string) bool {
	return i >= 0 && i < s.n && string(s.text[s.all[i].start:s.all[i].end]) == word
}

// at returns what the word at position i says, that of an unknown word if there is none.
func (s *split) at(i int) *word {
	if i >= 0 && i < s.n && s.all[i].word != nil {
		return s.all[i].word
	}
	return &unknown
}

var unknown word

// bytes returns the word at position i.
func (s *split) bytes(i int) []byte { return s.text[s.all[i].start:s.all[i].end] }

// fused reports whether the word at position i is written together with the one before it.
func (s *split) fused(i int) bool { return i > 0 && s.all[i].start == s.all[i-1].end }

// isNumber reports whether the word at position i is made of digits.
func (s *split) isNumber(i int) bool {
	if i < 0 {
		return false
	}
	for _, c := range s.bytes(i) {
		if !value.IsDigit(c) {
			return false
		}
	}
	return true
}
