package throttle_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Two copies share a megabyte a second, and have their turns.
func ExampleReader() {
	l := &throttle.Limiter{Quotas: quota.MustParse("1MB/s streamed")}
	start, done := time.Now(), make(chan int64)
	for range 2 {
		go func() {
			file := strings.NewReader(strings.Repeat("x", 100_000))
			n, _ := io.Copy(io.Discard, &throttle.Reader{R: file, Limiter: l})
			done <- n
		}()
	}
	fmt.Println(<-done+<-done, "bytes")
	fmt.Println("in 150 ms, since 50000 bytes went at once:", time.Since(start) > 145*time.Millisecond)
	// Output:
	// 200000 bytes
	// in 150 ms, since 50000 bytes went at once: true
}

// A write that cannot make it in time says so, and has written what could go.
func ExampleWriter() {
	l := &throttle.Limiter{Name: "uplink", Quotas: quota.MustParse("24B/d burst 100B streamed")}
	w := &throttle.Writer{W: io.Discard, Limiter: l, Claim: throttle.Claim{MaxWait: time.Second}}
	n, err := w.Write(make([]byte, 500))
	var refusal *throttle.Error
	if errors.As(err, &refusal) {
		fmt.Println(n, "bytes:", refusal.Err, "for", refusal.Quota, "of", refusal.Bucket)
	}
	// Output:
	// 100 bytes: wait over MaxWait for 24B/d burst 100B streamed of uplink
}
