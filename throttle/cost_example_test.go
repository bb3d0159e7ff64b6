package throttle_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Bytes are claimed as far as they are known, and settled when all were sent.
func ExampleGrant_Settle() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1 << 20, Unit: quota.Bytes, Per: time.Hour, Burst: 1 << 20}}}
	upload := func(guess, truth int) {
		g, err := l.Acquire(context.Background(), throttle.Claim{Costs: quota.Costs{quota.Bytes: int64(guess)}})
		if err != nil {
			fmt.Println(err)
			return
		}
		g.Settle(quota.Costs{quota.Bytes: int64(truth)})
		g.Answered(throttle.Answer{})
		f := l.Forecast(throttle.Claim{Costs: quota.Costs{quota.Bytes: 512 << 10}})
		fmt.Printf("%d kB, and another 512 go in %v\n", truth>>10, f.Wait.Round(time.Minute))
	}
	upload(1<<20, 256<<10)
	upload(256<<10, 512<<10)
	// Output:
	// 256 kB, and another 512 go in 0s
	// 512 kB, and another 512 go in 15m0s
}

// A share is kept for what is urgent.
func ExampleLimiter_reserve() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 10, Per: time.Hour, Kind: quota.FixedWindow}}, Reserve: 0.2}
	ctx := context.Background()
	went := map[throttle.Priority]int{}
	for _, p := range []throttle.Priority{throttle.Normal, throttle.Urgent} {
		for {
			if _, _, err := l.Join(ctx, throttle.Claim{Priority: p, MaxWait: -1}); err != nil {
				break
			}
			went[p]++
		}
	}
	fmt.Println(went[throttle.Normal], "of others, then", went[throttle.Urgent], "urgent")
	// Output: 8 of others, then 2 urgent
}
