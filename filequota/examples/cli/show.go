package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// outcome is what came of many runs.
type outcome struct {
	took    time.Duration
	refused int
	tallies []tally
}

// show has an API, calls the tool many times, and tells how that went.
func show(ctx context.Context, out io.Writer, runs, parallel, n int, only bool) error {
	dir, err := os.MkdirTemp("", "cli")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	q := granted.Explicit()[0]
	fmt.Fprintf(out, "An API grants %v. A tool is called %d times, %d at a time, and sends %d requests each time.\n\n", granted, runs, parallel, n)
	fmt.Fprintf(out, "%-16s %9s %9s %9s %7s %12s %12s\n", "", "answered", "refused", "took", "of all", "first after", "end")
	for _, name := range []string{"each for itself", "sharing"} {
		if only && name != "sharing" {
			continue
		}
		shared := ""
		if name == "sharing" {
			shared = dir
		}
		o, err := call(ctx, runs, parallel, n, shared)
		if err != nil {
			return err
		}
		answered := runs * n
		least := float64(int64(answered)-q.Burst) / float64(q.N) * q.Per.Seconds()
		fmt.Fprintf(out, "%-16s %9d %9d %9v %7.3f %12v %12v\n", name, answered, o.refused, o.took.Round(time.Millisecond), least/o.took.Seconds(),
			median(o.tallies, func(t tally) time.Duration { return t.Begin }), median(o.tallies, func(t tally) time.Duration { return t.End }))
	}
	fmt.Fprint(out, `
Of all is the least time in which the API can serve them, beside what it took. First after is how long
a run takes until its first request may go, and end how long it takes to give back what it has in
hand: medians. Each for itself, a run knows the quota and not the others.
`)
	return nil
}

// call calls the tool so many times.
func call(ctx context.Context, runs, parallel, n int, dir string) (o outcome, err error) {
	exe, err := os.Executable()
	if err != nil {
		return o, err
	}
	url, end, err := start(ctx, exe)
	if err != nil {
		return o, err
	}
	begin := time.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex // protects o and err
	left := make(chan struct{}, runs)
	for range runs {
		left <- struct{}{}
	}
	close(left)
	for range parallel {
		wait.Go(func() {
			for range left {
				cmd := exec.CommandContext(ctx, exe, "-dir", dir, "-n", strconv.Itoa(n), url)
				cmd.Stderr = os.Stderr
				text, runErr := cmd.Output()
				var t tally
				if runErr == nil {
					runErr = json.Unmarshal(text, &t)
				}
				mu.Lock()
				o.tallies, err = append(o.tallies, t), errors.Join(err, runErr)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	o.took = time.Since(begin)
	var endErr error
	o.refused, endErr = end()
	return o, errors.Join(err, endErr)
}

func median(all []tally, of func(tally) time.Duration) time.Duration {
	var ds []time.Duration
	for _, t := range all {
		ds = append(ds, of(t))
	}
	slices.Sort(ds)
	return ds[len(ds)/2].Round(time.Microsecond)
}
