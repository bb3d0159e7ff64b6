package warmup

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// epoch is any instant.
var epoch = time.Date(2096, time.February, 29, 12, 0, 0, 0, time.UTC)

// after returns the instant that is s seconds after epoch.
func after(s float64) time.Time { return epoch.Add(time.Duration(math.Round(s * 1e9))) }

// seconds is the inverse of after.
func seconds(t time.Time) float64 { return t.Sub(epoch).Seconds() }

// step is one call of Reserve.
type step struct {
	now    float64 // when Reserve is called
	n      int     // tokens asked for
	want   float64 // when the caller may go
	stored float64 // tokens stored after the call
}

func reserve(t *testing.T, r *Ramp, steps []step) {
	t.Helper()
	for i, s := range steps {
		if got := r.Reserve(after(s.now), s.n); !got.Equal(after(s.want)) {
			t.Errorf("step %d: Reserve(%v, %d) = %v, want %v", i, s.now, s.n, seconds(got), s.want)
		}
		if got := r.stored(after(s.now)); math.Abs(got-s.stored) > 1e-9 {
			t.Errorf("step %d: Stored(%v) = %v, want %v", i, s.now, got, s.stored)
		}
	}
}

func TestRampBursty(t *testing.T) {
	// Two tokens a second; up to two are stored.
	reserve(t, &Ramp{Rate: 2}, []step{
		{0, 1, 0, 0},       // a new Ramp has nothing stored, and the first request goes at once
		{0, 3, 0.5, 0},     // pays for the request before, and leaves 1.5 s to the next
		{1, 0, 2, 0},       // asks, and takes nothing
		{2, 1, 2, 0},       // comes exactly when it may go
		{2.75, 1, 2.75, 0}, // 0.25 s after the debt: half a token stored, half fresh
		{10, 1, 10, 1},     // full at two
		{10, 1, 10, 0},
		{10, 1, 10, 0},
		{10, 1, 10.5, 0},
	})
}

func TestRampBurstyNone(t *testing.T) {
	reserve(t, &Ramp{Rate: 2, MaxBurst: -1}, []step{
		{0, 1, 0, 0},
		{10, 1, 10, 0},
		{10, 1, 10.5, 0},
		{20, 2, 20, 0},
		{20, 1, 21, 0},
	})
}

func TestRampWarming(t *testing.T) {
	// The interval is 0.5 s, threshold 4 and max 8 tokens; cold is 1.5 s, and
	// each of the upper four tokens costs 0.25 s less than the one before it.
	reserve(t, &Ramp{Rate: 2, WarmUp: 4 * time.Second}, []step{
		{0, 1, 0, 7},
		{0, 1, 1.375, 6},
		{0, 1, 2.5, 5},
		{0, 1, 3.375, 4},
		{0, 1, 4, 3}, // cold to threshold: 4 s
		{0, 3, 4.5, 0},
		{0, 1, 6, 0}, // threshold to warm: 2 s
		{0, 1, 6.5, 0},
		{7, 0, 7, 0},
		{9, 0, 9, 4},   // half of 4 s
		{9, 4, 9, 0},   // costs 2 s
		{11, 0, 11, 0}, // exactly when it is paid
		{20, 0, 20, 8},
	})
}

// TestRampHighRate: intervals that are no whole number of microseconds, or even of
// nanoseconds, are not truncated.
func TestRampHighRate(t *testing.T) {
	for _, rate := range []float64{3, 600_000, 3e6, 7e8, 1e9, 3e10, 1e12} {
		r := Ramp{Rate: rate, MaxBurst: -1}
		total := 0
		for i := range 1000 {
			at := r.Reserve(epoch, 1+i)
			if want := math.Ceil(float64(total)/rate*1e9 - noise); float64(at.Sub(epoch)) != want {
				t.Fatalf("%v/s: after %d tokens Reserve = %v, want %v ns", rate, total, at.Sub(epoch), want)
			}
			total += 1 + i
		}
		// One caller that comes exactly when it may: roundings do not add up.
		r = Ramp{Rate: rate, MaxBurst: -1}
		now := epoch
		for range 1000 {
			r.Reserve(now, 3)
			now = r.Next(now, 0)
		}
		if got, want := float64(now.Sub(epoch)), 3000/rate*1e9; got < want-noise || got > want+1 {
			t.Errorf("%v/s: 3000 tokens took %v ns, want %v", rate, got, want)
		}
	}
}

