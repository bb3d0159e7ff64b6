package promises

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// It never panics, never believes nonsense: every number is bounded.
func TestPromiseNonsenseIsBounded(t *testing.T) {
	text, err := os.ReadFile("../../../headers/testdata/hostile_headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Headers map[string][]string }
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 70 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for i, c := range cases {
		for k, status := range []int{200, 429, 200, 429} {
			visit(t, func(int) *http.Response {
				resp := reply(status)
				resp.Header = lab.Header(c.Headers)
				return resp
			}, func(g *guest) {
				longest := 11 * (2*time.Minute + time.Second) // MaxStandstill and jitter, for the first attempt and ten refusals
				if k >= 2 {
					longest, g.MaxWait = 2*time.Minute, 2*time.Minute
				}
				for time.Since(g.start) < time.Hour {
					asked := time.Now()
					g.get()
					if took := time.Since(asked); took > longest {
						t.Errorf("case %d: a call took %v, want %v at most", i, took, longest)
					}
					time.Sleep(30 * time.Second)
				}
				last := time.Duration(0)
				for _, at := range append(g.went, time.Hour) {
					if at-last > 16*time.Minute {
						t.Errorf("case %d: nothing went for %v, over MaxHold", i, at-last)
					}
					last = at
				}
			})
		}
	}
}

// Every time is measured against the response's own Date: no client clock is trusted.
func TestPromiseTimesAreMeasuredAgainstDate(t *testing.T) {
	for _, skew := range []time.Duration{-3 * time.Hour, -time.Minute, 0, time.Minute, 3 * time.Hour} {
		for _, retry := range []bool{true, false} {
			var g *guest
			visit(t, func(n int) *http.Response {
				date := g.start.Add(skew)
				reset := date.Add(30 * time.Second)
				h := []string{"Date", date.UTC().Format(http.TimeFormat)}
				switch {
				case n > 0:
					return reply(200)
				case retry:
					return reply(429, append(h, "Retry-After", reset.UTC().Format(http.TimeFormat))...)
				}
				return reply(200, append(h, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))...)
			}, func(it *guest) {
				g = it
				g.get()
				g.get()
				if g.went[1] != 30*time.Second {
					t.Errorf("the server's clock is ahead by %v: went after %v, want 30s", skew, g.went[1])
				}
			})
		}
	}
}

// What cannot be understood is no fact at all.
func TestPromiseNoSenseIsNoFact(t *testing.T) {
	for _, bad := range []string{"", "abc", "NaN", "0x0", "-0", "1e-9", "٠", "0 0", "+0", "null", "∞"} {
		visit(t, always(200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", bad, "X-RateLimit-Reset", "60", "Retry-After", bad), func(g *guest) {
			g.Trace = &pacer.Trace{Answered: func(a pacer.Answered) {
				if a.Refused || a.Held > 0 {
					t.Errorf("%q: held for %v", bad, a.Held)
				}
			}}
			for range 4 {
				g.crowd(50).Wait()
			}
			if took := time.Since(g.start); took != 0 {
				t.Errorf("Remaining %q: 200 requests took %v, want no time", bad, took)
			}
		})
	}
}

