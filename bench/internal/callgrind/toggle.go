//go:build amd64

package callgrind

// canToggle says that toggle does something.
const canToggle = true

// toggle has callgrind begin, or end, to count the instructions of the calling thread. Without callgrind, it
// does nothing.
func toggle()
