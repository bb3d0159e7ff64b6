package pacerotel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// TestWhyItWaitedThreeSeconds is the story of the test of that name in internal/tests/pacing: a request is told
// that it waits 1 s for its quota, and waits 3 s, since an answer says meanwhile that the server's window is
// used up. A span and the metrics say so, to the nanosecond; and what became of it, if it may not wait as long.
func TestWhyItWaitedThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		ctx, parent := l.traces.Tracer("test").Start(t.Context(), "parent")
		joined := time.Now().Add(40 * time.Second)
		if after, err := play(ctx, t, l.Telemetry); after != 3*time.Second || err != nil {
			t.Fatalf("sent after %v, %v", after, err)
		}
		spans := l.spans.Ended()
		if len(spans) != 1 {
			t.Fatalf("%d spans", len(spans))
		}
		s := spans[0]
		want := `pacer wait internal 3s pacer.bucket=a.example pacer.wait.causes=["2.5s window used up \"the server's limit of 100\" of a.example","500ms pace \"1/s even\" of a.example"]` +
			` pacer.wait.time.pace=0.5 pacer.wait.time.window_used_up=2.5`
		if got := text(s); got != want || s.Parent().SpanID() != parent.SpanContext().SpanID() || !s.StartTime().Equal(joined) {
			t.Errorf("got  %s\nwant %s\nbegan %v, want %v", got, want, s.StartTime(), joined)
		}
		same(t, "metrics", only(l.read(t), "pacer.wait", "pacer.grants", "pacer.queue"),
			"pacer.wait.duration{pacer.bucket=a.example} 1 in 3",
			"pacer.wait.time{pacer.bucket=a.example,pacer.cause=window_used_up} 2.5",
			"pacer.wait.time{pacer.bucket=a.example,pacer.cause=pace} 0.5",
			"pacer.grants{pacer.bucket=a.example} 2",
			"pacer.queue.length{pacer.bucket=a.example} 0",
		)
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		ctx, _ := l.traces.Tracer("test").Start(t.Context(), "parent")
		_, err := play(pacer.WithCall(ctx, &pacer.Call{MaxWait: 2 * time.Second}), t, l.Telemetry)
		if !errors.Is(err, throttle.ErrMaxWait) {
			t.Fatal(err)
		}
		want := `pacer wait internal 500ms error.type=max_wait pacer.bucket=a.example pacer.wait.causes=["500ms pace \"1/s even\" of a.example"] pacer.wait.time.pace=0.5 Error: not sent: max_wait`
		if spans := l.spans.Ended(); len(spans) != 1 || text(spans[0]) != want {
			t.Errorf("got  %s\nwant %s", text(spans[0]), want)
		}
		same(t, "metrics", only(l.read(t), "pacer.wait", "pacer.not_sent"),
			"pacer.wait.duration{error.type=max_wait,pacer.bucket=a.example} 1 in 0.5",
			"pacer.wait.time{pacer.bucket=a.example,pacer.cause=pace} 0.5",
			"pacer.not_sent{error.type=max_wait,pacer.bucket=a.example} 1",
		)
	})
}

// What a request waited for in several buckets of one label is told once, the longest first.
func TestCausesOfOneLabelAreOne(t *testing.T) {
	l := newLab(t, 0)
	ctx, _ := l.traces.Tracer("test").Start(t.Context(), "parent")
	l.Trace().Went(pacer.Went{Event: pacer.Event{Request: new(http.Request).WithContext(ctx), Label: "a"}, Wait: 10 * time.Second, Waits: []throttle.Wait{
		{Bucket: "a (x)", Label: "a", Cause: throttle.CausePace, Quota: "9/m", For: 4 * time.Second},
		{Bucket: "a (x)", Label: "a", Cause: throttle.CauseHold, For: 3 * time.Second},
		{Bucket: "a", Label: "a", Cause: throttle.CauseHold, For: 2 * time.Second},
		{Bucket: "b", Label: "b", Cause: throttle.CauseHold, For: time.Second},
	}})
	want := `pacer wait internal 10s pacer.bucket=a pacer.wait.causes=["5s hold of a","4s pace \"9/m\" of a","1s hold of b"] pacer.wait.time.hold=6 pacer.wait.time.pace=4`
	if spans := l.spans.Ended(); len(spans) != 1 || text(spans[0]) != want {
		t.Errorf("got  %s\nwant %s", text(spans[0]), want)
	}
}

