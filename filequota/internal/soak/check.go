//go:build unix

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gopacer/pacer/quota"
)

// verdict is the worst of each number, and of which quota.
type verdict struct {
	over            int
	rate            float64
	rateOf, stillOf string
	still           time.Duration
	notes           []string
}

func (c *cell) worst() (v verdict) {
	v.rate = 9
	for i, l := range chosen() {
		q := &quota.MustParse(l.text).Explicit()[0]
		sends := c.sends[i]
		slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
		if n := over(q, sends); n > 0 {
			v.notes = append(v.notes, fmt.Sprintf("%s: %d", l.text, n))
			v.over = max(v.over, n)
		}
		if l.uneven {
			continue
		}
		if rate := rate(q, sends, c.ended.Add(settled), c.end, 0); rate < v.rate {
			v.rate, v.rateOf = rate, l.text
		}
		if still := c.still(q, sends); still > v.still {
			v.still, v.stillOf = still, l.text
		}
	}
	return v
}

// over returns how many tokens went beyond what a quota grants: what a server that counts exactly, and hears of
// each sending up to slack late, would have refused at the worst instant.
func over(q *quota.Quota, sends []sending) (most int) {
	per, late := q.Per.Microseconds(), slack.Microseconds()
	switch q.Kind {
	case quota.TokenBucket:
		level, last := 0.0, int64(0)
		burst := float64(max(q.Burst, 1)) + float64(q.N)*slack.Seconds()/q.Per.Seconds()
		if q.Burst <= 1 { // what is due within SlotLife may go at once: see store.Store
			burst++
		}
		for _, s := range sends {
			level = max(level-float64(s.at-last)*float64(q.N)/float64(per), 0) + float64(s.cost)
			last = s.at
			most = max(most, int(level-burst))
		}
	case quota.ClockWindow, quota.EstimatedWindow:
		in := map[int64]int{}
		for _, s := range sends {
			if s.at%per > late {
				in[s.at/per] += s.cost
				most = max(most, in[s.at/per]-int(q.N))
			}
		}
	default:
		sum, first := 0, 0
		for _, s := range sends {
			for sum += s.cost; sends[first].at <= s.at-per+late; first++ {
				sum -= sends[first].cost
			}
			most = max(most, sum-int(q.N))
		}
	}
	return most
}

// settled is how long after a fault the rate is to be back.
const settled = 2 * time.Second

// still is the longest time in which nothing went, since the fault began, less a window, which may be used up
// at once.
func (c *cell) still(q *quota.Quota, sends []sending) (longest time.Duration) {
	last := c.began.UnixMicro()
	for _, s := range append(slices.Clone(sends), sending{at: c.end.UnixMicro()}) {
		if s.at > last && s.at <= c.end.UnixMicro() {
			longest = max(longest, time.Duration(s.at-last)*time.Microsecond)
			last = s.at
		}
	}
	if q.Kind != quota.TokenBucket {
		longest -= q.Per
	}
	return max(longest, 0)
}
