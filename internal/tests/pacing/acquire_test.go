package pacing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

// slow is a quota of one in 30 seconds.
var slow = quota.Quota{N: 2, Per: time.Minute, Burst: 1}

func acquire(t *testing.T, tr *pacer.Transport, req *http.Request) (paid *http.Request, cancel func()) {
	t.Helper()
	paid, cancel, err := tr.Acquire(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return paid, cancel
}

// The wait does not count against http.Client.Timeout.
func TestAcquireWaitsOutsideClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(slow)}
		c := &http.Client{Transport: tr, Timeout: time.Second}
		get := func(req *http.Request) error {
			resp, err := c.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		start := time.Now()
		if err := get(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		if err := get(lab.Request(t, "GET", "http://a.example/", "")); !errors.Is(err, throttle.ErrDeadline) || time.Since(start) != 0 {
			t.Errorf("without Acquire: %v after %v, want an error at once", err, time.Since(start))
		}
		for i := range 3 {
			paid, cancel := acquire(t, tr, lab.Request(t, "GET", "http://a.example/", ""))
			if took, want := time.Since(start), time.Duration(i+1)*30*time.Second; took != want {
				t.Errorf("Acquire returned after %v, want %v", took, want)
			}
			if err := get(paid); err != nil {
				t.Errorf("paid: %v", err)
			}
			cancel()
		}
		if took := time.Since(start); took != 90*time.Second {
			t.Errorf("took %v, want 90s", took)
		}
	})
}

// It is the caller's request but for its context, whose values and end it keeps.
func TestAcquireReturnsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		base := lab.OK()
		tr := &pacer.Transport{Base: base}
		ctx, stop := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		defer stop()
		var call pacer.Call
		req := of(lab.Request(t, "PUT", "http://a.example/x", "data").WithContext(ctx), &call)
		paid, cancel := acquire(t, tr, req)
		defer cancel()
		if paid.URL != req.URL || paid.Body != req.Body || paid.GetBody == nil || paid.Context().Value(key{}) != "value" || paid.Context().Done() != ctx.Done() {
			t.Errorf("got %+v", paid)
		}
		if call.Attempts() != 0 {
			t.Errorf("%d attempts before it was sent", call.Attempts())
		}
		if _, err := tr.RoundTrip(paid); err != nil || call.Attempts() != 1 || !slices.Equal(base.Got, []string{"PUT http://a.example/x data"}) {
			t.Errorf("got %v, %d attempts, sent %q", err, call.Attempts(), base.Got)
		}
	})
}

// What was not used goes back, exactly and once, and those who wait move up.
func TestAcquireCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Budget(10))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		_, cancel := acquire(t, tr, req)
		_, other := acquire(t, tr, req)
		if got := left(t, tr, req, quota.Requests, 10); got != 8 {
			t.Errorf("left %d, want 8", got)
		}
		for range 3 {
			cancel()
			if got := left(t, tr, req, quota.Requests, 10); got != 9 {
				t.Errorf("left %d after cancel, want 9", got)
			}
		}
		other()
		if s := lab.State(t, tr, "a.example"); left(t, tr, req, quota.Requests, 10) != 10 || s.InFlight != 0 {
			t.Errorf("left %d, %d in flight", left(t, tr, req, quota.Requests, 10), s.InFlight)
		}
	})
}

func TestAcquireCancelLetsTheNextGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(slow)}
		req := lab.Request(t, "GET", "http://a.example/", "")
		_, cancel := acquire(t, tr, req)
		start := time.Now()
		time.AfterFunc(7*time.Second, cancel)
		if _, err := tr.RoundTrip(req); err != nil || time.Since(start) != 7*time.Second {
			t.Errorf("went after %v, %v, want 7s", time.Since(start), err)
		}
	})
}

// The end of the request's context is as good as cancel.
func TestAcquireContextOfTheRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Budget(10))}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		req := lab.Request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, tr, req.WithContext(ctx))
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		if got := left(t, tr, req, quota.Requests, 10); got != 9 {
			t.Errorf("left %d before the end, want 9", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := left(t, tr, req, quota.Requests, 10); got != 10 {
			t.Errorf("left %d after the end, want 10", got)
		}
		if _, err := tr.RoundTrip(paid); !errors.Is(err, throttle.ErrCanceled) {
			t.Errorf("sent after its context has ended: %v", err)
		}
		cancel()
		if got := left(t, tr, req, quota.Requests, 10); got != 10 {
			t.Errorf("left %d, want 10", got)
		}
	})
}

