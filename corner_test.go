package pacer

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// A context that ends while the answer is on its way ends the reading, too.
func TestInFlightContextEndedBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 3000 {
			ctx, cancel := context.WithCancel(t.Context())
			tr := &Transport{Quotas: all(inflight(1)), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				cancel()
				return answer(r, 200, "text"), nil
			})}
			req := request(t, "GET", "http://a.example/", "")
			resp, err := tr.RoundTrip(req.WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			resp.Body.Close()
			if s := lookup(tr, req).State(); s.Next.Cause == throttle.CauseInFlight {
				t.Fatalf("the slot is lost, in run %d", i)
			}
		}
	})
}

// What an answer tells of its cost counts when a bucket has calmed down, too.
func TestSpentAfterSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Base: &script{answers: []func(*http.Request) (*http.Response, error){status(304, "")}}, Quotas: all(budget(100)),
			Spent: func(*http.Response) throttle.Costs { return throttle.Costs{throttle.Requests: 0} },
		}
		req := request(t, "GET", "http://a.example/", "")
		for range 90 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		if got := left(tr, req, throttle.Requests, 100); got != 100 {
			t.Errorf("left %d, want 100", got)
		}
	})
}

// A body beside a ContentLength of 0 is one of unknown length, as http.NewRequest makes of
// any reader that it does not know.
func TestBytesOfAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), Quotas: all(hoard())}
		r, w := io.Pipe()
		go func() { w.Write(make([]byte, 1000)); w.Close() }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://a.example/", r)
		if err != nil || req.ContentLength != 0 {
			t.Fatal(err, req.ContentLength)
		}
		if _, err := tr.RoundTrip(req); err != nil || used(tr, req) != 1000 {
			t.Errorf("%v, %d are charged, want 1000", err, used(tr, req))
		}
	})
}

// What is sent of a body after the answer has begun counts as well.
func TestBytesSentAfterTheAnswerHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).Flush()
			io.Copy(w, r.Body)
		})
		tr := &Transport{Base: base, Quotas: all(hoard())}
		r, w := io.Pipe()
		req := request(t, "PUT", "http://a.example/", "")
		req.Body, req.ContentLength = r, -1
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		go func() { w.Write(make([]byte, 1000)); w.Close() }()
		if n := len(read(t, resp)); n != 1000 {
			t.Errorf("read %d", n)
		}
		resp.Body.Close()
		if got := used(tr, req); got != 2000 {
			t.Errorf("%d are charged, want 2000: 1000 each way", got)
		}
	})
}

// What Spent told is known to Settle: the same number changes nothing.
func TestSettleAfterSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{
			Base: &script{answers: []func(*http.Request) (*http.Response, error){status(200, "", "X-Cost", "7")}}, Quotas: all(budget(100)),
			Spent: header("X-Cost", throttle.Requests),
		}
		req := request(t, "GET", "http://a.example/", "")
		var c Call
		if _, err := tr.RoundTrip(of(req, &c)); err != nil {
			t.Fatal(err)
		}
		c.Settle(throttle.Costs{throttle.Requests: 7})
		if got := left(tr, req, throttle.Requests, 100); got != 93 {
			t.Errorf("left %d, want 93", got)
		}
	})
}

// A request that never reached the server has cost nothing, whatever is settled later.
func TestSettleOfWhatWasNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := ok()
		tr := &Transport{Base: base, MaxAttempts: -1, Cost: estimate("tokens", 10), Quotas: all(tokens(100))}
		req := request(t, "GET", "http://a.example/", "")
		for range 5 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		base.answers = []func(*http.Request) (*http.Response, error){fails(errDial)}
		var c Call
		if _, err := tr.RoundTrip(of(req, &c)); err == nil {
			t.Fatal("no error")
		}
		c.Settle(throttle.Costs{"tokens": 0})
		if got := left(tr, req, "tokens", 100); got != 50 {
			t.Errorf("left %d, want 50", got)
		}
	})
}

// What was told of a request that waited to be sent counts from when it was sent.
func TestAcquireSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{MaxRefusals: -1, Rand: zero, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			return answer(r, 429, "", "Retry-After", time.Now().Add(10*time.Second).UTC().Format(http.TimeFormat)), nil
		})}
		req := request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, tr, req)
		defer cancel()
		time.Sleep(time.Minute)
		if _, err := tr.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		if held := lookup(tr, req).State().Held; held != 10*time.Second {
			t.Errorf("held for %v, want 10s", held)
		}
	})
}