// TestRampCost compares costs with an integral that is computed in small steps
// over the curve of the package comment.
func TestRampCost(t *testing.T) {
	for _, r := range []Ramp{
		{Rate: 10, WarmUp: 3 * time.Second, ColdFactor: 5},
		{Rate: 0.1, WarmUp: time.Minute},
		{Rate: 20, WarmUp: time.Second, ColdFactor: 1},
		{Rate: 1000, WarmUp: 500 * time.Microsecond, ColdFactor: 30},
	} {
		s, w, f := 1/r.Rate, r.WarmUp.Seconds(), coldFactorOf(r.ColdFactor)
		threshold := w / 2 / s
		full := threshold + 2*w/(s+f*s)
		price := func(level float64) float64 {
			if level < threshold {
				return s
			}
			return s + (level-threshold)/(full-threshold)*(f*s-s)
		}
		c := r.curve()
		for i := range 40 {
			stored := full * float64(i) / 39
			for j := range 40 {
				n := full * 1.2 * float64(j) / 39
				want, parts := max(n-stored, 0)*s, 2000
				drawn := min(n, stored)
				for k := range parts {
					want += drawn / float64(parts) * price(stored-drawn*(float64(k)+0.5)/float64(parts))
				}
				if got := c.cost(stored, n) / 1e9; math.Abs(got-want) > 1e-5*want { // small steps are inexact at the threshold
					t.Fatalf("%+v: %v of %v stored cost %v, want %v", r, n, stored, got, want)
				}
			}
		}
	}
}

// TestRampElapsed: under load it takes WarmUp from cold to the threshold, and half
// of WarmUp from there until nothing is stored. Idling, it takes WarmUp back to cold.
func TestRampElapsed(t *testing.T) {
	for _, cold := range []float64{1, 1.5, 2, 3, 10, 1000} {
		for _, warmUp := range []time.Duration{time.Millisecond, 4 * time.Second, 7 * time.Minute} {
			for _, rate := range []float64{0.1, 7, 333, 1e6, 1e10} {
				r := Ramp{Rate: rate, WarmUp: warmUp, ColdFactor: cold}
				c := r.curve()
				if got, want := c.cost(c.max, c.max-c.threshold), float64(warmUp); math.Abs(got-want) > 1e-9*want {
					t.Errorf("%+v: cold to threshold takes %v ns, want %v", r, got, want)
				}
				if got, want := c.cost(c.threshold, c.threshold), float64(warmUp)/2; math.Abs(got-want) > 1e-9*want {
					t.Errorf("%+v: threshold to warm takes %v ns, want %v", r, got, want)
				}
				if c.max > math.MaxInt {
					continue // where int has 32 bits
				}
				n := int(math.Ceil(c.max))
				r.Reserve(epoch, n)
				warm := r.Next(epoch, 0)
				if got := r.stored(warm); got != 0 {
					t.Errorf("%+v: %v stored when warm", r, got)
				}
				almost := warm.Add(warmUp - 2)
				if r.Idle(almost) || !r.Idle(warm.Add(warmUp)) {
					t.Errorf("%+v: not cold again exactly %v after it was warm", r, warmUp)
				}
				if got := r.stored(warm.Add(warmUp / 2)); math.Abs(got-c.max/2) > 1e-5*c.max {
					t.Errorf("%+v: %v of %v stored half way to cold", r, got, c.max)
				}
			}
		}
	}
}

// TestRampSplit: how a number of tokens is split into requests does not matter.
func TestRampSplit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		whole := Ramp{Rate: math.Exp(rnd.Float64()*20 - 5), ColdFactor: 1 + 10*rnd.Float64()}
		if rnd.IntN(3) > 0 {
			whole.WarmUp = time.Duration(math.Exp(rnd.Float64() * 25))
		}
		idle := time.Duration(math.Exp(rnd.Float64() * 25))
		whole.Reserve(epoch, 1)
		now := whole.Next(epoch, 0).Add(idle)
		split := whole
		n := 1 + rnd.IntN(1+int(2*whole.curve().max))
		whole.Reserve(now, n)
		for left := n; left > 0; {
			k := 1 + rnd.IntN(left)
			split.Reserve(now, k)
			left -= k
		}
		if a, b := whole.Next(now, 0), split.Next(now, 0); !a.Equal(b) {
			t.Fatalf("%+v: %d at once take %v, split they take %v", whole, n, a.Sub(now), b.Sub(now))
		}
	}
}

