package learning

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
)

// states are the headers of an answer: of so many at a time, so many more might have been under way when the
// request came (fewer than none if it is refused), and so many more may be when its answer goes.
type states func(limit, came, goes int) []string

// atOnce is a server that serves so many requests at a time, and states that. Requests and answers travel for
// 10 ms each.
type atOnce struct {
	limit  func(sent int) int // after so many requests
	header states
	takes  time.Duration // to serve one

	mu                  sync.Mutex
	busy, sent, refused int
}

// take answers a request; at once if it refuses it.
func (s *atOnce) take(r *http.Request) (*http.Response, error) {
	time.Sleep(10 * time.Millisecond)
	defer time.Sleep(10 * time.Millisecond)
	s.mu.Lock()
	s.sent++
	limit := s.limit(s.sent)
	came := limit - s.busy - 1
	if came < 0 {
		s.refused++
		defer s.mu.Unlock()
		return lab.Answer(r, http.StatusTooManyRequests, "", s.header(limit, came, 0)...), nil
	}
	s.busy++
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	goes := max(limit-s.busy, 0)
	s.busy--
	return lab.Answer(r, http.StatusOK, "", s.header(limit, came, goes)...), nil
}

// stream is take, of a server whose answers to /stream last for an hour, and do not count once they have begun.
func (s *atOnce) stream(r *http.Request) (*http.Response, error) {
	resp, err := s.take(r)
	if r.URL.Path == "/stream" {
		stream, end := io.Pipe()
		time.AfterFunc(time.Hour, func() { _ = end.Close() })
		resp.Body, resp.ContentLength = stream, -1
	}
	return resp, err
}

func whenItComes(limit, came, _ int) []string {
	return []string{"X-Concurrency-Limit", strconv.Itoa(limit), "X-Concurrency-Remaining", strconv.Itoa(max(came, 0))}
}

func whenItGoes(limit, _, goes int) []string { return whenItComes(limit, goes, 0) }

// crowd has so many workers of each of several Transports send until so many requests were served, and returns
// how many of these each Transport sent, and how long that took.
func (s *atOnce) crowd(t *testing.T, processes, workers, requests int) (served []int, took time.Duration) {
	t.Helper()
	start := time.Now()
	served = make([]int, processes)
	left := requests
	next := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		left--
		return left >= 0
	}
	var all sync.WaitGroup
	for p := range processes {
		c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.take)}}
		for range workers {
			all.Go(func() {
				for next() {
					lab.Get(t, c, "http://a.example/")
					s.mu.Lock()
					served[p]++
					s.mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	return served, time.Since(start)
}

func ten(int) int { return 10 }

// TestStatedConcurrency: a server that serves ten requests at a time, and states that, is sent as many at a
// time as ask to go, up to ten, and refuses none. When nothing remains of such a limit, no time is to pass: a
// request has to end. Only the slow start takes time, until the first answer.
func TestStatedConcurrency(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		workers     int
		takes, want time.Duration
	}{
		{5, 200 * ms, 81 * 220 * ms},
		{10, 200 * ms, 41 * 220 * ms},
		{40, 200 * ms, 41 * 220 * ms},
		{5, 900 * ms, 80*920*ms + 750*ms}, // five go within three steps of the slow start
		{10, 900 * ms, 41 * 920 * ms},
		{40, 900 * ms, 41 * 920 * ms},
	} {
		for name, header := range map[string]states{
			"when it comes": whenItComes,
			"when it goes":  whenItGoes,
			"the limit alone": func(limit, _, _ int) []string {
				return []string{"RateLimit-Policy", fmt.Sprintf(`"a";q=%d;qu="concurrent-requests"`, limit)}
			},
			"what is under way": func(limit, _, goes int) []string { // that of ElevenLabs
				return []string{"Current-Concurrent-Requests", strconv.Itoa(limit - goes), "Maximum-Concurrent-Requests", strconv.Itoa(limit)}
			},
			"with a window": func(limit, came, goes int) []string { // that of Zuora
				return append(whenItGoes(limit, came, goes), "RateLimit-Limit", "50000", "RateLimit-Remaining", "49990", "RateLimit-Reset", "60")
			},
		} {
			t.Run(fmt.Sprintf("%s, %d workers, %v", name, test.workers, test.takes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &atOnce{limit: ten, header: header, takes: test.takes}
					_, took := s.crowd(t, 1, test.workers, 400)
					if s.sent != 400 || s.refused != 0 || took != test.want {
						t.Errorf("%d sent, %d refused, in %v, want 400, none refused, in %v", s.sent, s.refused, took, test.want)
					}
				})
			})
		}
	}
}

