package promises

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

// waves returns how many requests went at each instant.
func waves(went []time.Duration) (n []int) {
	for i, at := range went {
		if i == 0 || at != went[i-1] {
			n = append(n, 0)
		}
		n[len(n)-1]++
	}
	return n
}

// trip is how long the answers of inAWhile take: less than what a slow start waits for at most.
const trip = 200 * time.Millisecond

// inAWhile is a server that takes a while for each answer.
func inAWhile(serve func(int) *http.Response) func(int) *http.Response {
	return func(n int) *http.Response {
		time.Sleep(trip)
		return serve(n)
	}
}

// An unknown host starts slowly: one probe, then what is in flight doubles with each answer up to 50 requests
// per second, and grows by as many in each round trip from then on, until the headers say how much is allowed
// or enough answers have been seen.
func TestPromiseUnknownHostStartsSlowly(t *testing.T) {
	visit(t, inAWhile(always(200)), func(g *guest) {
		g.crowd(200).Wait()
		if got, want := waves(g.went), []int{1, 2, 4, 8, 15, 23, 31, 40, 49, 27}; !slices.Equal(got, want) {
			t.Errorf("went in waves of %v, want %v", got, want)
		}
	})
	visit(t, inAWhile(always(200, trio(1000, 900, time.Minute)...)), func(g *guest) {
		g.crowd(200).Wait()
		if got, want := waves(g.went), []int{1, 199}; !slices.Equal(got, want) {
			t.Errorf("told that 900 remain, went in waves of %v, want %v", got, want)
		}
	})
}

// A server that is slow, and refuses nothing, is not asked one by one: without an answer, one more goes after a
// quarter of a second, and then twice as many.
func TestPromiseSlowStartDoesNotSerialiseWhatIsSlow(t *testing.T) {
	visit(t, func(n int) *http.Response {
		if n == 0 {
			time.Sleep(time.Minute) // a long poll
		}
		return reply(200)
	}, func(g *guest) {
		g.crowd(2).Wait()
		g.wantWent(0, 0, 250*time.Millisecond)
	})
	together := make(chan struct{})
	visit(t, func(n int) *http.Response {
		if n == 39 {
			close(together)
		}
		<-together
		return reply(200)
	}, func(g *guest) {
		together = make(chan struct{})
		g.crowd(40).Wait()
		if got, want := waves(g.went), []int{1, 1, 2, 4, 8, 16, 8}; !slices.Equal(got, want) || time.Since(g.start) != 1500*time.Millisecond {
			t.Errorf("went in waves of %v, and was answered after %v; want %v and 1.5s", got, time.Since(g.start), want)
		}
	})
}

// A slow start fails nobody at a server that is slow, and refuses nothing: where callers have no time for steps of a
// quarter of a second, steps are a twelfth of the time that they have, so that 50 requests go in half of it.
func TestPromiseSlowStartFailsNobodyForWantOfTime(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		maxWait, timeout, trip, step time.Duration // of both bounds, zero means none
		calls                        int
		want                         []int // how many go at each step
	}{
		{maxWait: 480 * ms, trip: time.Second, step: 40 * ms, calls: 50, want: []int{1, 1, 2, 4, 8, 16, 18}},
		{timeout: 600 * ms, trip: 299 * ms, step: 50 * ms, calls: 32, want: []int{1, 1, 2, 4, 8, 16}},
		{maxWait: 600 * ms, timeout: 2 * time.Second, trip: time.Second, step: 50 * ms, calls: 200, want: []int{1, 1, 2, 4, 8, 16, 32, 64, 72}},
		{timeout: 3 * time.Second, trip: 1499 * ms, step: 250 * ms, calls: 32, want: []int{1, 1, 2, 4, 8, 16}}, // there is time
		{maxWait: 60 * ms, trip: time.Second, step: 250 * ms / 12, calls: 4, want: []int{1, 1, 2}},             // steps are not shorter
	} {
		visit(t, func(int) *http.Response {
			time.Sleep(test.trip)
			return reply(200)
		}, func(g *guest) {
			g.MaxWait = test.maxWait
			client := &http.Client{Transport: g, Timeout: test.timeout}
			var wg sync.WaitGroup
			for range test.calls {
				wg.Go(func() { lab.Get(g.t, client, "http://a.example/") })
			}
			wg.Wait()
			var steps []time.Duration
			for i, n := range test.want {
				steps = append(steps, slices.Repeat([]time.Duration{time.Duration(i) * test.step}, n)...)
			}
			if !slices.Equal(g.went, steps) {
				t.Errorf("%+v: went at %v", test, g.went)
			}
		})
	}
}

