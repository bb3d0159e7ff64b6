package interop

import (
	"net/http"
	"sync"
	"time"
)

// underWay is for how long a request is under way, and then its answer.
const underWay = 2500 * time.Microsecond

// event is an answer of the limiter.
type event struct {
	at     time.Time
	status int
	header http.Header // as the client gets it
}

func (e event) admitted() bool { return e.status/100 == 2 }

// counter stands in front of a limiter and writes down what it answers. It changes
// nothing.
type counter struct {
	limiter http.Handler

	mu     sync.Mutex // protects events
	events []event
}

// ServeHTTP implements http.Handler.
func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if pause(r.Context(), underWay) != nil {
		return
	}
	c.limiter.ServeHTTP(&recorder{ResponseWriter: w, counter: c}, r)
	pause(r.Context(), underWay) //nolint:errcheck // the client is gone, and does not miss it
}

func (c *counter) add(status int, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, event{time.Now(), status, header.Clone()})
}

// seen returns what was answered so far.
func (c *counter) seen() []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[:len(c.events):len(c.events)]
}

// recorder tells its counter of the first status that is written.
type recorder struct {
	http.ResponseWriter
	counter *counter
	done    bool
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if !r.done && status >= 200 {
		r.done = true
		r.counter.add(status, r.Header())
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if !r.done {
		r.WriteHeader(http.StatusOK)
	}
	return r.ResponseWriter.Write(b)
}
