package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// Bytes are claimed as far as they are known, and settled when all were sent.
func ExampleGrant_Settle() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 1 << 20, Unit: throttle.Bytes, Per: time.Hour, Burst: 1 << 20}}}
	upload := func(guess, truth int) {
		g, err := l.Acquire(context.Background(), throttle.Claim{Costs: throttle.Costs{throttle.Bytes: guess}})
		if err != nil {
			fmt.Println(err)
			return
		}
		g.Settle(throttle.Costs{throttle.Bytes: truth})
		g.Done(throttle.Answer{})
		f := l.Forecast(throttle.Claim{Costs: throttle.Costs{throttle.Bytes: 512 << 10}})
		fmt.Printf("%d kB, and another 512 go in %v\n", truth>>10, f.Wait.Round(time.Minute))
	}
	upload(1<<20, 256<<10)
	upload(256<<10, 512<<10)
	// Output:
	// 256 kB, and another 512 go in 0s
	// 512 kB, and another 512 go in 15m0s
}

// A cost above the burst is an error, unless the quota may go into debt.
func ExampleQuota_debt() {
	for _, text := range []string{"10/h burst 10", "10/h burst 10 debt"} {
		quotas, err := throttle.ParseQuotas(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		l := throttle.Limiter{Quotas: quotas}
		err = l.Wait(context.Background(), 30)
		f := l.Forecast(throttle.Claim{})
		fmt.Printf("%s: %v; the next one waits %v\n", text, err, f.Wait.Round(time.Minute))
	}
	// Output:
	// 10/h burst 10: pacer/throttle: not sent: cost above what the quota grants at once: never: pace "10/h burst 10", cost 30; the next one waits 0s
	// 10/h burst 10 debt: <nil>; the next one waits 2h6m0s
}

// A leaky bucket lets drops out evenly, and overflows when its queue is full.
func ExampleQuota_leakyBucket() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 1, Per: time.Hour, Queue: 1}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 3 {
		_, waiter, err := l.Join(ctx, throttle.Claim{})
		switch {
		case errors.Is(err, throttle.ErrQueueFull):
			fmt.Println("overflows:", err)
		case waiter != nil:
			fmt.Println("waits", waiter.Forecast.Wait.Round(time.Minute))
		default:
			fmt.Println("goes")
		}
	}
	// Output:
	// goes
	// waits 1h0m0s
	// overflows: pacer/throttle: not sent: queue is full (1): pace "1/h queue 1", could go in 2h0m0s
}

// A share is kept for what is urgent.
func ExampleLimiter_reserve() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 10, Per: time.Hour, Kind: throttle.FixedWindow}}, Reserve: 0.2}
	ctx := context.Background()
	went := map[throttle.Priority]int{}
	for _, p := range []throttle.Priority{throttle.Normal, throttle.Urgent} {
		for {
			if _, _, err := l.Join(ctx, throttle.Claim{Priority: p, NoWait: true}); err != nil {
				break
			}
			went[p]++
		}
	}
	fmt.Println(went[throttle.Normal], "of others, then", went[throttle.Urgent], "urgent")
	// Output: 8 of others, then 2 urgent
}
