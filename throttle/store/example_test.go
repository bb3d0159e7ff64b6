package store_test

import (
	"context"
	"fmt"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// Two Limiters of one name share what their store grants. Here they are in one process; with a store
// that several processes reach they need not be.
func ExampleMemory() {
	memory := new(store.Memory)
	quotas := quota.Quotas{{N: 3, Per: 60e9, Kind: quota.SlidingLog}}
	a := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: memory}}
	b := &throttle.Limiter{Name: "api.example.com", Quotas: quotas, Shared: throttle.Shared{Store: memory}}
	defer a.Close()
	defer b.Close()

	for _, l := range []*throttle.Limiter{a, b, b, a} {
		_, err := l.Acquire(context.Background(), throttle.Claim{MaxWait: -1})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// throttle: api.example.com: not sent: would have to wait: pace "3/m log", could go in 1m1s
}