// TestRampReturn: after tokens are given back, the Ramp is as if they had never been
// reserved.
func TestRampReturn(t *testing.T) {
	for _, r := range []Ramp{
		{Rate: 2},
		{Rate: 2, MaxBurst: -1},
		{Rate: 2, MaxBurst: time.Minute},
		{Rate: 2, WarmUp: 4 * time.Second},
		{Rate: 3, WarmUp: 7 * time.Second, ColdFactor: 10},
		{Rate: math.Inf(1)},
		{Rate: 5e-324},
	} {
		for _, n := range []int{0, 1, 3, 20, math.MaxInt} {
			for _, idle := range []float64{0, 0.3, 2, 100} { // seconds idle before Reserve
				for _, passed := range []float64{0, 0.1, 0.5, 3, 1000} { // seconds from Reserve to Return
					was := r
					was.Reserve(epoch, 2)
					now := was.Next(epoch, 0).Add(time.Duration(idle * 1e9))
					if idle == 0 {
						now = epoch // in debt
					}
					is := was
					is.Reserve(now, n)
					then := now.Add(time.Duration(passed * 1e9))
					is.Return(n)
					same(t, &is, &was, then)

					// In parts, and with another call that is not returned.
					is, was = r, r
					is.Reserve(epoch, 2)
					is.Reserve(epoch, n)
					is.Return(n / 2)
					is.Return(n - n/2)
					was.Reserve(epoch, 2)
					if n < math.MaxInt { // beside so many, float64 cannot tell the other 2
						same(t, &is, &was, then)
					}
				}
			}
		}
	}
}

// stored returns how many tokens are stored at now: how cold the limiter is, or
// how many tokens may go at once. It is zero if there is no limit.
func (r *Ramp) stored(now time.Time) float64 {
	a, c := r.account, r.curve()
	a.advance(now, &c)
	return a.left(&c) * c.max
}

// same checks that two Ramps are the same from now on.
func same(t *testing.T, got, want *Ramp, now time.Time) {
	t.Helper()
	for _, d := range []time.Duration{0, 1, time.Second / 3, 10 * time.Second, time.Hour} {
		at := now.Add(d)
		g, w := got.Next(at, 0), want.Next(at, 0)
		if !g.Equal(w) {
			t.Errorf("%v later: Next = %v, want %v", d, g.Sub(now), w.Sub(now))
		}
		if g, w := got.stored(at), want.stored(at); math.Abs(g-w) > 1e-9*(1+w) {
			t.Errorf("%v later: Stored = %v, want %v", d, g, w)
		}
	}
}

// TestRampReturnAnyOrder: within a debt, the cost of any reservation can be
// given back, whatever was reserved since.
func TestRampReturnAnyOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		is := Ramp{Rate: 5, WarmUp: time.Duration(rnd.IntN(3)) * 4 * time.Second}
		is.Reserve(epoch, 30)
		was := is
		var returns []int
		for range 10 {
			n := rnd.IntN(20)
			is.Reserve(epoch, n)
			if rnd.IntN(2) == 0 {
				was.Reserve(epoch, n)
			} else {
				returns = append(returns, n)
			}
		}
		rnd.Shuffle(len(returns), func(i, j int) { returns[i], returns[j] = returns[j], returns[i] })
		for _, n := range returns {
			is.Return(n)
		}
		if diff := cmp.Diff(was, is, cmp.AllowUnexported(Ramp{}, account{}, debt{})); diff != "" {
			t.Fatalf("not as if it had not been reserved (-want +got):\n%s", diff)
		}
	}
}

