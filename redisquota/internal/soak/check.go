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
	rateOf, stillOf string
	still           time.Duration
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
			if rate := c.rate(q, sends); rate < v.rate {
				v.rate, v.rateOf = rate, l.text
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

// settled is how long after a fault the rate is to be back.
const settled = 2 * time.Second

// rate is what went from settled after the fault on, as a part of what is granted: how long it took, on average, until as many had gone again as are
// granted in Per. Where these begin does not matter, as it would if what went in some windows was counted. Those that went before count, too, as if they
// had not gone more than Per before: so it matters how late the first come. What has not come two Per later, by the end, counts as if it came then. It is
// not a number if Per is too long to tell.
func (c *cell) rate(q *quota.Quota, sends []sending) float64 {
	per, from, to := q.Per.Microseconds(), c.ended.Add(settled).UnixMicro(), c.end.UnixMicro()
	n, sum, gone := 0, int64(0), 0
	for i, s := range sends {
		if s.at >= from && s.at < to {
			gone++
		}
		at := max(s.at, from-per)
		switch {
		case s.at >= to:
		case i+q.N < len(sends) && sends[i+q.N].at < to:
			if next := sends[i+q.N].at; next >= from {
				n, sum = n+1, sum+next-at
			}
		case to-at > 2*per:
			n, sum = n+1, sum+to-at
		}
	}
	switch {
	case gone == 0 && to-from > 2*per:
		return 0
	case n == 0:
		return math.NaN()
	}
	return float64(n) * float64(per) / float64(sum)
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
