// Package whole tells tests how much to try. `go test ./...` takes about a minute on two cores once it is
// compiled; what tests leave out for that, they try where the environment has PACER_WHOLE=1, as in .ci/long.
package whole

import (
	"hash/crc32"
	"os"
)

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
// by their names. If all are wanted, it does.
func Part(n uint32, name string) bool {
	return Wanted() || crc32.ChecksumIEEE([]byte(name))%n == 0
}
