// Package outbox tells events one after the other, with no lock held.
//
// In come events; out go calls of a function, in the order of the events. The package does not know what they
// are about.
package outbox

// Outbox is events that were not told yet. The zero Outbox is empty. It is protected by a lock of its owner.
type Outbox[E any] struct {
	events  []E
	telling bool // a goroutine tells events
}

// Add adds an event.
func (o *Outbox[E]) Add(e E) { o.events = append(o.events, e) }

// Tell calls f for each event; if f is nil, the events are dropped. It requires that the lock is held, and
// releases the lock during each call, also if f panics. If another goroutine tells events, that one tells
// these, too.
func (o *Outbox[E]) Tell(f func(E), unlock, lock func()) {
	if o.telling {
		return
	}
	o.telling = true
	defer func() { o.telling = false }()
	for len(o.events) > 0 && f != nil {
		e := o.events[0]
		o.events = o.events[1:]
		func() {
			unlock()
			defer lock()
			f(e)
		}()
	}
	o.events = nil
}
