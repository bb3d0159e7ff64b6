package simulation

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// world is the server of a simulation, and the ways to it.
type world struct {
	simulation
	handler http.Handler
	start   time.Time

	mu      sync.Mutex // protects the fields below
	open    int        // bodies of answers that were not closed
	answers map[int]int
	others  []time.Time // when the other consumer was admitted
	stop    func()      // ends a run that hammers
	seen    int
	trace   func(format string, args ...any)
}

// try is one request on its way through several attempts.
type try struct {
	id, process int
	attempts    int
	sent        time.Time // the latest attempt
}

type tryKey struct{}

// consumer is the id of the other consumer's requests.
const consumer = -2

func newWorld(s simulation, stop func()) *world {
	w := &world{simulation: s, start: time.Now(), answers: map[int]int{}, stop: stop}
	for i := len(s.layers) - 1; i >= 0; i-- {
		l := s.layers[i]
		server := pacertest.NewServer(l.algorithm, l.dialect)
		server.Status, server.Handler = l.status, w.handler
		server.Cost = func(r *http.Request) int {
			n, _ := strconv.Atoi(r.Header.Get("Cost"))
			return n
		}
		server.Faults = func(_ int, r *http.Request) pacertest.Fault { return w.fault(r, l, i == 0) }
		w.handler = server
	}
	return w
}

// fault is what goes wrong with a request at a layer.
func (w *world) fault(r *http.Request, l layer, outermost bool) (f pacertest.Fault) {
	t := r.Context().Value(tryKey{}).(*try)
	if t.id == consumer {
		return f
	}
	f.Skew = w.skews[t.process]
	f.Header = http.Header{}
	if l.reset != "" {
		f.Header["RateLimit-Reset"] = []string{l.reset}
	}
	rnd := w.rnd(t.id, t.attempts, "fault")
	switch n := rnd.IntN(20); w.trouble {
	case loss:
		if outermost && n == 0 {
			f.Drop = []pacertest.Drop{pacertest.DropBefore, pacertest.DropAfter}[rnd.IntN(2)]
		}
	case errors5:
		if outermost && n == 0 {
			f.Status = http.StatusInternalServerError
		}
	case vanish:
		if n < 6 {
			for _, name := range []string{"Limit", "Remaining", "Reset"} {
				f.Header["X-Ratelimit-"+name], f.Header["Ratelimit-"+name] = nil, nil
			}
			f.Header["Ratelimit"] = nil
		}
	case unhinted:
		if n < 10 {
			f.Header["Retry-After"] = nil
		}
	case late:
		if n < 4 {
			f.Header["Retry-After"] = []string{strconv.Itoa(int(20*w.window.Seconds()) + 1)}
		}
	case early:
		if n < 10 {
			f.Header["Retry-After"] = []string{"0"}
		}
	}
	return f
}

// network is how a process reaches the server.
type network struct{ *world }

var errLost = errors.New("the answer was lost")

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	t := req.Context().Value(tryKey{}).(*try)
	t.attempts++
	t.sent = time.Now()
	attempt := t.attempts
	if err := sleep(req.Context(), n.way(t.id, attempt, "there")); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	lost := n.serve(rec, req)
	if rec.Header()["Date"] == nil {
		rec.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	n.count(t, rec.Code, rec.Header(), lost)
	if err := sleep(req.Context(), n.way(t.id, attempt, "back")); err != nil {
		return nil, err
	}
	if lost {
		return nil, errLost
	}
	resp := rec.Result()
	resp.Request = req
	n.mu.Lock()
	n.open++
	n.mu.Unlock()
	resp.Body = &counted{ReadCloser: resp.Body, world: n.world}
	return resp, nil
}

// serve lets the server answer, and reports whether the connection broke.
func (n network) serve(rec *httptest.ResponseRecorder, req *http.Request) (lost bool) {
	defer func() { lost = recover() != nil }()
	n.handler.ServeHTTP(rec, req)
	return false
}

func (n network) count(t *try, status int, h http.Header, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if lost {
		status = 0
	}
	n.answers[status]++
	n.seen++
	if n.trace != nil {
		var said []string
		for name, v := range h {
			if strings.Contains(name, "imit") || strings.HasPrefix(name, "Retry") || name == "Date" {
				said = append(said, name+": "+strings.Join(v, ", "))
			}
		}
		slices.Sort(said)
		n.trace("%12.6f request %d of process %d: %d %q", time.Since(n.start).Seconds(), t.id, t.process, status, said)
	}
	if n.seen == n.hammering()*(n.requests+100) {
		n.stop()
	}
}

// hammering is how many answers for each request end a run. Where a 503 is not even known
// to be a refusal, it is the callers who ask again.
func (s simulation) hammering() int {
	if s.voice == shut {
		return 10 * s.callers * s.processes
	}
	return 20
}

// counted is a body that is missed until it is closed.
type counted struct {
	io.ReadCloser
	world *world
	once  sync.Once
}

// Close implements io.Closer.
func (c *counted) Close() error {
	c.once.Do(func() {
		c.world.mu.Lock()
		c.world.open--
		c.world.mu.Unlock()
	})
	return c.ReadCloser.Close()
}

// consume is the other consumer, who takes a third of the quota without caring for
// refusals, and then goes away.
func (w *world) consume(ctx context.Context) {
	each := time.Duration(3 * float64(w.window) / float64(w.limit))
	ctx = context.WithValue(ctx, tryKey{}, &try{id: consumer})
	for range w.requests / 5 {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		req.Header.Set("Cost", "1")
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, req)
		if rec.Code == http.StatusOK {
			w.others = append(w.others, time.Now())
		}
		if sleep(ctx, each) != nil {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
