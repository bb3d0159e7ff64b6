package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
	"github.com/gopacer/pacer/throttle/store"
)

// few is how many buckets are kept without looking whether they are still of use.
const few = 1024

// tour sends a request to each of so many other hosts that what need not be remembered is forgotten.
func tour(t *testing.T, tr *pacer.Transport) {
	t.Helper()
	const hosts = 5 * few
	before := len(tr.State())
	for i := range hosts {
		resp, err := tr.RoundTrip(lab.Request(t, "GET", fmt.Sprintf("http://%d.%d.example/", i, time.Now().UnixNano()), ""))
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	}
	if n := len(tr.State()) - before; n > hosts/2 {
		t.Errorf("%d of %d hosts are remembered", n, hosts)
	}
}

// remembers reports whether there is a bucket of a name.
func remembers(tr *pacer.Transport, bucket string) bool {
	return slices.ContainsFunc(tr.State(), func(s throttle.State) bool { return s.Bucket == bucket })
}

// only has base answer what goes to a.example. Other hosts answer with nothing.
func only(base lab.RoundTripper) lab.RoundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "a.example" {
			return lab.Answer(r, 200, ""), nil
		}
		return base(r)
	}
}

func TestStateOfBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "60")}}
		tr := &pacer.Transport{Base: base}
		if len(tr.State()) != 0 {
			t.Error("buckets before the first request")
		}
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err != nil {
			t.Fatal(err)
		}
		s := tr.State()
		if len(s) != 1 || s[0].Bucket != "a.example" || len(s[0].Limits) != 1 || s[0].Limits[0].Available != 7 || s[0].Limits[0].Reset != time.Minute {
			t.Errorf("state %+v", s)
		}
	})
}

func TestRouteValidate(t *testing.T) {
	for want, tr := range map[string]*pacer.Transport{
		`Quotas["a.example"]: want a path after the host`: {Quotas: map[string]quota.Quotas{"a.example": {{N: 1}}}},
		`Quotas["GET a.example/{"]`:                       {Quotas: map[string]quota.Quotas{"GET a.example/{": {{N: 1}}}},
		`Quotas["a.example/{y}/b"]: want a pattern of http.ServeMux: pattern "a.example/{y}/b"`: {Quotas: map[string]quota.Quotas{
			"a.example/a/{x}": {{N: 1, Kind: quota.TokenBucket}}, "a.example/{y}/b": {{N: 1, Kind: quota.TokenBucket}},
		}},
		`Quotas["/"]: quota: "-5/s even": N is -5, want at least 0`:     {Quotas: map[string]quota.Quotas{"/": {{N: 1, Kind: quota.TokenBucket}, {N: -5, Burst: 1}}}},
		`Quotas["https://a.example/"]: want a pattern without a scheme`: {Quotas: map[string]quota.Quotas{"https://a.example/": nil}},
		`Quotas["a.example:8080/x"]: want the host without a port`:      {Quotas: map[string]quota.Quotas{"a.example:8080/x": nil}},
		`Quotas["GET A.example/"]: want the host in lower case`:         {Quotas: map[string]quota.Quotas{"GET A.example/": nil}},
		`Mode is "9", want wait`:                                        {Mode: "9"},
		`Fallback is nil, want a function`:                              {Mode: pacer.ModeDegrade},
		`ColdFactor is 0.5, want from 1 to 2147483647, or 0`:            {Quotas: map[string]quota.Quotas{"/": {{N: 1, WarmUp: time.Second, ColdFactor: .5}}}},
		`Burst is 5, want 0 beside a WarmUp`:                            {Quotas: map[string]quota.Quotas{"/": {{N: 1, WarmUp: time.Second, Burst: 5}}}},
		`N is 0, want a positive number beside a B`:                     {Quotas: map[string]quota.Quotas{"/": {{Burst: 5}}}},
	} {
		err := tr.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "pacer: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if _, again := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); again != err { //nolint:errorlint // the same
			t.Errorf("RoundTrip returned %v, Validate %v", again, err)
		}
	}
	if err := (&pacer.Transport{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestRouteRedirectsPayAtTheHostTheyGoTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(302, "", "Location", "http://b.example/"), lab.Status(200, ""),
		}}
		tr := &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{"/": {{N: 1, Kind: quota.TokenBucket}}}}
		start := time.Now()
		for range 2 {
			resp, err := (&http.Client{Transport: tr}).Do(lab.Request(t, "GET", "http://a.example/", ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s: a second request to a.example, after one to each", took)
		}
	})
}

func TestRouteForgetsIdleBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}
		tr := &pacer.Transport{Base: base, Quotas: map[string]quota.Quotas{
			"held.example/": nil, "short.example/": {{N: 1, Per: time.Hour, Kind: quota.TokenBucket}}, "child.example/x": {{N: 1, Per: time.Hour, Kind: quota.TokenBucket}},
		}}
		send := func(url string) {
			t.Helper()
			resp, err := tr.RoundTrip(lab.Request(t, "GET", url, ""))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(429, "", "Retry-After", "600"), lab.Status(200, "")}
		send("http://held.example/")
		send("http://short.example/")
		send("http://child.example/x") // its host has no limit, but is its parent
		hosts := whole.Or(15_000, 50_000)
		for i := range hosts {
			send(fmt.Sprintf("http://h%d.example/", i))
		}
		if n := len(tr.State()); n > 2*few+8 {
			t.Errorf("%d buckets after %d hosts", n, hosts)
		}
		for _, bucket := range []string{"held.example", "short.example", "child.example/x"} {
			if f := lab.State(t, tr, bucket).Next; f.Wait < 10*time.Minute {
				t.Errorf("%s was forgotten: next may go in %v", bucket, f.Wait)
			}
		}
		if !remembers(tr, "child.example") {
			t.Error("the host of child.example/x was forgotten")
		}
	})
}

// A crawl of hosts that refuse leaves no more buckets than MaxBuckets, and a request that waits for its host
// goes when it is due all the same.
func TestCrawlOfHostsThatRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := map[string]bool{}
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if refused[r.URL.Host] {
				return lab.Answer(r, 200, ""), nil
			}
			refused[r.URL.Host] = true
			return lab.Answer(r, 429, "", "Retry-After", strconv.Itoa(60+840*len(r.URL.Path[1:]))), nil
		})
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Learn: pacer.Learn{MaxBuckets: 500}}
		start, done := time.Now(), make(chan time.Duration, 1)
		go func() {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://patient.example/", ""))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("got %v, %v", resp, err)
			}
			done <- time.Since(start)
		}()
		synctest.Wait()
		for i := range whole.Or(8_000, 20_000) {
			resp, err := tr.RoundTrip(lab.Request(t, "GET", fmt.Sprintf("http://%d.example/x", i), ""))
			if err != nil || resp.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("got %v, %v", resp, err)
			}
			if i%1000 == 999 {
				if n := len(tr.State()); n > 500 {
					t.Fatalf("%d buckets after %d hosts", n, i)
				}
			}
		}
		if got := <-done; got != time.Minute {
			t.Errorf("who waited went after %v, want a minute", got)
		}
	})
}

// Buckets with an answer that is being read are not forgotten.
func TestInFlightIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, bodies := streaming()
		tr := &pacer.Transport{Base: only(base), Line: pacer.Line{MaxUnread: pacer.Forever}, Quotas: lab.All(lab.InFlight(1))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		<-bodies
		time.Sleep(24 * time.Hour)
		tour(t, tr)
		if !remembers(tr, "a.example") || lab.Free(t, tr, "a.example") {
			t.Error("the bucket was forgotten, and its slot with it")
		}
		resp.Body.Close()
		tour(t, tr)
		if remembers(tr, "a.example") {
			t.Error("the bucket is not forgotten after it has ended")
		}
	})
}

