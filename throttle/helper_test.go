package throttle

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/atonce"
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

// Tests of 100,000 buckets or waiters keep much, and package whole has garbage collected seldom.
func init() { debug.SetMemoryLimit(512 << 20) }

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
	if c.After != nil {
		c.place = c.After.place
	}
	w, err := l.join(ctx, &c, g, nil)
	if w != nil || err != nil {
		g = nil
	}
	return g, w, err
}

// canceledContext is a context that was canceled.
func canceledContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// stopTimer has the timer of l be late, as on a busy machine: until tick, or until something else looks at l.
func stopTimer(l *Limiter) {
	l.lock()
	defer l.unlock()
	l.line.timer.Stop()
}

// acquireIn is Acquire of a claim in the bucket that find finds, again after each Update of g.
func acquireIn(ctx context.Context, g *Group, find func() *Limiter, c Claim) (*Grant, error) {
	search := within.Search(g, find, nil, nil)
	return search.Acquire(ctx, false, c, new(Grant))
}

// Wait is the second step. What was received from Ready does not count: who has been granted, or refused, by
// now does not wait for the bell, which perhaps has yet to be rung.
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

// perSecond is for Group.New: so many claims go at once, and one more each second, in buckets of a
// path of one key.
func perSecond(burst int) func([]string) *Limiter {
	return func(path []string) *Limiter {
		l := &Limiter{Name: strings.Join(path, "/"), Rand: noJitter}
		if len(path) == 1 {
			l.Quotas = quota.Quotas{{N: 1, Burst: int64(burst)}}
		}
		return l
	}
}

// buckets returns the names of the buckets that there are, sorted.
func buckets(g *Group) (names []string) {
	for _, s := range g.State() {
		names = append(names, s.Bucket)
	}
	slices.Sort(names)
	return names
}

// follows starts n claims which wait, one after the other, and returns a function that waits for
// all, and returns the numbers of the claims in the order in which they went, and when.
func follows(t *testing.T, n int, acquire func(i int) error) (order func() []string) {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var went []string
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := acquire(i)
			mu.Lock()
			defer mu.Unlock()
			went = append(went, fmt.Sprint(i, " ", time.Since(start).Truncate(time.Millisecond), " ", err))
		})
		synctest.Wait()
		time.Sleep(time.Nanosecond) // of those of one instant in two trees, nobody is the first
	}
	return func() []string {
		wg.Wait()
		return went
	}
}

// remaining is an answer that says what it drew on, and what remains of that.
func remaining(bucket string, n int) Answer {
	return Answer{Counter: bucket, Statements: []quota.Statement{
		{Counter: bucket, Limit: 100, Remaining: int64(n), Reset: time.Minute, ResetKnown: true},
	}}
}

func sumOf(waits []Wait) (sum time.Duration) {
	for _, w := range waits {
		sum += w.For
	}
	return sum
}

// open ends the grant with an answer, for whose end it waits or not.
func open(t *testing.T, g *Grant, a Answer, want bool) {
	t.Helper()
	if o := g.Answered(a); o.Open != want {
		t.Errorf("waits for Close: %v, want %v", o.Open, want)
	}
}

// asker sends requests one by one or several at once and answers them by hand.
type asker struct {
	t *testing.T
	l *Limiter
}

// open returns how many of n more may go at once, and ends them unsent.
func (a asker) open(n int) int {
	a.t.Helper()
	var grants []*Grant
	for range n {
		if a.l.Forecast(Claim{}).Cause != "" {
			break
		}
		grants = append(grants, a.get())
	}
	for _, g := range grants {
		g.Cancel()
	}
	return len(grants)
}

// get waits for a grant.
func (a asker) get() *Grant {
	a.t.Helper()
	g, err := a.l.Acquire(a.t.Context(), Claim{})
	if err != nil {
		a.t.Fatal(err)
	}
	return g
}

func (a asker) wantOpen(want int) {
	a.t.Helper()
	if got := a.open(1000); got != want {
		a.t.Errorf("%d may go, want %d", got, want)
	}
}

// says is an answer that states a limit of 10 with an exact reset.
func says(remaining int, reset time.Duration) Answer {
	return Answer{Statements: []quota.Statement{{Limit: 10, Remaining: int64(remaining), Reset: reset, ResetKnown: true}}}
}

// holdIf is what a server says that wants no requests for a while, if it says so.
func holdIf(d time.Duration, said bool) *quota.Hold {
	if !said {
		return nil
	}
	return &quota.Hold{For: d}
}

func server10(t *testing.T) asker {
	t.Helper()
	return asker{t, &Limiter{SlowStart: true, Rand: noJitter}}
}

// untilFree ends the slow start, so that claims are granted without the lock.
func (a asker) untilFree() {
	a.t.Helper()
	for range enough {
		a.get().Answered(Answer{})
	}
	if way := a.l.gate.Way(); way != atonce.Free {
		a.t.Fatalf("claims go by way %v after %d answers, want Free", way, enough)
	}
}

// crowd is a number of callers who wait at once; it records who went when.
type crowd struct {
	start time.Time
	wg    sync.WaitGroup
	mu    sync.Mutex
	went  []string // "name time", or "name refused time"
	errs  []error
}

func newCrowd() *crowd { return &crowd{start: time.Now()} }

// wait starts a caller and returns when it waits or has gone.
func (c *crowd) wait(ctx context.Context, l *Limiter, name string, n int) {
	c.wg.Go(func() {
		err := l.Wait(ctx, n)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.went = append(c.went, name+" refused "+time.Since(c.start).String())
			c.errs = append(c.errs, err)
			return
		}
		c.went = append(c.went, name+" "+time.Since(c.start).String())
	})
	synctest.Wait()
}

// check waits for all and compares who went when; of those who went in the same
// instant the order is not known.
func (c *crowd) check(t *testing.T, want ...string) {
	t.Helper()
	c.wg.Wait()
	slices.SortFunc(c.went, func(a, b string) int {
		return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(a, b))
	})
	if !slices.Equal(c.went, want) {
		t.Errorf("went\n\t%s\nwant\n\t%s", strings.Join(c.went, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func asError(err error, target **Error) bool { return errors.As(err, target) }

func noJitter() float64 { return 0 }

// join makes a claim that nothing refuses. The Waiter is nil if it went at once.
func join(t *testing.T, l *Limiter, c Claim) (*Grant, *Waiter) {
	t.Helper()
	g, w, err := l.Join(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return g, w
}

// grant makes a claim that must go at once.
func grant(t *testing.T, l *Limiter, c Claim) *Grant {
	t.Helper()
	g, w := join(t, l, c)
	if w != nil {
		t.Fatalf("%+v waits for %+v, want it to go at once", c, w.expected)
	}
	return g
}

// tokens is a claim of one request that costs n tokens.
func tokens(n int) Claim { return Claim{Costs: quota.Costs{"tokens": int64(n)}} }

// gone reports whether the wait has ended.
func gone(w *Waiter) bool { return len(w.Ready()) > 0 }
