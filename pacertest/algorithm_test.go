package pacertest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gopacer/pacer/pacertest"
)

// taken is a request that counts against the quota.
type taken struct {
	at time.Time
	n  int
}

// model reports, by the definition of an algorithm, whether n tokens are admitted at now
// after history.
type model struct {
	algorithm    pacertest.Algorithm
	admits       func(history []taken, now time.Time, n int) bool
	countRefused bool
}

// share returns the greatest n that the model admits.
func (m model) share(history []taken, now time.Time, limit int) int {
	n := 0
	for n < limit && m.admits(history, now, n+1) {
		n++
	}
	return n
}

// models are the algorithms with their definitions. The numbers are small, windows of
// some nanoseconds, so that brute force is possible.
func models() []model {
	fixed := func(limit int, window time.Duration) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			var start time.Time
			used := 0
			for _, h := range history {
				if used == 0 || h.at.Sub(start) >= window {
					start, used = h.at, 0
				}
				used += h.n
			}
			if used == 0 || now.Sub(start) >= window {
				used = 0
			}
			return used+n <= limit
		}
	}
	clock := func(limit int, window, phase time.Duration) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			for _, h := range history {
				if h.at.Add(-phase).UnixNano()/int64(window) == now.Add(-phase).UnixNano()/int64(window) {
					n += h.n
				}
			}
			return n <= limit
		}
	}
	sliding := func(limit int, window, cell time.Duration) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			for _, h := range history {
				if now.Sub(h.at.Truncate(cell)) < window {
					n += h.n
				}
			}
			return n <= limit
		}
	}
	estimate := func(limit int, window time.Duration) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			cell := now.UnixNano() / int64(window)
			var previous, current float64
			for _, h := range history {
				switch h.at.UnixNano() / int64(window) {
				case cell:
					current += float64(h.n)
				case cell - 1:
					previous += float64(h.n)
				}
			}
			// As go-chi/httprate writes it.
			rate := previous*(float64(window)-float64(now.UnixNano()%int64(window)))/float64(window) + current
			return int(math.Round(rate))+n <= limit
		}
	}
	// A bucket: no span may see more tokens than flow into the bucket in that span and
	// its size together. Ns is the time of a token in nanoseconds.
	bucket := func(size int, ns int64) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			if n > size {
				return false
			}
			for i := len(history) - 1; i >= 0; i-- {
				n += history[i].n
				if int64(n-size)*ns > now.Sub(history[i].at).Nanoseconds() {
					return false
				}
			}
			return true
		}
	}
	// GCRA as throttled writes it: a theoretical arrival time.
	gcra := func(burst int, interval time.Duration) func([]taken, time.Time, int) bool {
		return func(history []taken, now time.Time, n int) bool {
			var tat time.Time
			arrive := func(at time.Time, n int) {
				if at.After(tat) {
					tat = at
				}
				tat = tat.Add(time.Duration(n) * interval)
			}
			for _, h := range history {
				arrive(h.at, h.n)
			}
			arrive(now, n)
			return tat.Sub(now) <= time.Duration(burst)*interval
		}
	}
	return []model{
		{algorithm: &pacertest.FixedWindow{Limit: 3, Window: 7}, admits: fixed(3, 7)},
		{algorithm: &pacertest.ClockWindow{Limit: 3, Window: 7}, admits: clock(3, 7, 0)},
		{algorithm: &pacertest.ClockWindow{Limit: 3, Window: 7, Phase: 2}, admits: clock(3, 7, 2)},
		{algorithm: &pacertest.ClockWindow{Limit: 3, Window: 7, Phase: math.MinInt64}, admits: clock(3, 7, math.MinInt64%7)},
		{algorithm: &pacertest.EstimatedWindow{Limit: 4, Window: 8}, admits: estimate(4, 8)},
		{algorithm: &pacertest.EstimatedWindow{Limit: 3, Window: 7}, admits: estimate(3, 7)},
		{algorithm: &pacertest.EstimatedWindow{Limit: 3, Window: 7, CountRefused: true}, admits: estimate(3, 7), countRefused: true},
		{algorithm: &pacertest.SlidingLog{Limit: 3, Window: 7}, admits: sliding(3, 7, 1)},
		{algorithm: &pacertest.SlidingWindow{Limit: 3, Window: 8, Cells: 4}, admits: sliding(3, 8, 2)},
		{algorithm: &pacertest.SlidingWindow{Limit: 3, Window: 8, Cells: 1}, admits: clock(3, 8, 0)},
		{algorithm: &pacertest.SlidingLog{Limit: 3, Window: 7, CountRefused: true}, admits: sliding(3, 7, 1), countRefused: true},
		{algorithm: &pacertest.TokenBucket{Rate: 1e9 / 4, Burst: 3}, admits: bucket(3, 4)},
		{algorithm: &pacertest.GCRA{Rate: 1e9 / 4, Burst: 3}, admits: bucket(3, 4)},
		{algorithm: &pacertest.GCRA{Rate: 1e9 / 4.9, Burst: 3}, admits: gcra(3, 4)},
		{algorithm: &pacertest.GCRA{Rate: 1e9 / 5}, admits: gcra(1, 5)},
		{algorithm: &pacertest.LeakyBucket{Rate: 1e9 / 4, Depth: 3}, admits: bucket(3, 4)},
	}
}

