package pacertest

import (
	"net/http"
	"slices"
	"time"
)

// A Fault is what goes wrong with one request. With the zero value, nothing does.
type Fault struct {
	// Status, if not zero, is the status of an answer that the server gives without
	// asking a quota. Nothing is charged, no limit is announced, and the Handler is
	// not called. A number that is no status, such as a negative one, panics as in
	// http.ResponseWriter.
	Status int

	// Header replaces fields that the Dialect wrote, or adds fields. An empty list of
	// values removes the field; the Date can be removed, too.
	Header http.Header

	// Drop closes the connection without an answer. If zero, it stays open.
	Drop Drop

	// Delay is added to the Server's Latency. If zero or negative, nothing is added.
	Delay time.Duration

	// Skew is how far the server's clock is ahead of the client's when it writes the
	// answer. It shows in the Date and in resets that are stated as an instant. If
	// Skew is negative, the server's clock is behind.
	Skew time.Duration
}

// Drop says when a connection is dropped. The client sees an error either way, and
// cannot tell when it was. Note that http.Transport itself sends an idempotent
// request again if the connection has served another request before. With zero, the empty
// text, or any text that is none of the constants, the connection is not dropped.
type Drop string

// The moments of a drop.
const (
	DropBefore Drop = "before" // before anything is done: nothing is charged
	DropAfter  Drop = "after"  // after everything is done: only the answer is lost
)

// drops reports whether the connection is dropped.
func (d Drop) drops() bool { return d == DropBefore || d == DropAfter }

// setHeader sets the fields of the fault in h. Where h has a Date, with or without a
// value, net/http adds none.
func (f Fault) setHeader(h http.Header) {
	if f.Skew != 0 {
		h.Set("Date", time.Now().Add(f.Skew).UTC().Format(http.TimeFormat))
	}
	for name, values := range f.Header {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}
