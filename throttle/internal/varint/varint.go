// Package varint writes numbers, instants and texts as bytes, and reads them again. What it
// reads may come from a file that somebody has damaged: nothing makes it panic or use more
// memory than a small multiple of the bytes that there are.
package varint

import (
	"encoding/binary"
	"errors"

	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// ErrMalformed is the error of a Reader that found something else than was written.
var ErrMalformed = errors.New("malformed")

// Append appends numbers.
func Append[N ~int | ~int64](b []byte, numbers ...N) []byte {
	for _, n := range numbers {
		b = binary.AppendVarint(b, int64(n))
	}
	return b
}

// AppendBool appends truth values.
func AppendBool(b []byte, values ...bool) []byte {
	for _, v := range values {
		b = append(b, 0)
		if v {
			b[len(b)-1] = 1
		}
	}
	return b
}

// AppendString appends texts.
func AppendString(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = append(Append(b, len(s)), s...)
	}
	return b
}

// Reader reads what was appended, in the same order. After an error all it returns is zero.
type Reader struct {
	bytes []byte
	err   error
}

// NewReader returns a Reader of b.
func NewReader(b []byte) *Reader { return &Reader{bytes: b} }

// Err returns ErrMalformed if anything was not as written.
func (r *Reader) Err() error { return r.err }

// Fail has the Reader return ErrMalformed: the values make no sense together.
func (r *Reader) Fail() { r.bytes, r.err = nil, ErrMalformed }

// Empty reports whether all was read.
func (r *Reader) Empty() bool { return len(r.bytes) == 0 }

// Int reads a number from least to most.
func (r *Reader) Int(least, most int64) int64 {
	v, n := binary.Varint(r.bytes)
	if n <= 0 || v < least || v > most {
		r.Fail()
		return max(least, min(0, most))
	}
	r.bytes = r.bytes[n:]
	return v
}

// Len reads how many of something follow, of which each has a byte at least.
func (r *Reader) Len() int { return int(r.Int(0, int64(len(r.bytes)))) }

// Time reads an instant with which one can reckon without an overflow: a span after a slot that is a span after
// now, or two before zero.
func (r *Reader) Time() monotime.Time {
	const span = int64(monotime.Longest)
	return monotime.Time(r.Int(-2*span, 3*span))
}

// Bool reads a truth value.
func (r *Reader) Bool() bool {
	if len(r.bytes) == 0 || r.bytes[0] > 1 {
		r.Fail()
		return false
	}
	v := r.bytes[0] == 1
	r.bytes = r.bytes[1:]
	return v
}

// String reads a text.
func (r *Reader) String() string {
	n := r.Len()
	if n > len(r.bytes) {
		r.Fail()
		return ""
	}
	s := string(r.bytes[:n])
	r.bytes = r.bytes[n:]
	return s
}
