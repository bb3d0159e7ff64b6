package pacing

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func TestCallZeroAsksForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket})}
		var c pacer.Call
		c.Settle(quota.Costs{quota.Requests: 100}) // nothing was sent: it does nothing
		if c.Attempts() != 0 || c.Waited() != 0 {
			t.Errorf("new: %d attempts, waited %v", c.Attempts(), c.Waited())
		}
		for i := range 3 {
			if _, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &c)); err != nil {
				t.Fatal(err)
			}
			if c.Attempts() != i+1 || c.Waited() != time.Duration(i)*time.Second {
				t.Errorf("%d attempts, waited %v", c.Attempts(), c.Waited())
			}
		}
	})
}

// Attempts counts what was sent, whatever for; Waited is the time in line, and not that of
// the backoff or of the server.
func TestCallAttemptsAndWaited(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		answers  []func(*http.Request) (*http.Response, error)
		method   string
		attempts int
		waited   time.Duration
		took     time.Duration
	}{
		"once":           {[]func(*http.Request) (*http.Response, error){lab.Status(200, "")}, "GET", 1, 0, 0},
		"a redirect":     {[]func(*http.Request) (*http.Response, error){lab.Status(302, "", "Location", "/b"), lab.Status(200, "")}, "GET", 2, 10 * s, 10 * s},
		"to another":     {[]func(*http.Request) (*http.Response, error){lab.Status(302, "", "Location", "http://b.example/"), lab.Status(200, "")}, "GET", 2, 0, 0},
		"a failure":      {[]func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Status(200, "")}, "GET", 2, 9 * s, 10 * s}, // after a backoff of 1s
		"a lost one":     {[]func(*http.Request) (*http.Response, error){lab.Fails(lab.ErrBroken), lab.Status(200, "")}, "GET", 2, 9 * s, 10 * s},
		"a refusal":      {[]func(*http.Request) (*http.Response, error){lab.Status(429, "", "Retry-After", "15"), lab.Status(200, "")}, "GET", 2, 15 * s, 15 * s},
		"not idempotent": {[]func(*http.Request) (*http.Response, error){lab.Status(503, "")}, "POST", 1, 0, 0},
		"all together": {[]func(*http.Request) (*http.Response, error){
			lab.Status(429, ""), lab.Status(503, ""), lab.Status(302, "", "Location", "/b"), lab.Fails(lab.ErrBroken), lab.Status(200, ""),
		}, "GET", 5, 38 * s, 40 * s}, // two backoffs of 1s
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{
					Base: &lab.Script{Answers: test.answers}, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}),
				}
				var c pacer.Call
				start := time.Now()
				resp, err := (&http.Client{Transport: tr}).Do(of(lab.Request(t, test.method, "http://a.example/", ""), &c))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if took := time.Since(start); c.Attempts() != test.attempts || c.Waited() != test.waited || took != test.took {
					t.Errorf("%d attempts, waited %v of %v; want %d, %v of %v", c.Attempts(), c.Waited(), took, test.attempts, test.waited, test.took)
				}
			})
		})
	}
}

// Who gives up has waited too.
func TestCallWaitedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}
		serial(t, tr, base, 1)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(7*time.Second, cancel)
		var c pacer.Call
		if _, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx), &c)); err == nil {
			t.Error("no error")
		}
		if c.Attempts() != 0 || c.Waited() != 7*time.Second {
			t.Errorf("%d attempts, waited %v, want 0 and 7s", c.Attempts(), c.Waited())
		}
	})
}

