// Package body reads what the body of an error says about limits: which of them are used up,
// how long to wait, and why the request was refused.
//
// What comes in is the beginning of a JSON text; what goes out are [Facts]. A table has the
// paths at which services say something, and how the values at each path are read, whichever
// service wrote the body. The package knows nothing of headers.
package body

import (
	"bytes"
	"time"

	"github.com/gopacer/pacer/headers/internal/jsonscan"
	"github.com/gopacer/pacer/headers/internal/value"
)

// Read reads the beginning of a body, which may be cut anywhere: what is not complete says
// nothing. A Delay is cut down to most.
func Read(prefix []byte, most time.Duration) *Facts {
	r := &reader{most: most}
	prefix = bytes.TrimPrefix(prefix, []byte("\ufeff")) // which may be ignored (RFC 8259, 8.1)
	jsonscan.Scan(prefix, wanted, func(path, text []byte) {
		read := readerOf(unwrapped(path))
		switch {
		case text == nil: // an element of an array begins
			r.endQuota()
		case read != nil && len(text) <= 4*value.MaxNumber:
			read(r, string(text))
		}
	})
	r.finish()
	return &r.facts
}

// wanted reports whether a path leads to something that is read, or may: any object may have what is read
// anywhere, but for data, which answers that are no errors have, and which is long.
func wanted(path []byte) bool {
	path = unwrapped(path)
	return tree[string(path)] || bytes.IndexByte(path, '/') < 0 && string(path) != "data" || readerOf(path) != nil
}

// unwrapped returns a path without the array in which Google wraps what it streams.
func unwrapped(path []byte) []byte { return bytes.TrimPrefix(path, []byte("*/")) }
