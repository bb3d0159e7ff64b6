package contract

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
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// Traps into which libraries of this kind have been seen to fall, over real connections.

// hit sends n GETs, one after the other.
func hit(t *testing.T, rt http.RoundTripper, n int, url string) {
	t.Helper()
	for range n {
		resp, err := rt.RoundTrip(lab.Request(t, "GET", url, ""))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}

// Cancelled waiters leave no debt: golang/go#56924, #69419. With x/time's Wait, 200 of them at 10
// a second have the next one wait for 19.5 s.
func TestTrapCanceledWaiters(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{Base: lab.Serve(t, two, echo), Quotas: lab.All(quota.Quota{N: 10, Burst: 10})}
		hit(t, tr, 10, "http://a.example/")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
		wg.Wait()
		start := time.Now()
		hit(t, tr, 1, "http://a.example/")
		if took := time.Since(start); took != 50*time.Millisecond {
			t.Errorf("the next one waited for %v, want 50ms, as if nobody had", took)
		}
	})
}

// A new limit reaches those who sleep already: uber-go/ratelimit#69.
func TestTrapLimitChangedWhileWaiting(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{Base: lab.Serve(t, two, echo), MaxWait: time.Hour, MaxStandstill: time.Hour, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}
		hit(t, tr, 1, "http://a.example/")
		time.AfterFunc(time.Second, func() { tr.SetQuotas(lab.All(quota.Quota{N: 10, Burst: 1})) })
		start := time.Now()
		hit(t, tr, 1, "http://a.example/")
		// In the first second 1/60 came back; the other 59/60 come at the new rate.
		if took, want := time.Since(start), time.Second+100*time.Millisecond*59/60; took != want {
			t.Errorf("waited for %v, want %v", took, want)
		}
	})
}

// Of two quotas of which one refuses, the other is not charged; and what could never be granted
// fails at once, without debt.
func TestTrapStackedQuotas(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{
			Base: lab.Serve(t, two, echo), Mode: pacer.ModeReject, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket}, quota.Quota{N: 10, Per: time.Hour, Burst: 10}),
			Cost: func(r *http.Request) quota.Costs {
				if r.URL.Path == "/dear" {
					return quota.Costs{quota.Requests: 100}
				}
				return nil
			},
		}
		hit(t, tr, 1, "http://a.example/")
		for range 50 {
			if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); !errors.Is(err, throttle.ErrWouldWait) {
				t.Fatalf("got %v", err)
			}
			if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/dear", "")); !errors.Is(err, throttle.ErrTooLarge) {
				t.Fatalf("got %v", err)
			}
		}
		time.Sleep(time.Minute)
		hit(t, tr, 1, "http://a.example/") // 2 of 10 in the hour
		for range 8 {
			time.Sleep(time.Minute)
			hit(t, tr, 1, "http://a.example/")
		}
	})
}

// Answers that are sent again are drained and closed, also with one connection, a long body and
// nothing but its length to go by: failsafe-go hangs until the deadline.
func TestTrapOneConnection(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, atFirst(2, 503, echo))
		base.MaxConnsPerHost = 1
		long := lab.Serve(t, two, atFirst(2, 503, replies(200, strings.Repeat("x", 65536))))
		long.MaxConnsPerHost = 1
		for _, base := range []*http.Transport{base, long} {
			start := time.Now()
			hit(t, &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}, 1, "http://a.example/")
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("took %v, want 3s", took)
			}
		}
	})
}

// What a request waits for before it is sent need not count against http.Client.Timeout.
func TestTrapClientTimeoutCoversTheQueue(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{Base: lab.Serve(t, two, echo), Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}
		hit(t, tr, 1, "http://a.example/")
		c := &http.Client{Transport: tr, Timeout: time.Second}
		start := time.Now()
		if _, err := c.Get("http://a.example/"); !errors.Is(err, throttle.ErrDeadline) || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		paid, cancel, err := tr.Acquire(t.Context(), lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		resp, err := c.Do(paid)
		if err != nil || time.Since(start) != time.Minute {
			t.Fatal(err, time.Since(start))
		}
		resp.Body.Close()
	})
}

// A deadline that would be missed is a timeout for whoever asks in any way, and not nested:
// golang/go#54541. It names the layer that refuses: aws/aws-sdk-go-v2#3189.
func TestTrapEarlyDeadline(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		tr := &pacer.Transport{Base: lab.Serve(t, two, echo), Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket})}
		hit(t, tr, 1, "http://a.example/")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := (&http.Client{Transport: tr}).Do(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
		var outer, inner *url.Error
		if !errors.As(err, &outer) || errors.As(outer.Err, &inner) || !outer.Timeout() || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("got %v", err)
		}
		if !strings.Contains(err.Error(), "throttle: a.example: not sent") {
			t.Errorf("%q does not say who refused", err)
		}
	})
}

