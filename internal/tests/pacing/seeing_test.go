package pacing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacerdebug"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// lines is a log without times.
func lines(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}}))
}

// play plays lab.ThreeSeconds at api.example.com, with hooks, a Call and pages.
func play(t *testing.T, trace *pacer.Trace, c *pacer.Call, pages ...*pacerdebug.Page) (after time.Duration, err error) {
	t.Helper()
	tr := &pacer.Transport{Rand: lab.Zero, Quotas: lab.All(lab.OnePerSecond())}
	for _, p := range pages {
		p.Transport = tr
	}
	made := func(base http.RoundTripper) http.RoundTripper {
		tr.Base = base
		return tr
	}
	return lab.ThreeSeconds(t, made, func() { tr.Trace = trace }, of(lab.Request(t, "GET", "http://api.example.com/why?token=secret", ""), c))
}

// inReadme checks that the README has a text.
func inReadme(t *testing.T, text string) {
	t.Helper()
	readme, err := os.ReadFile("../../../README.md")
	if err != nil || !strings.Contains(string(readme), text) {
		t.Errorf("README.md does not have %s, %v", text, err)
	}
}

// TestWhyItWaitedThreeSeconds is the story that hooks are for. A request joins the line and is told that it
// waits for the quota, 1 s. It waits 3 s, since an answer says meanwhile that the server's window is used up.
// The hook, the Call, the log and the page say so; and the error, if the request may not wait as long. The
// README shows what they say. The test of this name in pacerotel plays the same, with metrics and a span; that
// of pacerotel/examples/prometheus has the line of the README; and pacerdebug looks at the page in a browser.
func TestWhyItWaitedThreeSeconds(t *testing.T) {
	const ms = time.Millisecond
	const window = "the server's limit of 100"
	want := []throttle.Wait{
		{Bucket: "api.example.com", Label: "api.example.com", Cause: throttle.CauseWindowUsedUp, Quota: window, For: 2500 * ms},
		{Bucket: "api.example.com", Label: "api.example.com", Cause: throttle.CausePace, Quota: "1/s even", For: 500 * ms},
	}
	of := func(e pacer.Event) bool { return e.Request.URL.Path == "/why" }
	var log bytes.Buffer
	var queued []pacer.Queued
	var went []pacer.Went
	var notSent []pacer.NotSent
	var page *pacerdebug.Page
	onPage := func(want string) {
		t.Helper()
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/debug/pacer?as=json&open="+pacer.KeyDigest("api.example.com"), http.NoBody))
		if got := w.Body.String(); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("page:\n%s\nwant\n%s", got, want)
		}
	}
	hooks := pacer.Traces(pacer.Log(lines(&log)), nil, &pacer.Trace{
		Queued: func(q pacer.Queued) { queued = append(queued, q) },
		Went: func(w pacer.Went) {
			if of(w.Event) {
				went = append(went, w)
			}
		},
		NotSent: func(n pacer.NotSent) { notSent = append(notSent, n) },
	})
	synctest.Test(t, func(t *testing.T) {
		var c pacer.Call
		page = &pacerdebug.Page{}
		if after, err := play(t, pacer.Traces(hooks, page.Trace()), &c, page); after != 3*time.Second || err != nil {
			t.Fatalf("sent after %v, %v", after, err)
		}
		if len(queued) != 1 || queued[0].Cause != throttle.CausePace || queued[0].Wait != time.Second {
			t.Errorf("queued: %+v", queued)
		}
		if len(went) != 1 || went[0].Wait != 3*time.Second || !slices.Equal(went[0].Waits, want) || went[0].Attempt != 1 || went[0].Mode != pacer.ModeWait {
			t.Errorf("went: %+v", went)
		}
		var text []string
		for _, w := range went[0].Waits {
			text = append(text, fmt.Sprint(w.For, " ", w.Cause, ", ", w.Quota))
		}
		inReadme(t, "`"+strings.Join(text, "; ")+"`")
		if got := c.Waits(); !slices.Equal(got, want) || c.Waited() != 3*time.Second {
			t.Errorf("the call waited %v: %+v", c.Waited(), got)
		}
		line := `level=INFO msg="pacer: request waited" method=GET bucket=api.example.com wait=3s cause=window_used_up quota="the server's limit of 100" ` +
			`advice="the server says that its limit is used up: send less, or ask the provider for more" ` +
			`causes="2.5s window used up \"the server's limit of 100\" of api.example.com; 500ms pace \"1/s even\" of api.example.com"` + "\n"
		if log.String() != line {
			t.Errorf("log:\n%s\nwant\n%s", log.String(), line)
		}
		inReadme(t, `msg="pacer: request waited" method=GET bucket=api.example.com wait=3s cause=window_used_up quota="the server's limit of 100"`)
		onPage(`"past":[{"ago":0,"method":"GET","wait":3000,"for":[{"for":2500,"cause":"window used up","quota":"the server's limit of 100"},{"for":500,"cause":"pace","quota":"1/s even"}]}`)
	})
	log.Reset()
	synctest.Test(t, func(t *testing.T) {
		c := pacer.Call{MaxWait: 2 * time.Second}
		page = &pacerdebug.Page{}
		_, err := play(t, pacer.Traces(hooks, page.Trace()), &c, page)
		text := `throttle: api.example.com: not sent: wait over MaxWait (2s, after waiting for 500ms): window used up "the server's limit of 100", could go in 2.5s`
		var e *throttle.Error
		if !errors.As(err, &e) || e.Cause != throttle.CauseWindowUsedUp || e.Quota != window || e.Error() != text {
			t.Errorf("got %v\nwant %s", err, text)
		}
		inReadme(t, "`"+text+"`")
		if len(notSent) != 1 || notSent[0].Wait != 500*ms || !slices.Equal(notSent[0].Waits, want[1:]) || !slices.Equal(c.Waits(), want[1:]) {
			t.Errorf("not sent: %+v, the call waited for %+v", notSent, c.Waits())
		}
		line := `level=WARN msg="pacer: request not sent" method=GET bucket=api.example.com why="wait over MaxWait" refused_for=window_used_up ` +
			`refused_by="the server's limit of 100" could_go_in=2.5s advice="the server says that its limit is used up: send less, or ask the provider for more" wait=500ms cause=pace quota="1/s even"` + "\n"
		if log.String() != line {
			t.Errorf("log:\n%s\nwant\n%s", log.String(), line)
		}
		onPage(`"past":[{"ago":0,"method":"GET","how":"not sent: wait over MaxWait","wait":500,"for":[{"for":500,"cause":"pace","quota":"1/s even"}]}`)
	})
}

