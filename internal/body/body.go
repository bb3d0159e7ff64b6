// Package body wraps the bodies of requests and answers, so that a body can be sent again ([Replay]), is
// read ahead ([Peek], [ReadAhead]), is counted ([Count]), or tells when it has ended ([Watch],
// [CancelAtEnd]).
//
// In come bodies, and functions to be called at their end; out come bodies. The package knows what
// RFC 9110 and net/http say of bodies. It does not know what a body is for: it has no buckets, limits,
// headers and attempts, and imports nothing of this module. It has locks, timers and goroutines, since
// one goroutine may read a body while another closes it.
package body

import (
	"io"
	"net/http"
	"time"
)

const (
	// drainLimit is how much of an answer that nobody will read is read, so that
	// its connection can be used again (go-retryablehttp's figure).
	drainLimit = 4096
	// drainTime is how long that may take, and for how long Peek begins to read more: a body
	// that trickles does not hold the next attempt up.
	drainTime = 100 * time.Millisecond
)

// Discard reads a bounded part of an answer that is not wanted, and closes it. If resp is nil, it does
// nothing.
func Discard(resp *http.Response) {
	if resp == nil {
		return
	}
	body := resp.Body
	timer := time.AfterFunc(drainTime, func() { body.Close() })
	io.CopyN(io.Discard, body, drainLimit) //nolint:errcheck // what cannot be read is not wanted either
	timer.Stop()
	body.Close()
}

// Has reports whether an answer has a body to read: by the rules of RFC 9110 section 6.4.1, and by the
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