// A cenkalti BackOff is one per request, so that none uses up what is another's, and its Stop ends
// the retrying at once: cenkalti/backoff#65.
func TestTrapSharedBackOff(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		sent := 0
		base := lab.Serve(t, two, func(w http.ResponseWriter, _ *http.Request) { sent++; w.WriteHeader(http.StatusServiceUnavailable) })
		tr := &pacer.Transport{
			Base: base, Retry: pacer.Retry{
				MaxAttempts: 10,
				NewSequence: func() backoff.Sequence {
					return cenkalti.WithMaxRetries(cenkalti.NewConstantBackOff(time.Second), 2)
				},
			},
		}
		for i := range 3 {
			hit(t, tr, 1, "http://a.example/")
			if sent != 3*(i+1) {
				t.Errorf("sent %d times after %d requests, want 3 each", sent, i+1)
			}
		}
	})
}

// Retry-After: not believed for weeks (hashicorp/go-retryablehttp#247), no hot loop if it is zero
// or over, and understood as a date in all forms.
func TestTrapRetryAfter(t *testing.T) {
	for _, test := range []struct {
		hint   string
		status int
		sent   int
		took   time.Duration
	}{
		{"1746136938", 429, 1, 0},          // an epoch, which is in the future of this clock
		{"9223372036854775807", 429, 1, 0}, // and more than a Duration can say
		{"3600", 429, 1, 0},                // longer than a call may wait
		{"2", 429, 2, 2 * time.Second},     // seconds
		{"1.5", 429, 2, 1500 * time.Millisecond},
		{"Sat, 01 Jan 2000 00:00:03 GMT", 429, 2, 3 * time.Second},
		{"Saturday, 01-Jan-00 00:00:03 GMT", 429, 2, 3 * time.Second}, // RFC 850
		{"0", 429, 2, 100 * time.Millisecond},
		{"Fri, 31 Dec 1999 23:59:59 GMT", 429, 2, 100 * time.Millisecond},
		{"-5", 429, 2, 100 * time.Millisecond},
		{"2", 503, 2, 2 * time.Second},
		{"2", 502, 2, 2 * time.Second}, // no refusal, but nothing is sent before
	} {
		t.Run(fmt.Sprint(test.status, " ", test.hint), func(t *testing.T) {
			lab.Protocols(t, func(t *testing.T, two bool) {
				t.Helper()
				sent := 0
				next := atFirst(1, test.status, echo)
				base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
					if sent++; sent == 1 {
						w.Header().Set("Retry-After", test.hint)
					}
					next(w, r)
				})
				start := time.Now()
				hit(t, &pacer.Transport{Base: base, Rand: lab.Zero}, 1, "http://a.example/")
				if took := time.Since(start); took != test.took || sent != test.sent {
					t.Errorf("sent %d times in %v, want %d in %v", sent, took, test.sent, test.took)
				}
			})
		})
	}
}

// A host that another one redirects to has its own limits, and what one says binds not the other;
// nor does what a cache says: both are learned from, per hop, by the host of that hop.
func TestTrapLearningFromOthers(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Ratelimit-Limit", "10")
			w.Header().Set("X-Ratelimit-Remaining", "0")
			w.Header().Set("X-Ratelimit-Reset", "60")
			switch r.Host {
			case "a.example":
				http.Redirect(w, r, "http://b.example/", http.StatusFound)
			case "cached.example":
				w.Header().Set("X-From-Cache", "1")
			}
		})
		tr := &pacer.Transport{Base: base, MaxWait: time.Hour, MaxStandstill: time.Hour, Rand: lab.Zero}
		resp, err := (&http.Client{Transport: tr}).Get("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		start := time.Now()
		hit(t, tr, 3, "http://cached.example/")
		if took := time.Since(start); took != 0 {
			t.Errorf("a cached answer held its host for %v", took)
		}
		for _, host := range []string{"a.example", "b.example"} {
			f := lab.State(t, tr, host).Next
			if f.Wait != time.Minute {
				t.Errorf("%s waits for %v, want 1m: it said so itself", host, f.Wait)
			}
		}
	})
}

