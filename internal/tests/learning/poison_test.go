package learning

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// poisoned is 1200 requests, ten a second, to a host that serves them, and always refuses some others, as gRPC
// refuses a message that is too large.
type poisoned struct {
	configure func(t *pacer.Transport) // may be nil
	good      func(i int) string       // path of the i-th request that is served; nil means /good
	poison    func(i int) string       // path and query of the i-th request that is refused; nil means /poison
	every     time.Duration            // one of these is made; zero means one at the beginning
	burst     int                      // so many of these at once; zero means one
	first     bool                     // the first of these come before the first good request; else a second later, with the eleventh one
	goods     int                      // so many requests are served; zero means 1200
	gap       time.Duration            // between two good requests, which come more slowly then; zero means 100 ms
	header    []string                 // of the refusals
	seed      uint64                   // of the jitter; if it is not zero, no two requests come or are answered at one instant
}

// poisoning is what came of it.
type poisoning struct {
	goods   int                        // requests that were to be served
	served  int                        // good requests, until the last was made
	longest time.Duration              // for which no good request was served until then
	poisons int                        // poison requests that were made
	sent    map[string][]time.Duration // when they were sent until then, by path and query
	all     int                        // how often they were sent, until all had ended
}

func (p *poisoned) run(t *testing.T) (got poisoning) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		good, poison, gap := p.good, p.poison, cmp.Or(p.gap, 100*time.Millisecond)
		if good == nil {
			good = func(int) string { return "/good" }
		}
		if poison == nil {
			poison = func(int) string { return "/poison" }
		}
		var mu sync.Mutex
		start := time.Now()
		last := start
		over := false // the last good request was made
		got.goods = cmp.Or(p.goods, 1200)
		got.sent = map[string][]time.Duration{}
		tr := &pacer.Transport{}
		number := func(int) time.Duration { return 0 }
		if p.seed != 0 {
			random := rand.New(rand.NewPCG(p.seed, 0))
			tr.Rand = func() float64 {
				mu.Lock()
				defer mu.Unlock()
				return random.Float64()
			}
			number = func(i int) time.Duration { return time.Duration(i) * time.Microsecond }
		}
		if p.configure != nil {
			p.configure(tr)
		}
		tr.Base = lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			i, err := strconv.Atoi(req.Header.Get("Number"))
			if err != nil {
				t.Error(err)
			}
			time.Sleep(20*time.Millisecond + number(i))
			mu.Lock()
			defer mu.Unlock()
			if uri := req.URL.RequestURI(); req.Header.Get("Poison") != "" {
				if got.all++; !over {
					got.sent[uri] = append(got.sent[uri], time.Since(start))
				}
				return lab.Answer(req, 429, "", p.header...), nil
			}
			if !over {
				got.served++
				got.longest, last = max(got.longest, time.Since(last)), time.Now()
			}
			return lab.Answer(req, 200, ""), nil
		})
		client := &http.Client{Transport: tr}
		at := 10
		if p.first {
			at = 0
		}
		var wait sync.WaitGroup
		for i := range got.goods {
			burst := 0
			if i == at || p.every > 0 && i%int(p.every/gap) == at%int(p.every/gap) {
				burst = max(p.burst, 1)
			}
			for range burst {
				uri, n := poison(got.poisons), got.goods+got.poisons
				got.poisons++
				wait.Go(func() {
					req := lab.Request(t, "GET", "http://a.example"+uri, "")
					req.Header.Set("Poison", "1")
					req.Header.Set("Number", strconv.Itoa(n))
					resp, err := client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
					if resp.StatusCode != http.StatusTooManyRequests {
						t.Errorf("the poison request got %d", resp.StatusCode)
					}
				})
			}
			time.Sleep(number(1000))
			wait.Go(func() {
				req := lab.Request(t, "GET", "http://a.example"+good(i), "")
				req.Header.Set("Number", strconv.Itoa(i))
				if resp, err := client.Do(req); err != nil {
					t.Error(err)
				} else {
					resp.Body.Close()
				}
			})
			time.Sleep(gap - number(1000))
		}
		synctest.Wait()
		mu.Lock()
		over = true
		mu.Unlock()
		wait.Wait()
	})
	return got
}

