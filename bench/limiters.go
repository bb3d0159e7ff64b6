package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// XTimeAllow is the name of the decision with which the others are compared.
const XTimeAllow = "rate.Limiter Allow"

var errRefused = errors.New("bench: refused by a limit that never binds")

// Decision is a limiter that grants every token at once.
type Decision struct {
	Name  string
	Grant func() error // takes one token; several goroutines may call it
	Goal  float64      // what it is to cost at most, in multiples of XTimeAllow; zero if there is no goal
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
	quotas := quota.Quotas{{N: hugeRate, Burst: hugeBurst}}
	allow, wait := rate.NewLimiter(hugeRate, hugeBurst), rate.NewLimiter(hugeRate, hugeBurst)
	vast := &throttle.Limiter{Quotas: quota.Quotas{{N: slowRate, Burst: vastBurst}}}
	waits, empty := &throttle.Limiter{Quotas: quotas}, &throttle.Limiter{}
	one := &throttle.Limiter{Quotas: quotas}
	child := &throttle.Limiter{Quotas: quotas, Parent: &throttle.Limiter{Quotas: quotas}}
	learned, none := &throttle.Limiter{SlowStart: true}, throttle.Answer{}
	said := throttle.Answer{Statements: []quota.Statement{{
		Name: "core", Limit: 1 << 30, Remaining: 1 << 30, Reset: time.Hour, ResetKnown: true, Resolution: time.Second,
	}}}
	return []Decision{
		{XTimeAllow, func() error {
			if !allow.Allow() {
				return errRefused
			}
			return nil
		}, 0},
		{"rate.Limiter Wait", func() error { return wait.Wait(ctx) }, 0},
		{"throttle Wait", func() error { return waits.Wait(ctx, 1) }, 1.1},
		{"throttle Wait, not full again", func() error { return vast.Wait(ctx, 1) }, 0},
		{"throttle Acquire and Answered, no quota", func() error { return acquire(ctx, empty, none) }, 1.4},
		{"throttle Acquire and Answered", func() error { return acquire(ctx, one, none) }, 1.4},
		{"throttle Acquire and Answered, bucket and parent", func() error { return acquire(ctx, child, none) }, 0},
		{"throttle Acquire and Answered, a server's window", func() error { return acquire(ctx, learned, said) }, 0},
	}
}

// acquire makes the two calls of a request that gets an answer.
func acquire(ctx context.Context, l *throttle.Limiter, a throttle.Answer) error {
	g, err := l.Acquire(ctx, throttle.Claim{})
	if err != nil {
		return err
	}
	g.Answered(a)
	return nil
}