// The time that callers had at first makes the steps of a slow start shorter, and not what is left of it when an answer
// comes: else steps would be the shortest wherever somebody waits for long.
func TestPromiseSlowStartStepsByTheTimeThatCallersHad(t *testing.T) {
	const ms = time.Millisecond
	visit(t, func(n int) *http.Response {
		if n == 0 {
			time.Sleep(300 * ms)
		} else {
			time.Sleep(time.Second)
		}
		return reply(200)
	}, func(g *guest) {
		g.MaxWait = 480 * ms
		g.crowd(200).Wait()
		g.went = slices.Compact(g.went)
		if want := []time.Duration{0, 40 * ms, 80 * ms, 120 * ms, 160 * ms, 200 * ms, 240 * ms, 280 * ms, 300 * ms, 340 * ms}; !slices.Equal(g.went, want) {
			t.Errorf("went at %v, want %v", g.went, want)
		}
	})
}

// Callers without much time have a slow start take shorter steps only where the server is slow: what it refuses is not
// sent sooner.
func TestPromiseSlowStartOfAServerThatRefusesWhoHasNoTime(t *testing.T) {
	visit(t, func(n int) *http.Response {
		if n == 0 {
			return reply(429, "Retry-After", "1")
		}
		time.Sleep(4 * time.Second)
		return reply(200)
	}, func(g *guest) {
		g.MaxWait = 3 * time.Second
		g.crowd(2).Wait()
		if got, want := waves(g.went), []int{1, 1}; !slices.Equal(got, want) {
			t.Errorf("went in waves of %v, want %v: one more is sent 5 s after a refusal, which nobody waits for", got, want)
		}
	})
}

// Nor once it serves again: a bucket of 20 per second, whose answers take 0.4 s, is asked by 1000 per second who have one
// second each. From the third second on, it hears twice as many as it serves at the most.
func TestPromiseSlowStartAtABucketOfWhoHasNoTime(t *testing.T) {
	const rate, span, trip = 20, 4 * time.Second, 400 * time.Millisecond
	visit(t, nil, func(g *guest) {
		tokens, last, late := 5.0, g.start, 0
		g.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			g.mu.Lock()
			now := time.Now()
			tokens, last = min(tokens+rate*now.Sub(last).Seconds(), 5), now
			status := http.StatusTooManyRequests
			if tokens >= 1 {
				tokens, status = tokens-1, http.StatusOK
			}
			if now.Sub(g.start) >= 2*time.Second {
				late++
			}
			g.mu.Unlock()
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(trip):
				return lab.Answer(r, status, ""), nil
			}
		})
		client := &http.Client{Transport: g, Timeout: time.Second}
		var wg sync.WaitGroup
		for range 1000 * int(span.Seconds()) {
			wg.Go(func() {
				if resp, err := client.Do(lab.Request(g.t, "GET", "http://a.example/", "")); err == nil {
					resp.Body.Close()
				}
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if most := 2 * rate * 3; late > most { // they come for three seconds more
			t.Errorf("%d requests went after two seconds, want %d at most", late, most)
		}
	})
}

