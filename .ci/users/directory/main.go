// Directory waits for a quota that is in a directory.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/gopacer/pacer/filequota"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func main() {
	dir, err := os.MkdirTemp("", "directory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	quotas, err := quota.Parse("100/s")
	if err != nil {
		log.Fatal(err)
	}
	store, err := filequota.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	limiter := &throttle.Limiter{Name: "shared", Quotas: quotas, Shared: throttle.Shared{Store: store}}
	if err := limiter.Wait(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("directory: granted")
}