func name(a pacertest.Algorithm) string { return fmt.Sprintf("%T", a) }

// On random histories, each verdict is what the definition says: neither more nor less
// is admitted, Remaining is the most that would be admitted, and RetryAfter is the first
// instant at which the request is not refused.
func TestAlgorithmsAgainstDefinition(t *testing.T) {
	for i, m := range models() {
		t.Run(name(m.algorithm), func(t *testing.T) {
			for seed := range uint64(60) {
				rnd := rand.New(rand.NewPCG(uint64(i), seed))
				a := m.algorithm.Fresh()
				now := time.Unix(1795249032, int64(rnd.IntN(20)))
				var history []taken
				for range 60 {
					now = now.Add(time.Duration(rnd.ExpFloat64() * 3))
					n := rnd.IntN(4)
					if m.countRefused {
						n = min(n, 1)
					}
					want := n == 0 || m.admits(history, now, n)
					v := a.Take(now, n)
					if v.OK != want {
						t.Fatalf("Take(%d) after %v = %v, want %v", n, history, v.OK, want)
					}
					if n > 0 && (v.OK || m.countRefused) {
						history = append(history, taken{now, n})
					}
					if want := m.share(history, now, v.Limit); v.Remaining != want {
						t.Fatalf("Remaining after %v at %d = %d, want %d", history, now.Nanosecond(), v.Remaining, want)
					}
					var wait time.Duration
					switch {
					case n > v.Limit:
						wait = pacertest.Never
					case n > 0:
						for !m.admits(history, now.Add(wait), n) {
							wait++
						}
					}
					if v.RetryAfter != wait {
						t.Fatalf("RetryAfter of %d after %v at %d = %d, want %d", n, history, now.Nanosecond(), v.RetryAfter, wait)
					}
				}
			}
		})
	}
}

func TestAlgorithmFreshIsUnused(t *testing.T) {
	now := time.Unix(1795249032, 0)
	for _, m := range models() {
		want := m.algorithm.Fresh().Take(now, 1)
		used := m.algorithm.Fresh()
		for range 10 {
			used.Take(now, 1)
		}
		if diff := cmp.Diff(want, used.Fresh().Take(now, 1)); diff != "" {
			t.Errorf("%T: first verdict (-new +fresh):\n%s", used, diff)
		}
	}
}

// step is one request and the verdict on it, at a time in seconds.
type step struct {
	at   float64
	n    int
	want pacertest.Verdict
}

func run(t *testing.T, a pacertest.Algorithm, steps []step) {
	t.Helper()
	start := time.Unix(1795249200, 0) // a whole minute
	for _, s := range steps {
		got := a.Take(start.Add(seconds(s.at)), s.n)
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("Take(%v) at %vs (-want +got):\n%s", s.n, s.at, diff)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

func TestFixedWindowTimetable(t *testing.T) {
	const w = 10 * time.Second
	run(t, &pacertest.FixedWindow{Limit: 2, Window: w}, []step{
		{3, 0, pacertest.Verdict{OK: true, Limit: 2, Remaining: 2, Reset: w, Window: w}}, // starts no window
		{4, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 1, Reset: w, Window: w}},
		{6, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 0, Reset: 8 * time.Second, RetryAfter: 8 * time.Second, Window: w}},
		{7, 1, pacertest.Verdict{Limit: 2, Reset: 7 * time.Second, RetryAfter: 7 * time.Second, Window: w}},
		{7, 3, pacertest.Verdict{Limit: 2, Reset: 7 * time.Second, RetryAfter: pacertest.Never, Window: w}},
		{14, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 1, Reset: w, Window: w}},
	})
	run(t, &pacertest.ClockWindow{Limit: 2, Window: w}, []step{
		{9, 2, pacertest.Verdict{OK: true, Limit: 2, Reset: time.Second, RetryAfter: time.Second, Window: w}},
		{10, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 1, Reset: w, Window: w}},
	})
}

