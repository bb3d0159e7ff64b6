//go:build unix

package main

import (
	"cmp"
	"fmt"
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
		qs := quota.MustParse(l.text).Explicit()
		q := &qs[0]
		sends := c.sends[i]
		slices.SortFunc(sends, func(a, b sending) int { return cmp.Compare(a.at, b.at) })
		for i := range qs {
			over := c.over(&qs[i], sends)
			if over > 0 {
				v.notes = append(v.notes, fmt.Sprintf("%s of %s: %d", qs[i].String(), l.text, over))
			}
			v.over = max(v.over, over)
		}
		if !l.uneven && len(qs) == 1 {
			if rate := rate(q, sends, c.ended.Add(settled), c.end, c.fault.sets); rate < v.rate {
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

// over returns how many tokens went beyond what a quota grants: what a server that counts exactly, and hears of
// each sending up to slack late, would have refused at the worst instant.
func (c *cell) over(q *quota.Quota, sends []sending) (over int) {
	per := q.Per.Microseconds()
	late := slack.Microseconds()
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
			over = max(over, int(level-burst))
		}
	case quota.ClockWindow, quota.EstimatedWindow:
		if c.fault.clock {
			return c.inSpan(sends, per-late, int(2*q.N)) // nobody knows the windows
		}
		in := map[int64]int{}
		for _, s := range sends {
			if s.at%per > late {
				in[s.at/per] += s.cost
				over = max(over, in[s.at/per]-int(q.N))
			}
		}
	default:
		return c.inSpan(sends, per-late, int(q.N))
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

// back is how long after a fault the rate is whole from then on; if it never is, as long as can be told.
func (c *cell) back(q *quota.Quota, sends []sending) (d time.Duration) {
	for c.ended.Add(d).Before(c.end) && rate(q, sends, c.ended.Add(d), c.end, c.fault.sets) < whole {
		d += 100 * time.Millisecond
	}
	return d
}

// still is the longest time in which nothing went, since the fault began, less how long the outage was, and
// less a window, which may be used up at once.
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