// What is sent again, refused and given up is counted, and what is left is told: in line, under way, of quotas,
// of the budget.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		statuses := script(429, 0, 503, 200, 503, 503, 503)
		tr := &pacer.Transport{
			Rand: zero, Trace: l.Trace(), Retry: pacer.Retry{Backoff: steady{}, MaxAttempts: 3},
			Quotas: pacer.Table{"/": quota.MustParse("1000/h window, 30 tokens/s burst 100"), "api.example/{user}/": quota.MustParse("2/m log")},
			Cost:   func(*http.Request) quota.Costs { return quota.Costs{"tokens": 10} },
			Base: base(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == "/slow" {
					time.Sleep(time.Second)
				}
				return statuses(req)
			}),
		}
		l.Watch(tr)
		for range 2 { // 429, error, 503, 200; and 503 until it is given up
			if err := send(t.Context(), tr, "http://a.example/"); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "counters", only(l.read(t), "pacer.grants", "pacer.ref", "pacer.retries", "pacer.gave", "pacer.backoff", "pacer.wait.", "pacer.not"),
			"pacer.grants{pacer.bucket=a.example} 7",
			"pacer.refusals{pacer.bucket=a.example} 1",
			"pacer.retries{pacer.bucket=a.example,pacer.retry.cause=refusal} 1",
			"pacer.retries{pacer.bucket=a.example,pacer.retry.cause=failure} 4",
			"pacer.backoff.time{pacer.bucket=a.example} 4",
			"pacer.gave_up{pacer.bucket=a.example,pacer.reason=attempts} 1",
			"pacer.wait.duration{pacer.bucket=a.example} 1 in 2",
			"pacer.wait.time{pacer.bucket=a.example,pacer.cause=hold} 2",
		)
		for _, user := range []string{"ann", "ann", "bob"} {
			if err := send(t.Context(), tr, "http://api.example/"+user+"/"); err != nil {
				t.Fatal(err)
			}
		}
		go send(t.Context(), tr, "http://a.example/slow")
		synctest.Wait()
		same(t, "gauges", only(l.read(t), "pacer.active", "pacer.quota", "pacer.held", "pacer.queue", "pacer.retry.budget"),
			"pacer.active_requests{pacer.bucket=a.example} 1",
			"pacer.active_requests{pacer.bucket=api.example} 0",
			"pacer.active_requests{pacer.bucket=api.example/{user}/} 0",
			"pacer.held_buckets{pacer.bucket=a.example} 0",
			"pacer.held_buckets{pacer.bucket=api.example} 0",
			"pacer.held_buckets{pacer.bucket=api.example/{user}/} 0",
			"pacer.queue.length{pacer.bucket=a.example} 0",
			"pacer.queue.length{pacer.bucket=api.example} 0",
			"pacer.queue.length{pacer.bucket=api.example/{user}/} 0",
			"pacer.quota.limit{pacer.bucket=a.example,pacer.quota=1000/h window,pacer.unit=requests} 1000",
			"pacer.quota.limit{pacer.bucket=a.example,pacer.quota=30 tokens/s burst 100,pacer.unit=tokens} 100",
			"pacer.quota.limit{pacer.bucket=api.example,pacer.quota=1000/h window,pacer.unit=requests} 1000",
			"pacer.quota.limit{pacer.bucket=api.example,pacer.quota=30 tokens/s burst 100,pacer.unit=tokens} 100",
			"pacer.quota.limit{pacer.bucket=api.example/{user}/,pacer.quota=2/m log,pacer.unit=requests} 2",
			"pacer.quota.remaining{pacer.bucket=a.example,pacer.quota=1000/h window,pacer.unit=requests} 992",
			"pacer.quota.remaining{pacer.bucket=a.example,pacer.quota=30 tokens/s burst 100,pacer.unit=tokens} 80",
			"pacer.quota.remaining{pacer.bucket=api.example,pacer.quota=1000/h window,pacer.unit=requests} 997",
			"pacer.quota.remaining{pacer.bucket=api.example,pacer.quota=30 tokens/s burst 100,pacer.unit=tokens} 70",
			"pacer.quota.remaining{pacer.bucket=api.example/{user}/,pacer.quota=2/m log,pacer.unit=requests} 0", // of ann
			"pacer.retry.budget{pacer.bucket=a.example} 6.1",                                                    // 10 - 2 + 0.1 - 2: a refusal costs nothing
		)
		time.Sleep(time.Second)
	})
}

