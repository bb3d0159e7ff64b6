package pacing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

func TestModeReject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused []pacer.NotSent
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeReject, Quotas: lab.All(quota.Quota{N: 2, Per: time.Minute, Burst: 2}), Trace: &pacer.Trace{
			NotSent: func(r pacer.NotSent) { refused = append(refused, r) },
			Queued:  func(q pacer.Queued) { t.Errorf("queued %+v", q) },
		}}
		start := time.Now()
		serial(t, tr, base, 2)
		req := lab.Request(t, "GET", "http://a.example/", "")
		_, err := tr.RoundTrip(req)
		var local *throttle.Error
		if !errors.As(err, &local) || !errors.Is(err, throttle.ErrWouldWait) || local.Wait != 30*time.Second || !local.At.Equal(start.Add(30*time.Second)) {
			t.Errorf("got %+v", err)
		}
		if len(refused) != 1 || refused[0].Request != req || refused[0].Bucket != "a.example" || refused[0].Err != err { //nolint:errorlint // the same
			t.Errorf("Refused was told %+v", refused)
		}
		if len(base.Got) != 2 || time.Since(start) != 0 {
			t.Errorf("sent %d after %v", len(base.Got), time.Since(start))
		}
		time.Sleep(30*time.Second - 1)
		if _, err := tr.RoundTrip(req); !errors.Is(err, throttle.ErrWouldWait) {
			t.Errorf("a nanosecond too early: %v", err)
		}
		time.Sleep(time.Nanosecond)
		serial(t, tr, base, 1)
	})
}

// The server's refusal is the answer: it would have to be waited for.
func TestModeRejectReturnsARefusalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(429, "why", "Retry-After", "5"), lab.Status(200, "")}}
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeReject, Rand: lab.Zero}
		start := time.Now()
		resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || lab.Read(t, resp) != "why" || time.Since(start) != 0 {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
		}
		var local *throttle.Error
		if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); !errors.As(err, &local) || local.Cause != throttle.CauseHold || local.Wait != 5*time.Second {
			t.Errorf("got %v, want a hold of 5s", err)
		}
	})
}

func TestModeDegrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		var got *http.Request
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeDegrade, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket}), Fallback: func(r *http.Request, why *throttle.Error) (*http.Response, error) {
			if got = r; !errors.Is(why, throttle.ErrWouldWait) || why.Wait != time.Minute {
				t.Errorf("Fallback was told %v", why)
			}
			return lab.Answer(r, http.StatusNonAuthoritativeInfo, "a copy"), nil
		}}
		start := time.Now()
		serial(t, tr, base, 1)
		b := lab.NewBody("data")
		req := lab.Request(t, "POST", "http://a.example/", "")
		req.Body = b
		resp, err := tr.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusNonAuthoritativeInfo || lab.Read(t, resp) != "a copy" || time.Since(start) != 0 {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(start))
		}
		if got.URL != req.URL || got.Method != http.MethodPost || b.Reads != 0 || !b.Closed() {
			t.Errorf("Fallback was given %v with a body read %d times, closed: %v", got, b.Reads, b.Closed())
		}
		if len(base.Got) != 1 {
			t.Errorf("sent %q", base.Got)
		}
		time.Sleep(time.Minute)
		serial(t, tr, base, 1)
	})
}

// Who has gone needs no answer; what Base answered, or failed to, is the outcome.
func TestModeDegradeWithoutFallback(t *testing.T) {
	for name, test := range map[string]struct {
		gone   bool
		answer func(*http.Request) (*http.Response, error)
		want   string
	}{
		"canceled": {true, lab.Status(200, ""), "<nil> throttle: a.example: not sent: canceled, since the context has already ended: context canceled"},
		"failed":   {false, lab.Status(503, ""), "503 <nil>"},
		"broken":   {false, lab.Fails(lab.ErrBroken), "<nil> connection broken"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{
					Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){test.answer}}, Mode: pacer.ModeDegrade, Retry: pacer.Retry{MaxAttempts: -1},
					Fallback: func(*http.Request, *throttle.Error) (*http.Response, error) {
						t.Error("Fallback was used")
						return nil, lab.ErrBroken
					},
				}
				b := lab.NewBody("data")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.gone {
					cancel()
				}
				req := lab.Request(t, "POST", "http://a.example/", "").WithContext(ctx)
				req.Body = b
				resp, err := tr.RoundTrip(req)
				got := fmt.Sprintf("<nil> %v", err)
				if resp != nil {
					got = fmt.Sprintf("%d %v", resp.StatusCode, err)
				}
				if got != test.want || !b.Closed() {
					t.Errorf("got %s, want %s; body closed: %v", got, test.want, b.Closed())
				}
			})
		})
	}
}

func TestModeObserveDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		var got []string
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeObserve, Quotas: lab.All(quota.Quota{N: 2, Burst: 1}), Learn: pacer.Learn{IdleAfter: -1}, Trace: &pacer.Trace{
			Queued: func(q pacer.Queued) { got = append(got, fmt.Sprintf("%s %s %v", q.Bucket, q.Cause, q.Wait)) },
		}}
		start := time.Now()
		serial(t, tr, base, 4)
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
		time.Sleep(1500 * time.Millisecond) // what they should have waited
		serial(t, tr, base, 2)
		want := []string{"a.example pace 500ms", "a.example pace 1s", "a.example pace 1.5s", "a.example pace 500ms", "a.example pace 1s"}
		if !slices.Equal(got, want) {
			t.Errorf("Queued was told %q, want %q", got, want)
		}
	})
}

// What would have waited for longer than it may is told as not sent. It goes and counts all the same.
func TestModeObserveTellsWhatMayNotWait(t *testing.T) {
	for name, c := range map[string]struct {
		maxWait  time.Duration
		maxQueue int
		want     []string
	}{
		"just long enough": {time.Second, 0, []string{"waits 500ms", "waits 1s", "not sent, 1.5s is longer than it may wait"}},
		"too short":        {time.Second - 1, 0, []string{"waits 500ms", "not sent, 1s is longer than it may wait", "not sent, 1.5s is longer than it may wait"}},
		"no bound":         {pacer.Forever, 0, []string{"waits 500ms", "waits 1s", "waits 1.5s"}},
		"no wait":          {-1, 0, []string{"not sent, 500ms and must not wait", "not sent, 1s and must not wait", "not sent, 1.5s and must not wait"}},
		"no line":          {0, -1, []string{"not sent, 500ms and must not wait", "not sent, 1s and must not wait", "not sent, 1.5s and must not wait"}},
		"any line":         {0, 1, []string{"waits 500ms", "waits 1s", "waits 1.5s"}},
	} {
		for _, ofCall := range []bool{false, true} {
			if ofCall && c.maxWait == 0 {
				continue // a Call has no MaxQueue
			}
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					sent++
					return lab.Answer(req, 200, ""), nil
				})
				var got []string
				tr := &pacer.Transport{Base: base, Mode: pacer.ModeObserve, Quotas: lab.All(quota.Quota{N: 2, Burst: 1}), Trace: &pacer.Trace{
					Queued: func(q pacer.Queued) { got = append(got, fmt.Sprint("waits ", q.Wait)) },
					NotSent: func(n pacer.NotSent) {
						var refused *throttle.Error
						switch errors.As(n.Err, &refused); {
						case errors.Is(refused, throttle.ErrMaxWait):
							got = append(got, fmt.Sprintf("not sent, %v is longer than it may wait", refused.Wait))
						case errors.Is(refused, throttle.ErrWouldWait):
							got = append(got, fmt.Sprintf("not sent, %v and must not wait", refused.Wait))
						default:
							t.Error(n.Err)
						}
					},
				}}
				tr.Line.MaxQueue = c.maxQueue
				ctx := t.Context()
				if ofCall {
					ctx = pacer.WithCall(ctx, &pacer.Call{MaxWait: c.maxWait})
				} else {
					tr.MaxWait = c.maxWait
				}
				for range 4 {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				if !slices.Equal(got, c.want) || sent != 4 || tr.Stats().NotSent != 0 {
					t.Errorf("%s, of the Call: %v: told %q, want %q; sent %d, Stats %+v", name, ofCall, got, c.want, sent, tr.Stats())
				}
			})
		}
	}
}

func TestModeObserveRetriesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){
			lab.Status(503, ""), lab.Fails(lab.ErrBroken), lab.Status(429, "", "Retry-After", "20"), lab.Status(200, ""),
		}}
		var got []string
		tr := &pacer.Transport{Base: base, Mode: pacer.ModeObserve, Rand: lab.Zero, Trace: &pacer.Trace{
			Queued:   func(q pacer.Queued) { got = append(got, fmt.Sprintf("%s %v", q.Cause, q.Wait)) },
			Retrying: func(r pacer.Retrying) { t.Errorf("retrying %+v", r) },
		}}
		start := time.Now()
		for i, want := range []string{"503 <nil>", "0 connection broken", "429 <nil>", "200 <nil>"} {
			code := 0
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			if err == nil {
				code = resp.StatusCode
			}
			if out := fmt.Sprintf("%d %v", code, err); out != want || len(base.Got) != i+1 {
				t.Errorf("%d: got %s after %d attempts, want %s", i, out, len(base.Got), want)
			}
		}
		if want := []string{"hold 20s"}; !slices.Equal(got, want) || time.Since(start) != 0 {
			t.Errorf("Queued was told %q after %v, want %q", got, time.Since(start), want)
		}
	})
}

func TestKeySplitsQuotasAndHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") == "greedy" && r.URL.Path == "/once" {
				return lab.Answer(r, 429, "", "Retry-After", "30"), nil
			}
			return lab.Answer(r, 200, ""), nil
		})
		tr := &pacer.Transport{
			Base: base, Rand: lab.Zero, Mode: pacer.ModeReject, Quotas: lab.All(quota.Quota{N: 1, Per: time.Second, Kind: quota.TokenBucket}),
			Key: func(r *http.Request) string { return r.Header.Get("Authorization") },
		}
		do := func(who, path string) error {
			req := lab.Request(t, "GET", "http://a.example"+path, "")
			req.Header.Set("Authorization", who)
			_, err := tr.RoundTrip(req)
			return err
		}
		for _, who := range []string{"greedy", "modest"} {
			if err := do(who, "/once"); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		}
		time.Sleep(time.Second)
		var local *throttle.Error
		if err := do("greedy", "/"); !errors.As(err, &local) || local.Bucket != "a.example for "+pacer.KeyDigest("greedy") || local.Cause != throttle.CauseHold || local.Wait != 29*time.Second {
			t.Errorf("greedy: %v", err)
		}
		if err := do("modest", "/"); err != nil {
			t.Errorf("modest: %v", err)
		}
		if err := do("modest", "/"); !errors.As(err, &local) || local.Bucket != "a.example for "+pacer.KeyDigest("modest") || local.Cause != throttle.CausePace || local.Wait != time.Second {
			t.Errorf("modest: %v", err)
		}
	})
}

func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cost := 0
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Quotas: lab.All(quota.Quota{N: 10, Burst: 20}), Cost: func(*http.Request) quota.Costs { return quota.Costs{quota.Requests: int64(cost)} }}
		var got []time.Duration
		start := time.Now()
		for _, cost = range []int{20, 10, 5, 1, 0, -7} {
			serial(t, tr, base, 1)
			got = append(got, time.Since(start))
		}
		// 10 more are there after 1s, 5 more after 1.5s; less than 1 is 1.
		wantAt := []time.Duration{0, time.Second, 1500 * time.Millisecond, 1600 * time.Millisecond, 1700 * time.Millisecond, 1800 * time.Millisecond}
		if !slices.Equal(got, wantAt) {
			t.Errorf("went at %v, want %v", got, wantAt)
		}
		cost = 21
		_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
		if want := `throttle: a.example: not sent: cost above what the quota ever grants at once: pace "10/s burst 20", cost 21; it grants at most 20 at once: claim less, or write "10/s burst 21" or "10/s burst 20 debt"`; !errors.Is(err, throttle.ErrTooLarge) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// inLine asks for n requests at the same time, and returns when each came back, and the
// errors of those that were refused, in order of arrival.
func inLine(t *testing.T, tr *pacer.Transport, n int) (went []time.Duration, errs []error) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				went = append(went, time.Since(start))
				return
			}
			if time.Since(start) != 0 {
				t.Errorf("refused after %v: %v", time.Since(start), err)
			}
			errs = append(errs, err)
		})
		synctest.Wait()
	}
	wg.Wait()
	return went, errs
}

