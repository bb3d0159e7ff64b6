// Package pacertest provides a rate-limited API server for tests of HTTP
// clients, as net/http/httptest provides servers in general. It refuses as
// real servers refuse, says so in the headers that real servers use, and
// counts what it admitted.
//
//	server := pacertest.NewServer(
//		&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second},
//		pacertest.RateLimitDraft6,
//	)
//	defer server.Close()
//	client := &http.Client{Transport: server.Transport()}
//
// # Algorithm and Dialect
//
// How a server counts and what it writes into headers are independent, in life
// as here: an Algorithm makes a Verdict, with exact times; a Dialect writes
// it, with rounding, in one of many forms.
//
// Several quotas at once, as of an inner and an outer layer, are a Server that
// is the Handler of another one. If their dialects share names, the inner one
// wins, as in life.
//
// # In memory, in virtual time
//
// Transport reaches the server over net.Pipe under any host name, so that it
// works in a bubble of testing/synctest, where an hour of waiting passes at
// once and every duration can be compared with ==:
//
//	func TestClient(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			algorithm := &pacertest.TokenBucket{Rate: 2, Burst: 5}
//			server := pacertest.NewServer(algorithm, pacertest.RetryAfterOnly)
//			defer server.Close()
//
//			start := time.Now()
//			// … let the client send 25 requests through server.Transport() …
//			if got, least := time.Since(start), pacertest.Least(algorithm, 25); got > least*11/10 {
//				t.Errorf("took %v, where %v is possible", got, least)
//			}
//			if n := server.Stats().Refused; n > 5 {
//				t.Errorf("refused %d times", n)
//			}
//		})
//	}
//
// Least is the least time in which the server's algorithm can serve so many
// requests. A client's own time over that, and the refusals that it needed,
// tell how well it uses the quota.
//
// In a bubble, create the Server inside, and Close it inside as well: a bubble
// ends only when no goroutine is left.
//
// # On a real port
//
// Start listens on a loopback port, for clients that cannot take a Transport.
// In a bubble this does not work: a goroutine that waits for the network does
// not let virtual time pass.
package pacertest

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// Server is a rate-limited HTTP server. It is an http.Handler, to be used in
// any server; Transport and Start make it one by itself. The zero value admits
// everything and says nothing. Fields must not be changed while it is in use.
type Server struct {
	// Algorithm decides who is admitted. It is a template: the server works
	// with copies. If nil, everything is admitted, and no limit is announced.
	Algorithm Algorithm

	// Dialect writes the verdict into the headers of admitted and refused
	// answers.
	Dialect Dialect

	// Latency is the time from the verdict, which falls when a request
	// arrives, until it is served or refused. It ends early if the client goes
	// away. If it is not positive, there is none.
	Latency time.Duration

	// Status is the status of a refusal. If zero, it is 429.
	Status int

	// Cost returns what a request takes of the quota. If nil, it is 1.
	Cost func(*http.Request) int

	// Key returns whose quota a request draws on. Each key has one of its own,
	// which is kept for as long as the Server. If nil, there is one quota.
	Key func(*http.Request) string

	// Handler serves admitted requests, with the headers of the Dialect set.
	// If nil, they get a status 200 and a small body.
	Handler http.Handler

	// Faults returns what goes wrong with a request, of which n came before
	// (as the server saw them). If nil, nothing goes wrong. Like Cost and Key
	// it is called without a lock, by several goroutines.
	Faults func(n int, r *http.Request) Fault

	// mu protects the fields below.
	mu     sync.Mutex
	quotas map[string]Algorithm // by key
	stats  Stats
	seen   int // requests that Faults was asked about
	served served
}

// NewServer returns a Server that admits by a and announces it in d.
func NewServer(a Algorithm, d Dialect) *Server {
	return &Server{Algorithm: a, Dialect: d}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := s.fault(r)
	if fault.Status != 0 || fault.Drop == DropBefore {
		s.count(fault)
		if !pause(r, s.Latency+fault.Delay) {
			return
		}
		if fault.Drop != NoDrop {
			panic(http.ErrAbortHandler)
		}
		fault.setHeader(w.Header())
		reply(w, fault.Status, http.StatusText(fault.Status))
		return
	}
	now, v, limited := s.take(r, fault)
	if !pause(r, v.Delay+s.Latency+fault.Delay) {
		return
	}
	if fault.Drop == DropAfter {
		w = discard{http.Header{}}
	}
	if limited {
		s.Dialect.Set(w.Header(), v, now.Add(fault.Skew))
	}
	fault.setHeader(w.Header())
	switch {
	case !v.OK:
		reply(w, s.refusal(), "rate limit exceeded")
	case s.Handler == nil:
		reply(w, http.StatusOK, "ok")
	default:
		s.Handler.ServeHTTP(w, r)
	}
	if fault.Drop == DropAfter {
		panic(http.ErrAbortHandler)
	}
}

// Reset forgets what was taken and counted: every quota is unused again.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas, s.stats, s.seen = nil, Stats{}, 0
}

// take charges r to its quota. The clock is read under the lock, or verdicts
// might be made in another order than their instants. limited is false if
// there is no quota.
func (s *Server) take(r *http.Request, fault Fault) (now time.Time, v Verdict, limited bool) {
	key, cost := "", 1
	if s.Key != nil {
		key = s.Key(r)
	}
	if s.Cost != nil {
		cost = s.Cost(r)
	}
	checkCost(cost)
	s.mu.Lock()
	defer s.mu.Unlock()
	now = time.Now()
	if s.Algorithm == nil {
		v.OK = true
	} else {
		quota, ok := s.quotas[key]
		if !ok {
			quota = s.Algorithm.Fresh()
			if s.quotas == nil {
				s.quotas = map[string]Algorithm{}
			}
			s.quotas[key] = quota
		}
		v, limited = quota.Take(now, cost), true
	}
	e := Event{Time: now, Key: key, Status: http.StatusOK, Dropped: fault.Drop != NoDrop}
	if !v.OK {
		e.Status = s.refusal()
	}
	s.stats.add(e, v.OK)
	return now, v, limited
}

// refusal returns the status of a refusal.
func (s *Server) refusal() int {
	if s.Status == 0 {
		return http.StatusTooManyRequests
	}
	return s.Status
}

// reply writes a small answer.
func reply(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may be gone
}

// pause waits for d. It reports false if the client went away meanwhile.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
