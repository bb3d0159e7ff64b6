package bench

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/throttle"
)

// XTimeAllow names the decision that the others are compared with.
const XTimeAllow = "rate.Limiter Allow"

var errRefused = errors.New("bench: refused by a limit that never binds")

// Decision is a limiter that grants at once. Grant may be called by several
// goroutines.
type Decision struct {
	Name  string
	Grant func() error
}

// Run measures decisions, one after another.
func (d Decision) Run(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Grant(); err != nil {
			b.Fatal(err)
		}
	}
}

// Decisions returns the limiters that are compared.
func Decisions() []Decision {
	ctx := context.Background()
	quotas := throttle.Quotas{{N: hugeRate, Burst: hugeBurst}}
	allow, wait := rate.NewLimiter(hugeRate, hugeBurst), rate.NewLimiter(hugeRate, hugeBurst)
	waits, empty := &throttle.Limiter{Quotas: quotas}, &throttle.Limiter{}
	one := &throttle.Limiter{Quotas: quotas}
	child := &throttle.Limiter{Quotas: quotas, Parent: &throttle.Limiter{Quotas: quotas}}
	return []Decision{
		{XTimeAllow, func() error {
			if !allow.Allow() {
				return errRefused
			}
			return nil
		}},
		{"rate.Limiter Wait", func() error { return wait.Wait(ctx) }},
		{"throttle Wait", func() error { return waits.Wait(ctx, 1) }},
		{"throttle Acquire and Done, no quota", func() error { return acquire(ctx, empty) }},
		{"throttle Acquire and Done", func() error { return acquire(ctx, one) }},
		{"throttle Acquire and Done, bucket and parent", func() error { return acquire(ctx, child) }},
	}
}

func acquire(ctx context.Context, l *throttle.Limiter) error {
	g, err := l.Acquire(ctx, throttle.Claim{})
	if err != nil {
		return err
	}
	g.Done(throttle.Answer{})
	return nil
}
