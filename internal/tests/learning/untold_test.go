package learning

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacer/pacer"
	"github.com/gopacer/pacer/internal/tests/lab"
	"github.com/gopacer/pacer/internal/tests/whole"
	"github.com/gopacer/pacer/pacertest"
)

// untold is a program that sends so many requests as the server allows, times load, evenly for so many windows,
// to a server that refuses with a status and says nothing else. Nobody gives up before that.
type untold struct {
	algorithm      pacertest.Algorithm
	limit          int
	window         time.Duration
	load           float64
	status         int
	takes          time.Duration // an answer of a request that is served, once it was counted
	windows, early int           // early ones are those in which it may be learned
}

// untoldKinds are the algorithms that a server may have of which so many are allowed in a window.
var untoldKinds = []struct {
	name string
	of   func(r *rand.Rand, limit int, window time.Duration) pacertest.Algorithm
}{
	{"log", func(_ *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.SlidingLog{Limit: limit, Window: window}
	}},
	{"cells", func(_ *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.SlidingWindow{Limit: limit, Window: window}
	}},
	{"window", func(_ *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.FixedWindow{Limit: limit, Window: window}
	}},
	{"clock", func(r *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.ClockWindow{Limit: limit, Window: window, Phase: time.Duration(r.Float64() * float64(window))}
	}},
	{"estimate", func(r *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.EstimatedWindow{Limit: limit, Window: window, Phase: time.Duration(r.Float64() * float64(window))}
	}},
	{"GCRA", func(r *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.GCRA{Rate: float64(limit) / window.Seconds(), Burst: max(1, limit/(1+r.IntN(10)))}
	}},
	{"bucket", func(_ *rand.Rand, limit int, window time.Duration) pacertest.Algorithm {
		return &pacertest.TokenBucket{Rate: float64(limit) / window.Seconds(), Burst: limit}
	}},
}

func (u *untold) String() string {
	return fmt.Sprintf("%4d in %-8v × %.2f, %d", u.limit, u.window.Round(time.Second), u.load, u.status)
}

func (u *untold) gap() time.Duration {
	return time.Duration(u.window.Seconds() / float64(u.limit) / u.load * float64(time.Second))
}

// possible is how many can be served until an instant, if each goes as soon as it may.
func (u *untold) possible(start time.Time, end time.Duration) (n int) {
	a, at := u.algorithm.Fresh(), start
	for ; ; n++ {
		if asked := start.Add(time.Duration(n) * u.gap()); asked.After(at) {
			at = asked
		}
		for v := a.Take(at, 1); !v.OK; v = a.Take(at, 1) {
			at = at.Add(v.RetryAfter)
		}
		if at.Sub(start) >= end {
			return n
		}
	}
}

// untoldCourse is how it went: what was refused per 100 that the server answered in the first window, in the
// other early ones, and after that; how many of these reached a caller; and what was served of what is
// possible.
type untoldCourse struct {
	first, early, later, share float64
	failed                     int
}

func (c *untoldCourse) String() string {
	return fmt.Sprintf("refused per 100 %5.1f in the first window, %5.1f in those after it, %5.1f later; %3d failed; share %.3f", c.first, c.early, c.later, c.failed, c.share)
}

func (u *untold) run(t *testing.T) (c untoldCourse) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab.UntilToday()
		server := pacertest.NewServer(u.algorithm, pacertest.NoHeaders)
		server.Status = u.status
		start, end := time.Now(), time.Duration(u.windows)*u.window
		direct := lab.Direct(server)
		var mu sync.Mutex
		var served, refused [3]int
		base := lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(latency)
			span := min((int(time.Since(start)/u.window)+u.early-2)/(u.early-1), 2)
			resp, err := direct(r)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode == http.StatusOK {
				time.Sleep(u.takes)
			}
			mu.Lock()
			defer mu.Unlock()
			if resp.StatusCode == http.StatusOK {
				served[span]++
			} else {
				refused[span]++
			}
			return resp, nil
		})
		client := &http.Client{Transport: &pacer.Transport{Base: base, Rand: lab.Zero}}
		ctx, cancel := context.WithTimeout(t.Context(), end)
		defer cancel()
		var wg sync.WaitGroup
		for ; time.Since(start) < end; time.Sleep(u.gap()) {
			wg.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
				if err != nil {
					panic(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					return // the time is over
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					mu.Lock()
					c.failed++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		part := func(i int) float64 { return 100 * float64(refused[i]) / float64(max(refused[i]+served[i], 1)) }
		c.first, c.early, c.later = part(0), part(1), part(2)
		c.share = float64(served[0]+served[1]+served[2]) / float64(u.possible(start, end))
	})
	return c
}