// TestRampReturnMintsNothing: tokens that were reserved before idle time cannot be
// given back.
func TestRampReturnMintsNothing(t *testing.T) {
	r := Ramp{Rate: 1, MaxBurst: -1}
	for i := range 10 {
		r.Reserve(after(float64(10*i)), 5)
	}
	r.Return(1000) // undoes the last five tokens only
	r.Return(1000)
	reserve(t, &r, []step{{90, 1, 90, 0}, {90, 1, 91, 0}})

	unused := Ramp{Rate: 1}
	unused.Return(5)
	if unused != (Ramp{Rate: 1}) {
		t.Errorf("Return changed a new Ramp to %+v", unused)
	}
}

// TestRampReturnAfterSetRate: debt at the old price is given back at that price.
func TestRampReturnAfterSetRate(t *testing.T) {
	for _, r := range []Ramp{{Rate: 2}, {Rate: 2, MaxBurst: 5 * time.Second}, {Rate: 2, WarmUp: 5 * time.Second}} {
		r.Reserve(epoch, 0)
		is, was, now := r, r, after(10)
		is.Reserve(now, 12)
		for _, rate := range []float64{20, 3, 4} { // for 3 and 4 there is a debt already
			is.SetRate(now, rate)
			was.SetRate(now, rate)
		}
		half := is
		is.Reserve(now, 3)
		is.Return(3 + 12)
		same(t, &is, &was, now)

		debt := half.Next(now, 0).Sub(now)
		half.Return(6)
		if got, want := half.Next(now, 0).Sub(now), debt/2; (got - want).Abs() > 1 {
			t.Errorf("%+v: half of the debt of %v given back left %v", r, debt, got)
		}
		half.Return(6)
		same(t, &half, &was, now)
	}
}

func TestRampSetRate(t *testing.T) {
	r := Ramp{Rate: 2, MaxBurst: 2 * time.Second}
	reserve(t, &r, []step{{0, 1, 0, 0}, {1.5, 0, 1.5, 2}, {1.5, 4, 1.5, 0}}) // 1 s of debt
	r.SetRate(after(1.5), 10)
	reserve(t, &r, []step{{1.5, 1, 2.5, 0}, {1.5, 1, 2.6, 0}, {3.7, 0, 3.7, 10}})
	r.SetRate(after(3.7), 1) // a store that is half full stays half full
	reserve(t, &r, []step{{3.7, 2, 3.7, 0}})
	r.SetRate(after(3.7), math.Inf(1)) // one fresh token is owed
	reserve(t, &r, []step{{3.7, 1000, 4.7, 0}, {4, 1000, 4.7, 0}, {9, 1000, 9, 0}, {9, 1, 9, 0}})
	r.SetRate(after(9), 4) // the store is full
	reserve(t, &r, []step{{9, 8, 9, 0}, {9, 1, 9, 0}, {9, 1, 9.25, 0}})

	r = Ramp{Rate: math.Inf(1), WarmUp: time.Second}
	r.SetRate(after(0), 2) // the limiter is warm
	reserve(t, &r, []step{{0, 1, 0, 0}, {0, 1, 0.5, 0}})
}

// TestRampGrantsNothing: a Rate that is not positive, or NaN, grants nothing.
func TestRampGrantsNothing(t *testing.T) {
	for _, rate := range []float64{0, -1, math.Inf(-1), math.NaN()} {
		r := Ramp{Rate: rate, WarmUp: time.Second}
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "Rate is ") {
			t.Errorf("rate %v: Validate() = %v", rate, err)
		}
		for _, at := range []time.Time{r.Reserve(epoch, 7), r.Next(epoch, 0), r.Next(epoch, 1)} {
			if at.Sub(epoch) != forever {
				t.Errorf("rate %v: goes in %v", rate, at.Sub(epoch))
			}
		}
		// Nothing was charged: as soon as there is a rate, a caller goes.
		r.SetRate(after(1), 2)
		reserve(t, &r, []step{{1, 1, 1, 1}}) // cold, with 2 stored
		r.SetRate(after(1), rate)
		r.Chill(after(1))
		if got := r.stored(after(1)); got != 0 {
			t.Errorf("rate %v: Stored = %v", rate, got)
		}
	}
}

