package pacing

import (
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
)

// late is a server whose answers take a while.
type late func() time.Duration

func (l late) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(l()):
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// overloaded has twice as many requests come in a minute as a quota of 20/s lets go, each of which bears 2 s.
// It returns how many were sent, and how many of these were answered in time.
func overloaded(t *testing.T, answers late) (sent, served int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var texts []string
		tr := &pacer.Transport{
			Base: late(func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				sent++
				return answers()
			}),
			Quotas: lab.All(quota.MustParse("20/s even")...),
		}
		client := &http.Client{Transport: tr, Timeout: 2 * time.Second}
		var wg sync.WaitGroup
		for range 60 * 40 {
			wg.Go(func() {
				resp, err := client.Get("http://a.example/")
				mu.Lock()
				defer mu.Unlock()
				var local *throttle.Error
				switch {
				case err == nil:
					_ = resp.Body.Close()
					served++
				case errors.As(err, &local):
					texts = append(texts, local.Error())
					if !errors.Is(err, throttle.ErrDeadline) || local.Cause != throttle.CausePace {
						t.Errorf("not sent: %v", err)
					}
				}
			})
			time.Sleep(25 * time.Millisecond)
		}
		wg.Wait()
		if got := texts[len(texts)-1]; !strings.Contains(got, ", less ") || !strings.Contains(got, ` for the answer): pace "20/s even"`) {
			t.Errorf("the text is %s", got)
		}
	})
	return sent, served
}

// A server that is asked for more than it allows serves what it allows, and not only requests whose callers
// have just given up: who cannot be answered in time leaves his place to those behind. Without that, each
// request is sent just before its deadline, and 19 of 20 are answered in vain.
func TestTimeoutLeavesTimeForTheAnswer(t *testing.T) {
	const ms = time.Millisecond
	if sent, served := overloaded(t, func() time.Duration { return 200 * ms }); sent != served || served < 1200 {
		t.Errorf("answers take 200ms: %d of %d that were sent were answered in time, want all, and 1200 at least", served, sent)
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // its numbers are to be the same each time
	for _, test := range []struct {
		name    string
		answers late
		share   float64 // that is answered in time, at least
	}{
		{"100 to 300 ms", func() time.Duration { return time.Duration(100+200*r.Float64()) * ms }, 0.98},
		{"200 ms, exponential", func() time.Duration { return time.Duration(200*r.ExpFloat64()) * ms }, 0.93},
		{"one of ten a minute", func() time.Duration {
			if r.IntN(10) == 0 {
				return time.Minute
			}
			return 200 * ms
		}, 0.8},
	} {
		sent, served := overloaded(t, test.answers)
		if share := float64(served) / float64(sent); share < test.share || sent < 1200 {
			t.Errorf("%s: %.3f of %d that were sent were answered in time, want %v at least", test.name, share, sent, test.share)
		}
	}
}

// What is kept for the answer, which takes 3 s here, keeps nobody back who need not wait, or who asks Acquire,
// whose context bounds the wait alone; and it is half of the time at most.
func TestTimeoutKeepsTimeForTheAnswer(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		quota    string
		wait     time.Duration
		timeouts []time.Duration
		want     string // for each: is it refused at once, and when it ends
	}{
		{"15/m even", 4 * time.Second, []time.Duration{7001 * ms, 6999 * ms}, "[false 7s true 0s]"},
		{"30/m even", 2 * time.Second, []time.Duration{4001 * ms, 3999 * ms}, "[false 4.001s true 0s]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{Base: late(func() time.Duration { return 3 * time.Second }), Quotas: lab.All(quota.MustParse(test.quota)...)}
			do := func(timeout time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
				return err
			}
			next := func() { // who comes after it has to wait
				t.Helper()
				if _, _, err := tr.Acquire(t.Context(), lab.Request(t, "GET", "http://a.example/", "")); err != nil {
					t.Fatal(err)
				}
			}
			next()
			if err := do(time.Hour); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if err := do(time.Second); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*throttle.Error)) {
				t.Errorf("a request that need not wait: %v, want that it was sent", err)
			}
			var got []string
			for _, timeout := range test.timeouts {
				time.Sleep(time.Minute)
				next()
				start := time.Now()
				err := do(timeout)
				got = append(got, fmt.Sprint(errors.Is(err, throttle.ErrDeadline), time.Since(start)))
			}
			if fmt.Sprint(got) != test.want {
				t.Errorf("%s: %v, want %v", test.quota, got, test.want)
			}
			time.Sleep(time.Minute)
			next()
			ctx, cancel := context.WithTimeout(t.Context(), test.wait+1)
			defer cancel()
			if _, _, err := tr.Acquire(ctx, lab.Request(t, "GET", "http://a.example/", "")); err != nil {
				t.Errorf("Acquire: %v", err)
			}
		})
	}
}

