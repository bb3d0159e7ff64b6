package monotime

import "time"

// A Clock gives the instants of a tree of buckets or of a store. Whoever shares state under a
// lock reads it with the lock held, so that no instant is older than one that was used
// before. A Clock may be copied; the copies agree.
type Clock struct {
	start time.Time
	wall  int64 // start in nanoseconds since 1970
}

// Start starts the clock.
func (c *Clock) Start() {
	c.start = time.Now()
	c.wall = c.start.UnixNano()
}

// Started reports whether Start was called.
func (c *Clock) Started() bool { return !c.start.IsZero() }

// Now reads the clock. time.Since of an instant reads the monotonic clock only, at half the
// cost of time.Now.
func (c *Clock) Now() Time { return Time(time.Since(c.start)) + 1 }

// Wall returns what the wall clock was at instant 0, in nanoseconds since 1970.
func (c *Clock) Wall() int64 { return c.wall - 1 }

// Std returns an instant with both clocks, as time.Now would have returned it then.
func (c *Clock) Std(t Time) time.Time { return c.start.Add(time.Duration(t - 1)) }

// Until returns the first instant at which t, a time of this process, is over.
func (c *Clock) Until(t time.Time) Time { return max(Time(min(t.Sub(c.start), Longest))+1, 1) }

// Date returns an instant by the wall clock, the zero time if t is no instant.
func (c *Clock) Date(t Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.wall+int64(t)-1)
}

// At returns the instant of a date, zero if that is the zero time. The instant of a date
// before the clock was started is negative, or 1.
func (c *Clock) At(date time.Time) Time {
	if date.IsZero() {
		return 0
	}
	return Time(max(min(date.Sub(time.Unix(0, c.wall)), Longest), -Longest)) + 1
}
