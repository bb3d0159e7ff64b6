package pacing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// tenantOf is a Key.
func tenantOf(r *http.Request) string { return r.Header.Get("Tenant") }

// sendAs sends a request of a tenant.
func sendAs(t *testing.T, tr *pacer.Transport, tenant, url string) (*http.Response, error) {
	t.Helper()
	req := lab.Request(t, "GET", url, "")
	req.Header.Set("Tenant", tenant)
	return tr.RoundTrip(req)
}

// went reports whether a request goes; if it does not, that is since it would have to wait.
func went(t *testing.T, tr *pacer.Transport, tenant, url string) bool {
	t.Helper()
	resp, err := sendAs(t, tr, tenant, url)
	if err == nil {
		resp.Body.Close()
	} else if !errors.Is(err, throttle.ErrWouldWait) && !errors.Is(err, throttle.ErrMaxWait) && !errors.Is(err, throttle.ErrStandstill) {
		t.Fatal(err)
	}
	return err == nil
}

// TestOverall holds random requests of tenants, at two hosts, against the plain definition: one goes if and
// only if less than the quota of all tenants has gone at its host, less than that of its tenant there, and less
// than that of its route.
func TestOverall(t *testing.T) {
	const all, each, route = 12, 5, 3
	for _, kind := range []string{"", " log", " window grid"} {
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				r := rand.New(rand.NewPCG(seed, 3))
				tr := &pacer.Transport{Base: lab.OK(), Key: tenantOf, MaxWait: -1, Quotas: pacer.Table{
					"/":               quota.MustParse(fmt.Sprintf("%d/m%s, %d/m%s overall", each, kind, all, kind)),
					"b.example/route": quota.MustParse(fmt.Sprintf("%d/m%s", route, kind)),
					"b.example/":      quota.MustParse(fmt.Sprintf("%d/m%s overall, %d/m%s", all, kind, each, kind)),
				}}
				sent := map[string][]time.Time{}
				for range 300 {
					host, tenant, path := []string{"a.example", "b.example"}[r.IntN(2)], []string{"", "one", "two", "three"}[r.IntN(4)], []string{"/", "/route"}[r.IntN(2)]
					limits := map[string]int{host: all, host + " " + tenant: each}
					if host+path == "b.example/route" {
						limits[host+" "+tenant+" "+path] = route
					}
					want := true
					for of, limit := range limits {
						n := 0
						for _, at := range sent[of] {
							if kind == " window grid" && at.Truncate(time.Minute).Equal(time.Now().Truncate(time.Minute)) || kind != " window grid" && time.Since(at) < time.Minute {
								n++
							}
						}
						want = want && n < limit
					}
					if got := went(t, tr, tenant, "http://"+host+path); got != want {
						t.Fatalf("kind%s, seed %d: %s of %q at %s went: %v, want %v", kind, seed, path, tenant, host, got, want)
					}
					if want {
						for of := range limits {
							sent[of] = append(sent[of], time.Now())
						}
					}
					time.Sleep(time.Duration(r.Int64N(int64(3 * time.Second))))
				}
			})
		}
	}
}

// TestOverallInFlight: tenants wait for one another where all of them may have so many at a time, first come,
// first served; and who waits for its own quota keeps nobody else.
func TestOverallInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // protects log
		var log strings.Builder
		start := time.Now()
		tr := &pacer.Transport{Key: tenantOf, Quotas: lab.All(quota.MustParse("2 in flight overall, 1/10s")...)}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			fmt.Fprintf(&log, "%s at %v\n", tenantOf(r), time.Since(start))
			mu.Unlock()
			time.Sleep(time.Second)
			return lab.Answer(r, 200, ""), nil
		})
		done := make(chan error)
		tenants := []string{"a", "a", "b", "c", "d"}
		for _, tenant := range tenants {
			go func() {
				resp, err := sendAs(t, tr, tenant, "http://a.example/")
				if err == nil {
					err = resp.Body.Close()
				}
				done <- err
			}()
			time.Sleep(time.Millisecond)
		}
		for _, s := range tr.State() {
			if s.Bucket == "a.example overall" && (s.Next.Quota != "2 in flight overall" || s.Next.Cause != throttle.CauseInFlight) {
				t.Errorf("%+v", s.Next)
			}
		}
		for range tenants {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got, want := log.String(), "a at 0s\nb at 2ms\nc at 1s\nd at 1.002s\na at 10s\n"; got != want {
			t.Errorf("sent\n%swant\n%s", got, want)
		}
	})
}

