package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gopacer/pacer/throttle"
)

// The client comes in two waves shortly before the clock begins a new second. Instants count from when the old one began.
const (
	some       = 5 // requests in the first wave
	firstWave  = 700 * time.Millisecond
	secondWave = 900 * time.Millisecond // it has no end
	end        = 3*per + step/2

	// step is how exactly instants are drawn. All that happens is due at multiples of it; timers are late by a millisecond or so.
	step = 100 * time.Millisecond
)

// way is one of the ways to keep the limit, and what the client got from it.
type way struct {
	name  string
	quota throttle.Quota
	when  string          // one wants it
	went  []time.Duration // when requests did, in order and rounded to steps
}

// ask has the same client ask a limiter of each kind, at the same time.
func ask(ws []*way) error {
	begin := time.Now().Truncate(per)
	if time.Since(begin) > firstWave {
		begin = begin.Add(per)
	}
	errs := make([]error, len(ws))
	var wg sync.WaitGroup
	for i, w := range ws {
		wg.Go(func() { errs[i] = w.ask(begin) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ask waits for one request after the other, until the next would go after the end.
func (w *way) ask(begin time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), begin.Add(end))
	defer cancel()
	l := &throttle.Limiter{Name: w.name, Quotas: throttle.Quotas{w.quota}}
	time.Sleep(time.Until(begin.Add(firstWave)))
	for {
		if len(w.went) == some {
			time.Sleep(time.Until(begin.Add(secondWave)))
		}
		err := l.Wait(ctx, 1)
		at := time.Since(begin).Round(step)
		switch {
		case errors.Is(err, context.DeadlineExceeded), at > end:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.went = append(w.went, at)
	}
}

// fullest returns the first span of the length per in which most went, and how many; what went at its end is not in it. Any span holds no
// less when it is moved to begin with the first that is in it, so that those which begin so are enough to look at.
func (w *way) fullest() (from time.Duration, most int) {
	for _, t := range w.went {
		n := 0
		for _, u := range w.went {
			if t <= u && u < t+per {
				n++
			}
		}
		if n > most {
			from, most = t, n
		}
	}
	return from, most
}

// counts returns how many went at each step.
func (w *way) counts() []int {
	counts := make([]int, end/step+1)
	for _, t := range w.went {
		counts[t/step]++
	}
	return counts
}
