package filequota_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Two programs share what a provider grants.
func Example() {
	dir, err := os.MkdirTemp("", "quotas")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	for _, program := range []string{"the first", "the second"} {
		shared, err := filequota.Open(dir, nil)
		if err != nil {
			fmt.Println(err) // which path, and why
			return
		}
		limiter := &throttle.Limiter{Name: "api.example.com", Quotas: quota.MustParse("3/h log"), Shared: throttle.Shared{Store: shared}, MaxWait: time.Second}
		sent := 0
		for sent < 2 && limiter.Wait(context.Background(), 1) == nil {
			sent++
		}
		fmt.Println(program, "may send", sent)
		_ = limiter.Close()
	}
	// Output:
	// the first may send 2
	// the second may send 1
}