// TestOverallWithoutKey: without tenants, a quota is overall in any case.
func TestOverallWithoutKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), MaxWait: -1, Quotas: lab.All(quota.MustParse("3/m overall, 5/m")...)}
		for i := range 4 {
			if got := went(t, tr, "", "http://a.example/"); got != (i < 3) {
				t.Errorf("request %d went: %v", i, got)
			}
		}
	})
}

// TestOverallOfARoute is an error: the tree of buckets has the routes below the tenants.
func TestOverallOfARoute(t *testing.T) {
	table := pacer.Table{"GET a.example/x": quota.MustParse("5/s overall"), "a.example/": quota.MustParse("5/s overall"), "/": quota.MustParse("5/s overall"), "/y": quota.MustParse("5/s overall")}
	err := table.Validate()
	want := `pacer: Quotas["/y"]: quota: "5/s overall": Overall is true, want it under the pattern of a host alone, such as "api.example.com/": other patterns are split by Key
pacer: Quotas["GET a.example/x"]: quota: "5/s overall": Overall is true, want it under the pattern of a host alone, such as "api.example.com/": other patterns are split by Key`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestOverallSetQuotas: what all tenants have used stays used when the quotas change, whichever come and go.
func TestOverallSetQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Base: lab.OK(), Key: tenantOf, MaxStandstill: pacer.Forever, Quotas: lab.All(quota.MustParse("4/h log overall, 3/h log")...)}
		set := func(text string) {
			t.Helper()
			if err := tr.SetQuotas(lab.All(quota.MustParse(text)...)); err != nil {
				t.Fatal(err)
			}
		}
		for _, tenant := range []string{"a", "b", "a", "b"} {
			resp, err := sendAs(t, tr, tenant, "http://a.example/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			time.Sleep(time.Second)
		}
		went := make(chan string, 2)
		for _, tenant := range []string{"a", "c"} {
			go func() {
				resp, err := sendAs(t, tr, tenant, "http://a.example/")
				if err == nil {
					resp.Body.Close()
				}
				went <- fmt.Sprint(tenant, err)
			}()
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if len(went) != 0 {
			t.Fatal(<-went)
		}
		set("5/h log overall, 3/h log")
		synctest.Wait()
		if got := <-went; got != "a<nil>" || len(went) != 0 {
			t.Errorf("%s went first, and %d more", got, len(went))
		}
		set("3/h log")
		if got := <-went; got != "c<nil>" {
			t.Errorf("%s went next", got)
		}
	})
}

// TestOverallSaved: what all tenants have used outlives the process, as what each of them has.
func TestOverallSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := func() *pacer.Transport {
			return &pacer.Transport{Base: lab.OK(), Key: tenantOf, MaxWait: -1, Quotas: lab.All(quota.MustParse("4/d window grid overall, 3/d window grid")...)}
		}
		first := started()
		for _, tenant := range []string{"a", "a", "a", "b"} {
			if !went(t, first, tenant, "http://a.example/") {
				t.Fatal("did not go")
			}
		}
		var file bytes.Buffer
		if err := first.Save(&file); err != nil {
			t.Fatal(err)
		}
		second := started()
		if err := second.Load(&file); err != nil {
			t.Fatal(err)
		}
		for _, tenant := range []string{"a", "b", "c"} {
			if went(t, second, tenant, "http://a.example/") {
				t.Errorf("%s went", tenant)
			}
		}
	})
}

// TestOverallInAStore: the tenants of all processes share it, and each tenant has its own in all processes.
func TestOverallInAStore(t *testing.T) {
	for _, maxWait := range []time.Duration{0, -1} { // also where nobody waits but for the store
		synctest.Test(t, func(t *testing.T) { overallInAStore(t, maxWait) })
	}
	tr := &pacer.Transport{Key: tenantOf, Quotas: lab.All(quota.MustParse("7/month overall, 5/s")...), Shared: pacer.Shared{Store: &store.Memory{}}}
	if err := tr.Validate(); err == nil || !strings.Contains(err.Error(), `Quotas["/"]: throttle: quota "7/month overall" begins on days of the calendar, which is not shared`) {
		t.Errorf("got %v", err)
	}
}

