// Package simulation runs whole programs that use pacer against simulated servers, in virtual
// time and in situations that are drawn from a seed (draw_test.go): a server of any algorithm and
// dialect, a network that loses and delays (world_test.go), and a workload. A table tells how well
// each kind went (table_test.go).
package simulation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// usual is how many simulations are run unless told otherwise. With more, the bounds of more cells are tried,
// too.
const usual = 60

var (
	simulations = flag.Int("simulations", usual, "how many simulations to run")
	first       = flag.Uint64("seed", 0, "seed of the first simulation; of the only one, which is then traced, if -simulations is 1")
)

// result is how a simulation went.
type result struct {
	simulation
	least, took time.Duration // in sum over the heaps
	makespan    time.Duration
	served      int
	answers     map[int]int // by status; 0 if lost
	refused     float64     // per 100 served
	gaveUp      int         // how often a refusal or a local error was returned
	left        int         // who left
	problems    []string
}

func (r result) ratio() float64 { return float64(r.took) / float64(r.least) }

func (r result) String() string {
	return fmt.Sprintf("seed %d: %v: took %v of least %v: %.3f; %.1f refused per 100, gave up %d; %d served, answers %v, bound %.3f",
		r.seed, r.simulation, r.took, r.least, r.ratio(), r.refused, r.gaveUp, r.served, r.answers, r.bound())
}

var (
	errHammers = errors.New("the server is hammered")
	errStalls  = errors.New("it stalls")
)

// forever is after how much longer than the least a simulation is ended.
const forever = 24 * time.Hour

// run runs the simulation in a bubble.
func (s simulation) run(t *testing.T, trace func(string, ...any)) (res result) {
	t.Helper()
	res.simulation = s
	ended := false
	defer func() {
		if !ended { // a bubble in which nothing happens any more panics
			t.Errorf("seed %d did not end: %v", s.seed, s)
		}
	}()
	spins := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("seed %d takes a minute: %v", s.seed, s)) })
	defer spins.Stop()
	problem := func(format string, args ...any) { res.problems = append(res.problems, fmt.Sprintf(format, args...)) }
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins in the year 2000, where seconds since 1970 have nine digits only.
		time.Sleep(time.Until(time.Date(2026, 11, 21, 8, 0, 0, s.rnd(-1, 0, "start").IntN(1e9), time.UTC)))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w := newWorld(s, func() { cancel(errHammers) })
		for _, d := range w.least() {
			res.least += d
		}
		limit := forever
		if s.trouble == late {
			limit *= 10 // each lie is believed for MaxHold
		}
		stall := time.AfterFunc(10*res.least+limit, func() { cancel(errStalls) })
		defer stall.Stop()
		w.trace = trace
		var wg sync.WaitGroup
		if s.trouble == guest {
			wg.Go(func() { w.consume(ctx) })
		}
		var mu sync.Mutex
		ends := make([]time.Duration, heaps)
		transports := make([]*pacer.Transport, s.processes)
		for p := range transports {
			tr := &pacer.Transport{Base: network{w}, MaxWait: 24 * time.Hour, MaxStandstill: 24 * time.Hour, Rand: s.jitter(p)}
			if s.costs > 1 {
				tr.Cost = func(r *http.Request) quota.Costs {
					n, _ := strconv.Atoi(r.Header.Get("Cost"))
					return quota.Costs{quota.Requests: int64(n)}
				}
			}
			transports[p] = tr
			var taken atomic.Int64
			for range s.callers {
				wg.Go(func() {
					for {
						id := (int(taken.Add(1))-1)*s.processes + p
						if id >= s.requests {
							return
						}
						time.Sleep(time.Until(w.start.Add(s.arrival(id))))
						served, gaveUp := w.ask(ctx, tr, &try{id: id, process: p})
						mu.Lock()
						h := s.heap(id)
						ends[h] = max(ends[h], time.Since(w.start)-s.begin(h))
						res.gaveUp += gaveUp
						if served {
							res.served++
						} else {
							res.left++
						}
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		res.makespan = time.Since(w.start)
		if cause := context.Cause(ctx); cause != nil {
			problem("%v: %v after %v", cause, w.answers, res.makespan)
		}
		if len(w.others) > 0 {
			res.least = 0
			for _, d := range w.least() {
				res.least += d
			}
		}
		for _, d := range ends {
			res.took += d
		}
		res.answers = w.answers
		refused := w.answers[http.StatusTooManyRequests] + w.answers[http.StatusServiceUnavailable]
		res.refused = 100 * float64(refused) / max(float64(w.answers[http.StatusOK]), 1)
		if context.Cause(ctx) != nil {
			return
		}
		// Whatever happened, nothing of it is left.
		for p, tr := range transports {
			for _, state := range tr.State() {
				if state.InFlight != 0 || state.Waiting != 0 {
					problem("process %d leaks: %+v", p, state)
				}
			}
		}
		if w.open != 0 {
			problem("%d bodies are not closed", w.open)
		}
		// After a day of idling a request goes at once.
		w.trouble, w.trace = none, nil
		for p, tr := range transports {
			time.Sleep(24 * time.Hour)
			at := time.Now()
			last := &try{id: 1 << 20, process: p}
			w.ask(ctx, tr, last)
			if took, want := time.Since(at), s.way(last.id, 1, "there")+s.way(last.id, 1, "back"); took != want && last.attempts == 1 {
				problem("process %d: after idling a request takes %v, want %v", p, took, want)
			}
		}
	})
	ended = true
	return res
}

// path is what a request asks for: most ask for the same, and some for what few others do.
func (t *try) path() string {
	switch n := t.id % 100; {
	case n < 60:
		return "/common"
	case n < 90:
		return "/less"
	case n < 98:
		return "/rare"
	case n < 99:
		return "/rarer"
	}
	return "/rarest"
}

// jitter is the Rand of a process.
func (s simulation) jitter(process int) func() float64 {
	random := rand.New(rand.NewPCG(s.seed, uint64(process)))
	var mu sync.Mutex
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}
}

// ask sends a request until it is served or its caller has no patience left. It reports
// how often it was given up and sent again.
func (w *world) ask(ctx context.Context, rt http.RoundTripper, t *try) (served bool, gaveUp int) {
	ctx = context.WithValue(ctx, tryKey{}, t)
	if d := w.patience(t.id); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	for ; ; gaveUp++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com"+t.path(), nil)
		if err != nil {
			panic(err)
		}
		req.Header.Set("Cost", strconv.Itoa(w.cost(t.id)))
		resp, err := rt.RoundTrip(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true, gaveUp
			}
		}
		var local *throttle.Error
		wait := time.Second
		if errors.As(err, &local) {
			if _, bounded := ctx.Deadline(); bounded {
				return false, gaveUp // it would not be in time
			}
			wait = max(wait, local.Wait)
		}
		if sleep(ctx, wait) != nil {
			return false, gaveUp
		}
	}
}