// Windows start at multiples since 1970, as those of quota.ClockWindow: those of a week
// on Thursdays, whatever the zone of the server is.
func TestClockWindowSince1970(t *testing.T) {
	for _, tt := range []struct {
		now    time.Time
		window time.Duration
		want   time.Duration
	}{
		{time.Date(2026, 11, 21, 8, 17, 30, 0, time.UTC), time.Minute, 30 * time.Second},
		{time.Date(2026, 11, 21, 8, 17, 30, 0, time.FixedZone("IST", 19800)), time.Hour, 12*time.Minute + 30*time.Second},
		{time.Date(2026, 11, 25, 23, 0, 0, 0, time.UTC), 7 * 24 * time.Hour, time.Hour}, // a Wednesday
		{time.Unix(7000, 0), 7 * time.Second, 7 * time.Second},
		{time.Unix(-1, 0), 7 * time.Second, time.Second},
		{time.Time{}, 24 * time.Hour, 24 * time.Hour},
	} {
		for _, a := range []pacertest.Algorithm{
			&pacertest.ClockWindow{Limit: 1, Window: tt.window},
			&pacertest.EstimatedWindow{Limit: 1, Window: tt.window},
			&pacertest.SlidingWindow{Limit: 1, Window: tt.window, Cells: 1},
		} {
			if got := a.Take(tt.now, 1).Reset; got != tt.want {
				t.Errorf("%T of %v at %v: ends in %v, want %v", a, tt.window, tt.now, got, tt.want)
			}
		}
	}
}

func TestEstimatedWindowTimetable(t *testing.T) {
	const w = 10 * time.Second
	// After a full window, 4·(1 − x) + 1 is rounded to 4 or less from just after x = 1/8
	// on: it is below 4 + 1/2 then.
	run(t, &pacertest.EstimatedWindow{Limit: 4, Window: w}, []step{
		{9, 4, pacertest.Verdict{OK: true, Limit: 4, Reset: time.Second, RetryAfter: 9750*time.Millisecond + 1, Window: w}}, // all 4 again
		{11, 1, pacertest.Verdict{Limit: 4, Reset: 9 * time.Second, RetryAfter: 250*time.Millisecond + 1, Window: w}},
		{11.25, 1, pacertest.Verdict{Limit: 4, Reset: 8750 * time.Millisecond, RetryAfter: 1, Window: w}},
		{11.250000001, 1, pacertest.Verdict{OK: true, Limit: 4, Reset: 8750*time.Millisecond - 1, RetryAfter: 2500 * time.Millisecond, Window: w}},
	})
}

func TestSlidingWindowTimetable(t *testing.T) {
	const w = 10 * time.Second
	run(t, &pacertest.SlidingWindow{Limit: 2, Window: w, Cells: 5}, []step{
		{0, 0, pacertest.Verdict{OK: true, Limit: 2, Remaining: 2, Window: w}},
		{1, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 1, Reset: 9 * time.Second, Window: w}}, // counts from 0s on
		{3, 1, pacertest.Verdict{OK: true, Limit: 2, Reset: 7 * time.Second, RetryAfter: 7 * time.Second, Window: w}},
		{9, 2, pacertest.Verdict{Limit: 2, Reset: time.Second, RetryAfter: 3 * time.Second, Window: w}},
		{10, 2, pacertest.Verdict{Limit: 2, Remaining: 1, Reset: 2 * time.Second, RetryAfter: 2 * time.Second, Window: w}},
		{12, 2, pacertest.Verdict{OK: true, Limit: 2, Reset: w, RetryAfter: w, Window: w}},
	})
}

