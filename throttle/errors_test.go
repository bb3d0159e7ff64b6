package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/internal/visible"
	"github.com/gopacer/pacer/quota"
)

// errors.Is finds the error of the context and its cause, and the text says whether the claim waited.
func TestErrorsOfContexts(t *testing.T) {
	why := errors.New("the user went away")
	for _, test := range []struct {
		name    string
		ctx     func(parent context.Context) (context.Context, context.CancelFunc)
		is      []error
		timeout bool
		early   bool // the context has ended before the claim is made
		text    string
	}{
		{
			"canceled", func(parent context.Context) (context.Context, context.CancelFunc) {
				return later(context.WithCancel(parent))
			},
			[]error{ErrCanceled, context.Canceled},
			false, false,
			"throttle: a: not sent: canceled while waiting: hold, could go in 59m59s: context canceled",
		},
		{
			"canceled with a cause", func(parent context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(parent)
				return later(ctx, func() { cancel(why) })
			},
			[]error{ErrCanceled, context.Canceled, why},
			false, false,
			"throttle: a: not sent: canceled while waiting: hold, could go in 59m59s: the user went away",
		},
		{
			"canceled already", func(parent context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(parent)
				cancel(why)
				return ctx, func() {}
			},
			[]error{ErrCanceled, context.Canceled, why},
			false, true,
			"throttle: a: not sent: canceled, since the context has already ended: the user went away",
		},
		{
			"a deadline that has passed", func(parent context.Context) (context.Context, context.CancelFunc) {
				return context.WithDeadlineCause(parent, time.Now(), why)
			},
			[]error{ErrCanceled, context.DeadlineExceeded, why},
			true, true,
			"throttle: a: not sent: canceled, since the context has already ended: the user went away",
		},
		{
			"a deadline", func(parent context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(parent, time.Minute, why) // which nobody can ask for before it ends
			},
			[]error{ErrDeadline, context.DeadlineExceeded},
			true, true,
			"throttle: a: not sent: wait past the deadline (in 1m0s): hold, could go in 1h0m0s",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Name: "a"}
				l.Pause(time.Hour)
				ctx, cancel := test.ctx(t.Context())
				defer cancel()
				start := time.Now()
				err := l.Wait(ctx, 1)
				for _, is := range test.is {
					if !errors.Is(err, is) {
						t.Errorf("%v is not %v", err, is)
					}
				}
				if errors.Is(err, why) != slices.Contains(test.is, why) {
					t.Errorf("%v is %v", err, why)
				}
				var e *Error
				if !errors.As(err, &e) || e.Timeout() != test.timeout || e.Error() != test.text {
					t.Errorf("got %v\nwant %s", err, test.text)
				}
				if waited := time.Since(start) > 0; waited == test.early {
					t.Errorf("waited: %v", waited)
				}
			})
		})
	}
}

// later has the context end after a second.
func later(ctx context.Context, cancel context.CancelFunc) (context.Context, context.CancelFunc) {
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

func TestErrorOfACancelChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		l.Pause(time.Hour)
		cancel := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(cancel) })
		_, err := l.Acquire(t.Context(), Claim{Cancel: cancel})
		if want := "throttle: not sent: canceled while waiting: hold, could go in 59m59s: context canceled"; err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// What a server, a Store or another program has named is shown as what can be seen, and not at any length.
func TestNamesAreVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = "a\n\x1b[2J"
		long := strings.Repeat("x", 1000)
		g := &Group{New: func([]string) *Limiter { return &Limiter{Name: "a", Rand: noJitter, MaxWait: -1} }}
		for i, name := range []string{"core", evil, long} {
			path := "/" + strconv.Itoa(i)
			grant, _ := g.Limiter("a").Observe(Claim{Verb: "GET", Path: path})
			grant.Answered(Answer{Counter: name, Statements: []quota.Statement{{Name: name, Counter: name, Unit: name, Limit: 5, ResetKnown: true, Reset: time.Minute}}})
			if err := g.Limiter("a").Wait(t.Context(), 1); err != nil && visible.Text(err.Error(), 300) != err.Error() {
				t.Errorf("%q", err)
			}
		}
		states := g.State()
		if len(states) != 4 {
			t.Errorf("%d buckets, want 4", len(states))
		}
		for _, s := range states {
			texts := []string{s.Bucket, s.Next.Quota}
			for _, l := range s.Limits {
				texts = append(texts, l.Quota, l.Counter, l.Unit)
			}
			for _, text := range texts {
				if visible.Text(text, 200) != text {
					t.Errorf("%q", text)
				}
			}
		}
	})
}

