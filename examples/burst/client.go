package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle"
)

// The client comes in two waves, shortly before a window of the clock ends. The instants of the waves
// count from the start of that window.
const (
	some       = 5 // requests in the first wave
	firstWave  = 700 * time.Millisecond
	secondWave = 900 * time.Millisecond // its requests never end
)

// ask has the same client ask one limiter for each way, all at the same time.
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

// ask makes one request after the other, until the next one would go after the end.
func (w *way) ask(begin time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), begin.Add(end))
	defer cancel()
	l := &throttle.Limiter{Name: w.name, Quotas: quota.Quotas{w.quota}}
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
