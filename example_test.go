package pacer_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Nothing has to be configured: the limit is learned from the answers, and nobody
// sees a refusal.
func Example() {
	// A server that grants 20 requests in 100 ms.
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 20, Window: 100 * time.Millisecond}, pacertest.OpenAI)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{Base: server.Transport()}}
	statuses := map[string]int{}
	for range 60 {
		resp, err := client.Get("https://api.example.com/items")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		statuses[resp.Status]++
	}
	fmt.Println(statuses)
	// Output: map[200 OK:60]
}

// Quotas of a host and of one of its routes: a search draws on both.
func ExampleTransport_quotas() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base: server.Transport(),
		Quotas: map[string]quota.Quotas{
			"api.example.com/":             {{N: 100, Burst: 20}, {N: 100_000, Per: time.Hour, Burst: 1000}},
			"GET api.example.com/search/":  {{N: 2, Per: time.Minute, Burst: 2}},
			"api.example.com/users/{user}": {{N: 1, Per: time.Minute}},
		},
		Mode: pacer.ModeReject, // so that the example need not wait
	}}
	for _, path := range []string{"/search/a", "/search/b", "/search/c", "/users/1", "/users/1", "/users/2", "/items"} {
		resp, err := client.Get("https://api.example.com" + path)
		var local *throttle.Error
		switch {
		case errors.As(err, &local):
			fmt.Printf("%s: not now, %s grants %s\n", path, local.Bucket, local.Quota)
		case err != nil:
			fmt.Println(err)
		default:
			resp.Body.Close()
			fmt.Printf("%s: %d\n", path, resp.StatusCode)
		}
	}
	// Output:
	// /search/a: 200
	// /search/b: 200
	// /search/c: not now, GET api.example.com/search/ grants 2/m burst 2
	// /users/1: 200
	// /users/1: not now, api.example.com/users/1 grants 1/m
	// /users/2: 200
	// /items: 200
}

// stale answers with a copy.
func stale(req *http.Request, why *throttle.Error) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Age", "300")
	io.WriteString(w, "the price as it was five minutes ago")
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// What cannot be had now is answered from elsewhere.
func ExampleTransport_degrade() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "the price as it is")
	})
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base:     server.Transport(),
		Quotas:   map[string]quota.Quotas{"api.example.com/": {{N: 1, Per: time.Minute}}},
		Mode:     pacer.ModeDegrade,
		Fallback: stale,
	}}
	for range 2 {
		resp, err := client.Get("https://api.example.com/price")
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(string(body))
	}
	// Output:
	// the price as it is
	// the price as it was five minutes ago
}

// Hooks tell what happens, here when a server refuses once.
func ExampleTrace() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(n int, _ *http.Request) pacertest.Fault {
		if n > 0 {
			return pacertest.Fault{}
		}
		return pacertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"20"}}}
	}
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base: server.Transport(),
		Trace: &pacer.Trace{
			Answered: func(a pacer.Answered) {
				if a.Held > 0 {
					fmt.Printf("%s is held after a %d\n", a.Bucket, a.Status)
				}
			},
			Retrying: func(r pacer.Retrying) {
				fmt.Printf("again after attempt %d of %s\n", r.Attempt, r.Request.URL.Path)
			},
			Queued: func(q pacer.Queued) {
				fmt.Printf("%s waits in line: %s\n", q.Request.URL.Path, q.Cause)
			},
		},
	}}
	resp, err := client.Get("https://api.example.com/items")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// api.example.com is held after a 429
	// /items waits in line: hold
	// again after attempt 1 of /items
	// 200 OK
}

// An error that wraps a *throttle.Error says that pacer did not send the request,
// why, and when it could have gone. The server knows nothing of it.
func Example_errors() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base:    server.Transport(),
		Quotas:  map[string]quota.Quotas{"api.example.com/": {{Name: "free plan", N: 1, Per: time.Hour}}},
		MaxWait: 10 * time.Second,
	}}
	for range 2 {
		resp, err := client.Post("https://api.example.com/items", "text/plain", strings.NewReader("item"))
		var local *throttle.Error
		switch {
		case errors.As(err, &local):
			fmt.Println("over MaxWait:", errors.Is(err, throttle.ErrMaxWait))
			fmt.Println("bucket:", local.Bucket)
			fmt.Println("quota:", local.Quota)
			fmt.Println("wait:", local.Wait.Round(time.Minute))
		case err != nil:
			fmt.Println("no answer:", err)
		default:
			resp.Body.Close()
			fmt.Println(resp.Status)
		}
	}
	// Output:
	// 200 OK
	// over MaxWait: true
	// bucket: api.example.com
	// quota: free plan
	// wait: 1h0m0s
}
