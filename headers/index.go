package headers

import (
	"slices"
	"strings"
)

// table finds what is known about a header by its name, in a few nanoseconds where a
// map takes twenty; there is a look-up for each header of each response. It is an
// open hash table that is half empty, so that what is not in it is told quickly.
type table [512]struct {
	name string
	f    *field
}

// slot hashes a name of three bytes or more by its length and some of its bytes.
func slot(name string) uint32 {
	n := len(name)
	h := uint32(name[n-1]) | uint32(name[n-3])<<8 | uint32(name[n/2])<<16 | uint32(name[0])<<24
	return (h ^ uint32(n)*0x85EBCA6B) * 0x9E3779B1 >> 23 // the top 9 bits: Fibonacci hashing
}

func (t *table) find(name string) *field {
	for i := slot(name); ; i++ {
		s := &t[i%uint32(len(t))]
		if s.f == nil {
			return nil
		}
		if s.name == name {
			return s.f
		}
	}
}

// add adds a name unless it is known.
func (t *table) add(name string, f *field) {
	for i := slot(name); ; i++ {
		s := &t[i%uint32(len(t))]
		if s.name == name {
			return
		}
		if s.f == nil {
			s.name, s.f = name, f
			return
		}
	}
}

// known is what is known about headers beforehand.
var known = newTable()

func newTable() *table {
	t := &table{}
	for i := range dialects {
		dialects[i].add(t, uint8(i)+3)
	}
	for name, f := range map[string]*field{
		"Age":          {role: age},
		"X-From-Cache": {role: cache}, // github.com/gregjones/httpcache and its like
		"Retry-After":  standardRetry,

		// The SDKs of Azure and of OpenAI read these.
		"Retry-After-Ms":      {role: retry, form: millis},
		"X-Ms-Retry-After-Ms": {role: retry, form: millis},

		// The SDKs of OpenAI, Anthropic and Stripe obey these.
		"X-Should-Retry":      {role: should},
		"Stripe-Should-Retry": {role: should},

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
	for i := range t {
		if f := t[i].f; f != nil && f.role != ignored {
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
		all[i].sorted, all[i].set = sorted, set
	}
}

// add adds the headers of a dialect to a table. place is where the limit comes among
// those of its family.
func (d *dialect) add(t *table, place uint8) {
	for name, role := range map[string]role{
		d.limit: limit, d.remaining: remaining, d.used: used, d.reset: reset, d.per: window,
		d.policy: policy, d.state: state, d.label: label, d.text: pairs, d.retry: retry,
	} {
		if name == "" {
			continue
		}
		f := &field{
			role: role, form: d.form, order: uint8(len(labels)), rank: rankOf(d.family), place: place,
			family: d.family, group: d.name, name: d.name, unit: d.unit, window: d.window, series: d.series,
			advisory: strings.HasPrefix(d.family, "beta-"),
		}
		if last := strings.ToLower(name[strings.LastIndexByte(name, '-')+1:]); f.form == auto {
			f.form = forms[last]
		}
		if d.bare || d.name == "" {
			f.group, f.place = "", 0
		}
		t.add(name, f)
	}
}