// A bucket is not forgotten while the bytes of an answer are being counted, though all that
// was charged for it has come back.
func TestBytesOfAnOpenAnswerKeepTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Quotas: lab.All(lab.Hoard()), Line: pacer.Line{MaxUnread: pacer.Forever}, Base: only(download(500, false))}
		req := lab.Request(t, "GET", "http://a.example/", "")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if tour(t, tr); !remembers(tr, "a.example") {
			t.Fatal("forgotten while the answer is open")
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if used(t, tr, req) != 500 {
			t.Errorf("%d are charged, want 500", used(t, tr, req))
		}
		if tour(t, tr); !remembers(tr, "a.example") {
			t.Error("forgotten while what was charged has not come back")
		}
		time.Sleep(500 * 1000 * time.Hour)
		if tour(t, tr); remembers(tr, "a.example") {
			t.Error("not forgotten after the answer has ended: it counts as open")
		}
	})
}

// Buckets are forgotten as ever while tables are replaced, also those of patterns that
// were taken away, and none whose loss would matter.
func TestSetQuotasForgetsBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base}
		tables := []map[string]quota.Quotas{
			{"kept.example/": {lab.Budget(10)}, "/": {{N: 1, Kind: quota.TokenBucket}}},
			{"kept.example/": {lab.Budget(10)}, "/{id}": {{N: 1, Kind: quota.TokenBucket}}},
			{"kept.example/": {lab.Budget(10)}, "GET /{id}": {{N: 1, Kind: quota.TokenBucket}}, "GET /x": nil},
		}
		kept := lab.Request(t, "GET", "http://kept.example/", "")
		if err := tr.SetQuotas(tables[0]); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := tr.RoundTrip(kept); err != nil {
				t.Fatal(err)
			}
		}
		most := 0
		requests := whole.Or(8_000, 20_000)
		for i := range requests {
			if i%1000 == 999 {
				if err := tr.SetQuotas(tables[i/1000%3]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := tr.RoundTrip(lab.Request(t, "GET", fmt.Sprintf("http://h%d.example/%d", i/2, i), "")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
			if look := whole.Or(200, 50); i%look == 0 { // those between two looks add 2 each at most
				most = max(most, len(tr.State())+2*look)
			}
		}
		if most > 3*few {
			t.Errorf("%d buckets after %d hosts of 2 paths", most, requests/2)
		}
		if got := left(t, tr, kept, quota.Requests, 10); got != 6 {
			t.Errorf("left %d of what must not be forgotten, want 6", got)
		}
	})
}