// What pacer below refuses is not sent again by pacer above, nor by http.Client; what the server
// refuses is sent again by one of them: nanobot#2760 sends 12 in place of 4.
func TestTrapStackedRetries(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		sent := 0
		base := lab.Serve(t, two, func(w http.ResponseWriter, _ *http.Request) { sent++; w.WriteHeader(http.StatusServiceUnavailable) })
		stack := &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: lab.Wrap(&pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: base})}
		hit(t, stack, 1, "http://a.example/")
		if sent != 3 {
			t.Errorf("sent %d times, want 3", sent)
		}
		stack = &pacer.Transport{Retry: pacer.Retry{Backoff: lab.Steady{}}, Base: lab.Wrap(&pacer.Transport{Base: base, Mode: pacer.ModeReject, Retry: pacer.Retry{MaxAttempts: -1}, Quotas: lab.All(quota.Quota{N: 1, Per: time.Hour, Kind: quota.TokenBucket})})}
		hit(t, stack.Base, 1, "http://a.example/")
		sent = 0
		start := time.Now()
		if _, err := stack.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); !errors.Is(err, throttle.ErrWouldWait) || sent != 0 || time.Since(start) != 0 {
			t.Errorf("got %v, sent %d times in %v", err, sent, time.Since(start))
		}
	})
}

// An answer that streams, or stalls, does not hold the next attempt up.
func TestTrapUnboundedDrain(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		sent := 0
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			if sent++; sent == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				events(w, r)
			}
		})
		start := time.Now()
		hit(t, &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}, 1, "http://a.example/")
		if took := time.Since(start); took != time.Second+drainTime || sent != 2 {
			t.Errorf("sent %d times in %v, want 2 in 1.1s", sent, took)
		}
	})
}

// The context of an attempt outlives RoundTrip: the answer can be read for as long as the caller's
// context lasts.
func TestTrapContextOfTheAttempt(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, atFirst(1, 503, events))
		resp, err := (&pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}, Quotas: lab.All(lab.InFlight(1))}).RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n := strings.Count(lab.Read(t, resp), "data:"); n != 10 {
			t.Errorf("%d events, want 10", n)
		}
	})
}

// The number of an attempt belongs to its call, is not sent anywhere, and does not leak into other
// requests that are made with the same context.
func TestTrapAttemptIdentity(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		var headers []string
		fails := atFirst(2, 503, echo)
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			headers = append(headers, fmt.Sprint(r.Header))
			fails(w, r)
		})
		tr := &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: lab.Steady{}}}
		var c pacer.Call
		req := lab.Request(t, "GET", "http://a.example/", "")
		req = req.WithContext(pacer.WithCall(req.Context(), &c))
		if _, err := tr.RoundTrip(req); err != nil || c.Attempts() != 3 {
			t.Errorf("%v, %d attempts, want 3", err, c.Attempts())
		}
		if len(slices.Compact(headers)) != 1 {
			t.Errorf("the server sees %q", headers)
		}
		fails = atFirst(2, 503, echo)
		hit(t, tr, 1, "http://a.example/")
		if c.Attempts() != 3 {
			t.Errorf("%d attempts after another call, want 3", c.Attempts())
		}
	})
}

// A policy that two Transports share has no state, and its delay is bounded by what a call may wait.
func TestTrapSharedPolicy(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, replies(503, ""))
		for _, delay := range []time.Duration{-time.Hour, 0} { // nonsense is none
			start := time.Now()
			hit(t, &pacer.Transport{Base: base, Retry: pacer.Retry{Backoff: backoffOf(delay)}}, 1, "http://a.example/")
			if took := time.Since(start); took != 0 {
				t.Errorf("took %v with a delay of %v", took, delay)
			}
		}
	})
}

// Answers come in any order: one that was sent earlier does not raise what a later one lowered.
func TestTrapAnswersOutOfOrder(t *testing.T) {
	lab.Protocols(t, func(t *testing.T, two bool) {
		t.Helper()
		base := lab.Serve(t, two, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Ratelimit-Limit", "10")
			w.Header().Set("X-Ratelimit-Reset", "60")
			w.Header().Set("X-Ratelimit-Remaining", r.URL.Path[1:])
			if r.URL.Path == "/8" {
				time.Sleep(time.Second)
			}
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero}
		hit(t, tr, 1, "http://a.example/9")
		var wg sync.WaitGroup
		wg.Go(func() { hit(t, tr, 1, "http://a.example/8") })
		time.Sleep(time.Millisecond)
		hit(t, tr, 1, "http://a.example/0")
		wg.Wait()
		if f := lab.State(t, tr, "a.example").Next; f.Wait != 59*time.Second {
			t.Errorf("the next waits for %v, want 59s", f.Wait)
		}
	})
}