// TestUntoldLimits: a server that says nothing but 429, as many do that allow so much a minute or an hour,
// refuses few once five windows have shown how it counts, and nearly all is served that it allows. With more
// courses, other limits, windows and loads are drawn, and one of three servers says 503.
func TestUntoldLimits(t *testing.T) {
	kinds := untoldKinds
	if *courses == 1 {
		kinds = append(kinds[:len(kinds):len(kinds)], kinds[0], kinds[0]) // and a log that says 503, and one whose answers take long
	}
	for k, kind := range kinds {
		if *courses == 1 && !whole.Part(3, fmt.Sprint(kind.name, k)) {
			continue
		}
		each(t, func(seed uint64) {
			r := rand.New(rand.NewPCG(seed, uint64(k)))
			draw := func(least, most float64) float64 { return least * math.Pow(most/least, r.Float64()) }
			u := untold{limit: 60, window: time.Minute, load: 2, status: 429, windows: 20, early: 5}
			mayFail, share := 0, 0.95
			switch k {
			case len(untoldKinds):
				u.status, mayFail = 503, 12 // nobody knows at first that these are refusals
			case len(untoldKinds) + 1:
				u.takes, mayFail, share = u.window/10, 4, 0.93 // slow starts take longer, too
			}
			if *courses > 1 {
				u.limit, u.window, u.load = int(draw(10, 1000)), time.Duration(draw(10, 3600))*time.Second, draw(0.5, 2)
				u.status = []int{429, 429, 503}[r.IntN(3)]
			}
			u.algorithm = kind.of(r, u.limit, u.window)
			c := u.run(t)
			t.Logf("%-8s %v: %v", kind.name, &u, &c)
			if *courses == 1 && (c.later > 2 || c.failed > mayFail || c.share < share) {
				t.Errorf("%s, %v: %+v, want 2 refused per 100 at most after the fifth window, %d that fail, and %v served", kind.name, &u, c, mayFail, share)
			}
		})
	}
}

// TestUntoldSlowAnswers: three processes that do not know of each other, of one caller each, ask a bucket of 30
// a minute for half as much again as it allows, and answers take 0.6 to 6 s. Who waits for an answer does not
// pause: so a pace is measured.
func TestUntoldSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lasts = 20 * time.Minute
		bucket, random, start := &pacertest.TokenBucket{Rate: 0.5, Burst: 30}, rand.New(rand.NewPCG(3, 7)), time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		served, refused, failed := 0, 0, 0
		for p := range uint64(3) {
			jitter := rand.New(rand.NewPCG(p, 5))
			c := &http.Client{Transport: &pacer.Transport{Rand: jitter.Float64, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(latency)
				mu.Lock()
				defer mu.Unlock()
				if !bucket.Take(time.Now(), 1).OK {
					refused++
					return lab.Answer(r, http.StatusTooManyRequests, ""), nil
				}
				served++
				took := time.Duration(0.6 * math.Pow(10, random.Float64()) * float64(time.Second))
				mu.Unlock()
				time.Sleep(took)
				mu.Lock()
				return lab.Answer(r, http.StatusOK, ""), nil
			})}}
			all.Go(func() {
				for time.Since(start) < lasts {
					if resp, err := c.Get("http://a.example/"); err != nil || resp.StatusCode != http.StatusOK {
						mu.Lock()
						failed++
						mu.Unlock()
						time.Sleep(time.Second)
					}
				}
			})
		}
		all.Wait()
		if served < 600 || 100*refused > 60*served || failed > 5 {
			t.Errorf("%d served, %d refused, %d failed, want 600, 60 of 100 at most, and 5", served, refused, failed)
		}
	})
}

