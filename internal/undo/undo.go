// Package undo takes back what was begun for a function of somebody else that does not return.
package undo

// OnPanic calls f. If f panics, or ends its goroutine, OnPanic calls back, and the panic goes on.
func OnPanic(f, back func()) {
	returned := false
	defer func() {
		if !returned {
			back()
		}
	}()
	f()
	returned = true
}