func overallInAStore(t *testing.T, maxWait time.Duration) {
	t.Helper()
	var shared store.Memory
	sent := map[string]int{}
	started := func() *pacer.Transport {
		return &pacer.Transport{
			Key: tenantOf, MaxWait: maxWait, Quotas: lab.All(quota.MustParse("7/h window grid overall, 3/h window grid, 50 in flight overall")...), Shared: pacer.Shared{Store: &shared},
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				sent[tenantOf(r)]++
				return lab.Answer(r, 200, ""), nil
			}),
		}
	}
	processes := []*pacer.Transport{started(), started()}
	for range 5 {
		for _, tr := range processes {
			for _, tenant := range []string{"a", "b", "c"} {
				went(t, tr, tenant, "http://a.example/")
				time.Sleep(5 * time.Second)
			}
		}
	}
	if sent["a"] != 3 || sent["a"]+sent["b"]+sent["c"] != 7 {
		t.Errorf("sent %v, want 7, and 3 of a", sent)
	}
	for _, tr := range processes {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}

// farStore is a Store that is 20 ms away.
type farStore struct{ store.Memory }

func (s *farStore) Exchange(ctx context.Context, r *store.Request) (*store.Reply, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Memory.Exchange(ctx, r)
}

// TestRejectByTwoStores: requests that must not wait wait for the replies of both their buckets, many at a
// time, and for nothing else.
func TestRejectByTwoStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{
			Base: base, Key: tenantOf, MaxWait: -1, Shared: pacer.Shared{Store: &farStore{}},
			Quotas: lab.All(quota.MustParse("20/h window grid overall, 9/h window grid, 6/s even, 100/s overall")...),
		}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i/5) * 17 * time.Millisecond)
				start := time.Now()
				went(t, tr, fmt.Sprint(i%4), "http://a.example/")
				if took := time.Since(start); took > 200*time.Millisecond {
					t.Errorf("request %d took %v", i, took)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		for range 20 {
			for tenant := range 4 {
				went(t, tr, fmt.Sprint(tenant), "http://a.example/")
				time.Sleep(300 * time.Millisecond)
			}
		}
		if n := len(base.At); n != 20 {
			t.Errorf("%d went, want 20", n)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestOverallIsNotBelieved: what a server states to a tenant is of that one, and takes the place of no quota of
// all.
func TestOverallIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remaining := map[string]int{"a": 5, "b": 5}
		tr := &pacer.Transport{Key: tenantOf, MaxWait: -1, Quotas: lab.All(quota.MustParse("5/m overall")...)}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			remaining[tenantOf(r)]--
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", fmt.Sprint(remaining[tenantOf(r)]), "X-RateLimit-Reset", "60"), nil
		})
		n := 0
		for range 5 {
			for _, tenant := range []string{"a", "b"} {
				if went(t, tr, tenant, "http://a.example/") {
					n++
				}
			}
		}
		if n != 5 {
			t.Errorf("%d went, want 5", n)
		}
	})
}

// TestTenantsDoNotShare: two tenants who are stated limits that look like one have one each. Buckets of routes
// may share one.
func TestTenantsDoNotShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		tr := &pacer.Transport{Key: tenantOf, MaxWait: -1, Learn: pacer.Learn{Spend: throttle.SpendEager}, Quotas: pacer.Table{"/x": {{}}}}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", r.URL.RawQuery, "X-RateLimit-Reset", "60"), nil
		})
		for _, test := range []struct {
			tenant, url string
			want        bool
		}{
			{"a", "/?10", true},
			{"b", "/?0", true},
			{"a", "/?9", true},
			{"a", "/x?0", true},
			{"a", "/?8", false}, // perhaps of one limit
			{"c", "/?8", true},
		} {
			if got := went(t, tr, test.tenant, "http://a.example"+test.url); got != test.want {
				t.Errorf("%s of %s went: %v", test.url, test.tenant, got)
			}
		}
	})
}

