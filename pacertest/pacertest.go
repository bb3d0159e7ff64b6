// Package pacertest provides a rate-limited API server for tests of HTTP clients. It
// refuses requests as real servers do, says so in the headers that real servers use, and
// counts what it admitted.
//
//	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 50, Window: time.Minute}, pacertest.XRateLimit)
//	defer server.Close()
//	client := &http.Client{Transport: server.Transport()}
//
// Any client will do. The package imports the standard library alone, and nothing of
// pacer. What the server saw is in its [Stats].
//
// # Algorithm and Dialect
//
// How a server counts does not depend on what it writes into headers. So there are two
// types: an [Algorithm] makes a [Verdict], with exact times; a [Dialect] writes the
// Verdict into headers in one of many forms, with the rounding of that form.
//
// An Algorithm has the name of the [github.com/gopacer/pacer/quota.Kind] that counts
// alike: [TokenBucket], [FixedWindow], [ClockWindow], [SlidingWindow], [SlidingLog],
// [EstimatedWindow]. [GCRA] and [LeakyBucket] are token buckets for the client. There is
// none for InFlight and Unanswered: a [Server.Handler] may count how many requests it
// serves at once.
//
// # In memory, in virtual time
//
// [Server.Transport] reaches the server over net.Pipe under any host name. So it works
// in a bubble of [testing/synctest], where an hour of waiting passes at once and every
// duration can be compared with ==:
//
//	func TestClient(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			algorithm := &pacertest.TokenBucket{Rate: 2, Burst: 5}
//			server := pacertest.NewServer(algorithm, pacertest.RetryAfterOnly)
//			defer server.Close()
//
//			start := time.Now()
//			// … let the client send 25 requests through server.Transport() …
//			if got, least := time.Since(start), pacertest.Least(algorithm, start, 25); got > least*11/10 {
//				t.Errorf("took %v, where %v is possible", got, least)
//			}
//			if n := server.Stats().Refused; n > 5 {
//				t.Errorf("refused %d times", n)
//			}
//		})
//	}
//
// [Least] is the least time in which the server's algorithm can serve so many requests.
// How much longer a client takes, and how many refusals it needs, tell how well it uses
// the quota.
//
// Create the Server inside the bubble, and Close it inside as well: a bubble ends only
// when no goroutine is left in it. So close the Body of each answer, too: the connection of
// one that is left open has goroutines that never end, and the test panics with "deadlock: main
// bubble goroutine has exited but blocked goroutines remain". [Server.Start], which listens on a
// loopback port, is for tests without a bubble.
package pacertest

import (
	"net/http"
	"sync"
	"time"
)

// Server is a rate-limited HTTP server. It is an http.Handler, which any server can
// use; Transport and Start make it a server by itself. The zero value admits every
// request and announces no limit. The fields must not be changed while the Server
// is in use. Its methods may be called by several goroutines.
//
// A Server that is the Handler of another one makes a second layer of limits. If both
// dialects write a header of the same name, the inner one wins, as it does with real
// servers.
type Server struct {
	// Algorithm decides which requests are admitted. It is a template: the Server
	// works with copies of it. If nil, every request is admitted, and no limit is
	// announced.
	Algorithm Algorithm

	// Dialect writes the verdict into the headers of answers, both of requests that
	// were admitted and of refusals.
	Dialect Dialect

	// Latency is the time from the verdict, which is made when the request arrives,
	// until the request is served or refused. It ends early if the client of a request
	// without a body goes away (net/http does not see it while a body is not read), and
	// when Close ends all requests. If zero or negative, there is none.
	Latency time.Duration

	// Status is the status of a refusal. If zero, it is 429. A number that is no status,
	// such as a negative one, panics as in http.ResponseWriter.
	Status int

	// Cost returns how many tokens of the quota a request takes. If nil, each request
	// takes 1. A request of 0 is always admitted. A negative cost panics.
	Cost func(*http.Request) int

	// Key returns the name of the quota from which a request takes tokens. Each key
	// has a quota of its own, which the Server keeps as long as it lives. If nil,
	// there is one quota.
	Key func(*http.Request) string

	// Handler serves admitted requests. The headers of the Dialect are set before it
	// is called. If nil, admitted requests get status 200 and a small body.
	Handler http.Handler

	// Faults returns what goes wrong with a request. The server has seen n requests
	// before it: n of the first one is 0. If nil, nothing goes wrong. Like Cost and Key,
	// Faults is called without a lock, by several goroutines.
	Faults func(n int, r *http.Request) Fault

	mu     sync.Mutex           // protects the fields below
	quotas map[string]Algorithm // by key
	stats  Stats
	seen   int // requests that Faults was asked about

	service service
}

