package throttle

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/gopacer/pacer/quota"
)

// plenty is a quota that never has to be waited for.
var plenty = quota.Quota{N: math.MaxInt32, Burst: math.MaxInt32}

// enoughLeft is an answer that leaves no doubt that more may go.
var enoughLeft = Answer{Statements: []quota.Statement{{
	Name: "core", Limit: 1 << 30, Remaining: 1 << 30, Reset: time.Hour, ResetKnown: true, Resolution: time.Second,
}}}

// kinds are limiters in which a grant need not wait, and the answer that ends it.
func kinds() []kind {
	return []kind{
		{"no quota", &Limiter{}, Answer{}},
		{"one quota", &Limiter{Quotas: quota.Quotas{plenty}}, Answer{}},
		{"two quotas", &Limiter{Quotas: quota.Quotas{plenty, {N: math.MaxInt32}}}, Answer{}},
		{"a parent", &Limiter{Quotas: quota.Quotas{plenty}, Parent: &Limiter{Quotas: quota.Quotas{plenty}}}, Answer{}},
		{"a server's window", &Limiter{SlowStart: true}, enoughLeft},
		{"a server's window and a quota", &Limiter{SlowStart: true, Quotas: quota.Quotas{plenty}}, enoughLeft},
	}
}

type kind struct {
	name   string
	l      *Limiter
	answer Answer
}

// learn lets the server say what it allows.
func (k kind) learn(tb testing.TB) {
	tb.Helper()
	if err := k.send(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// send is one request.
func (k kind) send(ctx context.Context) error {
	g, err := k.l.Acquire(ctx, Claim{})
	if err == nil {
		g.Answered(k.answer)
	}
	return err
}

// A grant that need not wait allocates nothing.
func TestGrantAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	for _, k := range kinds() {
		k.learn(t)
		if n := testing.AllocsPerRun(1000, func() {
			if err := k.send(ctx); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: Acquire and Answered make %v allocations, want 0", k.name, n)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if err := k.l.Wait(ctx, 1); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: Wait makes %v allocations, want 0", k.name, n)
		}
	}
}

func BenchmarkWait(b *testing.B) {
	for _, k := range kinds() {
		b.Run(k.name, func(b *testing.B) {
			k.learn(b)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if err := k.l.Wait(ctx, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("x/time", func(b *testing.B) {
		l := rate.NewLimiter(math.MaxInt32, math.MaxInt32)
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if err := l.Wait(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("x/time Allow", func(b *testing.B) {
		l := rate.NewLimiter(math.MaxInt32, math.MaxInt32)
		b.ReportAllocs()
		for b.Loop() {
			if !l.Allow() {
				b.Fatal("not allowed")
			}
		}
	})
}

func BenchmarkAcquireDone(b *testing.B) {
	for _, k := range kinds() {
		b.Run(k.name, func(b *testing.B) {
			k.learn(b)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if err := k.send(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAcquireDoneParallel(b *testing.B) {
	for _, k := range kinds() {
		b.Run(k.name, func(b *testing.B) {
			k.learn(b)
			ctx := b.Context()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := k.send(ctx); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
	b.Run("x/time Allow", func(b *testing.B) {
		l := rate.NewLimiter(math.MaxInt32, math.MaxInt32)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if !l.Allow() {
					b.Error("not allowed")
				}
			}
		})
	})
	b.Run("x/time Wait", func(b *testing.B) {
		l := rate.NewLimiter(math.MaxInt32, math.MaxInt32)
		ctx := b.Context()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := l.Wait(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// crowded is how many wait in the benchmarks of a long line.
const crowded = 10_000

// What it costs to join a line of 10 000 at its end, and to leave it.
func BenchmarkJoinAndLeaveALine(b *testing.B) {
	l := &Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}, MaxStandstill: Forever}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range crowded {
		_, w, err := l.Join(ctx, Claim{})
		if err != nil {
			b.Fatal(err)
		}
		if w != nil {
			wg.Go(func() { w.Wait(ctx) })
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		gone := make(chan struct{})
		_, w, err := l.Join(ctx, Claim{Cancel: gone})
		if err != nil {
			b.Fatal(err)
		}
		close(gone)
		w.Wait(ctx)
	}
	cancel()
	wg.Wait()
}

// What it costs to release each of a line of 10 000.
func BenchmarkReleaseALine(b *testing.B) {
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		l := &Limiter{}
		l.Pause(time.Hour)
		var wg sync.WaitGroup
		for range crowded {
			_, w, err := l.Join(ctx, Claim{})
			if err != nil {
				b.Fatal(err)
			}
			wg.Go(func() { w.Wait(ctx) })
		}
		l.Resume()
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/crowded, "ns/waiter")
}
