package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// wait prints how long a token would be waited for, and for what.
func wait(l *throttle.Limiter) {
	f := l.Forecast(throttle.Claim{})
	if f.Wait == 0 {
		fmt.Println("may go now")
		return
	}
	fmt.Println("may go in", f.Wait.Round(time.Minute), "for", f.Cause)
}

// A token every ten minutes, and up to three at once after idling.
func ExampleLimiter() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 6, Per: time.Hour, Burst: 3}}}
	for range 3 {
		if err := l.Wait(context.Background(), 1); err != nil {
			fmt.Println(err)
		}
	}
	wait(&l)

	// Nobody waits towards a deadline that cannot be kept.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := l.Wait(ctx, 1)
	fmt.Println(errors.Is(err, throttle.ErrDeadline), errors.Is(err, context.DeadlineExceeded))
	// Output:
	// may go in 10m0s for pace
	// true true
}

// Who comes does not wait for all that another has in line: one of each other flow goes first at most.
func ExampleClaim_flow() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 101 { // one goes, and 100 wait
		go l.Acquire(ctx, throttle.Claim{Flow: "nightly job"})
	}
	for l.State().Waiting < 100 {
		time.Sleep(time.Millisecond)
	}
	for _, flow := range []string{"nightly job", "alice"} {
		f := l.Forecast(throttle.Claim{Flow: flow})
		fmt.Println(flow, "would go in", f.Wait.Round(time.Hour))
	}
	// Output:
	// nightly job would go in 101h0m0s
	// alice would go in 2h0m0s
}

// A server's answers are learned from if each grant is ended by Answered.
func ExampleLimiter_Acquire() {
	var l throttle.Limiter
	for remaining := range 2 {
		g, err := l.Acquire(context.Background(), throttle.Claim{})
		if err != nil {
			fmt.Println(err)
			return
		}
		// … the server is asked, and answers …
		g.Answered(throttle.Answer{Statements: []quota.Statement{
			{Name: "core", Limit: 60, Remaining: int64(1 - remaining), Reset: 5 * time.Minute, ResetKnown: true, Resolution: time.Second},
		}})
		wait(&l)
	}
	// Output:
	// may go now
	// may go in 5m0s for window_used_up
}

// Several quotas are enforced together; an error names the one in the way. Nobody says what a request will
// cost. What the first ones have cost is what the next ones of their kind are charged at first.
func ExampleClaim_unsaid() {
	l := throttle.Limiter{Quotas: quota.MustParse("10000 tokens/m")}
	for _, cost := range []int{300, 500} {
		g, err := l.Acquire(context.Background(), throttle.Claim{Verb: "POST", Path: "/chat"})
		if err != nil {
			fmt.Println(err)
			return
		}
		g.Settle(quota.Costs{"tokens": int64(cost)}) // as the answer says
		g.Answered(throttle.Answer{})
		fmt.Println(l.State().Limits[0].Available)
	}
	g, _ := l.Acquire(context.Background(), throttle.Claim{Verb: "POST", Path: "/chat"})
	defer g.Cancel()
	fmt.Println(l.State().Limits[0].Available, "while the third is under way")
	// Output:
	// 9700
	// 9200
	// 8800 while the third is under way
}

func ExampleLimiter_quotas() {
	l := throttle.Limiter{
		Name:    "api.example.com",
		Quotas:  quota.Quotas{{N: 10, Burst: 10}, {Name: "daily", N: 4, Per: 24 * time.Hour, Burst: 4}},
		MaxWait: time.Second,
	}
	fmt.Println(l.Wait(context.Background(), 4))
	var local *throttle.Error
	if err := l.Wait(context.Background(), 1); errors.As(err, &local) {
		fmt.Println(local.Quota, "is used up; a token is back in", local.Wait.Round(time.Hour))
	}
	// Output:
	// <nil>
	// daily is used up; a token is back in 6h0m0s
}