// There are as many buckets as Options allow, and one for the others, in which nothing is lost; also when all
// come at once.
func TestMaxBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			most int
			want []string
		}{
			{3, []string{"h0.example} 2", "h1.example} 2", "h2.example} 2", "other} 14"}},
			{-1, []string{"other} 20"}},
		} {
			l := newLab(t, test.most)
			tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Base: script()}
			l.Watch(tr)
			for i := range 20 {
				if err := send(t.Context(), tr, fmt.Sprintf("http://h%d.example/", i%10)); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, w := range test.want {
				name, _, _ := strings.Cut(w, " ")
				want = append(want, "pacer.grants{pacer.bucket="+w, "pacer.queue.length{pacer.bucket="+name+" 0")
			}
			same(t, "grants", only(l.read(t), "pacer.grants", "pacer.queue"), want...)
		}
		l := newLab(t, 0)
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() { l.buckets.get(fmt.Sprint(i % 200)).real.grants.Add(1) })
		}
		wg.Wait()
		if got := only(l.read(t), "pacer.grants"); len(got) != 101 || got[len(got)-1] != "pacer.grants{pacer.bucket=other} 500" {
			t.Errorf("%d values, the last one is %s", len(got), got[len(got)-1])
		}
	})
}

// TestMaxBucketsQuotas has hosts with a quota each, as a crawler that reads a Crawl-delay of every host: those
// without a bucket of their own share one level, and show the one of which the least is left.
func TestMaxBucketsQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 1)
		tr := &pacer.Transport{Quotas: pacer.Table{}, Rand: zero, Base: script()}
		for i := range 5 {
			tr.Quotas[fmt.Sprintf("h%d.example/", i)] = quota.Quotas{{N: 100 - int64(i), Per: time.Minute, Kind: quota.FixedWindow}}
		}
		l.Watch(tr)
		for i := range 5 {
			if err := send(t.Context(), tr, fmt.Sprintf("http://h%d.example/", i)); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "levels", only(l.read(t), "pacer.quota.remaining"),
			"pacer.quota.remaining{pacer.bucket=h0.example,pacer.quota=100/m window,pacer.unit=requests} 99",
			"pacer.quota.remaining{pacer.bucket=other,pacer.quota=other,pacer.unit=requests} 95")
	})
}

// Metrics and spans have no credential, no part of a URL but the host, no value of a wildcard, and no text of
// an error of others; and of a server's names none is in a metric. What cannot be UTF-8 is left out: exporters
// would refuse all because of it.
func TestNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2"
		l := newLab(t, 0)
		n := 0
		tr := &pacer.Transport{
			Rand: zero, Trace: l.Trace(), MaxWait: 30 * time.Second,
			Key: func(*http.Request) string { return "key " + secret },
			Quotas: pacer.Table{
				"/":                            {{N: 1, Per: 2 * time.Second, Kind: quota.TokenBucket}},
				"GET a.example/hooks/{token}/": {{N: 1, Per: 4 * time.Second, Kind: quota.TokenBucket}},
			},
			Base: base(func(req *http.Request) (*http.Response, error) {
				switch n++; n {
				case 2:
					return answer(req, 429, "Retry-After", "3"), nil
				case 4:
					return nil, errors.New("refused for " + secret)
				}
				return answer(req, 200, "RateLimit-Policy", fmt.Sprintf(`"%s%d";q=100;w=60;qu="%s%d"`, secret, n, secret, n), "RateLimit", fmt.Sprintf(`"%s%d";r=50;t=30`, secret, n)), nil
			}),
		}
		l.Watch(tr)
		ctx, _ := l.traces.Tracer("test").Start(t.Context(), "parent")
		for range 6 {
			send(ctx, tr, "http://user:"+secret+"@a.example/hooks/"+secret+"/send?token="+secret)
		}
		send(pacer.WithCall(ctx, &pacer.Call{MaxWait: -1}), tr, "http://a.example/hooks/"+secret+"/")
		var all []string
		for _, s := range l.spans.Ended() {
			all = append(all, text(s))
		}
		if len(all) < 5 {
			t.Errorf("%d spans", len(all))
		}
		read := l.read(t)
		if len(only(read, "pacer.quota.remaining{pacer.bucket=GET a.example/hooks/{token}/,pacer.quota=server,pacer.unit=other} ")) != 1 {
			t.Errorf("nothing of what the server states: %s", strings.Join(read, "\n"))
		}
		for _, line := range append(all, read...) {
			for _, not := range []string{secret, pacer.KeyDigest("key " + secret), "?", "user"} {
				if strings.Contains(line, not) {
					t.Errorf("%q is in %s", not, line)
				}
			}
		}
		one, other := "a\xffb"+strings.Repeat("é", 200), "a\xffb"+strings.Repeat("é", 201)
		end := " " + pacer.KeyDigest(one)
		if got, n := clean(one), (197-len(end))/2; got != "ab"+strings.Repeat("é", n)+end || got == clean(other) || clean("a\xffb") != "ab" {
			t.Errorf("%q", got)
		}
	})
}

