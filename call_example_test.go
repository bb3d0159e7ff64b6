package pacer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// A language model grants requests and tokens. What a call will take is guessed; what it
// took stands in the answer, and the difference is there for the next call.
func ExampleCall() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()
	transport := &pacer.Transport{
		Base: server.Transport(),
		Quotas: pacer.Table{"api.example.com/": {
			{N: 500, Per: time.Minute, Burst: 500},
			{N: 1000, Unit: "tokens", Per: time.Hour, Burst: 1000},
		}},
		Cost: func(*http.Request) quota.Costs { return nil }, // each Call says what it costs
		Mode: pacer.ModeReject,                               // so that the example need not wait
	}
	client := &http.Client{Transport: transport}
	ask := func(guess, truth int) {
		call := &pacer.Call{Costs: quota.Costs{"tokens": int64(guess)}}
		ctx := pacer.WithCall(context.Background(), call)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/complete", http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := client.Do(req)
		var local *throttle.Error
		if errors.As(err, &local) {
			fmt.Printf("%d tokens: not now, %s\n", guess, local.Quota)
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close() // the usage would be read from it
		call.Settle(quota.Costs{"tokens": int64(truth)})
		fmt.Printf("%d tokens: sent %d time, took %d\n", guess, call.Attempts(), truth)
	}
	ask(800, 300)
	ask(600, 600)
	ask(200, 200)
	// Output:
	// 800 tokens: sent 1 time, took 300
	// 600 tokens: sent 1 time, took 600
	// 200 tokens: not now, 1000 tokens/h burst 1000
}

// The wait for a turn counts against http.Client.Timeout. Acquire waits before, for as
// long as its own context lasts.
func ExampleTransport_Acquire() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()
	transport := &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"/": {{N: 20}}}}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}

	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/", http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		paid, cancel, err := transport.Acquire(ctx, req)
		if err != nil {
			fmt.Println(err) // a *throttle.Error
			return
		}
		defer cancel() // gives back what was not used
		resp, err := client.Do(paid)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	// Output:
	// 200
	// 200
}

// A configuration is reloaded: who waits is timed anew.
func ExampleTransport_SetQuotas() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()
	transport := &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"/": {{N: 1, Per: time.Hour}}}, MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour}
	client := &http.Client{Transport: transport}
	done := make(chan string)
	for range 2 {
		go func() {
			resp, err := client.Get("https://api.example.com/")
			if err == nil {
				resp.Body.Close()
				done <- resp.Status
				return
			}
			done <- err.Error()
		}()
	}
	fmt.Println(<-done) // the other one would wait for an hour

	fmt.Println(transport.SetQuotas(pacer.Table{"/": {{N: -5}}}))
	if err := transport.SetQuotas(pacer.Table{"/": {{N: 100, Burst: 10}}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-done)
	// Output:
	// 200 OK
	// pacer: Quotas["/"]: quota: "-5/s": N is -5, want at least 0 (0 is no limit)
	// 200 OK
}

// What must be quick is refused rather than kept waiting; all else waits.
func ExampleTransport_modes() {
	transport := &pacer.Transport{
		Modes: map[string]pacer.Mode{"GET api.example.com/suggest": pacer.ModeReject},
		Quotas: pacer.Table{
			"api.example.com/": {{N: 5, Burst: 10}},
		},
		Line: pacer.Line{
			Reserve: 0.2, // of all quotas, for what is urgent
			Priority: func(req *http.Request) throttle.Priority {
				if req.Header.Get("X-Batch") != "" {
					return throttle.Background
				}
				return throttle.Normal
			},
		},
	}
	fmt.Println(transport.Validate())
	// Output: <nil>
}

// What was learned is kept in a file from one run of a program to the next.
func ExampleTransport_Save() {
	server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 1, Window: time.Hour}, pacertest.XRateLimit)
	defer server.Close()
	var file bytes.Buffer

	first := &pacer.Transport{Base: server.Transport(), Mode: pacer.ModeReject}
	resp, err := (&http.Client{Transport: first}).Get("https://api.example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, first.Save(&file))

	second := &pacer.Transport{Base: server.Transport(), Mode: pacer.ModeReject}
	if err := second.Load(&file); err != nil {
		fmt.Println(err)
	}
	_, err = (&http.Client{Transport: second}).Get("https://api.example.com/")
	fmt.Println(errors.Is(err, throttle.ErrWouldWait), server.Stats().Refused)
	// Output:
	// 200 <nil>
	// true 0
}

// Why a request waited, and for how long: each cause with its bucket and its quota or limit. The sum is the
// wait.
func ExampleCall_Waits() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()
	transport := &pacer.Transport{Base: server.Transport(), Quotas: pacer.Table{"/": quota.MustParse("20/s even")}}
	client := &http.Client{Transport: transport}
	var call pacer.Call
	for range 2 {
		req, err := http.NewRequestWithContext(pacer.WithCall(context.Background(), &call), http.MethodGet, "https://api.example.com/", http.NoBody)
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
	}
	var sum time.Duration
	for _, w := range call.Waits() {
		sum += w.For
		fmt.Println(w.Cause, w.Quota, w.Bucket)
	}
	fmt.Println(sum == call.Waited())
	// Output:
	// pace 20/s even api.example.com
	// true
}

// A log of what pacer does, or in ModeObserve of what it would have done. It shows the pattern, and not the
// URL.
func ExampleLog() {
	server := pacertest.NewServer(nil, pacertest.NoHeaders)
	defer server.Close()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "wait" || a.Key == "advice" {
			return slog.Attr{} // so that the output is the same each time
		}
		return a
	}}))
	client := &http.Client{Transport: &pacer.Transport{
		Base: server.Transport(), Mode: pacer.ModeObserve, Trace: pacer.Log(logger),
		Quotas: pacer.Table{"api.example.com/users/{token}": quota.MustParse("1/m even")},
	}}
	for range 2 {
		resp, err := client.Get("https://api.example.com/users/secret?key=secret")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	// Output: level=INFO msg="pacer: request would have waited" method=GET bucket=api.example.com/users/{token} cause=pace quota="1/m even"
}
