package throttle

import "strconv"

// ParseQuotas reads quotas as a person writes them, with commas between:
//
//	5/s burst 10, 10000/h
//	50/2s window
//	300/m sliding 20 as "calls of a tenant"
//	10/s warm-up 10s cold 3
//	500/m, 30000 tokens/m burst 30000, 10 in flight
//	1MiB/s burst 8MiB debt
//
// A quota is N/PER or N UNIT/PER, where PER is ms, s, m, h, d, a number of days such
// as 7d, or a duration such as 1m30s; or it is N, or N UNIT, and "in flight" or
// "unanswered". A UNIT is a word of the user's. Bytes are written in one word with the
// number, 500kB, 1.5MB or 1MiB: B, and k, M, G, T of 1000 or Ki, Mi, Gi, Ti of 1024.
// After that, in any order and each at most once:
//
//	burst B           the Burst of a token bucket, in the same unit
//	debt              its Debt
//	queue Q           the Queue, in the same unit
//	window            a FixedWindow
//	window grid       a ClockWindow
//	sliding [CELLS]   a SlidingWindow
//	log               a SlidingLog
//	estimate          an EstimatedWindow
//	warm-up D         the WarmUp of a token bucket, a duration
//	cold F            its ColdFactor
//	as NAME           the Name: one word, or in double quotes as a Go string
//
// "no limit" is a quota of its own, and the empty text is none at all. All that is
// accepted passes Validate. The error says in which column (in bytes, from 1)
// which word stands and what was expected.
func ParseQuotas(s string) (Quotas, error) {
	p := parser{text: s}
	p.next()
	if p.word == "" {
		return nil, nil
	}
	var qs Quotas
	for {
		q, err := p.quota()
		if err != nil {
			return nil, err
		}
		qs = append(qs, q)
		if p.word == "" {
			return qs, nil
		}
		p.next() // the comma
	}
}

// UnmarshalText implements encoding.TextUnmarshaler with ParseQuotas: quotas can
// be strings in JSON and YAML, and flags by flag.TextVar. After an error they are
// as they were.
func (qs *Quotas) UnmarshalText(text []byte) error {
	parsed, err := ParseQuotas(string(text))
	if err == nil {
		*qs = parsed
	}
	return err
}

// MarshalText implements encoding.TextMarshaler with String. Invalid quotas are an
// error.
func (qs Quotas) MarshalText() ([]byte, error) {
	if err := qs.Validate(); err != nil {
		return nil, err
	}
	return []byte(qs.String()), nil
}

// as writes a name as ParseQuotas reads it.
func as(name string) string {
	if name == "" {
		return ""
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == ',' || c == '"' || c == '\\' {
			return " as " + strconv.Quote(name)
		}
	}
	return " as " + name
}