// enough wants 0.95 of the good requests to be served.
func (g *poisoning) enough(t *testing.T) {
	t.Helper()
	if want := g.goods * 95 / 100; g.served < want {
		t.Errorf("%d of %d good requests were served in their time, want %d", g.served, g.goods, want)
	}
}

// A request that the server always refuses does not shut its host: good requests beside it, ten a second for
// two minutes, are served as if it were not there, but for a few that are late. The request itself is sent
// MaxRefusals times, and its caller gets the refusal.
func TestAPoisonRequestDoesNotShutItsHost(t *testing.T) {
	for _, p := range []poisoned{
		{},
		{header: []string{"Retry-After", "1"}},
		{header: []string{"Retry-After", "0"}},
		{every: 30 * time.Second},
		{every: time.Second},
		{every: time.Second, header: []string{"Retry-After", "1"}},
		{every: time.Second, header: []string{"Retry-After", "0"}},
	} {
		t.Run(fmt.Sprint(p.header, p.every), func(t *testing.T) {
			got := p.run(t)
			got.enough(t)
			if got.all != 11*got.poisons {
				t.Errorf("%d poison requests were sent %d times, want 11 times each", got.poisons, got.all)
			}
		})
	}
}

// Nor does one that is urgent, also where nobody ages: it falls behind others whatever their priority, or all
// of these would wait until the server has refused it as often as it may.
func TestAnUrgentPoisonRequestDoesNotShutItsHost(t *testing.T) {
	for _, aging := range []time.Duration{0, -1} {
		for _, header := range [][]string{nil, {"Retry-After", "5"}} {
			t.Run(fmt.Sprint(aging, header), func(t *testing.T) {
				p := poisoned{every: time.Second, header: header, poison: func(i int) string { return "/" + word(i) + "/" + word(i+7) }, seed: 1}
				p.configure = func(t *pacer.Transport) {
					t.Line.Aging, t.Line.Priority = aging, func(r *http.Request) throttle.Priority {
						if r.Header.Get("Poison") != "" {
							return throttle.Urgent
						}
						return throttle.Normal
					}
				}
				got := p.run(t)
				got.enough(t)
			})
		}
	}
}

// Nor does it shut the routes of its host that have quotas of their own: what is served there counts for the
// host as well.
func TestAPoisonRequestOfAHostDoesNotShutItsRoutes(t *testing.T) {
	for _, header := range [][]string{nil, {"Retry-After", "1"}} {
		t.Run(fmt.Sprint(header), func(t *testing.T) {
			p := poisoned{header: header, good: func(int) string { return "/route" }}
			p.configure = func(t *pacer.Transport) { t.Quotas = pacer.Table{"a.example/route": quota.MustParse("20/s")} }
			got := p.run(t)
			got.enough(t)
			if got.all != 11 {
				t.Errorf("the poison request was sent %d times, want 11", got.all)
			}
		})
	}
}

// A poison request whose refusals say that nothing remains of a limit makes all wait for the reset, as any such
// answer does. But it is not the one that goes first after each reset: others go between its refusals.
func TestAPoisonRequestThatStatesALimitLetsOthersAhead(t *testing.T) {
	for _, header := range [][]string{
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0"},
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "10"},
		{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "10", "Retry-After", "10"},
	} {
		name := fmt.Sprint(header[4:])
		if !whole.Part(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := poisoned{header: header}
			p.configure = func(t *pacer.Transport) { t.Rand = func() float64 { return 0.5 } }
			if got := p.run(t); got.longest > 35*time.Second { // three resets; if the poison request went first after each of ten, 100 s
				t.Errorf("no good request was served for %v", got.longest)
			}
		})
	}
}