func TestBoundsOfALine(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name     string
		tr       *pacer.Transport
		went     []time.Duration
		cause    error
		text     string // of the first error
		refusals int
	}{
		{
			"MaxWait of two minutes", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket}), MaxWait: 2 * time.Minute},
			[]time.Duration{0, 60 * s, 120 * s},
			throttle.ErrMaxWait,
			`throttle: a.example: not sent: wait over MaxWait (2m0s): pace "1/m even", could go in 3m0s`, 2,
		},
		{
			"a line that moves is waited for", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Per: 2 * time.Minute, Kind: quota.TokenBucket})},
			[]time.Duration{0, 120 * s, 240 * s, 360 * s, 480 * s},
			nil, "", 0,
		},
		{
			"a standstill of two minutes by default", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Per: 2*time.Minute + 1, Kind: quota.TokenBucket})},
			[]time.Duration{0},
			throttle.ErrStandstill,
			`throttle: a.example: not sent: nothing can go within MaxStandstill (2m0s): pace "1/2m0.000000001s even", could go in 2m0s`, 4,
		},
		{
			"no standstill", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 10, Burst: 2}), MaxStandstill: -1},
			[]time.Duration{0, 0},
			throttle.ErrStandstill,
			`throttle: a.example: not sent: nothing can go within MaxStandstill (0s): pace "10/s burst 2", could go in 100ms`, 3,
		},
		{
			"no bound of a standstill", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Per: time.Hour, Kind: quota.TokenBucket}), MaxStandstill: pacer.Forever},
			[]time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour},
			nil, "", 0,
		},
		{
			"no bound of a wait, nor of a standstill", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Per: time.Hour, Kind: quota.TokenBucket}), MaxWait: pacer.Forever, MaxStandstill: pacer.Forever},
			[]time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour},
			nil, "", 0,
		},
		{
			"MaxWait", &pacer.Transport{Quotas: lab.All(quota.Quota{Name: "daily", N: 10, Per: 10 * time.Hour, Burst: 1}), MaxWait: 2 * time.Hour, MaxStandstill: 2 * time.Hour},
			[]time.Duration{0, time.Hour, 2 * time.Hour},
			throttle.ErrMaxWait,
			`throttle: a.example: not sent: wait over MaxWait (2h0m0s): pace "daily", could go in 3h0m0s`, 2,
		},
		{
			"MaxWait negative", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}), MaxWait: -1},
			[]time.Duration{0},
			throttle.ErrWouldWait,
			`throttle: a.example: not sent: would have to wait: pace "1/s even", could go in 1s`, 4,
		},
		{
			"MaxQueue", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}), Line: pacer.Line{MaxQueue: 3}},
			[]time.Duration{0, s, 2 * s, 3 * s},
			throttle.ErrQueueFull,
			`throttle: a.example: not sent: queue is full (3): pace "1/s even", could go in 4s`, 1,
		},
		{
			"MaxQueue negative", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 1, Kind: quota.TokenBucket}), Line: pacer.Line{MaxQueue: -1}},
			[]time.Duration{0},
			throttle.ErrWouldWait,
			`throttle: a.example: not sent: would have to wait: pace "1/s even", could go in 1s`, 4,
		},
		{
			"the tighter of two quotas", &pacer.Transport{Quotas: lab.All(quota.Quota{N: 5, Burst: 5}, quota.Quota{N: 3, Per: time.Hour, Burst: 3}), MaxWait: time.Minute},
			[]time.Duration{0, 0, 0},
			throttle.ErrMaxWait,
			`throttle: a.example: not sent: wait over MaxWait (1m0s): pace "3/h burst 3", could go in 20m0s`, 2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.tr.Base = lab.OK()
				went, errs := inLine(t, test.tr, 5)
				if !slices.Equal(went, test.went) || len(errs) != test.refusals {
					t.Fatalf("went at %v, %d refused; want %v and %d", went, len(errs), test.went, test.refusals)
				}
				if len(errs) == 0 {
					return
				}
				if err := errs[0]; !errors.Is(err, test.cause) || err.Error() != test.text {
					t.Errorf("got\n\t%v, want\n\t%s", err, test.text)
				}
			})
		})
	}
}

// What a request waits for, and what it is refused for, is told in words too where it
// is the server that set the limit.
func TestErrorNamesTheServersLimit(t *testing.T) {
	for name, want := range map[string]string{
		"":     `throttle: a.example: not sent: wait over MaxWait (1m0s): window used up "the server's limit of 60", could go in 1h0m0s`,
		"core": `throttle: a.example: not sent: wait over MaxWait (1m0s): window used up "core of 60", could go in 1h0m0s`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header := []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600"}
				if name != "" {
					header = append(header, "X-RateLimit-Resource", name)
				}
				base := &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(200, "", header...)}}
				tr := &pacer.Transport{Base: base, Rand: lab.Zero, MaxWait: time.Minute}
				serial(t, tr, base, 1)
				// The reset is an hour away, but one may look after MaxHold.
				if _, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "")); err == nil || err.Error() != want {
					t.Errorf("got\n\t%v, want\n\t%s", err, want)
				}
			})
		})
	}
}

