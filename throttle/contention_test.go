package throttle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// delta says the reset as a delay in whole seconds, rounded up, and the same in
// Retry-After: what most middlewares do.
func delta(v pacertest.Verdict, _, _ time.Time) throttle.Answer {
	a := throttle.Answer{Statements: []quota.Statement{{
		Limit: int64(v.Limit), Remaining: int64(v.Remaining), Reset: ceiled.of(v.Reset), ResetKnown: true, Resolution: time.Second,
	}}}
	if !v.OK {
		a.Hold = &quota.Hold{For: ceiled.of(v.RetryAfter)}
	}
	return a
}

// epoch says the reset as an instant in whole seconds beside a Date, and hints at a
// constant delay, or at none if hint is zero.
func epoch(r rounding, hint time.Duration) speech {
	return func(v pacertest.Verdict, written, sent time.Time) throttle.Answer {
		date := written.Truncate(time.Second)
		reset := r.of(written.Add(v.Reset).Sub(date)) // from one whole second to another
		st := quota.Statement{Limit: int64(v.Limit), Remaining: int64(v.Remaining)}
		if reset > 0 || v.Remaining == 0 {
			st.Reset, st.ResetKnown, st.Resolution = reset, true, time.Second
			st.Absolute, st.Skew = true, sent.Sub(date)
		}
		a := throttle.Answer{Statements: []quota.Statement{st}}
		if !v.OK && hint > 0 {
			a.Hold = &quota.Hold{For: hint}
		}
		return a
	}
}

// constant says that a limit, which is a rate, is reset in a second, whatever is left.
func constant(limit int) speech {
	return func(v pacertest.Verdict, _, _ time.Time) throttle.Answer {
		return throttle.Answer{Statements: []quota.Statement{{
			Limit: int64(limit), Remaining: int64(v.Remaining), Reset: time.Second, ResetKnown: true, Resolution: time.Second,
		}}}
	}
}

// silent says nothing at all.
func silent(pacertest.Verdict, time.Time, time.Time) (a throttle.Answer) { return a }

// bound is how much more than the least a batch may take in the mean over all phases, and
// how often it may be refused, per 100 requests.
type bound struct{ ratio, refused float64 }

// speakers are ways of counting and of speaking about it that are in use together. Most
// announce more than the truth, or less.
var speakers = []struct {
	name       string
	algorithm  pacertest.Algorithm
	speech     speech
	one, three bound // processes
}{
	{"fixed 50/2s, epoch floored", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, epoch(floored, 0), bound{1.02, 1.5}, bound{1.16, 12}},
	{"fixed 100/10s, epoch floored", &pacertest.FixedWindow{Limit: 100, Window: 10 * time.Second}, epoch(floored, 0), bound{1.02, 1.5}, bound{1.09, 8}},
	{"fixed 50/2s, epoch ceiled", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, epoch(ceiled, 2*time.Second), bound{1.02, 1}, bound{1.19, 7}},
	{"fixed 50/2s, delta", &pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, delta, bound{1.02, 0.5}, bound{1.14, 10}},
	{"estimate 50/2s, epoch floored", &pacertest.EstimatedWindow{Limit: 50, Window: 2 * time.Second, Phase: 900 * time.Millisecond}, epoch(floored, 2*time.Second), bound{1.12, 2}, bound{1.46, 18}}, // its hint, the whole window, is obeyed
	{"estimate 100/10s, epoch floored", &pacertest.EstimatedWindow{Limit: 100, Window: 10 * time.Second, Phase: 900 * time.Millisecond}, epoch(floored, 10*time.Second), bound{1.20, 1.5}, bound{1.46, 10}},
	{"GCRA 20/s of 10, delta", &pacertest.GCRA{Rate: 20, Burst: 10}, delta, bound{1.02, 0.5}, bound{1.81, 27}},
	{"bucket 20/s of 10, constant", &pacertest.TokenBucket{Rate: 20, Burst: 10}, constant(20), bound{1.02, 0.5}, bound{1.41, 24}},
	{"bucket 20/s of 10, silent", &pacertest.TokenBucket{Rate: 20, Burst: 10}, silent, bound{1.06, 7}, bound{1.46, 22}},
}

// TestContention holds what is promised of servers whose words do not mean what they
// seem to, at every phase of the second, to one process and to three that do not know
// of each other.
func TestContention(t *testing.T) {
	const phases = 10
	for _, s := range speakers {
		for processes, want := range map[int]bound{1: s.one, 3: s.three} {
			t.Run(fmt.Sprintf("%s/%d", s.name, processes), func(t *testing.T) {
				var got bound
				for i := range phases {
					r := simulation{
						algorithm: s.algorithm, speech: s.speech, requests: 300, callers: 16, processes: processes,
						phase: time.Duration(i) * 197 * time.Millisecond, latency: 8 * time.Millisecond,
					}.run(t)
					got.ratio += r.ratio() / phases
					got.refused += float64(r.refused) / 3 / phases
				}
				t.Logf("%.3f of the least, %.1f of 100 refused", got.ratio, got.refused)
				if got.ratio > want.ratio || got.refused > want.refused {
					t.Errorf("%.3f of the least, %.1f of 100 refused; want at most %v", got.ratio, got.refused, want)
				}
			})
		}
	}
}
