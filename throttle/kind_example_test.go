package throttle_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// try asks for tokens without waiting, one after the other, and prints how many were
// granted and when the next one may go.
func try(quotas string, times int) {
	var l throttle.Limiter
	if err := l.Quotas.UnmarshalText([]byte(quotas)); err != nil {
		fmt.Println(err)
		return
	}
	granted := 0
	for range times {
		if _, _, err := l.Join(context.Background(), throttle.Claim{NoWait: true}); err == nil {
			granted++
		}
	}
	fmt.Println(granted, "went; the next in", l.Forecast(throttle.Claim{}).Wait.Round(time.Minute))
}

// A bucket of 3 tokens is refilled evenly: each is back by itself.
func ExampleKind_tokenBucket() {
	try("6/h burst 3", 10)
	// Output: 3 went; the next in 10m0s
}

// All of a window comes back together, an hour after its first request.
func ExampleKind_fixedWindow() {
	try("6/h window", 10)
	// Output: 6 went; the next in 1h0m0s
}

// A window of the clock ends when the clock says so: that of a day at midnight UTC.
func ExampleKind_clockWindow() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 6, Per: 24 * time.Hour, Kind: throttle.ClockWindow}}}
	if err := l.Wait(context.Background(), 6); err != nil {
		fmt.Println(err)
	}
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour) // UTC
	back := time.Now().Add(l.Forecast(throttle.Claim{}).Wait)
	fmt.Println("the next at midnight:", back.Sub(midnight).Abs() < time.Minute)
	// Output: the next at midnight: true
}

// What went within six minutes, a tenth of the window, comes back together.
func ExampleKind_slidingWindow() {
	try("6/h sliding", 10)
	// Output: 6 went; the next in 1h0m0s
}

// Each token is back an hour after it went.
func ExampleKind_slidingLog() {
	try("6/h log", 10)
	// Output: 6 went; the next in 1h0m0s
}

// What went in the window of the clock before this one counts for less and less.
func ExampleKind_estimatedWindow() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 6, Per: 24 * time.Hour, Kind: throttle.EstimatedWindow}}}
	if err := l.Wait(context.Background(), 6); err != nil {
		fmt.Println(err)
	}
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour) // UTC
	// A twelfth of the day after midnight, 6 by 11/12 is 5.5, and is rounded to 5 from
	// then on: one may go.
	back := time.Now().Add(l.Forecast(throttle.Claim{}).Wait)
	fmt.Println(back.Sub(midnight).Round(time.Minute))
	// Output: 2h0m0s
}

// Three requests are under way. One is answered, and a place is free when its
// answer has been read.
func ExampleKind_inFlight() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 3, Kind: throttle.InFlight}}}
	var last throttle.Grant
	for range 3 {
		last, _ = l.Acquire(context.Background(), throttle.Claim{})
	}
	may := func() bool {
		g, _, err := l.Join(context.Background(), throttle.Claim{NoWait: true})
		if err == nil {
			g.Cancel()
		}
		return err == nil
	}
	fmt.Println(may())
	last.Done(throttle.Answer{Reading: true}) // its headers are there
	fmt.Println(may())
	last.Close() // and its body
	fmt.Println(may())
	// Output:
	// false
	// false
	// true
}

// A request that is answered makes room for another, although its answer is still on its
// way.
func ExampleKind_unanswered() {
	l := throttle.Limiter{Quotas: throttle.Quotas{{N: 1, Kind: throttle.Unanswered}}}
	first, err := l.Acquire(context.Background(), throttle.Claim{})
	fmt.Println(err)
	_, _, err = l.Join(context.Background(), throttle.Claim{NoWait: true})
	fmt.Println(err != nil)

	first.Done(throttle.Answer{Reading: true})
	fmt.Println(l.Wait(context.Background(), 1))
	// Output:
	// <nil>
	// true
	// <nil>
}
