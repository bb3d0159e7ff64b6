package filequota_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// A person looks what keeps a bucket from going, and ends it.
func ExampleStore_Exchange() {
	dir, err := os.MkdirTemp("", "quotas")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	shared, err := filequota.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	run := func() { // of a tool; the first is told to come back in ten minutes
		limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.MustParse("10/s"), Shared: throttle.Shared{Store: shared}, MaxStandstill: time.Minute}
		grant, err := limiter.Acquire(ctx, throttle.Claim{})
		if err == nil {
			grant.Answered(throttle.Answer{Refused: true, Hold: &quota.Hold{For: 10 * time.Minute}})
		}
		fmt.Println("sent:", err == nil)
		_ = limiter.Close()
	}
	run()
	run()

	// The bucket has the name that errors and State show.
	request := &store.Request{Version: 1, Bucket: "api.example.com", Member: "a person", Serial: 1, Horizon: 500 * time.Millisecond, Look: true}
	reply, err := shared.Exchange(ctx, request)
	if err != nil || len(reply.Others) == 0 {
		fmt.Println("not known:", err)
		return
	}
	fmt.Println("held for:", reply.Hold.Round(time.Minute))
	request.Quotas = reply.Others[0] // by which the runs share it
	request.Look, request.Release, request.Leave = false, true, true
	if reply, err = shared.Exchange(ctx, request); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held for:", reply.Hold)
	run()
	// Output:
	// sent: true
	// sent: false
	// held for: 10m0s
	// held for: 0s
	// sent: true
}