// What a Call says counts, and of what it does not say Cost does. Neither map is changed.
func TestCallCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := quota.Costs{"tokens": 10, "images": 3}
		var told quota.Costs
		tr := &pacer.Transport{
			Trace: &pacer.Trace{Answered: func(a pacer.Answered) { told = a.Costs }},
			Base:  lab.OK(), Cost: func(*http.Request) quota.Costs { return ours },
			Quotas: lab.All(
				tokens(100),
				quota.Quota{N: 1, Per: 1000 * time.Hour, Unit: "images", Burst: 100},
				quota.Quota{N: 1, Per: 1000 * time.Hour, Burst: 100},
			),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		requests := 100
		for _, test := range []struct {
			costs                    quota.Costs
			tokens, images, requests int // left
		}{
			{nil, 90, 97, 99},
			{quota.Costs{"tokens": 40}, 50, 94, 98},
			{quota.Costs{"images": 0, quota.Requests: 5}, 40, 94, 93},
			{quota.Costs{"tokens": -5, "images": 1}, 40, 93, 92},
			{quota.Costs{"other": 7}, 30, 90, 91},
			{quota.Costs{quota.Requests: -3, "": -1, "tokens": 0}, 30, 87, 90},
			{quota.Costs{"": 4, "tokens": 0}, 30, 84, 86},
		} {
			c := &pacer.Call{Costs: maps.Clone(test.costs)}
			if _, err := tr.RoundTrip(of(req, c)); err != nil {
				t.Fatal(err)
			}
			got := [3]int{left(t, tr, req, "tokens", 100), left(t, tr, req, "images", 100), left(t, tr, req, quota.Requests, 100)}
			if got != [3]int{test.tokens, test.images, test.requests} {
				t.Errorf("after %v: left %v, want %d %d %d", test.costs, got, test.tokens, test.images, test.requests)
			}
			if want := requests - test.requests; told[quota.Requests] != int64(want) || told[""] != 0 {
				t.Errorf("after %v: Trace was told of %v, want %d requests", test.costs, told, want)
			}
			requests = test.requests
			if !maps.Equal(c.Costs, test.costs) || !maps.Equal(ours, quota.Costs{"tokens": 10, "images": 3}) {
				t.Errorf("costs are changed: %v, %v", c.Costs, ours)
			}
		}
	})
}

// TestCallCostsInRequests: what a Call says of requests counts, and not what the Transport's Cost says, by
// whichever of the two names of the unit.
func TestCallCostsInRequests(t *testing.T) {
	for _, names := range [][2]string{{quota.Requests, quota.Requests}, {quota.Requests, ""}, {"", quota.Requests}, {"", ""}} {
		for said, want := range map[int]int{2: 2, 0: 1, -1: 1} {
			synctest.Test(t, func(t *testing.T) {
				var told quota.Costs
				tr := &pacer.Transport{
					Base: lab.OK(), Cost: func(*http.Request) quota.Costs { return quota.Costs{names[0]: 10} },
					Trace: &pacer.Trace{Answered: func(a pacer.Answered) { told = a.Costs }},
				}
				req := lab.Request(t, "GET", "http://a.example/", "")
				resp, err := tr.RoundTrip(of(req, &pacer.Call{Costs: quota.Costs{names[1]: int64(said)}}))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got := told[quota.Requests]; got != int64(want) || len(told) != 1 {
					t.Errorf("Cost has %q: 10, the Call %q: %d: charged %v, want %d", names[0], names[1], said, told, want)
				}
			})
		}
	}
}

func TestCallPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{
			Base: base, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}),
			Line: pacer.Line{Priority: func(r *http.Request) throttle.Priority {
				if r.URL.Path == "/batch" {
					return throttle.Background
				}
				return throttle.Normal
			}},
		}
		serial(t, tr, base, 1)
		var wg sync.WaitGroup
		for _, who := range []struct {
			path string
			p    throttle.Priority
		}{{"/batch", 0}, {"/normal", 0}, {"/person", throttle.Urgent}, {"/batch", throttle.Urgent}, {"/later", throttle.Background}} {
			wg.Go(func() {
				if _, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example"+who.path, ""), &pacer.Call{Priority: who.p})); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		want := []string{"GET http://a.example/person", "GET http://a.example/batch", "GET http://a.example/normal", "GET http://a.example/batch", "GET http://a.example/later"}
		if got := base.Got[1:]; !slices.Equal(got, want) {
			t.Errorf("went in the order %q, want %q", got, want)
		}
	})
}