// timed is a Transport whose answers take a while, and who uses it.
type timed struct {
	t     *testing.T
	tr    *pacer.Transport
	takes time.Duration
}

func newTimed(t *testing.T, q string, takes time.Duration) *timed {
	t.Helper()
	w := &timed{t: t, takes: takes}
	w.tr = &pacer.Transport{Base: late(func() time.Duration { return w.takes }), Quotas: lab.All(quota.MustParse(q)...)}
	return w
}

// do sends a request, and returns how long that took.
func (w *timed) do(timeout time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	start := time.Now()
	_, err := w.tr.RoundTrip(lab.Request(w.t, "GET", "http://a.example/", "").WithContext(ctx))
	return time.Since(start), err
}

// acquire gets a grant, so that the next request has to wait.
func (w *timed) acquire() (*http.Request, func()) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	req, undo, err := w.tr.Acquire(ctx, lab.Request(w.t, "GET", "http://a.example/", ""))
	if err != nil {
		w.t.Fatal(err)
	}
	return req, undo
}

// Answers of late say how much time is kept, and not those of long ago: after a slow hour, a bucket is mostly
// used by requests that need not wait, whose answers are not timed.
func TestTimeoutKeepsNoTimeForAnswersOfLongAgo(t *testing.T) {
	const ms = time.Millisecond
	for _, quickBefore := range []int{0, 300} { // after 256 answers, those that say nothing are not heard at all
		synctest.Test(t, func(t *testing.T) {
			w := newTimed(t, "10/s even", 10*ms)
			quick := func(n int) {
				for range n {
					time.Sleep(300 * ms)
					if took, err := w.do(time.Second); err != nil || took != 10*ms {
						t.Fatalf("a request that need not wait took %v: %v", took, err)
					}
				}
			}
			quick(quickBefore)
			w.takes = 5 * time.Second
			for range 60 {
				w.acquire()
				if _, err := w.do(time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			w.acquire()
			if took, err := w.do(150 * ms); took != 0 || !errors.Is(err, throttle.ErrDeadline) {
				t.Errorf("after slow answers: %v after %v, want that half of the time is kept", err, took)
			}
			w.takes = 10 * ms
			quick(300)
			w.acquire()
			if took, err := w.do(150 * ms); err != nil || took != 110*ms {
				t.Errorf("after 300 quick answers: %v after %v, want that it is sent", err, took)
			}
		})
	}
}

// What Acquire grants may be sent much later: that is no time that its answer takes.
func TestTimeoutKeepsNoTimeForWhatAcquireHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, "1/s even", 10*time.Millisecond)
		for range 3 {
			w.acquire()
			req, _ := w.acquire()
			time.Sleep(10 * time.Second)
			if _, err := w.tr.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		w.acquire()
		if took, err := w.do(1500 * time.Millisecond); err != nil || took != 1010*time.Millisecond {
			t.Errorf("%v after %v, want that it is sent after 1s", err, took)
		}
	})
}

