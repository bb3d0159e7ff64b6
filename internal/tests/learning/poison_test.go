package learning

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// A request that the server always refuses, as gRPC refuses a message that is too large, does not shut its host: good
// requests beside it, ten a second for two minutes, are served as if it were not there, but for a few that are late. The
// request itself is sent MaxRefusals times, and its caller gets the refusal.
func TestAPoisonRequestDoesNotShutItsHost(t *testing.T) {
	for _, test := range []struct {
		hint  []string
		every time.Duration // a poison request is made; zero means one at the beginning
	}{
		{nil, 0},
		{[]string{"Retry-After", "1"}, 0},
		{[]string{"Retry-After", "0"}, 0},
		{nil, 30 * time.Second},
		{nil, time.Second},
		{[]string{"Retry-After", "1"}, time.Second},
		{[]string{"Retry-After", "0"}, time.Second},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				served, poisoned := 0, 0
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if req.URL.Path == "/poison" {
						poisoned++
						return lab.Answer(req, 429, "", test.hint...), nil
					}
					served++
					return lab.Answer(req, 200, ""), nil
				})
				tr := &pacer.Transport{Base: base}
				client := &http.Client{Transport: tr}
				start := time.Now()
				var wait sync.WaitGroup
				poisons := 0
				for i := range 1200 {
					if i == 10 || test.every > 0 && i%int(test.every/(100*time.Millisecond)) == 10 {
						poisons++
						wait.Go(func() {
							if got := lab.Get(t, client, "http://a.example/poison"); got != 429 {
								t.Errorf("the poison request got %d", got)
							}
						})
					}
					wait.Go(func() { lab.Get(t, client, "http://a.example/good") })
					time.Sleep(100 * time.Millisecond)
				}
				synctest.Wait()
				mu.Lock()
				if served < 1140 {
					t.Errorf("%d of 1200 good requests were served in %v, want 1140", served, time.Since(start))
				}
				mu.Unlock()
				wait.Wait()
				if poisoned != 11*poisons {
					t.Errorf("%d poison requests were sent %d times, want 11 times each", poisons, poisoned)
				}
			})
		})
	}
}

// Nor does it shut the routes of its host that have quotas of their own: what is served there counts for the host as well.
func TestAPoisonRequestOfAHostDoesNotShutItsRoutes(t *testing.T) {
	for _, hint := range [][]string{nil, {"Retry-After", "1"}} {
		t.Run(fmt.Sprint(hint), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				served, poisoned := 0, 0
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if req.URL.Path == "/poison" {
						poisoned++
						return lab.Answer(req, 429, "", hint...), nil
					}
					served++
					return lab.Answer(req, 200, ""), nil
				})
				client := &http.Client{Transport: &pacer.Transport{Base: base, Quotas: pacer.Table{"a.example/route": quota.MustParse("20/s")}}}
				var wait sync.WaitGroup
				for i := range 1200 {
					if i == 10 {
						wait.Go(func() { lab.Get(t, client, "http://a.example/poison") })
					}
					wait.Go(func() { lab.Get(t, client, "http://a.example/route") })
					time.Sleep(100 * time.Millisecond)
				}
				synctest.Wait()
				mu.Lock()
				if served < 1140 {
					t.Errorf("%d of 1200 requests of the route were served, want 1140", served)
				}
				mu.Unlock()
				wait.Wait()
				if poisoned != 11 {
					t.Errorf("the poison request was sent %d times, want 11", poisoned)
				}
			})
		})
	}
}

// A poison request whose refusals say that nothing remains of a limit makes all wait for the reset, as any such answer does. But it is not
// the one that goes first after each reset: others go between its refusals.
func TestAPoisonRequestThatStatesALimitLetsOthersAhead(t *testing.T) {
	for _, header := range [][]string{
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0"},
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "10"},
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "10", "Retry-After", "10"},
	} {
		t.Run(fmt.Sprint(header[4:]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var longest time.Duration // for which no good request was served
				last := time.Now()
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(20 * time.Millisecond)
					if req.URL.Path == "/poison" {
						return lab.Answer(req, 429, "", header...), nil
					}
					mu.Lock()
					defer mu.Unlock()
					longest, last = max(longest, time.Since(last)), time.Now()
					return lab.Answer(req, 200, ""), nil
				})
				client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: func() float64 { return 0.5 }}}
				var wait sync.WaitGroup
				for i := range 1200 {
					if i == 10 {
						wait.Go(func() { lab.Get(t, client, "http://a.example/poison") })
					}
					wait.Go(func() { lab.Get(t, client, "http://a.example/good") })
					time.Sleep(100 * time.Millisecond)
				}
				wait.Wait()
				if longest > 35*time.Second { // three resets; if the poison request went first after each of ten, 100 s
					t.Errorf("no good request was served for %v", longest)
				}
			})
		})
	}
}

// Nor do such requests that are made again and again, with what they say about when to come back: of one that was refused
// when it went ahead, and that has not gone again since, the next one of the kind goes on with what was seen.
func TestPoisonRequestsWithAHintDoNotShutTheirHost(t *testing.T) {
	for _, test := range []struct {
		hint  string
		every time.Duration
	}{
		{"1", 2 * time.Second},
		{"1", 5 * time.Second},
		{"1", 10 * time.Second},
		{"5", 5 * time.Second},
		{"5", 10 * time.Second},
		{"5", 30 * time.Second},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				served := 0
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(20 * time.Millisecond)
					if req.URL.Path == "/poison" {
						return lab.Answer(req, 429, "", "Retry-After", test.hint), nil
					}
					mu.Lock()
					defer mu.Unlock()
					served++
					return lab.Answer(req, 200, ""), nil
				})
				client := &http.Client{Transport: &pacer.Transport{Base: base}}
				var wait sync.WaitGroup
				for i := range 1200 {
					if i%int(test.every/(100*time.Millisecond)) == 10 {
						wait.Go(func() { lab.Get(t, client, "http://a.example/poison") })
					}
					wait.Go(func() { lab.Get(t, client, "http://a.example/good") })
					time.Sleep(100 * time.Millisecond)
				}
				synctest.Wait()
				mu.Lock()
				if served < 1140 {
					t.Errorf("%d of 1200 good requests were served in two minutes, want 1140", served)
				}
				mu.Unlock()
				wait.Wait()
			})
		})
	}
}

// Requests of a narrow route, of which the server says nothing, look the same. They are served in the end, and so are those
// of the wide route beside it.
func TestANarrowSilentRouteIsServedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var last time.Time // when the narrow route served
		narrow, wide, refused := 0, 0, 0
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case req.URL.Path == "/wide":
				wide++
			case time.Since(last) < time.Second:
				refused++
				return lab.Answer(req, 429, ""), nil
			default:
				last = time.Now()
				narrow++
			}
			return lab.Answer(req, 200, ""), nil
		})
		client := &http.Client{Transport: &pacer.Transport{Base: base}}
		start := time.Now()
		var wait sync.WaitGroup
		for i := range 600 {
			if i%20 == 0 && i < 400 { // one in two seconds, of one in a second
				for range 2 {
					wait.Go(func() {
						if got := lab.Get(t, client, "http://a.example/narrow"); got != 200 {
							t.Errorf("narrow got %d", got)
						}
					})
				}
			}
			wait.Go(func() { lab.Get(t, client, "http://a.example/wide") })
			time.Sleep(100 * time.Millisecond)
		}
		wait.Wait()
		if narrow != 40 || wide != 600 {
			t.Errorf("%d narrow requests were served, and %d wide ones, want 40 and 600; %d were refused, in %v", narrow, wide, refused, time.Since(start))
		}
	})
}
