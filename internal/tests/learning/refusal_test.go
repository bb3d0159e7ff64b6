package learning

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/throttle"
)

const (
	openAINoMoney = `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`
	googleRetry   = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"22s"}]}}`
	// GitHub says so without a Retry-After, too.
	githubSecondary = `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
	shopifySlow     = `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],
		"extensions":{"cost":{"requestedQueryCost":500,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":400,"restoreRate":50.0}}}}`
)

// all200 looks into every body.
func all200(*http.Response) bool { return true }

// TestWhyItWasRefused: one answer, then 200. What it says itself of the reason, in a
// header or in its body, tells whether to wait, to back off, or to give up.
func TestWhyItWasRefused(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		bodies func(*http.Response) bool
		status int
		body   string
		header []string
		sent   int           // times
		after  time.Duration // it is over
		hold   bool          // others are held for as long as MaxHold
	}{
		"OpenAI, no money":                {pacer.ErrorBodies, 429, openAINoMoney, nil, 1, 0, true},
		"OpenAI, and nobody looks":        {nil, 429, openAINoMoney, nil, 2, 100 * time.Millisecond, false},
		"Google says when in the body":    {pacer.ErrorBodies, 429, googleRetry, nil, 2, 22 * s, false},
		"GitHub's secondary limit":        {pacer.ErrorBodies, 403, githubSecondary, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999"}, 2, 60 * s, false},
		"not of a success":                {pacer.ErrorBodies, 200, shopifySlow, nil, 1, 0, false},
		"Shopify, 200":                    {all200, 200, shopifySlow, nil, 2, 2 * s, false}, // 100 points are missing
		"AWS, 400":                        {nil, 400, "{}", []string{"X-Amzn-ErrorType", "ThrottlingException"}, 2, 100 * time.Millisecond, false},
		"a 400 of another kind":           {nil, 400, "{}", []string{"X-Amzn-ErrorType", "ValidationException"}, 1, 0, false},
		"Stripe, too many at once":        {nil, 429, "{}", []string{"Stripe-Rate-Limited-Reason", "global-concurrency"}, 2, 100 * time.Millisecond, false},
		"a day's limit":                   {nil, 429, "", []string{"X-RateLimit-Limit-Day", "100", "X-RateLimit-Remaining-Day", "0", "Retry-After", "22"}, 1, 0, true},
		"a day's limit that is soon back": {nil, 429, "", []string{"X-RateLimit-Limit-Day", "100", "X-RateLimit-Remaining-Day", "0", "X-RateLimit-Reset-Day", "60"}, 2, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				tr := &pacer.Transport{Learn: pacer.Learn{Bodies: test.bodies}, Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					if sent++; sent == 1 {
						return lab.Answer(r, test.status, test.body, append([]string{"Content-Type", "application/json"}, test.header...)...), nil
					}
					return lab.Answer(r, 200, "done"), nil
				})}
				req := lab.Request(t, "GET", "http://a.example/", "")
				start := time.Now()
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				want := test.body
				if test.sent > 1 {
					want = "done"
				}
				if took := time.Since(start); sent != test.sent || took != test.after || string(text) != want {
					t.Errorf("sent %d times, over after %v with %q, want %d, %v, %q", sent, took, text, test.sent, test.after, want)
				}
				if held := lab.State(t, tr, "a.example").Held; (held == 15*time.Minute) != test.hold {
					t.Errorf("held for %v", held)
				}
			})
		})
	}
}

// slowly is a body of which a part comes every so often.
type slowly struct {
	parts  []string
	every  time.Duration
	end    error
	closed bool
}

func (b *slowly) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, b.end
	}
	time.Sleep(b.every)
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

func (b *slowly) Close() error { b.closed = true; return nil }