// The wait is bounded by the context that Acquire is given, and not by that of the request.
func TestAcquireContextOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(slow)}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		short, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if _, _, err := tr.Acquire(short, req); !errors.Is(err, throttle.ErrDeadline) || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want ErrDeadline at once", err, time.Since(start))
		}
		canceled, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		if _, _, err := tr.Acquire(canceled, req); !errors.Is(err, throttle.ErrCanceled) || !errors.Is(err, context.Canceled) || time.Since(start) != 10*time.Second {
			t.Errorf("got %v after %v, want ErrCanceled after 10s", err, time.Since(start))
		}
		// The context of the request ends while it waits: what was paid goes back at once.
		_, cancel, err := tr.Acquire(t.Context(), req.WithContext(short))
		if err != nil || time.Since(start) != 30*time.Second {
			t.Fatalf("got %v after %v, want none after 30s", err, time.Since(start))
		}
		defer cancel()
		synctest.Wait()
		if f := lab.State(t, tr, "a.example").Next; f.Wait != 0 {
			t.Errorf("the next may go in %v, want now", f.Wait)
		}
	})
}

// After it was sent there is nothing to give back.
func TestAcquireCancelAfterSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Budget(10))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		ctx, stop := context.WithCancel(t.Context())
		paid, cancel := acquire(t, tr, req.WithContext(ctx))
		if _, err := tr.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		cancel()
		stop()
		synctest.Wait()
		if got := left(t, tr, req, quota.Requests, 10); got != 9 {
			t.Errorf("left %d, want 9", got)
		}
	})
}

// One request is paid for: redirects, retries, and sending it again pay like all.
func TestAcquirePaysForOne(t *testing.T) {
	for name, test := range map[string]struct {
		answers []func(*http.Request) (*http.Response, error)
		left    int
	}{
		"once":       {[]func(*http.Request) (*http.Response, error){lab.Status(200, "")}, 9},
		"redirect":   {[]func(*http.Request) (*http.Response, error){lab.Status(302, "", "Location", "/b"), lab.Status(200, "")}, 8},
		"elsewhere":  {[]func(*http.Request) (*http.Response, error){lab.Status(302, "", "Location", "http://b.example/"), lab.Status(200, "")}, 9},
		"failure":    {[]func(*http.Request) (*http.Response, error){lab.Status(503, ""), lab.Fails(lab.ErrBroken), lab.Status(200, "")}, 7},
		"refusal":    {[]func(*http.Request) (*http.Response, error){lab.Status(429, ""), lab.Status(200, "")}, 8},
		"everything": {[]func(*http.Request) (*http.Response, error){lab.Status(429, ""), lab.Status(302, "", "Location", "/b"), lab.Status(503, ""), lab.Status(200, "")}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &lab.Script{Answers: test.answers}
				tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Rand: lab.Zero, Quotas: lab.All(lab.Budget(10))}
				req := lab.Request(t, "GET", "http://a.example/", "")
				paid, cancel := acquire(t, tr, req)
				defer cancel()
				resp, err := (&http.Client{Transport: tr}).Do(paid)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got := left(t, tr, req, quota.Requests, 10); got != test.left {
					t.Errorf("left %d, want %d", got, test.left)
				}
				resp, err = tr.RoundTrip(paid)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got := left(t, tr, req, quota.Requests, 10); got != test.left-1 {
					t.Errorf("left %d after it was sent again, want %d", got, test.left-1)
				}
			})
		})
	}
}

// A request that goes elsewhere than what was paid for pays there, and what was paid goes back.
func TestAcquireForAnotherBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: map[string]quota.Quotas{"/": {lab.Budget(10)}, "a.example/x": {lab.Budget(10)}}}
		at := func(url string) int { return left(t, tr, lab.Request(t, "GET", url, ""), quota.Requests, 10) }
		paid, cancel := acquire(t, tr, lab.Request(t, "GET", "http://a.example/x", ""))
		defer cancel()
		if at("http://a.example/x") != 9 || at("http://a.example/") != 9 {
			t.Errorf("left %d of the pattern and %d of the host, want 9 and 9", at("http://a.example/x"), at("http://a.example/"))
		}
		paid.URL, _ = url.Parse("http://b.example/")
		if _, err := tr.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		if at("http://a.example/x") != 10 || at("http://a.example/") != 10 || at("http://b.example/") != 9 {
			t.Errorf("left %d, %d and %d, want 10, 10 and 9", at("http://a.example/x"), at("http://a.example/"), at("http://b.example/"))
		}
	})
}

