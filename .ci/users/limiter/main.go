// Limiter waits without HTTP.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func main() {
	quotas, err := quota.Parse("1000/s")
	if err != nil {
		log.Fatal(err)
	}
	limiter := &throttle.Limiter{Quotas: quotas}
	if err := limiter.Wait(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("limiter: granted")
}
