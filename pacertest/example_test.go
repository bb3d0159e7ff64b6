package pacertest_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gopacer/pacer/pacertest"
)

// A client meets a server that admits two requests an hour.
func Example() {
	server := pacertest.NewServer(
		&pacertest.FixedWindow{Limit: 2, Window: time.Hour},
		pacertest.RateLimitDraft7,
	)
	defer server.Close()

	client := &http.Client{Transport: server.Transport()}
	for range 3 {
		resp, err := client.Get("https://api.example.com/items")
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("RateLimit"))
	}
	stats := server.Stats()
	fmt.Println(stats.Accepted, "accepted,", stats.Refused, "refused")
	// Output:
	// 200 limit=2, remaining=1, reset=3600
	// 200 limit=2, remaining=0, reset=3600
	// 429 limit=2, remaining=0, reset=3600
	// 2 accepted, 1 refused
}

// The answer to a request is lost. The server has done the work, and a client that sends
// the request again orders the work twice.
func ExampleFault() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(n int, _ *http.Request) pacertest.Fault {
		if n == 0 {
			return pacertest.Fault{Drop: pacertest.DropAfter}
		}
		return pacertest.Fault{}
	}
	orders := 0
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
	})
	defer server.Close()

	client := &http.Client{Transport: server.Transport()}
	for range 2 {
		resp, err := client.Post("https://api.example.com/orders", "", nil)
		if err != nil {
			fmt.Println("no answer")
			continue
		}
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	fmt.Println(orders, "orders")
	// Output:
	// no answer
	// 201
	// 2 orders
}

// Least is the time with which the time of a client is compared.
func ExampleLeast() {
	fmt.Println(pacertest.Least(&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, time.Now(), 200))
	fmt.Println(pacertest.Least(&pacertest.TokenBucket{Rate: 20, Burst: 10}, time.Now(), 200))
	// Output:
	// 6s
	// 9.5s
}
