// Package bell wakes who waits, when the lock under which that was decided is free again: who is woken takes
// that lock next, and would have to wait for it.
//
// In come bells that are to be rung ([List.Add]), with the lock held; they are taken with it ([List.Take]), and
// rung without it ([Bell.Ring]). The package knows nothing of what is waited for.
package bell

import (
	"cmp"
	"context"
	"math"
	"time"
)

// Bell is of one who waits. It must be made by [New], and is rung once for each time that it is waited for.
type Bell struct {
	C    chan struct{} // has a value when the bell was rung
	next *Bell         // is rung after this one
}

// New returns a Bell.
func New() Bell { return Bell{C: make(chan struct{}, 1)} }

// Rung reports whether the bell was rung and nobody has waited for it since.
func (b *Bell) Rung() bool { return len(b.C) > 0 }

// Event is what ended a wait.
type Event uint8

// The events.
const (
	Rung Event = iota
	Expired
	Ended
	Canceled
)

// Never is a time that does not pass.
const Never time.Duration = math.MaxInt64

// WaitOr waits until the bell is rung, a time has passed, or one of the channels has something to say, and
// returns which. Each channel may be nil.
func (b *Bell) WaitOr(left time.Duration, ended, canceled <-chan struct{}) Event {
	var expired <-chan time.Time
	switch {
	case left != Never:
		timer := time.NewTimer(left)
		defer timer.Stop()
		expired = timer.C
	case ended == nil && canceled == nil:
		<-b.C // at half the cost of a select
		return Rung
	}
	select {
	case <-b.C:
		return Rung
	case <-expired:
		return Expired
	case <-ended:
		return Ended
	case <-canceled:
		return Canceled
	}
}

// Over returns why a wait is over before it begins, in words and as an error; nil if it is not. Canceled may be
// nil.
func Over(ctx context.Context, canceled <-chan struct{}) (why string, err error) {
	err = ctx.Err()
	select {
	case <-canceled:
		return "Cancel has already been closed", cmp.Or(err, context.Canceled)
	default:
		return "the context has already ended", err
	}
}

// List is bells that are to be rung, in the order in which they were added. The zero List is empty. It has no
// lock of its own.
type List struct{ first, last *Bell }

// Add adds a bell, which is in no List.
func (l *List) Add(b *Bell) {
	if l.last == nil {
		l.first = b
	} else {
		l.last.next = b
	}
	l.last = b
}

// Take empties the list, and returns the first bell, nil if there is none.
func (l *List) Take() (first *Bell) {
	first = l.first
	*l = List{}
	return first
}

// Ring rings a bell that was taken from a List, and those behind it. B may be nil. Who waits for a bell may use
// it for something else at once.
func (b *Bell) Ring() {
	for b != nil {
		next := b.next
		b.next = nil
		b.C <- struct{}{}
		b = next
	}
}
