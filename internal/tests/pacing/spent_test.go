package pacing

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
)

// header is a Spent that reads what an answer has cost from one.
func header(name, unit string) func(*http.Response) quota.Costs {
	return func(resp *http.Response) quota.Costs {
		n, err := strconv.Atoi(resp.Header.Get(name))
		if err != nil {
			return nil
		}
		return quota.Costs{unit: int64(n)}
	}
}

// estimate is a Cost that is always the same.
func estimate(unit string, n int) func(*http.Request) quota.Costs {
	return func(*http.Request) quota.Costs { return quota.Costs{unit: int64(n)} }
}

// An estimate is settled by what the answer tells, in both directions.
func TestSpentSettlesTheEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{}
		tr := &pacer.Transport{Base: base, Cost: estimate("points", 10), Spent: header("X-Cost", "points"), Quotas: lab.All(quota.Quota{
			N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100,
		})}
		req := lab.Request(t, "POST", "http://a.example/graphql", "")
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
			base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(200, "", "X-Cost", test.cost)}
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
			if got := left(t, tr, req, "points", 100); got != test.left {
				t.Errorf("left %d after a cost of %q, want %d", got, test.cost, test.left)
			}
		}
	})
}

// What the answers told late is paid by those who come next.
func TestSpentMoreThanThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, "", "X-Cost", "50"), lab.Status(200, "", "X-Cost", "3"), lab.Status(200, "", "X-Cost", "10"),
		}}
		tr := &pacer.Transport{
			Base: base, Cost: estimate("points", 10), Spent: header("X-Cost", "points"),
			Quotas: lab.All(quota.Quota{N: 10, Unit: "points", Burst: 20}),
		}
		start := time.Now()
		var at []time.Duration
		for range 4 {
			if _, err := tr.RoundTrip(lab.Request(t, "POST", "http://a.example/graphql", "")); err != nil {
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
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(304, "")}}
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.Budget(100)), Spent: func(resp *http.Response) quota.Costs {
			if resp.StatusCode == http.StatusNotModified {
				return quota.Costs{quota.Requests: 0}
			}
			return nil
		}}
		req := lab.Request(t, "GET", "http://a.example/", "")
		for range 20 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(t, tr, req, quota.Requests, 100); got != 100 {
			t.Errorf("left %d, want 100", got)
		}
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(200, "")}
		for range 20 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(t, tr, req, quota.Requests, 100); got != 80 {
			t.Errorf("left %d, want 80", got)
		}
	})
}

// Refusals and failures tell what they have cost too. Each attempt is settled for itself.
func TestSpentOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(429, "", "X-Cost", "0"), lab.Status(503, "", "X-Cost", "5"), lab.Fails(lab.ErrBroken), lab.Status(200, "", "X-Cost", "25"),
		}}
		tr := &pacer.Transport{
			Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero, Cost: estimate("points", 10), Spent: header("X-Cost", "points"),
			Quotas: lab.All(quota.Quota{N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100}),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if got := left(t, tr, req, "points", 100); got != 100-0-5-10-25 {
			t.Errorf("left %d, want 60: of the lost one nobody knows, and the estimate stays", got)
		}
	})
}

// What never reached the server cost nothing.
func TestSpentOfWhatWasNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Fails(lab.ErrDial)}}, Retry: pacer.Retry{MaxAttempts: -1},
			Cost: estimate("tokens", 10), Quotas: lab.All(tokens(100), lab.Budget(100)),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err == nil {
			t.Fatal("no error")
		}
		if left(t, tr, req, "tokens", 100) != 100 || left(t, tr, req, quota.Requests, 100) != 100 {
			t.Errorf("left %d tokens and %d requests, want all", left(t, tr, req, "tokens", 100), left(t, tr, req, quota.Requests, 100))
		}
	})
}

// Reads and writes of different cost, in quotas of their own and in that of the host.
func TestCostsByMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: lab.OK(),
			Quotas: map[string]quota.Quotas{
				"a.example/":      {quota.Quota{N: 1, Per: 1000 * time.Hour, Unit: "points", Burst: 100}},
				"GET a.example/":  {lab.Budget(50)},
				"POST a.example/": {lab.Budget(20)},
			},
			Cost: func(r *http.Request) quota.Costs {
				if r.Method == http.MethodGet {
					return quota.Costs{"points": 1}
				}
				return quota.Costs{"points": 5}
			},
		}
		var got []string
		for _, method := range []string{"GET", "GET", "POST", "PUT", "POST"} {
			if _, err := tr.RoundTrip(lab.Request(t, method, "http://a.example/x", "")); err != nil {
				t.Fatal(err)
			}
			at := func(method, unit string, burst int) int {
				return left(t, tr, lab.Request(t, method, "http://a.example/", ""), unit, burst)
			}
			got = append(got, fmt.Sprintf("%d %d %d", at("PUT", "points", 100), at("GET", quota.Requests, 50), at("POST", quota.Requests, 20)))
		}
		if want := []string{"99 49 20", "98 48 20", "93 48 19", "88 48 19", "83 48 18"}; !slices.Equal(got, want) {
			t.Errorf("left %q, want %q", got, want)
		}
	})
}

