package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
func Example_kindPlain() {
	try("6/h", 10)
	// Output: 6 went; the next in 1h0m0s
}

// A bucket of 3 tokens is refilled evenly: one token comes back every 10 minutes.
func Example_kindTokenBucket() {
	try("6/h burst 3", 10)
	// Output: 3 went; the next in 10m0s
}

// All tokens of a window come back together, an hour after its first request.
func Example_kindFixedWindow() {
	try("6/h window", 10)
	// Output: 6 went; the next in 1h0m0s
}

// A window of the wall clock ends when the clock says so: a window of a day at midnight UTC.
func Example_kindClockWindow() {
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
func Example_kindSlidingWindow() {
	try("6/h sliding", 10)
	// Output: 6 went; the next in 1h0m0s
}

// Each token comes back an hour after it was granted, whatever a server states.
func Example_kindSlidingLog() {
	try("6/h log", 10)
	// Output: 6 went; the next in 1h0m0s
}

// The tokens of the last window of the wall clock count for less and less in the running one.
func Example_kindEstimatedWindow() {
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
func Example_kindInFlight() {
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
	last.Answered(throttle.Answer{Reading: true}) // its headers have come
	fmt.Println(may())
	last.Done() // its body has been read
	fmt.Println(may())
	// Output:
	// false
	// false
	// true
}

// A request that is answered makes room for another one, although its body has not been read.
func Example_kindUnanswered() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.Unanswered}}}
	first, err := l.Acquire(context.Background(), throttle.Claim{})
	fmt.Println(err)
	_, err = l.Acquire(context.Background(), throttle.Claim{MaxWait: -1})
	fmt.Println(err != nil)

	first.Answered(throttle.Answer{Reading: true})
	_, err = l.Acquire(context.Background(), throttle.Claim{})
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// <nil>
}

// A cost above the burst is an error, unless the quota may go into debt.
func Example_quotaDebt() {
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
	// 10/h burst 10: throttle: not sent: cost above what the quota ever grants at once: pace "10/h burst 10", cost 30; it grants at most 10 at once: claim less, or write "10/h burst 30" or "10/h burst 10 debt"; the next one waits 0s
	// 10/h burst 10 debt: <nil>; the next one waits 2h6m0s
}

// A leaky bucket lets drops out evenly. It overflows when its queue is full.
func Example_quotaLeakyBucket() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket, Queue: 1}}}
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
	// throttle: not sent: queue is full (1): pace "1/h even queue 1", could go in 2h0m0s
}

// A request takes tokens of several units.
func Example_costs() {
	l := throttle.Limiter{Quotas: quota.MustParse("500/m, 30000 tokens/m")}
	claim := throttle.Claim{Costs: quota.Costs{"tokens": 20_000}}
	g, err := l.Acquire(context.Background(), claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Answered(throttle.Answer{Spent: quota.Costs{"tokens": 17_000}}) // as many as the answer says

	fmt.Println("another 20000 tokens in", l.Forecast(claim).Wait.Round(time.Minute))
	fmt.Println("another 10000 tokens in", l.Forecast(throttle.Claim{Costs: quota.Costs{"tokens": 10_000}}).Wait)
	// Output:
	// another 20000 tokens in 1m0s
	// another 10000 tokens in 0s
}

// A server has said that nothing is left of an hourly limit. A Limiter without quotas of its own
// learns from that.
func Example_statement() {
	var l throttle.Limiter
	g, err := l.Acquire(context.Background(), throttle.Claim{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Answered(throttle.Answer{Statements: []quota.Statement{
		{Limit: 5000, Remaining: 0, Reset: 10 * time.Minute, ResetKnown: true, Resolution: time.Second, Window: time.Hour},
	}})
	fmt.Println("the next one in", l.Forecast(throttle.Claim{}).Wait.Round(time.Minute))
	// Output: the next one in 10m0s
}
