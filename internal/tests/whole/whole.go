// Package whole tells tests how much to try. `go test ./...` takes about a minute on two cores once it is
// compiled; what tests leave out for that, they try where the environment has PACER_WHOLE=1, as in .ci/long.
package whole

import (
	"hash/crc32"
	"os"
	"runtime/debug"
	"testing"
)

// A test makes much garbage and keeps little. Collected whenever there are 4 MB of it, as is usual, that takes
// a sixth of its time.
func init() { debug.SetGCPercent(400) }

// Wanted reports whether tests try all that they have.
func Wanted() bool { return os.Getenv("PACER_WHOLE") != "" }

// Or returns usual, or all if that is wanted.
func Or[T any](usual, all T) T {
	if Wanted() {
		return all
	}
	return usual
}

// Part reports whether a case belongs to the usual ones, which are about one of n: the same ones in each run,
// by their names. If all are wanted, it does. With the race detector, about one of 4n do: it takes ten times as
// long, and where goroutines meet, cases are alike; what they decide is seen without it.
func Part(n uint32, name string) bool {
	if detector {
		n *= 4
	}
	return Wanted() || crc32.ChecksumIEEE([]byte(name))%n == 0
}

// Alone skips a test with the race detector, if not all is wanted: one with no other goroutine, in which there
// is no race.
func Alone(tb testing.TB) {
	tb.Helper()
	if detector && !Wanted() {
		tb.Skip("there is one goroutine")
	}
}