// What an answer tells of its cost counts when a bucket has calmed down, too.
func TestSpentAfterSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(304, "")}}, Quotas: lab.All(lab.Budget(100)),
			Spent: func(*http.Response) quota.Costs { return quota.Costs{quota.Requests: 0} },
			Trace: &pacer.Trace{Answered: func(a pacer.Answered) {
				if n, ok := a.Costs[quota.Requests]; !ok || n != 0 {
					t.Errorf("Trace was told of %v, want 0 requests", a.Costs)
				}
			}},
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		for range 90 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(t, tr, req, quota.Requests, 100); got != 100 {
			t.Errorf("left %d, want 100", got)
		}
	})
}

// What Spent told is known to Settle: the same number changes nothing.
func TestSettleAfterSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "", "X-Cost", "7")}}, Quotas: lab.All(lab.Budget(100)),
			Spent: header("X-Cost", quota.Requests),
		}
		req := lab.Request(t, "GET", "http://a.example/", "")
		var c pacer.Call
		if _, err := tr.RoundTrip(of(req, &c)); err != nil {
			t.Fatal(err)
		}
		c.Settle(quota.Costs{quota.Requests: 7})
		if got := left(t, tr, req, quota.Requests, 100); got != 93 {
			t.Errorf("left %d, want 93", got)
		}
	})
}

// A request that never reached the server has cost nothing, whatever is settled later.
func TestSettleOfWhatWasNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{MaxAttempts: -1}, Cost: estimate("tokens", 10), Quotas: lab.All(tokens(100))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		for range 5 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Fails(lab.ErrDial)}
		var c pacer.Call
		if _, err := tr.RoundTrip(of(req, &c)); err == nil {
			t.Fatal("no error")
		}
		c.Settle(quota.Costs{"tokens": 0})
		if got := left(t, tr, req, "tokens", 100); got != 50 {
			t.Errorf("left %d, want 50", got)
		}
	})
}

// Where only answers say what requests cost, requests that follow wait until the quota is out of debt; one that
// says that it costs nothing does not.
func TestCostsThatOnlyAnswersTell(t *testing.T) {
	for _, by := range []string{"Spent", "Settle"} {
		for _, text := range []string{"1000 tokens/s", "1000 tokens/s burst 1000", "1000 tokens/s window", "1000 tokens/s log"} {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Base: lab.OK(), Cost: lab.NoCost, Quotas: pacer.Table{"/": quota.MustParse("100/s, " + text)}}
				if by == "Spent" {
					tr.Spent = func(*http.Response) quota.Costs { return quota.Costs{"tokens": 800} }
				}
				send := func(call *pacer.Call) {
					req := lab.Request(t, "GET", "http://a.example/", "")
					resp, err := tr.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), call)))
					if err != nil {
						t.Fatal(err)
					}
					if resp.Body.Close(); by == "Settle" {
						call.Settle(quota.Costs{"tokens": 800})
					}
				}
				start := time.Now()
				for range 10 {
					send(&pacer.Call{})
				}
				paid := time.Since(start)
				if paid < 4*time.Second {
					t.Errorf("%s, %s: 8000 tokens in %v", by, text, paid)
				}
				if send(&pacer.Call{Costs: quota.Costs{"tokens": 0}}); time.Since(start) != paid {
					t.Errorf("%s, %s: what costs nothing waited %v", by, text, time.Since(start)-paid)
				}
			})
		}
	}
}

// A quota in a unit of which nothing says what requests cost would limit nothing, and nobody would notice.
func TestAQuotaInAUnitWantsACost(t *testing.T) {
	table := pacer.Table{"/": quota.MustParse("500/m, 30000 tokens/m, 1MiB/s"), "b.example/": quota.MustParse("5 images in flight")}
	want := `pacer: Quotas["/"]: quota: "30000 tokens/m": want Cost or Spent, which say what a request costs in tokens; if only Calls say it, a Cost that returns nil` + "\n" +
		`pacer: Quotas["b.example/"]: quota: "5 images in flight": want Cost or Spent, which say what a request costs in images; if only Calls say it, a Cost that returns nil`
	if err := (&pacer.Transport{Quotas: table}).Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if err := new(pacer.Transport).SetQuotas(table); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for _, tr := range []*pacer.Transport{{Cost: lab.NoCost}, {Spent: func(*http.Response) quota.Costs { return nil }}} {
		if tr.Quotas = table; tr.Validate() != nil {
			t.Error(tr.Validate())
		}
	}
}
