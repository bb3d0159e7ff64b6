// Package value reads what one value says, whatever header or body it stands in: a number,
// a duration, an instant, a window of time, a unit, the members of a list.
//
// What comes in is text that a server wrote, and, for instants, the [Clock] of the answer.
// What goes out are small values which tell whether they are known. Every number and every
// time is bounded, and what cannot be understood is not known.
//
// The package knows neither names of headers nor limits, and nothing of what several values
// mean together.
package value

// Bounds of what is read.
const (
	MaxNumber  = 64      // bytes of a number, an instant or a duration
	MaxName    = 64      // bytes of a name
	MaxField   = 8 << 10 // bytes of a list, all lines together, and of one text
	MaxMembers = 32      // members of a list
)