// A server that refuses what is more than one request hears few, if it does so within a quarter of a second.
func TestPromiseSlowStartOfAServerThatRefuses(t *testing.T) {
	visit(t, inAWhile(func(n int) *http.Response {
		if n <= 5 {
			return reply(429)
		}
		return reply(200)
	}), func(g *guest) {
		g.crowd(40).Wait()
		if got := waves(g.went); !slices.Equal(got[:6], []int{1, 1, 1, 1, 1, 1}) {
			t.Errorf("went in waves of %v, want one by one while it refuses", got)
		}
	})
}

// Every bucket starts slowly after a hold.
func TestPromiseSlowStartAfterAHold(t *testing.T) {
	visit(t, inAWhile(func(n int) *http.Response {
		if n == 50 {
			return reply(429, "Retry-After", "30")
		}
		return reply(200)
	}), func(g *guest) {
		g.crowd(50).Wait()
		g.get()
		before := len(g.went)
		g.crowd(20).Wait()
		if got, want := waves(g.went[before-1:]), []int{1, 2, 4, 8, 6}; !slices.Equal(got, want) {
			t.Errorf("after a hold, went in waves of %v, want %v", got, want)
		}
	})
}

// Every bucket starts slowly after idling (a minute, unless set otherwise).
func TestPromiseSlowStartAfterIdling(t *testing.T) {
	for _, test := range []struct {
		set, idle time.Duration
		want      []int
	}{
		{0, time.Minute - 1, []int{7}},
		{0, time.Minute, []int{1, 2, 4}},
		{time.Hour, time.Hour - 1, []int{7}},
		{time.Hour, time.Hour, []int{1, 2, 4}},
		{-1, 24 * time.Hour, []int{7}},
	} {
		visit(t, inAWhile(always(200)), func(g *guest) {
			g.Learn.IdleAfter = test.set
			g.crowd(64).Wait()
			g.went = nil
			time.Sleep(test.idle - trip) // the last of them took one
			g.crowd(7).Wait()
			if got := waves(g.went); !slices.Equal(got, test.want) {
				t.Errorf("IdleAfter %v: after %v went in waves of %v, want %v", test.set, test.idle, got, test.want)
			}
		})
	}
}

// With a Warmup set, a bucket that idled or was pushed back is also cold and ramps over time.
func TestPromiseWarmUpWhenCold(t *testing.T) {
	visit(t, func(n int) *http.Response {
		if n == 40 {
			return reply(429)
		}
		return reply(200)
	}, func(g *guest) {
		g.Quotas = pacer.Table{"/": {{N: 10, WarmUp: 2 * time.Second}}}
		run := func(n int) []time.Duration {
			for range n {
				g.get()
			}
			return pauses(g.went[len(g.went)-19:])
		}
		fresh := run(20)
		if warm := fresh[len(fresh)-1]; warm != 100*time.Millisecond || fresh[0] < 2*warm {
			t.Errorf("fresh, the gaps are %v, want them to fall to 100ms", fresh)
		}
		time.Sleep(time.Minute)
		if got := run(20); !slices.Equal(got, fresh) {
			t.Errorf("after idling, the gaps are %v, want %v", got, fresh)
		}
		if got := run(19); got[1] < 2*got[17] || got[17] > 110*time.Millisecond {
			t.Errorf("pushed back, the gaps are %v, want them to fall", got)
		}
	})
}

