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
	// 10/h burst 10: throttle: not sent: cost above what the quota ever grants at once: pace "10/h burst 10", cost 30; it grants at most 10 at once: claim less, or write "10/h burst 30" or "10/h burst 10 debt"; the next one waits 0s
	// 10/h burst 10 debt: <nil>; the next one waits 2h6m0s
}

// A leaky bucket lets drops out evenly. It overflows when its queue is full.
func ExampleQuota_leakyBucket() {
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

// Some quotas are of each tenant of a program, and some of all of them together.
func ExampleQuota_overall() {
	for _, q := range quota.MustParse("5000/h, 100 in flight overall") {
		fmt.Println(q.N, q.Kind, q.Overall)
	}
	// Output:
	// 5000 plain false
	// 100 in flight true
}

// Files of any size are read and written no faster than the quota grants, while others wait for their turn.
func ExampleQuota_streamed() {
	q := quota.MustParse("1MB/s streamed")
	fmt.Println(q.Explicit()[0].Burst, "bytes at once")

	_, err := quota.Parse("5/s streamed")
	fmt.Println(err)
	// Output:
	// 50000 bytes at once
	// quota: column 5: "5/s streamed": Streamed is true, want false for a quota of requests: only bytes are streamed, as in 1MB/s streamed
}

// A request takes tokens of several units.
func ExampleCosts() {
	l := throttle.Limiter{Quotas: quota.MustParse("500/m, 30000 tokens/m")}
	claim := throttle.Claim{Costs: quota.Costs{"tokens": 20_000}}
	g, err := l.Acquire(context.Background(), claim)
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Done(throttle.Answer{Spent: quota.Costs{"tokens": 17_000}}) // as many as the answer says

	fmt.Println("another 20000 tokens in", l.Forecast(claim).Wait.Round(time.Minute))
	fmt.Println("another 10000 tokens in", l.Forecast(throttle.Claim{Costs: quota.Costs{"tokens": 10_000}}).Wait)
	// Output:
	// another 20000 tokens in 1m0s
	// another 10000 tokens in 0s
}

// A server has said that nothing is left of an hourly limit. A Limiter without quotas of its own
// learns from that.
func ExampleStatement() {
	var l throttle.Limiter
	g, err := l.Acquire(context.Background(), throttle.Claim{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Done(throttle.Answer{Statements: []quota.Statement{
		{Limit: 5000, Remaining: 0, Reset: 10 * time.Minute, ResetKnown: true, Resolution: time.Second, Window: time.Hour},
	}})
	fmt.Println("the next one in", l.Forecast(throttle.Claim{}).Wait.Round(time.Minute))
	// Output: the next one in 10m0s
}

// Three of these quotas never bind: the first one is too slow for the second, the bucket above is
// stricter than the fourth, and the fifth is the fourth again.
func ExampleQuotas_Redundant() {
	quotas := quota.MustParse("5/s burst 10, 100000/h window, 1000/h log, 10 in flight, 10 in flight as pool")
	for i, why := range quotas.Redundant(quota.Quota{N: 8, Kind: quota.InFlight}) {
		fmt.Printf("%d: %q\n", i, why)
	}
	fmt.Println(quota.MustParse("5/s, 300/m").Redundant() == nil)
	// Output:
	// 0: ""
	// 1: "100000/h window never binds: 5/s burst 10 admits at most 18010 in 1h0m0s"
	// 2: ""
	// 3: "10 in flight never binds: 8 in flight above admits at most 8 at a time"
	// 4: "10 in flight as pool never binds: 10 in flight admits the same"
	// true
}

// Explicit fills in what the text leaves out.
func ExampleQuotas_Explicit() {
	for _, q := range quota.MustParse("5/s even, 1000/h, 10/m sliding as mine").Explicit() {
		fmt.Printf("%s: %v, N %d, Per %v, Burst %d, Cells %d\n", q.Name, q.Kind, q.N, q.Per, q.Burst, q.Cells)
	}
	// Output:
	// 5/s even: bucket, N 5, Per 1s, Burst 1, Cells 0
	// 1000/h: plain, N 1000, Per 1h0m0s, Burst 0, Cells 0
	// mine: sliding, N 10, Per 1m0s, Burst 0, Cells 10
}

// A cost in "token" draws on no quota in "tokens": those who enforce quotas ask what was meant.
func ExampleQuotas_Misspelled() {
	quotas := quota.MustParse("500/m, 30000 tokens/m")
	for _, unit := range []string{"tokens", "token", "Tokens", "images"} {
		if meant, ok := quotas.Misspelled(unit); ok {
			fmt.Printf("%s: want %s as in %s\n", unit, meant.Unit, meant)
		}
	}
	// Output:
	// token: want tokens as in 30000 tokens/m
	// Tokens: want tokens as in 30000 tokens/m
}

// Months are those of the calendar. Other windows of the clock begin on days of the calendar, too.
func ExampleQuota_calendar() {
	fmt.Println(quota.Quotas{
		{N: 2000, Months: 1},
		{N: 2000, Months: 1, From: 15},
		{N: 10_000, Per: 24 * time.Hour, Kind: quota.ClockWindow, Zone: "America/Los_Angeles"},
		{N: 5000, Per: 7 * 24 * time.Hour, Kind: quota.ClockWindow, From: 1},
	})
	_, err := quota.Parse("10000/d window grid in America/Los_Angles")
	fmt.Println(err)
	// Output:
	// 2000/month, 2000/month from 15, 10000/d window grid in America/Los_Angeles, 5000/w window grid
	// quota: column 24: "America/Los_Angles", want a time zone of the IANA database such as America/Los_Angeles
}