// In ModeObserve nothing waits: there is no span, and the metrics of what would have been are told apart from
// others.
func TestModeObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Mode: pacer.ModeObserve, Quotas: onePerSecond, Base: script()}
		ctx, _ := l.traces.Tracer("test").Start(t.Context(), "parent")
		for range 3 {
			if err := send(ctx, tr, "http://a.example/"); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "metrics", l.read(t),
			"pacer.grants{pacer.bucket=a.example,pacer.mode=observe} 3",
			"pacer.wait.duration{pacer.bucket=a.example,pacer.mode=observe} 2 in 3",
			"pacer.wait.time{pacer.bucket=a.example,pacer.cause=pace,pacer.mode=observe} 3",
		)
		if spans := l.spans.Ended(); len(spans) != 0 {
			t.Errorf("%d spans", len(spans))
		}
	})
}

// A wait for a retry has the number of the resend, also if it is in vain; who cancels it makes no error.
// Without a span above there is no span.
func TestSpansOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		parent, _ := l.traces.Tracer("test").Start(t.Context(), "parent")
		tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Base: script(429)}
		if err := send(t.Context(), tr, "http://a.example/"); err != nil || len(l.spans.Ended()) != 0 {
			t.Fatalf("%v, %d spans", err, len(l.spans.Ended()))
		}
		tr = &pacer.Transport{Rand: zero, Trace: l.Trace(), Base: script(429, 200, 429)}
		if err := send(parent, tr, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(parent)
		time.AfterFunc(time.Second, cancel)
		if err := send(ctx, tr, "http://a.example/"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var got []string
		for _, s := range l.spans.Ended() {
			got = append(got, text(s))
		}
		want := []string{
			`pacer wait internal 2s http.request.resend_count=1 pacer.bucket=a.example pacer.wait.causes=["2s hold of a.example"] pacer.wait.time.hold=2`,
			`pacer wait internal 1s error.type=canceled http.request.resend_count=1 pacer.bucket=a.example pacer.wait.causes=["1s hold of a.example"] pacer.wait.time.hold=1`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A delay is counted as far as it lasted, also if no attempt comes after it.
func TestBackoffInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Retry: pacer.Retry{Backoff: steady{}}, Base: script(503)}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/4, cancel)
		if err := send(ctx, tr, "http://a.example/"); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		same(t, "metrics", only(l.read(t), "pacer.backoff", "pacer.gave"),
			"pacer.backoff.time{pacer.bucket=a.example} 0.25", "pacer.gave_up{pacer.bucket=a.example,pacer.reason=canceled} 1")
	})
}

// What a wait for a retry was in vain for has the words of the error, if there is one, and else those of the
// reason.
func TestWhyInVain(t *testing.T) {
	for _, test := range []struct {
		reason  pacer.Reason
		because error
		want    string
	}{
		{pacer.ReasonWait, &throttle.Error{Err: throttle.ErrMaxWait}, "max_wait"},
		{pacer.ReasonCanceled, context.Canceled, "canceled"},
		{pacer.ReasonDeadline, context.DeadlineExceeded, "deadline"},
		{pacer.ReasonElapsed, nil, "elapsed"},
		{pacer.ReasonPrepare, errors.New("secret"), "prepare"},
	} {
		if got := whyInVain(pacer.GaveUp{Reason: test.reason, Because: test.because}); got != test.want {
			t.Errorf("%v, %v: got %s, want %s", test.reason, test.because, got, test.want)
		}
	}
	for i, f := range failures[:len(failures)-1] {
		if got := failure(&throttle.Error{Err: f.err}); got != i {
			t.Errorf("%v is %s", f.err, failures[got].name)
		}
	}
}