// Reset may be epoch s/ms, delta s/ms, decimal, RFC 3339, HTTP-date or 6m0s; which one is told
// by magnitude and dialect.
func TestPromiseResetInEveryForm(t *testing.T) {
	reset := time.Date(2026, 11, 21, 8, 0, 30, 0, time.UTC) // 30 s after the start
	for _, test := range []struct{ remaining, reset, value string }{
		{"X-RateLimit-Remaining", "X-RateLimit-Reset", "30"},
		{"X-RateLimit-Remaining", "X-RateLimit-Reset", "30.000"},
		{"X-RateLimit-Remaining", "X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10)},
		{"X-RateLimit-Remaining", "X-RateLimit-Reset", strconv.FormatInt(reset.UnixMilli(), 10)},
		{"X-RateLimit-Remaining", "X-RateLimit-Reset", reset.Format(http.TimeFormat)},
		{"X-RateLimit-Remaining", "X-RateLimit-Reset-Ms", "30000"},
		{"X-RateLimit-Remaining-Requests", "X-RateLimit-Reset-Requests", "0m30s"},
		{"Anthropic-RateLimit-Requests-Remaining", "Anthropic-RateLimit-Requests-Reset", reset.Format(time.RFC3339)},
	} {
		visit(t, first(1, reply(200, "Date", "Sat, 21 Nov 2026 08:00:00 GMT", test.remaining, "0", test.reset, test.value), reply(200)), func(g *guest) {
			g.get()
			g.get()
			if g.went[1] != 30*time.Second {
				t.Errorf("%s: %s: went after %v, want 30s", test.reset, test.value, g.went[1])
			}
		})
	}
}

// Cached responses (Age, X-From-Cache) teach nothing.
func TestPromiseCachedAnswersTeachNothing(t *testing.T) {
	for _, from := range []string{"Age", "X-From-Cache"} {
		visit(t, func(n int) *http.Response {
			switch n {
			case 0:
				return reply(200, append(trio(10, 0, time.Minute), from, "1")...)
			case 1:
				return reply(200, trio(10, 5, time.Minute)...)
			}
			return reply(200, append(trio(10, 10, time.Minute), from, "1")...)
		}, func(g *guest) {
			g.Trace = &pacer.Trace{Learned: func(pacer.Learned) {
				if len(g.went) != 2 {
					t.Errorf("%s: learned from answer %d", from, len(g.went))
				}
			}}
			g.get()
			g.get() // the 0 holds nobody
			g.wantMay(5)
			g.get()
			g.wantMay(4) // and the 10 raises nothing
			g.wantWent(0, 0, 0, 0)
		})
	}
}

// The learned window of a bucket, per name that the server gives (resource, policy, bucket id).
func TestPromiseEachNameIsAWindow(t *testing.T) {
	visit(t, func(n int) *http.Response {
		if n == 0 {
			return reply(200, "RateLimit", `"second";r=9;t=1, "day";r=3;t=60`, "RateLimit-Policy", `"second";q=10;w=1, "day";q=100;w=86400`)
		}
		return reply(200, "RateLimit", fmt.Sprintf(`"second";r=%d;t=1`, 9-n), "RateLimit-Policy", `"second";q=10;w=1`)
	}, func(g *guest) {
		g.get()
		g.wantMay(3)
		if s := g.State(); len(s) != 1 || len(s[0].Limits) != 2 || s[0].Limits[0].Quota != "day" || s[0].Limits[1].Quota != "second" {
			t.Errorf("state %+v, want windows of two names", s)
		}
		g.get() // says nothing of the day, which is remembered
		if n := g.may(); n > 3 || len(g.State()[0].Limits) != 2 {
			t.Errorf("%d may go, want what is left of the day", n)
		}
	})
}

// available = (least Remaining seen in this window) − (own requests in flight), which is exact
// whenever nothing is in flight.
func TestPromiseLeastRemainingLessInFlight(t *testing.T) {
	visit(t, nil, func(g *guest) {
		var remaining [4]chan int
		for i := range remaining {
			remaining[i] = make(chan int, 1)
		}
		g.serve = func(n int) *http.Response { return reply(200, trio(10, <-remaining[n], time.Minute)...) }
		remaining[0] <- 9
		g.get()
		g.wantMay(9)
		wg := g.crowd(3)
		g.wantMay(6)
		for _, next := range []struct{ request, remaining, may int }{{3, 6, 4}, {1, 8, 5}, {2, 7, 6}} {
			remaining[next.request] <- next.remaining
			synctest.Wait()
			g.wantMay(next.may)
		}
		wg.Wait()
	})
}

// It is the least of this window: when a new one has begun, what was seen in the last does not
// count, even if some request is always in flight.
func TestPromiseLeastIsOfThisWindow(t *testing.T) {
	visit(t, nil, func(g *guest) {
		answers := make(chan int)
		g.serve = func(int) *http.Response { return reply(200, trio(10, <-answers, time.Minute)...) }
		tell := func(remaining int) {
			answers <- remaining // of those in flight, to the one that went first
			synctest.Wait()
		}
		all := []*sync.WaitGroup{g.crowd(1)}
		tell(6)
		all = append(all, g.crowd(1))
		for _, remaining := range []int{5, 4, 9, 8, 7} {
			all = append(all, g.crowd(1))
			tell(remaining)
		}
		g.wantMay(6) // and one is in flight
		tell(6)
		for _, wg := range all {
			wg.Wait()
		}
	})
}

// That never over-admits, whatever the order in which responses arrive.
func TestPromiseNeverOverAdmits(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			server := pacertest.NewServer(&pacertest.FixedWindow{Limit: 40, Window: 20 * time.Second}, pacertest.Dialect{Layout: pacertest.LayoutTrio, Reset: pacertest.ResetDecimal})
			defer server.Close()
			network := server.Transport()
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			travel := func() {
				mu.Lock()
				d := time.Duration(random.Int64N(int64(2 * time.Second)))
				mu.Unlock()
				time.Sleep(d)
			}
			client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				travel()
				defer travel()
				return network.RoundTrip(r)
			})}}
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for range 10 {
						lab.Get(t, client, "http://a.example/")
					}
				})
			}
			wg.Wait()
			if s := server.Stats(); s.Refused != 0 || s.Admitted != 200 {
				t.Errorf("seed %d: %d admitted, %d refused, want 200 and 0", seed, s.Admitted, s.Refused)
			}
		})
	}
}

// Other consumers of the same quota show up in Remaining by themselves.
func TestPromiseOthersShowUp(t *testing.T) {
	visit(t, func(n int) *http.Response {
		return reply(200, trio(100, []int{99, 58}[n], time.Minute)...) // others took 40
	}, func(g *guest) {
		g.get()
		g.wantMay(99)
		g.get()
		g.wantMay(58)
	})
}

// Never over-admits: a request counts against a limit that its answer does not mention, too.
func TestPromiseUnmentionedLimitIsUsedUpToo(t *testing.T) {
	visit(t, func(n int) *http.Response {
		if n == 0 {
			return reply(200, "RateLimit", `"second";r=9;t=1, "day";r=3;t=60`)
		}
		return reply(200, "RateLimit", `"second";r=8;t=1`)
	}, func(g *guest) {
		g.get()
		g.wantMay(3)
		g.get()
		g.wantMay(2)
	})
}