// Flows go in turns, by weight; one that comes goes next, whatever its bounds would say of the whole line, and
// is told so.
func TestLineFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		flow := func(r *http.Request) string { return r.URL.Query().Get("for") }
		tr := &pacer.Transport{
			Base: base, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}),
			Line: pacer.Line{Flow: flow, Weight: func(r *http.Request) int { return map[string]int{"paying": 2, "odd": -7}[flow(r)] }},
		}
		serial(t, tr, base, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		ask := func(who string, n int) {
			for range n {
				wg.Go(func() {
					req := lab.Request(t, "GET", "http://a.example/?for="+who, "").WithContext(ctx)
					if _, err := tr.RoundTrip(req); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
		}
		ask("batch", 1000)
		for _, test := range []struct {
			who  string
			want time.Duration
		}{{"batch", 1001 * time.Second}, {"person", 2 * time.Second}} {
			f, err := tr.Forecast(lab.Request(t, "GET", "http://a.example/?for="+test.who, ""))
			if err != nil || f.Wait != test.want {
				t.Errorf("%s is told %v, %v, want %v", test.who, f.Wait, err, test.want)
			}
		}
		ask("paying", 4)
		ask("odd", 2)
		time.Sleep(8*time.Second - 1)
		cancel()
		wg.Wait()
		var got []string
		for _, url := range base.Got[1:] {
			_, who, _ := strings.Cut(url, "=")
			got = append(got, who)
		}
		// After one of each, who pays for two has had a half: it goes again, and then is level with the others.
		if want := []string{"batch", "paying", "odd", "paying", "batch", "paying", "odd"}; !slices.Equal(got, want) {
			t.Errorf("went in the order %q, want %q", got, want)
		}
	})
}

// Who asks a language model guesses what it will cost. The body of the answer tells.
func TestCallSettleFromTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, `{"usage": {"total_tokens": 400}}`), lab.Status(200, `{"usage": {"total_tokens": 1500}}`), lab.Status(200, `{}`),
		}}
		tr := &pacer.Transport{Base: base, Cost: lab.NoCost, MaxWait: time.Hour, MaxStandstill: time.Hour, Quotas: lab.All(quota.Quota{N: 60, Per: time.Minute, Unit: "tokens", Burst: 2000})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		start := time.Now()
		ask := func() {
			c := &pacer.Call{Costs: quota.Costs{"tokens": 1000}}
			resp, err := tr.RoundTrip(of(req, c))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var got struct {
				Usage struct {
					Total int `json:"total_tokens"`
				}
			}
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if n := got.Usage.Total; n > 0 {
				c.Settle(quota.Costs{"tokens": int64(n)})
				c.Settle(quota.Costs{"tokens": int64(n)}) // once more changes nothing
			}
		}
		ask()
		if got := left(t, tr, req, "tokens", 2000); got != 1600 {
			t.Errorf("left %d, want 1600: 600 came back", got)
		}
		ask()
		if got := left(t, tr, req, "tokens", 2000); got != 100 {
			t.Errorf("left %d, want 100: 500 were charged later", got)
		}
		ask() // 900 are missing, at one a second
		if took := time.Since(start); took != 900*time.Second {
			t.Errorf("took %v, want 15m", took)
		}
	})
}

// What comes back lets those who wait go, and what is charged later has them wait for longer.
func TestCallSettleRetimesThoseWhoWait(t *testing.T) {
	for name, test := range map[string]struct {
		spent int
		want  time.Duration // when the second one goes
	}{
		"as claimed":     {100, 50 * time.Second},
		"less":           {40, 10 * time.Second}, // now: it is told after 10s
		"a little less":  {80, 30 * time.Second},
		"more":           {150, 100 * time.Second},
		"nothing at all": {0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Base: lab.OK(), Cost: lab.NoCost, Quotas: lab.All(quota.Quota{N: 1, Unit: "tokens", Burst: 100})}
				req := lab.Request(t, "GET", "http://a.example/", "")
				first := &pacer.Call{Costs: quota.Costs{"tokens": 100}}
				if _, err := tr.RoundTrip(of(req, first)); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				time.AfterFunc(10*time.Second, func() { first.Settle(quota.Costs{"tokens": int64(test.spent)}) })
				if _, err := tr.RoundTrip(of(req, &pacer.Call{Costs: quota.Costs{"tokens": 50}})); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != test.want {
					t.Errorf("went after %v, want %v", took, test.want)
				}
			})
		})
	}
}

// Settle is about what was sent last: each attempt has paid for itself.
func TestCallSettleIsAboutTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Status(200, "")}}, Retry: pacer.Retry{Backoff: lab.Steady{}}, Cost: lab.NoCost, Quotas: lab.All(tokens(1000))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		c := &pacer.Call{Costs: quota.Costs{"tokens": 100}}
		if _, err := tr.RoundTrip(of(req, c)); err != nil {
			t.Fatal(err)
		}
		if got := left(t, tr, req, "tokens", 1000); got != 800 {
			t.Errorf("left %d, want 800", got)
		}
		c.Settle(quota.Costs{"tokens": 30})
		if got := left(t, tr, req, "tokens", 1000); got != 870 {
			t.Errorf("left %d, want 870", got)
		}
	})
}

// Before the answer has come too: from what is seen of a request on its way.
func TestCallSettleBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &pacer.Call{Costs: quota.Costs{"tokens": 100}}
		tr := &pacer.Transport{Cost: lab.NoCost, Quotas: lab.All(tokens(1000)), Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			c.Settle(quota.Costs{"tokens": 10})
			return lab.Answer(r, 200, ""), nil
		})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(of(req, c)); err != nil {
			t.Fatal(err)
		}
		if got := left(t, tr, req, "tokens", 1000); got != 990 {
			t.Errorf("left %d, want 990", got)
		}
	})
}

