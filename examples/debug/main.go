// The program serves a page on which you see what a pacer.Transport does, and why requests wait. It prints the
// URL; open it in a browser, and press Enter in the terminal to end it. Meanwhile it calls five services with
// different limits, which run in the same process:
//
//   - api.example.com admits 40 requests in 10 seconds, and says so: when none is left, requests wait for the
//     reset.
//   - search.example.com refuses what is too much with Retry-After, and holds everybody back.
//   - chat.example.com has a configured quota for each channel, and one for all of them.
//   - flaky.example.com answers one request in four with 503: see the retry budget.
//   - quiet.example.com has no limit.
//
// It runs offline. If there is nobody at the terminal, it ends after two seconds.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/pacerdebug"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, end := context.WithCancel(ctx)
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			time.Sleep(2 * time.Second) // nobody is there
		}
		end()
	}()
	services := newServices()
	defer services.close()
	transport := &pacer.Transport{
		Base: services,
		Quotas: pacer.Table{
			"POST chat.example.com/channels/{channel}/messages": quota.MustParse("1/s burst 3"),
			"chat.example.com/": quota.MustParse("3/s burst 5, 4 in flight"),
		},
	}

	// These are the lines to copy. The page has a port of its own, on localhost.
	page := &pacerdebug.Page{Transport: transport}
	transport.Trace = pacer.Traces(transport.Trace, page.Trace())
	mux := http.NewServeMux()
	mux.Handle("GET /debug/pacer", page)
	url, closeServer := serve(ctx, mux)
	defer closeServer()

	fmt.Printf("%s/debug/pacer\n\nPress Enter to end.\n", url)
	play(ctx, &http.Client{Transport: transport})
	s := transport.Stats()
	fmt.Printf("%d requests waited, %v in all; servers refused %d.\n", s.WaitCount, s.WaitDuration.Round(time.Millisecond), s.Refused)
}

// serve serves on a port of localhost.
func serve(ctx context.Context, h http.Handler) (url string, closeServer func()) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { server.Close() }
}

// play sends requests until ctx ends: for each line of the table so many clients, each of which pauses between
// its requests.
func play(ctx context.Context, client *http.Client) {
	var wg sync.WaitGroup
	for _, load := range []struct {
		clients int
		pause   time.Duration
		method  string
		url     string
	}{
		{8, 400 * time.Millisecond, "GET", "http://api.example.com/items?token=secret"},
		{4, 900 * time.Millisecond, "GET", "http://search.example.com/"},
		{3, 300 * time.Millisecond, "POST", "http://chat.example.com/channels/general/messages"},
		{2, 900 * time.Millisecond, "POST", "http://chat.example.com/channels/random/messages"},
		{2, 500 * time.Millisecond, "GET", "http://flaky.example.com/"},
		{1, 700 * time.Millisecond, "GET", "http://quiet.example.com/"},
	} {
		for range load.clients {
			wg.Go(func() {
				for ctx.Err() == nil {
					call(ctx, client, load.method, load.url)
					select {
					case <-time.After(load.pause):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	wg.Wait()
}

func call(ctx context.Context, client *http.Client, method, url string) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		log.Fatal(err)
	}
	if resp, err := client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// services are servers in memory, by host.
type services map[string]service

type service struct {
	server    *pacertest.Server
	transport *http.Transport
}

func newServices() services {
	all := services{}
	for host, s := range map[string]*pacertest.Server{
		"api.example.com":    pacertest.NewServer(&pacertest.FixedWindow{Limit: 40, Window: 10 * time.Second}, pacertest.XRateLimit),
		"search.example.com": pacertest.NewServer(&pacertest.TokenBucket{Rate: 1, Burst: 3}, pacertest.RetryAfterOnly),
		"chat.example.com":   {},
		"flaky.example.com": {Faults: func(n int, _ *http.Request) (f pacertest.Fault) {
			if n%4 == 3 {
				f.Status = http.StatusServiceUnavailable
			}
			return f
		}},
		"quiet.example.com": {},
	} {
		s.Latency = 80 * time.Millisecond
		all[host] = service{s, s.Transport()}
	}
	return all
}

// RoundTrip implements http.RoundTripper.
func (s services) RoundTrip(req *http.Request) (*http.Response, error) {
	return s[req.URL.Host].transport.RoundTrip(req)
}

func (s services) close() {
	for _, one := range s {
		one.server.Close()
	}
}
