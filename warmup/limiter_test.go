package warmup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLimiterGuava replays the recorded cases in which callers really sleep: one
// caller in those with "advance", many at once in those with "hold". The tolerance
// is that of TestRampGuava.
func TestLimiterGuava(t *testing.T) {
	played := map[string]int{}
	for _, c := range guavaCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			ramp := c.ramp()
			switch {
			case c.tagged("quirk"), c.tagged("extreme"), c.New.Err:
				// A bubble starts in 2000 and a Duration lasts for 292 years: see
				// TestRampGuava for these.
				played["only by Ramp"]++
				return
			case c.tagged("clock-back"):
				played["only by Ramp"]++ // a bubble's clock cannot go so far
				return
			case c.Clock == "hold" && slices.ContainsFunc(c.Ops, func(op guavaOp) bool { return op.Op == "rate" }):
				played["re-timed, not as Guava"]++ // see TestLimiterSetRate
				return
			}
			played[c.Clock]++
			synctest.Test(t, func(t *testing.T) {
				ramp.Reserve(time.Now(), 0) // starts the clock
				l := &Limiter{Ramp: ramp}
				p := replay{t: t, c: c, total: map[string]int{}}
				if c.Clock == "advance" {
					p.advance(l)
				} else {
					p.hold(l)
				}
			})
		})
	}
	if diff := cmp.Diff(map[string]int{"advance": 67, "hold": 5, "only by Ramp": 10, "re-timed, not as Guava": 2}, played); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

// try waits for timeout at most, as Guava's tryAcquire does. The wait may end at the
// very end of it, but must end before a deadline.
func try(ctx context.Context, l *Limiter, n int, timeout time.Duration) bool {
	if timeout <= 0 {
		return l.Allow(n)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+1)
	defer cancel()
	start := time.Now()
	err := l.Wait(ctx, n)
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0) {
		panic(fmt.Sprintf("%v after %v", err, time.Since(start)))
	}
	return err == nil
}

func (p *replay) advance(l *Limiter) {
	ctx := p.t.Context()
	for i, op := range p.c.Ops {
		start := time.Now()
		switch {
		case op.Err && op.Op == "rate":
			if l.SetRate(float64(op.Rate)) == nil {
				p.t.Errorf("op %d: SetRate(%v) = nil", i, op.Rate)
			}
		case op.Err: // n of zero or less, see TestLimiterNegative
		case op.Op == "acquire":
			if err := l.Wait(ctx, op.N); err != nil {
				p.t.Errorf("op %d: %v", i, err)
			}
			p.wait(i, op, time.Since(start))
		case op.Op == "try":
			if ok := try(ctx, l, op.N, micros(op.Timeout)); ok != op.OK {
				p.t.Errorf("op %d: try = %v, want %v", i, ok, op.OK)
			}
			if op.OK {
				p.wait(i, op, time.Since(start))
			}
		case op.Op == "rate":
			if err := l.SetRate(float64(op.Rate)); err != nil {
				p.t.Errorf("op %d: %v", i, err)
			}
		case op.Op == "sleep":
			time.Sleep(micros(op.D))
		}
	}
}

func (p *replay) hold(l *Limiter) {
	start := time.Now()
	var calls sync.WaitGroup
	for i, op := range p.c.Ops {
		time.Sleep(micros(op.T-p.c.New.T0) - time.Since(start))
		switch op.Op {
		case "acquire", "try":
			p.grants++
			tolerance, began := p.tolerance(), time.Now()
			calls.Go(func() {
				var ok bool
				if op.Op == "acquire" {
					ok = l.Wait(p.t.Context(), op.N) == nil
				} else {
					ok = try(p.t.Context(), l, op.N, micros(op.Timeout))
				}
				if got := time.Since(began); ok != (op.OK || op.Op == "acquire") || (got-micros(op.Wait)).Abs() > tolerance {
					p.t.Errorf("op %d: %v after %v, want %v", i, ok, got, micros(op.Wait))
				}
			})
			synctest.Wait() // it is in line
		}
	}
	calls.Wait()
}