// TestRefusedTogether: what a server says to a tenant holds that one alone, whatever it says and however often;
// the same words to two within a second hold the host, a newcomer too; and what is served ends that.
func TestRefusedTogether(t *testing.T) {
	type answer struct {
		tenant string
		status int
		header string // of a Retry-After; or "none"; or "spent"
		gap    time.Duration
	}
	for name, test := range map[string]struct {
		answers []answer
		held    time.Duration // of a newcomer, when the last of them has come
	}{
		"one":                     {[]answer{{"a", 429, "60", 0}}, 0},
		"one, from several paths": {[]answer{{"a", 429, "60", 0}, {"a", 429, "60", time.Millisecond}}, 0},
		"two":                     {[]answer{{"a", 429, "60", 0}, {"b", 429, "60", 300 * time.Millisecond}}, 59700 * time.Millisecond},
		"two by 503":              {[]answer{{"a", 503, "60", 0}, {"b", 503, "60", 0}}, 60 * time.Second},
		"two with no hint":        {[]answer{{"a", 429, "none", 0}, {"b", 429, "none", 0}}, 100 * time.Millisecond},
		"two words":               {[]answer{{"a", 429, "60", 0}, {"b", 429, "30", 0}}, 0},
		"too late":                {[]answer{{"a", 429, "60", 0}, {"b", 429, "60", 1001 * time.Millisecond}}, 0},
		"each has a limit":        {[]answer{{"a", 429, "spent", 0}, {"b", 429, "spent", 0}}, 0},
		"served in between":       {[]answer{{"a", 429, "60", 0}, {"c", 200, "", time.Millisecond}, {"b", 429, "60", time.Millisecond}}, 0},
		"served before":           {[]answer{{"c", 200, "", 0}, {"a", 429, "60", time.Millisecond}, {"b", 429, "60", time.Millisecond}}, 60*time.Second - time.Millisecond},
		"longer than MaxHold":     {[]answer{{"a", 429, "86400", 0}, {"b", 429, "86400", 0}}, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				var next answer
				tr := &pacer.Transport{Key: tenantOf, MaxWait: -1, Rand: lab.Zero, Retry: pacer.Retry{MaxRefusals: -1, MaxAttempts: -1}}
				tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					switch next.header {
					case "spent":
						return lab.Answer(r, next.status, "", "Retry-After", "60", "X-RateLimit-Limit", "20", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"), nil
					case "none", "":
						return lab.Answer(r, next.status, ""), nil
					}
					return lab.Answer(r, next.status, "", "Retry-After", next.header), nil
				})
				for i, a := range test.answers {
					next = a
					time.Sleep(a.gap)
					resp, err := sendAs(t, tr, a.tenant, fmt.Sprint("http://a.example/", i))
					if err == nil {
						resp.Body.Close()
					} else if name != "one, from several paths" {
						t.Fatal(err)
					}
				}
				next = answer{status: 200}
				req := lab.Request(t, "GET", "http://a.example/", "")
				req.Header.Set("Tenant", "newcomer")
				f, err := tr.Forecast(req)
				if err != nil || f.Wait != test.held || test.held > 0 && (f.Bucket != "a.example overall" || f.Cause != throttle.CauseHold) {
					t.Errorf("a newcomer waits %+v, %v, want %v", f, err, test.held)
				}
				if !went(t, tr, "newcomer", "http://b.example/") {
					t.Error("another host is held")
				}
				time.Sleep(test.held)
				if !went(t, tr, "newcomer", "http://a.example/") {
					t.Error("still held")
				}
			})
		})
	}
}

// TestPoisonTenant: whatever one tenant is told, and however often it asks, the others go at each instant,
// beside it and after it.
func TestPoisonTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		r := rand.New(rand.NewPCG(1, 2))
		tr := &pacer.Transport{Key: tenantOf, Mode: pacer.ModeObserve, Rand: lab.Zero}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if after := r.Header.Get("Refuse"); after != "" {
				return lab.Answer(r, 429, "", "Retry-After", after), nil
			}
			return lab.Answer(r, 200, ""), nil
		})
		for range 2000 {
			req := lab.Request(t, "GET", fmt.Sprint("http://a.example/", r.IntN(5)), "")
			req.Header.Set("Tenant", "poison")
			req.Header.Set("Refuse", fmt.Sprint(1+r.IntN(3)))
			resp, err := tr.RoundTrip(req) // it does not wait, as one that keeps to nothing
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			req = lab.Request(t, "GET", "http://a.example/", "")
			req.Header.Set("Tenant", fmt.Sprint(r.IntN(3)))
			if f, err := tr.Forecast(req); err != nil || cmp.Or(f.Bucket, "") != "" {
				t.Fatalf("another tenant waits: %+v, %v", f, err)
			}
			if r.IntN(4) == 0 {
				resp, err = tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			time.Sleep(time.Duration(r.Int64N(int64(2 * time.Second))))
		}
	})
}

