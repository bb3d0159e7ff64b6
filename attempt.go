package pacer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// ErrAttemptTimeout is found by errors.Is in the error of an attempt that took longer than
// Transport.AttemptTimeout. That error is a timeout, as net.Error has it, but no
// context.DeadlineExceeded: the context of the caller has not ended.
var ErrAttemptTimeout = errors.New("pacer: no answer within AttemptTimeout")

// attemptTimeoutError is the error of an attempt.
type attemptTimeoutError time.Duration

func (e attemptTimeoutError) Error() string {
	return fmt.Sprintf("pacer: no answer within the AttemptTimeout of %v", time.Duration(e))
}

// Is says that it is an ErrAttemptTimeout.
func (e attemptTimeoutError) Is(target error) bool { return target == ErrAttemptTimeout }

// Timeout is for url.Error and net.Error.
func (e attemptTimeoutError) Timeout() bool { return true }

// sendWithin is send for an attempt that is to be answered within d. Its context lives on
// until the answer was read, and then ends without anybody's seeing it.
func (t *Transport) sendWithin(d time.Duration, req *http.Request, g *throttle.Grant) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	late := attemptTimeoutError(d)
	timer := time.AfterFunc(d, func() { cancel(late) })
	resp, err := t.send(req.WithContext(ctx), g)
	if !timer.Stop() {
		cancel(late) // it is about to
	}
	if context.Cause(ctx) == error(late) { //nolint:errorlint // and not that of a Transport above
		if err == nil {
			resp.Body.Close()
		}
		return nil, late
	}
	if err != nil || !hasBody(req, resp) {
		cancel(nil)
		return resp, err
	}
	body := attemptBody{resp.Body, cancel}
	resp.Body = body
	if w, ok := body.ReadCloser.(io.Writer); ok {
		resp.Body = upgradedAttempt{body, w}
	}
	return resp, nil
}

// attemptBody is a body with whose end the context of its attempt ends.
type attemptBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (b attemptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

// Close implements io.Closer.
func (b attemptBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// upgradedAttempt is that of a connection which is used for something else now.
type upgradedAttempt struct {
	attemptBody
	io.Writer
}

// CloseWrite ends what is written, if Base can.
func (b upgradedAttempt) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("pacer: CloseWrite: %w", http.ErrNotSupported)
}