// TestErrorNamesItsBucket: the bucket of an Error is the one that delays or refuses the claim, which may be
// above the one that was asked.
func TestErrorNamesItsBucket(t *testing.T) {
	over := canceledContext(t)
	now := Claim{MaxWait: -1}
	for name, test := range map[string]struct {
		below, above string // quotas
		granted      int    // claims before
		waiting      int    // after these
		ended        bool   // the context, before
		claim        Claim
		why          error
		bucket       string
	}{
		"below":                 {below: "1/s", above: "5/s", granted: 1, claim: now, why: ErrWouldWait, bucket: "below"},
		"above":                 {below: "5/s", above: "1/s", granted: 1, claim: now, why: ErrWouldWait, bucket: "above"},
		"both, longer above":    {below: "1/s", above: "1/m", granted: 1, claim: now, why: ErrWouldWait, bucket: "above"},
		"both, longer below":    {below: "1/m", above: "1/s", granted: 1, claim: now, why: ErrWouldWait, bucket: "below"},
		"MaxWait":               {below: "5/s", above: "1/s", granted: 1, claim: Claim{MaxWait: time.Millisecond}, why: ErrMaxWait, bucket: "above"},
		"a queue":               {below: "5/s", above: "1/s queue 1", granted: 1, waiting: 1, why: ErrQueueFull, bucket: "above"},
		"a queue, longer below": {below: "1/m", above: "5/s queue 1", granted: 1, waiting: 1, why: ErrQueueFull, bucket: "above"},
		"too large":             {below: "5/s", above: "1/s", claim: Claim{N: 2}, why: ErrTooLarge, bucket: "above"},
		"a unit":                {below: "5/s", above: "9 tokens/s", claim: Claim{Costs: quota.Costs{"token": 1}}, why: ErrUnit, bucket: "above"},
		"a context that ended":  {below: "5/s", above: "1/s", ended: true, why: ErrCanceled, bucket: "below"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				above := &Limiter{Name: "above", Quotas: quotas(t, test.above)}
				l := &Limiter{Name: "below", Parent: above, Quotas: quotas(t, test.below)}
				for range test.granted {
					grant(t, l, Claim{})
				}
				for range test.waiting {
					go func() { _, _ = l.Acquire(t.Context(), Claim{}) }()
					synctest.Wait()
				}
				ctx := t.Context()
				if test.ended {
					ctx = over
				}
				_, err := l.Acquire(ctx, test.claim)
				var e *Error
				if !errors.As(err, &e) || !errors.Is(err, test.why) || e.Bucket != test.bucket {
					t.Fatalf("error %v, want %v of %s", err, test.why, test.bucket)
				}
				if f := l.Forecast(test.claim); errors.Is(test.why, ErrWouldWait) && (f.Bucket != test.bucket || f.Wait != e.Wait) {
					t.Errorf("forecast %+v, want %v for %s", f, e.Wait, test.bucket)
				}
				if test.waiting > 0 {
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// TestGrantedAndCanceledAtOnce: of a claim that is granted and canceled at the same instant, either is true: it
// has what it asked for, or an error that names its bucket, and the next has it.
func TestGrantedAndCanceledAtOnce(t *testing.T) {
	for range 30 { // since Go draws lots which it is
		synctest.Test(t, func(t *testing.T) {
			var g Group
			find := func() *Limiter { return g.Limiter("a") }
			g.New = func([]string) *Limiter { return &Limiter{Name: "a", Quotas: quotas(t, "1 in flight")} }
			first := grant(t, find(), Claim{})
			ctx, cancel := context.WithCancel(t.Context())
			search := within.Search(&g, find, func(Forecast) {
				first.Cancel()
				cancel()
			}, nil)
			got, err := search.Acquire(ctx, false, Claim{}, new(Grant))
			var e *Error
			switch {
			case err == nil:
				got.Cancel()
			case !errors.As(err, &e) || e.Bucket != "a" || !errors.Is(err, ErrCanceled):
				t.Errorf("error %#v, want ErrCanceled of a", err)
			}
			if f := find().Forecast(Claim{}); f != (Forecast{}) {
				t.Errorf("the next one waits: %+v", f)
			}
		})
	}
}

// A Cause is a value of metrics and logs, and has no blank; the text of an error is for people, and has no _.
func TestCausesAreIdentifiers(t *testing.T) {
	for _, c := range []Cause{CausePace, CauseSpread, CauseWarmUp, CauseInFlight, CauseHold, CauseWindowUsedUp, CauseSlowStart, CauseStoreAsked, CauseStoreNotReached} {
		if strings.Trim(string(c), "abcdefghijklmnopqrstuvwxyz_") != "" || c == "" {
			t.Errorf("%q is no identifier", c)
		}
		want := "throttle: a: not sent: wait over MaxWait: " + strings.ReplaceAll(string(c), "_", " ")
		if got := (&Error{Bucket: "a", Cause: c, Err: ErrMaxWait}).Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "_") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestCanceledAfterResume: who leaves is told how long he would have waited from now on, and not what was
// forecast before a hold ended early. Behind more than a few, that is for all who asked his bucket, himself
// included.
func TestCanceledAfterResume(t *testing.T) {
	for ahead, want := range map[int]time.Duration{10: 11 * time.Second, 20: 22 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := &Limiter{Quotas: quotas(t, "1/s even")}
			l.Observe(Claim{})
			l.Pause(time.Hour)
			var waiters []*Waiter
			for range ahead {
				_, w := join(t, l, Claim{})
				waiters = append(waiters, w)
			}
			ctx, cancel := context.WithCancel(t.Context())
			errs := make(chan error, 1)
			go func() { errs <- l.Wait(ctx, 1) }()
			synctest.Wait()
			l.Resume()
			cancel()
			var e *Error
			if err := <-errs; !errors.As(err, &e) || e.Wait != want {
				t.Errorf("behind %d: %v, want a Wait of %v", ahead, err, want)
			}
			for _, w := range waiters {
				w.Leave()
			}
		})
	}
}

// TestErrorNamesTheCostInItsUnit: the cost of ErrTooLarge is in the unit of the quota.
func TestErrorNamesTheCostInItsUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Quotas: quotas(t, "100/s burst 100, 1 tokens/s burst 3")}
		_, _, err := l.Join(t.Context(), Claim{N: 10, Costs: quota.Costs{"tokens": 5}})
		var e *Error
		if !errors.As(err, &e) || e.Cost != 5 || e.Unit != "tokens" {
			t.Errorf("got %v, want a cost of 5 tokens", err)
		}
		_, _, err = l.Join(t.Context(), Claim{N: 101, Costs: quota.Costs{"tokens": 1}})
		if !errors.As(err, &e) || e.Cost != 101 || e.Unit != "" {
			t.Errorf("got %v, want a cost of 101 requests", err)
		}
	})
}