// A quota with a WarmUp starts as slowly after idling, and after the server pushed
// back, as when it was new.
func TestWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := lab.OK()
		tr := &pacer.Transport{Base: base, Rand: lab.Zero, Quotas: lab.All(quota.Quota{N: 10, WarmUp: 2 * time.Second})}
		cold := gaps(serial(t, tr, base, 20))
		if cold[0] < 250*time.Millisecond || cold[18] != 100*time.Millisecond {
			t.Errorf("gaps %v, want them to fall from nearly 3 times 100ms to 100ms", cold)
		}

		time.Sleep(time.Minute)
		if got := gaps(serial(t, tr, base, 20)); !slices.Equal(got, cold) {
			t.Errorf("gaps after idling %v, want %v", got, cold)
		}

		base.Answers = []func(*http.Request) (*http.Response, error){lab.Status(429, ""), lab.Status(200, "")}
		got := gaps(serial(t, tr, base, 19))[1:]
		if got[0] < 250*time.Millisecond || !slices.IsSortedFunc(got, func(a, b time.Duration) int { return int(b - a) }) {
			t.Errorf("gaps after a refusal %v, want %v", got, cold)
		}
	})
}

// An answer of Fallback belongs to the request, whether Fallback says so or not.
func TestModeDegradeAnswersTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &pacer.Transport{
			Base: lab.OK(), Mode: pacer.ModeDegrade, Quotas: lab.All(quota.Quota{N: 1, Per: time.Minute, Kind: quota.TokenBucket}),
			Fallback: func(r *http.Request, _ *throttle.Error) (*http.Response, error) {
				resp := &http.Response{StatusCode: http.StatusNonAuthoritativeInfo}
				if r.Body != nil {
					resp.Request = r // not the caller's: its body is watched
				}
				return resp, nil
			},
		}
		for _, text := range []string{"", "", "data"} {
			req := lab.Request(t, "PUT", "http://a.example/", text)
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.Request != req || resp.Body == nil {
				t.Fatalf("got %+v, %v", resp, err)
			}
			resp.Body.Close()
		}
	})
}