func TestRampChill(t *testing.T) {
	r := Ramp{Rate: 2, WarmUp: 4 * time.Second}
	reserve(t, &r, []step{{0, 8, 0, 0}, {0, 1, 6, 0}})
	r.Chill(after(5)) // debt until 6.5
	reserve(t, &r, []step{{5, 1, 6.5, 7}, {5, 1, 6.5 + 1.375, 6}})
	r.Chill(after(50))
	reserve(t, &r, []step{{50, 1, 50, 7}})

	// The debt from before Chill can still be given back; the store stays cold.
	r = Ramp{Rate: 2, WarmUp: 4 * time.Second}
	reserve(t, &r, []step{{0, 8, 0, 0}})
	r.Chill(after(0))
	r.Return(4)
	reserve(t, &r, []step{{0, 1, 3, 7}})

	// Without a warm-up a push-back must not be answered with a burst.
	r = Ramp{Rate: 2}
	reserve(t, &r, []step{{0, 1, 0, 0}, {10, 1, 10, 1}})
	r.Chill(after(10))
	reserve(t, &r, []step{{10, 1, 10, 0}, {10, 1, 10.5, 0}})
}

func TestRampIdle(t *testing.T) {
	var steps []bool
	r := Ramp{Rate: 2, WarmUp: 4 * time.Second}
	look := func(s float64) { steps = append(steps, r.Idle(after(s))) }
	look(0) // new
	r.Reserve(after(0), 0)
	look(0)                // still cold
	r.Reserve(after(0), 4) // costs 4 s, and half of the store
	look(0)
	look(4)
	look(6 - 1e-9)
	look(6)
	r = Ramp{Rate: 2}
	look(0)
	r.Reserve(after(0), 1)
	look(0.5)
	look(1.5)
	r = Ramp{Rate: 2, MaxBurst: -1}
	r.Reserve(after(0), 1)
	look(0.5 - 1e-9)
	look(0.5)
	r = Ramp{Rate: math.Inf(1)}
	r.Reserve(after(0), 1)
	look(0)
	want := []bool{true, true, false, false, false, true, true, false, true, false, true, true}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("Idle (-want +got):\n%s", diff)
	}
}

// TestRampFullAccount: a limiter that is never idle does not run out of bits.
func TestRampFullAccount(t *testing.T) {
	r := Ramp{Rate: 1e17, MaxBurst: -1}
	const calls = 3 << 19 // 2^50 tokens, and half as many
	for range calls / 2 {
		r.Reserve(epoch, 1<<30)
		r.Reserve(epoch, 1<<30+1)
	}
	got := float64(r.Next(epoch, 0).Sub(epoch))
	if want := calls * (1<<30 + 0.5) / 1e8; math.Abs(got-want) > 2 {
		t.Errorf("took %v ns, want %v", got, want)
	}
	if r.taken >= fullAccount {
		t.Errorf("%v tokens in one account", r.taken)
	}
}

func TestRampClockBack(t *testing.T) {
	r := Ramp{Rate: 2}
	reserve(t, &r, []step{
		{10, 1, 10, 0},
		{5, 1, 10.5, 0},
		{0, 1, 11, 0}, // waits for longer, since its clock is behind; gains nothing
		{11.5, 1, 11.5, 0},
	})
}

func TestRampValidate(t *testing.T) {
	for _, tt := range []struct {
		ramp Ramp
		want string
	}{
		{Ramp{Rate: 1}, ""},
		{Ramp{Rate: math.Inf(1), WarmUp: -1, MaxBurst: -1, ColdFactor: 1}, ""},
		{Ramp{Rate: 5e-324, ColdFactor: 1e6}, ""},
		{Ramp{}, "warmup: Rate is 0, want a positive number of tokens per second"},
		{Ramp{Rate: math.NaN()}, "warmup: Rate is NaN, want a positive number of tokens per second"},
		{Ramp{Rate: 1, ColdFactor: 0.5}, "warmup: ColdFactor is 0.5, want 1 to 1e6, or 0 for 3"},
		{Ramp{Rate: 1, ColdFactor: math.Inf(1)}, "warmup: ColdFactor is +Inf, want 1 to 1e6, or 0 for 3"},
		{Ramp{Rate: 1, ColdFactor: math.NaN()}, "warmup: ColdFactor is NaN, want 1 to 1e6, or 0 for 3"},
	} {
		got := ""
		if err := tt.ramp.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Validate of %+v = %q, want %q", tt.ramp, got, tt.want)
		}
	}
}

