package outbox

import (
	"slices"
	"testing"
)

// Events are told in order, also those that come while others are told, and with the lock released.
func TestTell(t *testing.T) {
	var o Outbox[int]
	locked := true
	unlock, lock := func() { locked = false }, func() { locked = true }
	var got []int
	tell := func(e int) {
		if got = append(got, e); locked {
			t.Error("told with the lock held")
		}
		if e < 3 {
			lock()
			o.Add(e + 10)
			o.Tell(nil, unlock, lock) // another goroutine: the first one tells it
			unlock()
		}
	}
	for e := range 4 {
		o.Add(e + 1)
	}
	o.Tell(tell, unlock, lock)
	if want := []int{1, 2, 3, 4, 11, 12}; !slices.Equal(got, want) || !locked {
		t.Errorf("got %v, want %v; locked: %v", got, want, locked)
	}
	o.Add(7)
	o.Tell(nil, unlock, lock)
	o.Tell(tell, unlock, lock) // nothing is left
	o.Add(8)
	func() {
		defer func() { _ = recover() }()
		o.Tell(func(int) { panic("oops") }, unlock, lock)
	}()
	if o.Add(9); !locked {
		t.Error("a panic has left the lock released")
	}
	o.Tell(tell, unlock, lock)
	if got[len(got)-1] != 9 || len(got) != 7 {
		t.Errorf("got %v", got)
	}
}
