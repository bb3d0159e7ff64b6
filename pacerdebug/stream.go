package pacerdebug

import (
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams = 32               // at the same time; who comes then polls
	streamFor  = 10 * time.Second // after that, the browser comes again: Server.Shutdown waits for streams
	writeFor   = 5 * time.Second  // a reader that is slower loses its stream, a while after the next event is due
)

// stream sends what the page shows as server-sent events, until the request ends, or for a while.
func (p *Page) stream(w http.ResponseWriter, r *http.Request, wish wish) {
	if p.streams.Add(1) > maxStreams {
		p.streams.Add(-1)
		http.Error(w, "pacerdebug: too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer p.streams.Add(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // the next request should not inherit the deadline
	}
	if r.Method == http.MethodHead {
		return
	}
	pace := time.Duration(wish.pace) * time.Second
	tick := time.NewTicker(pace)
	defer tick.Stop()
	end := time.Now().Add(streamFor)
	control := http.NewResponseController(w)
	text := fmt.Appendf(nil, "retry: %d\ndata: ", pace.Milliseconds())
	for {
		text = append(append(text, p.json(wish)...), "\n\n"...)
		_ = control.SetWriteDeadline(time.Now().Add(pace + writeFor)) // where there is one; of HTTP/2, it ends a stream that rests, too
		if _, err := w.Write(text); err != nil || control.Flush() != nil {
			return // without Flush, one event is the whole answer
		}
		if !time.Now().Add(pace).Before(end) {
			return
		}
		text = append(text[:0], "data: "...)
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
