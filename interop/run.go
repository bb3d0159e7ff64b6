package interop

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// between is the least time from one cell's start to the next one's, so that their
// first bursts, which are all the work that there is, do not fall together.
const between = 150 * time.Millisecond

// Run measures every cell so many times, several of them side by side, and tells of
// each result as it comes, one after another. Cells that could not be measured are in
// the error.
func Run(ctx context.Context, cells []Cell, runs, parallel int, logs string, tell func(Result)) ([]Result, error) {
	var mu sync.Mutex // one tells after another
	results, errs := make([]Result, runs*len(cells)), make([]error, runs*len(cells))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, i := range rand.Perm(len(results)) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if results[i], errs[i] = cells[i%len(cells)].steady(ctx, logs); errs[i] == nil {
				mu.Lock()
				defer mu.Unlock()
				tell(results[i])
			}
		})
		if pause(ctx, between) != nil {
			break
		}
	}
	wg.Wait()
	done := slices.DeleteFunc(results, func(r Result) bool { return r.Wanted == 0 })
	return done, errors.Join(append(errs, context.Cause(ctx))...)
}
