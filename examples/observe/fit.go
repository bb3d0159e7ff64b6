package main

import (
	"slices"
	"time"

	"github.com/gopacer/pacer/pacertest"
	"github.com/gopacer/pacer/quota"
)

// answer is how a server has answered.
type answer struct {
	at      time.Time // when the request went
	refused bool
}

// statement is what a server says of a limit.
type statement struct {
	name   string
	limit  int
	window time.Duration // zero if it does not say
	reset  time.Duration // the longest that was stated; the window is not shorter
}

// state adds a statement to those that are known.
func state(known []statement, s statement) []statement {
	for i, k := range known {
		if k.name == s.name && k.limit == s.limit {
			known[i].window, known[i].reset = max(k.window, s.window), max(k.reset, s.reset)
			return known
		}
	}
	return append(known, s)
}

// candidate is a quota that may be the server's.
type candidate struct {
	quota     quota.Quota
	algorithm pacertest.Algorithm // which counts like it
	stated    bool                // the server states its numbers
	wrong     int                 // answers that the server would have given otherwise, if it were its quota
}

// spans are those in which providers count.
var spans = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 24 * time.Hour,
}

// fit returns the quota that explains the answers best, which are sorted by time. It asks an Algorithm of each
// candidate, as the server was asked, and counts how often it would have answered otherwise. Of equal ones,
// what is stated comes first, and then what is plain: that is never wrong to write.
func fit(answers []answer, stated []statement) (candidate, bool) {
	var all []candidate
	for _, s := range stated {
		for _, span := range s.spans() {
			all = append(all, candidates(span, s.limit, s.limit, s.limit, true)...)
		}
	}
	if slices.ContainsFunc(answers, func(a answer) bool { return a.refused }) {
		lasted := answers[len(answers)-1].at.Sub(answers[0].at)
		for _, span := range spans {
			if span <= lasted {
				all = append(all, counted(answers, span)...)
			}
		}
		all = append(all, buckets(answers)...)
	}
	if len(all) == 0 {
		return candidate{}, false
	}
	best := 0
	for i := range all {
		all[i].wrong = wrong(answers, all[i].algorithm)
		if all[i].wrong < all[best].wrong {
			best = i
		}
	}
	return all[best], true
}

// atOnce is what the server may have seen in another order.
const atOnce = 50 * time.Millisecond

// wrong returns how many answers an algorithm would have given otherwise. Of requests that came at once, only
// how many were admitted counts.
func wrong(answers []answer, algorithm pacertest.Algorithm) (n int) {
	var begin time.Time
	more := 0 // how many more of those at once it admits than the server did
	for _, a := range answers {
		if a.at.Sub(begin) > atOnce {
			n += max(more, -more)
			begin, more = a.at, 0
		}
		if algorithm.Take(a.at, 1).OK {
			more++
		}
		if !a.refused {
			more--
		}
	}
	return n + max(more, -more)
}

// spans returns what the window of a limit may be. If the server states only when it is restored, that is
// rounded by a second, and the longest that was seen is not much shorter than the window, or the server means
// something else by it.
func (s statement) spans() []time.Duration {
	if s.window > 0 {
		return []time.Duration{s.window}
	}
	i := slices.IndexFunc(spans, func(span time.Duration) bool { return span >= s.reset-2*time.Second })
	if i < 0 {
		i = len(spans) - 1
	}
	return spans[i:min(i+3, len(spans))]
}

// counted returns the ways to count in a span up to what was admitted in one, at most.
func counted(answers []answer, span time.Duration) []candidate {
	var log []time.Time // what was admitted in the span that ends now
	var begin, tick time.Time
	var any, fixed, clock, inFixed, inClock int
	for _, a := range answers {
		if a.at.Sub(begin) >= span {
			begin, inFixed = a.at, 0
		}
		if now := a.at.Truncate(span); now.After(tick) {
			tick, inClock = now, 0
		}
		if a.refused {
			continue
		}
		log = append(log, a.at)
		for a.at.Sub(log[0]) >= span {
			log = log[1:]
		}
		inFixed++
		inClock++
		any, fixed, clock = max(any, len(log)), max(fixed, inFixed), max(clock, inClock)
	}
	return candidates(span, any, fixed, clock, false)
}

// candidates returns the ways to count in a span: in any, in one that begins with a request, in one of the
// clock.
func candidates(span time.Duration, any, fixed, clock int, stated bool) []candidate {
	return []candidate{
		{quota.Quota{N: int64(any), Per: span}, &pacertest.SlidingLog{Limit: any, Window: span}, stated, 0},
		{quota.Quota{N: int64(fixed), Per: span, Kind: quota.FixedWindow}, &pacertest.FixedWindow{Limit: fixed, Window: span}, stated, 0},
		{quota.Quota{N: int64(clock), Per: span, Kind: quota.ClockWindow}, &pacertest.ClockWindow{Limit: clock, Window: span}, stated, 0},
	}
}

// buckets returns token buckets: how many tokens come back in a second is seen while the server refuses, and
// how many there were at first by how many it admitted before.
func buckets(answers []answer) (all []candidate) {
	first := slices.IndexFunc(answers, func(a answer) bool { return a.refused })
	later := 0
	for _, a := range answers[first:] {
		if !a.refused {
			later++
		}
	}
	lasted := answers[len(answers)-1].at.Sub(answers[first].at).Seconds()
	if lasted < 1 || later == 0 {
		return nil
	}
	for rate := max(int(float64(later)/lasted)-1, 1); rate <= int(float64(later)/lasted)+2; rate++ {
		burst := first - int(float64(rate)*answers[first].at.Sub(answers[0].at).Seconds())
		for b := max(burst-1, 1); b <= burst+1; b++ {
			all = append(all, candidate{quota: quota.Quota{N: int64(rate), Burst: int64(b)}, algorithm: &pacertest.TokenBucket{Rate: float64(rate), Burst: b}})
		}
	}
	return all
}
