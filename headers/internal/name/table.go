package name

import (
	"strings"

	"github.com/gopacer/pacer/headers/internal/value"
)

// Lengths of names of headers that are looked at.
const (
	minKey = 3
	maxKey = 2 * value.MaxName
)

// Table finds what is known about a header by its name, however it is spelled, in a few
// nanoseconds where a map takes twenty; there is a look-up for each header of each
// response. It is an open hash table, at most half full, so that what is not in it is
// told quickly.
type Table struct {
	slots [2 * MaxTable]struct {
		hash    uint32
		name    string
		meaning *Meaning
	}
	n int // how many are used
}

// MaxTable is how many names a Table holds.
const MaxTable = 256

// hash hashes a name of minKey bytes or more by its length and some of its bytes.
func hash(name string) uint32 {
	n := len(name)
	h := uint32(name[n-1]) | uint32(name[n-3])<<8 | uint32(name[n/2])<<16 | uint32(name[0])<<24
	h |= 0x20202020 // lower case
	return (h ^ uint32(n)*0x85EBCA6B) * 0x9E3779B1
}

// slot is the top 9 bits of a hash (Fibonacci hashing).
func slot(hash uint32) uint32 { return hash >> 23 }

// find is Lookup for names of minKey bytes or more.
func (t *Table) find(name string) *Meaning {
	h := hash(name)
	for i := slot(h); ; i++ {
		s := &t.slots[i%uint32(len(t.slots))]
		if s.meaning == nil {
			return nil
		}
		if s.hash == h && (s.name == name || strings.EqualFold(s.name, name)) {
			return s.meaning
		}
	}
}

// Lookup returns what is known about a name, or nil. A nil Table knows nothing.
func (t *Table) Lookup(name string) *Meaning {
	if t == nil || len(name) < minKey || len(name) > maxKey {
		return nil
	}
	return t.find(name)
}

// Add adds a name, of a length that CheckKey allows, unless it is known. It reports whether
// there is room for it.
func (t *Table) Add(name string, m *Meaning) bool {
	if t.find(name) != nil {
		return true
	}
	if t.n == MaxTable {
		return false
	}
	t.n++
	h := hash(name)
	for i := slot(h); ; i++ {
		if s := &t.slots[i%uint32(len(t.slots))]; s.meaning == nil {
			s.hash, s.name, s.meaning = h, name, m
			return true
		}
	}
}
