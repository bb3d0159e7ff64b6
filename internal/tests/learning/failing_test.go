package learning

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/pacertest"
)

// failing is a server without a limit, of whose answers a share are 503s by chance. The first seven after an
// instant are failures and not, in turns.
type failing struct {
	share   float64
	from    time.Duration
	callers int
	seed    uint64
}

// run returns how many were answered in each minute, of callers that make a request each 70 ms or so: 50 after
// each answer.
func (w failing) run(t *testing.T, minutes int) (answers []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		random := rand.New(rand.NewPCG(w.seed, 1))
		answers = make([]int, minutes)
		start := time.Now()
		var mu sync.Mutex
		draw := func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() }
		forced := 0
		end := time.Duration(minutes) * time.Minute
		tr := &pacer.Transport{Rand: draw, Base: lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Duration(20e6 * (0.5 + draw())))
			resp := lab.Answer(req, http.StatusOK, "")
			mu.Lock()
			defer mu.Unlock()
			at := time.Since(start)
			fails := random.Float64() < w.share
			if at >= w.from && forced < 7 {
				fails = forced%2 == 0
				forced++
			}
			if fails {
				resp.StatusCode = http.StatusServiceUnavailable
			}
			if at < end {
				answers[at/time.Minute]++
			}
			return resp, nil
		})}
		var wg sync.WaitGroup
		for range w.callers {
			wg.Go(func() {
				for time.Since(start) < end {
					req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", http.NoBody)
					if _, err := tr.RoundTrip(req); err != nil {
						t.Error(err)
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		wg.Wait()
	})
	return answers
}

// TestFailing: a server that has no limit, and of which a few of a hundred answers are failures by chance, is
// asked for everything again within minutes where failures were taken for refusals: because several came
// together, right at first, or within the first minute, in which nothing is known of what is usual.
func TestFailing(t *testing.T) {
	t.Parallel()
	for _, w := range []failing{
		{share: 0.02, from: 0, callers: 10},
		{share: 0.02, from: 10 * time.Second, callers: 10},
		{share: 0.02, from: 50 * time.Second, callers: 10},
		{share: 0.005, from: 50 * time.Second, callers: 10},
	} {
		t.Run(fmt.Sprintf("%v from %v on", w.share, w.from), func(t *testing.T) {
			t.Parallel()
			answers := w.run(t, 10)
			last := 0
			for _, n := range answers[5:] {
				last += n
			}
			// Of 40 seeds each, three of four reach 1.00, and the worst 0.73.
			if most := w.callers * 5 * 60 * 100 / 7; 10*last < 7*most {
				t.Errorf("answers in each minute: %v; in the last five: %d, want 0.7 of %d", answers, last, most)
			}
		})
	}
}

// TestRefusedWithoutAWord: three processes with eight callers each share a limit of ten a second, with the same
// distance between all, which refuses by 503s that say nothing. These are no failures, which callers would get:
// whoever takes them for that sends so many that the others do so, too.
func TestRefusedWithoutAWord(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // protects what follows it
	answers := map[int]int{}
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			lab.UntilToday()
			server := &pacertest.GCRA{Rate: 10, Burst: 1}
			type own struct{}
			way := func(req *http.Request) {
				random, _ := req.Context().Value(own{}).(*rand.Rand)
				time.Sleep(time.Duration(10e6 * (0.5 + random.Float64())))
			}
			base := lab.RoundTripper(func(req *http.Request) (*http.Response, error) {
				way(req)
				mu.Lock()
				resp := lab.Answer(req, http.StatusOK, "")
				if !server.Take(time.Now(), 1).OK {
					resp.StatusCode = http.StatusServiceUnavailable
				}
				mu.Unlock()
				way(req)
				return resp, nil
			})
			end := time.Now().Add(5 * time.Minute)
			var wg sync.WaitGroup
			for process := range uint64(3) {
				random := rand.New(rand.NewPCG(seed, process))
				tr := &pacer.Transport{Rand: func() float64 { mu.Lock(); defer mu.Unlock(); return random.Float64() }, Base: base}
				for caller := range uint64(8) {
					// With its own numbers, and an instant of its own to begin, a caller does the same in each
					// run.
					ctx := context.WithValue(t.Context(), own{}, rand.New(rand.NewPCG(seed, 3+8*process+caller)))
					wg.Go(func() {
						time.Sleep(time.Duration(1+8*process+caller) * time.Millisecond)
						for time.Now().Before(end) {
							req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", http.NoBody)
							resp, err := tr.RoundTrip(req)
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							answers[resp.StatusCode]++
							mu.Unlock()
							if resp.StatusCode != http.StatusOK {
								time.Sleep(time.Second)
							}
						}
					})
				}
			}
			wg.Wait()
		})
	}
	// Of 20 seeds together, 8 per 100, and 42 where trials are judged by their own answers alone.
	if served, refused := answers[http.StatusOK], answers[http.StatusServiceUnavailable]; 100*refused > 15*served || served < 3000 {
		t.Errorf("%d got an answer and %d a 503, want at most 15 of 100, and 3000 answers", served, refused)
	}
}
