package throttle

import (
	"fmt"
	"math"
	"time"
)

// Priority is how urgent a claim is. Those that wait go in the order of the time at
// which they first asked, where one of a higher priority is taken to have asked
// Limiter.Ageing earlier for each step. So nobody is overtaken by a claim that
// comes later than Ageing, twice Ageing for Background behind Urgent, after it.
type Priority int

// The priorities. What is above Urgent counts as Urgent, and what is below Background
// as Background.
const (
	Background Priority = iota - 1 // may wait: prefetching, batches
	Normal                         // all that say nothing
	Urgent                         // somebody waits for it; may use what Limiter.Reserve keeps back
)

const classes = int(Urgent-Background) + 1

// class is the index of a priority.
func (p Priority) class() int { return int(min(max(p, Background), Urgent) - Background) }

// rank is the instant at which one who asked at since, with priority p, is taken to
// have asked. The order of two ranks never changes: all who wait age alike.
func (l *Limiter) rank(since instant, p Priority) instant {
	ageing := l.Ageing
	switch {
	case ageing == 0:
		ageing = 10 * time.Second
	case ageing < 0 || ageing > ages:
		ageing = ages
	}
	return since.add(-time.Duration(p.class()-Normal.class()) * ageing)
}

// want is what a claim asks for.
type want struct {
	demand
	priority Priority
}

// urgent reports whether w may use what is reserved.
func (w *want) urgent() bool { return w.priority >= Urgent }

// rest returns what is left of q for those that are not urgent if share of it is
// reserved: of a token bucket so much less of its rate and of its burst, of the others so
// much less of their N. It leaves 1 at least.
func (q Quota) rest(share float64) Quota {
	left := func(n int) int { return max(int(math.Floor(float64(n)*(1-share)+1e-9)), 1) }
	if q.Kind == TokenBucket {
		q.Per = time.Duration(min(math.Round(float64(q.per())/(1-share)), math.MaxInt64/2))
		q.Burst = left(q.burst())
		if q.WarmUp > 0 {
			q.Burst = 0
		}
		return q
	}
	q.N = left(q.N)
	return q
}

// keeps is how much of a limit is reserved, beside n that may go at once in any case.
func keeps(limit, n int, share float64) int {
	if share == 0 {
		return 0
	}
	return max(min(int(math.Ceil(float64(limit)*share-1e-9)), limit-n), 0)
}

// checkReserve reports what is wrong with a share.
func checkReserve(share float64) error {
	if !(share >= 0 && share < 1) {
		return fmt.Errorf("throttle: Reserve is %v, want a share from 0 to less than 1", share)
	}
	return nil
}