// told is what hooks are told, as text: Went and Answered of each attempt, and what comes between.
func told(all *[]string) *pacer.Trace {
	note := func(format string, args ...any) { *all = append(*all, fmt.Sprintf(format, args...)) }
	waits := func(ws []throttle.Wait) (text string) {
		for _, w := range ws {
			text += fmt.Sprintf(" %v %s of %s", w.For, w.Cause, w.Bucket)
		}
		return text
	}
	return &pacer.Trace{
		Queued:   func(e pacer.Queued) { note("%v queued %v %s", e.Mode, e.Wait, e.Cause) },
		Went:     func(e pacer.Went) { note("%v went %d after %v%s", e.Mode, e.Attempt, e.Wait, waits(e.Waits)) },
		NotSent:  func(e pacer.NotSent) { note("%v not sent after %v%s: %v", e.Mode, e.Wait, waits(e.Waits), e.Err) },
		Retrying: func(e pacer.Retrying) { note("retrying after %v", e.Delay) },
		GaveUp: func(e pacer.GaveUp) {
			note("gave up: %v after %v, backed off for %v%s", e.Reason, e.Wait, e.Delay, waits(e.Waits))
		},
		Answered: func(e pacer.Answered) {
			note("answered %d: %d, %v after %v, costs %v, refused %v, held %v", e.Attempt, e.Status, e.Err, e.Latency, e.Costs, e.Refused, e.Held)
		},
	}
}