// TestStatedConcurrencyOfOthers: two processes use all that the server allows at a time, and neither starves.
// Which of two goes that ask in one instant is left to chance.
func TestStatedConcurrencyOfOthers(t *testing.T) {
	for name, header := range map[string]states{"when it comes": whenItComes, "when it goes": whenItGoes} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{limit: ten, header: header, takes: 900 * time.Millisecond}
				served, took := s.crowd(t, 2, 20, 800)
				if best := 80 * 920 * time.Millisecond; min(served[0], served[1]) < 200 || s.refused > 60 || took > best+3*920*time.Millisecond {
					t.Errorf("%v served, %d refused, in %v, want 200 each at least, 60 refused at most, in %v and three round trips", served, s.refused, took, best)
				}
			})
		})
	}
}

// TestStatedConcurrencyFallsAndRises: of a limit that falls, the first request too many shows it. One that
// rises is used a round trip later.
func TestStatedConcurrencyFallsAndRises(t *testing.T) {
	for name, header := range map[string]states{"when it comes": whenItComes, "when it goes": whenItGoes} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{header: header, takes: 900 * time.Millisecond, limit: func(sent int) int {
					if sent > 100 && sent <= 200 {
						return 4
					}
					return 10
				}}
				_, took := s.crowd(t, 1, 40, 400)
				if best := (10 + 25 + 20) * 920 * time.Millisecond; s.refused != 1 || took > best+3*920*time.Millisecond {
					t.Errorf("%d refused, in %v, want 1, in %v and three round trips at most", s.refused, took, best)
				}
			})
		})
	}
}

// TestStatedConcurrencyOfNothing: whatever a server states, one request may always go. Without a limit that
// makes sense, all go that ask.
func TestStatedConcurrencyOfNothing(t *testing.T) {
	const ms = time.Millisecond
	state := func(names ...string) states { return func(_, _, _ int) []string { return names } }
	for name, test := range map[string]struct {
		header states
		want   time.Duration
	}{
		"none at a time": {state("X-Concurrency-Limit", "0", "X-Concurrency-Remaining", "0"), 43 * 220 * ms},
		"no limit":       {state("X-Concurrency-Limit", "0"), 43 * 220 * ms},
		"1 << 60":        {state("X-Concurrency-Limit", "1152921504606846976", "X-Concurrency-Remaining", "1152921504606846976"), 41 * 220 * ms},
		"nothing ever":   {state("X-Concurrency-Limit", "10", "X-Concurrency-Remaining", "0"), 400 * 220 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{limit: func(int) int { return 1000 }, header: test.header, takes: 200 * ms}
				if _, took := s.crowd(t, 1, 10, 400); s.refused != 0 || took != test.want {
					t.Errorf("%d refused, in %v, want none, in %v", s.refused, took, test.want)
				}
			})
		})
	}
}

// TestStatedConcurrencyInRefusals: where refusals alone state it, as many go as may. A few are refused at
// first, and no caller is given a refusal.
func TestStatedConcurrencyInRefusals(t *testing.T) {
	const ms = time.Millisecond
	limit := []string{"X-Concurrency-Limit", "10"}
	for name, test := range map[string]struct {
		refusal []string
		want    time.Duration
	}{
		"the limit":             {limit, 41 * 920 * ms},
		"and what remains":      {append(limit, "X-Concurrency-Remaining", "0"), 41 * 920 * ms},
		"and when to ask again": {append(limit, "X-Concurrency-Remaining", "0", "Retry-After", "1"), 41*920*ms + 1270*ms}, // held for 1 s once
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{limit: ten, takes: 900 * ms, header: func(_, came, _ int) []string {
					if came < 0 {
						return test.refusal
					}
					return nil
				}}
				_, took := s.crowd(t, 1, 40, 400)
				if s.sent-s.refused != 400 || s.refused > 9 || took != test.want {
					t.Errorf("%d served, %d refused, in %v, want 400, 9, in %v", s.sent-s.refused, s.refused, took, test.want)
				}
			})
		})
	}
}

// TestStatedConcurrencyBesideAStream: while a long answer of ours is under way, others take all the rest, and
// end. Who waits finds that out within Patience, though no request of ours ends.
func TestStatedConcurrencyBesideAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var sent []time.Duration
		busy := 9 // of others
		tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, time.Since(start))
			left := 9 - busy
			header := whenItComes(10, max(left, 0), 0)
			if left < 0 {
				return lab.Answer(r, http.StatusTooManyRequests, "", header...), nil
			}
			busy++
			mu.Unlock()
			if r.URL.Path == "/long" {
				time.Sleep(time.Hour)
			}
			mu.Lock()
			busy--
			return lab.Answer(r, http.StatusOK, "", header...), nil
		})}
		c := &http.Client{Transport: tr}
		var all sync.WaitGroup
		all.Go(func() { lab.Get(t, c, "http://a.example/long") })
		time.Sleep(10 * time.Second)
		all.Go(func() {
			time.Sleep(10 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			busy -= 9
		})
		for range 2 { // looks come after 5 s and 10 s more
			lab.Get(t, c, "http://a.example/")
		}
		all.Wait()
		const s = time.Second
		if want := []time.Duration{0, 10 * s, 15 * s, 25 * s, 25 * s}; !slices.Equal(sent, want) {
			t.Errorf("sent after %v, want %v", sent, want)
		}
	})
}

