package pacer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// sendAll sends requests, each when the last one waits or has gone. What it returns waits for
// all of them, and returns when each went, in the order in which they asked, or why not.
func sendAll(t *testing.T, tr *Transport, urls ...string) func() []string {
	t.Helper()
	got := make([]string, len(urls))
	start := time.Now()
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() {
			_, err := tr.RoundTrip(request(t, "GET", url, ""))
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
	type table = map[string]throttle.Quotas
	every := func(d time.Duration) throttle.Quotas { return throttle.Quotas{{N: 1, Per: d}} }
	const x, y, s = "http://a.example/x", "http://a.example/y", time.Second
	for name, test := range map[string]struct {
		before, after table
		urls          []string
		want          []string // by 5s, when it is replaced, half or more of a token is saved
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
			want: []string{"0s", "55s", "5s: wait over MaxWait", "5s: wait over MaxWait"},
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
				tr := &Transport{Base: ok(), Quotas: test.before, IdleAfter: -1}
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
		tr := &Transport{Base: base, Quotas: all(inflight(1))}
		var mu sync.Mutex
		var went []time.Duration
		var open []*http.Response
		start := time.Now()
		for range 5 {
			go func() {
				resp, err := tr.RoundTrip(request(t, "GET", "http://a.example/", ""))
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
			if err := tr.SetQuotas(all(inflight(n))); err != nil {
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
		good := map[string]throttle.Quotas{"/": {{N: 1, Per: 10 * time.Second}}}
		tr := &Transport{Base: ok(), Quotas: good}
		wait := sendAll(t, tr, slices.Repeat([]string{"http://a.example/x"}, 3)...)
		for _, test := range []struct {
			table map[string]throttle.Quotas
			want  string
		}{
			{map[string]throttle.Quotas{"/": nil, "a.example": nil}, "a.example"},
			{map[string]throttle.Quotas{"/": {{N: -1}}}, "N is -1"},
			{map[string]throttle.Quotas{"/": nil, "a.example/{x}/b": nil, "a.example/a/{y}": nil}, "conflicts"},
		} {
			if err := tr.SetQuotas(test.table); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		}
		if got, want := wait(), []string{"0s", "10s", "20s"}; !slices.Equal(got, want) {
			t.Errorf("went at %q, want %q", got, want)
		}
		bad := &Transport{Mode: 9}
		if err := bad.SetQuotas(good); err == nil || !strings.Contains(err.Error(), "Mode is 9") {
			t.Errorf("got %v", err)
		}
	})
}

// It may be called before the first request, and what it is given is copied.
func TestSetQuotasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := ok()
		tr := &Transport{Base: base}
		table := map[string]throttle.Quotas{"/": {{N: 1, Per: 10 * time.Second}}}
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
		tr := &Transport{
			Base: ok(), Key: func(r *http.Request) string { return r.Header.Get("Tenant") },
			Quotas: map[string]throttle.Quotas{"/": {budget(100)}, "a.example/c/{id}/": {budget(10)}},
		}
		req := func(tenant, id string) *http.Request {
			r := request(t, "GET", "http://a.example/c/"+id+"/", "")
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
		if err := tr.SetQuotas(map[string]throttle.Quotas{
			"/": {budget(200)}, "a.example/c/{id}/": {budget(20)}, "a.example/d": {budget(5)},
		}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			tenant, id string
			left       int // 10 fewer than if nothing had been charged: room that is made is empty
		}{{"me", "1", 9}, {"me", "2", 8}, {"you", "1", 7}, {"you", "2", 20}} {
			if got := left(tr, req(test.tenant, test.id), throttle.Requests, 20); got != test.left {
				t.Errorf("left %d for %s of %s, want %d", got, test.tenant, test.id, test.left)
			}
		}
		b := lookup(tr, req("me", "1")).parent
		if f := b.Forecast(throttle.Claim{N: 98}); f.Wait == 0 || f.Never {
			t.Errorf("the host of me has 98 left: %+v", f)
		}
		if f := b.Forecast(throttle.Claim{N: 97}); f.Wait != 0 {
			t.Errorf("the host of me has not 97 left: %+v", f)
		}
	})
}

// Those who go to another line stand there as they stood: by when they asked.
func TestSetQuotasKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := ok()
		held := throttle.Quotas{{N: 1, Per: time.Hour}}
		tr := &Transport{Base: base, MaxWait: 100 * time.Hour, Quotas: map[string]throttle.Quotas{"a.example/": held}}
		serial(t, tr, base, 1)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				// The host's quota is used up, so that nobody goes before all have moved.
				if _, err := tr.RoundTrip(request(t, "GET", fmt.Sprintf("http://a.example/%d", i), "")); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if err := tr.SetQuotas(map[string]throttle.Quotas{"a.example/": held, "GET a.example/": {{N: 1, Per: time.Minute}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := lookup(tr, request(t, "GET", "http://a.example/", "")).State(); s.Waiting != 50 || s.Bucket != "GET a.example/" {
			t.Errorf("%d wait at %s", s.Waiting, s.Bucket)
		}
		wg.Wait()
		for i, got := range base.got[1:] {
			if want := fmt.Sprintf("GET http://a.example/%d", i); got != want {
				t.Errorf("%d was %s", i, got)
			}
		}
	})
}

// A wait over MaxWait is one from when the request first asked, whatever line it stands in.
func TestSetQuotasKeepsMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{Base: ok(), MaxWait: 40 * time.Second, Quotas: map[string]throttle.Quotas{"a.example/": {{N: 1, Per: 30 * time.Second}}}}
		var call Call
		start := time.Now()
		if _, err := tr.RoundTrip(request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(20*time.Second, func() {
			if err := tr.SetQuotas(map[string]throttle.Quotas{"a.example/": {{N: 1, Per: 30 * time.Second}}, "GET a.example/": {{N: 2, Per: time.Hour, Burst: 2}}}); err != nil {
				t.Error(err)
			}
		})
		if _, err := tr.RoundTrip(of(request(t, "GET", "http://a.example/", ""), &call)); err != nil || time.Since(start) != 30*time.Second {
			t.Errorf("went after %v, %v", time.Since(start), err)
		}
		if call.Waited() != 30*time.Second {
			t.Errorf("waited %v, in two lines, want 30s", call.Waited())
		}
	})
}
