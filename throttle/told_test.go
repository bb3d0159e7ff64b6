package throttle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// news is what happens while a claim waits for ten seconds at the most, and what it is told at that moment.
type news struct {
	name    string
	l       *Limiter
	prepare func(l *Limiter) // before the claim waits
	happens func(l *Limiter)
	want    *Error // nil if the claim may still go
}

func allNews(t *testing.T) []news {
	t.Helper()
	full := func(l *Limiter) { l.Observe(Claim{}) }
	var g *Grant
	take := func(l *Limiter) { g = grant(t, l, Claim{}) }
	answer := func(a Answer) func(*Limiter) { return func(*Limiter) { g.Answered(a) } }
	set := func(text string) func(*Limiter) {
		return func(l *Limiter) {
			if err := l.SetQuotas(quotas(t, text)); err != nil {
				t.Error(err)
			}
		}
	}
	window := "the server's limit of 10"
	return []news{
		{"nothing remains", &Limiter{SlowStart: true}, take, answer(says(0, time.Minute)), &Error{Cause: CauseWindowUsedUp, Quota: window, Wait: time.Minute}},
		{"nothing remains for a moment", &Limiter{SlowStart: true}, take, answer(says(0, 10*time.Second)), nil},
		{"something remains", &Limiter{SlowStart: true}, take, answer(says(1, time.Minute)), nil},
		{"refused", &Limiter{SlowStart: true}, take, answer(Answer{Refused: true, Hold: &quota.Hold{For: 11 * time.Second}}), &Error{Cause: CauseHold, Wait: 11 * time.Second}},
		{"a hold", &Limiter{SlowStart: true}, take, func(l *Limiter) { l.Pause(time.Minute) }, &Error{Cause: CauseHold, Wait: time.Minute}},
		{"a hold within", &Limiter{SlowStart: true}, take, func(l *Limiter) { l.Pause(10 * time.Second) }, nil},
		{"a hold above", &Limiter{SlowStart: true, Parent: &Limiter{Name: "p"}}, take, func(l *Limiter) { l.Parent.Pause(time.Minute) }, &Error{Bucket: "p", Cause: CauseHold, Wait: time.Minute}},
		{"a slower quota", &Limiter{Quotas: quotas(t, "1/s even")}, full, set("1/m even"), &Error{Cause: CausePace, Quota: "1/m even", Wait: time.Minute}},
		{"a debt", &Limiter{Quotas: quotas(t, "1/s even")}, take, func(*Limiter) { g.Settle(quota.Costs{quota.Requests: 30}) }, &Error{Cause: CausePace, Quota: "1/s even", Wait: 30 * time.Second}},
		{"a small debt", &Limiter{Quotas: quotas(t, "1/s even")}, take, func(*Limiter) { g.Settle(quota.Costs{quota.Requests: 10}) }, nil},
		{"charged to others", &Limiter{Quotas: quotas(t, "1/s even")}, full, func(l *Limiter) {
			l.Observe(Claim{N: 29})
		}, &Error{Cause: CausePace, Quota: "1/s even", Wait: 30 * time.Second}},
		{"charged to others above", &Limiter{Quotas: quotas(t, "1/s even"), Parent: &Limiter{Name: "p", Quotas: quotas(t, "1/s even")}}, full, func(l *Limiter) {
			other := &Limiter{Parent: l.Parent}
			other.Observe(Claim{N: 29})
		}, &Error{Bucket: "p", Cause: CausePace, Quota: "1/s even", Wait: 30 * time.Second}},
		{"made again by others", &Limiter{Quotas: quotas(t, "1/s even")}, func(l *Limiter) { take(l); g.Answered(Answer{Refused: true}) }, func(l *Limiter) {
			for range 10 {
				join(t, l, Claim{After: g})
			}
		}, &Error{Cause: CausePace, Quota: "1/s even", Wait: 11 * time.Second}},
	}
}