// Without a number of cells there are 10, and no cell is shorter than a nanosecond.
func TestSlidingWindowCells(t *testing.T) {
	for _, tt := range []struct {
		window time.Duration
		cells  int
		cell   time.Duration
	}{
		{10 * time.Second, 0, time.Second},
		{10 * time.Second, -1, time.Second},
		{10 * time.Second, 1, 10 * time.Second},
		{10 * time.Second, 4, 2500 * time.Millisecond},
		{7, 10, 1},
	} {
		// A token of the last nanosecond of a cell counts from the cell's start.
		a := &pacertest.SlidingWindow{Limit: 1, Window: tt.window, Cells: tt.cells}
		end := time.Unix(1795249200, 0).Add(tt.cell - 1)
		if got, want := a.Take(end, 1).RetryAfter, tt.window-(tt.cell-1); got != want {
			t.Errorf("%d cells of %v: back after %v, want %v", tt.cells, tt.window, got, want)
		}
	}
}

func TestSlidingLogTimetable(t *testing.T) {
	const w = 10 * time.Second
	run(t, &pacertest.SlidingLog{Limit: 2, Window: w}, []step{
		{0, 0, pacertest.Verdict{OK: true, Limit: 2, Remaining: 2, Window: w}},
		{1, 1, pacertest.Verdict{OK: true, Limit: 2, Remaining: 1, Reset: w, Window: w}},
		{4, 1, pacertest.Verdict{OK: true, Limit: 2, Reset: 7 * time.Second, RetryAfter: 7 * time.Second, Window: w}},
		{5, 2, pacertest.Verdict{Limit: 2, Reset: 6 * time.Second, RetryAfter: 9 * time.Second, Window: w}},
		{11, 1, pacertest.Verdict{OK: true, Limit: 2, Reset: 3 * time.Second, RetryAfter: 3 * time.Second, Window: w}},
	})
}

// A client that asks every second is never admitted again; a client that waits is.
func TestSlidingLogCountRefused(t *testing.T) {
	a := &pacertest.SlidingLog{Limit: 2, Window: 10 * time.Second, CountRefused: true}
	now := time.Unix(1795249200, 0)
	a.Take(now, 2)
	for range 1000 {
		now = now.Add(time.Second)
		if v := a.Take(now, 1); v.OK || v.RetryAfter != 9*time.Second && now.Unix() > 1795249201 {
			t.Fatalf("Take = %+v, want a refusal for 9s", v)
		}
	}
	if v := a.Take(now.Add(9*time.Second-1), 0); v.Remaining != 0 {
		t.Errorf("Remaining just before RetryAfter = %d, want 0", v.Remaining)
	}
	if v := a.Take(now.Add(9*time.Second), 1); !v.OK {
		t.Errorf("Take at RetryAfter = %+v, want it admitted", v)
	}
}

func TestBucketTimetable(t *testing.T) {
	const full = 500 * time.Millisecond // 10 tokens at 20/s
	steps := []step{
		{0, 1, pacertest.Verdict{OK: true, Limit: 10, Remaining: 9, Reset: 50 * time.Millisecond, Window: full}},
		{0, 9, pacertest.Verdict{OK: true, Limit: 10, Reset: full, RetryAfter: 450 * time.Millisecond, Window: full}},
		{0.02, 1, pacertest.Verdict{Limit: 10, Reset: 480 * time.Millisecond, RetryAfter: 30 * time.Millisecond, Window: full}},
		{0.05, 1, pacertest.Verdict{OK: true, Limit: 10, Reset: full, RetryAfter: 50 * time.Millisecond, Window: full}},
		{9, 11, pacertest.Verdict{Limit: 10, Remaining: 10, RetryAfter: pacertest.Never, Window: full}},
	}
	for _, a := range []pacertest.Algorithm{
		&pacertest.TokenBucket{Rate: 20, Burst: 10},
		&pacertest.GCRA{Rate: 20, Burst: 10},
		&pacertest.LeakyBucket{Rate: 20, Depth: 10},
	} {
		t.Run(name(a), func(t *testing.T) { run(t, a, steps) })
	}
}

