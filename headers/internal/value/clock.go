package value

import "time"

// Clock tells the instant at which an answer was written. It reads the header Date when it is
// asked for the first time, since most answers need none. It has no time of its own: all that
// it tells is what it was given.
type Clock struct {
	Dates    []string  // the lines of Date
	Aged     bool      // a cache answered, some time after Date
	Received time.Time // when the answer arrived, by the local clock; zero if not known

	written time.Time
	read    bool // written is known
}

// maxSkew is how far Date may be from the local clock to be believed.
const maxSkew = 24 * time.Hour

// Until returns the time from the writing of the answer to t. It is false if nothing says
// when the answer was written.
func (c *Clock) Until(t time.Time) (time.Duration, bool) {
	if !c.read {
		c.written, c.read = c.date(), true
	}
	return between(c.written, t), !c.written.IsZero()
}

// Skew returns by how much the local clock was ahead of the server's, once Until has read
// that one.
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

// date returns Date if there is exactly one which is valid, near the local clock, and not
// that of a cached answer; else the time of receipt.
func (c *Clock) date() time.Time {
	if len(c.Dates) != 1 || c.Aged {
		return c.Received
	}
	date, _, ok := ParseInstant(Trim(c.Dates[0]))
	if !ok || !c.Received.IsZero() && between(c.Received, date).Abs() > maxSkew {
		return c.Received
	}
	return date
}
