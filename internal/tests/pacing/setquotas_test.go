package pacing

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// sendAll sends requests, each when the last one waits or has gone. What it returns waits for
// all of them, and returns when each went, in the order in which they asked, or why not.
func sendAll(t *testing.T, tr *pacer.Transport, urls ...string) func() []string {
	t.Helper()
	got := make([]string, len(urls))
	start := time.Now()
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() {
			_, err := tr.RoundTrip(lab.Request(t, "GET", url, ""))
			var local *throttle.Error
			switch at := time.Since(start); {
			case errors.As(err, &local):
				got[i] = fmt.Sprintf("%v: %v", at, local.Err)
			case err != nil:
				t.Error(err)
			default:
				got[i] = at.String()
			}
		})
		synctest.Wait()
	}
	return func() []string { wg.Wait(); return got }
}

// What is replaced while requests wait is what they wait for from then on.
func TestSetQuotasWhileRequestsWait(t *testing.T) {
	type table = map[string]quota.Quotas
	every := func(d time.Duration) quota.Quotas { return quota.Quotas{{N: 1, Per: d, Kind: quota.TokenBucket}} }
	const x, y, s = "http://a.example/x", "http://a.example/y", time.Second
	for name, test := range map[string]struct {
		before, after table
		urls          []string
		want          []string // by 5s, when it is replaced, half or more of a token is saved
		maxWait       time.Duration
	}{
		"raised": {
			before: table{"/": every(10 * s)}, after: table{"/": every(s)}, urls: []string{x, x, x, x},
			want: []string{"0s", "5.5s", "6.5s", "7.5s"},
		},
		"lowered": {
			before: table{"/": every(10 * s)}, after: table{"/": every(20 * s)}, urls: []string{x, x, x, x},
			want: []string{"0s", "15s", "35s", "55s"},
		},
		"lowered, and some cannot make it": {
			before: table{"/": every(10 * s)}, after: table{"/": every(100 * s)}, urls: []string{x, x, x, x},
			want:    []string{"0s", "55s", "5s: wait over MaxWait", "5s: wait over MaxWait"},
			maxWait: 2 * time.Minute,
		},
		"lowered, and nothing moves": {
			before: table{"/": every(10 * s)}, after: table{"/": every(300 * s)}, urls: []string{x, x, x},
			want: []string{"0s", "5s: nothing can go within MaxStandstill", "5s: nothing can go within MaxStandstill"},
		},
		"taken away": {
			before: table{"/": every(10 * s)}, after: nil, urls: []string{x, x, x, x},
			want: []string{"0s", "5s", "5s", "5s"},
		},
		"the same": {
			before: table{"/": every(10 * s)}, after: table{"/": every(10 * s)}, urls: []string{x, x, x},
			want: []string{"0s", "10s", "20s"},
		},
		"the same under another pattern": {
			before: table{"/": every(10 * s)}, after: table{"a.example/": every(10 * s)}, urls: []string{x, x, x},
			want: []string{"0s", "10s", "20s"},
		},
		"the pattern is taken away, the host's stays": {
			before: table{"/": every(2 * s), "GET a.example/x": every(10 * s)}, after: table{"/": every(2 * s)}, urls: []string{x, x, x, x},
			want: []string{"0s", "5s", "7s", "9s"},
		},
		"a more specific one beside the host's": {
			before: table{"/": every(10 * s)}, after: table{"/": every(10 * s), "GET a.example/x": every(30 * s)}, urls: []string{x, x, y, x, y},
			want: []string{"0s", "10s", "20s", "40s", "30s"},
		},
		"another host is not concerned": {
			before: table{"a.example/": every(10 * s), "b.example/": every(10 * s)}, after: table{"a.example/": every(20 * s), "b.example/": every(10 * s)},
			urls: []string{x, "http://b.example/", x, "http://b.example/"},
			want: []string{"0s", "0s", "15s", "10s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{Base: lab.OK(), Quotas: test.before, MaxWait: test.maxWait, Learn: pacer.Learn{IdleAfter: -1}}
				wait := sendAll(t, tr, test.urls...)
				time.Sleep(5 * time.Second)
				if err := tr.SetQuotas(test.after); err != nil {
					t.Fatal(err)
				}
				if got := wait(); !slices.Equal(got, test.want) {
					t.Errorf("went at %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestSetQuotasOfWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, bodies := streaming()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(lab.InFlight(1))}
		var mu sync.Mutex
		var went []time.Duration
		var open []*http.Response
		start := time.Now()
		for range 5 {
			go func() {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				went, open = append(went, time.Since(start)), append(open, resp)
			}()
			synctest.Wait()
		}
		set := func(n int) {
			time.Sleep(time.Second)
			if err := tr.SetQuotas(lab.All(lab.InFlight(n))); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		set(4) // 3 more go
		set(2) // of the 4 that went, 3 must end before another one goes
		for range 4 {
			time.Sleep(time.Second)
			mu.Lock()
			open[0].Body.Close()
			open = open[1:]
			mu.Unlock()
			synctest.Wait()
		}
		const s = time.Second
		if want := []time.Duration{0, s, s, s, 5 * s}; !slices.Equal(went, want) {
			t.Errorf("went at %v, want %v", went, want)
		}
		open[0].Body.Close()
		for range 5 {
			<-bodies
		}
	})
}

// A table in which something is wrong changes nothing, and says what it is.
func TestSetQuotasInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := map[string]quota.Quotas{"/": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}}
		tr := &pacer.Transport{Base: lab.OK(), Quotas: good}
		wait := sendAll(t, tr, slices.Repeat([]string{"http://a.example/x"}, 3)...)
		for _, test := range []struct {
			table map[string]quota.Quotas
			want  string
		}{
			{map[string]quota.Quotas{"/": nil, "a.example": nil}, "a.example"},
			{map[string]quota.Quotas{"/": {{N: -1, Burst: 1}}}, "N is -1"},
			{map[string]quota.Quotas{"/": nil, "a.example/{x}/b": nil, "a.example/a/{y}": nil}, "conflicts"},
		} {
			if err := tr.SetQuotas(test.table); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		}
		if got, want := wait(), []string{"0s", "10s", "20s"}; !slices.Equal(got, want) {
			t.Errorf("went at %q, want %q", got, want)
		}
		bad := &pacer.Transport{Mode: "9"}
		if err := bad.SetQuotas(good); err == nil || !strings.Contains(err.Error(), `Mode is "9"`) {
			t.Errorf("got %v", err)
		}
	})
}