// Users with quotas of their own share that of the whole program: both grant, or
// neither is charged.
func ExampleLimiter_parent() {
	program := &throttle.Limiter{Quotas: quota.Quotas{{N: 3, Per: time.Hour, Burst: 3}}}
	own := quota.Quotas{{N: 2, Per: 8 * time.Hour, Burst: 2}}
	alice := &throttle.Limiter{Quotas: own, Parent: program}
	bob := &throttle.Limiter{Quotas: own, Parent: program}

	fmt.Println(alice.Wait(context.Background(), 2), bob.Wait(context.Background(), 1))
	wait(alice)   // for her own
	wait(bob)     // for that of the program
	wait(program) // what bob waits for
	// Output:
	// <nil> <nil>
	// may go in 4h0m0s for pace
	// may go in 20m0s for pace
	// may go in 20m0s for pace
}

// New quotas count from now, also for those who wait already.
func ExampleLimiter_SetQuotas() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}}
	fmt.Println(l.Wait(context.Background(), 1))
	went := make(chan error)
	go func() { went <- l.Wait(context.Background(), 1) }()

	// The plan was upgraded: no hour's wait.
	if err := l.SetQuotas(quota.Quotas{{N: 1000, Per: time.Second, Burst: 1}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-went)
	// Output:
	// <nil>
	// <nil>
}

// A pause holds everybody back, as a server's Retry-After does.
func ExampleLimiter_Pause() {
	var l throttle.Limiter
	l.Pause(10 * time.Minute)
	l.Pause(time.Minute) // it only extends
	wait(&l)
	l.Resume()
	wait(&l)
	// Output:
	// may go in 10m0s for hold
	// may go now
}

// A quota that starts slowly: cold, it grants a third of its rate.
func ExampleQuota_warmUp() {
	l := throttle.Limiter{Quotas: quota.Quotas{{N: 6, Per: time.Hour, WarmUp: 2 * time.Hour}}}
	fmt.Println(l.Wait(context.Background(), 1))
	wait(&l)
	// Output:
	// <nil>
	// may go in 28m0s for warm_up
}

// A program has several tokens for an API: each may send three requests an hour, and all of them five.
func ExampleGroup_tenants() {
	var overall, each quota.Quotas
	for _, q := range quota.MustParse("3/h, 5/h overall") {
		if q.Overall {
			overall = append(overall, q)
		} else {
			each = append(each, q)
		}
	}
	g := throttle.Group{New: func(path []string) *throttle.Limiter {
		if len(path) == 1 {
			return &throttle.Limiter{Name: "all", Quotas: overall}
		}
		return &throttle.Limiter{Name: path[1], Quotas: each, Tenant: true}
	}}
	for _, token := range []string{"one", "two"} {
		l, granted := g.Limiter("api.example.com", token), 0
		for l.Allow(1) {
			granted++
		}
		fmt.Printf("%s: %d, and then waits for %s\n", token, granted, l.Forecast(throttle.Claim{}).Bucket)
	}
	// Output:
	// one: 3, and then waits for one
	// two: 2, and then waits for all
}

// Each customer may send ten requests a minute, and each of its jobs four of them.
func ExampleGroup() {
	quotas := map[int]quota.Quotas{ // by the length of the path
		1: {{N: 10, Per: time.Minute, Burst: 10}},
		2: {{N: 4, Per: time.Minute, Burst: 4}},
	}
	g := throttle.Group{New: func(path []string) *throttle.Limiter {
		return &throttle.Limiter{Name: strings.Join(path, "/"), Quotas: quotas[len(path)]}
	}}
	for _, path := range [][]string{{"ann", "mail"}, {"ann", "sync"}, {"ann", "report"}, {"ben", "mail"}} {
		l, granted := g.Limiter(path...), 0
		for {
			if _, err := l.Acquire(context.Background(), throttle.Claim{MaxWait: -1}); err != nil {
				break
			}
			granted++
		}
		fmt.Printf("%s: %d, and then waits for %s\n", l.Name, granted, l.Forecast(throttle.Claim{}).Bucket)
	}
	// Output:
	// ann/mail: 4, and then waits for ann/mail
	// ann/sync: 4, and then waits for ann/sync
	// ann/report: 2, and then waits for ann
	// ben/mail: 4, and then waits for ben/mail
}
