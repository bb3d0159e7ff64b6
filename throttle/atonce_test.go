package throttle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestGrantedWhileHeard: what other goroutines are granted while the first answer is heard is taken from what
// it says remains.
func TestGrantedWhileHeard(t *testing.T) {
	l := &Limiter{}
	g, err := l.Acquire(t.Context(), Claim{})
	if err != nil {
		t.Fatal(err)
	}
	l.lock()
	root := l.root()
	now := root.now()
	if !l.gate.Grant(now, 5) {
		t.Fatal("nothing is granted without the lock")
	}
	l.server.End(&g.ticket, nil)
	l.learn(now, &g.ticket, &Answer{Statements: []quota.Statement{{Limit: 9, Remaining: 8, Reset: time.Hour, ResetKnown: true, Resolution: time.Second}}}, nil, g.kind)
	l.unlock()
	n := 0
	for n < 10 {
		if _, err := l.Acquire(t.Context(), Claim{MaxWait: -1}); err != nil {
			break
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d went, want 8 less the 5 under way", n)
	}
}

// TestGrantsEndWhileHeard: grants end without the lock while an answer says what remains, and after those in
// line were looked at: one goes at once in place of each.
func TestGrantsEndWhileHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "10/s burst 4"), Rand: noJitter}
		grant(t, l, Claim{}).Answered(Answer{})
		time.Sleep(time.Second)
		flight := []*Grant{grant(t, l, Claim{}), grant(t, l, Claim{}), grant(t, l, Claim{}), grant(t, l, Claim{})}
		_, w := join(t, l, Claim{})
		start, g := time.Now(), flight[0]
		l.lock()
		root := l.root()
		now := root.now()
		l.change(now, func() {
			l.server.End(&g.ticket, nil)
			l.learn(now, &g.ticket, &Answer{Statements: []quota.Statement{{Limit: 100, Remaining: 3, Reset: time.Hour, ResetKnown: true}}}, nil, g.kind)
		})
		for _, g := range flight[1:] {
			g.Answered(Answer{})
		}
		l.unlock()
		if _, err := w.Wait(t.Context()); err != nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("went after %v, %v, want 100ms: 3 remain, and nothing is in flight", time.Since(start), err)
		}
	})
}

// stopping is a context whose Err does something first.
type stopping struct {
	context.Context //nolint:containedctx // it is one
	first           func()
}

func (s *stopping) Err() error {
	if s.first != nil {
		s.first()
	}
	return s.Context.Err()
}

// TestGrantWithdrawn: a claim was about to be granted without the lock when the bucket learned what remains.
// Another goroutine counted it as in flight meanwhile, and so had one wait that may go.
func TestGrantWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		g := grant(t, l, Claim{})
		var w *Waiter
		ctx := &stopping{t.Context(), func() {
			g.Answered(Answer{Statements: []quota.Statement{{Limit: 100, Remaining: 1, Reset: time.Hour, ResetKnown: true}}})
			l.server.Add(1)
			_, w = join(t, l, Claim{})
			l.server.Add(-1)
		}}
		start := time.Now()
		if within.AtOnce(ctx, l, "", "") != nil {
			t.Error("granted although one waits")
		}
		if _, err := w.Wait(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("went after %v, %v, want at once: one remains, and nothing is in flight", time.Since(start), err)
		}
	})
}

// TestHeldWhenAGrantEnds: an answer that says nothing tells for how long its bucket is held all the same.
func TestHeldWhenAGrantEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Rand: noJitter}
		grant(t, l, Claim{}).Answered(Answer{})
		g := grant(t, l, Claim{})
		l.Pause(time.Second)
		if o := g.Answered(Answer{}); o.Held != time.Second {
			t.Errorf("held for %v, want 1s", o.Held)
		}
	})
}

// TestGrantsEndFastAgain: while it is remembered that requests of a kind are refused, grants end with the lock,
// so that it is noticed when one is served; and without it again when that is forgotten.
func TestGrantsEndFastAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter, IdleAfter: -1}
		serve := func() {
			t.Helper()
			for range 80 {
				g, err := l.Acquire(t.Context(), Claim{Path: "/other"})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{})
			}
		}
		for range 4 {
			for range 2 {
				g, err := l.Acquire(t.Context(), Claim{Path: "/bad"})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{Refused: true})
			}
			serve()
		}
		time.Sleep(10*time.Minute - 1)
		if serve(); l.gate.Ends() {
			t.Error("nobody would notice that one of the kind is served")
		}
		time.Sleep(time.Second)
		if serve(); !l.gate.Ends() {
			t.Error("grants end with the lock")
		}
	})
}

// TestServedBelowIsHeardAbove: one claim of a host is always refused, while those of a bucket below it are
// served, which knows nothing of its server. After three refusals that is the claim's own matter, and the host
// is not held for ever longer.
func TestServedBelowIsHeardAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &Limiter{Rand: noJitter}
		below := &Limiter{Parent: host, Rand: noJitter}
		grant(t, below, Claim{}).Answered(Answer{})
		var again *Grant
		for n := range 10 {
			g, err := host.Acquire(t.Context(), Claim{After: again})
			if err != nil {
				t.Fatal(err)
			}
			o := g.Answered(Answer{Refused: true})
			if o.Held > 100*time.Millisecond || n >= 2 && o.Backoff == 0 {
				t.Errorf("after refusal %d, the host is held for %v, and the claim waits alone for %v", n+1, o.Held, o.Backoff)
			}
			for range 5 {
				g, err := below.Acquire(t.Context(), Claim{})
				if err != nil {
					t.Fatal(err)
				}
				g.Answered(Answer{})
			}
			time.Sleep(o.Backoff)
			again = g
		}
	})
}
