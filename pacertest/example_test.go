package pacertest_test

import (
	"fmt"
	"net/http"
	"strconv"
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
	fmt.Println(stats.Admitted, "accepted,", stats.Refused, "refused")
	// Output:
	// 200 limit=2, remaining=1, reset=3600
	// 200 limit=2, remaining=0, reset=3600
	// 429 limit=2, remaining=0, reset=3600
	// 2 accepted, 1 refused
}

// Each user has 1000 tokens of a language model a minute. A request takes what its header
// says.
func ExampleServer() {
	server := &pacertest.Server{
		Algorithm: &pacertest.TokenBucket{Rate: 1000. / 60, Burst: 1000},
		Dialect:   pacertest.XRateLimitDelta,
		Key:       func(r *http.Request) string { return r.Header.Get("Authorization") },
		Cost: func(r *http.Request) int {
			n, _ := strconv.Atoi(r.Header.Get("Max-Tokens"))
			return max(1, n)
		},
	}
	defer server.Close()

	client := &http.Client{Transport: server.Transport()}
	for _, call := range []struct{ user, tokens string }{{"ann", "700"}, {"bob", "700"}, {"ann", "700"}} {
		req, _ := http.NewRequest(http.MethodPost, "https://api.example.com/chat", nil)
		req.Header.Set("Authorization", call.user)
		req.Header.Set("Max-Tokens", call.tokens)
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println(call.user, resp.StatusCode, resp.Header.Get("X-RateLimit-Remaining"))
	}
	// Output:
	// ann 200 300
	// bob 200 300
	// ann 429 300
}

// A server has a limit by the second and another one by the day. It announces both.
func ExampleServer_layers() {
	second := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1}, pacertest.RateLimitDraft8)
	day := pacertest.NewServer(&pacertest.ClockWindow{Limit: 1000, Window: 24 * time.Hour}, pacertest.XRateLimit)
	day.Handler = second
	defer day.Close()

	client := &http.Client{Transport: day.Transport()}
	resp, err := client.Get("https://api.example.com/items")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Header.Get("RateLimit"), "and", resp.Header.Get("X-RateLimit-Remaining"))
	// Output: "default";r=0;t=1 and 999
}

// A program under test is told a URL.
func ExampleServer_Start() {
	server := pacertest.NewServer(&pacertest.SlidingLog{Limit: 1}, pacertest.RetryAfterOnly)
	defer server.Close()

	resp, err := http.Get(server.Start() + "/items")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// The Dialect of express-rate-limit with its old headers is that of GitHub, with a
// Retry-After.
func ExampleDialect() {
	express := pacertest.XRateLimit
	express.RetryAfter = pacertest.RetryAfterSeconds

	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Minute}, express)
	defer server.Close()
	client := &http.Client{Transport: server.Transport()}
	for range 2 {
		resp, err := client.Get("https://api.example.com/items")
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Printf("%d %q %q\n", resp.StatusCode, resp.Header.Get("X-RateLimit-Remaining"), resp.Header.Get("Retry-After"))
	}
	// Output:
	// 200 "0" ""
	// 429 "0" "60"
}

// A Dialect writes the headers of a handler that is no Server.
func ExampleDialect_Set() {
	h := http.Header{}
	refused := pacertest.Verdict{Limit: 50, Reset: 1200 * time.Millisecond, RetryAfter: 1200 * time.Millisecond, Window: 2 * time.Second}
	pacertest.RateLimitDraft7.Set(h, refused, time.Now())
	fmt.Println(h.Get("RateLimit"))
	fmt.Println(h.Get("RateLimit-Policy"))
	fmt.Println(h.Get("Retry-After"))
	// Output:
	// limit=50, remaining=0, reset=2
	// 50;w=2
	// 2
}

// Stats tell when each request came, and what became of it.
func ExampleStats() {
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Hour}, pacertest.NoHeaders)
	defer server.Close()

	client := &http.Client{Transport: server.Transport()}
	for range 2 {
		if resp, err := client.Get("https://api.example.com/items"); err == nil {
			_ = resp.Body.Close()
		}
	}
	for _, e := range server.Stats().Events {
		fmt.Println(e.Status)
	}
	// Output:
	// 200
	// 429
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

// Two servers admit 200 requests in no less than these times, to which the time of a client
// is compared.
func ExampleLeast() {
	fmt.Println(pacertest.Least(&pacertest.FixedWindow{Limit: 50, Window: 2 * time.Second}, time.Now(), 200))
	fmt.Println(pacertest.Least(&pacertest.TokenBucket{Rate: 20, Burst: 10}, time.Now(), 200))
	// Output:
	// 6s
	// 9.5s
}
