package retrying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v4"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/backoff"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// The code after in docs/migrating.md is that of the examples which it names.
func TestMigratingPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../../migrating_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	after := regexp.MustCompile("After \\(`(Example\\w+)`\\):\n\n```go\n([^`]*)```").FindAllStringSubmatch(string(page), -1)
	if examples := strings.Count(string(source), "\nfunc Example"); len(after) != examples || strings.Count(string(page), "After (") != examples {
		t.Errorf("%d pieces of code after, and %d examples", len(after), examples)
	}
	for _, m := range after {
		name, code := m[1], m[2]
		_, body, _ := strings.Cut(string(source), "\nfunc "+name+"() {\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !strings.Contains(unindent(body), unindent(code)) {
			t.Errorf("%s is not\n%s", name, code)
		}
	}
}

// unindent returns text without the white space at both ends of its lines.
func unindent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// What the page says that go-retryablehttp does, and pacer does not.
func TestMigratingFromRetryablehttp(t *testing.T) {
	client := func(rt http.RoundTripper) *http.Client {
		c := retryablehttp.NewClient()
		c.Logger, c.HTTPClient, c.RetryMax = nil, &http.Client{Transport: rt}, 2
		return c.StandardClient()
	}
	ours := func(rt http.RoundTripper) *http.Client {
		return &http.Client{Transport: &pacer.Transport{Base: rt, Retry: pacer.Retry{Backoff: lab.Steady{}}}}
	}
	for name, test := range map[string]struct {
		method, header string
		answer         func(*http.Request) (*http.Response, error)
		theirs, ours   string
	}{
		"POST, 500":         {"POST", "", lab.Status(500, "why"), "3 times in 3s, no answer", "1 times in 0s, answer 500 why"},
		"POST, broken":      {"POST", "", lab.Fails(lab.ErrBroken), "3 times in 3s, no answer", "1 times in 0s, no answer"},
		"GET, 503":          {"GET", "", lab.Status(503, "why"), "3 times in 3s, no answer", "3 times in 3s, answer 503 why"},
		"GET, 408":          {"GET", "", lab.Status(408, "why"), "1 times in 0s, answer 408 why", "3 times in 3s, answer 408 why"},
		"GET, 425":          {"GET", "", lab.Status(425, "why"), "1 times in 0s, answer 425 why", "3 times in 3s, answer 425 why"},
		"GET, 413, 1 s":     {"GET", "", lab.Status(413, "why", "Retry-After", "1"), "1 times in 0s, answer 413 why", "3 times in 3s, answer 413 why"},
		"GET, 403, 1 s":     {"GET", "", lab.Status(403, "why", "Retry-After", "1000"), "1 times in 0s, answer 403 why", "1 times in 0s, answer 403 why"},
		"the deadline is 2": {"GET", "2s", lab.Status(429, "why", "Retry-After", "10"), "1 times in 2s, no answer", "1 times in 0s, answer 429 why"},
	} {
		t.Run(name, func(t *testing.T) {
			for who, c := range map[string]struct {
				client func(http.RoundTripper) *http.Client
				want   string
			}{"go-retryablehttp": {client, test.theirs}, "pacer": {ours, test.ours}} {
				synctest.Test(t, func(t *testing.T) {
					ctx := t.Context()
					if d, err := time.ParseDuration(test.header); err == nil {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, d)
						defer cancel()
					}
					base := &lab.Script{Answers: list(test.answer)}
					start := time.Now()
					resp, err := c.client(base).Do(lab.Request(t, test.method, "http://a.example/", "text").WithContext(ctx))
					got := fmt.Sprintf("%d times in %v, no answer", len(base.Got), time.Since(start))
					if err == nil {
						got = strings.Replace(got, "no answer", fmt.Sprintf("answer %d %s", resp.StatusCode, lab.Read(t, resp)), 1)
					}
					if got != c.want {
						t.Errorf("%s: %s, want %s", who, got, c.want)
					}
				})
			}
		})
	}
	t.Run("an instant in Retry-After", func(t *testing.T) {
		resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1746136938"}}}
		if got := retryablehttp.DefaultBackoff(time.Second, 30*time.Second, 0, resp); got != 1746136938*time.Second {
			t.Errorf("go-retryablehttp waits for %v", got)
		}
	})
	t.Run("CheckRetry", func(t *testing.T) {
		var asked []int
		check := func(_ context.Context, resp *http.Response, _ error) (bool, error) {
			asked = append(asked, resp.StatusCode)
			return false, nil
		}
		base := &lab.Script{Answers: list(lab.Status(200, ""), lab.Status(404, ""), lab.Status(200, ""), lab.Status(404, ""))}
		c := retryablehttp.NewClient()
		c.Logger, c.HTTPClient, c.CheckRetry = nil, &http.Client{Transport: base}, check
		for _, client := range []*http.Client{c.StandardClient(), {Transport: &pacer.Transport{Base: base, Retry: pacer.Retry{CheckRetry: check}}}} {
			for range 2 {
				resp, err := client.Do(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
		}
		if got := fmt.Sprint(asked); got != "[200 404 404]" {
			t.Errorf("asked about %v, want 200 and 404 there, and 404 here", got)
		}
	})
	t.Run("CheckRetry with an error", func(t *testing.T) { // ErrorPropagatedRetryPolicy says yes to a 503, and why
		check := retryablehttp.ErrorPropagatedRetryPolicy
		for who, over := range map[string]func(http.RoundTripper) *http.Client{
			"go-retryablehttp": func(base http.RoundTripper) *http.Client {
				c := retryablehttp.NewClient()
				c.Logger, c.HTTPClient, c.CheckRetry = nil, &http.Client{Transport: base}, check
				return c.StandardClient()
			},
			"pacer": func(base http.RoundTripper) *http.Client {
				return &http.Client{Transport: &pacer.Transport{Base: base, Retry: pacer.Retry{CheckRetry: check}}}
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				resp, err := over(&lab.Script{Answers: list(lab.Status(503, ""), lab.Status(200, ""))}).Do(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(who, err)
				}
				if resp.Body.Close(); resp.StatusCode != http.StatusOK {
					t.Errorf("%s: %d, want the 200 after a 503", who, resp.StatusCode)
				}
			})
		}
	})
	t.Run("bodies", func(t *testing.T) {
		for who, c := range map[string]struct {
			client func(http.RoundTripper) *http.Client
			want   string
		}{"go-retryablehttp": {client, "GetBody 0 times, closed 0 times"}, "pacer": {ours, "GetBody 1 times, closed 1 times"}} {
			synctest.Test(t, func(t *testing.T) {
				req := lab.Request(t, "PUT", "http://a.example/", "")
				b, n := lab.NewBody("text"), 0
				req.Body, req.GetBody = b, func() (io.ReadCloser, error) {
					n++
					return lab.NewBody("text"), nil
				}
				if _, err := c.client(&lab.Script{Answers: list(lab.Status(503, ""), lab.Status(200, ""))}).Do(req); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprintf("GetBody %d times, closed %d times", n, b.Closes); got != c.want {
					t.Errorf("%s: %s, want %s", who, got, c.want)
				}
			})
		}
	})
}