// TestBodyIsHandedOn: a body that was looked into is the same, byte for byte, and with the
// same end, however it comes, and RoundTrip does not wait for all of it.
func TestBodyIsHandedOn(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 10_000) // more than is looked into
	for name, test := range map[string]struct {
		body *slowly
		took time.Duration
	}{
		"short":    {&slowly{parts: []string{"{", "}"}, end: io.EOF}, 0},
		"empty":    {&slowly{end: io.EOF}, 0},
		"long":     {&slowly{parts: []string{long}, end: io.EOF}, 0},
		"broken":   {&slowly{parts: []string{`{"a":`}, end: io.ErrUnexpectedEOF}, 0},
		"trickles": {&slowly{parts: strings.Split(long[:100], ""), every: 30 * time.Millisecond, end: io.EOF}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := strings.Join(test.body.parts, "")
				tr := &pacer.Transport{Learn: pacer.Learn{Bodies: pacer.ErrorBodies}, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
					resp := lab.Answer(r, 404, "", "Content-Type", "application/json")
					resp.Body, resp.ContentLength = test.body, -1
					return resp, nil
				})}
				start := time.Now()
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("RoundTrip took %v, want %v", took, test.took)
				}
				wantErr := test.body.end
				if errors.Is(wantErr, io.EOF) {
					wantErr = nil
				}
				if got, err := io.ReadAll(resp.Body); string(got) != want || !errors.Is(err, wantErr) {
					t.Errorf("%d bytes, %v, want %d, %v", len(got), err, len(want), wantErr)
				}
				resp.Body.Close()
				if _, err := resp.Body.Read(make([]byte, 1)); !test.body.closed || err == nil {
					t.Errorf("closed: %v; read after that: %v", test.body.closed, err)
				}
			})
		})
	}
}

// Three processes share a window. What is served states its numbers, and refusals state nothing. Now and then a
// process takes the window for one that refills, since only a part of it was there after a reset. Refusals end
// that, and none reaches a caller.
func TestRefusalsThatStateNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, window, processes, callers, requests = 100, 10 * time.Second, 3, 8, 62
		var mu sync.Mutex // protects what follows
		end, used, refused := time.Now().Add(window), 0, 0
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond)
			defer time.Sleep(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			for time.Until(end) <= 0 {
				end, used = end.Add(window), 0
			}
			if used >= limit {
				refused++
				return lab.Answer(req, http.StatusTooManyRequests, ""), nil
			}
			used++
			in := (time.Until(end) + time.Second - 1) / time.Second
			return lab.Answer(req, http.StatusOK, "", "X-RateLimit-Limit", fmt.Sprint(limit), "X-RateLimit-Remaining", fmt.Sprint(limit-used), "X-RateLimit-Reset", fmt.Sprint(int(in))), nil
		})
		var all sync.WaitGroup
		for range processes {
			c := http.Client{Transport: &pacer.Transport{Base: base}}
			for range callers {
				all.Go(func() {
					for range requests {
						resp, err := c.Get("http://api.test/")
						if err != nil {
							t.Error(err)
							return
						}
						_ = resp.Body.Close()
						if resp.StatusCode != http.StatusOK {
							t.Error(resp.Status)
						}
					}
				})
			}
		}
		all.Wait()
		if share := float64(refused) / (processes * callers * requests); share > 0.1 {
			t.Errorf("%.2f of the requests refused, want 0.1", share)
		}
	})
}

// Of a server that asks for years, a request is told a week: nobody knows what is then.
func TestAWeekAtMostIsTold(t *testing.T) {
	for stated, want := range map[string]time.Duration{"99999999": 7 * 24 * time.Hour, "604800": 7 * 24 * time.Hour, "604799": 7*24*time.Hour - time.Second} {
		synctest.Test(t, func(t *testing.T) {
			tr := &pacer.Transport{Base: &lab.Script{Answers: []func(*http.Request) (*http.Response, error){lab.Status(429, "", "Retry-After", stated)}}}
			if got := lab.Get(t, &http.Client{Transport: tr}, "http://a.example/"); got != 429 {
				t.Errorf("got %d", got)
			}
			_, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
			var refused *throttle.Error
			if !errors.As(err, &refused) || refused.Wait != want || !refused.At.Equal(time.Now().Add(want)) {
				t.Errorf("Retry-After: %s: got %v, want to go in %v", stated, err, want)
			}
		})
	}
}