// What was refused here was not sent, and costs nothing that could be settled.
func TestCallSettleWithoutSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Mode: pacer.ModeReject, Cost: lab.NoCost, Quotas: lab.All(tokens(100))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(of(req, &pacer.Call{Costs: quota.Costs{"tokens": 90}})); err != nil {
			t.Fatal(err)
		}
		c := &pacer.Call{Costs: quota.Costs{"tokens": 50}}
		if _, err := tr.RoundTrip(of(req, c)); err == nil {
			t.Fatal("no error")
		}
		c.Settle(quota.Costs{"tokens": 0})
		if got := left(t, tr, req, "tokens", 100); got != 10 {
			t.Errorf("left %d, want 10", got)
		}
	})
}

// A Call may be asked and settled while it runs, and thousands run at once.
func TestCallConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, who = 20, 20
		tr := &pacer.Transport{
			MaxWait: time.Hour, MaxStandstill: time.Hour, Cost: lab.NoCost, Quotas: lab.All(tokens(100_000), quota.Quota{N: 5, Kind: quota.InFlight}),
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Millisecond)
				return lab.Answer(r, 200, "x"), nil
			}),
		}
		var wg sync.WaitGroup
		for range who {
			wg.Go(func() {
				for range each {
					c := &pacer.Call{Costs: quota.Costs{"tokens": 100}}
					var inner sync.WaitGroup
					inner.Go(func() {
						for c.Attempts() == 0 {
							time.Sleep(time.Millisecond)
						}
						c.Settle(quota.Costs{"tokens": 70})
						_ = c.Waited()
					})
					resp, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), c))
					if err != nil {
						t.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					inner.Wait()
					c.Settle(quota.Costs{"tokens": 50})
				}
			})
		}
		wg.Wait()
		req := lab.Request(t, "GET", "http://a.example/", "")
		if got, want := left(t, tr, req, "tokens", 100_000), 100_000-who*each*50; got != want {
			t.Errorf("left %d, want %d", got, want)
		}
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("state %+v", s)
		}
	})
}

// What a middleware asks for is added to what its caller asks for, and both are told how it went.
func TestCallOfAContextInAContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Cost: lab.NoCost, Quotas: lab.All(tokens(100), quota.Quota{N: 100, Per: time.Hour, Burst: 100, Unit: "images"})}
		outer := &pacer.Call{Priority: throttle.Urgent, Costs: quota.Costs{"tokens": 30, "images": 1}, MaxWait: time.Minute}
		inner := &pacer.Call{Costs: quota.Costs{"tokens": 40}, MaxWait: 500 * time.Millisecond}
		req := of(of(of(lab.Request(t, "GET", "http://a.example/", ""), outer), inner), inner) // the same one again counts once
		if got := pacer.CallFrom(req.Context()); got != inner {
			t.Errorf("CallFrom returns %p, want %p", got, inner)
		}
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if outer.Attempts() != 1 || inner.Attempts() != 1 {
			t.Errorf("%d and %d attempts, want 1 and 1", outer.Attempts(), inner.Attempts())
		}
		plain := lab.Request(t, "GET", "http://a.example/", "")
		if got := [2]int{left(t, tr, plain, "tokens", 100), left(t, tr, plain, "images", 100)}; got != [2]int{60, 99} {
			t.Errorf("left %v, want that the newer cost of each unit counts", got)
		}
		outer.Settle(quota.Costs{"tokens": 10})
		if got := left(t, tr, plain, "tokens", 100); got != 90 {
			t.Errorf("left %d after the outer Call was settled, want 90", got)
		}
		slow := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 2, Per: time.Second, Burst: 1})}
		for range 2 {
			if _, err := slow.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if outer.Waited() != 500*time.Millisecond || inner.Waited() != 500*time.Millisecond {
			t.Errorf("waited %v and %v, want 500ms", outer.Waited(), inner.Waited())
		}
		inner.MaxWait = time.Millisecond
		if _, err := slow.RoundTrip(req); !errors.Is(err, throttle.ErrMaxWait) {
			t.Errorf("got %v, want that the newer MaxWait counts", err)
		}
		if pacer.CallFrom(t.Context()) != nil {
			t.Error("a context without a Call has one")
		}
	})
}

