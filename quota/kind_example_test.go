package quota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// try asks for one token after the other without waiting, and prints how many were granted and
// when the next one may go.
func try(quotas string, times int) {
	var l throttle.Limiter
	if err := l.Quotas.UnmarshalText([]byte(quotas)); err != nil {
		fmt.Println(err)
		return
	}
	granted := 0
	for range times {
		if _, err := l.Acquire(context.Background(), throttle.Claim{MaxWait: -1}); err == nil {
			granted++
		}
	}
	fmt.Println(granted, "went; the next in", l.Forecast(throttle.Claim{}).Wait.Round(time.Minute))
}

// Each token comes back an hour after it was granted.
func ExampleKind_plain() {
	try("6/h", 10)
	// Output: 6 went; the next in 1h0m0s
}

// A bucket of 3 tokens is refilled evenly: one token comes back every 10 minutes.
func ExampleKind_tokenBucket() {
	try("6/h burst 3", 10)
	// Output: 3 went; the next in 10m0s
}

// All tokens of a window come back together, an hour after its first request.
func ExampleKind_fixedWindow() {
	try("6/h window", 10)
	// Output: 6 went; the next in 1h0m0s
}

// A window of the wall clock ends when the clock says so: a window of a day at midnight UTC.
func ExampleKind_clockWindow() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 6, Per: 24 * time.Hour, Kind: quota.ClockWindow}}}
	if err := l.Wait(context.Background(), 6); err != nil {
		fmt.Println(err)
	}
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour) // UTC
	back := time.Now().Add(l.Forecast(throttle.Claim{}).Wait)
	fmt.Println("the next at midnight:", back.Sub(midnight).Abs() < time.Minute)
	// Output: the next at midnight: true
}

// Tokens that were granted within six minutes, a tenth of the window, come back together.
func ExampleKind_slidingWindow() {
	try("6/h sliding", 10)
	// Output: 6 went; the next in 1h0m0s
}

// Each token comes back an hour after it was granted, whatever a server states.
func ExampleKind_slidingLog() {
	try("6/h log", 10)
	// Output: 6 went; the next in 1h0m0s
}

// The tokens of the last window of the wall clock count for less and less in the running one.
func ExampleKind_estimatedWindow() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 6, Per: 24 * time.Hour, Kind: quota.EstimatedWindow}}}
	if err := l.Wait(context.Background(), 6); err != nil {
		fmt.Println(err)
	}
	midnight := time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour) // UTC
	// Two hours after midnight, 11/12 of the last window still count: 6 · 11/12 = 5.5, which is
	// rounded to 5 from then on. One token is free.
	back := time.Now().Add(l.Forecast(throttle.Claim{}).Wait)
	fmt.Println(back.Sub(midnight).Round(time.Minute))
	// Output: 2h0m0s
}

// Three requests are under way. One is answered, and its token comes back when the answer has been
// read.
func ExampleKind_inFlight() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 3, Kind: quota.InFlight}}}
	var last *throttle.Grant
	for range 3 {
		last, _ = l.Acquire(context.Background(), throttle.Claim{})
	}
	may := func() bool {
		g, err := l.Acquire(context.Background(), throttle.Claim{MaxWait: -1})
		if err == nil {
			g.Cancel()
		}
		return err == nil
	}
	fmt.Println(may())
	last.Done(throttle.Answer{Reading: true}) // its headers have come
	fmt.Println(may())
	last.Done(throttle.Answer{}) // its body has been read
	fmt.Println(may())
	// Output:
	// false
	// false
	// true
}

// A request that is answered makes room for another one, although its body has not been read.
func ExampleKind_unanswered() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.Unanswered}}}
	first, err := l.Acquire(context.Background(), throttle.Claim{})
	fmt.Println(err)
	_, err = l.Acquire(context.Background(), throttle.Claim{MaxWait: -1})
	fmt.Println(err != nil)

	first.Done(throttle.Answer{Reading: true})
	_, err = l.Acquire(context.Background(), throttle.Claim{})
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// <nil>
}