// Nor do such requests that are made again and again, with what they say about when to come back: of one that
// was refused when it went ahead, and that has not gone again since, the next one of the kind goes on with what
// was seen. That one request of a kind has another path than the next does not matter. Usually, a fifth of
// these cases is tried.
func TestPoisonRequestsWithAHintDoNotShutTheirHost(t *testing.T) {
	for name, poison := range map[string]func(i int) string{
		"one path": nil,
		"numbers":  func(i int) string { return fmt.Sprintf("/poison/%d", i) },
		"ids":      func(i int) string { return fmt.Sprintf("/poison/%08x-%04x/parts", 0x9e3779b9*uint32(i+1), i) },
		"words":    func(i int) string { return "/poison/" + word(i) },
		"first":    func(i int) string { return "/poison-" + word(i) + "/parts" },
		"between":  func(i int) string { return "/poison/" + word(i) + "/parts" },
		"behind":   func(i int) string { return "/poison/" + word(i) + "/" + word(i+1) },
		"queries":  func(i int) string { return fmt.Sprintf("/poison?page=%d", i) },
	} {
		for _, p := range []poisoned{
			{every: 2 * time.Second, header: []string{"Retry-After", "1"}},
			{every: 5 * time.Second, header: []string{"Retry-After", "1"}},
			{every: 10 * time.Second, header: []string{"Retry-After", "1"}},
			{every: 5 * time.Second, header: []string{"Retry-After", "5"}},
			{every: 10 * time.Second, header: []string{"Retry-After", "5"}},
			{every: 30 * time.Second, header: []string{"Retry-After", "5"}},
			{every: 2 * time.Second},
			{every: 10 * time.Second},
		} {
			name := fmt.Sprint(name, p.header, p.every)
			if !whole.Part(5, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p.poison = poison
				got := p.run(t)
				got.enough(t)
			})
		}
	}
}

// word is a text that is a word, and not like an ID.
func word(i int) string {
	return strings.Repeat(string(rune('a'+i%26)), 3+i%4) + string(rune('g'+i/26%20))
}

// Nor does one whose refusal asks for a long time.
func TestAPoisonRequestWithALongHintDoesNotShutItsHost(t *testing.T) {
	for _, hint := range []string{"10", "20", "30"} {
		t.Run(hint, func(t *testing.T) {
			p := poisoned{header: []string{"Retry-After", hint}}
			got := p.run(t)
			got.enough(t)
		})
	}
}

// Nor do those that are sent once each (by an own retry layer above, a queue that delivers again, in
// ModeObserve): none of them is refused three times.
func TestPoisonRequestsThatAreSentOnceDoNotShutTheirHost(t *testing.T) {
	for name, configure := range map[string]func(t *pacer.Transport){
		"MaxRefusals -1": func(t *pacer.Transport) { t.Retry.MaxRefusals = -1 },
		"MaxRefusals 1":  func(t *pacer.Transport) { t.Retry.MaxRefusals = 1 },
		"ModeObserve":    func(t *pacer.Transport) { t.Modes = map[string]pacer.Mode{"a.example/poison": pacer.ModeObserve} },
	} {
		for _, hint := range []string{"", "1", "2", "5"} {
			name := name + " hint " + hint
			if !whole.Part(3, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p := poisoned{every: time.Second, configure: configure}
				if hint != "" {
					p.header = []string{"Retry-After", hint}
				}
				got := p.run(t)
				got.enough(t)
			})
		}
	}
}

// Nor do those of many flows, of which each has a turn before the good requests, whose flow has had some: the
// request that goes ahead in their place does not wait for the turn of its flow. Until it is known of each of
// them that it is alone, after 80 to 130 s, one request goes at a time, so that the good ones are more.
func TestPoisonRequestsOfManyFlowsDoNotShutTheirHost(t *testing.T) {
	for name, poison := range map[string]func(i int) string{
		"one path":   func(i int) string { return fmt.Sprint("/poison?", i) },
		"each its":   func(i int) string { return fmt.Sprint("/", word(i), "/", word(i+7), "?", i) },
		"good ones'": func(i int) string { return fmt.Sprint("/good?", i) },
	} {
		for _, header := range [][]string{nil, {"Retry-After", "1"}} {
			name := fmt.Sprint(name, header)
			if !whole.Part(2, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p := poisoned{burst: 20, poison: poison, header: header, goods: 2400}
				p.configure = func(t *pacer.Transport) { t.Line.Flow = func(req *http.Request) string { return req.URL.RawQuery } }
				got := p.run(t)
				got.enough(t)
				if got.all != 11*got.poisons {
					t.Errorf("%d poison requests were sent %d times, want 11 times each", got.poisons, got.all)
				}
			})
		}
	}
}