// It may be called before the first request, and what it is given is copied.
func TestSetQuotasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base}
		table := map[string]quota.Quotas{"/": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}}
		if err := tr.SetQuotas(table); err != nil {
			t.Fatal(err)
		}
		table["/"][0].N = 1000
		delete(table, "/")
		if got := gaps(serial(t, tr, base, 3)); !slices.Equal(got, []time.Duration{10 * time.Second, 10 * time.Second}) {
			t.Errorf("gaps %v, want 10s", got)
		}
		if len(tr.Quotas) != 0 {
			t.Error("the field was written to")
		}
	})
}

// A pattern that stays keeps what was charged to it, each value of its wildcards and each
// tenant for itself.
func TestSetQuotasKeepsCharges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: lab.OK(), Key: func(r *http.Request) string { return r.Header.Get("Tenant") },
			Quotas: map[string]quota.Quotas{"/": {lab.Budget(100)}, "a.example/c/{id}/": {lab.Budget(10)}},
		}
		req := func(tenant, id string) *http.Request {
			r := lab.Request(t, "GET", "http://a.example/c/"+id+"/", "")
			r.Header.Set("Tenant", tenant)
			return r
		}
		send := func(tenant, id string, n int) {
			t.Helper()
			for range n {
				if _, err := tr.RoundTrip(req(tenant, id)); err != nil {
					t.Fatal(err)
				}
			}
		}
		send("me", "1", 1)
		send("me", "2", 2)
		send("you", "1", 3)
		if err := tr.SetQuotas(map[string]quota.Quotas{
			"/": {lab.Budget(200)}, "a.example/c/{id}/": {lab.Budget(20)}, "a.example/d": {lab.Budget(5)},
		}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			tenant, id string
			left       int // 10 fewer than if nothing had been charged: room that is made is empty
		}{{"me", "1", 9}, {"me", "2", 8}, {"you", "1", 7}, {"you", "2", 20}} {
			if got := left(t, tr, req(test.tenant, test.id), quota.Requests, 20); got != test.left {
				t.Errorf("left %d for %s of %s, want %d", got, test.tenant, test.id, test.left)
			}
		}
		host := lab.Request(t, "GET", "http://a.example/", "")
		host.Header.Set("Tenant", "me")
		if got := left(t, tr, host, quota.Requests, 200); got != 97 {
			t.Errorf("left %d for the host of me, want 97", got)
		}
	})
}

// Those who go to another line stand there as they stood: by when they asked.
func TestSetQuotasKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		held := quota.Quotas{{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}
		tr := &pacer.Transport{Base: base, MaxWait: 100 * time.Hour, MaxStandstill: 100 * time.Hour, Quotas: map[string]quota.Quotas{"a.example/": held}}
		serial(t, tr, base, 1)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				// The host's quota is used up, so that nobody goes before all have moved.
				if _, err := tr.RoundTrip(lab.Request(t, "GET", fmt.Sprintf("http://a.example/%d", i), "")); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if err := tr.SetQuotas(map[string]quota.Quotas{"a.example/": held, "GET a.example/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := lab.State(t, tr, "GET a.example/"); s.Waiting != 50 {
			t.Errorf("%d wait at %s", s.Waiting, s.Bucket)
		}
		wg.Wait()
		for i, got := range base.Got[1:] {
			if want := fmt.Sprintf("GET http://a.example/%d", i); got != want {
				t.Errorf("%d was %s", i, got)
			}
		}
	})
}

