package headers

import (
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
)

// A Dialect is one limit as one service writes it: which header says what. It is for
// names that the rules of the package do not read, or would read otherwise, and for what
// only the documentation of a service says.
//
// All headers that a Dialect names are read as that one limit, or, if their values are
// lists, as one limit for each position. A header that it leaves out is read as if there
// were no Dialect. Values have all the forms that they may have elsewhere: a reset may be
// a delay or an instant. [Reader.Validate] finds mistakes.
type Dialect struct {
	// Name is what Limit.Name will be, in printable ASCII of at most 64 bytes. It may be empty.
	Name string

	// Unit is what is counted, in the same characters. Empty means requests.
	Unit string

	// The names of the headers, in upper or lower case, of 3 to 128 bytes; empty for those
	// that the service does not send.
	Limit      string // how much there is in all
	Remaining  string // how much is left
	Used       string // how much is gone
	Reset      string // when it is restored
	Window     string // the time in which Limit is granted
	RetryAfter string // when to try again

	// FixedLimit and FixedWindow are what the headers Limit and Window would say, for services
	// that say so only in their documentation. FixedLimit counts in answers without the header
	// Limit, which may say "unlimited"; FixedWindow wherever the header Window is not there or
	// cannot be read. Zero means not known. A negative one is a mistake, as is a FixedLimit over
	// 999 999 999 999 999, and a FixedWindow over 366 days.
	FixedLimit  int64
	FixedWindow time.Duration

	// Step is what a number in Reset, RetryAfter and Window counts, such as
	// time.Millisecond: nothing in an answer tells 1500 milliseconds from 1500 seconds. If zero, the
	// header's name tells (X-Reset-Ms), or else it is a second; of whole thousands in Window, such
	// as 60000, a millisecond, unless they are whole days in seconds and no whole minutes in
	// milliseconds, as 2592000. A negative one is a mistake, as is one over an hour.
	Step time.Duration

	_ [0]func() // fields may follow: no literals without names, no comparing
}

// named returns the dialect for the package that knows names.
func (d *Dialect) named() *name.Dialect {
	return &name.Dialect{
		Name: d.Name, Unit: d.Unit, FixedLimit: d.FixedLimit, FixedWindow: d.FixedWindow, Step: d.Step,
		Limit: d.Limit, Remaining: d.Remaining, Used: d.Used, Reset: d.Reset, Window: d.Window, RetryAfter: d.RetryAfter,
	}
}