// Nor do those that are made at once, as those of a batch whose messages are all too large: they stand before
// all good requests, and would else go ahead one after the other, each after a hold that is longer than the one
// before. Usually, a fifth of these cases is tried.
func TestPoisonRequestsAtOnceDoNotShutTheirHost(t *testing.T) {
	for name, poison := range map[string]func(i int) string{
		"one path":   nil,
		"each its":   func(i int) string { return "/" + word(i) + "/" + word(i+7) },
		"good ones'": func(int) string { return "/good" },
	} {
		for _, p := range []poisoned{
			{burst: 20},
			{burst: 20, header: []string{"Retry-After", "1"}},
			{burst: 20, header: []string{"Retry-After", "5"}},
			{burst: 20, every: 30 * time.Second, header: []string{"Retry-After", "1"}},
			{burst: 5, first: true, header: []string{"Retry-After", "30"}},
			{burst: 20, first: true},
			{burst: 20, first: true, header: []string{"Retry-After", "1"}},
			{burst: 20, first: true, header: []string{"Retry-After", "5"}},
			{burst: 20, first: true, header: []string{"Retry-After", "30"}},
		} {
			name := fmt.Sprint(name, p.header, p.every, p.burst, p.first, p.gap)
			if !whole.Part(5, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				if p.poison = poison; p.first { // else one in 30 draws is one of the batch, which costs half a minute with a hint of 30 seconds
					p.configure = func(t *pacer.Transport) { t.Rand = func() float64 { return 0.5 } }
				}
				got := p.run(t)
				got.enough(t)
				if got.all != 11*got.poisons {
					t.Errorf("%d poison requests were sent %d times, want 11 times each", got.poisons, got.all)
				}
				t.Logf("no good request was served for %v", got.longest)
			})
		}
	}
	t.Run("more urgent", func(t *testing.T) {
		p := poisoned{burst: 20, configure: func(t *pacer.Transport) {
			t.Line.Priority = func(req *http.Request) throttle.Priority {
				if req.Header.Get("Poison") != "" {
					return throttle.Urgent
				}
				return throttle.Normal
			}
		}}
		got := p.run(t)
		got.enough(t)
	})
	t.Run("200", func(t *testing.T) {
		for _, header := range [][]string{nil, {"Retry-After", "1"}} {
			got := (&poisoned{burst: 200, header: header}).run(t)
			got.enough(t)
		}
	})
}

// Good requests behind several such batches, whose method and path are theirs, are served within minutes,
// although each request looks like any other: once a few were served, and some refused before were refused
// again, as many go one after the other as the share that was refused explains. The last one, which stands
// among a hundred that are refused, may come later, and where the server says nothing, not at all.
func TestFewGoodRequestsBehindBatchesOfPoisonRequests(t *testing.T) {
	for _, header := range [][]string{{"Retry-After", "5"}, nil} {
		for seed := range whole.Or[uint64](2, 5) {
			t.Run(fmt.Sprint(header, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					start, random := time.Now(), rand.New(rand.NewPCG(seed, 1))
					served, last := 0, time.Duration(0)
					client := &http.Client{Transport: &pacer.Transport{
						Rand: func() float64 {
							mu.Lock()
							defer mu.Unlock()
							return random.Float64()
						},
						Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
							time.Sleep(20 * time.Millisecond)
							if req.Header.Get("Poison") != "" {
								return lab.Answer(req, 429, "", header...), nil
							}
							mu.Lock()
							defer mu.Unlock()
							if served++; served == 29 {
								last = time.Since(start)
							}
							return lab.Answer(req, 200, ""), nil
						}),
					}}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
					defer cancel()
					var wait sync.WaitGroup
					for i := range 210 { // three batches of 60, and 30
						wait.Go(func() {
							req := lab.Request(t, "GET", "http://a.example/", "").WithContext(ctx)
							if i < 180 {
								req.Header.Set("Poison", "1")
							}
							if resp, err := client.Do(req); err == nil {
								resp.Body.Close()
							}
						})
						time.Sleep(10 * time.Microsecond)
					}
					wait.Wait()
					if served < 29 || last > 11*time.Minute {
						t.Errorf("%d of 30 good requests were served, the last but one after %v; want it within 11 minutes", served, last)
					}
				})
			})
		}
	}
}