// TestRampColdFactor: a factor below 1 counts as 1, with which a cold limiter is as
// fast as a warm one, and a factor above a million counts as a million.
func TestRampColdFactor(t *testing.T) {
	for _, f := range []float64{0.5, -3, math.Inf(-1), math.NaN(), 5e-324} {
		got, want := Ramp{Rate: 2, WarmUp: time.Second, ColdFactor: f}, Ramp{Rate: 2, WarmUp: time.Second, ColdFactor: 1}
		if got.curve() != want.curve() {
			t.Errorf("ColdFactor %v: %+v, want %+v", f, got.curve(), want.curve())
		}
	}
	got, want := Ramp{Rate: 2, WarmUp: time.Second, ColdFactor: math.Inf(1)}, Ramp{Rate: 2, WarmUp: time.Second, ColdFactor: 1e6}
	if got.curve() != want.curve() {
		t.Errorf("ColdFactor +Inf: %+v, want %+v", got.curve(), want.curve())
	}
}

func TestRampNegative(t *testing.T) {
	r := Ramp{Rate: 1}
	for name, call := range map[string]func(){
		"Reserve": func() { r.Reserve(epoch, -1) },
		"Next":    func() { r.Next(epoch, -1) },
		"Return":  func() { r.Return(-1) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "warmup: -1 tokens, want 0 or more" {
					t.Errorf("%s(-1) panicked with %v", name, got)
				}
			}()
			call()
		}()
	}
	if r != (Ramp{Rate: 1}) {
		t.Errorf("changed to %+v", r)
	}
}

func BenchmarkRampReserve(b *testing.B) {
	for name, r := range map[string]Ramp{
		"warming": {Rate: 1000, WarmUp: 10 * time.Second},
		"bursty":  {Rate: 1000},
	} {
		for mode, gap := range map[string]time.Duration{"debt": 0, "idle": 2 * time.Millisecond} {
			b.Run(name+"/"+mode, func(b *testing.B) {
				b.ReportAllocs()
				now := epoch
				for b.Loop() {
					now = now.Add(gap)
					r.Reserve(now, 1)
				}
			})
		}
	}
}

func BenchmarkRampNext(b *testing.B) {
	b.ReportAllocs()
	r := Ramp{Rate: 1000, WarmUp: 10 * time.Second}
	r.Reserve(epoch, 1)
	for b.Loop() {
		r.Next(epoch, 0)
	}
}

func BenchmarkRampNextBehind(b *testing.B) {
	b.ReportAllocs()
	r := Ramp{Rate: 1000, WarmUp: 10 * time.Second}
	r.Reserve(epoch, 1)
	for b.Loop() {
		r.Next(epoch, 10)
	}
}

// TestRampBusy: while a caller waits for something else, nothing is stored.
func TestRampBusy(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for _, test := range []struct {
		busy bool
		want time.Time // when a second one may go
	}{{true, at(1200)}, {false, at(1100)}} {
		r := Ramp{Rate: 10} // as a burst of 10 after a second of idling
		r.Reserve(at(0), 1)
		if test.busy {
			r.Busy(at(100), at(1100))
		}
		r.Reserve(at(1100), 1)
		if got := r.Next(at(1100), 0); !got.Equal(test.want) {
			t.Errorf("busy for a second: %v: the second one in %v, want %v", test.busy, got.Sub(start), test.want.Sub(start))
		}
	}
}

// TestRampChillKeepsNoStore: a burst that was taken away does not come back with tokens that were of it.
func TestRampChillKeepsNoStore(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	r := Ramp{Rate: 10}
	r.Reserve(at(0), 1)
	r.Reserve(at(1100), 5) // of 10 that are stored
	r.Chill(at(1100))
	r.Return(5)
	r.Reserve(at(1100), 1)
	if got := r.Next(at(1100), 0); !got.Equal(at(1200)) {
		t.Errorf("the next one in %v, want 1.2s: nothing is stored", got.Sub(start))
	}
}