// gone records when callers went, as text: "A 0s", "B 1.5s".
type gone struct {
	start time.Time
	mu    sync.Mutex // protects log
	log   []string
	calls sync.WaitGroup
}

// wait starts a caller, and returns when it has gone or waits in line.
func (g *gone) wait(ctx context.Context, l *Limiter, name string, n int) {
	g.calls.Go(func() {
		err := l.Wait(ctx, n)
		if err != nil {
			name += " gave up"
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.log = append(g.log, fmt.Sprint(name, " ", time.Since(g.start)))
	})
	synctest.Wait()
}

func (g *gone) check(t *testing.T, want ...string) {
	t.Helper()
	g.calls.Wait()
	slices.Sort(g.log) // which of two goroutines that went at one instant takes the lock first is chance
	slices.Sort(want)
	if diff := cmp.Diff(want, g.log); diff != "" {
		t.Errorf("who went when (-want +got):\n%s", diff)
	}
}

func TestLimiterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 2, WarmUp: 4 * time.Second}}, &gone{start: time.Now()}
		for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
			g.wait(t.Context(), l, name, 1)
		}
		g.check(t, "A 0s", "B 1.375s", "C 2.5s", "D 3.375s", "E 4s", "F 4.5s")
	})
}

// TestLimiterCancel: a caller that gives up has taken nothing, and all callers behind
// it move up.
func TestLimiterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 1}}, &gone{start: time.Now()}
		first, cancelFirst := context.WithCancel(t.Context())
		middle, cancelMiddle := context.WithCancel(t.Context())
		g.wait(t.Context(), l, "A", 1)
		g.wait(first, l, "B", 5)
		g.wait(t.Context(), l, "C", 1)
		g.wait(middle, l, "D", 7)
		g.wait(t.Context(), l, "E", 1)
		time.Sleep(500 * time.Millisecond)
		cancelMiddle()
		synctest.Wait()
		cancelFirst()
		g.check(t, "A 0s", "D gave up 500ms", "B gave up 500ms", "C 1s", "E 2s")
		g.wait(t.Context(), l, "F", 1)
		g.check(t, "A 0s", "D gave up 500ms", "B gave up 500ms", "C 1s", "E 2s", "F 3s")
	})
}

// TestLimiterCancelMany: callers that leave leave no debt, unlike in golang/go#56924.
func TestLimiterCancelMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 10}}, &gone{start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		l.Wait(ctx, 1)
		for range 200 {
			go l.Wait(ctx, 1)
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
		synctest.Wait()
		g.wait(t.Context(), l, "A", 1)
		g.check(t, "A 100ms")
		if l.line.Len() != 0 || l.queued != 0 {
			t.Errorf("%d in line for %v tokens, want none", l.line.Len(), l.queued)
		}
	})
}

func TestLimiterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Ramp: Ramp{Rate: 1}}
		cause := errors.New("enough")
		late, cancelLate := context.WithTimeoutCause(t.Context(), 2*time.Second, cause)
		defer cancelLate()
		l.Wait(t.Context(), 3)
		check := func(what string, err error, text string, timeout bool, is ...error) {
			t.Helper()
			if err == nil || err.Error() != text {
				t.Errorf("%s: %v, want %q", what, err, text)
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Timeout() != timeout {
				t.Errorf("%s: %T with Timeout() other than %v", what, err, timeout)
			}
			for _, target := range is {
				if !errors.Is(err, target) {
					t.Errorf("%s: %v is not %v", what, err, target)
				}
			}
		}

		start := time.Now()
		for _, d := range []time.Duration{1, 3*time.Second - 1, 3 * time.Second} {
			soon, cancelSoon := context.WithTimeoutCause(t.Context(), d, cause)
			defer cancelSoon()
			check(fmt.Sprint("deadline in ", d), l.Wait(soon, 1),
				"warmup: not granted: would wait 3s: past the deadline of the context: context deadline exceeded", true, context.DeadlineExceeded)
		}
		check("deadline before", l.Wait(late, 1),
			"warmup: not granted: would wait 3s: past the deadline of the context: context deadline exceeded", true, context.DeadlineExceeded)
		if !time.Now().Equal(start) {
			t.Errorf("it took %v to refuse", time.Since(start))
		}

		time.Sleep(2 * time.Second)
		synctest.Wait() // the context has ended
		check("deadline passed", l.Wait(late, 1),
			"warmup: not granted: context deadline exceeded: enough", true, context.DeadlineExceeded, cause)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		check("canceled with a cause", l.Wait(ctx, 1), "warmup: not granted: context canceled: enough", false, context.Canceled, cause)
		ctx, cancel2 := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel2)
		check("canceled", l.Wait(ctx, 1), "warmup: not granted: context canceled", false, context.Canceled)

		// None of these calls was charged: the next caller goes three seconds after the
		// first three tokens.
		soon, cancelSoon := context.WithTimeout(t.Context(), time.Second/2+1)
		defer cancelSoon()
		if err := l.Wait(soon, 1); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("Wait = %v after %v, want nil after 3s", err, time.Since(start))
		}
	})
}

// TestLimiterDeadline: the wait must end before the deadline, by a nanosecond.
func TestLimiterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Ramp: Ramp{Rate: 1}}
		l.Wait(t.Context(), 1)
		for _, d := range []time.Duration{time.Second, time.Second + 1} {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			err := l.Wait(ctx, 1)
			if d == time.Second && (!errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0) {
				t.Errorf("deadline %v: %v after %v", d, err, time.Since(start))
			}
			if d > time.Second && (err != nil || time.Since(start) != time.Second) {
				t.Errorf("deadline %v: %v after %v", d, err, time.Since(start))
			}
		}
	})
}

// TestLimiterDeadlineInLine: the wait includes the costs of all callers ahead.
func TestLimiterDeadlineInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 1}}, &gone{start: time.Now()}
		g.wait(t.Context(), l, "A", 1)
		g.wait(t.Context(), l, "B", 3)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		g.wait(ctx, l, "C", 1) // could go at 4 s
		g.wait(t.Context(), l, "D", 1)
		soon, cancelSoon := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancelSoon()
		var e *Error
		if err := l.Wait(soon, 1); !errors.As(err, &e) || e.Wait != 5*time.Second || !e.Timeout() {
			t.Errorf("Wait of less than 5s: %v", err)
		}
		g.check(t, "A 0s", "C gave up 0s", "B 1s", "D 4s")
	})
}

// TestLimiterSetRate: tokens that were granted keep their price, tokens for which
// callers wait get the new one.
func TestLimiterSetRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 0.1}}, &gone{start: time.Now()}
		for _, name := range []string{"A", "B", "C", "D"} {
			g.wait(t.Context(), l, name, 1)
		}
		time.Sleep(time.Second)
		if err := l.SetRate(100); err != nil {
			t.Error(err)
		}
		for _, rate := range []float64{0, -1, math.NaN()} {
			if err := l.SetRate(rate); err == nil {
				t.Errorf("SetRate(%v) = nil", rate)
			}
		}
		g.check(t, "A 0s", "B 10s", "C 10.01s", "D 10.02s")
	})
}

// TestLimiterSetRateTooLate: a caller that is too late at the new rate fails when it
// is the first in line.
func TestLimiterSetRateTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 1}}, &gone{start: time.Now()}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		g.wait(t.Context(), l, "A", 1)
		g.wait(t.Context(), l, "B", 1)
		g.wait(ctx, l, "C", 1)
		g.wait(t.Context(), l, "D", 1)
		l.SetRate(0.1)
		g.check(t, "A 0s", "B 1s", "C gave up 1s", "D 11s")
	})
}