// What a Call asks for itself: bounds, and whether it may be repeated.
func TestCallBounds(t *testing.T) {
	for name, test := range map[string]struct {
		call   *pacer.Call
		method string
		answer func(*http.Request) (*http.Response, error)
		want   []time.Duration
	}{
		"nothing":             {&pacer.Call{}, "GET", lab.Status(503, ""), []time.Duration{0, time.Second, 3 * time.Second}},
		"one attempt":         {&pacer.Call{MaxAttempts: -1}, "GET", lab.Status(503, ""), []time.Duration{0}},
		"four attempts":       {&pacer.Call{MaxAttempts: 4}, "GET", lab.Status(503, ""), []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}},
		"once":                {&pacer.Call{Once: true}, "GET", lab.Status(503, ""), []time.Duration{0}},
		"once, a refusal":     {&pacer.Call{Once: true}, "GET", lab.Status(429, "", "Retry-After", "1"), []time.Duration{0}},
		"once, broken":        {&pacer.Call{Once: true}, "GET", lab.Fails(lab.ErrBroken), []time.Duration{0}},
		"a POST":              {&pacer.Call{}, "POST", lab.Status(503, ""), []time.Duration{0}},
		"an idempotent POST":  {&pacer.Call{Idempotent: true}, "POST", lab.Status(503, ""), []time.Duration{0, time.Second, 3 * time.Second}},
		"an idempotent break": {&pacer.Call{Idempotent: true}, "POST", lab.Fails(lab.ErrBroken), []time.Duration{0, time.Second, 3 * time.Second}},
		"no wait":             {&pacer.Call{MaxWait: -1}, "GET", lab.Status(429, "", "Retry-After", "1"), []time.Duration{0}},
		"a short wait":        {&pacer.Call{MaxWait: time.Second}, "GET", lab.Status(429, "", "Retry-After", "2"), []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){test.answer}}
				tr := &pacer.Transport{Base: base, Rand: lab.Zero, Retry: pacer.Retry{Backoff: lab.Steady{}}}
				start := time.Now()
				tr.RoundTrip(of(lab.Request(t, test.method, "http://a.example/", ""), test.call))
				if got := base.Times(start); !slices.Equal(got, test.want) {
					t.Errorf("sent at %v, want %v", got, test.want)
				}
			})
		})
	}
}

// A Call through two Transports was sent once, and each is settled.
func TestCallOfTwoTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &pacer.Transport{Base: lab.OK(), Cost: lab.NoCost, Quotas: lab.All(tokens(100))}
		outer := &pacer.Transport{Base: inner, Cost: lab.NoCost, Quotas: lab.All(tokens(100))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		c := &pacer.Call{Costs: quota.Costs{"tokens": 50}}
		if _, err := outer.RoundTrip(of(req, c)); err != nil || c.Attempts() != 1 {
			t.Errorf("%v, %d attempts, want 1", err, c.Attempts())
		}
		c.Settle(quota.Costs{"tokens": 20})
		if l := [2]int{left(t, outer, req, "tokens", 100), left(t, inner, req, "tokens", 100)}; l != [2]int{80, 80} {
			t.Errorf("left %v, want 80 and 80", l)
		}
	})
}

// The map of a Call belongs to the caller again as soon as the request was sent.
func TestCallCostsMayBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Cost: lab.NoCost, Quotas: lab.All(tokens(100))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		costs := quota.Costs{"tokens": 40}
		c := &pacer.Call{Costs: costs}
		if _, err := tr.RoundTrip(of(req, c)); err != nil {
			t.Fatal(err)
		}
		costs["tokens"] = 1000
		c.Settle(quota.Costs{"tokens": 10})
		if got := left(t, tr, req, "tokens", 100); got != 90 {
			t.Errorf("left %d, want 90", got)
		}
	})
}

// A Call whose cost is in "token" would draw on no quota in "tokens", and go without a limit.
func TestCallInAMisspelledUnitIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 30, Unit: "tokens"}), Cost: func(*http.Request) quota.Costs { return quota.Costs{"tokens": 1} }}
		for _, mode := range []pacer.Mode{pacer.ModeWait, pacer.ModeReject, pacer.ModeObserve} {
			call := &pacer.Call{Costs: quota.Costs{"token": 1}, Mode: mode}
			_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(pacer.WithCall(t.Context(), call)))
			want := `throttle: a.example: not sent: claim does not fit a quota: cost in "token", want "tokens" as in "30 tokens/s"`
			if mode == pacer.ModeObserve { // delays and refuses nothing
				if err != nil {
					t.Errorf("%v: %v", mode, err)
				}
			} else if !errors.Is(err, throttle.ErrUnit) || err.Error() != want {
				t.Errorf("%v: got %v, want %s", mode, err, want)
			}
		}
	})
}
