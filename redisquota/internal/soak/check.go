//go:build unix

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
)

// verdict is how one quota, or the worst of all, went.
type verdict struct {
	over            int
	rate            float64
	back, still     time.Duration
	rateOf, stillOf string
	backOf          string
	share           float64
	notes           []string
}

// worst is of each number the worst of all quotas.
func (c *cell) worst() (v verdict) {
	v.rate = 2
	for i, l := range chosen() {
		q := &quota.MustParse(l.text).Explicit()[0]
		sends := c.sends[i]
		slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
		over := c.over(q, sends)
		if over > 0 {
			v.notes = append(v.notes, fmt.Sprintf("%s: %d", l.text, over))
		}
		v.over = max(v.over, over)
		if !l.uneven {
			if rate := c.rate(q, sends, c.ended.Add(settled), c.end); rate < v.rate {
				v.rate, v.rateOf = rate, l.text
			}
			if back := c.back(q, sends); back > v.back {
				v.back, v.backOf = back, l.text
			}
			if q.Kind == quota.TokenBucket { // a window is used up by whoever comes first
				v.share = max(v.share, c.share(sends))
			}
		}
		if still := c.still(q, sends); still > v.still && !l.uneven {
			v.still, v.stillOf = still, l.text
		}
	}
	return v
}

// over returns how many tokens went beyond what a quota grants: what a server that counts exactly, and hears of each
// sending up to slack late, would have refused at the worst instant.
func (c *cell) over(q *quota.Quota, sends []sending) (over int) {
	per := q.Per.Microseconds()
	late := slack.Microseconds()
	switch q.Kind {
	case quota.TokenBucket:
		level, last := 0.0, int64(0)
		burst := float64(max(q.Burst, 1)) + float64(q.N)*slack.Seconds()/q.Per.Seconds()
		if q.Burst <= 1 { // what is due within Late may go at once: see store.Store
			burst++
		}
		for _, s := range sends {
			level = max(level-float64(s.at-last)*float64(q.N)/float64(per), 0) + float64(s.cost)
			last = s.at
			over = max(over, int(level-burst))
		}
	case quota.ClockWindow, quota.EstimatedWindow:
		if c.fault.clock {
			return c.inSpan(sends, per-late, 2*q.N) // nobody knows the windows
		}
		in := map[int64]int{}
		for _, s := range sends {
			if s.at%per > late {
				in[s.at/per] += s.cost
				over = max(over, in[s.at/per]-q.N)
			}
		}
	default:
		return c.inSpan(sends, per-late, q.N)
	}
	return over
}

func (c *cell) inSpan(sends []sending, span int64, most int) (over int) {
	sum, first := 0, 0
	for _, s := range sends {
		for sum += s.cost; sends[first].at <= s.at-span; first++ {
			sum -= sends[first].cost
		}
		over = max(over, sum-most)
	}
	return over
}

// settled is how long after a fault the rate is to be back, and whole what it then is at least.
const (
	settled = 2 * time.Second
	whole   = 0.98
)

// rate is how much went in a span, as a part of what goes if all is sent as soon as the quota allows it, after what went before the span: how much
// had gone on average in the last Per of the span, so that it does not matter where windows end. After a pause the second window of an estimate
// lets go evenly what the first one lets go at once, so there are no two spans of it in which the same goes. It is not a number if Per is too long to tell.
func (c *cell) rate(q *quota.Quota, sends []sending, begin, end time.Time) float64 {
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
	return gone(sends) / gone(c.ideal(q, sends, from, to))
}

// back is how long after a fault the rate is whole from then on; if it never is, as long as can be told.
func (c *cell) back(q *quota.Quota, sends []sending) (d time.Duration) {
	for c.ended.Add(d).Before(c.end) && c.rate(q, sends, c.ended.Add(d), c.end) < whole {
		d += 100 * time.Millisecond
	}
	return d
}

// ideal is what goes in a span if all is sent as soon as the quota allows it, one by one, after what went before the span. A burst that is left
// before it is not sent: a bucket that was lost has none.
func (c *cell) ideal(q *quota.Quota, sends []sending, from, to int64) (all []sending) {
	before, _ := slices.BinarySearchFunc(sends, from, func(s sending, at int64) int { return cmp.Compare(s.at, at) })
	next := c.allows(q, sends[:before])
	at := next(from)
	for q.Kind == quota.TokenBucket && at == from {
		at = next(from)
	}
	for ; at < to; at = next(at) {
		all = append(all, sending{at: at, cost: 1})
	}
	return all
}

// allows returns what says when a quota allows one more, not before an instant, after sends and what it has said so far.
func (c *cell) allows(q *quota.Quota, sends []sending) (next func(at int64) int64) {
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
		off, in := c.fault.sets.Microseconds(), map[int64]int{} // the clock of the server goes so
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
			if n := len(at) - q.N; n >= 0 {
				t = max(t, at[n]+per)
			}
			at = append(at, t)
			return t
		}
	}
}

// still is the longest time in which nothing went, since the fault began, less how long the outage was, and less a
// window, which may be used up at once.
func (c *cell) still(q *quota.Quota, sends []sending) (longest time.Duration) {
	last := c.began.UnixMicro()
	for _, s := range append(slices.Clone(sends), sending{at: c.end.UnixMicro()}) {
		if s.at > last && s.at <= c.end.UnixMicro() {
			longest = max(longest, time.Duration(s.at-last)*time.Microsecond)
			last = s.at
		}
	}
	if longest -= c.fault.outage; q.Kind != quota.TokenBucket {
		longest -= q.Per
	}
	return max(longest, 0)
}

// share is by how much a process that was there all the time got more or less than the average.
func (c *cell) share(sends []sending) (most float64) {
	each, sum := map[int]int{}, 0
	for by := range c.workers {
		if !c.gone[by] {
			each[by] = 0
		}
	}
	for _, s := range sends {
		if _, ok := each[s.by]; ok && s.at > c.ended.Add(settled).UnixMicro() && s.at < c.end.UnixMicro() {
			each[s.by]++
			sum++
		}
	}
	n := len(each)
	for _, k := range each {
		most = max(most, max(float64(k*n-sum), float64(sum-k*n))/max(float64(sum), 1))
	}
	return most
}
