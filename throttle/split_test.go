package throttle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer/quota"
)

// TestGroupLearnsBeforeItSplits: a bucket that is to learn an answer, since all requests are counted together
// as far as is known, is locked until it has: another answer may say the contrary. Else the bucket of all
// learns what is of a few, and has all wait for the reset of that.
func TestGroupLearnsBeforeItSplits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter} }}
		l := g.Limiter("a")
		grant, err := l.Acquire(t.Context(), Claim{Verb: "GET", Path: "/search/x"})
		if err != nil {
			t.Fatal(err)
		}
		a := remaining("search", 9)
		if _, local := grant.forward(&a, 0); !local || l.asRoot.mu.TryLock() {
			t.Fatalf("local %v, and another answer may come before the bucket learns", local)
		}
		l.unlock()
		grant.Answered(a)
		if got := l.State().Limits; len(got) != 1 || got[0].Available != 9 {
			t.Errorf("%+v, want 9 left", got)
		}
	})
}

// What a server counts on its own gets a bucket of its own, once it is known which claims draw on it.
func TestGroupSplitsByWhatServersName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], SlowStart: true, Rand: noJitter} }}
		l := g.Limiter("a")
		search, core := Claim{Verb: "GET", Path: "/search/x"}, Claim{Verb: "GET", Path: "/users/x"}
		ask := func(c Claim, a Answer) *Limiter {
			t.Helper()
			grant, err := l.Acquire(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			grant.Answered(a)
			return grant.l
		}
		ask(core, remaining("core", 50))
		if got := fmt.Sprint(buckets(&g)); got != "[a]" {
			t.Fatalf("%s, want one bucket while the server names one", got)
		}
		ask(search, remaining("search", 0))
		if got, want := fmt.Sprint(buckets(&g)), "[a a (core) a (search)]"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		start := time.Now()
		if by := ask(core, remaining("core", 49)); by.Name != "a (core)" || by.Parent != l || time.Since(start) != 0 {
			t.Errorf("granted by %s after %v", by.Name, time.Since(start))
		}
		if f := l.Forecast(search); f.Wait != time.Minute || f.Bucket != "a (search)" {
			t.Errorf("forecast %+v", f)
		}
		if by := ask(search, remaining("search", 99)); by.Name != "a (search)" || time.Since(start) != time.Minute {
			t.Errorf("granted by %s after %v", by.Name, time.Since(start))
		}
	})
}

// Who waits when a bucket is split waits where its kind belongs, in the order of those who asked.
func TestGroupSplitMovesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Group{New: func(path []string) *Limiter {
			return &Limiter{Name: path[0], Quotas: quota.Quotas{{N: 1, Kind: quota.InFlight}}, Rand: noJitter}
		}}
		l := g.Limiter("a")
		claim := func(i int) Claim {
			return Claim{Verb: "GET", Path: [...]string{"/users/", "/search/"}[i%2] + fmt.Sprint(i)}
		}
		first, _ := l.Acquire(t.Context(), claim(0))
		first.Answered(remaining("core", 50))
		second, _ := l.Acquire(t.Context(), claim(1))
		order := follows(t, 4, func(i int) error {
			grant, err := l.Acquire(t.Context(), claim(i))
			if err == nil {
				time.Sleep(time.Second)
				grant.Answered(Answer{})
			}
			return err
		})
		second.Answered(remaining("search", 0))
		want := "[0 1s <nil> 2 2s <nil> 1 1m1s <nil> 3 1m2s <nil>]"
		if got := fmt.Sprint(order()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// However many names a server gives, there are few buckets.
func TestGroupNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		l := g.Limiter("a")
		for i := range 10_000 {
			grant, f := l.Observe(Claim{Verb: "GET", Path: fmt.Sprint("/", i)})
			_ = f
			grant.Answered(remaining(fmt.Sprint("n", i), 1))
		}
		if n := len(g.State()); n > 100 {
			t.Errorf("%d buckets, want 100 at most", n)
		}
	})
}