// Each attempt goes, and is answered, in whatever way; what it waited for is of that attempt alone, and of the
// Call all of it.
func TestTraceOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		slow := func(status int, header ...string) func(*http.Request) (*http.Response, error) {
			return func(r *http.Request) (*http.Response, error) {
				time.Sleep(100 * time.Millisecond)
				return lab.Answer(r, status, "", header...), nil
			}
		}
		tr := &pacer.Transport{
			Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
				slow(429, "Retry-After", "2"), lab.Fails(lab.ErrBroken), slow(503), slow(200),
			}},
			Cost:  func(*http.Request) quota.Costs { return quota.Costs{"tokens": 10} },
			Spent: func(r *http.Response) quota.Costs { return quota.Costs{"tokens": int64(r.StatusCode)} },
			Retry: pacer.Retry{Backoff: lab.Steady{}, BudgetRatio: -1, MaxAttempts: 20}, Rand: lab.Zero, Trace: told(&got),
		}
		var c pacer.Call
		resp, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &c))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		want := []string{
			"wait went 1 after 0s", "answered 1: 429, <nil> after 100ms, costs map[requests:1 tokens:429], refused true, held 2s",
			"wait queued 2s hold", "retrying after 0s", "wait went 2 after 2s 2s hold of a.example", "answered 2: 0, connection broken after 0s, costs map[requests:1 tokens:10], refused false, held 0s",
			"retrying after 1s", "wait went 3 after 0s", "answered 3: 503, <nil> after 100ms, costs map[requests:1 tokens:503], refused false, held 0s",
			"retrying after 2s", "wait went 4 after 0s", "answered 4: 200, <nil> after 100ms, costs map[requests:1 tokens:200], refused false, held 0s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if c.Waited() != 2*time.Second || len(c.Waits()) != 1 {
			t.Errorf("the call waited %v for %v", c.Waited(), c.Waits())
		}
	})
}

