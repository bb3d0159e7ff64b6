package headers

import (
	"net/http"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
	"github.com/gopacer/pacer/internal/inside"
)

// Inside is for this module alone, since nobody else can make a Key. What it returns is no promise, and may
// change at any time.
func Inside(inside.Key) inner { return inner{} } //nolint:revive // nobody is to see its methods

// inner has what package internal/habit needs, which remembers what headers are called.
type inner struct{}

// LookUp returns what the name of a header says. Ok is false if it is not about limits.
func (inner) LookUp(r *Reader, key string) (told inside.Told, ok bool) {
	m := lookUp(key, r.compiled())
	if m == nil {
		return told, false
	}
	return inside.Told{Key: key, Says: saysOf(m.Role), Meaning: m}, true
}

func saysOf(r name.Role) inside.Says {
	switch r {
	case name.Limit, name.Policy:
		return inside.SaysMost
	case name.Window:
		return inside.SaysSpan
	case name.Reset, name.Label:
		return inside.SaysWhich
	case name.Used:
		return inside.SaysUsed
	case name.Remaining:
		return inside.SaysNumber
	case name.State:
		return inside.SaysField
	}
	return inside.SaysElse
}

// SameLimit reports whether two headers are about the same limit.
func (inner) SameLimit(a, b *inside.Told) bool {
	return name.SameGroup(a.Meaning.(*name.Meaning), b.Meaning.(*name.Meaning))
}

// Append is Reader.Append. It returns also a number that answers have in common whose headers say the same
// kinds of things, zero if none speaks of limits, and whether they are too many to state one.
func (inner) Append(r *Reader, limits []Limit, header http.Header, received time.Time) (all []Limit, hint Retry, sign uint64, tooMany bool) {
	var a answer
	a.look(header, r.compiled())
	sign = uint64(a.roles)<<16 ^ uint64(a.count())<<10
	if a.roles != 0 {
		limits, hint = a.append(limits, received, nil)
	}
	return limits, hint, sign, a.tooMany
}

// AppendTold is Append for an answer of which no other headers speak of limits. Ok is false if one of them is
// missing.
func (inner) AppendTold(limits []Limit, told []inside.Told, header http.Header, received time.Time) (all []Limit, hint Retry, ok bool) {
	var a answer
	for i := range told {
		values, ok := header[told[i].Key]
		if !ok {
			return limits, hint, false
		}
		a.add(told[i].Meaning.(*name.Meaning), values)
	}
	a.dates = header["Date"]
	if a.roles != 0 {
		limits, hint = a.append(limits, received, nil)
	}
	return limits, hint, true
}
