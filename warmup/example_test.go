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
		interval := ramp.Next(now, 0).Sub(at)
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
func ExampleRamp_Next() {
	ramp := warmup.Ramp{Rate: 10, MaxBurst: -1}
	now := time.Now()
	ramp.Reserve(now, 1)
	for _, ahead := range []int{0, 1, 25} {
		fmt.Println(ahead, "ahead:", ramp.Next(now, ahead).Sub(now))
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
	fmt.Println("with it:", ramp.Next(now, 0).Sub(now))
	ramp.Return(60)
	fmt.Println("without:", ramp.Next(now, 0).Sub(now))
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

// A call that must not wait.
func ExampleLimiter_Allow() {
	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 0.1}}
	for range 2 {
		fmt.Println(l.Allow(1)) // the second could go in 10 s
	}
	// Output:
	// true
	// false
}

// Wait fails at once if its wait would not end before the deadline of the context.
func ExampleError() {
	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 0.1}}
	l.Allow(1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.Wait(ctx, 1)
	var refused *warmup.Error
	if errors.As(err, &refused) {
		fmt.Println("it could go in", refused.Wait.Round(time.Second))
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// it could go in 10s
	// true
}

// A server that pushed back is treated as a cold one, at half of the rate.
func ExampleLimiter_SetRate() {
	l := warmup.Limiter{Ramp: warmup.Ramp{Rate: 100, WarmUp: 10 * time.Second}}
	if err := l.Wait(context.Background(), 1); err != nil {
		fmt.Println(err)
	}
	l.Chill()
	if err := l.SetRate(50); err != nil {
		fmt.Println(err)
	}
	fmt.Println(l.SetRate(0))
	// Output: warmup: Rate is 0, want a positive number of tokens per second
}

// Without a WarmUp, idle time is stored and spent as a burst, of half a second here.
func ExampleRamp_burst() {
	ramp := warmup.Ramp{Rate: 10, MaxBurst: 500 * time.Millisecond}
	start := time.Now()
	ramp.Reserve(start, 1)
	idle := start.Add(time.Hour)
	for range 8 {
		fmt.Print(ramp.Reserve(idle, 1).Sub(idle), " ")
	}
	// Output: 0s 0s 0s 0s 0s 0s 100ms 200ms
}

// Values that are probably mistakes are found before they are used.
func ExampleRamp_Validate() {
	for _, ramp := range []warmup.Ramp{{}, {Rate: 1, WarmUp: 10}, {Rate: 1, MaxBurst: 5}, {Rate: 1, ColdFactor: 0.5}, {Rate: 1}} {
		fmt.Println(ramp.Validate())
	}
	// Output:
	// warmup: Rate is 0, want a positive number of tokens per second
	// warmup: WarmUp is 10ns, want 1µs or more: a number alone is in nanoseconds, 10 * time.Second in seconds
	// warmup: MaxBurst is 5ns, want 1µs or more: a number alone is in nanoseconds, 5 * time.Second in seconds
	// warmup: ColdFactor is 0.5, want 1 to 1e6, or 0 for 3
	// <nil>
}