func TestLimiterChill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 2, WarmUp: 4 * time.Second}}, &gone{start: time.Now()}
		g.wait(t.Context(), l, "A", 8) // costs 6 s, and then it is warm
		g.wait(t.Context(), l, "B", 1)
		g.wait(t.Context(), l, "C", 1)
		l.Chill()
		g.check(t, "A 0s", "B 6s", "C 7.375s")
	})
}

// TestLimiterLate: a late timer loses no quota, unless it is very late.
func TestLimiterLate(t *testing.T) {
	for late, want := range map[time.Duration]time.Duration{
		0:               2 * time.Second,
		lag:             2 * time.Second,
		lag + 1:         2*time.Second + 1,
		5 * time.Second: 7*time.Second - lag,
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			l := &Limiter{Ramp: Ramp{Rate: 1, MaxBurst: -1}}
			l.Wait(t.Context(), 1)
			e, err := l.join(t.Context(), 1)
			if e == nil || err != nil {
				t.Fatal("not in line:", err)
			}
			time.Sleep(time.Second + late)
			if wait, err := l.release(t.Context(), e); wait > 0 || err != nil {
				t.Fatalf("did not go: %v, %v", wait, err)
			}
			l.Wait(t.Context(), 1)
			if got := max(time.Since(start), time.Second+late); got != max(want, time.Second+late) {
				t.Errorf("%v late: the next went at %v, want %v", late, got, want)
			}
		})
	}
}

// TestLimiterStress has many callers that come, go, give up and change the rate. They
// go no faster than the rate, and nothing is left behind.
func TestLimiterStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 1000
		l := &Limiter{Ramp: Ramp{Rate: rate, MaxBurst: 100 * time.Millisecond}}
		start := time.Now()
		var mu sync.Mutex // protects went
		var went []time.Time
		var calls sync.WaitGroup
		for i := range 64 {
			rnd := rand.New(rand.NewPCG(5, uint64(i)))
			calls.Go(func() {
				for range 100 {
					ctx, cancel := context.WithCancel(t.Context())
					stop := time.AfterFunc(time.Duration(rnd.IntN(200))*time.Millisecond, cancel)
					n, most := 1+rnd.IntN(3), time.Duration(rnd.IntN(300))*time.Millisecond
					within, cancelWithin := context.WithTimeout(ctx, most)
					if most == 0 && l.Allow(n) || l.Wait(within, n) == nil {
						mu.Lock()
						went = append(went, time.Now())
						mu.Unlock()
					}
					stop.Stop()
					cancelWithin()
					cancel()
					time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
					if rnd.IntN(10) == 0 {
						l.SetRate(rate / 2 * (1 + rnd.Float64()))
					}
				}
			})
		}
		calls.Wait()
		// Each caller takes at least one token. At most a full store goes at once, and
		// one more request.
		most := time.Since(start).Seconds()*rate + rate/10 + 1
		if n := len(went); float64(n) > most || n < 1000 {
			t.Errorf("%d went in %v", n, time.Since(start))
		}
		if l.line.Len() != 0 || l.queued != 0 {
			t.Errorf("%d in line for %v tokens, want none", l.line.Len(), l.queued)
		}
	})
}

// TestLimiterAllow: what may not go at once is not granted, costs nothing, and does
// not overtake.
func TestLimiterAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g := &Limiter{Ramp: Ramp{Rate: 1, MaxBurst: -1}}, &gone{start: time.Now()}
		allow := func(n int, want bool) {
			t.Helper()
			if got := l.Allow(n); got != want {
				t.Errorf("Allow(%d) at %v = %v, want %v", n, time.Since(g.start), got, want)
			}
		}
		allow(3, true)
		for range 100 {
			allow(1, false)
		}
		time.Sleep(3*time.Second - 1)
		allow(1, false)
		time.Sleep(time.Nanosecond)
		allow(0, true) // counts as one
		time.Sleep(time.Second - 1)
		allow(0, false)
		time.Sleep(time.Nanosecond)
		allow(1, true)
		g.wait(t.Context(), l, "A", 1)
		time.Sleep(time.Second) // A goes, or is about to
		allow(1, false)
		g.check(t, "A 5s")
		time.Sleep(time.Hour)
		allow(math.MaxInt, true)
		allow(1, false)
	})
	defer func() {
		if recover() == nil {
			t.Error("Allow(-1) did not panic")
		}
	}()
	new(Limiter).Allow(-1)
}

