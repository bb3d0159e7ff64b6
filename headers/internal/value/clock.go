package value

import "time"

// Clock tells the instant at which an answer was written. It reads the header Date when it is
// asked for the first time, since most answers need none. It has no time of its own: all that
// it tells is what it was given.
type Clock struct {
	Dates    []string  // the lines of Date
	Aged     bool      // a cache answered, some time after Date
	Received time.Time // when the answer arrived, by the local clock; zero if not known

	date    time.Time // by Date, or the time of receipt
	read    bool      // date is known
	written time.Time // by which Until has measured last
}

// maxSkew is how far Date may be from the local clock to be believed in any case.
const maxSkew = 24 * time.Hour

// Until returns the time from the writing of the answer to t. It is false if nothing says
// when the answer was written.
func (c *Clock) Until(t time.Time) (time.Duration, bool) {
	if !c.read {
		c.date, c.read = c.parsed(), true
	}
	if c.written = c.date; c.doubtful(t) {
		c.written = c.Received
	}
	return between(c.written, t), !c.written.IsZero()
}

// doubtful reports whether Date is too far from the local clock to say how far away t is. What is days behind
// may be that of an old answer, from a cache that does not say so. Where it is days ahead, one of the clocks is
// wrong: the local one is where a machine has no battery, or was resumed from a snapshot of last week. What a
// server says of a limit is soon, by the clock that it goes by; so the nearer one is right.
func (c *Clock) doubtful(t time.Time) bool {
	if c.Received.IsZero() {
		return false
	}
	ahead := between(c.Received, c.date)
	return ahead < -maxSkew || ahead > maxSkew && between(c.Received, t).Abs() <= between(c.date, t).Abs()
}

// Skew returns by how much the local clock was ahead of the one by which Until has measured last.
func (c *Clock) Skew() time.Duration {
	if c.Received.IsZero() {
		return 0
	}
	return between(c.written, c.Received)
}

// between is u.Sub(t) for instants of the wall clock, which takes a third of the time.
// What is above a century is one.
func between(t, u time.Time) time.Duration {
	const century = 100 * 366 * 24 * 3600
	s := min(max(u.Unix()-t.Unix(), -century), century)
	return time.Duration(s)*time.Second + time.Duration(u.Nanosecond()-t.Nanosecond())
}

// parsed returns Date if there is exactly one which is valid, and not that of a cached answer; else the time of
// receipt.
func (c *Clock) parsed() time.Time {
	if len(c.Dates) != 1 || c.Aged {
		return c.Received
	}
	if date, _, ok := ParseInstant(Trim(c.Dates[0])); ok {
		return date
	}
	return c.Received
}
