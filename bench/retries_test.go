package bench

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
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
