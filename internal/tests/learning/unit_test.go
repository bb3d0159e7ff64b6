package learning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// llm is an API that counts requests and tokens a minute and says so. What a request costs in tokens, only the
// server knows.
type llm struct {
	window bool // it counts in a window of a minute, and not in buckets that refill
	hint   bool // refusals say when to come back

	mu               sync.Mutex
	requests, tokens float64 // that are left
	at               time.Time
	served, refused  int
	spent            float64
	last             time.Time
}

const (
	llmRequests = 500.0 // a minute
	llmTokens   = 30_000.0
)

// serve charges a request that costs so many tokens.
func (s *llm) serve(req *http.Request, cost float64) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case !s.window:
		passed := now.Sub(s.at).Minutes()
		s.at = now
		s.requests, s.tokens = min(s.requests+passed*llmRequests, llmRequests), min(s.tokens+passed*llmTokens, llmTokens)
	case now.Sub(s.at) >= time.Minute:
		s.at, s.requests, s.tokens = now, llmRequests, llmTokens
	}
	status, header := http.StatusOK, []string(nil)
	if s.requests >= 1 && s.tokens >= cost {
		s.requests--
		s.tokens -= cost
		s.spent += cost
		s.served++
		s.last = now
	} else {
		status = http.StatusTooManyRequests
		s.refused++
		if s.hint {
			header = append(header, "Retry-After-Ms", strconv.Itoa(int(math.Ceil(60_000*max((1-s.requests)/llmRequests, (cost-s.tokens)/llmTokens)))))
		}
	}
	full := func(missing, perMinute float64) string {
		d := time.Duration(missing / perMinute * float64(time.Minute))
		if s.window {
			d = s.at.Add(time.Minute).Sub(now)
		}
		return fmt.Sprint(d.Round(time.Millisecond))
	}
	header = append(header,
		"X-Ratelimit-Limit-Requests", "500", "X-Ratelimit-Remaining-Requests", strconv.Itoa(int(s.requests)), "X-Ratelimit-Reset-Requests", full(llmRequests-s.requests, llmRequests),
		"X-Ratelimit-Limit-Tokens", "30000", "X-Ratelimit-Remaining-Tokens", strconv.Itoa(int(s.tokens)), "X-Ratelimit-Reset-Tokens", full(llmTokens-s.tokens, llmTokens))
	return lab.Answer(req, status, "", header...)
}