// What the page says that cenkalti/backoff does, and package backoff does not.
func TestMigratingFromCenkalti(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := func() error { return lab.ErrBroken }
		start := time.Now()
		if err := cenkalti.Retry(fail, cenkalti.NewExponentialBackOff()); !errors.Is(err, lab.ErrBroken) || time.Since(start) < 13*time.Minute+30*time.Second || time.Since(start) > 15*time.Minute {
			t.Errorf("%v after %v, want nearly 15m", err, time.Since(start))
		}
		wrapped := fmt.Errorf("while asking: %w", backoff.Permanent(lab.ErrBroken))
		if err := cenkalti.Retry(func() error { return wrapped }, cenkalti.NewExponentialBackOff()); err.Error() != "connection broken" {
			t.Errorf("theirs: %v", err)
		}
		_, err := backoff.Retry(t.Context(), func(context.Context) (int, error) { return 0, wrapped }, nil)
		if err.Error() != "while asking: connection broken" {
			t.Errorf("ours: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for who, test := range map[string]struct {
			retry func(context.Context) error
			want  time.Duration
		}{
			"theirs": {func(ctx context.Context) error {
				return cenkalti.Retry(func() error { return lab.ErrBroken }, cenkalti.WithContext(cenkalti.NewConstantBackOff(time.Hour), ctx))
			}, time.Minute},
			"ours": {func(ctx context.Context) error {
				_, err := backoff.Retry(ctx, func(context.Context) (int, error) { return 0, lab.ErrBroken }, &backoff.Options{Backoff: backoff.Constant{Interval: time.Hour, Jitter: backoff.NoJitter}})
				return err
			}, 0},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			if err := test.retry(ctx); err == nil || time.Since(start) != test.want {
				t.Errorf("%s: %v after %v, want %v", who, err, time.Since(start), test.want)
			}
			cancel()
		}
	})
	longest := time.Duration(0)
	b := cenkalti.NewExponentialBackOff(cenkalti.WithMaxInterval(time.Second), cenkalti.WithMaxElapsedTime(0))
	for range 1000 {
		longest = max(longest, b.NextBackOff())
	}
	if longest <= time.Second || longest > 1500*time.Millisecond {
		t.Errorf("the longest delay is %v, want up to 1.5 times MaxInterval", longest)
	}
}

