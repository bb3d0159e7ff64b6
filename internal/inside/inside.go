// Package inside has what packages of this module have for each other alone.
//
// Each of them has a function Inside, which asks for a [Key]. Since the package is internal, nobody else can
// make one. So what Inside returns is no promise to users, and may change at any time, although it is in the
// package that it is about: there the compiler knows which function is called, and keeps on the stack what it
// is given, which it could not through a variable.
//
// The other types are what goes between the packages, and has no meaning to users.
package inside

// Key opens a function Inside. The zero Key does.
type Key struct{ _ struct{} } // a field of this package: no other struct can stand for it

// Told is a header that speaks of limits, as far as package internal/habit needs it. The meaning is for package
// headers.
type Told struct {
	Key     string
	Says    Says
	Meaning any
}

// Says is what a header says of a limit.
type Says uint8

// What headers say.
const (
	SaysElse   Says = iota // anything but the following, such as when to try again
	SaysMost               // how much there is in all
	SaysSpan               // the time in which that is granted
	SaysWhich              // when the limit is restored, or what it is called
	SaysUsed               // how much is gone
	SaysNumber             // how much is left, and nothing else
	SaysField              // how much is left, in a field of the IETF drafts
)

// Left is how much remains of each limit that an answer stated, in their order, of four at most.
type Left [4]int

// Mark stands for the limits that an answer stated. Each has an address of its own, and nothing else is known
// of it.
type Mark struct{ _ byte }
