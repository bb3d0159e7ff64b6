package limit

import (
	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Rate returns how many tokens of a quota come back in a second, one by one; zero if they do so together.
func Rate(q *quota.Quota) float64 {
	if q.Kind != quota.TokenBucket || q.N <= 0 {
		return 0
	}
	return float64(q.N) / q.Per.Seconds()
}

// Level is how much of a quota is left.
type Level struct {
	Most      int64         // tokens that may go at once when all are back
	Available int64         // tokens that may go now
	Full      monotime.Time // when all are back if none go before; zero if they are, or if nobody knows
}

// Level returns the level of the i-th quota. Ok is false if that is no limit.
func (s Stack) Level(now monotime.Time, i int) (l Level, ok bool) {
	e := &s[i]
	if e.all == nil {
		return l, false
	}
	l.Most = Most(e.quota)
	l.Available = largest(l.Most, func(n int64) bool { return opens(e.all, now, 0, n) })
	if at, _ := e.all.When(now, 0, l.Most); at > now && !e.quota.Kind.Concurrent() {
		l.Full = at
	}
	return l, true
}

// largest returns the largest number, n at most, for which ok is true, if it is for all that are smaller; zero
// if for none.
func largest(n int64, ok func(int64) bool) int64 {
	var least int64
	for least < n {
		if middle := n - (n-least)/2; ok(middle) {
			least = middle
		} else {
			n = middle - 1
		}
	}
	return least
}

// Most is how many tokens of q may go at once without a debt. A quota that warms up lets any cost go, and has
// the next claim wait for it: so one token is there, or none.
func Most(q *quota.Quota) int64 {
	switch {
	case q.WarmUp > 0:
		return 1
	case q.Kind == quota.TokenBucket:
		return q.Burst
	}
	return q.N
}
