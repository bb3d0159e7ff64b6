package monotime

import (
	"context"
	"time"
)

// A Clock gives the instants of a tree of buckets or of a store. Whoever shares state under a
// lock reads it with the lock held, so that no instant is older than one that was used
// before. A Clock may be copied; the copies agree.
//
// Time goes on while the machine sleeps, although the monotonic clock may stand still then: see watch.
type Clock struct {
	start time.Time
	watch *watch
}

// Start starts the clock, unless it was started.
func (c *Clock) Start() {
	if !c.Started() {
		c.StartBy(system{})
	}
}

// StartCertain is Start of a clock for which no setting of the wall clock is sleep of the machine, also where
// nobody knows how long it has slept: see watch.
func (c *Clock) StartCertain() {
	if !c.Started() {
		c.StartBy(certainly{})
	}
}

// StartBy starts the clock by what a Source says of the machine's clocks.
func (c *Clock) StartBy(s Source) {
	c.start = time.Now()
	c.watch = newWatch(s, c.start)
}

// Started reports whether Start was called.
func (c *Clock) Started() bool { return c.watch != nil }

// Now reads the clock. time.Since of an instant reads the monotonic clock only, at half the
// cost of time.Now.
func (c *Clock) Now() Time {
	awake := time.Since(c.start)
	if awake >= time.Duration(c.watch.next.Load()) {
		c.watch.look(awake)
	}
	return Time(awake) + Time(c.watch.slept.Load()) + 1
}

// Glance is Now for who only wants to know about when it is: a sleep of the machine that nobody has noticed yet
// is not.
func (c *Clock) Glance() Time { return Time(time.Since(c.start)) + Time(c.watch.slept.Load()) + 1 }

// Awake returns an instant less the time for which the machine has slept so far. That is what timers and the
// deadlines of contexts go by. Only instants that lie between the same sleeps are comparable.
func (c *Clock) Awake(t Time) Time { return t - Time(c.watch.slept.Load()) }

// AwakeAt is Awake for an instant of the past, less what the machine had slept by then: AwakeAt(t) is what
// Awake(t) was at t.
func (c *Clock) AwakeAt(t Time) Time { return t - Time(c.watch.sleptBy(t)) }

// Phase returns how windows of the wall clock lie now. It is another pointer after the wall clock was set.
func (c *Clock) Phase() *Phase { return c.watch.phase.Load() }

// Wall returns what the wall clock was at instant 0, in nanoseconds since 1970, as it goes now.
func (c *Clock) Wall() int64 { return c.Phase().Wall }

// Std returns an instant with both clocks, as time.Now would have returned it then.
func (c *Clock) Std(t Time) time.Time {
	if c.Phase().Since != 0 || c.watch.slept.Load() != 0 {
		return time.Now().Add(t.Sub(c.Now()))
	}
	return c.start.Add(time.Duration(t - 1))
}

// Until returns the first instant at which t, a time of this process, is over, less the time for which the
// machine has slept: see Awake.
func (c *Clock) Until(t time.Time) Time { return max(Time(min(t.Sub(c.start), Longest))+1, 1) }

// Deadline returns the Until of when a context ends at the latest, zero if it does not say.
func (c *Clock) Deadline(ctx context.Context) Time {
	if t, ok := ctx.Deadline(); ok {
		return c.Until(t)
	}
	return 0
}

// Date returns an instant by the wall clock, the zero time if t is no instant.
func (c *Clock) Date(t Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.Wall()+int64(t))
}

// At returns the instant of a date, zero if that is the zero time. The instant of a date
// before the clock was started is negative, or 1.
func (c *Clock) At(date time.Time) Time {
	if date.IsZero() {
		return 0
	}
	return Time(max(min(date.Sub(time.Unix(0, c.Wall()+1)), Longest), -Longest)) + 1
}