// Nobody says what requests cost in tokens: from 40 to 400, and with two kinds, a twentieth of that for every
// second one. Told nothing, at most 2 of 100 are refused, and hardly any time is lost. Of 200 callers of a
// limit that comes back bit by bit, more may be under way than remains allows before much is known: one of
// twenty runs has 2 to 7 refused of 100, the others hardly any.
func TestTokensAreLearnedFromWhatRemains(t *testing.T) {
	for _, test := range []struct {
		callers, requests, kinds int
		window, hint             bool
		others                   int // requests a second of other clients
	}{
		{8, 800, 1, false, false, 0},
		{64, 800, 1, false, false, 0},
		{64, 800, 1, false, true, 0},
		{200, 800, 1, false, false, 0},
		{16, 800, 2, false, false, 0},
		{64, 800, 2, false, true, 0},
		{8, 800, 1, true, false, 0},
		{64, 800, 1, true, false, 0},
		{200, 800, 2, true, false, 0},
		{16, 800, 1, false, false, 1},
		{16, 800, 1, true, false, 1},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &llm{requests: llmRequests, tokens: llmTokens, at: time.Now(), window: test.window, hint: test.hint}
				random := rand.New(rand.NewPCG(1, 2))
				costs := make([]float64, test.requests)
				for i := range costs {
					costs[i] = math.Round(40 * math.Pow(10, random.Float64()))
					if i%2 < test.kinds-1 {
						costs[i] = math.Round(costs[i] / 20)
					}
				}
				base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					i, err := strconv.Atoi(req.URL.RawQuery)
					if err != nil {
						return nil, err
					}
					time.Sleep(50 * time.Millisecond)
					resp := s.serve(req, costs[i])
					time.Sleep(50*time.Millisecond + time.Duration(costs[i])*2*time.Millisecond)
					return resp, nil
				})
				done := make(chan struct{})
				others := &llm{} // counts what others got
				if test.others > 0 {
					go func() {
						for {
							select {
							case <-done:
								return
							case <-time.After(time.Second / time.Duration(test.others)):
								if s.serve(&http.Request{}, 157).StatusCode == http.StatusOK {
									others.served++
								} else {
									others.refused++
								}
							}
						}
					}()
				}
				client := &http.Client{Transport: &pacer.Transport{Base: base}}
				start := time.Now()
				next := make(chan int)
				var wait sync.WaitGroup
				for range test.callers {
					wait.Go(func() {
						for i := range next {
							if got := lab.Get(t, client, fmt.Sprintf("http://a.example/%c?%d", 'a'+i%test.kinds, i)); got != 200 {
								t.Errorf("got %d", got)
							}
						}
					})
				}
				for i := range costs {
					next <- i
				}
				close(next)
				wait.Wait()
				close(done)
				synctest.Wait()
				least := max((s.spent-llmTokens)/llmTokens, (float64(s.served)-llmRequests)/llmRequests)
				if test.window {
					least = math.Ceil(s.spent/llmTokens) - 1
				}
				refused, took := 100*float64(s.refused-others.refused)/float64(len(costs)), s.last.Sub(start).Minutes()/least
				t.Logf("%.1f refused of 100, %.3f of the least time, %.0f tokens a request, %d of others", refused, took, s.spent/float64(s.served), others.served)
				most := 2.0
				if test.callers == 200 && !test.window {
					most = 12
				}
				if refused > most || took > 1.05 {
					t.Errorf("%.1f of 100 were refused, in %.3f of the least time, want %.0f and 1.05 at most", refused, took, most)
				}
			})
		})
	}
}

// An API says how many requests and tokens remain, and neither of how many nor until when, as Azure's OpenAI
// does: all go as fast as they are asked for.
func TestTokensOfALimitThatIsNotStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, requests := 150_000, 900
		c := http.Client{Transport: &pacer.Transport{Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			tokens -= 150
			requests--
			return lab.Answer(req, http.StatusOK, "", "X-Ratelimit-Remaining-Tokens", strconv.Itoa(tokens), "X-Ratelimit-Remaining-Requests", strconv.Itoa(requests)), nil
		})}}
		start := time.Now()
		for range 100 {
			resp, err := c.Get("http://api.test/chat")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		if took, want := time.Since(start), 10*time.Second; took != want {
			t.Errorf("100 requests took %v, want %v", took, want)
		}
	})
}

// Two methods of one model cost 10 and 5000 tokens. With 3000 left, the cheap one goes at once.
func TestTokensOfMethods(t *testing.T) {
	for _, url := range []string{"http://a.example/models/flash/", "http://a.example/models/flash:"} {
		synctest.Test(t, func(t *testing.T) {
			left, start := 504_000, time.Now()
			c := &http.Client{Transport: &pacer.Transport{Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				time.Sleep(time.Millisecond)
				if strings.HasSuffix(req.URL.Path, "countTokens") {
					left -= 10
				} else {
					left -= 5000
				}
				return lab.Answer(req, http.StatusOK, "", "X-RateLimit-Limit-Tokens", "1000000", "X-RateLimit-Remaining-Tokens", strconv.Itoa(left), "X-RateLimit-Reset-Tokens", "100s"), nil
			})}}
			for i := range 200 {
				lab.Get(t, c, url+[]string{"countTokens", "generateContent"}[i%2])
			}
			if took := time.Since(start); left != 3000 || took != 200*time.Millisecond {
				t.Errorf("%s: 200 requests left %d tokens after %v, want 3000 after 200ms", url, left, took)
			}
			for range 20 {
				lab.Get(t, c, url+"countTokens")
			}
			if took := time.Since(start); took != 220*time.Millisecond {
				t.Errorf("%s: 20 requests of 10 tokens, of which 3000 are left, took %v, want 20ms", url, took-200*time.Millisecond)
			}
		})
	}
}
