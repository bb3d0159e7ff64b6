package throttle

import "time"

// instant is a moment in the life of a tree of buckets: nanoseconds since it was
// first used, by the monotonic clock. Zero is no instant. It is a number, and not a
// time.Time, since a grant that need not wait consists of little else than looking
// at instants.
type instant int64

func (t instant) add(d time.Duration) instant { return t + instant(d) }

func (t instant) sub(u instant) time.Duration { return time.Duration(t - u) }

// time returns t for those who reckon in time.Time. Only differences mean anything.
func (t instant) time() time.Time { return epoch.Add(time.Duration(t)) }

// epoch has a reading of the monotonic clock, and so has what is added to it: two such
// times are subtracted in a fraction of the time that others take.
var epoch = time.Now()

// ages bounds what servers say and what rates amount to, so that no sum of an
// instant and a few durations can overflow.
const ages = 50 * 365 * 24 * time.Hour

// doubled returns d, doubled for each n after the first.
func doubled(d time.Duration, n int) time.Duration { return d << min(max(n-1, 0), 20) }