// Nor do those whose method and path are those of good requests, or all whose paths differ, so that nothing
// tells them from these before they are sent: none of them is ever served, however often it is sent, and good
// ones are in between. Usually, a fifth of these cases is tried, each with the same draws of jitter in each
// run.
func TestPoisonRequestsLikeGoodOnesDoNotShutTheirHost(t *testing.T) {
	good := func(int) string { return "/service/Method" }
	for name, paths := range map[string][2]func(i int) string{
		"one path":  {good, good},
		"one shape": {func(i int) string { return "/items/" + word(i) }, func(i int) string { return "/items/" + word(i+5) }},
		"no shape": {
			func(i int) string { return "/" + word(i) + "/" + word(i+7) },
			func(i int) string { return "/" + word(i+9) + "/" + word(i+2) },
		},
	} {
		for _, p := range []poisoned{
			{every: time.Second},
			{every: 5 * time.Second},
			{every: time.Second, header: []string{"Retry-After", "1"}},
			{every: 5 * time.Second, header: []string{"Retry-After", "1"}},
			{every: time.Second, header: []string{"Retry-After", "5"}},
			{every: 5 * time.Second, header: []string{"Retry-After", "5"}},
			{every: 30 * time.Second, header: []string{"Retry-After", "5"}},
			{header: []string{"Retry-After", "30"}},
			{every: 30 * time.Second, gap: 500 * time.Millisecond, header: []string{"Retry-After", "30"}},
			{every: time.Minute, gap: time.Second, header: []string{"Retry-After", "30"}},
			{every: time.Minute, gap: time.Second, header: []string{"Retry-After", "60"}},
		} {
			name := fmt.Sprint(name, p.header, p.every)
			if !whole.Part(5, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p.good, p.poison = paths[0], paths[1]
				for _, p.seed = range []uint64{1, 39, 55} { // with the last two, a line that came first was once served in rows of ten, each followed by a refusal
					got := p.run(t)
					got.enough(t)
					if got.all != 11*got.poisons {
						t.Errorf("seed %d: %d poison requests were sent %d times, want 11 times each", p.seed, got.poisons, got.all)
					}
				}
			})
		}
	}
}

// A request that was refused is put behind those who came before the end of the hold whenever some request is
// refused twice in a row; but where that happens again and again, it is sent all the same.
func TestAPoisonRequestIsNotOvertakenForEver(t *testing.T) {
	p := poisoned{every: 5 * time.Second, header: []string{"Retry-After", "1"}, poison: func(i int) string { return fmt.Sprintf("/poison/%d", i) }}
	got := p.run(t)
	got.enough(t)
	sends := got.sent["/poison/1"]
	for i := 1; i < len(sends); i++ {
		if gap := sends[i] - sends[i-1]; gap > 30*time.Second {
			t.Errorf("sent at %v: %v between two attempts", sends, gap)
		}
	}
	if len(sends) < 5 {
		t.Errorf("in two minutes, while %d good requests were served, sent at %v", got.served, sends)
	}
}

// Requests of a narrow route, of which the server says nothing, look the same. They are served in the end, and
// so are those of the wide route beside it.
func TestANarrowSilentRouteIsServedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var last time.Time // when the narrow route served
		narrow, wide, refused := 0, 0, 0
		base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case req.URL.Path == "/wide":
				wide++
			case time.Since(last) < time.Second:
				refused++
				return lab.Answer(req, 429, ""), nil
			default:
				last = time.Now()
				narrow++
			}
			return lab.Answer(req, 200, ""), nil
		})
		client := &http.Client{Transport: &pacer.Transport{Base: base}}
		start := time.Now()
		var wait sync.WaitGroup
		for i := range 600 {
			if i%20 == 0 && i < 400 { // one in two seconds, of one in a second
				for range 2 {
					wait.Go(func() {
						if got := lab.Get(t, client, "http://a.example/narrow"); got != 200 {
							t.Errorf("narrow got %d", got)
						}
					})
				}
			}
			wait.Go(func() { lab.Get(t, client, "http://a.example/wide") })
			time.Sleep(100 * time.Millisecond)
		}
		wait.Wait()
		if narrow != 40 || wide != 600 {
			t.Errorf("%d narrow requests were served, and %d wide ones, want 40 and 600; %d were refused, in %v", narrow, wide, refused, time.Since(start))
		}
	})
}