// Who cannot make it any more is told at that moment: with the bound that it misses, the true cause and the
// true time.
func TestToldWhenItIsKnown(t *testing.T) {
	for i, row := range allNews(t) {
		for _, bound := range []error{ErrMaxWait, ErrDeadline, ErrStandstill} {
			t.Run(fmt.Sprintf("%s, %v", row.name, bound), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := allNews(t)[i] // made in the bubble
					for b := n.l; b != nil; b = b.Parent {
						b.Rand = noJitter
					}
					n.prepare(n.l)
					ctx, c := t.Context(), Claim{}
					switch {
					case errors.Is(bound, ErrMaxWait):
						c.MaxWait = 10 * time.Second
					case errors.Is(bound, ErrDeadline):
						timed, cancel := context.WithTimeout(ctx, 10*time.Second+1)
						defer cancel()
						ctx = timed
					case errors.Is(bound, ErrStandstill):
						if n.name == "made again by others" {
							t.Skip("others that go first are no standstill")
						}
						n.l.MaxStandstill = 10 * time.Second
						n.l.lock()
						n.l.tree.standstill = n.l.MaxStandstill
						n.l.unlock()
					}
					_, w, err := n.l.Join(ctx, c)
					if err != nil || w == nil {
						t.Fatalf("does not wait: %v", err)
					}
					n.happens(n.l)
					synctest.Wait()
					if n.want == nil {
						if w.err != nil {
							t.Errorf("told %v", w.err)
						}
						return
					}
					var e *Error
					if !gone(w) || !errors.As(w.err, &e) {
						t.Fatalf("is not told: %v", w.err)
					}
					if !errors.Is(e, bound) || e.Cause != n.want.Cause || e.Quota != n.want.Quota || e.Bucket != n.want.Bucket || e.Wait != n.want.Wait || !e.At.Equal(time.Now().Add(e.Wait)) {
						t.Errorf("told %#v, want %v and %#v", e, bound, n.want)
					}
				})
			})
		}
	}
}

// A long line is not looked at whenever something is learned: what is learned again within a hundredth of a
// second is told to a thousand at the end of it.
func TestALongLineIsLookedAtOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{SlowStart: true, Rand: noJitter}
		grant(t, l, Claim{})
		var all []*Waiter
		for range 1000 {
			_, w := join(t, l, Claim{MaxWait: time.Minute})
			all = append(all, w)
		}
		told := func() (n int) {
			synctest.Wait()
			for _, w := range all {
				if gone(w) {
					n++
				}
			}
			return n
		}
		l.Pause(time.Minute)
		l.Pause(time.Minute + 1)
		time.Sleep(9*time.Millisecond - 1)
		if n := told(); n != 0 {
			t.Errorf("%d are told too soon", n)
		}
		if time.Sleep(time.Nanosecond); told() != 1000 {
			t.Errorf("%d are told, want 1000", told())
		}
	})
}

// TestToldWhereverItWaits: a claim that waits in the lowest of three buckets, whichever delays it, is told at
// once when the quotas of any of them come to be below its cost or in a unit nearly like its own, or when that
// bucket opens too late. And the next in line takes its place.
func TestToldWhereverItWaits(t *testing.T) {
	set := func(text string) func(*Limiter) error {
		return func(l *Limiter) error { return l.SetQuotas(quotas(t, text)) }
	}
	for name, change := range map[string]struct {
		happens func(*Limiter) error
		want    *Error
	}{
		"cost":     {set("1/s burst 2"), &Error{Quota: "1/s burst 2", Cause: CausePace, Cost: 3, Err: ErrTooLarge}},
		"unit":     {set("9 token/s burst 9"), &Error{Quota: "9 token/s burst 9", Cost: 1, Err: ErrUnit}},
		"hold":     {func(l *Limiter) error { l.Pause(time.Minute); return nil }, &Error{Cause: CauseHold, Cost: 3, Wait: time.Minute, Err: ErrMaxWait}},
		"deadline": {func(l *Limiter) error { l.Pause(time.Minute); return nil }, &Error{Cause: CauseHold, Cost: 3, Wait: time.Minute, Err: ErrDeadline}},
		"slow":     {set("3/h log"), &Error{Quota: "3/h log", Cause: CausePace, Cost: 3, Wait: time.Hour - time.Second, Err: ErrMaxWait}},
		"stand":    {set("3/h log"), &Error{Quota: "3/h log", Cause: CausePace, Cost: 3, Wait: time.Hour - time.Second, Err: ErrStandstill}},
	} {
		for delays := range 3 {
			for changes := range 3 {
				t.Run(fmt.Sprintf("%s, %d delays, %d changes", name, delays, changes), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var ls [3]*Limiter
						for i := range ls {
							ls[i] = &Limiter{Name: fmt.Sprint(i), Quotas: quotas(t, "3/10s log"), Rand: noJitter}
							if i != delays {
								ls[i].Quotas = quotas(t, "6/10s log")
							}
							if i > 0 {
								ls[i].Parent = ls[i-1]
							}
							if name == "stand" {
								ls[i].MaxStandstill = time.Minute
							}
						}
						grant(t, ls[2], Claim{N: 3})
						ctx, bound := t.Context(), 30*time.Second
						switch name {
						case "deadline":
							timed, cancel := context.WithTimeout(ctx, bound)
							defer cancel()
							ctx, bound = timed, 0
						case "stand":
							bound = 0
						}
						_, w, _ := ls[2].Join(ctx, Claim{N: 3, Costs: quota.Costs{"tokens": 1}, MaxWait: bound})
						_, next, _ := ls[2].Join(ctx, Claim{MaxWait: bound})
						time.Sleep(time.Second)
						if err := change.happens(ls[changes]); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
						var e *Error
						if !gone(w) || !errors.As(w.err, &e) {
							t.Fatalf("is not told: %v", w.err)
						}
						if got, want := fmt.Sprint(e.Bucket, e.Quota, e.Cause, e.Cost, e.Wait, e.Err), fmt.Sprint(changes, change.want.Quota, change.want.Cause, change.want.Cost, change.want.Wait, change.want.Err); got != want {
							t.Errorf("told %v\nwant %v\n%v", got, want, e)
						}
						if told := gone(next) && next.err != nil; told != (name != "cost" && name != "unit") {
							t.Errorf("the next is told %v", next.err)
						}
						next.Leave()
						for _, l := range ls {
							if l.line.Len() != 0 || l.line.waiting != 0 {
								t.Errorf("%d stand in line", l.line.Len())
							}
						}
					})
				})
			}
		}
	}
}

