package promises

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
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
	for remaining, want := range map[int][]int{
		999: {1, 199},
		900: {1, 100, 99}, // 100 + 8·100 = 900: others may have taken the rest just now
	} {
		visit(t, inAWhile(always(200, trio(1000, remaining, time.Minute)...)), func(g *guest) {
			g.crowd(200).Wait()
			if got := waves(g.went); !slices.Equal(got, want) {
				t.Errorf("told that %d remain, went in waves of %v, want %v", remaining, got, want)
			}
		})
	}
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

// A slow start fails nobody at a server that refuses nothing: who has little time waits for it for a quarter of
// that at most, and for an eighth until something was answered; and who must not wait not at all.
func TestPromiseSlowStartFailsNobodyForWantOfTime(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		maxWait, timeout, trip time.Duration // of both bounds, zero means none
		want                   map[time.Duration]int
	}{
		{maxWait: -1, trip: time.Second, want: map[time.Duration]int{0: 50}},
		{maxWait: 1 * ms, trip: time.Second, want: map[time.Duration]int{0: 1, ms / 8: 49}},
		{maxWait: 480 * ms, trip: time.Second, want: map[time.Duration]int{0: 1, 60 * ms: 49}},
		{timeout: 400 * ms, trip: 349 * ms, want: map[time.Duration]int{0: 1, 50 * ms: 49}},
		{timeout: 800 * ms, trip: 80 * ms, want: map[time.Duration]int{0: 1, 80 * ms: 2, 160 * ms: 4, 200 * ms: 43}},
		{timeout: 800 * ms, trip: 101 * ms, want: map[time.Duration]int{0: 1, 100 * ms: 49}},
		{maxWait: 600 * ms, timeout: 2 * time.Second, trip: time.Second, want: map[time.Duration]int{0: 1, 75 * ms: 49}},
		{maxWait: 5 * time.Second, trip: 2 * time.Second, want: map[time.Duration]int{0: 1, 250 * ms: 1, 500 * ms: 2, 625 * ms: 46}},
		{timeout: 10 * time.Second, trip: 8749 * ms, want: map[time.Duration]int{0: 1, 250 * ms: 1, 500 * ms: 2, 750 * ms: 4, 1000 * ms: 8, 1250 * ms: 34}},
		{timeout: 30 * time.Second, trip: 20 * time.Second, want: map[time.Duration]int{0: 1, 250 * ms: 1, 500 * ms: 2, 750 * ms: 4, 1000 * ms: 8, 1250 * ms: 16, 1500 * ms: 18}}, // there is time
	} {
		visit(t, func(int) *http.Response {
			time.Sleep(test.trip)
			return reply(200)
		}, func(g *guest) {
			g.MaxWait = test.maxWait
			client := &http.Client{Transport: g, Timeout: test.timeout}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { lab.Get(g.t, client, "http://a.example/") })
			}
			wg.Wait()
			got := map[time.Duration]int{}
			for _, at := range g.went {
				got[at]++
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("MaxWait %v, Timeout %v: went at %v, want %v", test.maxWait, test.timeout, got, test.want)
			}
		})
	}
}

// Who comes long after a first request that has no answer yet waits for the slow start for an eighth of its own
// time.
func TestPromiseSlowStartBesideALongPoll(t *testing.T) {
	visit(t, func(int) *http.Response {
		time.Sleep(time.Minute)
		return reply(200)
	}, func(g *guest) {
		g.MaxWait = 4 * time.Second
		poll := g.crowd(1)
		time.Sleep(30 * time.Second)
		g.crowd(20).Wait()
		poll.Wait()
		if got, want := waves(g.went), []int{1, 1, 2, 17}; !slices.Equal(got, want) || g.went[20] != 30*time.Second+500*time.Millisecond {
			t.Errorf("went in waves of %v, the last after %v; want %v and 30.5s", got, g.went[20], want)
		}
	})
}

// Callers without much time do not pass a slow start of a server that has refused.
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

// Nor once it serves again: a bucket of 20 per second, whose answers take 0.4 s, is asked by 1000 per second
// who have one second each. From the third second on, it hears twice as many as it serves at the most.
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