// A number without a unit is in nanoseconds, which nobody means.
func TestValidateDurationsWithoutAUnit(t *testing.T) {
	tr := &pacer.Transport{
		MaxWait: 30, MaxStandstill: 120, Line: pacer.Line{Aging: 10, MaxUnread: 5}, Retry: pacer.Retry{MaxElapsed: 60, AttemptTimeout: 10},
		Learn: pacer.Learn{MaxHold: 15, IdleAfter: 60}, Shared: pacer.Shared{SlotLife: 100},
	}
	err := tr.Validate()
	for _, want := range []string{
		"MaxWait is 30ns", "MaxStandstill is 120ns", "Line.Aging is 10ns", "Line.MaxUnread is 5ns", "Retry.MaxElapsed is 60ns",
		"Retry.AttemptTimeout is 10ns", "Learn.MaxHold is 15ns", "Learn.IdleAfter is 60ns", "Shared.SlotLife is 100ns",
		"pacer: MaxWait is 30ns, want 1ms or more: a number alone is in nanoseconds, 30 * time.Second in seconds",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	for want, b := range map[string]backoff.Backoff{
		"Initial is 100ns": backoff.Exponential{Initial: 100, Max: time.Second}, "Max is 30ns": backoff.Decorrelated{Max: 30},
		"Increment is 2ns": backoff.Linear{Increment: 2}, "Interval is 5ns": backoff.Constant{Interval: 5},
	} {
		if err := (&pacer.Transport{Retry: pacer.Retry{Backoff: b}}).Validate(); err == nil || !strings.Contains(err.Error(), "pacer: Retry.Backoff."+want+", want 1ms or more") {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	const ms = time.Millisecond
	tr = &pacer.Transport{
		MaxWait: ms, MaxStandstill: -1, Line: pacer.Line{Aging: ms, MaxUnread: -1},
		Retry: pacer.Retry{AttemptTimeout: ms, Backoff: backoff.Exponential{Initial: ms, Max: -1}},
	}
	if err := tr.Validate(); err != nil {
		t.Error(err)
	}
}

func TestACallWithABareNumberIsNotSent(t *testing.T) {
	tr := &pacer.Transport{Base: lab.OK()}
	older := pacer.WithCall(t.Context(), &pacer.Call{MaxWait: 30})
	for _, ctx := range []context.Context{older, pacer.WithCall(older, &pacer.Call{MaxWait: time.Minute})} {
		req := lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)
		_, sent := tr.RoundTrip(req)
		_, _, acquired := tr.Acquire(t.Context(), req)
		_, foreseen := tr.Forecast(req)
		for _, err := range []error{sent, acquired, foreseen} {
			if want := "pacer: Call.MaxWait is 30ns, want 1ms or more: a number alone is in nanoseconds, 30 * time.Second in seconds"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func TestACallWithoutAValidModeIsNotSent(t *testing.T) {
	base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "")}}
	tr := &pacer.Transport{Base: base}
	for _, mode := range []pacer.Mode{"77", "Wait", pacer.ModeObserve + "d"} {
		older := pacer.WithCall(t.Context(), &pacer.Call{Mode: mode})
		for _, ctx := range []context.Context{older, pacer.WithCall(older, &pacer.Call{Mode: pacer.ModeWait})} {
			_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
			if want := fmt.Sprintf("pacer: Call.Mode is %q, want wait, reject, degrade or observe", mode); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	for _, mode := range []pacer.Mode{"", pacer.ModeWait, pacer.ModeReject, pacer.ModeObserve} { // and ModeDegrade wants a Fallback
		req := lab.Request(t, "GET", "http://a.example/", "")
		if _, err := tr.RoundTrip(req.WithContext(pacer.WithCall(t.Context(), &pacer.Call{Mode: mode}))); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A variable that nobody has set is no Base, whatever its type.
func TestValidateANilPointerAsBase(t *testing.T) {
	for want, base := range map[string]http.RoundTripper{
		"*http.Transport":  (*http.Transport)(nil),
		"*pacer.Transport": (*pacer.Transport)(nil),
		"pacing.tripFunc":  tripFunc(nil),
	} {
		tr := &pacer.Transport{Base: base}
		want = "pacer: Base is a nil " + want + ", want a RoundTripper, or no Base at all for http.DefaultTransport"
		err := tr.Validate()
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, again := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); again != err { //nolint:errorlint // the same
			t.Errorf("RoundTrip returned %v, Validate %v", again, err)
		}
	}
}

// So is a store that could not be opened.
func TestValidateANilPointerAsStore(t *testing.T) {
	tr := &pacer.Transport{Base: lab.OK(), Quotas: pacer.Table{"/": quota.MustParse("5/s")}, Shared: pacer.Shared{Store: (*store.Memory)(nil)}}
	want := "pacer: Shared.Store is a nil *store.Memory, want one that was made without an error, or no Store at all"
	err := tr.Validate()
	if err == nil || err.Error() != want || !errors.Is(err, throttle.ErrInvalid) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, again := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); again != err { //nolint:errorlint // the same
		t.Errorf("RoundTrip returned %v, Validate %v", again, err)
	}
}

// What says how a Store is used does nothing without one, and its author thinks that it does.
func TestFieldsOfSharedWantAStore(t *testing.T) {
	err := (&pacer.Transport{Shared: pacer.Shared{Outage: throttle.OutageOpen, SlotLife: time.Second, Fresh: true}}).Validate()
	want := "pacer: Shared.Fresh is set, want a Store, without which it does nothing\n" +
		"pacer: Shared.Outage is set, want a Store, without which it does nothing\n" +
		"pacer: Shared.SlotLife is set, want a Store, without which it does nothing"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A Transport that stands for http.DefaultTransport must not be its own Base.
func TestDefaultTransportIsNotItsOwnBase(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	itself := &pacer.Transport{}
	http.DefaultTransport = itself
	loop := &pacer.Transport{}
	loop.Base = loop
	a, b := &pacer.Transport{}, &pacer.Transport{}
	a.Base, b.Base = b, a
	for _, tr := range []*pacer.Transport{itself, loop, a, b, {Base: b}} {
		tr.CloseIdleConnections() // comes back
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err == nil || !strings.Contains(err.Error(), "Base leads back to this Transport") {
			t.Errorf("got %v", err)
		}
	}
	// A wrapper is looked through, and a function that nobody can look through says so with the first request.
	for _, wrap := range []func(http.RoundTripper) http.RoundTripper{
		func(rt http.RoundTripper) http.RoundTripper { return struct{ http.RoundTripper }{rt} },
		func(rt http.RoundTripper) http.RoundTripper {
			return &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
				func(req *http.Request) (*http.Response, error) { return rt.RoundTrip(req.Clone(req.Context())) },
			}}
		},
	} {
		wrapped := &pacer.Transport{Quotas: pacer.Table{"/": {{Kind: quota.InFlight, N: 1}}}}
		http.DefaultTransport = wrap(wrapped)
		if _, err := wrapped.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err == nil || !strings.Contains(err.Error(), "Base leads back to this Transport") {
			t.Errorf("got %v", err)
		}
	}
	http.DefaultTransport = &pacer.Transport{Base: before}
	if err := http.DefaultTransport.(*pacer.Transport).Validate(); err != nil {
		t.Error(err)
	}
}

// However a request writes its host, the quotas of the host hold: one bucket for each port, which the port that
// the scheme implies, a dot behind the name, upper case, Punycode and userinfo do not change. Each way is the
// end of a redirect.
func TestQuotasHoldHoweverAHostIsWritten(t *testing.T) {
	for _, test := range []struct{ url, bucket string }{
		{"https://api.example/v1/x", "api.example"},
		{"https://API.Example/v1/x", "api.example"},
		{"https://api.example./v1/x", "api.example"},
		{"https://API.example.:443/v1/x", "api.example"},
		{"https://api.example:443/v1/x", "api.example"},
		{"http://api.example:80/v1/x", "api.example"},
		{"https://api.example:/v1/x", "api.example"},
		{"https://api.example:00443/v1/x", "api.example"},
		{"https://user:secret@api.example/v1/x", "api.example"},
		{"https://api.example:8443/v1/x", "api.example:8443"},
		{"https://api.example.:8443/v1/x", "api.example:8443"},
		{"http://api.example:443/v1/x", "api.example:443"},
		{"https://xn--bcher-kva.example/v1/x", "xn--bcher-kva.example"},
		{"https://bücher.example/v1/x", "xn--bcher-kva.example"},
		{"https://B%C3%9Ccher.example.:443/v1/x", "xn--bcher-kva.example"},
		{"https://BÜCHER.example.:8443/v1/x", "xn--bcher-kva.example:8443"},
		{"https://[2001:db8::1]/v1/x", "[2001:db8::1]"},
		{"https://[2001:DB8::1]:443/v1/x", "[2001:db8::1]"},
		{"https://[2001:db8:0:0::1]:8443/v1/x", "[2001:db8::1]:8443"},
	} {
		t.Run(test.url, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					if req.URL.Host == "start.example" {
						return lab.Answer(req, http.StatusFound, "", "Location", test.url), nil
					}
					return lab.Answer(req, http.StatusOK, ""), nil
				})
				one := quota.Quotas{{N: 1, Per: time.Minute}}
				tr := &pacer.Transport{Base: base, Quotas: pacer.Table{
					"api.example/": one, "[2001:db8::1]/": one, "xn--bcher-kva.example/": one,
					"GET api.example/v1/{id}": {{N: 2, Per: time.Minute}}, "GET [2001:db8::1]/v1/{id}": {{N: 2, Per: time.Minute}},
					"GET xn--bcher-kva.example/v1/{id}": {{N: 2, Per: time.Minute}},
				}}
				c := &http.Client{Transport: tr}
				start := time.Now()
				for range 2 {
					lab.Get(t, c, "https://start.example/")
				}
				if took := time.Since(start); took != time.Minute {
					t.Errorf("took %v, want a minute: two requests to the host", took)
				}
				var names []string
				for _, s := range tr.State() {
					names = append(names, s.Bucket)
				}
				if !slices.Contains(names, test.bucket) || len(names) != 3 {
					t.Errorf("buckets %q, want %q, one of a route, and that of the start", names, test.bucket)
				}
			})
		})
	}
}