// TestWhoLeavesTheLineIsToldOfItself: an error counts those who stand before, and not those who came later.
func TestWhoLeavesTheLineIsToldOfItself(t *testing.T) {
	for _, c := range []struct {
		l     *Limiter
		claim Claim
		cause Cause
		wait  time.Duration
	}{
		{&Limiter{Quotas: quotas(t, "1/s even")}, Claim{}, CausePace, 900 * time.Millisecond},
		{&Limiter{Quotas: quotas(t, "1/s even")}, Claim{MaxWait: time.Hour}, CausePace, 900 * time.Millisecond},
		{&Limiter{Quotas: quotas(t, "5/m"), SlowStart: true}, Claim{}, CauseSlowStart, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: c.l.Quotas, SlowStart: c.l.SlowStart}
			grant(t, l, Claim{})
			ctx, cancel := context.WithCancel(t.Context())
			_, first, err := l.Join(ctx, c.claim)
			if err != nil {
				t.Fatal(err)
			}
			for range 8 {
				join(t, l, c.claim)
			}
			time.Sleep(100 * time.Millisecond)
			cancel()
			_, err = first.Wait(ctx)
			var e *Error
			if !errors.As(err, &e) || e.Cause != c.cause || e.Wait != c.wait {
				t.Errorf("told %v, want %v for %v", err, c.cause, c.wait)
			}
		})
	}
}

// TestTheFirstToAskIsToldWhatOthersWaitFor: those before it do not ask, so that nothing was kept of what they
// wait for. It joins behind them, which changes nothing for them, and leaves before anything else happens.
func TestTheFirstToAskIsToldWhatOthersWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &Limiter{Name: "root", Quotas: quotas(t, "1/m burst 1")}
		l := &Limiter{Name: "l", Parent: root, Rand: noJitter}
		if !l.Allow(1) {
			t.Fatal("a full bucket lets nobody go")
		}
		for _, in := range []*Limiter{root, l, l} {
			_, w := join(t, in, Claim{})
			defer func() { _ = w.drop(nil, func() error { return nil }) }()
		}
		for _, in := range []*Limiter{l, root} {
			cancel := make(chan struct{})
			time.AfterFunc(time.Second/2, func() { close(cancel) })
			var told []Wait
			search := within.Search(new(Group), func() *Limiter { return in }, nil, &told)
			_, err := search.Acquire(t.Context(), false, Claim{Cancel: cancel}, new(Grant))
			if want := (Wait{Bucket: "root", Cause: CausePace, Quota: "1/m even", For: time.Second / 2}); !errors.Is(err, ErrCanceled) || len(told) != 1 || told[0] != want {
				t.Errorf("%s: told %+v, want %+v: %v", in.Name, told, want, err)
			}
		}
	})
}