// A function of the caller that panics loses no slot.
func TestPanicOfTheCallersFunctions(t *testing.T) {
	for name, set := range map[string]func(*pacer.Transport, func()){
		"Spent": func(tr *pacer.Transport, boom func()) {
			tr.Spent = func(*http.Response) quota.Costs { boom(); return nil }
		},
		"Bodies": func(tr *pacer.Transport, boom func()) {
			tr.Learn.Bodies = func(*http.Response) bool { boom(); return false }
		},
		"CheckRetry": func(tr *pacer.Transport, boom func()) {
			tr.Retry.CheckRetry = func(context.Context, *http.Response, error) (bool, error) { boom(); return false, nil }
		},
		"Learned": func(tr *pacer.Transport, boom func()) {
			tr.Trace = &pacer.Trace{Learned: func(pacer.Learned) { boom() }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &pacer.Transport{
					Base: lab.RoundTripper(lab.Status(500, "text", "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "1")),
					Mode: pacer.ModeReject, Quotas: lab.All(lab.InFlight(1)),
				}
				panics := true
				set(tr, func() {
					if panics {
						panic("oops")
					}
				})
				func() {
					defer func() { recover() }()
					tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
					t.Error("no panic")
				}()
				panics = false
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				lab.Read(t, resp)
				if s := lab.State(t, tr, "a.example"); s.InFlight != 0 || !lab.Free(t, tr, "a.example") {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestObserveTellsOfWhatOnlyAnAnswerEnds: nobody knows for how long a request would have waited for another
// one, and it would have waited all the same.
func TestObserveTellsOfWhatOnlyAnAnswerEnds(t *testing.T) {
	for _, text := range []string{"1/10s", "1 in flight", "1 unanswered"} {
		synctest.Test(t, func(t *testing.T) {
			base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return lab.Answer(req, 200, ""), nil
			})
			var mu sync.Mutex
			var told []throttle.Cause
			tr := &pacer.Transport{Base: base, Mode: pacer.ModeObserve, Quotas: pacer.Table{"/": quota.MustParse(text)}, Trace: &pacer.Trace{
				Queued: func(q pacer.Queued) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, q.Cause)
				},
			}}
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() { lab.Get(t, &http.Client{Transport: tr}, "http://a.example/") })
				time.Sleep(10 * time.Millisecond)
			}
			wait.Wait()
			if len(told) != 2 {
				t.Errorf("%s: told of %v, want of two", text, told)
			}
		})
	}
}

// TestWhoMustNotWaitGoesByQuotas: at a new host, and after idling, as many go as the quotas say, or as come,
// and do not fail for want of an answer to the first. Where the server has refused, or what a request costs is
// not known, one goes, and of those that may wait.
func TestWhoMustNotWaitGoesByQuotas(t *testing.T) {
	for _, test := range []struct {
		name, quotas string
		set          func(*pacer.Transport)
		refused      bool // before
		want, later  int  // of four that come at once, and when it has idled; as at first, unless set
	}{
		{name: "enough", quotas: "5/s", want: 4},
		{name: "less", quotas: "3/s", want: 3},
		{name: "in flight", quotas: "2 in flight", want: 2},
		{name: "of the pattern alone", quotas: "", set: func(tr *pacer.Transport) { tr.Quotas["GET a.example/b"] = quota.MustParse("5/s") }, want: 4},
		{name: "none", quotas: "", want: 4},
		{name: "in another unit", quotas: "1000 tokens/m", set: func(tr *pacer.Transport) { tr.Cost = lab.NoCost }, want: 1, later: 2},
		{name: "after a refusal", quotas: "5/s", refused: true, want: 1, later: 4},
		{name: "which may wait", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode = pacer.ModeWait }, want: 1},
		{name: "for long", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode, tr.MaxWait = pacer.ModeWait, 5*time.Second }, want: 1},
		{name: "not for long", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode, tr.MaxWait = pacer.ModeWait, 5*time.Second-1 }, want: 1},
		{name: "in a short line", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode, tr.Line.MaxQueue = pacer.ModeWait, 2 }, want: 1},
		{name: "MaxWait", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode, tr.MaxWait = pacer.ModeWait, -1 }, want: 4},
		{name: "MaxQueue", quotas: "5/s", set: func(tr *pacer.Transport) { tr.Mode, tr.Line.MaxQueue = pacer.ModeWait, -1 }, want: 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int32
				tr := &pacer.Transport{Rand: lab.Zero, Mode: pacer.ModeReject, Quotas: pacer.Table{"a.example/": quota.MustParse(test.quotas)}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					if sent.Add(1); test.refused {
						return lab.Answer(req, http.StatusTooManyRequests, ""), nil
					}
					time.Sleep(200 * time.Millisecond)
					return lab.Answer(req, http.StatusOK, ""), nil
				})}
				if test.set != nil {
					test.set(tr)
				}
				get := func() {
					resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/b", ""))
					if err == nil {
						resp.Body.Close()
					} else if test.name == "after a refusal" && err.Error() != "throttle: a.example: not sent: would have to wait: slow start, until an answer comes" {
						t.Error(err)
					}
				}
				if test.refused {
					get()
					time.Sleep(2 * time.Minute) // the hold is over, and the bucket has idled
					test.refused = false
				}
				for _, want := range []int{test.want, cmp.Or(test.later, test.want)} {
					var wait sync.WaitGroup
					sent.Store(0)
					for range 4 {
						wait.Go(get)
					}
					if synctest.Wait(); int(sent.Load()) != want {
						t.Errorf("%d went at once, want %d", sent.Load(), want)
					}
					wait.Wait()
					time.Sleep(time.Hour) // idle
				}
			})
		})
	}
}