// What happens to a Store is counted by its kind, and how long outages were.
func TestStore(t *testing.T) {
	l := newLab(t, 0)
	hook := l.Trace().StoreEvent
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: throttle.StoreDown, Err: errors.New("secret")})
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: throttle.StoreBack, Down: 1500 * time.Millisecond})
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: throttle.StoreSlow, Err: errors.New("secret")})
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: throttle.StoreLost})
	hook(throttle.StoreEvent{Bucket: "c", Label: "a.example", Kind: throttle.StoreLost})
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: throttle.StoreOthers, Others: quota.MustParse("9/s")})
	hook(throttle.StoreEvent{Bucket: "b", Label: "a.example", Kind: "of a newer throttle"})
	same(t, "metrics", l.read(t), "pacer.store.down.time{pacer.bucket=a.example} 1.5",
		"pacer.store.events{pacer.bucket=a.example,pacer.store.event=back} 1", "pacer.store.events{pacer.bucket=a.example,pacer.store.event=down} 1",
		"pacer.store.events{pacer.bucket=a.example,pacer.store.event=lost} 2", "pacer.store.events{pacer.bucket=a.example,pacer.store.event=_OTHER} 1",
		"pacer.store.events{pacer.bucket=a.example,pacer.store.event=others} 1", "pacer.store.events{pacer.bucket=a.example,pacer.store.event=slow} 1")
}

// What waits is in line, and a bucket that is held is counted, for as long as that lasts.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Base: script(200, 429)}
		l.Watch(tr)
		for range 2 {
			go send(t.Context(), tr, "http://a.example/")
			time.Sleep(time.Second)
		}
		same(t, "during a hold", only(l.read(t), "pacer.queue", "pacer.held", "pacer.active"),
			"pacer.queue.length{pacer.bucket=a.example} 1", "pacer.held_buckets{pacer.bucket=a.example} 1", "pacer.active_requests{pacer.bucket=a.example} 0")
		time.Sleep(2 * time.Second)
		same(t, "after it", only(l.read(t), "pacer.queue", "pacer.held", "pacer.active"),
			"pacer.queue.length{pacer.bucket=a.example} 0", "pacer.held_buckets{pacer.bucket=a.example} 0", "pacer.active_requests{pacer.bucket=a.example} 0")
	})
}

// Each attempt that is sent again has its number in the span that is around it, and no first attempt has one.
// Two Transports see each other through it: only the upper one sends again. Idle connections are closed through
// it.
func TestResendCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		idle := &closer{RoundTripper: script(503, 503, 200)}
		tr := &pacer.Transport{Rand: zero, Retry: pacer.Retry{Backoff: steady{}}, Base: base(func(req *http.Request) (*http.Response, error) {
			ctx, span := l.traces.Tracer("test").Start(req.Context(), "attempt")
			defer span.End()
			return ResendCount(idle).RoundTrip(req.WithContext(ctx))
		})}
		if err := send(t.Context(), tr, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range l.spans.Ended() {
			got = append(got, text(s))
		}
		same(t, "spans", got, "attempt internal 0s", "attempt internal 0s http.request.resend_count=1", "attempt internal 0s http.request.resend_count=2")

		(&http.Client{Transport: &pacer.Transport{Base: ResendCount(idle)}}).CloseIdleConnections()
		if !idle.closed {
			t.Error("idle connections are not closed")
		}
		idle.RoundTripper = script(503, 503, 200)
		nested := &pacer.Transport{Rand: zero, Retry: pacer.Retry{Backoff: steady{}}, Base: ResendCount(&pacer.Transport{Rand: zero, Base: idle})}
		var call pacer.Call
		if err := send(pacer.WithCall(t.Context(), &call), nested, "http://a.example/"); err != nil || call.Attempts() != 3 {
			t.Errorf("%v after %d attempts", err, call.Attempts())
		}
		if got := ResendCount(nil).(*resendCount).base; got != http.DefaultTransport {
			t.Errorf("the base is %v", got)
		}
	})
}

// closer notes that its idle connections are closed.
type closer struct {
	http.RoundTripper
	closed bool
}

func (c *closer) CloseIdleConnections() { c.closed = true }

