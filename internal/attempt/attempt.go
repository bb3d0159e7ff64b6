// Package attempt hands one request to a RoundTripper, within a time, and holds the RoundTripper to its
// contract.
//
// In come a RoundTripper and a request; out comes either an answer with a body or an error. The package knows
// nothing of buckets, of what an answer says, and of further attempts.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gopacer/pacer/internal/body"
)

// ErrTimeout is found by errors.Is in the error of an attempt that took too long. That error is a timeout, as
// net.Error has it, but not a context.DeadlineExceeded: the context of the caller has not ended.
var ErrTimeout = errors.New("pacer: no answer within AttemptTimeout")

// Send hands the request to base.
func Send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	if !Answered(resp, err) {
		return Corrected(base, resp, err)
	}
	return resp, nil
}

// Answered reports whether what a RoundTripper has returned is an answer, as nearly always, and needs no
// correction.
func Answered(resp *http.Response, err error) bool {
	return err == nil && resp != nil && resp.Body != nil
}

// Corrected corrects what breaks the contract of http.RoundTripper in what base has returned.
func Corrected(base http.RoundTripper, resp *http.Response, err error) (*http.Response, error) {
	return corrected(resp, err, fmt.Sprintf("%T", base))
}

// SendWithin is Send for an attempt that must be answered within d. The context of the attempt lives on until
// the answer was read and the body of the request was sent, and is then canceled; no caller sees that.
func SendWithin(d time.Duration, base http.RoundTripper, req *http.Request) (*http.Response, error) {
	late := timeoutError(d)
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(d, func() { cancel(late) })
	sent := req.WithContext(ctx)
	exchange := body.CancelAtEnd(sent, cancel)
	answered := false // from then on, exchange cancels
	defer func() {
		if timer.Stop(); !answered { // also if base has panicked, or the body of an answer that comes too late
			cancel(nil)
		}
	}()
	resp, err := Send(base, sent)
	if !timer.Stop() {
		cancel(late) // the timer has fired, and its function may not have run yet
	}
	switch {
	case context.Cause(ctx) == error(late): //nolint:errorlint // not one of a Transport above
		if err == nil {
			resp.Body.Close()
		}
		return nil, late
	case err != nil:
		return nil, err
	case resp.Request == sent:
		resp.Request = req
	case resp.Request != nil: // the request that Base has made of sent
		resp.Request = resp.Request.WithContext(req.Context())
	}
	answered = true
	exchange.Answered(resp)
	return resp, nil
}

// Instead returns the answer of what answers in place of a server, and has that name. It closes the body of the
// request if that is left alone.
func Instead(req *http.Request, answer func(*http.Request) (*http.Response, error), name string) (*http.Response, error) {
	out, touched := req, func() bool { return false }
	if req.Body != nil && req.Body != http.NoBody {
		out = req.WithContext(req.Context())
		out.Body, touched = body.Touched(req.Body)
	}
	defer func() {
		if !touched() {
			body.Close(req, nil)
		}
	}()
	resp, err := answer(out)
	if resp, err = corrected(resp, err, name); err == nil && (resp.Request == nil || resp.Request == out) {
		resp.Request = req
	}
	return resp, err
}

// ContextError returns the cause for which a context has ended. errors.Is finds the Err of the context in it,
// too.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Gone reports whether the caller has canceled the request.
func Gone(req *http.Request) bool {
	select {
	case <-req.Cancel: //nolint:staticcheck // old callers still use it, and http.Client does
		return true
	default:
		return req.Context().Err() != nil
	}
}

// Sleep waits for d. It returns the ContextError of ctx if that has ended by then, or canceled if the channel
// was closed.
func Sleep(ctx context.Context, d time.Duration, cancel <-chan struct{}, canceled error) error {
	if d > 0 { // a timer for now, in a bubble of synctest, has the race detector fault in its own code
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-cancel:
		}
	}
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	select {
	case <-cancel:
		return canceled
	default:
		return nil
	}
}

// corrected is Corrected for what has that name.
func corrected(resp *http.Response, err error, name string) (*http.Response, error) {
	switch {
	case err != nil && resp != nil:
		if resp.Body != nil {
			resp.Body.Close()
		}
		return nil, err
	case err == nil && resp == nil:
		return nil, fmt.Errorf("pacer: %s returned neither a response nor an error", name)
	case err == nil && resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, err
}

// timeoutError is the error of an attempt that took longer than the time that it holds.
type timeoutError time.Duration

func (e timeoutError) Error() string {
	return fmt.Sprintf("pacer: no answer within the AttemptTimeout of %v", time.Duration(e))
}

// Is makes errors.Is find ErrTimeout.
func (e timeoutError) Is(target error) bool { return target == ErrTimeout }

// Timeout makes the error a timeout for url.Error and net.Error.
func (e timeoutError) Timeout() bool { return true }