// A narrow limit beside a wide one, of which the server says nothing and which nothing tells apart, looks the
// same too: its requests are refused although others are served. They are served in the end, but for a few, and
// their refusals do not multiply.
func TestANarrowSilentLimitThatNothingTellsApart(t *testing.T) {
	for _, test := range []struct{ per, every time.Duration }{ // one goes in per, two are made in every
		{time.Second, 2500 * time.Millisecond}, {3 * time.Second, 7 * time.Second},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var last time.Time // when the narrow limit was used
				narrow, wide, refused := 0, 0, 0
				client := &http.Client{Transport: &pacer.Transport{Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case req.Header.Get("Narrow") == "":
						wide++
					case time.Since(last) < test.per:
						refused++
						return lab.Answer(req, 429, ""), nil
					default:
						last = time.Now()
						narrow++
					}
					return lab.Answer(req, 200, ""), nil
				})}}
				var wait sync.WaitGroup
				wanted := 0
				for i := range 1200 {
					if i%int(test.every/(100*time.Millisecond)) == 0 {
						for range 2 {
							wanted++
							wait.Go(func() {
								req := lab.Request(t, "GET", "http://a.example/", "")
								req.Header.Set("Narrow", "1")
								if _, err := client.Do(req); err != nil {
									t.Error(err)
								}
							})
						}
					}
					wait.Go(func() { lab.Get(t, client, "http://a.example/") })
					time.Sleep(100 * time.Millisecond)
				}
				wait.Wait()
				// One in some thousand is refused as often as it may be, as it is where each refusal holds all.
				if 10*narrow < 9*wanted || wide != 1200 || refused > 8*narrow {
					t.Errorf("%d narrow requests were served, and %d wide ones, want 0.9 of %d and 1200; %d were refused, want 8 for each that was served at most", narrow, wide, wanted, refused)
				}
			})
		})
	}
}

// Where refusals were found to be the matter of poison requests, a limit of the server is noticed all the same.
// Jitter is drawn from a seed, and no two requests come or are answered at one instant, where chance would say
// which is first: so a seed goes the same way each time.
func TestALimitIsNoticedBesidePoisonRequests(t *testing.T) {
	for _, hint := range []string{"", "30"} {
		for seed := range whole.Or[uint64](3, 60) {
			t.Run(fmt.Sprint(hint, "-", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					start := time.Now()
					var sent, served int // from the first minute to one and a half, when nothing is served, and after that
					r := rand.New(rand.NewPCG(seed, 0))
					client := &http.Client{Transport: &pacer.Transport{Rand: func() float64 {
						mu.Lock()
						defer mu.Unlock()
						return r.Float64()
					}, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
						number, err := strconv.Atoi(req.Header.Get("Number"))
						if err != nil {
							t.Error(err)
						}
						time.Sleep(20*time.Millisecond + time.Duration(number)*time.Microsecond)
						mu.Lock()
						defer mu.Unlock()
						over := time.Since(start) > time.Minute && time.Since(start) < 90*time.Second
						if over && req.Header.Get("Poison") == "" {
							sent++
						}
						switch {
						case over && hint != "":
							return lab.Answer(req, 429, "", "Retry-After", hint), nil
						case over || req.Header.Get("Poison") != "":
							return lab.Answer(req, 429, ""), nil
						}
						if time.Since(start) > time.Minute {
							served++
						}
						return lab.Answer(req, 200, ""), nil
					})}}
					var wait sync.WaitGroup
					for i := range 1200 {
						if i%50 == 10 {
							wait.Go(func() {
								req := lab.Request(t, "GET", "http://a.example/", "")
								req.Header.Set("Poison", "1")
								req.Header.Set("Number", strconv.Itoa(1200+i))
								if resp, err := client.Do(req); err != nil || resp.StatusCode != http.StatusTooManyRequests {
									t.Error(resp, err)
								}
							})
						}
						time.Sleep(time.Millisecond)
						wait.Go(func() {
							req := lab.Request(t, "GET", "http://a.example/", "")
							req.Header.Set("Number", strconv.Itoa(i))
							if _, err := client.Do(req); err != nil {
								t.Error(err)
							}
						})
						time.Sleep(99 * time.Millisecond)
					}
					wait.Wait()
					most := 6 // three flights, and then one request after each hold
					if hint == "" {
						// After 100 and 200 ms, and at whole seconds, the closer together the more were served
						// before, each once more for what was refused before.
						most = 30
					}
					if sent > most || served != 600 {
						t.Errorf("%d good requests were sent while none was served, want %d at most; %d were served after the first minute, want 600", sent, most, served)
					}
				})
			})
		}
	}
}