// TestUntoldFew: of a server that allows 5 to 20 requests a minute and says nothing, few are refused once ten
// windows have shown how it counts, and nearly all is served that it allows: of 30 windows of 5, three looks
// for more are 2 per 100. With more courses, the load and where the clock stands are drawn.
func TestUntoldFew(t *testing.T) {
	for k, kind := range untoldKinds {
		if *courses == 1 && !whole.Part(3, kind.name) {
			continue
		}
		each(t, func(seed uint64) {
			limits, later, share := []int{5, 7, 10, 20}, 0.0, 0.0
			for _, limit := range limits {
				r := rand.New(rand.NewPCG(seed, uint64(100*k+limit)))
				u := untold{limit: limit, window: time.Minute, load: 2, status: 429, windows: 40, early: 10}
				if *courses > 1 {
					u.load = 1.1 + r.Float64()
				}
				u.algorithm = kind.of(r, u.limit, u.window)
				c := u.run(t)
				t.Logf("%-8s %v: %v", kind.name, &u, &c)
				later, share = later+c.later, share+c.share
			}
			later, share = later/float64(len(limits)), share/float64(len(limits))
			if most := untoldFew[kind.name]; *courses == 1 && (later > most.later || share < most.share) {
				t.Errorf("%s: %.1f refused per 100 after the tenth window, and %.3f served, want %v at most and %v", kind.name, later, share, most.later, most.share)
			}
			t.Logf("%-8s all: %.2f %.3f", kind.name, later, share)
		})
	}
}

// untoldFew is how many per 100 may be refused later, and what share is served, in the mean of all limits. Of
// requests that go in the same instant, chance says which goes first: a look more or less, or now and then a
// clock's window of 10 that is refused 8 per 100. A pace that rises and is refused shows less than a window
// that is used up.
var untoldFew = map[string]struct{ later, share float64 }{
	"log": {3.5, 0.99}, "cells": {3.5, 0.99}, "window": {3.5, 0.99}, "clock": {6, 0.99},
	"estimate": {7, 0.92}, "GCRA": {7, 0.88}, "bucket": {6, 0.98},
}

// asks sends a request every so often for a while, and returns how many of its first hundred answers were
// refusals, and how many were served in its first ten windows. What was learned is in the file before and after
// it.
func (u *untold) asks(t *testing.T, server http.RoundTripper, file *bytes.Buffer, span time.Duration) (refused, served int) {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	answers := 0
	tr := &pacer.Transport{Rand: lab.Zero, Base: lab.RoundTripper(func(r *http.Request) (*http.Response, error) {
		time.Sleep(latency)
		resp, err := server.RoundTrip(r)
		mu.Lock()
		defer mu.Unlock()
		if answers++; resp.StatusCode != http.StatusOK && answers <= 100 {
			refused++
		}
		if resp.StatusCode == http.StatusOK && time.Since(start) < 10*u.window {
			served++
		}
		return resp, err
	})}
	if file.Len() > 0 {
		if err := tr.Load(file); err != nil {
			t.Fatal(err)
		}
		file.Reset()
	}
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	client := &http.Client{Transport: tr}
	var wg sync.WaitGroup
	for ; time.Since(start) < span; time.Sleep(u.gap()) {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
			if err != nil {
				panic(err)
			}
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if err := tr.Save(file); err != nil {
		t.Fatal(err)
	}
	return refused, served
}

// TestUntoldFewAgain: a second run of a program begins as the first one has ended, at a server that allows few
// requests a minute and says nothing: of its first hundred answers one is a refusal at most, a look for more;
// of 20 a minute, that look is a flight of five. An estimate, GCRA and a bucket go at a pace, and are refused
// as often as at the end of the first run.
func TestUntoldFewAgain(t *testing.T) {
	for k, kind := range untoldKinds {
		for i, limit := range []int{5, 7, 10, 20} {
			if !whole.Part(4, fmt.Sprint(kind.name, limit)) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				lab.UntilToday()
				u := untold{limit: limit, window: time.Minute, load: 2}
				u.algorithm = kind.of(rand.New(rand.NewPCG(1, uint64(100*k+limit))), limit, u.window)
				server := lab.Direct(pacertest.NewServer(u.algorithm, pacertest.NoHeaders))
				var file bytes.Buffer
				first, _ := u.asks(t, server, &file, 40*u.window)
				size := file.Len()
				time.Sleep(time.Duration(i) * 20 * time.Second)
				again, served := u.asks(t, server, &file, time.Duration(100/limit+2)*u.window)
				most, least := 1, min(10, 100/limit+2)*limit
				switch {
				case k > 3:
					most, least = 8, least*8/10
				case limit == 20:
					most = 5
				}
				t.Logf("%-8s %2d a minute: %d refused of the first hundred, %d in the first run; %d served in ten windows; %d bytes", kind.name, limit, again, first, served, size)
				if again > most || served < least {
					t.Errorf("%s, %d a minute: %d refused of the first hundred, and %d served in ten windows, want %d at most and %d", kind.name, limit, again, served, most, least)
				}
			})
		}
	}
}
