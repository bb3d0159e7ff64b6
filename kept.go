package pacer

import (
	"io"
	"math"
	"net/http"
	"time"
)

const (
	// drainLimit is how much of an answer that nobody will read is read, so that
	// its connection can be used again (go-retryablehttp's figure).
	drainLimit = 4096
	// drainTime is how long that may take: a body that trickles does not hold the
	// next attempt up.
	drainTime = 100 * time.Millisecond
	// keepLimit is how much is read ahead of an answer that may still be wanted. Pages that
	// say what is wrong are shorter.
	keepLimit = 64 << 10
)

// keep reads a body ahead while the request waits, so that the answer can still be returned
// but does not hold a connection: who waits in line may wait for another request of ours, and
// that for the connection. What is longer than keepLimit stays where it is from there on.
func (x *exchange) keep() {
	if x.resp == nil {
		return
	}
	if _, kept := x.resp.Body.(*keptBody); kept {
		return
	}
	b := &keptBody{readBody{rest: x.resp.Body}, make(chan struct{})}
	x.resp.Body = b
	go func() { // which ends when the body does, or is closed
		defer close(b.done)
		b.read(keepLimit, math.MaxInt64)
	}()
}

// keptBody is a body that is being read ahead.
type keptBody struct {
	readBody
	done chan struct{} // closed when as much was read as will be
}

// Read implements io.Reader.
func (b *keptBody) Read(p []byte) (int, error) {
	<-b.done
	return b.readBody.Read(p)
}

// discard reads a bounded part of an answer that is not wanted, and closes it.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	body := resp.Body
	timer := time.AfterFunc(drainTime, func() { body.Close() })
	io.CopyN(io.Discard, body, drainLimit) //nolint:errcheck // what cannot be read is not wanted either
	timer.Stop()
	body.Close()
}