// Each Transport is paid on its own: that which is not waits.
func TestAcquireOfTwoTransports(t *testing.T) {
	for name, test := range map[string]struct {
		outer, inner quota.Quota
		paidInner    bool
		acquired     time.Duration // when Acquire returns
		sent         time.Duration
	}{
		"outer": {slow, quota.Quota{}, false, 30 * time.Second, 30 * time.Second},
		"inner": {quota.Quota{}, slow, true, 30 * time.Second, 30 * time.Second},
		"both":  {slow, quota.Quota{N: 1, Per: 50 * time.Second, Kind: quota.TokenBucket}, false, 30 * time.Second, 50 * time.Second}, // the inner waits
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := lab.OK()
				inner := &pacer.Transport{Base: base, Quotas: lab.All(test.inner)}
				outer := &pacer.Transport{Base: inner, Quotas: lab.All(test.outer)}
				if _, err := outer.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				tr := outer
				if test.paidInner {
					tr = inner
				}
				paid, cancel := acquire(t, tr, lab.Request(t, "GET", "http://a.example/", ""))
				defer cancel()
				acquired := time.Since(start)
				if _, err := outer.RoundTrip(paid); err != nil {
					t.Fatal(err)
				}
				if acquired != test.acquired || base.At[1].Sub(start) != test.sent {
					t.Errorf("acquired after %v, sent after %v; want %v and %v", acquired, base.At[1].Sub(start), test.acquired, test.sent)
				}
			})
		})
	}
}

func TestAcquireErrors(t *testing.T) {
	for name, test := range map[string]struct {
		tr   *pacer.Transport
		mod  func(*http.Request)
		want string
	}{
		"nil URL":    {&pacer.Transport{}, func(r *http.Request) { r.URL = nil }, "pacer: nil Request.URL"},
		"nil Header": {&pacer.Transport{}, func(r *http.Request) { r.Header = nil }, "pacer: nil Request.Header"},
		"invalid":    {&pacer.Transport{Mode: "7"}, nil, `pacer: Mode is "7", want wait, reject, degrade or observe`},
		"Reject":     {&pacer.Transport{Mode: pacer.ModeReject}, nil, `throttle: a.example: not sent: would have to wait: pace "2/m even", could go in 30s`},
		"Degrade": {
			&pacer.Transport{Mode: pacer.ModeDegrade, Fallback: func(*http.Request, *throttle.Error) (*http.Response, error) { panic("used") }},
			nil,
			`throttle: a.example: not sent: would have to wait: pace "2/m even", could go in 30s`,
		},
		"MaxWait": {&pacer.Transport{MaxWait: time.Second}, nil, `throttle: a.example: not sent: wait over MaxWait (1s): pace "2/m even", could go in 30s`},
		"Observe": {&pacer.Transport{Mode: pacer.ModeObserve}, nil, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refused []pacer.NotSent
				tr := test.tr
				tr.Base, tr.Quotas, tr.Trace = lab.OK(), lab.All(slow), &pacer.Trace{NotSent: func(r pacer.NotSent) { refused = append(refused, r) }}
				tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				before := len(refused)
				b := lab.NewBody("data")
				req := lab.Request(t, "PUT", "http://a.example/", "")
				req.Body = b
				if test.mod != nil {
					test.mod(req)
				}
				paid, cancel, err := tr.Acquire(t.Context(), req)
				if fmt.Sprint(err) != test.want || (paid == nil) != (err != nil) || (cancel == nil) != (err != nil) {
					t.Errorf("got %v, %v, want %s", paid, err, test.want)
				}
				if b.Closed() || b.Reads > 0 {
					t.Error("the body was used: it is still the caller's")
				}
				var local *throttle.Error
				if got := len(refused) - before; errors.As(err, &local) && (got != 1 || refused[before].Request != req || refused[before].Bucket != "a.example") {
					t.Errorf("Refused was told %+v", refused)
				}
				if cancel != nil {
					cancel()
				}
			})
		})
	}
}

// What is paid for and not sent holds its slot: another must not go before it.
func TestAcquireHoldsASlotInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "text")}}
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.InFlight})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		next := func(after func(), at time.Duration) {
			t.Helper()
			start := time.Now()
			time.AfterFunc(5*time.Second, after)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if took := time.Since(start); took != at {
				t.Errorf("the next went after %v, want %v", took, at)
			}
		}
		_, cancel := acquire(t, tr, req)
		next(cancel, 5*time.Second)

		paid, cancel := acquire(t, tr, req)
		next(func() {
			resp, err := tr.RoundTrip(paid)
			if err != nil {
				t.Error(err)
				return
			}
			cancel() // it was sent: the slot is held until the answer is closed
			time.Sleep(3 * time.Second)
			resp.Body.Close()
		}, 8*time.Second)
	})
}

