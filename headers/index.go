package headers

import (
	"slices"
	"strings"
	"time"
)

// Lengths of names of headers that are looked at.
const (
	minKey = 3
	maxKey = 2 * maxName
)

// table finds what is known about a header by its name, however it is spelled, in a few
// nanoseconds where a map takes twenty; there is a look-up for each header of each
// response. It is an open hash table, at most half full, so that what is not in it is
// told quickly.
type table struct {
	slots [2 * maxTable]struct {
		hash uint32
		name string
		f    *field
	}
	n int // how many are used
}

// maxTable is how many names a table holds.
const maxTable = 256

// hash hashes a name of minKey bytes or more by its length and some of its bytes.
func hash(name string) uint32 {
	n := len(name)
	h := uint32(name[n-1]) | uint32(name[n-3])<<8 | uint32(name[n/2])<<16 | uint32(name[0])<<24
	h |= 0x20202020 // lower case
	return (h ^ uint32(n)*0x85EBCA6B) * 0x9E3779B1
}

// slot is the top 9 bits of a hash (Fibonacci hashing).
func slot(hash uint32) uint32 { return hash >> 23 }

func (t *table) find(name string) *field {
	h := hash(name)
	for i := slot(h); ; i++ {
		s := &t.slots[i%uint32(len(t.slots))]
		if s.f == nil {
			return nil
		}
		if s.hash == h && (s.name == name || strings.EqualFold(s.name, name)) {
			return s.f
		}
	}
}

// lookup is find for names of any length.
func (t *table) lookup(name string) *field {
	if len(name) < minKey || len(name) > maxKey {
		return nil
	}
	return t.find(name)
}

// add adds a name unless it is known, and reports whether there is room for it.
func (t *table) add(name string, f *field) bool {
	if t.find(name) != nil {
		return true
	}
	if t.n == maxTable {
		return false
	}
	t.n++
	h := hash(name)
	for i := slot(h); ; i++ {
		if s := &t.slots[i%uint32(len(t.slots))]; s.f == nil {
			s.hash, s.name, s.f = h, name, f
			return true
		}
	}
}

// known is what is known about headers beforehand.
var known = newKnown()

func newKnown() *table {
	t := &table{}
	for i := range dialects {
		d := &dialects[i]
		for _, p := range d.parts() {
			t.add(p.name, d.describe(p, i+3))
		}
	}
	for name, f := range map[string]*field{
		"Age":          {role: age},
		"X-From-Cache": {role: cache}, // github.com/gregjones/httpcache and its like
		"Retry-After":  standardRetry,

		// The SDKs of Azure and of OpenAI read these.
		"Retry-After-Ms":      {role: retry, step: time.Millisecond},
		"X-Ms-Retry-After-Ms": {role: retry, step: time.Millisecond},

		// The SDKs of OpenAI, Anthropic and Stripe obey these.
		"X-Should-Retry":      {role: should},
		"Stripe-Should-Retry": {role: should},

		"Stripe-Rate-Limited-Reason": {role: reason},
		"X-Amzn-Errortype":           {role: reason},

		// https://github.com/grpc/proposal/blob/master/A6-client-retries.md
		"Grpc-Retry-Pushback-Ms": {role: pushback},
	} {
		t.add(name, f)
	}
	for name := range strings.FieldsSeq(common) {
		t.add(name, &field{role: ignored})
	}
	for name := range strings.FieldsSeq(frequent) {
		if f := parseName(name); f != nil {
			t.add(name, f)
		}
	}
	t.number()
	return t
}

// number numbers what the table has in the order of compare, so that comparing is
// comparing numbers.
func (t *table) number() {
	var all []found
	for i := range t.slots {
		if f := t.slots[i].f; f != nil && f.role != ignored {
			all = append(all, found{field: f})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return compare(&a, &b) })
	var sorted, set uint16
	for i := range all {
		if i == 0 || compare(&all[i-1], &all[i]) != 0 {
			sorted++
		}
		if i == 0 || !sameGroup(all[i-1].field, all[i].field) {
			set++
		}
		all[i].sorted, all[i].set, all[i].quick = sorted, set, all[i].isQuick()
	}
}
