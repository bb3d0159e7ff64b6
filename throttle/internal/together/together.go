// Package together knows which requests of one bucket a server counts together: by the names that it gives to
// what requests drew on (names.go), or, where it gives none, by the numbers of its answers (package counter).
//
// In come answers (Named, Hear). Out comes the name under which a request counts (Of), and which claims belong
// under another name from now on. Names are those of the server, or of counters.
package together

import (
	"encoding/json"
	"slices"

	"github.com/gopacer/pacer/throttle/internal/counter"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Table is what is known of one bucket. The zero Table takes all requests for counted together.
type Table struct {
	names    *names          // nil if the server names nothing
	counters *counter.Router // nil unless answers contradict each other
}

// HasCounters reports whether answers contradict each other, so that it is looked for several counters.
func (t *Table) HasCounters() bool { return t.counters != nil }

// Split reports whether there are several counters, or were.
func (t *Table) Split() bool { return t.counters.Split() }

// Has reports whether there is a counter of a name.
func (t *Table) Has(name string) bool { return t.counters.Has(name) }

// First returns the first name that the server gave.
func (t *Table) First() string { return t.names.First() }

// Of returns the name under which a request counts.
func (t *Table) Of(verb, path string) string {
	if t.names != nil {
		return t.names.Of(verb, path)
	}
	return t.counters.Of(verb, path)
}

// Look returns the name of the counter of a request that is not made; empty if the request would get one of its
// own.
func (t *Table) Look(verb, path string) string { return t.counters.Look(verb, path) }

// Named takes in that an answer names what its request drew on, of which nothing is left if it is used up, or
// too little for the request. It returns the name under which such requests count, and whether they need a
// bucket of their own.
func (t *Table) Named(verb, path, name string, usedUp bool) (of string, own bool) {
	if t.names == nil {
		t.names, t.counters = newNames(name), nil
	}
	return t.names.Note(verb, path, name, usedUp)
}

// Suspect looks for several counters of the limit of a name from now on, unless the server gives names.
func (t *Table) Suspect(name string) {
	if t.counters == nil && t.names == nil {
		t.counters = counter.New(name)
	}
}

// Calm reports whether several counters are looked for no longer, since answers have not contradicted each
// other for long.
func (t *Table) Calm() bool {
	calm := t.counters.Calm()
	if calm {
		t.counters = nil
	}
	return calm
}

// Hear takes in an answer, if HasCounters.
func (t *Table) Hear(verb, path string, a *counter.Answer) counter.Change {
	return t.counters.Hear(verb, path, a)
}

// Key returns under which key an earlier run has saved what it learned of a counter; empty if it has not.
func (t *Table) Key(name string) string { return t.counters.Key(name) }

// Counters returns what tells the counters apart; nil unless HasCounters.
func (t *Table) Counters() *counter.Router { return t.counters }

// memory is what is known, as data.
type memory struct {
	Names    []string        `json:"names,omitempty"`  // the first one, and then those that have buckets of their own
	Places   map[string]int  `json:"places,omitempty"` // digests of places, and which of the Names requests to them draw on
	Counters *counter.Memory `json:"counters,omitempty"`
}

// maxMemory is how many bytes Load reads: more than Save writes of 256 routes and 64 counters, or of 1024
// places.
const maxMemory = 64 << 10

// Save returns what is known for a later run of the program, as JSON; nil if that is nothing. Key returns under
// which key what is learned of a counter is saved.
func (t *Table) Save(now monotime.Time, clock *monotime.Clock, key func(name string) string) json.RawMessage {
	m := memory{Counters: t.counters.Memory(now, clock, key)}
	if n := t.names; n != nil {
		m.Names = append([]string{n.first}, n.separate...)
		m.Places = n.memory(m.Names)
	}
	if len(m.Names) == 0 && m.Counters == nil {
		return nil
	}
	text, _ := json.Marshal(m) // texts and numbers always can be
	return text
}

// Load takes over what an earlier run has saved, if nothing is known yet. It reports whether anything was:
// whether requests belong under several names, and whether answers must be heard. What is no such text is
// nothing.
func (t *Table) Load(text json.RawMessage, now monotime.Time, clock *monotime.Clock) (split, hear bool) {
	var m memory
	if t.names != nil || t.counters != nil || len(text) > maxMemory || json.Unmarshal(text, &m) != nil {
		return false, false
	}
	if n := len(m.Names); n > 0 && n <= maxNames+1 && !slices.ContainsFunc(m.Names, func(name string) bool { return len(name) > maxName }) {
		t.names = newNames(m.Names[0])
		t.names.separate = m.Names[1:]
		t.names.restore(m.Places, m.Names)
		return n > 1, false
	}
	t.counters = m.Counters.Router(now, clock)
	return t.counters.Split(), t.counters != nil
}
