package monotime

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestTick(t *testing.T) {
	for _, c := range []struct {
		t    Time
		per  time.Duration
		wall int64
		want Time
	}{
		{5, 10, 0, 0},
		{10, 10, 0, 10},
		{5, 10, 7, 3},
		{2, 10, 7, -7},
		{2, 10, -1, 1},
		{2, 10, -7, -7 + 4},
	} {
		if got := c.t.Tick(c.per, c.wall); got != c.want || got > c.t || (c.wall+int64(got))%int64(c.per) != 0 {
			t.Errorf("%d.Tick(%d, %d) is %d, want %d", c.t, c.per, c.wall, got, c.want)
		}
	}
}

func TestSpansAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ got, want time.Duration }{
		"seconds":            {Seconds(1.5), 1500 * time.Millisecond},
		"half a nanosecond":  {Seconds(1.4e-9), 1},
		"negative seconds":   {Seconds(-1), 0},
		"no seconds":         {Seconds(math.NaN()), 0},
		"too many seconds":   {Seconds(math.Inf(1)), Longest},
		"times":              {Times(3, time.Second), 3 * time.Second},
		"too many times":     {Times(math.MaxInt64, time.Second), Longest},
		"scale rounds up":    {Scale(10, 1, 3), 4},
		"scale without rest": {Scale(9, 1, 3), 3},
		"scale beyond":       {Scale(Longest, math.MaxInt64, 1), Longest},
		"scale wide":         {Scale(Longest, math.MaxInt64, math.MaxInt64), Longest},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var c Clock
		if c.Started() {
			t.Error("started")
		}
		c.Start()
		if at := c.Now(); at != 1 || !c.Started() || c.Wall() != start.UnixNano()-1 {
			t.Errorf("at the start it is %d, and was %d at 0, want 1 and %d", at, c.Wall(), start.UnixNano()-1)
		}
		time.Sleep(time.Second)
		at := c.Now()
		if want := Time(1).Add(time.Second); at != want || !c.Std(at).Equal(time.Now()) || !c.Date(at).Equal(time.Now()) {
			t.Errorf("after a second it is %d, want %d; %v, %v", at, want, c.Std(at), c.Date(at))
		}
		if got := c.At(time.Now()); got != at || c.At(time.Time{}) != 0 || !c.Date(0).IsZero() {
			t.Errorf("now is %d by its date, want %d", got, at)
		}
		if got := c.At(start.Add(-200 * 365 * 24 * time.Hour)); got != 1-Time(Longest) {
			t.Errorf("long ago is %d, want %d", got, 1-Time(Longest))
		}
		if got := c.Until(time.Now()); got != at || c.Until(start.Add(-time.Hour)) != 1 {
			t.Errorf("a deadline of now is over at %d, want %d", got, at)
		}
		ctx, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if got, none := c.Deadline(ctx), c.Deadline(t.Context()); got != at || none != 0 {
			t.Errorf("the deadline of a context that ends now is over at %d, want %d; without one, at %d", got, at, none)
		}
	})
}