// TestMaxQueueAndOthersNotSeenYet: of 50 that come at once to a new host, as many go as its first answer
// leaves, MaxQueue wait for the reset, and the rest fails: not sooner than what is kept back for others has
// gone.
func TestMaxQueueAndOthersNotSeenYet(t *testing.T) {
	for _, test := range []struct {
		limit, left int
		late        int           // of the 50, so many come after the first answer
		slow        time.Duration // how long all answers take but the first
		want        string
	}{
		{30, 10, 0, 80 * time.Millisecond, "10 at once, 10 at the reset, 30 fail after 320ms"},
		{30, 30, 0, 80 * time.Millisecond, "30 at once, 10 at the reset, 10 fail after 320ms"},
		{10, 10, 0, 80 * time.Millisecond, "10 at once, 10 at the reset, 30 fail after 80ms"},
		{30, 10, 45, 80 * time.Millisecond, "10 at once, 10 at the reset, 30 fail after 320ms"},
		{30, 10, 0, 5 * time.Second, "10 at once, 10 at the reset, 30 fail after 400ms"},
		{30, 3, 0, 5 * time.Second, "3 at once, 10 at the reset, 37 fail after 400ms"},
		{30, 2, 0, 5 * time.Second, "2 at once, 10 at the reset, 38 fail after 80ms"}, // all that remains is under way
		{30, 1, 0, 5 * time.Second, "1 at once, 10 at the reset, 39 fail after 80ms"}, // nothing remains
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // protects what follows
			sent, left, reset := 0, test.left, 20*time.Second
			start := time.Now()
			tr := &pacer.Transport{Rand: lab.Zero, Line: pacer.Line{MaxQueue: 10}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				sent++
				if time.Since(start) >= reset {
					left, reset = test.limit, time.Hour
				}
				left--
				in := (reset - time.Since(start) + time.Second - 1) / time.Second
				headers := []string{"X-RateLimit-Limit", fmt.Sprint(test.limit), "X-RateLimit-Remaining", fmt.Sprint(left), "X-RateLimit-Reset", fmt.Sprint(int(in))}
				takes := 80*time.Millisecond + time.Duration(sent-1)*time.Microsecond // one answer after the other
				if sent > 1 {
					takes += test.slow - 80*time.Millisecond
				}
				mu.Unlock()
				time.Sleep(takes)
				return lab.Answer(req, http.StatusOK, "", headers...), nil
			})}
			early, atReset, failed := 0, 0, 0
			var failedAt time.Duration
			get := func() {
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, throttle.ErrQueueFull):
					failed, failedAt = failed+1, time.Since(start)
				case err != nil:
					t.Error(err)
				default:
					resp.Body.Close()
					if time.Since(start) < 20*time.Second {
						early++
					} else {
						atReset++
					}
				}
			}
			var wait sync.WaitGroup
			for i := range 50 {
				if i == 50-test.late {
					time.Sleep(100 * time.Millisecond)
				}
				wait.Go(get)
				synctest.Wait()
			}
			wait.Wait()
			if got := fmt.Sprintf("%d at once, %d at the reset, %d fail after %v", early, atReset, failed, failedAt.Round(time.Millisecond)); got != test.want {
				t.Errorf("%d of %d left: %s, want %s", test.left, test.limit, got, test.want)
			}
		})
	}
}

// TestNobodyWithAQuotaFailsForASlowStart: of 50 that come at once to a new host with a quota, all are sent,
// whatever bounds their waits.
func TestNobodyWithAQuotaFailsForASlowStart(t *testing.T) {
	for _, test := range []struct {
		name string
		tr   *pacer.Transport
		mode pacer.Mode // of all but the first
		want int32
	}{
		{"MaxQueue", &pacer.Transport{Line: pacer.Line{MaxQueue: 10}}, pacer.ModeWait, 50},
		{"MaxWait", &pacer.Transport{MaxWait: 50 * time.Millisecond}, pacer.ModeWait, 50},
		{"a longer MaxWait", &pacer.Transport{MaxWait: time.Second}, pacer.ModeWait, 50},
		{"a long MaxWait", &pacer.Transport{MaxWait: time.Minute}, pacer.ModeWait, 50},
		{"behind one that may wait", &pacer.Transport{}, pacer.ModeReject, 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int32
				test.tr.Quotas = pacer.Table{"a.example/": quota.MustParse("100/s")}
				test.tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					sent.Add(1)
					time.Sleep(100 * time.Millisecond)
					return lab.Answer(req, http.StatusOK, ""), nil
				})
				var wait sync.WaitGroup
				mode := pacer.ModeWait
				for range 50 {
					req := lab.Request(t, "GET", "http://a.example/", "")
					req = req.WithContext(pacer.WithCall(req.Context(), &pacer.Call{Mode: mode}))
					wait.Go(func() {
						if resp, err := test.tr.RoundTrip(req); err == nil {
							resp.Body.Close()
						}
					})
					mode = test.mode
					synctest.Wait()
				}
				if wait.Wait(); sent.Load() != test.want {
					t.Errorf("%d were sent, want %d", sent.Load(), test.want)
				}
			})
		})
	}
}