func TestLimiterInvalid(t *testing.T) {
	l := &Limiter{}
	if l.Allow(1) {
		t.Error("Allow without a Rate")
	}
	if err := l.Wait(t.Context(), 1); err == nil || err.Error() != "warmup: Rate is 0, want a positive number of tokens per second" {
		t.Errorf("Wait without a Rate: %v", err)
	}
	l.SetRate(1)
	if err := l.Wait(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if l.Ramp != (Ramp{}) {
		t.Errorf("the configuration has become %+v", l.Ramp)
	}
}

func TestLimiterNegative(t *testing.T) {
	l := &Limiter{Ramp: Ramp{Rate: 1}}
	if err := l.Wait(t.Context(), 0); err != nil || l.ramp.taken != 1 {
		t.Errorf("Wait(0) = %v and took %v, want 1", err, l.ramp.taken)
	}
	defer func() {
		if recover() == nil {
			t.Error("Wait(-1) did not panic")
		}
	}()
	l.Wait(t.Context(), -1)
}

func TestLimiterHuge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Ramp: Ramp{Rate: 1}}
		ctx, cancel := context.WithCancel(t.Context())
		l.Wait(ctx, math.MaxInt)
		for range 10 {
			go l.Wait(ctx, math.MaxInt)
			go l.Wait(ctx, 1)
		}
		time.Sleep(1000 * time.Hour)
		late, cancelLate := context.WithTimeout(ctx, forever/2)
		defer cancelLate()
		if err := l.Wait(late, 1); !errors.Is(err, context.DeadlineExceeded) || l.Allow(1) {
			t.Errorf("Wait behind a debt of centuries = %v", err)
		}
		cancel()
		synctest.Wait()
		if l.line.Len() != 0 || l.queued != 0 {
			t.Errorf("%d in line for %v tokens, want none", l.line.Len(), l.queued)
		}
	})
}

func BenchmarkLimiterWait(b *testing.B) {
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		l := &Limiter{Ramp: Ramp{Rate: 1e12, WarmUp: time.Second}}
		for b.Loop() {
			l.Wait(b.Context(), 1)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		l := &Limiter{Ramp: Ramp{Rate: 1e12, WarmUp: time.Second}}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l.Wait(b.Context(), 1)
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		b.ReportAllocs()
		l := &Limiter{Ramp: Ramp{Rate: 1e-3}}
		l.Wait(b.Context(), 1)
		for b.Loop() {
			l.Allow(1)
		}
	})
}

// TestLimiterAllowDoesNotOvertake: at the instant at which a caller in line is due, what is there is that
// caller's.
func TestLimiterAllowDoesNotOvertake(t *testing.T) {
	for range 100 { // since Go draws lots which of the two comes first
		synctest.Test(t, func(t *testing.T) {
			l, g := &Limiter{Ramp: Ramp{Rate: 1, MaxBurst: -1}}, &gone{start: time.Now()}
			l.Allow(1)
			g.wait(t.Context(), l, "A", 1)
			time.Sleep(time.Second)
			if l.Allow(1) {
				t.Error("Allow has taken the token of A")
			}
			g.check(t, "A 1s")
		})
	}
}

func TestLimiterNilContext(t *testing.T) {
	defer func() {
		if v := recover(); v != "warmup: nil context" {
			t.Errorf("panic %v", v)
		}
	}()
	_ = (&Limiter{Ramp: Ramp{Rate: 1}}).Wait(nil, 1) //nolint:staticcheck // this is what is tested
}
