// Package body wraps the bodies of requests and answers, so that a body can be sent again ([Replay]), is
// read ahead ([Peek], [ReadAhead]), is counted ([Count]), or tells when it has ended ([Watch]); or so that
// both bodies of an exchange tell when they have ended ([CancelAtEnd]).
//
// In come bodies, and functions to call at their end; out come bodies. The package knows what RFC 9110 and
// net/http say of bodies. It does not know what a body is for: it has no buckets, limits, headers and
// attempts, and imports nothing of this module. It has locks, timers and goroutines, since one goroutine
// may read a body while another closes it.
package body

import (
	"context"
	"net/http"
	"time"
)

const (
	// drainLimit is how many bytes are read of an answer that the caller will not get, so that its
	// connection can be used again. The number is that of go-retryablehttp.
	drainLimit = 4096
	// drainTime bounds how long Discard reads, and then how long it waits for Close: a body that arrives in
	// small pieces must not delay the next attempt.
	drainTime = 100 * time.Millisecond
)

// Close closes the bodies of a request and of an answer, each of which may be nil: that of the request, as
// http.RoundTripper demands, also if Close of the other one panics.
func Close(req *http.Request, resp *http.Response) {
	if req != nil && req.Body != nil {
		defer req.Body.Close()
	}
	if resp != nil {
		resp.Body.Close()
	}
}

// Discard reads a bounded part of an answer that the caller will not get, and closes its body. If resp is
// nil, it does nothing. It does not wait for a Close that takes long: over HTTP/2, Close returns when net/http
// has done with the body of the request, and a Read of that may wait for what the caller has yet to write.
func Discard(resp *http.Response) {
	if resp == nil {
		return
	}
	a, ok := resp.Body.(*ahead)
	if !ok {
		a = readAhead(resp.Body, drainLimit)
	}
	a.wait(context.Background(), drainTime)
	a.closeWithin(drainTime)
}

// Has reports whether an answer has a body to read, by the rules of RFC 9110 section 6.4.1 and by the
// length that the answer states.
func Has(req *http.Request, resp *http.Response) bool {
	switch {
	case req.Method == http.MethodHead, resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return false
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return true
	}
	return resp.ContentLength != 0 && resp.Body != http.NoBody
}