// What was learned can be saved and loaded (a CLI that runs every minute must not re-learn by being
// refused).
func TestPromiseSaveAndLoad(t *testing.T) {
	for name, answer := range map[string]*http.Response{
		"used up": reply(200, trio(10, 0, time.Minute)...),
		"held":    reply(503, "Retry-After", "60"),
	} {
		var saved bytes.Buffer
		visit(t, first(1, answer, reply(200)), func(g *guest) {
			g.Retry.MaxRefusals = -1
			g.get()
			if err := g.Save(&saved); err != nil {
				t.Fatal(err)
			}
			next := pacer.Transport{Base: g.Base, Rand: lab.Zero}
			if err := next.Load(&saved); err != nil {
				t.Fatal(err)
			}
			resp, err := next.RoundTrip(lab.Request(g.t, "GET", "http://a.example/", ""))
			if err != nil || resp.StatusCode != http.StatusOK || g.went[1] != time.Minute {
				t.Errorf("%s: the next run got %v, %v after %v, want 200 after 1m", name, resp, err, g.went[1])
			}
		})
	}
}

// A Warmup begins after idling and after being pushed back, not after an orderly wait for a reset.
func TestPromiseWarmUpNotAfterAnOrderlyWait(t *testing.T) {
	visitWindow(t, 30, 20*time.Second, func(g *guest) {
		g.Quotas = pacer.Table{"/": {{N: 10, WarmUp: 2 * time.Second}}}
		for range 35 {
			g.get() // without a break: the 31st waits for the reset
		}
		for _, pause := range pauses(g.went[30:]) {
			if pause != 100*time.Millisecond {
				t.Errorf("after the reset, requests went after pauses of %v, want 100ms", pauses(g.went[30:]))
				break
			}
		}
	})
}

// A MaxQueue keeps its word at a new host, where all but one wait for the first answer.
func TestPromiseSlowStartBesideMaxQueue(t *testing.T) {
	visit(t, func(int) *http.Response {
		time.Sleep(100 * time.Millisecond)
		return reply(200)
	}, func(g *guest) {
		g.Line.MaxQueue = 10
		var sent, refused atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				resp, err := g.RoundTrip(lab.Request(g.t, "GET", "http://a.example/", ""))
				var e *throttle.Error
				switch {
				case err == nil:
					resp.Body.Close()
					sent.Add(1)
				case errors.As(err, &e) && e.Cause == throttle.CauseSlowStart && errors.Is(err, throttle.ErrQueueFull) && time.Since(g.start) == 0:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if sent.Load() != 11 || refused.Load() != 39 {
			t.Errorf("%d were sent and %d refused, want 11 and 39", sent.Load(), refused.Load())
		}
	})
}

// Modes that do not wait keep their word beside a slow answer: what would have to wait is refused or answered by the
// caller at once, and what is only observed goes.
func TestPromiseSlowStartInModesThatDoNotWait(t *testing.T) {
	for mode, want := range map[pacer.Mode][2]int{ // the status at once, and a quarter of a second later; zero if it is not sent
		pacer.ModeWait:    {200, 200},
		pacer.ModeReject:  {0, 200},
		pacer.ModeDegrade: {503, 200},
		pacer.ModeObserve: {200, 200},
	} {
		visit(t, func(n int) *http.Response {
			if n == 0 {
				time.Sleep(time.Minute) // a long poll
			}
			return reply(200)
		}, func(g *guest) {
			g.Mode = mode
			g.Fallback = func(req *http.Request, err *throttle.Error) (*http.Response, error) {
				if err.Cause != throttle.CauseSlowStart || !errors.Is(err, throttle.ErrWouldWait) {
					t.Errorf("%v: %v", mode, err)
				}
				resp := reply(503)
				resp.Request = req
				return resp, nil
			}
			poll := g.crowd(1)
			if got := g.get(); got != want[0] || mode != pacer.ModeWait && time.Since(g.start) != 0 {
				t.Errorf("%v: got %d after %v, want %d at once", mode, got, time.Since(g.start), want[0])
			}
			time.Sleep(250*time.Millisecond - time.Since(g.start))
			if got := g.get(); got != want[1] || mode != pacer.ModeWait && time.Since(g.start) != 250*time.Millisecond {
				t.Errorf("%v: got %d after %v, want %d after a quarter of a second", mode, got, time.Since(g.start), want[1])
			}
			poll.Wait()
		})
	}
}