// A wait over MaxWait is one from when the request first asked, whatever line it stands in.
func TestSetQuotasKeepsMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), MaxWait: 40 * time.Second, Quotas: map[string]quota.Quotas{"a.example/": {{N: 1, Per: 30 * time.Second, Kind: quota.TokenBucket}}}}
		var call pacer.Call
		start := time.Now()
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(20*time.Second, func() {
			if err := tr.SetQuotas(map[string]quota.Quotas{"a.example/": {{N: 1, Per: 30 * time.Second, Kind: quota.TokenBucket}}, "GET a.example/": {{N: 2, Per: time.Hour, Burst: 2}}}); err != nil {
				t.Error(err)
			}
		})
		if _, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &call)); err != nil || time.Since(start) != 30*time.Second {
			t.Errorf("went after %v, %v", time.Since(start), err)
		}
		if call.Waited() != 30*time.Second {
			t.Errorf("waited %v, in two lines, want 30s", call.Waited())
		}
	})
}

// Those who wait go to the line that is theirs before anybody goes by the new quotas, in their order.
func TestSetQuotasMovesBeforeItReleases(t *testing.T) {
	for name, test := range map[string]struct {
		before, after map[string]quota.Quotas
		want          []string
	}{
		"a more specific pattern in place of the host's": {
			map[string]quota.Quotas{"a.example/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}},
			map[string]quota.Quotas{"GET a.example/": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
		"another name of the same": {
			map[string]quota.Quotas{"GET a.example/": {{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}},
			map[string]quota.Quotas{"GET a.example/x": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
		"the host's is raised and the pattern's lowered": {
			map[string]quota.Quotas{"a.example/": {{N: 1, Per: time.Minute, Kind: quota.FixedWindow}}, "GET a.example/": {{N: 100, Burst: 100}}},
			map[string]quota.Quotas{"a.example/": {{N: 100, Burst: 100}}, "GET a.example/": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}},
			[]string{"0s", "1s", "11s", "21s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) {
					tr := &pacer.Transport{Base: lab.OK(), Quotas: test.before, MaxWait: time.Hour, MaxStandstill: time.Hour}
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
			tr := &pacer.Transport{Base: lab.OK(), Quotas: map[string]quota.Quotas{"a.example/x/": {{N: 1, Per: 30 * time.Second, Kind: quota.TokenBucket}}}}
			wait := sendAll(t, tr, slices.Repeat([]string{"http://a.example/x/y"}, 3)...)
			time.Sleep(time.Second)
			if err := tr.SetQuotas(map[string]quota.Quotas{"a.example/x/": {{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}, "a.example/x/y": {{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}}}); err != nil {
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
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 100, Burst: 100}, lab.InFlight(1))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if err := tr.SetQuotas(lab.All(lab.InFlight(1))); err != nil {
			t.Fatal(err)
		}
		if lab.Free(t, tr, "a.example") {
			t.Error("the slot is free while the answer is being read")
		}
	})
}

// However tables come and go, each request goes once, in its order, and nobody is left behind.
func TestSetQuotasOfAThousandWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		sent := map[string]int{}
		var mu sync.Mutex
		tr := &pacer.Transport{
			MaxWait: 100 * time.Hour, MaxStandstill: 100 * time.Hour,
			Key: func(r *http.Request) string { return r.URL.Query().Get("tenant") },
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				sent[r.Header.Get("Number")]++
				return lab.Answer(r, 200, ""), nil
			}),
			Quotas: map[string]quota.Quotas{"a.example/": {{N: 1, Kind: quota.TokenBucket}}},
		}
		rate := func() quota.Quotas { return quota.Quotas{{N: int64(1 + rand.IntN(5)), Burst: int64(1 + rand.IntN(3))}} }
		tables := []func() map[string]quota.Quotas{
			func() map[string]quota.Quotas { return map[string]quota.Quotas{"/": rate()} },
			func() map[string]quota.Quotas {
				return map[string]quota.Quotas{"a.example/": rate(), "GET a.example/": rate()}
			},
			func() map[string]quota.Quotas {
				return map[string]quota.Quotas{"a.example/": rate(), "a.example/{id}": rate()}
			},
			func() map[string]quota.Quotas {
				return map[string]quota.Quotas{"a.example/": rate(), "a.example/1": rate(), "GET a.example/2": {lab.InFlight(1)}, "a.example/{id}": rate()}
			},
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				req := lab.Request(t, "GET", fmt.Sprintf("http://a.example/%d?tenant=%d", rand.IntN(4), rand.IntN(2)), "")
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

// A quota that is written more exactly counts on: what went is the same.
func TestSetQuotasFromPlainToALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: pacer.Table{"/": quota.MustParse("10/m")}}
		serial(t, tr, base, 10)
		for _, text := range []string{"10/m log", "10/m sliding", "10/m", "10/m even, 10/m"} {
			if err := tr.SetQuotas(pacer.Table{"/": quota.MustParse(text)}); err != nil {
				t.Fatal(err)
			}
			f, err := tr.Forecast(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil || f.Wait != time.Minute {
				t.Errorf("%s: %+v, %v; want a wait of a minute", text, f, err)
			}
		}
	})
}