// TestStatedConcurrencyOfStreams: a server may not count requests whose answers stream. A call beside as many
// of them as it allows at a time goes after 5 s, and then all go, though no stream ends for an hour.
func TestStatedConcurrencyOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &atOnce{limit: ten, header: whenItComes, takes: 900 * time.Millisecond}
		c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.stream)}}
		var streams, calls sync.WaitGroup
		for range 10 {
			streams.Go(func() { lab.Get(t, c, "http://a.example/stream") })
		}
		time.Sleep(4 * time.Second) // the tenth went after 0.92 s
		start := time.Now()
		for range 10 {
			calls.Go(func() { lab.Get(t, c, "http://a.example/") })
		}
		calls.Wait()
		if took, want := time.Since(start), 1920*time.Millisecond+2*920*time.Millisecond; took != want || s.refused != 0 {
			t.Errorf("ten calls took %v, %d refused, want %v, none refused", took, s.refused, want)
		}
		streams.Wait()
	})
}

// TestStatedConcurrencyBesideStreams: five streams that do not count, beside calls that end all the time, and
// whose answers say that something remains. Ten calls go at a time from 6 s on: each five have gone before, in
// that time.
func TestStatedConcurrencyBesideStreams(t *testing.T) {
	limitAlone := func(limit, _, _ int) []string { return whenItComes(limit, 0, 0)[:2] }
	for name, header := range map[string]states{"when it comes": whenItComes, "when it goes": whenItGoes, "the limit alone": limitAlone} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{limit: ten, header: header, takes: 980 * time.Millisecond}
				c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.stream)}}
				var streams, calls sync.WaitGroup
				for range 5 {
					streams.Go(func() { lab.Get(t, c, "http://a.example/stream") })
				}
				time.Sleep(4 * time.Second)
				start := time.Now()
				for range 40 {
					calls.Go(func() {
						for range 10 {
							lab.Get(t, c, "http://a.example/")
						}
					})
				}
				calls.Wait()
				if took, want := time.Since(start), 43*time.Second; took != want || s.refused != 0 {
					t.Errorf("400 calls took %v, %d refused, want %v, none refused", took, s.refused, want)
				}
				streams.Wait()
			})
		})
	}
}

// TestStatedConcurrencyOnce: a limit that is stated once, and from then on only what remains of it, is kept to,
// until more remains than it allows.
func TestStatedConcurrencyOnce(t *testing.T) {
	for _, goes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			answers := 0
			s := &atOnce{takes: 200 * time.Millisecond}
			s.limit = func(sent int) int {
				if sent > 400 {
					return 20
				}
				return 10
			}
			s.header = func(limit, came, left int) []string {
				if !goes {
					left = max(came, 0)
				}
				if answers++; answers == 1 {
					return []string{"X-RateLimit-Limit-Concurrency", "10", "X-RateLimit-Remaining-Concurrency", strconv.Itoa(left)}
				}
				return []string{"X-RateLimit-Remaining-Concurrency", strconv.Itoa(left)}
			}
			tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.take)}
			c := &http.Client{Transport: tr}
			burst := func(n int) time.Duration {
				start := time.Now()
				var all sync.WaitGroup
				for range n {
					all.Go(func() { lab.Get(t, c, "http://a.example/") })
				}
				all.Wait()
				return time.Since(start)
			}
			if took, want := burst(400), 41*220*time.Millisecond; took != want || s.refused != 0 {
				t.Errorf("goes %v: 400 took %v, %d refused, want %v, none", goes, took, s.refused, want)
			}
			burst(10)
			if took, want := burst(100), 6*220*time.Millisecond; took > want { // how many remain says no more, and some are refused
				t.Errorf("goes %v: where twice as many may be under way, 100 took %v, want %v at most", goes, took, want)
			}
		})
	}
}