// A request that was paid for may become one of a Call.
func TestWithCallAfterAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), Quotas: all(budget(10))}
		req := request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, tr, req)
		defer cancel()
		var c Call
		if _, err := tr.RoundTrip(of(paid, &c)); err != nil || c.Attempts() != 1 {
			t.Fatal(err, c.Attempts())
		}
		if got := left(tr, req, throttle.Requests, 10); got != 9 {
			t.Errorf("left %d, want 9: it was paid for", got)
		}
	})
}

// Of two Transports, both can be paid.
func TestAcquireOfBothTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &Transport{Base: ok(), Quotas: all(budget(10))}
		outer := &Transport{Base: inner, Quotas: all(budget(10))}
		req := request(t, "GET", "http://a.example/", "")
		paid, cancel := acquire(t, outer, req)
		defer cancel()
		paid, cancel = acquire(t, inner, paid)
		defer cancel()
		if _, err := outer.RoundTrip(paid); err != nil {
			t.Fatal(err)
		}
		if l := [2]int{left(outer, req, throttle.Requests, 10), left(inner, req, throttle.Requests, 10)}; l != [2]int{9, 9} {
			t.Errorf("left %v, want 9 and 9", l)
		}
	})
}

// A Call through two Transports was sent once, and each is settled.
func TestCallOfTwoTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &Transport{Base: ok(), Quotas: all(tokens(100))}
		outer := &Transport{Base: inner, Quotas: all(tokens(100))}
		req := request(t, "GET", "http://a.example/", "")
		c := &Call{Costs: throttle.Costs{"tokens": 50}}
		if _, err := outer.RoundTrip(of(req, c)); err != nil || c.Attempts() != 1 {
			t.Errorf("%v, %d attempts, want 1", err, c.Attempts())
		}
		c.Settle(throttle.Costs{"tokens": 20})
		if l := [2]int{left(outer, req, "tokens", 100), left(inner, req, "tokens", 100)}; l != [2]int{80, 80} {
			t.Errorf("left %v, want 80 and 80", l)
		}
	})
}

// A host whose pattern is looked up is not forgotten by the very look-up.
func TestHostForgottenWhileItsChildIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), Quotas: map[string]throttle.Quotas{"a.example/": {{N: 1}}, "a.example/x": nil}}
		host, child := request(t, "GET", "http://a.example/", ""), request(t, "GET", "http://a.example/x", "")
		if _, err := tr.RoundTrip(host); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		tr.router.mu.Lock()
		tr.router.sweep()
		tr.router.sweepAt = 1 // the next bucket is one too many
		tr.router.mu.Unlock()
		b := lookup(tr, child)
		if got := lookup(tr, host); b.parent != got || b.parent.gone.Load() {
			t.Errorf("the parent %p is gone: %v; the bucket of the host is %p", b.parent, b.parent.gone.Load(), got)
		}
	})
}

// "/tree" is not "/tree/", and the redirect of ServeMux leads nobody out of what else matches.
func TestConnectEscapes(t *testing.T) {
	tr := &Transport{Quotas: map[string]throttle.Quotas{"CONNECT a.example/tree/": {{N: 1}}, "CONNECT a.example/": {{N: 2}}}}
	req := request(t, "CONNECT", "http://a.example/tree", "")
	if got := fmt.Sprint(draws(t, tr, "CONNECT", "http://a.example/tree")); !strings.Contains(got, "2/s") {
		t.Errorf("%s draws on %s, want 2/s", req.URL, got)
	}
}

