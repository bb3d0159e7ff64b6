package quota_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// A cost above the burst is an error, unless the quota may go into debt.
func ExampleQuota_debt() {
	for _, text := range []string{"10/h burst 10", "10/h burst 10 debt"} {
		quotas, err := quota.Parse(text)
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

// A leaky bucket lets drops out evenly. It overflows when its queue is full.
func ExampleQuota_leakyBucket() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Queue: 1}}}
	ctx, cancel := context.WithCancel(context.Background())
	fmt.Println("the first one goes:", l.Wait(ctx, 1))

	waited := make(chan error)
	fmt.Println("the second one waits", l.Forecast(throttle.Claim{}).Wait.Round(time.Minute))
	go func() { waited <- l.Wait(ctx, 1) }()
	for l.State().Waiting == 0 {
		runtime.Gosched()
	}

	err := l.Wait(ctx, 1)
	fmt.Println("it overflows:", errors.Is(err, throttle.ErrQueueFull))
	fmt.Println(err)
	cancel()
	<-waited
	// Output:
	// the first one goes: <nil>
	// the second one waits 1h0m0s
	// it overflows: true
	// pacer/throttle: not sent: queue is full (1): pace "1/h queue 1", could go in 2h0m0s
}