func TestLeakyBucketQueue(t *testing.T) {
	a := &pacertest.LeakyBucket{Rate: 20, Depth: 3, Queue: true}
	now := time.Unix(1795249200, 0)
	for i, want := range []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond} {
		if v := a.Take(now, 1); !v.OK || v.Delay != want {
			t.Errorf("request %d: %+v, want it held for %v", i, v, want)
		}
	}
	if v := a.Take(now, 1); v.OK || v.Delay != 0 {
		t.Errorf("request over the depth: %+v, want it refused at once", v)
	}
}

// Rounding to whole nanoseconds does not add up over many requests, at a rate whose
// interval is no whole number of nanoseconds.
func TestTokenBucketNoDrift(t *testing.T) {
	if got := pacertest.Least(nil, time.Time{}, 9); got != 0 {
		t.Errorf("without an Algorithm: Least = %v, want 0", got)
	}
	if got, want := pacertest.Least(&pacertest.TokenBucket{Rate: 3, Burst: 2}, time.Time{}, 3e5+2), 100_000*time.Second; got != want {
		t.Errorf("300000 requests at 3/s took %v, want %v", got, want)
	}
	// throttled's interval is 333333333 ns.
	if got, want := pacertest.Least(&pacertest.GCRA{Rate: 3}, time.Time{}, 3e5+1), 300_000*333_333_333*time.Nanosecond; got != want {
		t.Errorf("300000 requests at 3/s took %v, want %v", got, want)
	}
}

// Rates are often a number of tokens a minute, which float64 does not hold exactly.
// Times are exact all the same.
func TestBucketRatePerMinute(t *testing.T) {
	for n := 1; n <= 60_000; n++ {
		a := &pacertest.TokenBucket{Rate: float64(n) / 60, Burst: n}
		if got := a.Take(time.Unix(0, 0), n).Reset; got != time.Minute {
			t.Errorf("%d at %d/min: full after %v, want a minute", n, n, got)
		}
		if time.Minute%time.Duration(n) != 0 {
			continue
		}
		rate, want := float64(n)/60, time.Minute/time.Duration(n)
		for _, a := range []pacertest.Algorithm{&pacertest.TokenBucket{Rate: rate}, &pacertest.GCRA{Rate: rate}} {
			if got := a.Take(time.Unix(0, 0), 1).RetryAfter; got != want {
				t.Errorf("%T at %d/min: %v between requests, want %v", a, n, got, want)
			}
		}
	}
}