// What the page says that x/time/rate does, and package throttle does not.
func TestMigratingFromRate(t *testing.T) {
	// waits takes the only token, has 10 wait and give up, and returns how long the next one waits.
	waits := func(t *testing.T, wait func(context.Context) error) time.Duration {
		t.Helper()
		if err := wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var cancels []context.CancelFunc
		for range 10 { // one after the other: if the last one gave up first, theirs would leave less behind
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			go wait(ctx)
			synctest.Wait()
		}
		for _, cancel := range cancels {
			cancel()
			synctest.Wait()
		}
		start := time.Now()
		if err := wait(t.Context()); err != nil {
			t.Error(err)
		}
		return time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		if took := waits(t, rate.NewLimiter(1, 1).Wait); took <= time.Second {
			t.Errorf("theirs: %v, want what the canceled have left behind", took)
		}
		ours := &throttle.Limiter{Quotas: quota.Quotas{{N: 1, Kind: quota.TokenBucket}}}
		if took := waits(t, func(ctx context.Context) error { return ours.Wait(ctx, 1) }); took != time.Second {
			t.Errorf("ours: %v, want 1s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := rate.NewLimiter(rate.Every(time.Minute), 1), &throttle.Limiter{Quotas: quota.Quotas{{N: 1, Per: time.Minute, Kind: quota.TokenBucket}}}
		for who, test := range map[string]struct {
			wait func(context.Context) error
			set  func()
			want time.Duration
		}{
			"theirs": {theirs.Wait, func() { theirs.SetLimit(rate.Every(2 * time.Second)) }, time.Minute},
			"ours": {
				func(ctx context.Context) error { return ours.Wait(ctx, 1) },
				func() { ours.SetQuotas(quota.Quotas{{N: 1, Per: 2 * time.Second, Kind: quota.TokenBucket}}) },
				time.Second + 1966666667, // a sixtieth was there by then, and the rest comes in 2 s · 59/60
			},
		} {
			test.wait(t.Context())
			time.AfterFunc(time.Second, test.set)
			start := time.Now()
			if err := test.wait(t.Context()); err != nil || time.Since(start) != test.want {
				t.Errorf("%s: %v after %v, want %v", who, err, time.Since(start), test.want)
			}
		}
	})
}
