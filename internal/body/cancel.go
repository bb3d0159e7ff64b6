package body

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

// CancelAtEnd makes sent, which is a copy of a request, tell when its bodies were closed: Body, and those of
// GetBody, since net/http opens another one where a connection turns out to be closed. When there is an answer,
// and nothing of the exchange is under way any more, cancel(nil) is called: the answer has ended, and the
// bodies that were sent are closed. A server may answer before it has read the request.
func CancelAtEnd(sent *http.Request, cancel context.CancelCauseFunc) *Exchange {
	e := &Exchange{sent: sent, cancel: cancel}
	e.open.Store(1) // the answer
	if sent.Body != nil && sent.Body != http.NoBody {
		sent.Body = e.request(sent.Body)
	}
	if get := sent.GetBody; get != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			b, err := get()
			if err != nil || b == nil || b == http.NoBody {
				return b, err
			}
			return e.request(b), nil
		}
	}
	return e
}

// Exchange is a request and its answer, whose end cancels a context.
type Exchange struct {
	sent   *http.Request
	open   atomic.Int64 // bodies that have not ended, and the answer as long as there is none
	cancel context.CancelCauseFunc
	answer part
}

// Answered takes the answer, and wraps its body. If that can be written to, it still can; and it has ended only
// when it is closed, since the caller may write when the server has ended what it sends.
func (e *Exchange) Answered(resp *http.Response) {
	if !Has(e.sent, resp) {
		e.end()
		return
	}
	_, writable := resp.Body.(io.Writer)
	e.answer.ReadCloser, e.answer.of, e.answer.untilClosed = resp.Body, e, writable
	resp.Body = keepWriter(&e.answer, resp.Body)
}

// request returns a body that is sent, and belongs to e until it is closed.
func (e *Exchange) request(b io.ReadCloser) io.ReadCloser {
	e.open.Add(1)
	return &part{ReadCloser: b, of: e, untilClosed: true}
}

// end takes off a body that has ended.
func (e *Exchange) end() {
	if e.open.Add(-1) == 0 {
		e.cancel(nil)
	}
}

// part is a body of an exchange, until it has ended: was closed, or, unless only that counts, was read to its
// end or has failed.
type part struct {
	io.ReadCloser
	of          *Exchange
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
