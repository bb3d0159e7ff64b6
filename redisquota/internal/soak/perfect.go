//go:build unix

package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
)

// This file is the same in the soaks of redisquota and of filequota, which are modules of their own: TestTwins
// of internal/tests/rooms compares them.

// rate is how much went in a span, as a part of what goes if all is sent as soon as the quota allows it, after
// what went before the span: how much had gone on average in the last Per of the span, so that it does not
// matter where windows end. After a pause the second window of an estimate lets go evenly what the first one
// lets go at once, so there are no two spans of it in which the same goes. It is not a number if Per is too
// long to tell. Windows of the clock are those of a clock that is ahead by off.
func rate(q *quota.Quota, sends []sending, begin, end time.Time, off time.Duration) float64 {
	from, to, per := begin.UnixMicro(), end.UnixMicro(), q.Per.Microseconds()
	if to-from < 2*per {
		return math.NaN()
	}
	gone := func(all []sending) (sum float64) {
		for _, s := range all {
			if s.at >= from && s.at < to {
				sum += float64(to - max(s.at, to-per))
			}
		}
		return sum
	}
	return gone(sends) / gone(ideal(q, sends, from, to, off))
}

// ideal is what goes in a span if all is sent as soon as the quota allows it, one by one, after what went
// before the span. A burst that is left before it is not sent: a bucket that was lost has none.
func ideal(q *quota.Quota, sends []sending, from, to int64, off time.Duration) (all []sending) {
	before, _ := slices.BinarySearchFunc(sends, from, func(s sending, at int64) int { return cmp.Compare(s.at, at) })
	next := allows(q, sends[:before], off.Microseconds())
	at := next(from)
	for q.Kind == quota.TokenBucket && at == from {
		at = next(from)
	}
	for ; at < to; at = next(at) {
		all = append(all, sending{at: at, cost: 1})
	}
	return all
}

// allows returns what says when a quota allows one more, not before an instant, after sends and what it has
// said so far.
func allows(q *quota.Quota, sends []sending, off int64) (next func(at int64) int64) {
	per := q.Per.Microseconds()
	switch q.Kind {
	case quota.TokenBucket:
		each, full := float64(per)/float64(q.N), 0.0 // full is when the bucket is
		take := func(at int64) { full = max(full, float64(at)) + each }
		for _, s := range sends {
			take(s.at)
		}
		return func(at int64) int64 {
			at = max(at, int64(math.Ceil(full-float64(max(q.Burst, 1)-1)*each)))
			take(at)
			return at
		}
	case quota.ClockWindow, quota.EstimatedWindow:
		in := map[int64]int{}
		for _, s := range sends {
			in[(s.at+off)/per]++
		}
		return func(at int64) int64 {
			for ; ; at++ {
				window, over := (at+off)/per, (at+off)%per
				before := 0.0
				if q.Kind == quota.EstimatedWindow {
					before = float64(in[window-1])
				}
				room := float64(q.N) + 0.5 - float64(in[window]+1) // for what counts of the window before
				if room > before*(1-float64(over)/float64(per)) {
					in[window]++
					return at
				}
				if wait := int64((1 - room/before) * float64(per)); room > 0 && wait > over {
					at += min(wait, per) - over - 1
				} else if room <= 0 {
					at += per - over - 1
				}
			}
		}
	default:
		var at []int64
		for _, s := range sends {
			at = append(at, s.at)
		}
		return func(t int64) int64 {
			if n := int64(len(at)) - q.N; n >= 0 {
				t = max(t, at[n]+per)
			}
			at = append(at, t)
			return t
		}
	}
}