// Those who wait go to the line that is theirs before anybody goes by the new quotas, in their order.
func TestSetQuotasMovesBeforeItReleases(t *testing.T) {
	for name, test := range map[string]struct {
		before, after map[string]throttle.Quotas
		want          []string
	}{
		"a more specific pattern in place of the host's": {
			map[string]throttle.Quotas{"a.example/": {{N: 1, Per: time.Minute}}},
			map[string]throttle.Quotas{"GET a.example/": {{N: 1, Per: 10 * time.Second}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
		"another name of the same": {
			map[string]throttle.Quotas{"GET a.example/": {{N: 1, Per: time.Minute}}},
			map[string]throttle.Quotas{"GET a.example/x": {{N: 1, Per: 10 * time.Second}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
		"the host's is raised and the pattern's lowered": {
			map[string]throttle.Quotas{"a.example/": {{N: 1, Per: time.Minute, Kind: throttle.FixedWindow}}, "GET a.example/": {{N: 100, Burst: 100}}},
			map[string]throttle.Quotas{"a.example/": {{N: 100, Burst: 100}}, "GET a.example/": {{N: 1, Per: 10 * time.Second}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) {
					tr := &Transport{Base: ok(), Quotas: test.before, MaxWait: time.Hour}
					wait := sendAll(t, tr, slices.Repeat([]string{"http://a.example/x"}, 4)...)
					time.Sleep(time.Second)
					if err := tr.SetQuotas(test.after); err != nil {
						t.Fatal(err)
					}
					if got := wait(); !slices.Equal(got, test.want) {
						t.Fatalf("went at %v, want %v", got, test.want)
					}
				})
			}
		})
	}
}

// Nobody is refused for what stands in a line that it leaves.
func TestSetQuotasRefusesWhoMoves(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			tr := &Transport{Base: ok(), Quotas: map[string]throttle.Quotas{"a.example/x/": {{N: 1, Per: 30 * time.Second}}}}
			wait := sendAll(t, tr, slices.Repeat([]string{"http://a.example/x/y"}, 3)...)
			time.Sleep(time.Second)
			if err := tr.SetQuotas(map[string]throttle.Quotas{"a.example/x/": {{N: 1, Per: time.Hour}}, "a.example/x/y": {{N: 1, Per: 10 * time.Second}}}); err != nil {
				t.Fatal(err)
			}
			if got := wait(); !slices.Equal(got, []string{"0s", "1s", "11s"}) {
				t.Fatalf("went at %v", got)
			}
		})
	}
}

// A quota that stays, at another place among those of its pattern, keeps what was charged.
func TestSetQuotasKeepsChargesOfAQuotaAtAnotherPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, _ := streaming()
		tr := &Transport{Base: base, Quotas: all(throttle.Quota{N: 100, Burst: 100}, inflight(1))}
		req := request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if err := tr.SetQuotas(all(inflight(1))); err != nil {
			t.Fatal(err)
		}
		if free(tr, req) {
			t.Error("the slot is free while the answer is being read")
		}
	})
}

// What was paid under quotas that are replaced since goes back to those that were charged.
func TestAcquireCancelAfterSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), Quotas: all(throttle.Quota{N: 10, Per: time.Hour, Kind: throttle.FixedWindow})}
		req := request(t, "GET", "http://a.example/", "")
		_, cancel := acquire(t, tr, req)
		if err := tr.SetQuotas(all(throttle.Quota{N: 10, Per: time.Hour, Burst: 10})); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if left(tr, req, throttle.Requests, 10) != 0 {
			t.Error("an eleventh may go")
		}
	})
}

// An answer that nobody reads is given up, as far as the slot goes.
func TestInFlightUnread(t *testing.T) {
	for name, test := range map[string]struct {
		maxUnread time.Duration
		reads     []time.Duration // when there is something to read
		freed     time.Duration   // zero if never
	}{
		"five minutes by default": {0, nil, 5 * time.Minute},
		"as set":                  {time.Second, nil, time.Second},
		"never":                   {-1, nil, 0},
		"counts from the last read": {
			time.Minute,
			[]time.Duration{30 * time.Second, 80 * time.Second},
			140 * time.Second,
		},
		"waiting in Read is reading": {
			time.Minute,
			[]time.Duration{time.Hour},
			time.Hour + time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, bodies := streaming()
				tr := &Transport{Base: base, MaxUnread: test.maxUnread, Quotas: all(inflight(1))}
				req := request(t, "GET", "http://a.example/", "")
				start := time.Now()
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				w := <-bodies
				for _, at := range test.reads {
					if d := at - time.Since(start); d < time.Minute {
						time.Sleep(d) // and only then asks
					} else {
						time.AfterFunc(d, func() { w.Write([]byte("x")) })
						resp.Body.Read(make([]byte, 1))
						continue
					}
					go w.Write([]byte("x"))
					resp.Body.Read(make([]byte, 1))
				}
				if test.freed == 0 {
					time.Sleep(1000 * time.Hour)
					if free(tr, req) {
						t.Error("the slot is free")
					}
					resp.Body.Close()
					return
				}
				time.Sleep(test.freed - time.Since(start) - 1)
				if free(tr, req) {
					t.Errorf("free a nanosecond before %v", test.freed)
				}
				time.Sleep(time.Nanosecond)
				if !free(tr, req) {
					t.Errorf("not free after %v", test.freed)
				}
				// It can still be read.
				go func() { w.Write([]byte("late")); w.Close() }()
				if got := read(t, resp); got != "late" {
					t.Errorf("read %q", got)
				}
				resp.Body.Close()
				if s := lookup(tr, req).State(); !free(tr, req) || s.InFlight != 0 {
					t.Errorf("state %+v", s)
				}
			})
		})
	}
}

