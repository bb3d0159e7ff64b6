// Package piece reads and writes bytes piece by piece, each of which is paid for.
//
// In come a reader or a writer, and who grants bytes (a [Payer]); what flows is what was granted. The package
// does not know how bytes are granted, nor what waits for that.
package piece

import (
	"fmt"
	"io"
)

// Payer pays for bytes.
type Payer interface {
	// Most returns how many bytes a piece has at most, 1 or more. That may change.
	Most() int

	// Pay waits until n bytes are granted, which are no more than Most has returned last. With an error, none
	// are.
	Pay(n int) error

	// Flown says that only n bytes have flown of those that were paid for last.
	Flown(n int)
}

// Reader reads from another reader. A piece is read first, and handed on when it is paid for: so it is known
// how large it is, and a source that has nothing to read holds nothing that others could use.
type Reader struct {
	left []byte // what was read and could not be paid for
	err  error  // what the source returned with it
}

// Read reads a piece of source into p. What cannot be paid for is kept for the next Read: nothing is lost. If
// something is wrong with source or payer, which must not be used then, Read returns that.
func (r *Reader) Read(source io.Reader, p []byte, payer Payer, wrong error) (n int, err error) {
	if wrong != nil {
		return 0, wrong
	}
	if r.left == nil {
		room := min(len(p), payer.Most())
		switch n, err = source.Read(p[:room]); {
		case n < 0 || n > room: // nobody knows what it has read, if anything
			return 0, fmt.Errorf("throttle: %T has read %d bytes, where there is room for %d", source, n, room)
		case n == 0:
			return 0, err
		}
		paid, payErr := pay(payer, n)
		if paid < n { // or pieces have become smaller
			r.left, r.err, err = append([]byte(nil), p[paid:n]...), err, payErr
		}
		return paid, err
	}
	if n, err = pay(payer, min(len(p), len(r.left))); n > 0 {
		copy(p, r.left[:n])
		r.left = r.left[n:]
	}
	if len(r.left) == 0 {
		err, r.left, r.err = r.err, nil, nil
	}
	return n, err
}

// pay pays for n bytes, or for as many of them as a piece has, and returns how many.
func pay(payer Payer, n int) (paid int, err error) {
	for most := payer.Most(); ; most = payer.Most() {
		if err != nil && most >= paid {
			return 0, err
		} // else pieces have become smaller, and that one was too large
		if paid = min(n, most); paid == 0 {
			return 0, nil
		}
		if err = payer.Pay(paid); err == nil {
			return paid, nil
		}
	}
}

// Write writes p to sink, each piece when it is paid for. What was paid for and not written is given back.
// Wrong is as in Read.
func Write(sink io.Writer, p []byte, payer Payer, wrong error) (n int, err error) {
	switch {
	case wrong != nil:
		return 0, wrong
	case len(p) == 0:
		return sink.Write(p)
	}
	for n < len(p) && err == nil {
		var paid, k int
		if paid, err = pay(payer, len(p)-n); err == nil {
			k, err = write(sink, p[n:n+paid], payer)
		}
		n += k
	}
	return n, err
}

// write writes a piece that was paid for.
func write(sink io.Writer, piece []byte, payer Payer) (n int, err error) {
	defer func() { // also if Write panics
		if n = min(max(n, 0), len(piece)); n < len(piece) {
			payer.Flown(n)
		}
	}()
	switch n, err = sink.Write(piece); {
	case err != nil:
	case n > len(piece): // what follows would be left out, as if it were written
		err = fmt.Errorf("throttle: %T has written %d of %d bytes", sink, n, len(piece))
	case n < len(piece):
		err = io.ErrShortWrite
	}
	return n, err
}
