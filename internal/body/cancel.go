package body

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

// CancelAtEnd makes sent, which is a copy of a request, tell when its bodies were closed: Body, and those of
// GetBody, since net/http opens another one where a connection turns out to be closed. It returns the function
// that takes the answer. After that, cancel(nil) is called when nothing of the exchange is under way any more: the
// answer has ended, and the bodies that were sent are closed. A server may answer before it has read the request.
func CancelAtEnd(sent *http.Request, cancel context.CancelCauseFunc) (answered func(*http.Response)) {
	e := &exchange{cancel: cancel}
	e.open.Store(1) // until there is an answer
	if sent.Body != nil && sent.Body != http.NoBody {
		sent.Body = e.part(sent.Body, true)
	}
	if get := sent.GetBody; get != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			b, err := get()
			if err != nil || b == nil || b == http.NoBody {
				return b, err
			}
			return e.part(b, true), nil
		}
	}
	return func(resp *http.Response) {
		if Has(sent, resp) {
			_, writable := resp.Body.(io.Writer) // what the server sends has an end, and what the caller writes goes on
			resp.Body = keepWriter(e.part(resp.Body, writable), resp.Body)
		}
		e.end()
	}
}

// exchange is a request and its answer, whose end cancels a context.
type exchange struct {
	open   atomic.Int64 // bodies that have not ended, and 1 until there is an answer
	cancel context.CancelCauseFunc
}

// part returns a body that belongs to e until it has ended: was closed, or, unless only that counts, was read to its end or has failed.
func (e *exchange) part(b io.ReadCloser, untilClosed bool) io.ReadCloser {
	e.open.Add(1)
	return &part{ReadCloser: b, of: e, untilClosed: untilClosed}
}

// end takes off a body that has ended.
func (e *exchange) end() {
	if e.open.Add(-1) == 0 {
		e.cancel(nil)
	}
}

// part is a body of an exchange.
type part struct {
	io.ReadCloser
	of          *exchange
	untilClosed bool
	over        atomic.Bool
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (n int, _ error) {
	err := errLeft // if it panics, the body has failed
	defer func() {
		if err != nil && !p.untilClosed {
			p.end()
		}
	}()
	n, err = p.ReadCloser.Read(b)
	return n, err
}

// Close implements io.Closer.
func (p *part) Close() error {
	defer p.end()
	return p.ReadCloser.Close()
}

// end tells the exchange once.
func (p *part) end() {
	if !p.over.Swap(true) {
		p.of.end()
	}
}