// Acquire, cancel, the end of the context and sending may come in any order and at once: what
// was paid is used once or goes back once.
func TestAcquireConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.Budget(2*n), quota.Quota{N: 20, Kind: quota.InFlight})}
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				paid, cancel, err := tr.Acquire(t.Context(), lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
				if err != nil {
					t.Error(err)
					return
				}
				var inner sync.WaitGroup
				inner.Go(cancel)
				inner.Go(stop)
				inner.Go(func() {
					if resp, err := tr.RoundTrip(paid); err == nil {
						resp.Body.Close()
					}
				})
				inner.Wait()
			})
		}
		wg.Wait()
		synctest.Wait()
		req := lab.Request(t, "GET", "http://a.example/", "")
		if got, want := left(t, tr, req, quota.Requests, 2*n), 2*n-len(base.Got); got != want {
			t.Errorf("left %d after %d were sent, want %d", got, len(base.Got), want)
		}
		if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || s.Waiting != 0 || s.Next.Wait != 0 {
			t.Errorf("state %+v", s)
		}
	})
}

// A request that waits in Acquire is in the same line as all others.
func TestAcquireStandsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket})}
		serial(t, tr, base, 1)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				req := lab.Request(t, "GET", fmt.Sprintf("http://a.example/%d", i), "")
				if i%2 == 1 {
					paid, cancel, err := tr.Acquire(t.Context(), req)
					if err != nil {
						t.Error(err)
						return
					}
					defer cancel()
					req = paid
				}
				if _, err := tr.RoundTrip(req); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		got := strings.Join(base.Got[1:], " ")
		if want := "GET http://a.example/0 GET http://a.example/1 GET http://a.example/2 GET http://a.example/3"; got != want {
			t.Errorf("went in the order %s", got)
		}
		if gaps := gaps(base.At); !slices.Equal(gaps, []time.Duration{time.Second, time.Second, time.Second, time.Second}) {
			t.Errorf("gaps %v, want a second each", gaps)
		}
	})
}

// What was told of a request that waited to be sent counts from when it was sent.
func TestAcquireSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Retry: pacer.Retry{MaxRefusals: -1}, Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return lab.Answer(r, 429, "", "Retry-After", time.Now().Add(10*time.Second).UTC().Format(http.TimeFormat)), nil
		})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, tr, req)
		defer cancel()
		time.Sleep(time.Minute)
		if _, err := tr.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		if held := lab.State(t, tr, "a.example").Held; held != 10*time.Second {
			t.Errorf("held for %v, want 10s", held)
		}
	})
}

// A request that was paid for may become one of a Call.
func TestWithCallAfterAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Budget(10))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, tr, req)
		defer cancel()
		var c pacer.Call
		if _, err := tr.RoundTrip(of(paid, &c)); err != nil || c.Attempts() != 1 {
			t.Fatal(err, c.Attempts())
		}
		if got := left(t, tr, req, quota.Requests, 10); got != 9 {
			t.Errorf("left %d, want 9: it was paid for", got)
		}
	})
}

// Of two Transports, both can be paid.
func TestAcquireOfBothTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(lab.Budget(10))}
		outer := &pacer.Transport{Base: inner, Quotas: lab.All(lab.Budget(10))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, outer, req)
		defer cancel()
		paid, cancel = acquire(t, inner, paid)
		defer cancel()
		if _, err := outer.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		if l := [2]int{left(t, outer, req, quota.Requests, 10), left(t, inner, req, quota.Requests, 10)}; l != [2]int{9, 9} {
			t.Errorf("left %v, want 9 and 9", l)
		}
	})
}

// What was paid under quotas that are replaced since goes back to those that were charged.
func TestAcquireCancelAfterSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: lab.All(quota.Quota{N: 10, Per: time.Hour, Kind: quota.FixedWindow})}
		req := lab.Request(t, "GET", "http://a.example/", "")
		_, cancel := acquire(t, tr, req)
		if err := tr.SetQuotas(lab.All(quota.Quota{N: 10, Per: time.Hour, Burst: 10})); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if left(t, tr, req, quota.Requests, 10) != 0 {
			t.Error("an eleventh may go")
		}
	})
}

// A request that waits in Acquire while SetQuotas moves it is paid for where it was granted.
func TestAcquireMovedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Quotas: pacer.Table{"a.example/": {{N: 1, Kind: quota.TokenBucket}}}}
		send := func(req *http.Request) {
			t.Helper()
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}
		send(lab.Request(t, "GET", "http://a.example/x", ""))
		time.AfterFunc(time.Second/2, func() {
			if err := tr.SetQuotas(pacer.Table{"a.example/": {{N: 1, Kind: quota.TokenBucket}}, "GET a.example/x": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}); err != nil {
				t.Error(err)
			}
		})
		req, cancel, err := tr.Acquire(t.Context(), lab.Request(t, "GET", "http://a.example/x", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		start := time.Now()
		send(req)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("sent after another %v, want at once: it was paid for", waited)
		}
	})
}