// A request that is refused as its own matter, which holds nobody, waits out of line for its Retry-After:
// hooks, log and page say so.
func TestTraceOfARefusalOfOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var log bytes.Buffer
		refusals := 0
		tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/why" && refusals == 0 {
				refusals++
				return lab.Answer(r, 429, "", "Retry-After", "3"), nil // a CDN: the server itself states its numbers
			}
			return lab.Answer(r, 200, "", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "90", "X-RateLimit-Reset-After", "60"), nil
		})}
		for range 40 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		page := &pacerdebug.Page{Transport: tr}
		tr.Trace = pacer.Traces(pacer.Log(lines(&log)), told(&got), page.Trace())
		lab.Get(t, &http.Client{Transport: tr}, "http://a.example/why")
		want := []string{
			"wait went 1 after 0s", "answered 1: 429, <nil> after 0s, costs map[requests:1], refused true, held 0s",
			"retrying after 3s", "wait went 2 after 0s", "answered 2: 200, <nil> after 0s, costs map[requests:1], refused false, held 0s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		const line = `level=WARN msg="pacer: request refused by the server" method=GET bucket=a.example status=429
level=INFO msg="pacer: request waited" method=GET bucket=a.example wait=3s cause=backoff status=429 advice="this request alone was refused, and not others: see docs/learning.md"
`
		if log.String() != line {
			t.Errorf("log:\n%s\nwant\n%s", log.String(), line)
		}
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/?as=json&open="+pacer.KeyDigest("a.example"), http.NoBody))
		if want := `"past":[{"ago":0,"method":"GET","how":"sent again","wait":3000,"for":[{"for":3000,"cause":"backoff"}]}]`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("page:\n%s\nwant\n%s", w.Body, want)
		}
	})
}

// A retry that waits in vain says for what, and a budget runs dry once, until it has paid for a retry again.
func TestTraceOfGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var log bytes.Buffer
		tr := &pacer.Transport{
			Base:   &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(500, "")}},
			Quotas: lab.All(quota.Quota{N: 1, Per: 10 * time.Second, Kind: quota.TokenBucket}), MaxWait: time.Minute,
			Retry: pacer.Retry{Backoff: lab.Steady{}, MaxAttempts: 3}, Rand: lab.Zero,
		}
		page := &pacerdebug.Page{Transport: tr}
		tr.Trace = pacer.Traces(told(&got), pacer.Log(lines(&log)), page.Trace())
		for _, test := range []struct {
			after time.Duration // the request is canceled
			want  string
			log   string
			page  string
		}{
			{
				4 * time.Second, "gave up: canceled after 3s, backed off for 1s 3s pace of a.example",
				`why=canceled refused_for=pace refused_by="1/10s even" could_go_in=6s backoff=1s wait=3s cause=pace quota="1/10s even"`,
				`"wait":4000,"for":[{"for":3000,"cause":"pace","quota":"1/10s even"},{"for":1000,"cause":"backoff"}]`,
			},
			{
				time.Second / 4, "gave up: canceled after 0s, backed off for 250ms",
				`why="context canceled" backoff=250ms`,
				`"wait":250,"for":[{"for":250,"cause":"backoff"}]`,
			},
		} {
			log.Reset()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(test.after, cancel)
			_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if last := got[len(got)-1]; last != test.want {
				t.Error(last)
			}
			if want := `level=INFO msg="pacer: request not sent again" method=GET bucket=a.example reason=canceled attempts=1 status=500 ` + test.log + "\n"; !strings.HasSuffix(log.String(), want) {
				t.Errorf("log:\n%s\nwant\n%s", &log, want)
			}
			w := httptest.NewRecorder()
			page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/?as=json&open="+pacer.KeyDigest("a.example"), http.NoBody))
			if want := `"past":[{"ago":0,"method":"GET","how":"not sent again: canceled",` + test.page; !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), `"failing"`) {
				t.Errorf("page:\n%s\nwant\n%s", w.Body, want)
			}
			time.Sleep(6 * time.Second) // the next one goes at once
		}
		for range 7 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		dry := slices.DeleteFunc(got, func(s string) bool { return s != "gave up: budget after 0s, backed off for 0s" })
		if len(dry) != 2 { // the budget pays for ten retries, which are two of each request
			t.Errorf("%d requests had no budget, want 2", len(dry))
		}
		if left, ok := tr.RetryBudgets()["a.example"]; left != 0 || !ok || len(tr.RetryBudgets()) != 1 {
			t.Errorf("retry budgets %v, want none left of a.example", tr.RetryBudgets())
		}
		if s := tr.Stats(); s.Buckets != 1 || s.Retried != 10 || s.GaveUp != 9 || s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// In ModeObserve, hooks are told what would have been, also of what would never have gone; nothing waits.
func TestTraceOfModeObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var log bytes.Buffer
		cost := quota.Costs{}
		tr := &pacer.Transport{
			Base: lab.OK(), Mode: pacer.ModeObserve, Cost: func(*http.Request) quota.Costs { return maps.Clone(cost) }, Rand: lab.Zero,
			Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}, tokens(100)), Trace: pacer.Traces(told(&got), pacer.Log(lines(&log))),
		}
		start := time.Now()
		for range 3 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		time.Sleep(time.Hour)
		cost["tokens"] = 101
		lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		time.Sleep(time.Hour)
		delete(cost, "tokens")
		cost["token"] = 1
		var c pacer.Call
		resp, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &c))
		if err != nil || time.Since(start) != 2*time.Hour || c.Waited() != 0 {
			t.Fatalf("%v after %v, the call waited %v", err, time.Since(start), c.Waited())
		}
		resp.Body.Close()
		want := []string{
			"observe went 1 after 0s",
			"observe queued 1s pace", "observe went 1 after 1s 1s pace of a.example",
			"observe queued 2s pace", "observe went 1 after 2s 2s pace of a.example",
			`observe not sent after 0s: throttle: a.example: not sent: cost above what the quota ever grants at once: pace "1 tokens/1000h burst 100", cost 101 tokens; it grants at most 100 tokens at once: claim less, or write "1 tokens/1000h burst 101" or "1 tokens/1000h burst 100 debt"`, "observe went 1 after 0s",
			`observe not sent after 0s: throttle: a.example: not sent: claim does not fit a quota: cost in "token", want "tokens" as in "1 tokens/1000h burst 100"`, "observe went 1 after 0s",
		}
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "answered") })
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		wantLog := `level=INFO msg="pacer: request would have waited" method=GET bucket=a.example wait=2s cause=pace quota="1/s even" advice="a configured quota: raise it if the provider allows more"
level=WARN msg="pacer: request would not have been sent" method=GET bucket=a.example why="cost above what the quota ever grants at once" refused_for=pace refused_by="1 tokens/1000h burst 100"
level=WARN msg="pacer: request would not have been sent" method=GET bucket=a.example why="claim does not fit a quota" refused_by="1 tokens/1000h burst 100"
`
		if log.String() != wantLog {
			t.Errorf("log:\n%s\nwant\n%s", log.String(), wantLog)
		}
		if s := tr.Stats(); s.NotSent != 0 || s.WaitCount != 0 {
			t.Errorf("%+v, and all were sent at once", s)
		}
	})
}

// What a log must not have: credentials, queries, values of wildcards, what Key returns, and errors that quote
// these.
func TestLogHasNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2"
		var log bytes.Buffer
		quoted := &url.Error{Op: "Get", URL: "http://a.example/?token=" + secret, Err: errors.New("refused for " + secret)}
		trace := pacer.Log(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		tr := &pacer.Transport{
			Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
				lab.Status(200, ""), lab.Status(200, ""), lab.Status(429, secret, "Retry-After", "3"), lab.Fails(quoted), lab.Fails(quoted), lab.Fails(quoted),
				lab.Status(429, "", "Retry-After", "3"), lab.Status(200, ""),
			}},
			Key: func(*http.Request) string { return "key " + secret }, Trace: trace, Rand: lab.Zero,
			Quotas: pacer.Table{
				"/":                            {{N: 1, Per: 2 * time.Second, Kind: quota.TokenBucket}},
				"GET a.example/hooks/{token}/": {{N: 1, Per: 4 * time.Second, Kind: quota.TokenBucket}},
			},
		}
		for range 6 {
			req := lab.Request(t, "GET", "http://user:"+secret+"@a.example/hooks/"+secret+"/send?token="+secret, "")
			req.Header.Set("Authorization", secret)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			if resp, err := tr.RoundTrip(req.WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
			cancel()
		}
		req := lab.Request(t, "GET", "http://a.example/hooks/"+secret+"/", "")
		if _, err := tr.RoundTrip(of(req, &pacer.Call{MaxWait: -1})); err == nil {
			t.Error("sent")
		}
		trace.StoreEvent(throttle.StoreEvent{Bucket: secret, Label: "GET a.example/hooks/{token}/", Kind: throttle.StoreDown, Err: quoted})
		text := log.String()
		for _, want := range []string{"request waited", "request refused by the server", "request not sent again", "request not sent\"", "store not reached", "GET a.example/hooks/{token}/"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in the log", want)
			}
		}
		for _, digest := range []string{secret, pacer.KeyDigest("key " + secret), "?", "user"} {
			if strings.Contains(text, digest) {
				t.Errorf("the log has %q", digest)
			}
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}

// A RoundTripper below sees how often a request was sent before, also below another Transport.
func TestResends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		script := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(429, "", "Retry-After", "1"), lab.Status(503, ""), lab.Status(200, "")}}
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, pacer.Resends(r.Context()))
			return script.RoundTrip(r)
		})
		tr := &pacer.Transport{Base: lab.Wrap(&pacer.Transport{Base: base}), Retry: pacer.Retry{Backoff: lab.Steady{}}}
		var c pacer.Call
		for range 2 {
			resp, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &c))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if want := []int{0, 1, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if pacer.Resends(t.Context()) != 0 {
			t.Error("a context without a request was sent")
		}
	})
}

// Stats counts where requests wait, are refused or fail; it can be asked at any time, by a hook too.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}), Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(200, ""), lab.Status(200, ""), lab.Status(429, "", "Retry-After", "7"), lab.Status(200, ""),
		}}}
		var during pacer.Stats
		tr.Trace = &pacer.Trace{Answered: func(a pacer.Answered) {
			if a.Held > 0 {
				during = tr.Stats()
			}
		}}
		for range 3 {
			lab.Get(t, &http.Client{Transport: tr}, "http://a.example/")
		}
		if during.Held != 1 || during.Buckets != 1 || during.WaitCount != 2 {
			t.Errorf("during a hold: %+v", during)
		}
		if _, err := tr.RoundTrip(of(lab.Request(t, "GET", "http://a.example/", ""), &pacer.Call{MaxWait: -1})); err == nil {
			t.Error("sent")
		}
		want := pacer.Stats{Buckets: 1, WaitCount: 3, WaitDuration: 9 * time.Second, NotSent: 1, Refused: 1, Retried: 1}
		if got := tr.Stats(); got != want || len(tr.RetryBudgets()) != 0 {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if _, err := json.Marshal(tr.Stats()); err != nil {
			t.Error(err)
		}
	})
}

// TestTraceAllocations: who sets a Trace whose hooks do nothing pays no allocation for what does not wait.
func TestTraceAllocations(t *testing.T) {
	allocations := func(trace *pacer.Trace) float64 {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		})
		tr := &pacer.Transport{Base: base, Trace: trace}
		req := lab.Request(t, "GET", "http://a.example/", "")
		send := func() {
			if _, err := tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			send()
		}
		return testing.AllocsPerRun(100, send)
	}
	none := allocations(nil)
	if with := allocations(&pacer.Trace{Queued: func(pacer.Queued) {}, Went: func(pacer.Went) {}, NotSent: func(pacer.NotSent) {}}); with != none {
		t.Errorf("%v allocations, without a Trace %v", with, none)
	}
	if with := allocations(pacer.Log(slog.New(slog.DiscardHandler))); with > none+2 {
		t.Errorf("%v allocations with a log, without a Trace %v", with, none)
	}
}

// Hooks run with no lock held: they may ask the Transport anything, while it is used and its quotas are
// replaced. What each request waited for adds up to how long it waited, exactly, whatever happens.
func TestHooksMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr *pacer.Transport
		ask := func() { _, _ = tr.State(), tr.Stats() }
		var waited, went, answered atomic.Int64
		add := func(waits []throttle.Wait, want time.Duration) {
			var sum time.Duration
			for _, w := range waits {
				sum += w.For
			}
			if sum != want {
				t.Errorf("waited %v for %+v", want, waits)
			}
			waited.Add(int64(sum))
		}
		tables := []pacer.Table{
			{"/": quota.MustParse("50/s even, 5 in flight")},
			{"/": quota.MustParse("100/s burst 5"), "GET a.example/{x}": quota.MustParse("10/s even")},
		}
		n := atomic.Int64{}
		tr = &pacer.Transport{
			Rand: lab.Zero, Quotas: tables[0], MaxWait: 30 * time.Second,
			Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(30 * time.Millisecond)
				switch n.Add(1) % 20 {
				case 0:
					return lab.Answer(r, 429, "", "Retry-After", "1"), nil
				case 7:
					return nil, lab.ErrBroken
				}
				return lab.Answer(r, 200, "", "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "900", "X-RateLimit-Reset", "60"), nil
			}),
			Trace: &pacer.Trace{
				Queued:   func(pacer.Queued) { ask() },
				Went:     func(e pacer.Went) { ask(); went.Add(1); add(e.Waits, e.Wait) },
				NotSent:  func(e pacer.NotSent) { ask(); add(e.Waits, e.Wait) },
				GaveUp:   func(e pacer.GaveUp) { ask(); add(e.Waits, e.Wait) },
				Answered: func(pacer.Answered) { ask(); answered.Add(1) },
				Retrying: func(pacer.Retrying) { ask() },
				Learned:  func(pacer.Learned) { ask() },
			},
		}
		var all atomic.Int64
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7+1)*time.Second)
				defer cancel()
				var c pacer.Call
				resp, err := tr.RoundTrip(of(lab.Request(t, "GET", fmt.Sprintf("http://a.example/%d", i%3), "").WithContext(ctx), &c))
				if err == nil {
					resp.Body.Close()
				}
				all.Add(int64(c.Waited()))
			})
		}
		for i := range 6 {
			time.Sleep(300 * time.Millisecond)
			if err := tr.SetQuotas(tables[(i+1)%2]); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		if went.Load() != answered.Load() || waited.Load() != all.Load() || all.Load() == 0 {
			t.Errorf("%d went, %d were answered; waited %v by the hooks, %v by the Calls", went.Load(), answered.Load(), time.Duration(waited.Load()), time.Duration(all.Load()))
		}
		if s := tr.Stats(); s.Waiting != 0 || s.InFlight != 0 || int64(s.WaitDuration) != all.Load() {
			t.Errorf("%+v, want %v", s, time.Duration(all.Load()))
		}
	})
}
