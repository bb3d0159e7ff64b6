package habit

import (
	"net/http"
	"unsafe"
)

// address is where a text lies, as a number, which keeps nothing alive.
//
// A text of an answer may be cut out of a long one, with all headers or a body in it, which is not to be kept
// for as long as a Habit is: so what is kept is a copy. But a text that lies at the same address in two answers
// is most often kept already, by what names headers for all answers; and it is kept as it is, since texts at
// one address are compared at a glance, and others byte by byte. Where it is another text, for which freed
// memory was used again, it keeps the long one alive until the Habit keeps something else in its place. A
// weak.Pointer would tell the two apart, at the price of an allocation and of locks of the runtime for each
// text that is looked at.
type address uintptr

func addressOf(text string) address { return address(uintptr(unsafe.Pointer(unsafe.StringData(text)))) }

// addressesOf returns the addresses of all names, none if they are many.
func addressesOf(header http.Header) (all []address) {
	if len(header) > mostHeaders {
		return nil
	}
	for key := range header {
		all = append(all, addressOf(key))
	}
	return all
}
