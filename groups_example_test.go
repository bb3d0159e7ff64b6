package pacer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/headers"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// Five attempts, shorter delays, and a bound for each attempt; POSTs get a key, so that they may be sent again.
func ExampleRetry() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(n int, _ *http.Request) pacertest.Fault {
		if n < 3 {
			return pacertest.Fault{Status: http.StatusInternalServerError}
		}
		return pacertest.Fault{}
	}
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base: server.Transport(),
		Retry: pacer.Retry{
			MaxAttempts:    5,
			Backoff:        backoff.Exponential{Initial: time.Millisecond},
			AttemptTimeout: 10 * time.Second,
			IdempotencyKey: pacer.RandomIdempotencyKey,
		},
	}}
	resp, err := client.Post("https://api.example.com/orders", "text/plain", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status, "after", server.Stats().Faulted, "failures")
	// Output: 200 OK after 3 failures
}

// A tenth of the quota is kept for requests that a person waits for.
func ExampleLine() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	transport := &pacer.Transport{
		Base:   server.Transport(),
		Quotas: pacer.Table{"api.example.com/": quota.MustParse("10/h burst 10")},
		Mode:   pacer.ModeReject, // so that the example need not wait
		Line: pacer.Line{
			Reserve: 0.1,
			Priority: func(req *http.Request) throttle.Priority {
				if req.URL.Path == "/batch" {
					return throttle.Background
				}
				return throttle.Urgent
			},
		},
	}
	client := &http.Client{Transport: transport}
	sent := map[string]int{}
	for range 10 {
		for _, path := range []string{"/batch", "/batch", "/page"} {
			if resp, err := client.Get("https://api.example.com" + path); err == nil {
				resp.Body.Close()
				sent[path]++
			}
		}
	}
	fmt.Println(sent["/batch"]+sent["/page"], "of", 10, "were sent")
	fmt.Println("batch got at most nine:", sent["/batch"] <= 9)
	// Output:
	// 10 of 10 were sent
	// batch got at most nine: true
}

// Whose batch stands in line keeps nobody else waiting for all of it.
func ExampleLine_flow() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	transport := &pacer.Transport{
		Base:   server.Transport(),
		Quotas: pacer.Table{"api.example.com/": quota.MustParse("1/h even")},
		Line: pacer.Line{
			Flow: func(req *http.Request) string { return req.Header.Get("X-User") },
			Weight: func(req *http.Request) int { // who pays gets twice as much while others wait
				if req.Header.Get("X-Plan") == "pro" {
					return 2
				}
				return 1
			},
		},
		MaxStandstill: pacer.Forever,
	}
	of := func(ctx context.Context, user string) *http.Request {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/", http.NoBody)
		req.Header.Set("X-User", user)
		return req
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 101 { // one goes, and 100 wait
		go func() {
			if resp, err := transport.RoundTrip(of(ctx, "alice")); err == nil {
				resp.Body.Close()
			}
		}()
	}
	for transport.Stats().Waiting < 100 {
		time.Sleep(time.Millisecond)
	}
	for _, user := range []string{"alice", "bob"} {
		f, err := transport.Forecast(of(ctx, user))
		fmt.Println("one more of", user, "would go in", f.Wait.Round(time.Hour), err)
	}
	// Output:
	// one more of alice would go in 101h0m0s <nil>
	// one more of bob would go in 2h0m0s <nil>
}

// The headers of an API that speaks a language of its own, and a limit that is spread evenly over its window.
func ExampleLearn() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("My-Quota", "100")
		w.Header().Set("My-Left", "40")
		w.Header().Set("My-Reset", "60")
	})
	defer server.Close()

	transport := &pacer.Transport{
		Base: server.Transport(),
		Learn: pacer.Learn{
			Headers: &headers.Reader{Dialects: []headers.Dialect{{Limit: "My-Quota", Remaining: "My-Left", Reset: "My-Reset"}}},
			Spend:   throttle.SpendEven,
		},
		Trace: &pacer.Trace{Learned: func(l pacer.Learned) {
			fmt.Printf("%s: %d of %d remain\n", l.Bucket, l.Limits[0].Remaining.N, l.Limits[0].Limit.N)
		}},
	}
	resp, err := (&http.Client{Transport: transport}).Get("https://api.example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output: api.example.com: 40 of 100 remain
}

// Two Transports share a quota, here through a store in memory. Processes share it through one of package
// redisquota.
func ExampleShared() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	shared := pacer.Shared{Store: new(store.Memory)}
	quotas := pacer.Table{"api.example.com/": quota.MustParse("3/h window")}
	for range 2 {
		transport := &pacer.Transport{Base: server.Transport(), Quotas: quotas, Shared: shared, Mode: pacer.ModeReject}
		client := &http.Client{Transport: transport}
		for range 2 {
			resp, err := client.Get("https://api.example.com/")
			if errors.Is(err, throttle.ErrWouldWait) {
				fmt.Println("not now")
				continue
			}
			if err != nil {
				fmt.Println(err)
				continue
			}
			resp.Body.Close()
			fmt.Println(resp.Status)
		}
		if err := transport.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 200 OK
	// 200 OK
	// 200 OK
	// not now
}

// Before work is begun, a program can look whether there will be room for it.
func ExampleTransport_Forecast() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()

	transport := &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"api.example.com/": quota.MustParse("1/h")}}
	client := &http.Client{Transport: transport}
	req, err := http.NewRequest(http.MethodGet, "https://api.example.com/report", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		f, err := transport.Forecast(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		if f.Wait > 0 {
			fmt.Printf("not before %v: %s %s\n", f.Wait.Round(time.Minute), f.Cause, f.Quota)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 200 OK
	// not before 1h0m0s: pace 1/h
}

// patient is a middleware that marks searches as idempotent, whatever its caller asks for.
type patient struct{ next http.RoundTripper }

func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	call := &pacer.Call{Idempotent: req.URL.Path == "/search"}
	return p.next.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), call)))
}

// A middleware adds a Call of its own to that of the caller, who is told how it went all the same.
func ExampleCallFrom() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(n int, _ *http.Request) pacertest.Fault {
		if n == 0 {
			return pacertest.Fault{Status: http.StatusBadGateway}
		}
		return pacertest.Fault{}
	}
	defer server.Close()

	client := &http.Client{Transport: patient{&pacer.Transport{
		Base:  server.Transport(),
		Retry: pacer.Retry{Backoff: backoff.Exponential{Initial: time.Millisecond}},
	}}}
	ctx := pacer.WithCall(context.Background(), &pacer.Call{Priority: throttle.Urgent})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.com/search", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status, "after", pacer.CallFrom(ctx).Attempts(), "attempts")
	// Output: 200 OK after 2 attempts
}

// Why a request was not sent again.
func ExampleGaveUp() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	server.Faults = func(int, *http.Request) pacertest.Fault {
		return pacertest.Fault{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"3600"}}}
	}
	defer server.Close()

	client := &http.Client{Transport: &pacer.Transport{
		Base: server.Transport(),
		Trace: &pacer.Trace{GaveUp: func(g pacer.GaveUp) {
			fmt.Println("gave up:", g.Reason)
			var refused *throttle.Error
			if errors.As(g.Because, &refused) {
				fmt.Println("waited for:", refused.Cause)
			}
		}},
	}}
	resp, err := client.Get("https://api.example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// gave up: wait
	// waited for: hold
	// 503 Service Unavailable
}