// The global providers may be set after New: what happens from then on is told.
func TestGlobalProviders(t *testing.T) {
	if _, set := otel.GetMeterProvider().(*sdkmetric.MeterProvider); set {
		t.Skip("a process sets them once, and an earlier run of this test has")
	}
	synctest.Test(t, func(t *testing.T) {
		telemetry, err := New(nil)
		if err != nil {
			t.Fatal(err)
		}
		tr := &pacer.Transport{Rand: zero, Trace: telemetry.Trace(), Quotas: onePerSecond, Base: script()}
		telemetry.Watch(tr)
		l := &lab{Telemetry: telemetry, reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
		otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader)))
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans)))
		ctx, _ := otel.Tracer("test").Start(t.Context(), "parent")
		for range 2 {
			if err := send(ctx, tr, "http://a.example/"); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "metrics", only(l.read(t), "pacer.wait", "pacer.grants", "pacer.queue"),
			"pacer.wait.duration{pacer.bucket=a.example} 1 in 1", "pacer.wait.time{pacer.bucket=a.example,pacer.cause=pace} 1",
			"pacer.grants{pacer.bucket=a.example} 2", "pacer.queue.length{pacer.bucket=a.example} 0")
		if n := len(l.spans.Ended()); n != 1 {
			t.Errorf("%d spans", n)
		}
		if err := telemetry.Close(); err != nil {
			t.Error(err)
		}
		if got := only(l.read(t), "pacer.grants", "pacer.queue"); len(got) > 0 {
			t.Errorf("after Close: %q", got)
		}
	})
}

// A Transport is told of once, however often it is watched, until all who watch have stopped; of none, nothing
// is.
func TestWatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		tr := &pacer.Transport{Rand: zero, Base: base(func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(req, 200), nil
		})}
		active := func(want ...string) {
			t.Helper()
			same(t, "metrics", only(l.read(t), "pacer.active"), want...)
		}
		go send(t.Context(), tr, "http://a.example/")
		synctest.Wait()
		stopNone := l.Watch(nil)
		active()
		stop, stopAgain := l.Watch(tr), l.Watch(tr)
		active("pacer.active_requests{pacer.bucket=a.example} 1")
		stop()
		stop()
		stopNone()
		active("pacer.active_requests{pacer.bucket=a.example} 1")
		stopAgain()
		active()
		stop = l.Watch(tr)
		active("pacer.active_requests{pacer.bucket=a.example} 1")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		stop()
		time.Sleep(time.Second)
	})
}

// Two Transports of one Telemetry are told of together: what is in line is added up, and of a quota what has
// the least left counts.
func TestWatchSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, 0)
		for n := range 2 {
			tr := &pacer.Transport{Rand: zero, Trace: l.Trace(), Quotas: pacer.Table{"/": quota.MustParse("10/m log")}, Base: base(func(req *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return answer(req, 200), nil
			})}
			l.Watch(tr)
			for range n + 1 {
				if err := send(t.Context(), tr, "http://a.example/"); err != nil {
					t.Fatal(err)
				}
			}
			go send(t.Context(), tr, "http://a.example/")
		}
		synctest.Wait()
		same(t, "metrics", only(l.read(t), "pacer.active", "pacer.quota"),
			"pacer.active_requests{pacer.bucket=a.example} 1", // the one of the first Transport has ended
			"pacer.quota.limit{pacer.bucket=a.example,pacer.quota=10/m log,pacer.unit=requests} 10",
			"pacer.quota.remaining{pacer.bucket=a.example,pacer.quota=10/m log,pacer.unit=requests} 7",
		)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := l.read(t); len(got) != 0 {
			t.Errorf("after Close: %q", got)
		}
		time.Sleep(time.Second)
	})
}

// TestCostOfAllocations: a request that does not wait costs two allocations more than without a Trace, at most.
func TestCostOfAllocations(t *testing.T) {
	none := allocations(t, nil)
	with := allocations(t, newLab(t, 0).Trace())
	t.Logf("%v allocations without a Trace, %v with", none, with)
	if with > none+2 {
		t.Errorf("%v allocations, without a Trace %v", with, none)
	}
}

func allocations(t *testing.T, hooks *pacer.Trace) float64 {
	t.Helper()
	once := noWait(t, hooks)
	return testing.AllocsPerRun(1000, once)
}

// noWait returns what sends a request that does not wait, in a sampled trace.
func noWait(tb testing.TB, hooks *pacer.Trace) func() {
	tb.Helper()
	tr := &pacer.Transport{Trace: hooks, Base: base(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	})}
	ctx := trace.ContextWithSpanContext(tb.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled}))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
	if err != nil {
		tb.Fatal(err)
	}
	once := func() {
		if _, err := tr.RoundTrip(req); err != nil {
			tb.Fatal(err)
		}
	}
	for range 100 {
		once()
	}
	return once
}

// BenchmarkNoWait is what a request costs that does not wait, without a Trace and with that of a Telemetry.
func BenchmarkNoWait(b *testing.B) {
	for _, test := range []struct {
		name  string
		hooks *pacer.Trace
	}{{"none", nil}, {"otel", newLab(b, 0).Trace()}} {
		b.Run(test.name, func(b *testing.B) {
			once := noWait(b, test.hooks)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}
