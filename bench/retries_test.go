package bench

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	cenkalti4 "github.com/cenkalti/backoff/v4"
	cenkalti5 "github.com/cenkalti/backoff/v5"

	"github.com/gopacer/pacer/backoff"
)

func BenchmarkRetry(b *testing.B) {
	for _, r := range Retriers() {
		b.Run("success/"+r.Name, r.Success)
		b.Run("failures/"+r.Name, r.Failures)
		b.Run("delay/"+r.Name, r.Delay)
	}
}

// All Retriers do the same: they make three attempts and return the error of the last one.
func TestRetriersAreAlike(t *testing.T) {
	for _, r := range Retriers() {
		t.Run(r.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, do := range []func(context.Context, func() error) error{r.Do, r.DoAtOnce} {
					n := 0
					err := do(t.Context(), func() error { n++; return errFails })
					if n != attempts || !errors.Is(err, errFails) {
						t.Errorf("%d attempts, %v, want %d, %v", n, err, attempts, errFails)
					}
				}
				start := time.Now()
				if err := r.DoAtOnce(t.Context(), func() error { return errFails }); err == nil || time.Since(start) > time.Microsecond {
					t.Errorf("%v after %v, want no delay", err, time.Since(start))
				}
			})
		})
	}
}

// TestSequences: a Sequence of package backoff is a BackOff of both versions of cenkalti/backoff, and the other
// way round.
func TestSequences(t *testing.T) {
	for name, begin := range map[string]func() backoff.Sequence{
		"v4": func() backoff.Sequence { return newCenkalti4() },
		"v5": func() backoff.Sequence { return newCenkalti5() },
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := backoff.Do(t.Context(), func(context.Context) error {
				calls++
				return errFails
			}, &backoff.Options{NewSequence: begin})
			if !errors.Is(err, errFails) || calls != 3 {
				t.Errorf("%s: %d calls, %v", name, calls, err)
			}
		})
	}
	ours := backoff.SequenceOf(backoff.Constant{Jitter: backoff.NoJitter})
	if v4, v5 := cenkalti4.BackOff(ours).NextBackOff(), cenkalti5.BackOff(ours).NextBackOff(); v4 != time.Second || v5 != time.Second {
		t.Errorf("%v and %v, want a second", v4, v5)
	}
}

// TestMarks: the marks of cenkalti/backoff v4 are known, and those of v5 are not, as docs/migrating.md says.
func TestMarks(t *testing.T) {
	isFinal := func(err error) bool {
		var mark *cenkalti5.PermanentError
		return errors.As(err, &mark)
	}
	for name, test := range map[string]struct {
		err     error
		retryIf func(error) bool
		calls   int
		took    time.Duration
	}{
		"v4":             {cenkalti4.Permanent(errFails), nil, 1, 0},
		"v5":             {cenkalti5.Permanent(errFails), nil, 3, 2 * time.Second},
		"v5 and RetryIf": {cenkalti5.Permanent(errFails), func(err error) bool { return !isFinal(err) }, 1, 0},
		"v5, RetryAfter": {cenkalti5.RetryAfter(60), nil, 3, 2 * time.Second},
		"pacer's":        {backoff.Permanent(errFails), nil, 1, 0},
		"pacer's, After": {backoff.After(errFails, time.Minute), nil, 3, 2 * (time.Minute + time.Second)},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls, start := 0, time.Now()
			err := backoff.Do(t.Context(), func(context.Context) error {
				calls++
				return test.err
			}, &backoff.Options{Backoff: backoff.Constant{Jitter: backoff.NoJitter}, RetryIf: test.retryIf})
			if took := time.Since(start); calls != test.calls || took != test.took || !errors.Is(err, test.err) {
				t.Errorf("%s: %d calls in %v, %v, want %d in %v", name, calls, took, err, test.calls, test.took)
			}
		})
	}
}