// A request that waits for the answer to another, of which nobody knows when it comes, fails when no more time
// is left than is kept for its own: to wait any longer is in vain.
func TestTimeoutEndsAWaitWhenTheAnswerWouldBeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, "1 in flight", time.Second)
		go w.do(time.Hour) // it has the slot for a second
		synctest.Wait()
		if took, err := w.do(time.Hour); err != nil || took != 2*time.Second {
			t.Fatalf("%v after %v, want that the second is sent after the first", err, took)
		}
		for _, freed := range []time.Duration{4*time.Second - 1, 4*time.Second + 1, time.Hour} {
			_, free := w.acquire()
			timer := time.AfterFunc(freed, free)
			took, err := w.do(5 * time.Second)
			var local *throttle.Error
			switch {
			case freed < 4*time.Second:
				if err != nil || took != 5*time.Second-1 {
					t.Errorf("freed after %v: %v after %v, want that it is sent then", freed, err, took)
				}
			case took != 4*time.Second || !errors.As(err, &local) || !errors.Is(err, throttle.ErrDeadline) || local.Cause != throttle.CauseInFlight:
				t.Errorf("freed after %v: %v after %v, want ErrDeadline after 4s", freed, err, took)
			case !strings.Contains(err.Error(), "(in 1s, less 1s for the answer)"):
				t.Errorf("the text is %v", err)
			}
			if timer.Stop() {
				free()
			}
			synctest.Wait()
			time.Sleep(time.Second)
		}
	})
}

// A request that is to be sent again, and has to wait for that, has time kept for its answer too: or its caller
// would get an error in place of the refusal that is at hand. MaxElapsed bounds when the last attempt begins,
// and not its answer.
func TestTimeoutKeepsTimeForTheAnswerToARetry(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		timeout, elapsed time.Duration
		status           int
		took             time.Duration
		reason           pacer.Reason
	}{
		{1310*ms + 1, 0, http.StatusOK, 1310 * ms, ""},
		{1310 * ms, 0, http.StatusTooManyRequests, 10 * ms, pacer.ReasonDeadline},
		{1100 * ms, 0, http.StatusTooManyRequests, 10 * ms, pacer.ReasonDeadline},
		{1310 * ms, 2 * time.Second, http.StatusTooManyRequests, 10 * ms, pacer.ReasonDeadline},
		{time.Minute, 1010 * ms, http.StatusOK, 1310 * ms, ""},
		{time.Minute, 1010*ms - 1, http.StatusTooManyRequests, 10 * ms, pacer.ReasonElapsed},
	} {
		synctest.Test(t, func(t *testing.T) {
			refuse := true
			var gaveUp pacer.Reason
			tr := &pacer.Transport{
				Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					takes, status, header := 300*ms, http.StatusOK, http.Header{}
					if refuse = !refuse; refuse {
						takes, status = 10*ms, http.StatusTooManyRequests
						header.Set("Retry-After", "1")
					}
					resp, err := late(func() time.Duration { return takes }).RoundTrip(req)
					if err == nil {
						resp.StatusCode, resp.Header = status, header
					}
					return resp, err
				}),
				Retry: pacer.Retry{MaxElapsed: test.elapsed},
				Rand:  func() float64 { return 0 },
				Trace: &pacer.Trace{GaveUp: func(e pacer.GaveUp) { gaveUp = e.Reason }},
			}
			w := timed{t: t, tr: tr}
			if took, err := w.do(time.Minute); err != nil || took != 300*ms {
				t.Fatalf("%v after %v", err, took)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			start := time.Now()
			resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx))
			if err != nil {
				t.Fatalf("%+v: %v", test, err)
			}
			defer resp.Body.Close()
			if took := time.Since(start); resp.StatusCode != test.status || took != test.took || gaveUp != test.reason {
				t.Errorf("%+v: %s after %v, given up because of %q", test, resp.Status, took, gaveUp)
			}
		})
	}
}