// TestSimulations runs whole programs against all kinds of servers, in virtual time, in
// situations that are drawn from a seed: none hammers, stalls or leaks, whatever happens.
//
//	go test -run Simulations -v ./internal/tests/simulation -args -simulations 2000          # and a table of how well it went
//	go test -run Simulations -v ./internal/tests/simulation -args -simulations 1 -seed 1234  # one of them, traced
func TestSimulations(t *testing.T) {
	var results []result
	for i := range uint64(*simulations) {
		s := draw(*first + i)
		var trace func(string, ...any)
		if *simulations == 1 {
			t.Log(s)
			trace = t.Logf
		}
		r := s.run(t, trace)
		results = append(results, r)
		r.check(t)
		if *simulations == 1 {
			t.Log(r)
		}
	}
	if *simulations > 1 && testing.Verbose() {
		report(t.Output(), results)
	}
	if *simulations >= 150 {
		for _, p := range promises {
			p.check(t, results)
		}
	}
}

// promise is what half and three of four simulations keep of those that are judged.
type promise struct {
	several     bool // processes
	voices      []voice
	half, three aim
}

// The bounds are what was measured of the seeds 0 to 149 and 0 to 1999, whichever was more,
// with a margin: 150 of them are few, and each is another server. They are not the aims,
// which report shows as missed.
var promises = []promise{
	{false, []voice{headers, coarse}, aim{1.02, 1}, aim{1.12, 2}},
	{false, []voice{constant, partial, hint, silent}, aim{1.10, 5}, aim{1.40, 10}},
	{true, []voice{headers, coarse, constant, partial, hint, silent}, aim{1.20, 17}, aim{1.60, 38}},
}

func (p promise) check(t *testing.T, results []result) {
	t.Helper()
	var rs []result
	for _, r := range results {
		if r.judged() && r.processes > 1 == p.several && slices.Contains(p.voices, r.voice) {
			rs = append(rs, r)
		}
	}
	ratios, refused := sorted(rs, result.ratio), sorted(rs, func(r result) float64 { return r.refused })
	half, three := aim{at(ratios, 0.5), at(refused, 0.5)}, aim{at(ratios, 0.75), at(refused, 0.75)}
	t.Logf("%v, several processes %v: %d, half within %.3f, three of four within %.3f", p.voices, p.several, len(rs), half, three)
	if half.ratio > p.half.ratio || half.refused > p.half.refused || three.ratio > p.three.ratio || three.refused > p.three.refused {
		t.Errorf("%v, several processes %v: half within %.3f, three of four within %.3f; want %v and %v", p.voices, p.several, half, three, p.half, p.three)
	}
}

// check holds what is true of each.
func (r result) check(t *testing.T) {
	t.Helper()
	for _, p := range r.problems {
		t.Errorf("%s: %v", p, r)
	}
}