// The same with callers who close early, or cancel, as seen from the client.
func TestInFlightNeverMoreOfRudeCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		var seen counter
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			seen.add(1)
			select {
			case <-time.After(time.Duration(rand.IntN(50)) * time.Millisecond):
			case <-r.Context().Done():
				seen.add(-1)
				return nil, r.Context().Err()
			}
			if rand.IntN(10) == 0 {
				seen.add(-1)
				return nil, errBroken
			}
			resp := answer(r, []int{200, 404, 503, 429}[rand.IntN(4)], "some text")
			if resp.StatusCode > 404 { // it will be asked again, and has ended
				seen.add(-1)
				return resp, nil
			}
			b := &countedEnd{ReadCloser: resp.Body, end: sync.OnceFunc(func() { seen.add(-1) })}
			resp.Body, resp.ContentLength = b, -1
			return resp, nil
		})
		tr := &Transport{Base: base, Quotas: all(inflight(most)), MaxWait: 100 * time.Hour, Backoff: steady{}}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(10_000))*time.Millisecond)
					resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "").WithContext(ctx))
					if err == nil {
						switch rand.IntN(3) {
						case 0:
							resp.Body.Close()
						case 1:
							io.Copy(io.Discard, resp.Body)
						case 2:
							resp.Body.Read(make([]byte, 3))
							resp.Body.Close()
						}
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if s := lookup(tr, request(t, "GET", "http://a.example/", "")).State(); s.InFlight != 0 || s.Waiting != 0 || s.Next.Cause == throttle.CauseInFlight {
			t.Errorf("state %+v", s)
		}
		if seen.most > most {
			t.Errorf("%d at a time, want %d", seen.most, most)
		}
	})
}

// Buckets are forgotten as ever while tables are replaced, also those of patterns that
// were taken away, and none whose loss would matter.
func TestSetQuotasForgetsBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := ok()
		tr := &Transport{Base: base}
		tables := []map[string]throttle.Quotas{
			{"kept.example/": {budget(10)}, "/": {{N: 1}}},
			{"kept.example/": {budget(10)}, "/{id}": {{N: 1}}},
			{"kept.example/": {budget(10)}, "GET /{id}": {{N: 1}}, "GET /x": nil},
		}
		kept := request(t, "GET", "http://kept.example/", "")
		if err := tr.SetQuotas(tables[0]); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := tr.RoundTrip(kept); err != nil {
				t.Fatal(err)
			}
		}
		most := 0
		for i := range 20_000 {
			if i%1000 == 999 {
				if err := tr.SetQuotas(tables[i/1000%3]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := tr.RoundTrip(request(t, "GET", fmt.Sprintf("http://h%d.example/%d", i/2, i), "")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
			most = max(most, len(tr.router.buckets))
		}
		if most > 3*fewBuckets {
			t.Errorf("%d buckets after 10 000 hosts of 2 paths", most)
		}
		if got := left(tr, kept, throttle.Requests, 10); got != 6 {
			t.Errorf("left %d of what must not be forgotten, want 6", got)
		}
	})
}

// Half of a connection that was upgraded can be closed, where Base can.
func TestInFlightUpgradeCloseWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &halfClosed{ReadCloser: http.NoBody}
		tr := &Transport{Quotas: all(inflight(1)), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 101, "")
			resp.Body = c
			return resp, nil
		})}
		resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		cw, ok := resp.Body.(interface{ CloseWrite() error })
		if !ok {
			t.Fatalf("a %T has no CloseWrite", resp.Body)
		}
		if err := cw.CloseWrite(); err != nil || !c.closed {
			t.Errorf("%v, closed: %v", err, c.closed)
		}
	})
}

