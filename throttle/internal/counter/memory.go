package counter

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Memory is what a Router has learned, as data that is saved for a later run of the program. Routes are
// digests, since a path may contain a credential.
type Memory struct {
	Name     string   `json:"name,omitempty"` // of the limit
	Counters []Known  `json:"counters,omitempty"`
	Full     []string `json:"full,omitempty"` // places below which there are so many that all are one star
}

// Known is what is known of one counter.
type Known struct {
	Key       string       `json:"key,omitempty"` // under which what is learned of its limit is saved
	Limit     int64        `json:"limit,omitzero"`
	ByNumbers bool         `json:"byNumbers,omitzero"`
	Leaves    []string     `json:"leaves,omitempty"`
	Instances bool         `json:"instances,omitzero"` // it is of several instances of the server
	Slots     []SlotMemory `json:"slots,omitempty"`    // of these
}

// SlotMemory is the window of one instance.
type SlotMemory struct {
	Early     time.Time `json:"early"` // the reset is in [Early, Late]
	Late      time.Time `json:"late"`
	Remaining int64     `json:"remaining"`
}

// former is what an earlier run knew of a counter.
type former struct {
	Known
	counter *counter // nil before one of its leaves is met
}

// maxText bounds names and digests in what is read: together.Short sees to it that no name is longer.
const maxText = 256

// Memory returns what is known, nil if that is one counter and one instance. Key returns the key of the counter
// of a name.
func (r *Router) Memory(now monotime.Time, clock *monotime.Clock, key func(name string) string) *Memory {
	if r == nil {
		return nil
	}
	m, known := &Memory{Name: r.name}, r.split
	for _, c := range r.counters {
		cm := Known{Limit: c.limit, ByNumbers: c.byNumbers, Instances: c.instances.found(), Leaves: r.digests(c)}
		if r.split {
			cm.Key = key(c.name)
		}
		if cm.Instances {
			cm.Slots = c.instances.memory(now, clock)
		}
		if known = known || cm.Instances; len(cm.Leaves) > 0 {
			m.Counters = append(m.Counters, cm)
		}
	}
	for _, f := range r.unmet() {
		m.Counters, known = append(m.Counters, f.Known), true
	}
	if !known || len(m.Counters) == 0 {
		return nil
	}
	m.Counters = m.Counters[:min(len(m.Counters), maxCounters)]
	m.Full = slices.Sorted(maps.Keys(r.fullBefore))
	r.root.eachPlace(func(n *node) {
		if d := n.digest(); n.full && !r.fullBefore[d] && len(m.Full) < maxLeaves {
			m.Full = append(m.Full, d)
		}
	})
	return m
}

// digests returns the leaves of a counter that has been heard, of this run and of an earlier one.
func (r *Router) digests(c *counter) (all []string) {
	if c.isNew {
		return nil
	}
	for _, l := range r.leaves {
		if l.counter == c {
			all = append(all, l.at.digest())
		}
	}
	for _, d := range slices.Sorted(maps.Keys(r.before)) {
		if f := r.before[d]; f.counter == c && len(all) < maxLeaves && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// unmet returns the counters of an earlier run of which no leaf was met.
func (r *Router) unmet() (all []*former) {
	for _, d := range slices.Sorted(maps.Keys(r.before)) {
		if f := r.before[d]; f.counter == nil && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// Router returns a Router that begins with what an earlier run knew; nil if that is nothing. What is beyond its
// bounds is left out.
func (m *Memory) Router(now monotime.Time, clock *monotime.Clock) *Router {
	if m == nil || len(m.Name) > maxText {
		return nil
	}
	r := New(m.Name)
	r.before, r.fullBefore = map[string]*former{}, map[string]bool{}
	counters := m.Counters[:min(len(m.Counters), maxCounters)]
	any := false
	for i := range counters {
		f := &former{Known: counters[i]}
		if len(f.Key) > maxText {
			f.Key = ""
		}
		f.Slots = f.Slots[:min(len(f.Slots), maxSlots)]
		for _, d := range f.Leaves {
			if len(d) <= maxText && len(r.before) < maxLeaves {
				r.before[d] = f
				any = true
			}
		}
		r.split = r.split || i > 0
	}
	for _, d := range m.Full[:min(len(m.Full), maxLeaves)] {
		if len(d) <= maxText {
			r.fullBefore[d] = true
		}
	}
	if !any {
		return nil
	}
	r.root.full = r.fullBefore[r.root.digest()]
	r.clock, r.since = clock, now
	return r
}

// recall returns the counter to which a new leaf belonged in an earlier run; nil if that is not known.
func (r *Router) recall(l *leaf) *counter {
	if len(r.before) == 0 {
		return nil
	}
	f := r.before[l.at.digest()]
	switch {
	case f == nil:
		return nil
	case f.counter != nil && slices.Contains(r.counters, f.counter):
		return f.counter
	case !r.split && len(r.counters) > 0:
		f.counter = r.counters[0]
	case len(r.counters) >= maxCounters:
		return nil
	default:
		f.counter = r.add(f.ByNumbers)
	}
	c := f.counter
	if r.split {
		c.name = r.nameFor(l, c)
	}
	c.isNew, c.limit, c.key = false, max(f.Limit, 0), f.Key
	if f.Instances {
		c.instances = restored(f.Slots, r.since, r.clock)
	}
	return c
}

// Key returns under which key an earlier run has saved what it learned of the limit of a counter; empty if it
// has not.
func (r *Router) Key(name string) string {
	if r != nil {
		for _, c := range r.counters {
			if c.name == name {
				return c.key
			}
		}
	}
	return ""
}

// memory returns what is known of each instance.
func (in *instances) memory(now monotime.Time, clock *monotime.Clock) (all []SlotMemory) {
	for i := range in.slots {
		if s := &in.slots[i]; s.late > now {
			all = append(all, SlotMemory{clock.Date(s.early), clock.Date(s.late), s.remaining})
		}
	}
	return all
}

// restored returns instances that are found, with what is known of each.
func restored(slots []SlotMemory, now monotime.Time, clock *monotime.Clock) instances {
	in := instances{watching: true, returns: enoughReturns, previous: -1}
	for _, m := range slots {
		early, late := clock.At(m.Early), min(clock.At(m.Late), now.Add(monotime.Longest))
		if late > now && early <= late {
			in.slots = append(in.slots, slot{early: early, late: late, at: now, remaining: max(m.Remaining, 0)})
		}
	}
	return in
}

// digest names a place without saying it.
func (n *node) digest() string {
	sum := sha256.Sum256([]byte(strings.Join(n.parts(), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// eachPlace calls f for n and all places below it.
func (n *node) eachPlace(f func(*node)) {
	f(n)
	for _, b := range n.below {
		b.eachPlace(f)
	}
	if n.star != nil {
		n.star.eachPlace(f)
	}
}
