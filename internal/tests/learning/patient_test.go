package learning

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// strict is a server that allows n requests in each window, which begins with the first request in it, and
// always refuses those with a header "Poison".
type strict struct {
	n      int
	per    time.Duration
	states func(left int, reset time.Duration) []string // headers of its answers; nil if it says nothing

	mu      sync.Mutex
	begun   time.Time
	used    int
	refused int            // good requests
	poison  map[string]int // how often each poison request was sent, by its query
}

func (s *strict) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.begun) >= s.per {
		s.begun, s.used = now, 0
	}
	status := http.StatusOK
	switch {
	case req.Header.Get("Poison") != "":
		status = http.StatusTooManyRequests
		s.poison[req.URL.RawQuery]++
	case s.used == s.n:
		status = http.StatusTooManyRequests
		s.refused++
	default:
		s.used++
	}
	var header []string
	if s.states != nil {
		header = s.states(s.n-s.used, time.Until(s.begun.Add(s.per)))
	}
	return lab.Answer(req, status, "", header...), nil
}

// inTurn has callers make requests, each one after the other, until so many were made, and returns how many got
// an answer with each status.
func inTurn(t *testing.T, client *http.Client, callers, requests int) map[int]int {
	t.Helper()
	got := map[int]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			for n := i; n < requests; n += callers {
				resp, err := client.Do(lab.Request(t, "GET", "http://a.example/good", ""))
				if err != nil {
					t.Error(err)
					continue
				}
				resp.Body.Close()
				mu.Lock()
				got[resp.StatusCode]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return got
}

// A limit of which the server says nothing, and which is back after no longer than MaxStandstill, is outlasted:
// no refusal reaches a caller. A request beside it that is always refused is sent as often as MaxRefusals says.
func TestNoRefusalOfASilentWindowReachesACaller(t *testing.T) {
	for _, per := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute} {
		for _, callers := range []int{1, 8} {
			for _, poisons := range []int{0, 5} {
				if poisons > 0 && per > 30*time.Second {
					continue // what others wait for may be over MaxStandstill then
				}
				t.Run(fmt.Sprint(per, callers, poisons), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &strict{n: 20, per: per, poison: map[string]int{}}
						client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: s}}
						var wait sync.WaitGroup
						for i := range poisons {
							wait.Go(func() {
								time.Sleep(time.Duration(i) * per / 2)
								req := lab.Request(t, "GET", fmt.Sprint("http://a.example/poison?", i), "")
								req.Header.Set("Poison", "1")
								if resp, err := client.Do(req); err != nil || resp.StatusCode != http.StatusTooManyRequests {
									t.Errorf("the poison request got %v, %v", resp, err)
								}
							})
						}
						if got := inTurn(t, client, callers, 100); got[200] != 100 {
							t.Errorf("got %v, want 100 times 200; %d were refused", got, s.refused)
						}
						wait.Wait()
						for uri, sent := range s.poison {
							if sent != 11 {
								t.Errorf("poison request %s was sent %d times, want 11", uri, sent)
							}
						}
					})
				})
			}
		}
	}
}

// A batch that waits for tomorrow loses no request, although one of them looks after each MaxHold and is
// refused.
func TestNoRefusalReachesABatchThatWaitsForADay(t *testing.T) {
	seconds := func(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }
	for name, states := range map[string]func(left int, reset time.Duration) []string{
		"a reset": func(left int, reset time.Duration) []string {
			return []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", seconds(reset)}
		},
		"a hint": func(left int, reset time.Duration) []string {
			if left > 0 {
				return nil
			}
			return []string{"Retry-After", seconds(reset)}
		},
	} {
		for _, callers := range []int{1, 20} {
			t.Run(fmt.Sprint(name, callers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &strict{n: 10, per: 24 * time.Hour, states: states}
					client := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: s, MaxStandstill: pacer.Forever}}
					if got := inTurn(t, client, callers, 20); got[200] != 20 {
						t.Errorf("got %v, want 20 times 200; %d were refused", got, s.refused)
					}
				})
			})
		}
	}
}

// A server that refuses all is given up after MaxStandstill, but not before MaxRefusals; and after these alone,
// if they are set.
func TestAServerThatRefusesAllIsGivenUp(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		set    func(t *pacer.Transport)
		header []string
		sent   int
		within time.Duration
	}{
		"nothing set":           {sent: 12, within: 204700 * ms}, // the hold after the eleventh ends later than MaxStandstill
		"a second":              {header: []string{"Retry-After", "1"}, sent: 14, within: 136886718750},
		"a minute":              {header: []string{"Retry-After", "60"}, sent: 11, within: 10 * time.Minute}, // as often as MaxRefusals says in any case
		"nothing remains":       {header: []string{"X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1"}, sent: 31, within: 122999999888},
		"MaxRefusals 10":        {set: func(t *pacer.Transport) { t.Retry.MaxRefusals = 10 }, sent: 11, within: 102300 * ms},
		"MaxStandstill -1":      {set: func(t *pacer.Transport) { t.MaxStandstill = -1 }, sent: 1},
		"MaxStandstill an hour": {set: func(t *pacer.Transport) { t.MaxStandstill = time.Hour }, sent: 18, within: 4338300 * ms},
		"MaxHold 10 ms":         {set: func(t *pacer.Transport) { t.Learn.MaxHold = 10 * ms }, sent: 11, within: 100 * ms}, // no more than one each second goes on
		"MaxHold a second":      {set: func(t *pacer.Transport) { t.Learn.MaxHold = time.Second }, sent: 124, within: 120500 * ms},
		"MaxElapsed":            {set: func(t *pacer.Transport) { t.Retry.MaxElapsed = time.Minute }, sent: 10, within: 51100 * ms},
		"MaxWait":               {set: func(t *pacer.Transport) { t.MaxWait = time.Minute }, sent: 10, within: 51100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, start := 0, time.Now()
				tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					sent++
					return lab.Answer(req, http.StatusTooManyRequests, "", test.header...), nil
				})}
				if test.set != nil {
					test.set(tr)
				}
				resp, err := tr.RoundTrip(lab.Request(t, "GET", "http://a.example/", ""))
				if err != nil || resp.StatusCode != http.StatusTooManyRequests || sent != test.sent || time.Since(start) != test.within {
					t.Errorf("got %v, %v after %d times, %v; want it %d times, %v", resp != nil, err, sent, time.Since(start), test.sent, test.within)
				}
			})
		})
	}
}