// TestStatedConcurrencyAfterIdling: who had all, and has idled while others took six of ten, asks for the four
// that are left.
func TestStatedConcurrencyAfterIdling(t *testing.T) {
	for name, header := range map[string]states{"when it comes": whenItComes, "when it goes": whenItGoes} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &atOnce{limit: ten, header: header, takes: 200 * time.Millisecond}
				c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.take)}}
				burst := func() {
					var all sync.WaitGroup
					for range 10 {
						all.Go(func() { lab.Get(t, c, "http://a.example/") })
					}
					all.Wait()
				}
				burst()
				burst()
				time.Sleep(2 * time.Minute)
				s.busy = 6
				burst()
				if s.refused != 0 {
					t.Errorf("%d refused, want none", s.refused)
				}
			})
		})
	}
}

// TestStatedConcurrencyInSomeAnswers: where some answers do not state it, since these are from a cache, say,
// the others do. A limit that is stated no more is forgotten by degrees.
func TestStatedConcurrencyInSomeAnswers(t *testing.T) {
	for _, n := range []int{5, 10, 20} {
		t.Run(fmt.Sprint("one of ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := 0
				s := &atOnce{limit: ten, takes: 900 * time.Millisecond}
				s.header = func(limit, came, goes int) []string {
					if answers++; came >= 0 && answers%n > 0 {
						return nil
					}
					return whenItGoes(limit, came, goes)
				}
				_, took := s.crowd(t, 1, 40, 800)
				if most := 82 * 920 * time.Millisecond; s.refused > 9 || took > most {
					t.Errorf("%d refused, in %v, want 9 in the slow start at most, in %v", s.refused, took, most)
				}
			})
		})
	}
	t.Run("no more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &atOnce{takes: 900 * time.Millisecond, limit: ten}
			s.header = func(limit, came, goes int) []string {
				if s.sent > 100 {
					s.limit = func(int) int { return 1000 }
					return nil
				}
				return whenItGoes(limit, came, goes)
			}
			_, took := s.crowd(t, 1, 40, 2000)
			if most := (100/10 + 1900/40 + 14) * 920 * time.Millisecond; s.refused != 0 || took > most {
				t.Errorf("%d refused, in %v, want none, in %v", s.refused, took, most)
			}
		})
	})
}

// TestStatedConcurrencyTakenByOthers: who comes when others have all is not sent away for ever longer, and has
// some of it in the end, though the others leave each place for 20 ms alone.
func TestStatedConcurrencyTakenByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &atOnce{limit: ten, header: whenItComes, takes: 4980 * time.Millisecond}
		client := func() *http.Client {
			return &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(s.take)}}
		}
		var all sync.WaitGroup
		others, start := client(), time.Now()
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 490 * time.Millisecond) // so that they do not end together
				for time.Since(start) < 10*time.Minute {
					lab.Get(t, others, "http://a.example/")
				}
			})
		}
		time.Sleep(time.Minute)
		ours, served, first := client(), 0, time.Duration(0)
		for time.Since(start) < 10*time.Minute {
			resp, err := ours.Get("http://a.example/")
			if err != nil {
				t.Error(err)
				break
			}
			if resp.Body.Close(); resp.StatusCode == http.StatusOK {
				served++
				first = cmp.Or(first, time.Since(start)-time.Minute)
			}
		}
		all.Wait()
		if first == 0 || first > 2*time.Minute || served < 60 {
			t.Errorf("the first one was served after %v, and %d in all, want within two minutes, and 60", first, served)
		}
	})
}

// TestStatedConcurrencyOfNames: a server that names what requests draw on states one limit of requests at the
// same time for all names. All buckets keep to it together, and whoever ends makes room for each of them.
func TestStatedConcurrencyOfNames(t *testing.T) {
	for names := 1; names <= 5; names++ {
		statedConcurrencyOfNames(t, names)
	}
}

func statedConcurrencyOfNames(t *testing.T, names int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &atOnce{limit: ten, header: whenItComes, takes: 900 * time.Millisecond}
		start := time.Now()
		c := &http.Client{Transport: &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := s.take(r)
			for name, value := range map[string]string{"Bucket": r.URL.Path[1:], "Limit": "5000", "Remaining": "4000", "Reset-After": "60"} {
				resp.Header.Set("X-RateLimit-"+name, value)
			}
			return resp, err
		})}}
		var all sync.WaitGroup
		for w := range 40 {
			all.Go(func() {
				time.Sleep(time.Duration(w) * 7 * time.Millisecond)
				for range 11 {
					lab.Get(t, c, fmt.Sprint("http://a.example/", w%names))
				}
			})
		}
		all.Wait()
		if took, want := time.Since(start), 46*920*time.Millisecond; took > want || s.refused > 0 {
			t.Errorf("%d names: 440 took %v, %d refused, want %v at most, and none refused", names, took, s.refused, want)
		}
	})
}