// TestTooLargeBesideAnOutage: the error says what to claim or to write, whatever Store cannot be reached, that
// of the quota's bucket or of the other one, and whether the claim was made before or after that was known.
func TestTooLargeBesideAnOutage(t *testing.T) {
	for i := range 12 {
		small, stores, known := i%2, 1+i/2%3, i >= 6 // which bucket has the quota, of 0 the child; which have a Store, as bits
		synctest.Test(t, func(t *testing.T) {
			shared := nearStore()
			shared.fail = func(int) error { return errDown }
			above := &Limiter{Name: "1", Quotas: quotas(t, "500/s")}
			below := &Limiter{Name: "0", Quotas: quotas(t, "500/s"), Parent: above}
			path := []*Limiter{below, above}
			for j, l := range path {
				if stores>>j&1 != 0 {
					l.Shared.Store, l.Shared.Name = shared, l.Name
				}
			}
			path[small].Quotas = quotas(t, "200/s burst 5")
			if known {
				if _, err := below.Acquire(t.Context(), Claim{MaxWait: time.Second}); !errors.Is(err, ErrMaxWait) {
					t.Fatal(err)
				}
			}
			_, err := below.Acquire(t.Context(), Claim{N: 6})
			want := fmt.Sprintf(`throttle: %d: not sent: cost above what the quota ever grants at once: pace "200/s burst 5", cost 6; it grants at most 5 at once: claim less, or write "200/s burst 6" or "200/s burst 5 debt"`, small)
			if !errors.Is(err, ErrTooLarge) || err.Error() != want {
				t.Errorf("quota of %d, stores %b, known %v: got\n%v, want\n%v", small, stores, known, err, want)
			}
			below.Close()
			above.Close()
			synctest.Wait()
		})
	}
}
