package lease

import (
	"time"

	"github.com/gopacer/pacer/quota"
	"github.com/gopacer/pacer/throttle/internal/limit"
	"github.com/gopacer/pacer/throttle/internal/monotime"
)

// Level is how much is left of a quota.
type Level struct {
	Quota, Unit     string
	Most, Available int64         // tokens that may go at once when all are back, and that may go now
	Reset           time.Duration // until all are back; zero if they are, or nobody knows
	Rate            float64       // tokens that come back in a second, one by one
}

// Levels returns how much is left of each of the quotas that are a limit: of those in a store what l has in
// hand, and of the others what the stack has. L is nil if there is no store.
func Levels(now monotime.Time, qs quota.Quotas, s limit.Stack, l *Lease) (levels []Level) {
	var inHand []int64
	if l != nil {
		inHand = l.Hand(now)
	}
	for i := range qs {
		q := &qs[i]
		level := Level{Quota: q.Name, Unit: q.Unit, Rate: limit.Rate(q)}
		if l != nil && Stored(q) {
			level.Most, level.Available, inHand = limit.Most(q), inHand[0], inHand[1:]
		} else if left, ok := s.Level(now, i); ok {
			level.Most, level.Available, level.Reset = left.Most, left.Available, max(left.Full.Sub(now), 0)
		} else {
			continue // it is no limit
		}
		levels = append(levels, level)
	}
	return levels
}
