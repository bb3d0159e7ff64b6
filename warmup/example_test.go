package warmup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gopacer/pacer/warmup"
)

// The warm-up curve of 2 tokens a second: a cold limiter starts at a third of that
// rate, and reaches the full rate after four seconds of load.
func ExampleRamp() {
	ramp := warmup.Ramp{Rate: 2, WarmUp: 4 * time.Second}
	start := time.Now()
	now := start
	for range 8 {
		at := ramp.Reserve(now, 1)
		interval := ramp.Next(now).Sub(at)
		fmt.Printf("%-6v next in %-6v %s\n", at.Sub(start), interval, strings.Repeat("*", int(interval/(50*time.Millisecond))))
		now = at.Add(interval)
	}
	// Output:
	// 0s     next in 1.375s ***************************
	// 1.375s next in 1.125s **********************
	// 2.5s   next in 875ms  *****************
	// 3.375s next in 625ms  ************
	// 4s     next in 500ms  **********
	// 4.5s   next in 500ms  **********
	// 5s     next in 500ms  **********
	// 5.5s   next in 500ms  **********
}

// A queue asks when a caller in the middle of it will go.
func ExampleRamp_After() {
	ramp := warmup.Ramp{Rate: 10, MaxBurst: -1}
	now := time.Now()
	ramp.Reserve(now, 1)
	for _, ahead := range []int{0, 1, 25} {
		fmt.Println(ahead, "ahead:", ramp.After(now, ahead).Sub(now))
	}
	// Output:
	// 0 ahead: 100ms
	// 1 ahead: 200ms
	// 25 ahead: 2.6s
}

// A request that reserved tokens and was not sent gives them back.
func ExampleRamp_Return() {
	ramp := warmup.Ramp{Rate: 1}
	now := time.Now()
	ramp.Reserve(now, 1)
	ramp.Reserve(now, 60)
	fmt.Println("with it:", ramp.Next(now).Sub(now))
	ramp.Return(now, 60)
	fmt.Println("without:", ramp.Next(now).Sub(now))
	// Output:
	// with it: 1m1s
	// without: 1s
}

func ExampleLimiter() {
	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 1000, WarmUp: 10 * time.Millisecond}}
	for range 3 {
		if err := l.Wait(context.Background(), 1); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("sent")
	}
	// Output:
	// sent
	// sent
	// sent
}

func ExampleLimiter_TryWait() {
	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 0.1}}
	ctx := context.Background()
	for range 2 {
		err := l.TryWait(ctx, 1, time.Second) // the second could go in 10 s
		fmt.Println(err == nil, errors.Is(err, warmup.ErrMaxWait))
	}
	// Output:
	// true false
	// false true
}