// halfClosed is a connection as the body of an answer.
type halfClosed struct {
	io.ReadCloser
	io.Writer
	closed bool
}

func (c *halfClosed) CloseWrite() error { c.closed = true; return nil }

// countedEnd is a body that tells when it ends.
type countedEnd struct {
	io.ReadCloser
	end func()
}

func (b *countedEnd) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *countedEnd) Close() error { b.end(); return b.ReadCloser.Close() }

// Of an answer that nobody reads, the bytes come back.
func TestBytesOfAnAnswerThatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: &script{answers: []func(*http.Request) (*http.Response, error){download(2000, true)}}, Quotas: all(hoard())}
		req := upload(t, 1000, true)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(5*time.Minute - time.Nanosecond)
		if got := used(tr, req); got != 3000 {
			t.Errorf("%d are charged, want 3000", got)
		}
		time.Sleep(time.Nanosecond)
		if got := used(tr, req); got != 1000 {
			t.Errorf("%d are charged, want 1000", got)
		}
	})
}

// However tables come and go, each request goes once, in its order, and nobody is left behind.
func TestSetQuotasOfAThousandWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		sent := map[string]int{}
		var mu sync.Mutex
		tr := &Transport{
			MaxWait: 100 * time.Hour,
			Key:     func(r *http.Request) string { return r.URL.Query().Get("tenant") },
			Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				sent[r.Header.Get("Number")]++
				return answer(r, 200, ""), nil
			}),
			Quotas: map[string]throttle.Quotas{"a.example/": {{N: 1}}},
		}
		rate := func() throttle.Quotas { return throttle.Quotas{{N: 1 + rand.IntN(5), Burst: 1 + rand.IntN(3)}} }
		tables := []func() map[string]throttle.Quotas{
			func() map[string]throttle.Quotas { return map[string]throttle.Quotas{"/": rate()} },
			func() map[string]throttle.Quotas {
				return map[string]throttle.Quotas{"a.example/": rate(), "GET a.example/": rate()}
			},
			func() map[string]throttle.Quotas {
				return map[string]throttle.Quotas{"a.example/": rate(), "a.example/{id}": rate()}
			},
			func() map[string]throttle.Quotas {
				return map[string]throttle.Quotas{"a.example/": rate(), "a.example/1": rate(), "GET a.example/2": {inflight(1)}, "a.example/{id}": rate()}
			},
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				req := request(t, "GET", fmt.Sprintf("http://a.example/%d?tenant=%d", rand.IntN(4), rand.IntN(2)), "")
				req.Header.Set("Number", fmt.Sprint(i))
				if i%3 == 0 {
					paid, cancel, err := tr.Acquire(t.Context(), req)
					if err != nil {
						t.Error(err)
						return
					}
					defer cancel()
					req = paid
				}
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for replaced := 0; ; replaced++ {
			if err := tr.SetQuotas(tables[rand.IntN(len(tables))]()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
				if len(sent) != n {
					t.Errorf("%d requests were sent, want %d", len(sent), n)
				}
				for i, times := range sent {
					if times != 1 {
						t.Errorf("request %s was sent %d times", i, times)
					}
				}
				if replaced < 5 {
					t.Errorf("only %d tables", replaced)
				}
				for _, s := range tr.State() {
					if s.Waiting != 0 || s.InFlight != 0 {
						t.Errorf("state %+v", s)
					}
				}
				return
			case <-time.After(time.Duration(rand.IntN(15_000)) * time.Millisecond):
			}
		}
	})
}

// A bucket is not forgotten while the bytes of an answer are being counted, though all that
// was charged for it has come back.
func TestBytesOfAnOpenAnswerKeepTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Quotas: all(hoard()), MaxUnread: -1, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, strings.Repeat("x", 500))
			resp.ContentLength = -1
			return resp, nil
		})}
		req := request(t, "GET", "http://a.example/", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b := lookup(tr, req)
		time.Sleep(time.Hour)
		sweep := func() {
			tr.router.mu.Lock()
			defer tr.router.mu.Unlock()
			tr.router.sweep()
			tr.router.sweep()
		}
		if sweep(); b.gone.Load() {
			t.Fatal("forgotten while the answer is open")
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if used(tr, req) != 500 {
			t.Errorf("%d are charged, want 500", used(tr, req))
		}
		if n := b.open.Load(); n != 0 {
			t.Errorf("%d answers are open", n)
		}
	})
}