// NewServer returns a Server that admits requests by a and announces its verdicts in d.
// It does not start it. It is short for &Server{Algorithm: a, Dialect: d}.
func NewServer(a Algorithm, d Dialect) *Server {
	return &Server{Algorithm: a, Dialect: d}
}

// Start serves on a port of the loopback interface and returns the base URL, like
// "http://127.0.0.1:41234". It is for clients that cannot take a Transport. A second
// call returns the same URL. Start panics if it cannot listen, or if it is called for
// the first time after Close.
//
// Start does not work in a bubble of testing/synctest: a goroutine that waits for the
// network keeps virtual time from passing.
func (s *Server) Start() string { return s.service.start(s) }

// Transport returns a new Transport that reaches this server in memory, over
// net.Pipe, whatever the host in the URL is; that host arrives in the request's
// Host. The schemes http and https both work, without TLS. It works inside a bubble
// of testing/synctest. Transport panics if it is called for the first time after
// Close.
//
// Several Transports use the quotas of one server together, as several programs
// do.
func (s *Server) Transport() *http.Transport { return s.service.transport(s) }

// Close stops serving and waits until nothing of the server is left, so that a
// bubble of testing/synctest can end. It closes idle connections at once, which
// ends the idle connections of a Transport, too. Answers that are under way have 5
// seconds to end; then Close closes their connections, and ends the contexts of their
// requests. A Handler that does not end keeps Close waiting.
func (s *Server) Close() { s.service.close() }

// Stats returns what the server has seen so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.clone()
}

// Reset forgets all requests: every quota is unused again, and Stats are empty. So the
// cases of a test can share a server and its port.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas, s.stats, s.seen = nil, Stats{}, 0
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := s.fault(r)
	if fault.Status != 0 || fault.Drop == DropBefore {
		s.count(fault)
		if !pause(r, s.latency(fault)) {
			return
		}
		if fault.Drop.drops() {
			panic(http.ErrAbortHandler)
		}
		fault.setHeader(w.Header())
		reply(w, fault.Status, http.StatusText(fault.Status))
		return
	}
	now, v, limited := s.take(r, fault)
	if !pause(r, v.Delay+s.latency(fault)) {
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

// fault returns what goes wrong with r.
func (s *Server) fault(r *http.Request) Fault {
	if s.Faults == nil {
		return Fault{}
	}
	s.mu.Lock()
	n := s.seen
	s.seen++
	s.mu.Unlock()
	return s.Faults(n, r)
}

// count counts a request that a Fault ended before any quota was asked.
func (s *Server) count(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.fault(time.Now(), f)
}

// take asks the quota of r for the cost of r. Limited is false if there is no quota.
// The clock is read under the lock. Otherwise verdicts might be made in another
// order than that of their instants.
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
	e := Event{Time: now, Key: key, Status: http.StatusOK, Dropped: fault.Drop.drops()}
	if !v.OK {
		e.Status = s.refusal()
	}
	s.stats.verdict(e, v.OK)
	return now, v, limited
}

// latency returns the time that an answer takes beside what the Algorithm says.
func (s *Server) latency(f Fault) time.Duration { return max(0, s.Latency) + max(0, f.Delay) }

// refusal returns the status of a refusal.
func (s *Server) refusal() int {
	if s.Status == 0 {
		return http.StatusTooManyRequests
	}
	return s.Status
}