// A MaxQueue does not count those who wait for nothing but a slow start. When that turns out to be more, all
// but as many are refused; where others may use what remains, when it is kept back for them no longer.
func TestPromiseSlowStartBesideMaxQueue(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name    string
		answer  *http.Response
		quotas  string
		refused map[time.Duration]int // of 50 that come at once, when
	}{
		{"nothing is known", reply(200), "", map[time.Duration]int{}},
		{"a quota is enough", reply(200), "50/s", map[time.Duration]int{}},
		{"a quota is not", reply(200), "20/s", map[time.Duration]int{0: 30}},
		{"nor one in flight", reply(200), "20 in flight", map[time.Duration]int{0: 30}},
		{"the server states less", reply(200, trio(11, 10, second)...), "", map[time.Duration]int{100 * time.Millisecond: 29}},
		{"others use it", reply(200, trio(30, 10, second)...), "", map[time.Duration]int{500 * time.Millisecond: 29}}, // after four round trips, the rest goes
		{"it refuses", reply(429, "Retry-After", "1"), "", map[time.Duration]int{100 * time.Millisecond: 40}},
	} {
		visit(t, func(n int) *http.Response {
			time.Sleep(100 * time.Millisecond)
			if n > 0 {
				return reply(200)
			}
			return answerAgain(test.answer)
		}, func(g *guest) {
			g.Line.MaxQueue, g.Quotas = 10, pacer.Table{"/": quota.MustParse(test.quotas)}
			refused, mu := map[time.Duration]int{}, sync.Mutex{}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					resp, err := g.RoundTrip(lab.Request(g.t, "GET", "http://a.example/", ""))
					if err == nil {
						resp.Body.Close()
						return
					}
					if !errors.Is(err, throttle.ErrQueueFull) {
						t.Errorf("%s: %v", test.name, err)
					}
					mu.Lock()
					defer mu.Unlock()
					refused[time.Since(g.start)]++
				})
				synctest.Wait()
			}
			if wg.Wait(); !maps.Equal(refused, test.refused) {
				t.Errorf("%s: refused at %v, want %v", test.name, refused, test.refused)
			}
		})
	}
}

// Modes that do not wait keep their word beside a slow start: what would have to wait for it goes, also beside
// those that wait. What would have to wait for anything else, or where the server has refused, is refused or
// answered by the caller.
func TestPromiseSlowStartInModesThatDoNotWait(t *testing.T) {
	for _, mode := range []pacer.Mode{pacer.ModeReject, pacer.ModeDegrade, pacer.ModeObserve} {
		for name, test := range map[string]struct {
			quotas  string
			refused bool // the first, before
			waiting int  // others, that may wait
			want    int  // of ten
		}{
			"new":               {"", false, 0, 10},
			"behind others":     {"", false, 5, 10},
			"quota":             {"12/h", false, 0, 10},
			"quota, others":     {"12/h", false, 5, 7},
			"in flight, others": {"12 in flight", false, 5, 7},
			"refused":           {"", true, 0, 1},
			"refused, others":   {"", true, 5, 0},
		} {
			visit(t, func(n int) *http.Response {
				if test.refused && n == 0 {
					return reply(429, "Retry-After", "1")
				}
				time.Sleep(200 * time.Millisecond)
				return reply(200)
			}, func(g *guest) {
				g.Quotas, g.MaxStandstill = pacer.Table{"/": quota.MustParse(test.quotas)}, pacer.Forever
				g.Fallback = func(_ *http.Request, err *throttle.Error) (*http.Response, error) { return nil, err }
				if test.refused {
					g.Retry.MaxRefusals = -1
					g.get()
					time.Sleep(time.Second)
				}
				wait := g.crowd(test.waiting)
				sent := func() int { g.mu.Lock(); defer g.mu.Unlock(); return len(g.went) }
				before := sent()
				var atOnce sync.WaitGroup
				for range 10 {
					atOnce.Go(func() {
						req := lab.Request(g.t, "GET", "http://a.example/", "")
						if resp, err := g.RoundTrip(req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: mode}))); err == nil {
							resp.Body.Close()
						}
					})
					synctest.Wait()
				}
				want := test.want
				if mode == pacer.ModeObserve {
					want = max(10, sent()-before) // and those that wait no longer for it
				}
				if got := sent() - before; got != want {
					t.Errorf("%v, %s: %d went at once, want %d", mode, name, got, want)
				}
				atOnce.Wait()
				wait.Wait()
			})
		}
	}
}

// Nor does who has little time wait for the turns of those before it that have more: it goes before them, and
// they no sooner.
func TestPromiseSlowStartFailsNobodyBehindThePatient(t *testing.T) {
	for _, of := range []struct {
		call  *pacer.Call
		after time.Duration
	}{
		{&pacer.Call{MaxWait: 800 * time.Millisecond}, 100 * time.Millisecond},
		{&pacer.Call{MaxWait: 800 * time.Millisecond, Priority: throttle.Background}, 100 * time.Millisecond},
		{&pacer.Call{MaxWait: 2 * time.Second}, 250 * time.Millisecond},
		{&pacer.Call{MaxWait: 8 * time.Second}, time.Second},
		{&pacer.Call{MaxWait: -1}, 0},
	} {
		visit(t, func(int) *http.Response {
			time.Sleep(10 * time.Second)
			return reply(200)
		}, func(g *guest) {
			patient := g.crowd(100)
			synctest.Wait()
			ctx := pacer.WithCall(g.t.Context(), of.call)
			lab.Get(g.t, &http.Client{Transport: lab.RoundTripper(func(r *http.Request) (*http.Response, error) { return g.RoundTrip(r.WithContext(ctx)) })}, "http://a.example/")
			if took := time.Since(g.start) - 10*time.Second; took != of.after {
				g.t.Errorf("%+v: went after %v, want %v", of.call, took, of.after)
			}
			patient.Wait()
		})
	}
}
