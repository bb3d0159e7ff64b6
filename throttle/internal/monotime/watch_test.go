package monotime

import (
	"testing"
	"testing/synctest"
	"time"
)

// machine is a Source whose wall clock was set, and which sleeps. Time in a bubble is that of the monotonic
// clock.
type machine struct {
	set, slept   time.Duration
	knows, stops bool
}

func (m *machine) Read(start time.Time) (int64, time.Duration) {
	return time.Now().Add(m.set + m.slept).UnixNano(), time.Since(start)
}

func (m *machine) Asleep() (time.Duration, bool) { return m.slept, m.knows }
func (m *machine) Stops() bool                   { return m.stops }

// TestClockSleep: time goes on while a machine sleeps, if the system says so, or if the wall clock says it and
// the system may not know; and only the windows of the wall clock move when it is set.
func TestClockSleep(t *testing.T) {
	const linux, darwin, windows = 0, 1, 2
	for name, test := range map[string]struct {
		system      int
		slept, set  time.Duration
		want, phase time.Duration // by how much the instants and the windows have moved
	}{
		"linux sleeps":                        {linux, time.Hour, 0, time.Hour, 0},
		"linux sleeps for days":               {linux, 72 * time.Hour, 0, 72 * time.Hour, 0},
		"linux is set":                        {linux, 0, time.Hour, 0, time.Hour},
		"linux is set back":                   {linux, 0, -24 * time.Hour, 0, -24 * time.Hour},
		"linux sleeps, and is set":            {linux, time.Hour, -time.Minute, time.Hour, -time.Minute},
		"linux is set by little":              {linux, 0, 99 * time.Millisecond, 0, 0},
		"elsewhere sleeps":                    {darwin, time.Hour, 0, time.Hour, 0},
		"elsewhere is set, as if it slept":    {darwin, 0, time.Hour, time.Hour, 0},
		"elsewhere sleeps for days":           {darwin, 72 * time.Hour, 0, 24 * time.Hour, 48 * time.Hour},
		"elsewhere is set back":               {darwin, 0, -time.Hour, 0, -time.Hour},
		"elsewhere is set by a second":        {darwin, 0, time.Second, 0, time.Second},
		"where the monotonic clock goes on":   {windows, 0, time.Hour, 0, time.Hour},
		"where it goes on, and was set back":  {windows, 0, -time.Hour, 0, -time.Hour},
		"where it goes on, and was set ahead": {windows, 0, 72 * time.Hour, 0, 72 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{knows: test.system == linux, stops: test.system != windows}
				start := time.Now()
				var c Clock
				c.StartBy(m)
				time.Sleep(time.Minute)
				before := c.Now()
				m.slept, m.set = test.slept, test.set
				if c.Now() != before {
					t.Error("looked again at once")
				}
				deadline := c.Until(time.Now().Add(time.Second))
				time.Sleep(lookEvery)
				now := c.Now()
				if got := now.Sub(before) - lookEvery; got != test.want {
					t.Errorf("slept for %v, want %v", got, test.want)
				}
				if got := c.Wall() - (start.UnixNano() - 1); got != int64(test.phase) {
					t.Errorf("windows moved by %v, want %v", time.Duration(got), test.phase)
				}
				if (c.Phase().Since == now) != (test.phase != 0) {
					t.Errorf("since %d, it is %d", c.Phase().Since, now)
				}
				if got := [2]Time{c.AwakeAt(before), c.AwakeAt(now)}; got != [2]Time{before, c.Awake(now)} {
					t.Errorf("awake at %v, want %v", got, [2]Time{before, c.Awake(now)})
				}
				if left := deadline.Sub(c.Awake(now)); left != time.Second-lookEvery {
					t.Errorf("a deadline is in %v", left)
				}
				if std := c.Std(now.Add(time.Second)); !std.Equal(time.Now().Add(time.Second)) {
					t.Errorf("in a second it is %v", std)
				}
				if date := c.Date(now); test.want == test.slept && test.phase == test.set && !date.Equal(time.Now().Add(test.slept+test.set)) || c.At(date) != now {
					t.Errorf("it is %v, at %d", date, c.At(date))
				}
			})
		})
	}
}

// TestClockDrift: a wall clock that goes a little faster than the other is not sleep, however long nobody
// looks.
func TestClockDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{stops: true}
		var c Clock
		c.StartBy(m)
		for range 100 {
			time.Sleep(24 * time.Hour)
			m.set += 5 * time.Second
			c.Now()
		}
		if got := c.Now().Sub(c.Awake(c.Now())); got != 0 {
			t.Errorf("slept for %v", got)
		}
		if got := time.Until(c.Date(c.Now())); got != m.set {
			t.Errorf("the wall clock is ahead by %v, want %v", got, m.set)
		}
	})
}

// TestSystemSleep reads the clocks of this machine: it has slept for no less than before.
func TestSystemSleep(t *testing.T) {
	var s system
	d, ok := s.Asleep()
	if again, _ := s.Asleep(); ok && (d < -smallest || again < d-smallest) {
		t.Errorf("slept for %v, then for %v", d, again)
	}
}

// TestClockNaps: what an instant was by the time in which programs run, however often the machine has slept
// since; of the latest naps alone, which bounds the memory.
func TestClockNaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{knows: true, stops: true}
		var c Clock
		c.StartBy(m)
		var instants, awake []Time
		for range 3 * mostNaps {
			now := c.Now()
			instants, awake = append(instants, now), append(awake, c.Awake(now))
			m.slept += time.Hour
			time.Sleep(time.Minute)
		}
		c.Now()
		for i, at := range instants {
			if got := c.AwakeAt(at); got != awake[i] && (i > 2*mostNaps || got > at) {
				t.Errorf("instant %d: %v, want %v", i, got, awake[i])
			}
		}
		if n := len(*c.watch.naps.Load()); n != mostNaps {
			t.Errorf("%d naps", n)
		}
	})
}

// TestStartCertain: a jump of the wall clock is sleep only where the system says so.
func TestStartCertain(t *testing.T) {
	var c Clock
	c.StartCertain()
	if !c.Started() || c.watch.source.Stops() {
		t.Errorf("the clock takes jumps of the wall clock for sleep")
	}
	w := c.watch
	if c.StartCertain(); c.watch != w {
		t.Error("started twice")
	}
}