// TestServedEndsAHoldOfAll: a request that was sent after a refused one, and is served, shows that not
// everybody is refused.
func TestServedEndsAHoldOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		tr := &pacer.Transport{Key: tenantOf, MaxWait: -1, Rand: lab.Zero, Retry: pacer.Retry{MaxRefusals: -1, MaxAttempts: -1}}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if tenant := tenantOf(r); tenant == "early" || tenant == "late" {
				time.Sleep(5 * time.Second) // meanwhile, others are refused
				return lab.Answer(r, 200, ""), nil
			}
			time.Sleep(100 * time.Millisecond)
			return lab.Answer(r, 429, "", "Retry-After", "60"), nil
		})
		send := func(tenant string) {
			go func() {
				if resp, err := sendAs(t, tr, tenant, "http://a.example/"); err != nil {
					t.Error(err)
				} else {
					resp.Body.Close()
				}
			}()
			time.Sleep(time.Millisecond)
		}
		for range 40 { // then nothing is known of the server, and requests end without a lock
			send("late")
			time.Sleep(10 * time.Second)
		}
		held := func() bool { return lab.State(t, tr, "a.example overall").Held > 0 }
		send("early") // was sent before: says nothing of what is refused since
		send("a")
		send("b")
		send("late")
		time.Sleep(time.Second)
		if !held() {
			t.Error("not held")
		}
		time.Sleep(4*time.Second - 4*time.Millisecond)
		synctest.Wait()
		if !held() {
			t.Error("not held after what was sent before")
		}
		time.Sleep(4 * time.Millisecond)
		synctest.Wait()
		if held() {
			t.Error("held after what was sent later")
		}
		if lab.State(t, tr, "a.example for "+pacer.KeyDigest("a")).Held == 0 {
			t.Error("the tenant that was refused is not held any more")
		}
	})
}

// TestTenantIsHeldAlone: also where the server counts routes apart, and refuses for a reason that has nothing
// to do with their limits, as GitHub's secondary limits do: then the whole tenant is held, and no other.
func TestTenantIsHeldAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		tr := &pacer.Transport{Key: tenantOf, MaxWait: -1, Rand: lab.Zero, Retry: pacer.Retry{MaxRefusals: -1, MaxAttempts: -1}}
		tr.Base = lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			header := []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000", "X-RateLimit-Reset", "3600", "X-RateLimit-Resource", strings.Trim(r.URL.Path, "/")}
			if r.URL.RawQuery != "" {
				return lab.Answer(r, 429, "", append(header, "Retry-After", "60")...), nil
			}
			return lab.Answer(r, 200, "", header...), nil
		})
		for _, path := range []string{"core", "search", "core", "search"} {
			for _, tenant := range []string{"a", "b"} {
				if !went(t, tr, tenant, "http://a.example/"+path) {
					t.Fatalf("%s of %s did not go", path, tenant)
				}
			}
		}
		if !went(t, tr, "a", "http://a.example/search?refused") {
			t.Fatal("did not go")
		}
		for tenant, want := range map[string]bool{"a": false, "b": true, "c": true} {
			for _, path := range []string{"core", "search"} {
				if got := went(t, tr, tenant, "http://a.example/"+path); got != want && (tenant != "c" || path == "core") {
					t.Errorf("%s of %s went: %v", path, tenant, got)
				}
			}
		}
		time.Sleep(2 * time.Second)
		if !went(t, tr, "b", "http://a.example/core?refused") || !went(t, tr, "c", "http://a.example/search?refused") {
			t.Fatal("did not go")
		}
		if lab.State(t, tr, "a.example overall").Held != time.Minute {
			t.Error("two were told the same, and not all are held")
		}
	})
}
