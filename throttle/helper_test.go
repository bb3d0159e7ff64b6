package throttle

import (
	"context"
	"flag"
	"runtime/debug"
	"testing"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/lease"
	"github.com/gopacer/pacer/throttle/internal/tree"
)

// What package adaptive goes by.
const horizon = lease.Horizon

const (
	slowStep    = 250 * time.Millisecond // after which one more goes in a slow start
	patience    = 5 * time.Second        // for which others wait for the answer to a request that went ahead
	unsaidReset = time.Second            // until when a limit is looked at whose reset is not known
	maxWindows  = 16
	enough      = 256 // answers end a slow start
)

// What package pacer has, see Inside.
var within inner

// With it the models below try more histories, as in go test ./throttle -args -times 20.
var times = flag.Uint64("times", 1, "how many times as many seeds the models try")

// seeds returns how many seeds a test tries that has n of them: usually a third.
func seeds(n uint64) uint64 {
	if *times == 1 {
		return whole.Or((n+2)/3, n)
	}
	return n * *times
}

// A bubble makes much garbage and keeps little. Collected whenever there are 4 MB of it, as is usual, that
// takes a sixth of the time of a test. Tests of 100,000 buckets or waiters keep more.
func init() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(512 << 20)
}

func quotas(t *testing.T, text string) quota.Quotas {
	t.Helper()
	qs, err := quota.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

// explicit is a quota with its defaults.
func explicit(q quota.Quota) quota.Quota { return quota.Quotas{q}.Explicit()[0] }

// Lasts reports whether the grant holds a slot until its answer was read.
func (g *Grant) Lasts() bool { return g.extra != nil && g.extra.Holds(quota.InFlight) }

// refusesByFailing reports whether failures are taken for refusals.
func refusesByFailing(l *Limiter) bool {
	l.lock()
	defer l.unlock()
	return l.server.MayRefuse(nil)
}

// Waiter is a claim in line, in the hands of a test.
type Waiter = waiter

// Place is a place in line.
type Place = place

// Join is Acquire in two steps.
func (l *Limiter) Join(ctx context.Context, c Claim) (*Grant, *Waiter, error) {
	g := new(Grant)
	var p place
	if c.After != nil {
		p = c.After.place
	}
	w, err := l.join(ctx, &c, p, g, nil)
	if w != nil || err != nil {
		g = nil
	}
	return g, w, err
}

// Wait is the second step. What was received from Ready does not count: who has been granted, or refused, by now does
// not wait for the bell, which perhaps has yet to be rung.
func (w *waiter) Wait(ctx context.Context) (*Grant, error) {
	w.l.lock()
	ended, g, err := w.entries == nil, &Grant{right: w.grant}, w.err
	w.l.unlock()
	if !ended {
		err = w.wait(ctx, g)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Granted is the grant of a claim that was granted in line.
func (w *waiter) Granted() *Grant { return &Grant{right: w.grant} }

// Ready has one value when the wait has ended.
func (w *waiter) Ready() <-chan struct{} { return w.done.C }

// Leave takes the claim out of line, and reports whether it was there.
func (w *waiter) Leave() (waited bool) {
	now := w.l.lock()
	defer w.l.unlock()
	w.l.change(now, func() {
		if waited = w.entries != nil; waited {
			w.err = ErrCanceled
			w.leave()
		}
	})
	return waited
}

// Idle reports whether forgetting the Limiter loses nothing.
func (l *Limiter) Idle() bool {
	now := l.lock()
	defer l.unlock()
	return l.loss(now) == tree.Nothing
}

// Release ends what l has in common with others of the tree.
func (l *Limiter) Release() {
	l.lock()
	defer l.unlock()
	l.account.sharers.Leave(&l.server)
}

// Freeze has nobody go until thaw is called.
func (l *Limiter) Freeze() (thaw func()) {
	l.lock()
	defer l.unlock()
	l.freeze()
	return l.thaw
}

// placed is for Claim.After: who asks again there stands at p.
func placed(p place) *Grant {
	if p == (place{}) {
		return nil
	}
	return &Grant{right: right{place: p}}
}

// effectiveSlotLife is SlotLife, or the default for qs.
func (l *Limiter) effectiveSlotLife(qs quota.Quotas) time.Duration {
	return lease.EffectiveSlotLife(qs, l.Shared.SlotLife)
}