// What is not a pattern of a host is refused in words, and no quota that holds nowhere.
func TestPatternsThatNoRequestHasAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"https://api.example/":    `want a pattern without a scheme, since it is for all of them: "api.example/"`,
		"api.example:8443/":       `want the host without a port, since a pattern is for all ports of a host: "api.example/"`,
		"GET api.example:8443/v1": `want the host without a port, since a pattern is for all ports of a host: "GET api.example/v1"`,
		"api.example./":           `want the host without the dot behind it, which makes no difference: "api.example/"`,
		"api.example":             `want a path after the host: "api.example/" is all of it`,
		"api.example/users/*":     `want {name} for a part of the path, or {name...} for the rest, not '*' ("%2A" is a '*' that belongs to the path)`,
	} {
		for field, tr := range map[string]*pacer.Transport{
			"Quotas": {Quotas: pacer.Table{pattern: {{N: 1}}}},
			"Modes":  {Modes: map[string]pacer.Mode{pattern: pacer.ModeReject}},
		} {
			if err, want := tr.Validate(), "pacer: "+field+"["+strconv.Quote(pattern)+"]: "+want; err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		}
	}
	if err := (pacer.Table{"api.example/%2A/x": nil, "api.example/{a}/{b...}": nil}).Validate(); err != nil {
		t.Error(err)
	}
}