// TestCounters has statements that cannot be about one counter. A Group splits the bucket; a Limiter alone
// takes all for one. What has become one with another counter is forgotten, and who still has it goes on with
// what is there.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		answer := func(l *Limiter, path string, limit, remaining int) *Limiter {
			t.Helper()
			grant, err := l.Acquire(t.Context(), Claim{Verb: "GET", Path: path})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			grant.Answered(Answer{Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}}})
			return grant.l
		}
		var alone Limiter
		for i := range 10 {
			answer(g.Limiter("host"), "/a", 100, 90-i)
			answer(g.Limiter("host"), "/b", 1000, 900-i)
			answer(&alone, "/a", 100, 90-i)
			if l := answer(&alone, "/b", 1000, 900-i); l != &alone {
				t.Errorf("%s is not the Limiter itself", l.Name)
			}
		}
		b := answer(g.Limiter("host"), "/b", 1000, 880)
		if b.Name != "host (GET /b)" || len(g.State()) != 3 {
			t.Errorf("%q of %d buckets, want that of /b, of 3", b.Name, len(g.State()))
		}
		for i := range 6 { // the limits become equal
			answer(g.Limiter("host"), "/b", 100, 70-2*i)
			answer(g.Limiter("host"), "/a", 100, 69-2*i)
		}
		a := answer(g.Limiter("host"), "/a", 100, 50)
		if got := answer(g.Limiter("host"), "/b", 100, 49); got != a || len(g.State()) != 2 {
			t.Errorf("%q and %q are two of %d buckets, want one of 2", got.Name, a.Name, len(g.State()))
		}
		for _, l := range []*Limiter{a, b} {
			if l.Pause(time.Minute); l.State().Held == 0 {
				t.Errorf("%q is not held after a pause", l.Name)
			}
		}
		if n := len(g.State()); n != 2 {
			t.Errorf("%d buckets after that, want 2", n)
		}
	})
}

// Forecast changes nothing: where a bucket is split by routes, it makes no bucket, and takes no counter and no
// route of those that a Group remembers.
func TestForecastOfRoutesChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		ask := func(path string, limit, remaining int) string {
			grant, err := g.Limiter("host").Acquire(t.Context(), Claim{Verb: "GET", Path: path})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			grant.Answered(Answer{Statements: []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}}})
			return grant.l.Name
		}
		for i := range 10 {
			ask("/a", 100, 90-i)
			ask("/b", 1000, 900-i)
		}
		before := len(g.State())
		for i := range 1000 {
			g.Limiter("host").Forecast(Claim{Verb: fmt.Sprintf("V%d", i%30), Path: fmt.Sprintf("/%c/%c", 'a'+i%26, 'a'+i/26)})
		}
		if after := len(g.State()); after != before {
			t.Errorf("%d buckets after forecasts, want %d", after, before)
		}
		for i := range 10 {
			if got := ask("/c", 10_000, 9000-i); got != "host (GET /c)" && i > 5 {
				t.Errorf("a new route is in %q", got)
			}
		}
	})
}

// Forecast changes nothing, either, of a limit of requests at the same time on which buckets draw together.
func TestForecastSharesNoLimitOfRequestsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{New: func(path []string) *Limiter { return &Limiter{Name: path[0], Rand: noJitter} }}
		claim := func(path string) Claim { return Claim{Verb: "GET", Path: path} }
		acquire := func(path string) *Grant {
			grant, err := g.Limiter("host").Acquire(t.Context(), claim(path))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			return grant
		}
		ask := func(path string, limit, remaining int) {
			acquire(path).Answered(Answer{
				Statements:  []quota.Statement{{Limit: int64(limit), Remaining: int64(remaining), Reset: time.Hour, ResetKnown: true}},
				Concurrency: quota.Concurrency{Limit: 10, Remaining: 9, RemainingKnown: true},
			})
		}
		for i := range 10 {
			ask("/a", 100, 90-i)
			ask("/b", 1000, 900-i)
		}
		for i := range 100 {
			g.Limiter("host").Forecast(claim(fmt.Sprint("/new", i)))
		}
		for i := range 10 {
			ask("/c", 10_000, 9000-i)
		}
		for range 10 {
			acquire("/a")
		}
		for _, path := range []string{"/c", "/never"} {
			if f := g.Limiter("host").Forecast(claim(path)); f.Cause != CauseInFlight {
				t.Errorf("%s waits %v for %v beside ten at a time, want that it waits for these", path, f.Wait, f.Cause)
			}
		}
	})
}
