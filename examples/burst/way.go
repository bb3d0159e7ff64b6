package main

import (
	"time"

	"github.com/gopacer/pacer/quota"
)

const (
	limit = 10 // requests in per
	per   = time.Second

	// end is when the client stops, counted from the start of the first window of the clock.
	end = 3*per + step/2

	// step is the resolution of the drawing. Every request is due at a multiple of it; timers are
	// late by about a millisecond.
	step = 100 * time.Millisecond
)

// way is one of the ways to keep the limit, and what the client got from it.
type way struct {
	name  string
	quota quota.Quota
	when  string          // when a program should choose this way
	went  []time.Duration // the instants at which requests went, in order and rounded to steps
}

// ways returns the ways to keep the limit.
func ways() []*way {
	return []*way{
		{
			name:  "fixed window counter",
			quota: quota.Quota{N: limit, Per: per, Kind: quota.ClockWindow},
			when:  "When the provider counts by the clock: all that it grants, as soon as it does.",
		},
		{
			name:  "sliding window",
			quota: quota.Quota{N: limit, Per: per, Kind: quota.SlidingWindow, Cells: 4},
			when:  "When a log would take too much memory: tokens are back up to one cell late.",
		},
		{
			name:  "sliding log",
			quota: quota.Quota{N: limit, Per: per, Kind: quota.SlidingLog},
			when:  "When nobody says how the provider counts: no window of Per sees more than N.",
		},
		{
			name:  "leaky bucket",
			quota: quota.Quota{N: limit, Per: per, Burst: 1},
			when:  "When the provider should see a steady pace and no bursts: a job that has time.",
		},
		{
			name:  "token bucket",
			quota: quota.Quota{N: limit, Per: per, Burst: 5},
			when:  "When somebody waits: a burst of the size that you choose comes on top of N.",
		},
	}
}

// fullest returns the start of the fullest span of the length per, and how many requests went in it.
// A request at the end of a span is not in the span. If several spans are equally full, fullest
// returns the first one.
//
// It looks only at spans that start with a request. Any other span can be moved until it starts with
// its first request, and then it has as many requests or more.
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

// counts returns how many requests went at each step.
func (w *way) counts() []int {
	counts := make([]int, end/step+1)
	for _, t := range w.went {
		counts[t/step]++
	}
	return counts
}