// A copy of a Transport that was used has its buckets, and locks of its own: it would count each request as if
// there were no other. It says so, and sends nothing. A copy of one that was not used is a Transport like any
// other.
func TestCopiedTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := pacertest.NewServer(nil, pacertest.Dialect{})
		defer server.Close()
		first, copied, unused := &pacer.Transport{Base: server.Transport()}, &pacer.Transport{}, &pacer.Transport{}
		clone := func(to *pacer.Transport) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(first).Elem()) } // go vet says of an assignment what is wrong with it
		get := func(tr *pacer.Transport) error {
			resp, err := (&http.Client{Transport: tr}).Get("http://a.example/")
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}
		clone(unused)
		for range 3 { // the later ones go at once
			if err := errors.Join(get(first), get(unused)); err != nil {
				t.Fatal(err)
			}
		}
		clone(copied)
		for range 2 {
			want := "pacer: the Transport is a copy of one that was used, want a new one with the same fields"
			if err := copied.Validate(); err == nil || err.Error() != want || !errors.Is(err, throttle.ErrInvalid) {
				t.Errorf("Validate: got %v, want %s", err, want)
			}
			if err := get(copied); !errors.Is(err, throttle.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
			if states, budgets := copied.State(), copied.RetryBudgets(); len(states)+len(budgets) != 0 || copied.Stats() != (pacer.Stats{}) || first.Stats().Buckets != 1 {
				t.Errorf("a copy shows the buckets of the first one: %v, %v, %v", states, budgets, copied.Stats())
			}
		}
		if err := get(first); err != nil || server.Stats().Admitted != 7 {
			t.Errorf("%v, %d requests, want 7", err, server.Stats().Admitted)
		}
	})
}
