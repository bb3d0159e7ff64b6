package pacer

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// header is a Spent that reads what an answer has cost from one.
func header(name, unit string) func(*http.Response) throttle.Costs {
	return func(resp *http.Response) throttle.Costs {
		n, err := strconv.Atoi(resp.Header.Get(name))
		if err != nil {
			return nil
		}
		return throttle.Costs{unit: n}
	}
}

// estimate is a Cost that is always the same.
func estimate(unit string, n int) func(*http.Request) throttle.Costs {
	return func(*http.Request) throttle.Costs { return throttle.Costs{unit: n} }
}

// An estimate is settled by what the answer tells, in both directions.
func TestSpentSettlesTheEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{}
		tr := &Transport{Base: base, Cost: estimate("points", 10), Spent: header("X-Cost", "points"), Quotas: all(throttle.Quota{
			N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100,
		})}
		req := request(t, "POST", "http://a.example/graphql", "")
		for _, test := range []struct {
			cost string
			left int
		}{
			{"10", 90},
			{"1", 89},
			{"40", 49},
			{"", 39},   // it does not say: the estimate stays
			{"0", 39},  // nothing
			{"-5", 39}, // counts as nothing
		} {
			base.answers = []func(*http.Request) (*http.Response, error){status(200, "", "X-Cost", test.cost)}
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
			if got := left(tr, req, "points", 100); got != test.left {
				t.Errorf("left %d after a cost of %q, want %d", got, test.cost, test.left)
			}
		}
	})
}

// What the answers told late is paid by those who come next.
func TestSpentMoreThanThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			status(200, "", "X-Cost", "50"), status(200, "", "X-Cost", "3"), status(200, "", "X-Cost", "10"),
		}}
		tr := &Transport{
			Base: base, Cost: estimate("points", 10), Spent: header("X-Cost", "points"),
			Quotas: all(throttle.Quota{N: 10, Unit: "points", Burst: 20}),
		}
		start := time.Now()
		var at []time.Duration
		for range 4 {
			if _, err := tr.RoundTrip(request(t, "POST", "http://a.example/graphql", "")); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
		}
		// 20 - 50 is a debt of 30: 10 are there after 4s, of which 7 come back. 3 more are there
		// after 4.3s.
		if want := []time.Duration{0, 4 * time.Second, 4300 * time.Millisecond, 5300 * time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("went at %v, want %v", at, want)
		}
	})
}

// GitHub does not count a 304.
func TestSpentOfWhatCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){status(304, "")}}
		tr := &Transport{Base: base, Quotas: all(budget(100)), Spent: func(resp *http.Response) throttle.Costs {
			if resp.StatusCode == http.StatusNotModified {
				return throttle.Costs{throttle.Requests: 0}
			}
			return nil
		}}
		req := request(t, "GET", "http://a.example/", "")
		for range 20 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(tr, req, throttle.Requests, 100); got != 100 {
			t.Errorf("left %d, want 100", got)
		}
		base.answers = []func(*http.Request) (*http.Response, error){status(200, "")}
		for range 20 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(tr, req, throttle.Requests, 100); got != 80 {
			t.Errorf("left %d, want 80", got)
		}
	})
}

// Refusals and failures tell what they have cost too. Each attempt is settled for itself.
func TestSpentOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &script{answers: []func(*http.Request) (*http.Response, error){
			status(429, "", "X-Cost", "0"), status(503, "", "X-Cost", "5"), fails(errBroken), status(200, "", "X-Cost", "25"),
		}}
		tr := &Transport{
			Base: base, Backoff: steady{}, Rand: zero, Cost: estimate("points", 10), Spent: header("X-Cost", "points"),
			Quotas: all(throttle.Quota{N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100}),
		}
		req := request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if got := left(tr, req, "points", 100); got != 100-0-5-10-25 {
			t.Errorf("left %d, want 60: of the lost one nobody knows, and the estimate stays", got)
		}
	})
}

// What never reached the server cost nothing.
func TestSpentOfWhatWasNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Base: &script{answers: []func(*http.Request) (*http.Response, error){fails(errDial)}}, MaxAttempts: -1,
			Cost: estimate("tokens", 10), Quotas: all(tokens(100), budget(100)),
		}
		req := request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err == nil {
			t.Fatal("no error")
		}
		if left(tr, req, "tokens", 100) != 100 || left(tr, req, throttle.Requests, 100) != 100 {
			t.Errorf("left %d tokens and %d requests, want all", left(tr, req, "tokens", 100), left(tr, req, throttle.Requests, 100))
		}
	})
}

// Reads and writes of different cost, in quotas of their own and in that of the host.
func TestCostsByMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Base: ok(),
			Quotas: map[string]throttle.Quotas{
				"a.example/":      {throttle.Quota{N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100}},
				"GET a.example/":  {budget(50)},
				"POST a.example/": {budget(20)},
			},
			Cost: func(r *http.Request) throttle.Costs {
				if r.Method == http.MethodGet {
					return throttle.Costs{"points": 1}
				}
				return throttle.Costs{"points": 5}
			},
		}
		var got []string
		for _, method := range []string{"GET", "GET", "POST", "PUT", "POST"} {
			if _, err := tr.RoundTrip(request(t, method, "http://a.example/x", "")); err != nil {
				t.Fatal(err)
			}
			at := func(method, unit string, burst int) int {
				return left(tr, request(t, method, "http://a.example/", ""), unit, burst)
			}
			got = append(got, fmt.Sprintf("%d %d %d", at("PUT", "points", 100), at("GET", throttle.Requests, 50), at("POST", throttle.Requests, 20)))
		}
		if want := []string{"99 49 20", "98 48 20", "93 48 19", "88 48 19", "83 48 18"}; !slices.Equal(got, want) {
			t.Errorf("left %q, want %q", got, want)
		}
	})
}

// errDial is that of a request which never reached the server.
var errDial = &net.OpError{Op: "dial", Err: errBroken}