func TestAlgorithmsOddSettings(t *testing.T) {
	now := time.Unix(1795249200, 0)
	for _, a := range []pacertest.Algorithm{
		&pacertest.FixedWindow{}, &pacertest.ClockWindow{}, &pacertest.EstimatedWindow{}, &pacertest.SlidingWindow{}, &pacertest.SlidingLog{},
		&pacertest.FixedWindow{Limit: -1, Window: -1}, &pacertest.ClockWindow{Limit: -1, Window: -1}, &pacertest.EstimatedWindow{Limit: -1, Window: -1, CountRefused: true},
		&pacertest.SlidingLog{Limit: -1, Window: -1, CountRefused: true}, &pacertest.SlidingWindow{Limit: -1, Window: -1, Cells: -1, CountRefused: true},
	} {
		for range 3 {
			v := a.Take(now, 1)
			v.Reset = 0
			want := pacertest.Verdict{Limit: v.Limit, RetryAfter: pacertest.Never, Window: time.Second}
			if diff := cmp.Diff(want, v); diff != "" {
				t.Errorf("%#v without a limit (-want +got):\n%s", a, diff)
			}
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(-1), 1e-300} {
		for _, a := range []pacertest.Algorithm{
			&pacertest.TokenBucket{Rate: rate}, &pacertest.GCRA{Rate: rate}, &pacertest.LeakyBucket{Rate: rate, Queue: true},
		} {
			want := pacertest.Verdict{OK: true, Limit: 1, Reset: pacertest.Never, RetryAfter: pacertest.Never, Window: pacertest.Never}
			if diff := cmp.Diff(want, a.Take(now, 1)); diff != "" {
				t.Errorf("%#v, first (-want +got):\n%s", a, diff)
			}
			want.OK = false
			if diff := cmp.Diff(want, a.Take(now.Add(1e6*time.Hour), 1)); diff != "" {
				t.Errorf("%#v, later (-want +got):\n%s", a, diff)
			}
		}
	}
	for _, rate := range []float64{math.Inf(1), 1e300} {
		a := &pacertest.TokenBucket{Rate: rate, Burst: math.MaxInt}
		if v := a.Take(now, math.MaxInt); !v.OK || !a.Take(now.Add(time.Nanosecond), 1<<30).OK {
			t.Errorf("%#v refused", a)
		}
	}
}

// A rate without bound never refuses what the bucket holds, and holds nothing in a Queue.
func TestBucketRateWithoutBound(t *testing.T) {
	now := time.Unix(1795249032, 0)
	for _, a := range []pacertest.Algorithm{
		&pacertest.TokenBucket{Rate: math.Inf(1), Burst: 3},
		&pacertest.GCRA{Rate: math.Inf(1), Burst: 3},
		&pacertest.GCRA{Rate: 1e9 + 1, Burst: 3},
		&pacertest.LeakyBucket{Rate: math.Inf(1), Depth: 3, Queue: true},
	} {
		for n := range 5 {
			want := pacertest.Verdict{OK: n <= 3, Limit: 3, Remaining: 3}
			if n > 3 {
				want.RetryAfter = pacertest.Never
			}
			if got := a.Take(now, n); got != want {
				t.Errorf("%T: Take(%d) = %+v, want %+v", a, n, got, want)
			}
		}
	}
}

func TestAlgorithmNegativeCostPanics(t *testing.T) {
	for _, m := range models() {
		func() {
			defer func() {
				if got := recover(); got != "pacertest: a cost of -1, want 0 or more" {
					t.Errorf("%T: Take(-1) panicked with %v", m.algorithm, got)
				}
			}()
			m.algorithm.Fresh().Take(time.Unix(0, 0), -1)
		}()
	}
}

func FuzzAlgorithms(f *testing.F) {
	f.Add(20.0, 10, int64(time.Second), int64(time.Millisecond), 1)
	f.Add(1e-9, math.MaxInt, int64(math.MaxInt64), int64(math.MaxInt64), math.MaxInt)
	f.Add(3e9, 3, int64(7), int64(2), 3)
	f.Fuzz(func(t *testing.T, rate float64, limit int, window, step int64, n int) {
		w, n := time.Duration(window), max(0, n)
		for _, a := range []pacertest.Algorithm{
			&pacertest.FixedWindow{Limit: limit, Window: w},
			&pacertest.ClockWindow{Limit: limit, Window: w},
			&pacertest.EstimatedWindow{Limit: limit, Window: w},
			&pacertest.SlidingLog{Limit: limit, Window: w},
			&pacertest.SlidingWindow{Limit: limit, Window: w},
			&pacertest.TokenBucket{Rate: rate, Burst: limit},
			&pacertest.GCRA{Rate: rate, Burst: limit},
		} {
			now := time.Unix(1795249200, 0)
			for range 20 {
				v := a.Take(now, n)
				if v.Remaining < 0 || v.Remaining > max(0, v.Limit) || v.Reset < 0 || v.RetryAfter < 0 {
					t.Fatalf("%#v: %+v", a, v)
				}
				if v.RetryAfter < pacertest.Never && v.RetryAfter > 0 && v.RetryAfter < 1<<55 {
					now = now.Add(v.RetryAfter)
					if v := a.Take(now, n); !v.OK {
						t.Fatalf("%#v at RetryAfter: %+v", a, v)
					}
				}
				now = now.Add(time.Duration(max(0, step) >> 8))
			}
		}
	})
}

// Every algorithm of the package has a definition by which it is tested, and a line in the documentation of
// Algorithm.
func TestAlgorithmsHaveModels(t *testing.T) {
	defined := map[string]bool{}
	for _, m := range models() {
		defined[strings.TrimPrefix(name(m.algorithm), "*pacertest.")] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("algorithm.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w+ \*?([A-Z]\w+)\) Take\(`).FindAllSubmatch(text, -1) {
			found++
			algorithm := string(m[1])
			if !defined[algorithm] {
				t.Errorf("%s (%s) has no model: write its definition by brute force in models (algorithm_test.go)", algorithm, file)
			}
			if !strings.Contains(string(doc), "\n//\t"+algorithm+" ") {
				t.Errorf("the documentation of Algorithm (algorithm.go) has no line for %s", algorithm)
			}
		}
	}
	if found != len(defined) {
		t.Errorf("models has %d algorithms, the package %d", len(defined), found)
	}
}
