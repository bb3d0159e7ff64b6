package adaptive

import (
	"testing"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
	"github.com/gopacer/pacer/throttle/store"
)

// start is the first instant of the tests.
const start = monotime.Time(1000 * time.Hour)

// After slowStartStep without an answer, one more goes in a slow start, and slowStartAnswers end it: see
// package slowstart.
const (
	slowStartStep    = 250 * time.Millisecond
	slowStartAnswers = 256
)

// bucket is a Server and an instant, as a bucket has them.
type bucket struct {
	*Server
	t   *testing.T
	now monotime.Time
}

// Overhear takes in a statement that another process was told through a store.
func (b *bucket) Overhear(now monotime.Time, st *quota.Statement) {
	b.Server.Overhear(now, st, store.Doubt(st))
}

// newBucket returns a bucket of a Site of its own, without jitter.
func newBucket(t *testing.T, c Config) *bucket {
	t.Helper()
	return newBucketOf(t, &Site{}, c)
}

func newBucketOf(t *testing.T, site *Site, c Config) *bucket {
	t.Helper()
	if c.MaxHold == 0 {
		c.MaxHold = 15 * time.Minute
	}
	if c.Random == nil {
		c.Random = func() float64 { return 0 }
	}
	b := &bucket{&Server{}, t, start}
	b.Init(site, c)
	return b
}

// of returns the demand of one request that costs n.
func of(n int) *limit.Demand { return &limit.Demand{Claims: 1, N: n} }

// at goes to an instant, counted from the start.
func (b *bucket) at(d time.Duration) *bucket {
	b.t.Helper()
	if start.Add(d) < b.now {
		b.t.Fatalf("back to %v", d)
	}
	b.now = start.Add(d)
	return b
}

// send grants a request, whether it is due or not.
func (b *bucket) send() *Ticket {
	t := &Ticket{Sent: b.now, N: 1}
	b.Take(b.now, b.now, of(1), nil, 0, t)
	return t
}

// done ends a request with an answer.
func (b *bucket) done(t *Ticket, a Answer) Effect {
	b.End(t, nil)
	return b.Learn(b.now, t, Kind{}, &a)
}

// exchange grants a request and ends it in the same instant.
func (b *bucket) exchange(a Answer) Effect { return b.done(b.send(), a) }

// says is an answer with statements, in which the request was served.
func says(s ...quota.Statement) Answer { return Answer{Statements: s} }

// refuses is an answer with statements, in which the request was refused.
func refuses(s ...quota.Statement) Answer { return Answer{Refused: true, Statements: s} }

// left is a statement: so much remains of a limit, until a reset.
func left(remaining, limit int, reset time.Duration) quota.Statement {
	return quota.Statement{Limit: int64(limit), Remaining: int64(remaining), Reset: reset, ResetKnown: true}
}

// dueAfter returns when n more requests may go if ahead others go before, from now.
func (b *bucket) dueAfter(ahead, n int) time.Duration {
	return b.DueFrom(limit.Due{At: b.now}, of(ahead), of(n), nil, 0, false).At.Sub(b.now)
}

// wantDue checks in how long one request may go, and that Open agrees.
func (b *bucket) wantDue(want time.Duration) {
	b.t.Helper()
	if got := b.dueAfter(0, 1); got != want {
		b.t.Errorf("at %v: a request may go in %v, want %v", b.now.Sub(start), got, want)
	}
	if got := b.Open(b.now, of(1), nil, 0); got != (want == 0) {
		b.t.Errorf("at %v: Open says %v, and a request may go in %v", b.now.Sub(start), got, want)
	}
}

// wantPaced checks that a request has to wait until the pace lets it go, and no longer.
func (b *bucket) wantPaced() {
	b.t.Helper()
	in := b.dueAfter(0, 1)
	if in <= 0 || b.Open(b.now, of(1), nil, 0) {
		b.t.Errorf("at %v: a request need not wait", b.now.Sub(start))
	}
	if at := b.now.Add(in); !b.Open(at, of(1), nil, 0) || b.Open(at.Add(-in>>10), of(1), nil, 0) {
		b.t.Errorf("at %v: a request may go in %v, and Open disagrees", b.now.Sub(start), in)
	}
}

// rate is at which the server was seen to serve; zero if that is not known.
func (b *bucket) rate() float64 { return b.pace.State(b.now).Rate }

// wantOpen checks how many requests may go at once.
func (b *bucket) wantOpen(want int) {
	b.t.Helper()
	got := 0
	for got <= want && b.Open(b.now, of(got+1), nil, 0) {
		got++
	}
	if got != want {
		b.t.Errorf("at %v: %d requests may go at once, want %d", b.now.Sub(start), got, want)
	}
}

// window1 returns the only window.
func (b *bucket) window1() *window {
	b.t.Helper()
	if len(b.windows) != 1 {
		b.t.Fatalf("%d windows, want 1", len(b.windows))
	}
	return b.windows[0]
}

// DueFrom returns from, put off by Due.
func (s *Server) DueFrom(from limit.Due, ahead, d *limit.Demand, kind *Kind, share float64, optimist bool) limit.Due {
	s.Due(&from, ahead, d, kind, share, optimist)
	return from
}
